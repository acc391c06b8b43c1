/* SPDX-License-Identifier: Apache-2.0 */
#include "record/annotation_tracks.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <uthash.h>

#include "base/alloc.h"
#include "trace/writer_tracks.h"

enum { MAX_ASYNC = 65536, MAX_EARLY_ENDS = 4096, LANE_DOMAINS = SS_RING_MAX_DOMAINS };

struct name_entry {
    uint32_t text; /* in names->texts */
    uint32_t ref;  /* of the trace */
    uint32_t counter_track;
    uint32_t unit;
    enum ss_ring_counter counter;
};

struct lane {
    uint32_t thread; /* number within the process; a new thread gets new tracks */
    uint32_t thread_ref;
    uint32_t tracks[LANE_DOMAINS];
};

struct async_range {
    uint64_t id;
    uint32_t track_ref;
    UT_hash_handle hh;
};

struct early_end {
    uint64_t id, time_ns;
    bool is_old; /* one drain has finished since */
};

/* A track of consecutive ranges: steps, epochs or phases. */
struct sequence {
    uint32_t track_ref;
    bool is_open;
};

struct ss_annotation_tracks {
    struct ss_record_context *context;
    struct ss_event_names *names; /* of the context */
    struct ss_recorded_process *process;
    uint32_t process_ref;
    struct ss_vec_of(struct name_entry) name_entries;
    struct ss_vec_of(uint32_t) domains; /* texts */
    struct ss_vec_of(struct lane *) lanes;
    uint32_t async_tracks[LANE_DOMAINS];
    struct async_range *async;
    struct ss_vec_of(struct early_end) early;
    struct sequence steps, epochs, phases;
    uint32_t window;       /* of the current event; 0: none, or irrelevant */
    uint32_t window_owner; /* ref of another process; 0: this process */
    uint64_t refused;
};

static struct ss_route aim_of(const struct ss_annotation_tracks *tracks)
{
    uint32_t owner = tracks->window_owner != 0 ? tracks->window_owner : tracks->process_ref;
    return (struct ss_route){owner, tracks->window};
}

/* --- names ----------------------------------------------------------------------------------- */

static struct ss_strview text_of(const struct ss_annotation_tracks *tracks, uint32_t text)
{
    return ss_intern_get(&tracks->names->texts, text);
}

static uint32_t name_ref(struct ss_annotation_tracks *tracks, const struct ss_event_name *name)
{
    struct ss_error err = {0};
    uint32_t ref = ss_event_names_put(tracks->names, tracks->context->recording, name, &err);
    ss_record_context_check(tracks->context, err.status, &err);
    return ref;
}

/* 0 for name 0. */
static uint32_t text_of_name(const struct ss_annotation_tracks *tracks, uint32_t name)
{
    return name < tracks->name_entries.count ? tracks->name_entries.data[name].text : 0;
}

static void on_name(void *context, const struct ss_annot_name *name)
{
    struct ss_annotation_tracks *tracks = context;
    if (name->id >= tracks->name_entries.count) {
        ss_vec_resize(&tracks->name_entries, (size_t)name->id + 1);
    }
    struct name_entry *entry = &tracks->name_entries.data[name->id];
    entry->text = ss_intern_put(&tracks->names->texts, name->text.data, name->text.length);
    struct ss_event_name key = {.text = entry->text,
                                .category = text_of_name(tracks, name->category),
                                .argb = name->argb,
                                .file = text_of_name(tracks, name->file),
                                .line = name->line};
    entry->ref = name_ref(tracks, &key);
}

static void on_domain(void *context, uint32_t id, struct ss_strview text)
{
    struct ss_annotation_tracks *tracks = context;
    if (id >= tracks->domains.count) {
        ss_vec_resize(&tracks->domains, (size_t)id + 1);
    }
    tracks->domains.data[id] = ss_intern_put(&tracks->names->texts, text.data, text.length);
}

static void on_counter(void *context, uint32_t name, uint32_t unit, enum ss_ring_counter kind)
{
    struct ss_annotation_tracks *tracks = context;
    if (name < tracks->name_entries.count && unit < tracks->name_entries.count) {
        tracks->name_entries.data[name].unit = tracks->name_entries.data[unit].text;
        tracks->name_entries.data[name].counter = kind;
    }
}

