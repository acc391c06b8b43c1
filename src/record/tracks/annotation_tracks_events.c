/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/shared_names.h"
#include "record/tracks/annotation_tracks_inside.h"

enum { MAX_ASYNC = 65536, MAX_EARLY_ENDS = 4096 };

static struct ss_route aim_of(const struct ss_annotation_tracks *tracks)
{
    uint32_t owner = tracks->window_owner != 0 ? tracks->window_owner : tracks->process_ref;
    return (struct ss_route){owner, tracks->window};
}

/* --- events ---------------------------------------------------------------------------------- */

static struct ss_trace_value payload_of(const struct ss_annotation_tracks *tracks,
                                        const struct ss_annot_event *event)
{
    struct ss_trace_value value = {.type = SS_VALUE_NONE};
    switch (event->value_type) {
    case SS_RING_VALUE_UNSIGNED:
        value.type = SS_VALUE_UINT;
        value.natural = event->value;
        break;
    case SS_RING_VALUE_SIGNED:
        value.type = SS_VALUE_INT;
        value.integer = (int64_t)event->value;
        break;
    case SS_RING_VALUE_DOUBLE:
        value.type = SS_VALUE_REAL;
        memcpy(&value.real, &event->value, sizeof value.real);
        break;
    case SS_RING_VALUE_NAME:
        value.type = SS_VALUE_TEXT;
        value.text = ss_tracks_text(tracks, event->value < tracks->name_entries.count
                                                ? tracks->name_entries.data[event->value].text
                                                : 0);
        break;
    default:
        break;
    }
    return value;
}

static void write_event(struct ss_annotation_tracks *tracks, const struct ss_trace_event *event)
{
    struct ss_error err = {0};
    ss_record_context_check(
        tracks->context,
        ss_recording_event(tracks->context->recording, aim_of(tracks), event, &err), &err);
}

static void write_range(struct ss_annotation_tracks *tracks, const struct ss_annot_event *event)
{
    bool is_end = event->kind == SS_ANNOT_RANGE_END;
    struct ss_trace_event record = {.time_ns = event->time_ns,
                                    .track_ref = ss_tracks_of_ranges(tracks, event),
                                    .name_ref =
                                        is_end ? 0 : ss_tracks_name_ref(tracks, event->name),
                                    .kind = is_end                         ? SS_EVENT_END
                                            : event->kind == SS_ANNOT_MARK ? SS_EVENT_INSTANT
                                                                           : SS_EVENT_BEGIN,
                                    .flags = is_end && event->unseen_end ? SS_EVENT_END_UNSEEN
                                             : event->unseen_begin       ? SS_EVENT_BEGIN_UNSEEN
                                                                         : 0,
                                    .payload = payload_of(tracks, event)};
    if (event->kind == SS_ANNOT_RANGE_BEGIN && event->id != 0) {
        record.flow = SS_FLOW_THROUGH;
        record.flow_id = event->id;
    }
    write_event(tracks, &record);
}

/* A flow needs an event: an instant inside the range that it connects, with the range's name. */
static void write_flow(struct ss_annotation_tracks *tracks, const struct ss_annot_event *event)
{
    uint32_t name = event->name != 0 ? ss_tracks_name_ref(tracks, event->name)
                                     : ss_tracks_plain_ref(tracks, "flow");
    struct ss_trace_event record = {.time_ns = event->time_ns,
                                    .track_ref = ss_tracks_of_ranges(tracks, event),
                                    .name_ref = name,
                                    .kind = SS_EVENT_INSTANT,
                                    .flow = event->detail == 2 ? SS_FLOW_END : SS_FLOW_THROUGH,
                                    .flow_id = event->id};
    write_event(tracks, &record);
}

