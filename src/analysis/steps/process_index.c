/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/steps/process_index.h"

void ss_process_index_init(struct ss_process_index *index, const struct ss_selection *selection)
{
    *index = (struct ss_process_index){0};
    ss_range_runs_init(&index->runs, selection->model);
    ss_phase_times_init(&index->phases, selection, &index->runs);
    ss_exposed_communication_init(&index->waits, selection->model, &index->runs);
    ss_loader_events_init(&index->loader, selection->model, &index->runs);
}

void ss_process_index_fini(struct ss_process_index *index)
{
    ss_range_runs_fini(&index->runs);
    ss_phase_times_fini(&index->phases);
    ss_exposed_communication_fini(&index->waits);
    ss_loader_events_fini(&index->loader);
}
