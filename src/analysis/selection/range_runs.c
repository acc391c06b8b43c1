/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/selection/range_runs.h"

#include <string.h>

#include "base/alloc.h"
#include "base/shared_names.h"

static enum ss_track_role role_of_domain(const char *domain)
{
    return strcmp(domain, ss_domain_torch) == 0          ? SS_ROLE_OPERATORS
           : strcmp(domain, ss_domain_torch_module) == 0 ? SS_ROLE_MODULES
           : strcmp(domain, ss_domain_torch_data) == 0   ? SS_ROLE_LOADER
           : strcmp(domain, ss_domain_torch_waits) == 0  ? SS_ROLE_WAITS
                                                         : SS_ROLE_RANGES;
}

static enum ss_track_role role_of(const struct ss_model *model, const struct ss_model_track *track)
{
    const char *name = ss_model_text(model, track->name);
    switch (track->kind) {
    case SS_TRACK_STEPS:
        return track->process != 0 && strcmp(name, "step") == 0 ? SS_ROLE_STEPS : SS_ROLE_OTHER;
    case SS_TRACK_PHASES:
        return SS_ROLE_PHASES;
    case SS_TRACK_RANGES:
        return role_of_domain(name);
    case SS_TRACK_ASYNC:
        return strcmp(name, ss_domain_torch) == 0 || strcmp(name, ss_domain_nccl) == 0 ||
                       strcmp(name, ss_domain_mpi) == 0
                   ? SS_ROLE_COLLECTIVES
                   : SS_ROLE_OTHER;
    default:
        return SS_ROLE_OTHER;
    }
}

void ss_range_runs_init(struct ss_range_runs *runs, const struct ss_model *model)
{
    const struct ss_model_range *ranges = model->ranges.data;
    *runs = (struct ss_range_runs){.spans =
                                       ss_alloc_zero(model->tracks.count + 1, sizeof *runs->spans)};
    for (size_t first = 0, end; first < model->ranges.count; first = end) {
        uint32_t track = ranges[first].track;
        for (end = first + 1; end < model->ranges.count && ranges[end].track == track;) {
            end++;
        }
        struct ss_track_span *span = &runs->spans[track];
        span->first = span->end == 0 ? first : span->first;
        span->end = end;
        ss_vec_push(&runs->rows, (struct ss_range_run){role_of(model, &model->tracks.data[track]),
                                                       track, first, end});
    }
}

void ss_range_runs_fini(struct ss_range_runs *runs)
{
    ss_vec_fini(&runs->rows);
    ss_free(runs->spans);
    *runs = (struct ss_range_runs){0};
}

const struct ss_range_run *ss_range_runs_next(const struct ss_range_runs *runs,
                                              const struct ss_range_run *run,
                                              enum ss_track_role role)
{
    size_t at = run != NULL ? (size_t)(run - runs->rows.data) + 1 : 0;
    while (at < runs->rows.count && runs->rows.data[at].role != role) {
        at++;
    }
    return at < runs->rows.count ? &runs->rows.data[at] : NULL;
}

uint32_t ss_range_run_process(const struct ss_model *model, const struct ss_range_run *run)
{
    const struct ss_model_track *track = &model->tracks.data[run->track];
    return track->thread != 0 ? model->threads.data[track->thread].process : track->process;
}