static void write_count(struct ss_annotation_tracks *tracks, const struct ss_annot_event *event)
{
    struct ss_trace_counter counter = {.time_ns = event->time_ns,
                                       .track_ref = ss_tracks_of_counter(tracks, event->name),
                                       .is_integer = event->value_type != SS_RING_VALUE_DOUBLE};
    if (counter.track_ref == 0) {
        tracks->refused++;
        return;
    }
    if (counter.is_integer) {
        counter.integer = (int64_t)event->value;
    } else {
        memcpy(&counter.real, &event->value, sizeof counter.real);
    }
    struct ss_error err = {0};
    ss_record_context_check(
        tracks->context,
        ss_recording_counter(tracks->context->recording, aim_of(tracks), &counter, &err), &err);
}

static void write_line(struct ss_annotation_tracks *tracks, const struct ss_annot_event *event)
{
    struct ss_trace_line line = {.time_ns = event->time_ns,
                                 .process_ref = tracks->process_ref,
                                 .name_ref = ss_tracks_name_ref(tracks, event->name),
                                 .line = event->detail,
                                 .hits = event->id,
                                 .total_ns = event->value};
    struct ss_error err = {0};
    ss_record_context_check(
        tracks->context, ss_recording_line(tracks->context->recording, aim_of(tracks), &line, &err),
        &err);
}

/* --- asynchronous ranges --------------------------------------------------------------------- */

static void end_async(struct ss_annotation_tracks *tracks, struct ss_track_async_range *range,
                      uint64_t time_ns, bool unseen)
{
    struct ss_trace_event record = {.time_ns = time_ns,
                                    .track_ref = range->track_ref,
                                    .kind = SS_EVENT_END,
                                    .flags = unseen ? SS_EVENT_END_UNSEEN : 0};
    if (range->arrives != 0 && !unseen) {
        record.flow = SS_FLOW_END;
        record.flow_id = range->arrives;
    }
    struct ss_error err = {0};
    ss_record_context_check(tracks->context,
                            ss_recording_async_end(tracks->context->recording, aim_of(tracks),
                                                   range->id, &record, &err),
                            &err);
    HASH_DEL(tracks->async, range);
    ss_free(range);
}

static struct ss_track_async_range *find_async(struct ss_annotation_tracks *tracks, uint64_t id)
{
    struct ss_track_async_range *range = NULL;
    HASH_FIND(hh, tracks->async, &id, sizeof id, range);
    return range;
}

static void begin_async(struct ss_annotation_tracks *tracks, const struct ss_annot_event *event)
{
    struct ss_event_value fields[SS_TRACK_COLLECTIVE_FIELDS];
    struct ss_trace_event record = {.time_ns = event->time_ns,
                                    .track_ref = ss_tracks_of_async(tracks, event->domain),
                                    .name_ref = ss_tracks_name_ref(tracks, event->name),
                                    .kind = SS_EVENT_BEGIN,
                                    .payload = payload_of(tracks, event),
                                    .fields = fields,
                                    .field_count = ss_tracks_put_collective(tracks, event, fields)};
    uint64_t arrives = ss_tracks_put_flow(tracks, event, &record);
    struct ss_error err = {0};
    bool accepted = false;
    if (HASH_COUNT(tracks->async) < MAX_ASYNC && find_async(tracks, event->id) == NULL) {
        ss_record_context_check(tracks->context,
                                ss_recording_async_begin(tracks->context->recording, aim_of(tracks),
                                                         event->id, &record, &accepted, &err),
                                &err);
    }
    if (!accepted) {
        tracks->refused++;
        return;
    }
    struct ss_track_async_range *range = ss_alloc_zero(1, sizeof *range);
    range->id = event->id;
    range->track_ref = record.track_ref;
    range->arrives = arrives;
    HASH_ADD(hh, tracks->async, id, sizeof range->id, range);
    for (size_t i = 0; i < tracks->early.count; i++) {
        if (tracks->early.data[i].id == event->id) {
            end_async(tracks, range, tracks->early.data[i].time_ns, false);
            tracks->early.data[i] = tracks->early.data[--tracks->early.count];
            return;
        }
    }
}