static uint32_t plain_ref(struct ss_annotation_tracks *tracks, const char *text)
{
    struct ss_event_name key = {.text = ss_intern_put(&tracks->names->texts, text, strlen(text))};
    return name_ref(tracks, &key);
}

/* The name of events whose own name found no space in the ring file. */
static uint32_t other_ref(struct ss_annotation_tracks *tracks)
{
    return plain_ref(tracks, "<other>");
}

static uint32_t ref_of(struct ss_annotation_tracks *tracks, uint32_t name)
{
    uint32_t ref = name < tracks->name_entries.count ? tracks->name_entries.data[name].ref : 0;
    return ref != 0 ? ref : other_ref(tracks);
}

uint32_t ss_annotation_tracks_name(const struct ss_annotation_tracks *tracks, uint32_t name)
{
    return name < tracks->name_entries.count ? tracks->name_entries.data[name].ref : 0;
}

/* --- tracks ---------------------------------------------------------------------------------- */

static uint32_t new_track(struct ss_annotation_tracks *tracks, struct ss_trace_track track)
{
    struct ss_error err = {0};
    track.ref = ++tracks->context->track_refs;
    ss_record_context_check(tracks->context,
                            ss_recording_track(tracks->context->recording, &track, &err), &err);
    return track.ref;
}

uint32_t ss_annotation_tracks_put_name(struct ss_annotation_tracks *tracks, struct ss_strview text,
                                       struct ss_strview category)
{
    struct ss_intern *texts = &tracks->names->texts;
    struct ss_event_name key = {.text = ss_intern_put(texts, text.data, text.length),
                                .category = ss_intern_put(texts, category.data, category.length)};
    return name_ref(tracks, &key);
}

uint32_t ss_annotation_tracks_put_track(struct ss_annotation_tracks *tracks,
                                        const struct ss_trace_track *track)
{
    return new_track(tracks, *track);
}

static struct ss_strview domain_text(const struct ss_annotation_tracks *tracks, uint32_t domain)
{
    return text_of(tracks, domain < tracks->domains.count ? tracks->domains.data[domain] : 0);
}

static struct lane *lane_of(struct ss_annotation_tracks *tracks, const struct ss_annot_event *event)
{
    if (event->lane >= tracks->lanes.count) {
        ss_vec_resize(&tracks->lanes, (size_t)event->lane + 1);
    }
    struct lane **lane = &tracks->lanes.data[event->lane];
    if (*lane == NULL) {
        *lane = ss_alloc_zero(1, sizeof **lane);
    }
    if ((*lane)->thread != event->thread) {
        **lane = (struct lane){.thread = event->thread};
        (*lane)->thread_ref = ss_recorded_process_thread(tracks->process, event->tid);
    }
    return *lane;
}

static uint32_t range_track(struct ss_annotation_tracks *tracks, const struct ss_annot_event *event)
{
    struct lane *lane = lane_of(tracks, event);
    uint32_t domain = event->domain < LANE_DOMAINS ? event->domain : 0;
    if (lane->tracks[domain] == 0) {
        lane->tracks[domain] =
            new_track(tracks, (struct ss_trace_track){.kind = SS_TRACK_RANGES,
                                                      .process_ref = tracks->process_ref,
                                                      .thread_ref = lane->thread_ref,
                                                      .name = domain_text(tracks, domain)});
    }
    return lane->tracks[domain];
}

static uint32_t async_track(struct ss_annotation_tracks *tracks, uint32_t domain)
{
    domain = domain < LANE_DOMAINS ? domain : 0;
    if (tracks->async_tracks[domain] == 0) {
        tracks->async_tracks[domain] =
            new_track(tracks, (struct ss_trace_track){.kind = SS_TRACK_ASYNC,
                                                      .process_ref = tracks->process_ref,
                                                      .name = domain_text(tracks, domain)});
    }
    return tracks->async_tracks[domain];
}

