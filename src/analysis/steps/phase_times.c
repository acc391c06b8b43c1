/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/steps/phase_times.h"

#include <stdlib.h>

#include "analysis/steps/ranges.h"
#include "base/search.h"

static int compare(const void *left, const void *right)
{
    const struct ss_phase_time *a = left, *b = right;
    if (a->process != b->process) {
        return a->process < b->process ? -1 : 1;
    }
    return (a->begin_ns > b->begin_ns) - (a->begin_ns < b->begin_ns);
}

void ss_phase_times_init(struct ss_phase_times *times, const struct ss_selection *selection,
                         const struct ss_range_runs *runs)
{
    const struct ss_model *model = selection->model;
    const struct ss_range_run *run = NULL;
    *times = (struct ss_phase_times){0};
    while ((run = ss_range_runs_next(runs, run, SS_ROLE_PHASES)) != NULL) {
        uint32_t process = model->tracks.data[run->track].process;
        bool is_selected = ss_selection_has_track(selection, run->track);
        for (size_t i = run->first; i < run->end && is_selected; i++) {
            const struct ss_model_range *range = &model->ranges.data[i];
            uint32_t name = model->names.data[model->paths.data[range->path].name].text;
            ss_vec_push(&times->parts,
                        (struct ss_phase_time){process, name, range->begin_ns, range->end_ns});
        }
    }
    if (times->parts.count > 0) {
        qsort(times->parts.data, times->parts.count, sizeof *times->parts.data, compare);
    }
}

void ss_phase_times_fini(struct ss_phase_times *times)
{
    ss_vec_fini(&times->parts);
}

const struct ss_phase_time *ss_phase_times_at(const struct ss_phase_times *times, uint32_t process,
                                              uint64_t time_ns)
{
    /* The first that begins later. */
    size_t low = ss_search(i, 0, times->parts.count,
                           ss_pair_at_most(times->parts.data[i].process,
                                           times->parts.data[i].begin_ns, process, time_ns));
    const struct ss_phase_time *last = low > 0 ? &times->parts.data[low - 1] : NULL;
    return last != NULL && last->process == process && time_ns < last->end_ns ? last : NULL;
}

void ss_phase_cursor_init(struct ss_phase_cursor *cursor, const struct ss_phase_times *times,
                          uint32_t process)
{
    size_t first = 0, end;
    while (first < times->parts.count && times->parts.data[first].process != process) {
        first++;
    }
    for (end = first; end < times->parts.count && times->parts.data[end].process == process;) {
        end++;
    }
    *cursor = (struct ss_phase_cursor){.count = end - first};
    if (end > first) {
        cursor->parts = times->parts.data + first;
    }
}

uint32_t ss_phase_at(struct ss_phase_cursor *cursor, uint64_t time_ns)
{
    while (cursor->at > 0 && cursor->parts[cursor->at - 1].begin_ns > time_ns) {
        cursor->at--;
    }
    while (cursor->at < cursor->count && cursor->parts[cursor->at].begin_ns <= time_ns) {
        cursor->at++;
    }
    const struct ss_phase_time *last = cursor->at > 0 ? &cursor->parts[cursor->at - 1] : NULL;
    return last != NULL && time_ns < last->end_ns ? last->name : 0;
}
