/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/phase_times.h"

#include <stdlib.h>

#include "analysis/ranges.h"

static int compare(const void *left, const void *right)
{
    const struct ss_phase_time *a = left, *b = right;
    if (a->process != b->process) {
        return a->process < b->process ? -1 : 1;
    }
    return (a->begin_ns > b->begin_ns) - (a->begin_ns < b->begin_ns);
}

void ss_phase_times_init(struct ss_phase_times *times, const struct ss_selection *selection)
{
    const struct ss_model *model = selection->model;
    *times = (struct ss_phase_times){0};
    for (size_t i = 0; i < model->ranges.count; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        const struct ss_model_track *track = &model->tracks.data[range->track];
        if (track->kind == SS_TRACK_PHASES && ss_selection_has_track(selection, range->track)) {
            uint32_t name = model->names.data[model->paths.data[range->path].name].text;
            ss_vec_push(&times->parts, (struct ss_phase_time){track->process, name, range->begin_ns,
                                                              range->end_ns});
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