static uint32_t counter_track(struct ss_annotation_tracks *tracks, uint32_t name)
{
    if (name == 0 || name >= tracks->name_entries.count) {
        return 0;
    }
    struct name_entry *entry = &tracks->name_entries.data[name];
    if (entry->counter_track == 0) {
        entry->counter_track = new_track(
            tracks, (struct ss_trace_track){.kind = SS_TRACK_COUNTER,
                                            .process_ref = tracks->process_ref,
                                            .name = text_of(tracks, entry->text),
                                            .unit = text_of(tracks, entry->unit),
                                            .counter = (enum ss_counter_kind)entry->counter});
    }
    return entry->counter_track;
}

_Static_assert((int)SS_RING_GAUGE == (int)SS_COUNTER_GAUGE &&
                   (int)SS_RING_DELTA == (int)SS_COUNTER_DELTA &&
                   (int)SS_RING_CUMULATIVE == (int)SS_COUNTER_CUMULATIVE,
               "the ring's counters are those of the trace");

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
        value.text = text_of(tracks, event->value < tracks->name_entries.count
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
                                    .track_ref = range_track(tracks, event),
                                    .name_ref = is_end ? 0 : ref_of(tracks, event->name),
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
    uint32_t name = event->name != 0 ? ref_of(tracks, event->name) : plain_ref(tracks, "flow");
    struct ss_trace_event record = {.time_ns = event->time_ns,
                                    .track_ref = range_track(tracks, event),
                                    .name_ref = name,
                                    .kind = SS_EVENT_INSTANT,
                                    .flow = event->detail == 2 ? SS_FLOW_END : SS_FLOW_THROUGH,
                                    .flow_id = event->id};
    write_event(tracks, &record);
}

static void write_count(struct ss_annotation_tracks *tracks, const struct ss_annot_event *event)
{
    struct ss_trace_counter counter = {.time_ns = event->time_ns,
                                       .track_ref = counter_track(tracks, event->name),
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
                                 .name_ref = ref_of(tracks, event->name),
                                 .line = event->detail,
                                 .hits = event->id,
                                 .total_ns = event->value};
    struct ss_error err = {0};
    ss_record_context_check(
        tracks->context, ss_recording_line(tracks->context->recording, aim_of(tracks), &line, &err),
        &err);
}

/* --- asynchronous ranges --------------------------------------------------------------------- */

static void end_async(struct ss_annotation_tracks *tracks, struct async_range *range,
                      uint64_t time_ns, bool unseen)
{
    struct ss_trace_event record = {.time_ns = time_ns,
                                    .track_ref = range->track_ref,
                                    .kind = SS_EVENT_END,
                                    .flags = unseen ? SS_EVENT_END_UNSEEN : 0};
    struct ss_error err = {0};
    ss_record_context_check(tracks->context,
                            ss_recording_async_end(tracks->context->recording, aim_of(tracks),
                                                   range->id, &record, &err),
                            &err);
    HASH_DEL(tracks->async, range);
    ss_free(range);
}

static struct async_range *find_async(struct ss_annotation_tracks *tracks, uint64_t id)
{
    struct async_range *range = NULL;
    HASH_FIND(hh, tracks->async, &id, sizeof id, range);
    return range;
}

static void begin_async(struct ss_annotation_tracks *tracks, const struct ss_annot_event *event)
{
    struct ss_trace_event record = {.time_ns = event->time_ns,
                                    .track_ref = async_track(tracks, event->domain),
                                    .name_ref = ref_of(tracks, event->name),
                                    .kind = SS_EVENT_BEGIN,
                                    .payload = payload_of(tracks, event)};
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
    struct async_range *range = ss_alloc_zero(1, sizeof *range);
    range->id = event->id;
    range->track_ref = record.track_ref;
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
    struct async_range *range = find_async(tracks, event->id);
    if (range != NULL) {
        end_async(tracks, range, event->time_ns, false);
    } else if (tracks->early.count < MAX_EARLY_ENDS) {
        ss_vec_push(&tracks->early, (struct early_end){event->id, event->time_ns, false});
    } else {
        tracks->refused++;
    }
}

