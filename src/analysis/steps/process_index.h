/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where in a recording the steps, phases, operators and batches of its processes are: one pass over
 * all ranges, which the summary of the steps (analysis/steps/steps.h) owns and all tables and facts
 * share. Pure; immutable once built. Borrows the model.
 */
#ifndef SS_ANALYSIS_STEPS_PROCESS_INDEX_H
#define SS_ANALYSIS_STEPS_PROCESS_INDEX_H

#include "analysis/selection/range_runs.h"
#include "analysis/steps/exposed_communication.h"
#include "analysis/steps/loader_events.h"
#include "analysis/steps/phase_times.h"

struct ss_process_index {
    struct ss_range_runs runs;             /* of all processes */
    struct ss_phase_times phases;          /* of the selection */
    struct ss_exposed_communication waits; /* for other ranks, of all processes */
    struct ss_loader_events loader;        /* of all processes */
};

void ss_process_index_init(struct ss_process_index *index, const struct ss_selection *selection);
void ss_process_index_fini(struct ss_process_index *index);

#endif