/* The begin may be in the ring of another thread that is not drained yet. */
static void on_async_end(struct ss_annotation_tracks *tracks, const struct ss_annot_event *event)
{
    struct ss_track_async_range *range = find_async(tracks, event->id);
    if (range != NULL) {
        end_async(tracks, range, event->time_ns, false);
    } else if (tracks->early.count < MAX_EARLY_ENDS) {
        ss_vec_push(&tracks->early, (struct ss_track_early_end){event->id, event->time_ns, false});
    } else {
        tracks->refused++;
    }
}

void ss_annotation_tracks_drained(struct ss_annotation_tracks *tracks)
{
    size_t remaining = 0;
    for (size_t i = 0; i < tracks->early.count; i++) {
        struct ss_track_early_end *end = &tracks->early.data[i];
        if (end->is_old) {
            tracks->refused++;
        } else {
            end->is_old = true;
            tracks->early.data[remaining++] = *end;
        }
    }
    tracks->early.count = remaining;
}

/* --- steps, epochs, phases ------------------------------------------------------------------- */

enum { EPOCHS_RANK = -25 }; /* above their steps */

static void set_role(struct ss_annotation_tracks *tracks, enum ss_process_role role)
{
    struct ss_error err = {0};
    ss_record_context_check(
        tracks->context,
        ss_recording_role(tracks->context->recording, tracks->process_ref, role, &err), &err);
}

static void end_sequence(struct ss_annotation_tracks *tracks, struct ss_track_sequence *sequence,
                         uint64_t time_ns, bool unseen)
{
    if (sequence->is_open) {
        struct ss_trace_event end = {.time_ns = time_ns,
                                     .track_ref = sequence->track_ref,
                                     .kind = SS_EVENT_END,
                                     .flags = unseen ? SS_EVENT_END_UNSEEN : 0};
        write_event(tracks, &end);
        sequence->is_open = false;
    }
}

static void begin_next(struct ss_annotation_tracks *tracks, struct ss_track_sequence *sequence,
                       enum ss_track_kind kind, const char *name,
                       const struct ss_trace_event *begin)
{
    if (sequence->track_ref == 0) {
        sequence->track_ref = ss_tracks_add(
            tracks, (struct ss_trace_track){.kind = kind,
                                            .process_ref = tracks->process_ref,
                                            .name = ss_strview_of(name),
                                            .rank = name[0] == 'e' ? EPOCHS_RANK : 0});
    }
    end_sequence(tracks, sequence, begin->time_ns, false);
    struct ss_trace_event record = *begin;
    record.track_ref = sequence->track_ref;
    write_event(tracks, &record);
    sequence->is_open = true;
}

/* Writes the start of the step that waits. */
static void write_waiting(struct ss_annotation_tracks *tracks)
{
    struct ss_track_waiting_step *waiting = &tracks->waiting;
    uint32_t window = tracks->window, window_owner = tracks->window_owner;
    if (waiting->is_waiting) {
        waiting->is_waiting = false;
        tracks->window = waiting->window;
        tracks->window_owner = waiting->window_owner;
        begin_next(tracks, &tracks->steps, SS_TRACK_STEPS, "step", &waiting->begin);
        tracks->window = window;
        tracks->window_owner = window_owner;
    }
}

/* In a process that marks phases, the start of a step waits for the first phase of work. */
static void begin_step(struct ss_annotation_tracks *tracks, const struct ss_trace_event *begin)
{
    write_waiting(tracks);
    if (tracks->phases.track_ref == 0) {
        begin_next(tracks, &tracks->steps, SS_TRACK_STEPS, "step", begin);
        return;
    }
    end_sequence(tracks, &tracks->steps, begin->time_ns, false);
    tracks->waiting =
        (struct ss_track_waiting_step){*begin, tracks->window, tracks->window_owner, true};
}

static void end_steps(struct ss_annotation_tracks *tracks, uint64_t time_ns, bool unseen)
{
    tracks->waiting.is_waiting = false;
    end_sequence(tracks, &tracks->steps, time_ns, unseen);
}

