/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges of ASYNC tracks by id. */
#include "trace/profile.h"
#include "trace/writer_state.h"
#include "trace/writer_tracks.h"

/* The lowest lane that is free from `time_ns` on; 0: none, or `id` is already open. */
static uint32_t choose_lane(struct ss_writer_track *track, uint64_t id, uint64_t time_ns)
{
    uint32_t chosen = 0;
    for (size_t i = 0; i < track->lanes.count; i++) {
        const struct ss_writer_lane *lane = &track->lanes.data[i];
        if (lane->open && lane->id == id) {
            return 0;
        }
        if (chosen == 0 && !lane->open && lane->last_ns <= time_ns) {
            chosen = (uint32_t)i + 1;
        }
    }
    if (chosen == 0 && track->lanes.count < SS_MAX_LANES) {
        ss_vec_push_zero(&track->lanes);
        chosen = (uint32_t)track->lanes.count;
    }
    return chosen;
}

static enum ss_status fail_not_async(struct ss_error *err, uint32_t ref)
{
    return ss_fail(err, SS_E_BUG, "track %u is none for ranges that overlap", ref);
}

enum ss_status ss_trace_writer_async_begin(struct ss_trace_writer *writer, uint64_t id,
                                           const struct ss_trace_event *event, bool *accepted,
                                           struct ss_error *err)
{
    SS_TRY(ss_writer_failed(writer, err));
    struct ss_writer_track *track = ss_writer_track_at(writer, event->track_ref);
    if (track == NULL || track->record.kind != SS_TRACK_ASYNC) {
        return fail_not_async(err, event->track_ref);
    }
    uint32_t number = choose_lane(track, id, event->time_ns);
    if (accepted != NULL) {
        *accepted = number != 0;
    }
    if (number == 0) {
        return SS_OK;
    }
    struct ss_writer_lane *lane = &track->lanes.data[number - 1];
    lane->open = true;
    lane->id = id;
    lane->last_ns = event->time_ns;
    struct ss_trace_event begin = *event;
    begin.kind = SS_EVENT_BEGIN;
    begin.lane = number;
    return ss_trace_writer_event(writer, &begin, err);
}

enum ss_status ss_trace_writer_async_end(struct ss_trace_writer *writer, uint64_t id,
                                         const struct ss_trace_event *end, bool *accepted,
                                         struct ss_error *err)
{
    SS_TRY(ss_writer_failed(writer, err));
    struct ss_writer_track *track = ss_writer_track_at(writer, end->track_ref);
    if (track == NULL || track->record.kind != SS_TRACK_ASYNC) {
        return fail_not_async(err, end->track_ref);
    }
    uint32_t number = 0;
    for (size_t i = 0; i < track->lanes.count && number == 0; i++) {
        const struct ss_writer_lane *lane = &track->lanes.data[i];
        number = lane->open && lane->id == id ? (uint32_t)i + 1 : 0;
    }
    if (accepted != NULL) {
        *accepted = number != 0;
    }
    if (number == 0) {
        return SS_OK;
    }
    struct ss_writer_lane *lane = &track->lanes.data[number - 1];
    struct ss_trace_event copy = *end;
    copy.kind = SS_EVENT_END;
    copy.lane = number;
    /* Clocks of two cores may differ slightly: no range ends before its start. */
    copy.time_ns = end->time_ns > lane->last_ns ? end->time_ns : lane->last_ns;
    lane->open = false;
    lane->last_ns = copy.time_ns;
    return ss_trace_writer_event(writer, &copy, err);
}