void ss_annotation_tracks_drained(struct ss_annotation_tracks *tracks)
{
    size_t remaining = 0;
    for (size_t i = 0; i < tracks->early.count; i++) {
        struct early_end *end = &tracks->early.data[i];
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

static void end_sequence(struct ss_annotation_tracks *tracks, struct sequence *sequence,
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

static void begin_next(struct ss_annotation_tracks *tracks, struct sequence *sequence,
                       enum ss_track_kind kind, const char *name,
                       const struct ss_trace_event *begin)
{
    if (sequence->track_ref == 0) {
        sequence->track_ref =
            new_track(tracks, (struct ss_trace_track){.kind = kind,
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

static void on_number(struct ss_annotation_tracks *tracks, struct sequence *sequence,
                      const char *name, const struct ss_annot_event *event)
{
    struct ss_trace_event begin = {
        .time_ns = event->time_ns,
        .kind = SS_EVENT_BEGIN,
        .payload = {.type = SS_VALUE_INT, .integer = (int64_t)event->value}};
    begin_next(tracks, sequence, SS_TRACK_STEPS, name, &begin);
}

static void on_phase(struct ss_annotation_tracks *tracks, const struct ss_annot_event *event)
{
    if (event->name == 0) {
        end_sequence(tracks, &tracks->phases, event->time_ns, false);
        return;
    }
    struct ss_trace_event begin = {
        .time_ns = event->time_ns, .kind = SS_EVENT_BEGIN, .name_ref = ref_of(tracks, event->name)};
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
    struct ss_route aim = {.process_ref = tracks->process_ref};
    ss_record_context_check(tracks->context,
                            ss_recording_note(tracks->context->recording, aim, &note, &err), &err);
}

/* "name = value" */
static void on_fact(struct ss_annotation_tracks *tracks, const struct ss_annot_event *event)
{
    char text[2 * SS_RING_MAX_TEXT_BYTES + 64];
    struct ss_trace_value value = payload_of(tracks, event);
    struct ss_strview key = text_of(tracks, event->name < tracks->name_entries.count
                                                ? tracks->name_entries.data[event->name].text
                                                : 0);
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
    struct async_range *range, *next;
    HASH_ITER(hh, tracks->async, range, next)
    {
        end_async(tracks, range, event->time_ns, true);
    }
    end_sequence(tracks, &tracks->phases, event->time_ns, true);
    end_sequence(tracks, &tracks->steps, event->time_ns, true);
    end_sequence(tracks, &tracks->epochs, event->time_ns, true);
}

static void on_event(void *context, const struct ss_annot_event *event)
{
    struct ss_annotation_tracks *tracks = context;
    tracks->window = event->window;
    tracks->window_owner = event->leader;
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
                text_of(tracks, tracks->name_entries.data[event->name].text));
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
        end_sequence(tracks, &tracks->steps, event->time_ns, event->unseen_end);
        end_sequence(tracks, &tracks->epochs, event->time_ns, true);
        break;
    case SS_ANNOT_PROCESS_END:
        on_process_end(tracks, event);
        break;
    }
}

/* --- life ------------------------------------------------------------------------------------ */

struct ss_annotation_tracks *ss_annotation_tracks_new(struct ss_record_context *context,
                                                      struct ss_recorded_process *process)
{
    struct ss_annotation_tracks *tracks = ss_alloc_zero(1, sizeof *tracks);
    tracks->context = context;
    tracks->names = &context->names;
    tracks->process = process;
    tracks->process_ref = ss_recorded_process_ref(process);
    return tracks;
}

void ss_annotation_tracks_free(struct ss_annotation_tracks *tracks)
{
    if (tracks == NULL) {
        return;
    }
    struct async_range *range, *next;
    HASH_ITER(hh, tracks->async, range, next)
    {
        HASH_DEL(tracks->async, range);
        ss_free(range);
    }
    for (size_t i = 0; i < tracks->lanes.count; i++) {
        ss_free(tracks->lanes.data[i]);
    }
    ss_vec_fini(&tracks->lanes);
    ss_vec_fini(&tracks->name_entries);
    ss_vec_fini(&tracks->domains);
    ss_vec_fini(&tracks->early);
    ss_free(tracks);
}

struct ss_annot_sink ss_annotation_tracks_sink(struct ss_annotation_tracks *tracks)
{
    return (struct ss_annot_sink){tracks, on_name, on_domain, on_counter, on_event};
}

uint64_t ss_annotation_tracks_refused(const struct ss_annotation_tracks *tracks)
{
    return tracks->refused;
}