/* Phases that also follow the last step: a loader that finds its end has a phase of data. */
static bool is_work(const struct ss_annotation_tracks *tracks, uint32_t name)
{
    const char *const others[] = {ss_phase_data, ss_phase_evaluation, ss_phase_checkpoint,
                                  ss_phase_profiler};
    struct ss_strview text = ss_tracks_text(
        tracks, name < tracks->name_entries.count ? tracks->name_entries.data[name].text : 0);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (ss_strview_equal(text, ss_strview_of(others[i]))) {
            return false;
        }
    }
    return true;
}

static void on_number(struct ss_annotation_tracks *tracks, struct ss_track_sequence *sequence,
                      const char *name, const struct ss_annot_event *event)
{
    struct ss_trace_event begin = {
        .time_ns = event->time_ns,
        .kind = SS_EVENT_BEGIN,
        .payload = {.type = SS_VALUE_INT, .integer = (int64_t)event->value}};
    if (sequence->track_ref == 0) {
        set_role(tracks, SS_PROCESS_ROLE_TRAINS);
    }
    if (sequence == &tracks->steps) {
        begin_step(tracks, &begin);
    } else {
        begin_next(tracks, sequence, SS_TRACK_STEPS, name, &begin);
    }
}

static void on_phase(struct ss_annotation_tracks *tracks, const struct ss_annot_event *event)
{
    if (event->name == 0) {
        end_sequence(tracks, &tracks->phases, event->time_ns, false);
        return;
    }
    struct ss_trace_event begin = {.time_ns = event->time_ns,
                                   .kind = SS_EVENT_BEGIN,
                                   .name_ref = ss_tracks_name_ref(tracks, event->name)};
    if (is_work(tracks, event->name)) {
        write_waiting(tracks);
    }
    begin_next(tracks, &tracks->phases, SS_TRACK_PHASES, "phase", &begin);
}

/* --- facts and notes ------------------------------------------------------------------------- */

static void write_note(struct ss_annotation_tracks *tracks, const char *kind,
                       struct ss_strview text, uint64_t time_ns, int64_t value)
{
    struct ss_trace_note note = {.time_ns = time_ns,
                                 .process_ref = tracks->process_ref,
                                 .kind = ss_strview_of(kind),
                                 .text = text,
                                 .value = value};
    struct ss_error err = {0};
    struct ss_route route = {.process_ref = tracks->process_ref};
    ss_record_context_check(
        tracks->context, ss_recording_note(tracks->context->recording, route, &note, &err), &err);
}

/* "name = value" */
static void on_fact(struct ss_annotation_tracks *tracks, const struct ss_annot_event *event)
{
    char text[2 * SS_RING_MAX_TEXT_BYTES + 64];
    struct ss_trace_value value = payload_of(tracks, event);
    struct ss_strview key = ss_tracks_text(tracks, event->name < tracks->name_entries.count
                                                       ? tracks->name_entries.data[event->name].text
                                                       : 0);
    if (ss_strview_equal(key, ss_strview_of(ss_fact_gpu_problem)) && value.type == SS_VALUE_TEXT) {
        snprintf(tracks->context->gpu_problem, sizeof tracks->context->gpu_problem, "%.*s",
                 (int)value.text.length, value.text.data);
    }
    if (ss_strview_equal(key, ss_strview_of(ss_fact_torch_route)) && value.type == SS_VALUE_TEXT) {
        snprintf(tracks->context->torch_route, sizeof tracks->context->torch_route, "%.*s",
                 (int)value.text.length, value.text.data);
    }
    if (ss_strview_equal(key, ss_strview_of(ss_fact_gpu_samples_problem)) &&
        value.type == SS_VALUE_TEXT) {
        snprintf(tracks->context->gpu_samples_problem, sizeof tracks->context->gpu_samples_problem,
                 "%.*s", (int)value.text.length, value.text.data);
    }
    if (ss_strview_equal(key, ss_strview_of(ss_fact_loader_worker))) {
        set_role(tracks, SS_PROCESS_ROLE_LOADS_DATA);
    }
    int at = snprintf(text, sizeof text, "%.*s = ", (int)key.length, key.data);
    size_t room = sizeof text - (size_t)at;
    if (value.type == SS_VALUE_TEXT) {
        at += snprintf(text + at, room, "%.*s", (int)value.text.length, value.text.data);
    } else if (value.type == SS_VALUE_REAL) {
        at += snprintf(text + at, room, "%.17g", value.real);
    } else if (value.type == SS_VALUE_UINT) {
        at += snprintf(text + at, room, "%" PRIu64, value.natural);
    } else {
        at += snprintf(text + at, room, "%" PRId64, (int64_t)event->value);
    }
    write_note(tracks, "fact", (struct ss_strview){text, (size_t)at}, event->time_ns,
               value.type == SS_VALUE_INT || value.type == SS_VALUE_UINT ? (int64_t)event->value
                                                                         : 0);
}

