/* SPDX-License-Identifier: Apache-2.0 */
#include "model/core/step_span.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/vec.h"
#include "trace/reader.h"

struct step_track {
    bool has_steps;
    bool is_in_span; /* a requested step is open */
};

struct finder {
    struct ss_vec_of(struct step_track) tracks; /* by ref, from 1 */
    int64_t first, last;
    struct ss_step_numbers *seen;
    bool has_span;
    struct ss_step_span span;
};

/* NULL: not a step track. */
static struct step_track *find_track(struct finder *finder, uint32_t ref)
{
    bool is_known = ref < finder->tracks.count && finder->tracks.data[ref].has_steps;
    return is_known ? &finder->tracks.data[ref] : NULL;
}

static enum ss_status on_track(void *context, const struct ss_trace_track *track)
{
    struct finder *finder = context;
    if (track->kind == SS_TRACK_STEPS && ss_strview_equal(track->name, ss_strview_of("step"))) {
        while (finder->tracks.count <= track->ref) {
            ss_vec_push(&finder->tracks, (struct step_track){0});
        }
        finder->tracks.data[track->ref].has_steps = true;
    }
    return SS_OK;
}

static bool number_of(const struct ss_trace_value *value, int64_t *number)
{
    *number = value->type == SS_VALUE_INT ? value->integer : (int64_t)value->natural;
    return value->type == SS_VALUE_INT || value->type == SS_VALUE_UINT;
}

static void add_number(struct ss_step_numbers *seen, int64_t number)
{
    seen->lowest = !seen->has_steps || number < seen->lowest ? number : seen->lowest;
    seen->highest = !seen->has_steps || number > seen->highest ? number : seen->highest;
    seen->has_steps = true;
}

static enum ss_status on_event(void *context, const struct ss_trace_event *event)
{
    struct finder *finder = context;
    struct step_track *track = find_track(finder, event->track_ref);
    if (track == NULL || event->kind == SS_EVENT_INSTANT) {
        return SS_OK;
    }
    if (track->is_in_span && event->time_ns > finder->span.end_ns) {
        finder->span.end_ns = event->time_ns;
    }
    int64_t number;
    track->is_in_span = false;
    if (event->kind != SS_EVENT_BEGIN || !number_of(&event->payload, &number)) {
        return SS_OK;
    }
    add_number(finder->seen, number);
    track->is_in_span = number >= finder->first && number <= finder->last;
    if (track->is_in_span && (!finder->has_span || event->time_ns < finder->span.begin_ns)) {
        finder->span.begin_ns = event->time_ns;
    }
    finder->has_span = finder->has_span || track->is_in_span;
    return SS_OK;
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Steps that are still open end with the recording. */
static void end_open_steps(struct finder *finder, const struct ss_trace_summary *summary)
{
    for (size_t i = 0; i < finder->tracks.count; i++) {
        if (finder->tracks.data[i].is_in_span) {
            finder->span.end_ns =
                later(finder->span.end_ns, later(summary->last_ns, summary->last_event_ns));
        }
    }
}

enum ss_status ss_step_span_scan(const char *path, int64_t first, int64_t last,
                                 struct ss_step_numbers *seen, struct ss_step_span *span,
                                 bool *has_span, struct ss_error *err)
{
    static const struct ss_trace_visitor visitor = {.track = on_track, .event = on_event};
    struct finder finder = {.first = first, .last = last, .seen = seen};
    struct ss_trace_summary summary = {0};
    enum ss_status status = ss_trace_read(path, &visitor, &finder, &summary, err);
    if (status == SS_OK) {
        end_open_steps(&finder, &summary);
        *span = finder.span;
        *has_span = finder.has_span;
    }
    ss_vec_fini(&finder.tracks);
    return status;
}

enum ss_status ss_step_span_fail(const char *path, size_t count, int64_t first, int64_t last,
                                 const struct ss_step_numbers *seen, struct ss_error *err)
{
    char where[40] = "";
    if (count > 1) {
        snprintf(where, sizeof where, " and %zu other%s", count - 1, count > 2 ? "s" : "");
    }
    const char *have = count > 1 ? "have" : "has";
    if (!seen->has_steps) {
        return ss_fail(err, SS_E_USAGE, "%s%s %s no steps: the program marked none", path, where,
                       have);
    }
    char to[32] = " on";
    if (last != INT64_MAX) {
        snprintf(to, sizeof to, " to %" PRId64, last);
    }
    return ss_fail(
        err, SS_E_USAGE, "%s%s %s no step from %" PRId64 "%s; %s steps are %" PRId64 " to %" PRId64,
        path, where, have, first, to, count > 1 ? "their" : "its", seen->lowest, seen->highest);
}

enum ss_status ss_step_span_find(const char *path, int64_t first, int64_t last,
                                 struct ss_step_span *span, struct ss_error *err)
{
    struct ss_step_numbers seen = {0};
    bool has_span = false;
    SS_TRY(ss_step_span_scan(path, first, last, &seen, span, &has_span, err));
    return has_span ? SS_OK : ss_step_span_fail(path, 1, first, last, &seen, err);
}
