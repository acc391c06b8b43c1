/* SPDX-License-Identifier: Apache-2.0 */
/* The order of tracks: by process (ranks first, by number), then by kind, thread and device. */
#include <stdlib.h>
#include <string.h>

#include "timeline/timeline_inside.h"

static uint32_t process_of(const struct ss_model *model, const struct ss_timeline_track *track)
{
    return track->thread != 0 ? model->threads.data[track->thread].process
                              : model->tracks.data[track->track].process;
}

/* Negative: a is first. */
static int order(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

/* Processes with ranks, other processes, the host. */
static int compare_processes(const struct ss_model *model, uint32_t a, uint32_t b)
{
    const struct ss_model_process *left = &model->processes.data[a];
    const struct ss_model_process *right = &model->processes.data[b];
    int by_host = order(a == 0, b == 0), by_has = order(!left->has_rank, !right->has_rank);
    int by_rank = left->has_rank && right->has_rank ? order(left->rank, right->rank) : 0;
    int by_time = order((int64_t)left->first_seen_ns, (int64_t)right->first_seen_ns);
    return by_host != 0   ? by_host
           : by_has != 0  ? by_has
           : by_rank != 0 ? by_rank
           : by_time != 0 ? by_time
                          : order(a, b);
}

/* What is about one thread stays together: its ranges, then its stacks. */
static int section(const struct ss_model *model, const struct ss_timeline_track *track)
{
    bool is_main = track->thread != 0 && model->threads.data[track->thread].is_main;
    if (track->kind == SS_TIMELINE_STACKS) {
        return is_main ? SS_TIMELINE_MAIN : SS_TIMELINE_THREAD;
    }
    return (int)track->kind;
}

static int compare_tracks(const void *left, const void *right, void *context)
{
    const struct ss_model *model = context;
    const struct ss_timeline_track *a = left, *b = right;
    const struct ss_model_track *of_a = &model->tracks.data[a->track];
    const struct ss_model_track *of_b = &model->tracks.data[b->track];
    uint32_t process_a = process_of(model, a), process_b = process_of(model, b);
    int by_process = process_a != process_b ? compare_processes(model, process_a, process_b) : 0;
    int by_section = order(section(model, a), section(model, b));
    int by_thread = order(a->thread, b->thread), by_kind = order(a->kind, b->kind);
    int by_device = order(of_a->device, of_b->device), by_rank = order(of_a->rank, of_b->rank);
    int by_work = order(of_a->stream == 0, of_b->stream == 0);
    int by_stream = order(of_a->stream, of_b->stream), by_track = order(a->track, b->track);
    return by_process != 0   ? by_process
           : by_section != 0 ? by_section
           : by_thread != 0  ? by_thread
           : by_kind != 0    ? by_kind
           : by_device != 0  ? by_device
           : by_work != 0    ? by_work
           : by_stream != 0  ? by_stream
           : by_rank != 0    ? by_rank
           : by_track != 0   ? by_track
                             : order(a->naming, b->naming);
}

void ss_timeline_group_tracks(struct ss_timeline *timeline)
{
    const struct ss_model *model = timeline->selection->model;
    if (timeline->tracks.count > 1) {
        qsort_r(timeline->tracks.data, timeline->tracks.count, sizeof *timeline->tracks.data,
                compare_tracks, (void *)model);
    }
    for (uint32_t i = 0; i < timeline->tracks.count; i++) {
        uint32_t process = process_of(model, &timeline->tracks.data[i]);
        size_t groups = timeline->groups.count;
        if (groups == 0 || timeline->groups.data[groups - 1].process != process) {
            ss_vec_push(&timeline->groups,
                        (struct ss_timeline_group){.process = process, .first_track = i});
            groups++;
        }
        timeline->groups.data[groups - 1].end_track = i + 1;
        timeline->tracks.data[i].group = (uint32_t)groups - 1;
    }
}