static void on_window(struct ss_annotation_tracks *tracks, const struct ss_annot_event *event)
{
    static const char *const actions[] = {"skip", "warmup", "record", "record_and_save"};
    char text[96];
    uint32_t action = event->detail & SS_RING_WINDOW_ACTION;
    snprintf(text, sizeof text, "%s from step %" PRId64 "%s", action < 4 ? actions[action] : "?",
             (int64_t)event->value >= 0 ? (int64_t)event->value : 0,
             (event->detail & SS_RING_WINDOW_CUT) != 0 ? "; the window before is partial" : "");
    write_note(tracks, "schedule", ss_strview_of(text), event->time_ns, (int64_t)event->id);
}

static void on_process_end(struct ss_annotation_tracks *tracks, const struct ss_annot_event *event)
{
    struct ss_track_async_range *range, *next;
    HASH_ITER(hh, tracks->async, range, next)
    {
        end_async(tracks, range, event->time_ns, true);
    }
    end_sequence(tracks, &tracks->phases, event->time_ns, true);
    end_steps(tracks, event->time_ns, true);
    end_sequence(tracks, &tracks->epochs, event->time_ns, true);
}

/* Long: one case for each kind of event. */
void ss_tracks_on_event(void *context, const struct ss_annot_event *event)
{
    struct ss_annotation_tracks *tracks = context;
    tracks->window = event->window;
    tracks->window_owner = event->window_owner;
    switch (event->kind) {
    case SS_ANNOT_RANGE_BEGIN:
    case SS_ANNOT_RANGE_END:
    case SS_ANNOT_MARK:
        write_range(tracks, event);
        break;
    case SS_ANNOT_ASYNC_BEGIN:
        begin_async(tracks, event);
        break;
    case SS_ANNOT_ASYNC_END:
        on_async_end(tracks, event);
        break;
    case SS_ANNOT_FLOW:
        write_flow(tracks, event);
        break;
    case SS_ANNOT_COUNT:
        write_count(tracks, event);
        break;
    case SS_ANNOT_STEP:
        on_number(tracks, &tracks->steps, "step", event);
        break;
    case SS_ANNOT_EPOCH:
        on_number(tracks, &tracks->epochs, "epoch", event);
        break;
    case SS_ANNOT_PHASE:
        on_phase(tracks, event);
        break;
    case SS_ANNOT_WINDOW:
        on_window(tracks, event);
        break;
    case SS_ANNOT_THREAD_NAME:
        if (event->name < tracks->name_entries.count &&
            (event->detail == 0 || ss_recorded_process_has_thread(tracks->process, event->tid))) {
            ss_recorded_process_name_thread(
                tracks->process, event->tid,
                ss_tracks_text(tracks, tracks->name_entries.data[event->name].text));
        }
        break;
    case SS_ANNOT_FACT:
        on_fact(tracks, event);
        break;
    case SS_ANNOT_LINE:
        write_line(tracks, event);
        break;
    case SS_ANNOT_STEPS_END:
        end_sequence(tracks, &tracks->phases, event->time_ns, true);
        end_steps(tracks, event->time_ns, event->unseen_end);
        end_sequence(tracks, &tracks->epochs, event->time_ns, true);
        break;
    case SS_ANNOT_PROCESS_END:
        on_process_end(tracks, event);
        break;
    }
}
