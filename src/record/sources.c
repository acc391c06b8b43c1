/* SPDX-License-Identifier: Apache-2.0 */
#include "record/sources.h"

#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/vec.h"
#include "source/registry.h"
#include "trace/writer_tracks.h"

enum { MOST_SOURCES = 16 };

/* Sort rank of tracks among their siblings: below the program's annotations. */
enum { FIRST_RANK = 50 };

struct running {
    const struct ss_source_ops *ops;
    void *source; /* NULL: not running */
    uint32_t ref;
    uint64_t next_ns;
};

struct newest {
    struct ss_trace_counter value;
    bool known;
};

struct ss_record_sources {
    struct ss_record_context *context;
    struct ss_process_table *processes;
    size_t count;
    uint32_t device_refs; /* given so far */
    struct running running[MOST_SOURCES];
    /* With a schedule: the newest value of each series (not `known`: none yet), by ref of the
     * track, and the begin of the current window. */
    struct ss_vec_of(struct newest) newest;
    bool in_window;
    uint64_t window_ns;
    uint64_t windows;                  /* begun so far, with a file each */
    struct ss_vec_of(uint32_t) owners; /* of tracks: processes, 0 for the machine */
    uint32_t first_track;              /* of owners[0] */
};

static void keep_error(struct ss_record_context *context, enum ss_status status,
                       const struct ss_error *err)
{
    if (status != SS_OK && context->error.status == SS_OK) {
        context->error = *err;
    }
}

/* --- routing of metrics ---------------------------------------------------------------------- */

static uint32_t write_track(struct ss_record_sources *sources, struct ss_trace_track *track)
{
    struct ss_error err = {0};
    track->ref = ++sources->context->track_refs;
    if (ss_recording_is_per_window(sources->context->recording)) { /* one file needs no routing */
        sources->first_track = sources->owners.count == 0 ? track->ref : sources->first_track;
        ss_vec_resize(&sources->owners, (size_t)(track->ref - sources->first_track) + 1);
        sources->owners.data[track->ref - sources->first_track] = track->process_ref;
    }
    keep_error(sources->context, ss_recording_track(sources->context->recording, track, &err),
               &err);
    return track->ref;
}

/* The most important groups first, the others in order of creation. */
static int32_t rank_of_group(const struct ss_trace_track *track)
{
    static const char *const first[] = {"CPU",  "CPU cores", "load",  "pressure", "memory",
                                        "disk", "net",       "usage", "container"};
    for (size_t i = 0; i < sizeof first / sizeof *first; i++) {
        size_t length = strlen(first[i]);
        const char *name = track->name.data;
        if (strncmp(name, first[i], length) == 0 &&
            (name[length] == '\0' || (name[length] == ' ' && i != 0))) {
            return FIRST_RANK + (int32_t)i;
        }
    }
    return FIRST_RANK + 100 + (int32_t)track->ref;
}

static uint32_t on_device(void *context, const struct ss_metric_device *device)
{
    struct ss_record_sources *sources = context;
    struct ss_error err = {0};
    struct ss_trace_device record = {.ref = ++sources->device_refs,
                                     .kind = device->is_gpu ? SS_DEVICE_GPU : SS_DEVICE_OTHER,
                                     .number = device->number,
                                     .model = ss_strview_of(device->model),
                                     .uuid = ss_strview_of(device->uuid),
                                     .pci_address = ss_strview_of(device->pci_address),
                                     .memory_bytes = device->memory_bytes};
    keep_error(sources->context, ss_recording_device(sources->context->recording, &record, &err),
               &err);
    return record.ref;
}

static uint32_t on_group(void *context, struct ss_metric_owner owner, uint32_t parent,
                         const char *name)
{
    struct ss_trace_track track = {.kind = SS_TRACK_GROUP,
                                   .process_ref = owner.process_ref,
                                   .device_ref = owner.device_ref,
                                   .parent_ref = parent,
                                   .name = ss_strview_of(name)};
    struct ss_record_sources *sources = context;
    track.ref = sources->context->track_refs + 1;
    track.rank = rank_of_group(&track);
    return write_track(context, &track);
}

static uint32_t on_series(void *context, struct ss_metric_owner owner, uint32_t parent,
                          const char *name, const char *unit)
{
    struct ss_trace_track track = {.kind = SS_TRACK_COUNTER,
                                   .process_ref = owner.process_ref,
                                   .device_ref = owner.device_ref,
                                   .parent_ref = parent,
                                   .name = ss_strview_of(name),
                                   .unit = ss_strview_of(unit),
                                   .counter = SS_COUNTER_GAUGE};
    struct ss_record_sources *sources = context;
    track.rank = FIRST_RANK + (int32_t)sources->context->track_refs;
    uint32_t ref = write_track(context, &track);
    if (sources->context->follows_schedule) {
        ss_vec_push(&sources->newest, (struct newest){.value.track_ref = ref});
    }
    return ref;
}

static uint32_t on_ranges(void *context, struct ss_metric_owner owner, uint32_t parent,
                          const char *name)
{
    struct ss_trace_track track = {.kind = SS_TRACK_RANGES,
                                   .process_ref = owner.process_ref,
                                   .device_ref = owner.device_ref,
                                   .parent_ref = parent,
                                   .name = ss_strview_of(name)};
    struct ss_record_sources *sources = context;
    track.rank = FIRST_RANK + (int32_t)sources->context->track_refs;
    return write_track(context, &track);
}

static struct ss_route aim_of(const struct ss_record_sources *sources, uint32_t track)
{
    uint32_t index = track - sources->first_track;
    return (struct ss_route){index < sources->owners.count ? sources->owners.data[index] : 0, 0};
}

/* Outside of the windows of a schedule no file is open for a range. */
static void on_range(void *context, uint32_t track, uint64_t begin_ns, uint64_t end_ns,
                     const char *name)
{
    struct ss_record_sources *sources = context;
    struct ss_record_context *shared = sources->context;
    struct ss_event_name key = {.text = ss_intern_put(&shared->names.texts, name, strlen(name))};
    struct ss_error err = {0};
    struct ss_trace_event event = {
        .time_ns = begin_ns,
        .track_ref = track,
        .name_ref = ss_event_names_put(&shared->names, shared->recording, &key, &err),
        .kind = SS_EVENT_BEGIN};
    struct ss_trace_event end = {.time_ns = end_ns, .track_ref = track, .kind = SS_EVENT_END};
    keep_error(shared, err.status, &err);
    if (shared->error.status == SS_OK && (!shared->follows_schedule || sources->in_window)) {
        struct ss_route aim = aim_of(sources, track);
        keep_error(shared, ss_recording_event(shared->recording, aim, &event, &err), &err);
        keep_error(shared, ss_recording_event(shared->recording, aim, &end, &err), &err);
    }
}

static void put_counter(struct ss_record_sources *sources, const struct ss_trace_counter *counter)
{
    struct ss_error err = {0};
    struct ss_route aim = aim_of(sources, counter->track_ref);
    if (sources->context->error.status == SS_OK) { /* after a failed track its ref is unknown */
        keep_error(sources->context,
                   ss_recording_counter(sources->context->recording, aim, counter, &err), &err);
    }
}

static struct newest *find_newest(struct ss_record_sources *sources, uint32_t track)
{
    size_t first = 0, end = sources->newest.count;
    while (first < end) { /* refs are ascending */
        size_t middle = first + (end - first) / 2;
        if (sources->newest.data[middle].value.track_ref < track) {
            first = middle + 1;
        } else {
            end = middle;
        }
    }
    return &sources->newest.data[first];
}

/* Outside the windows of a schedule, values are read for the rates but not written. A rate whose
 * interval began before the window is written from the begin of the window on. */
static void write_counter(struct ss_record_sources *sources, const struct ss_trace_counter *counter)
{
    struct ss_trace_counter value = *counter;
    if (sources->context->follows_schedule) {
        *find_newest(sources, counter->track_ref) = (struct newest){value, true};
        value.time_ns = value.time_ns > sources->window_ns ? value.time_ns : sources->window_ns;
    }
    if (!sources->context->follows_schedule || sources->in_window) {
        put_counter(sources, &value);
    }
}

void ss_record_sources_poll_window(struct ss_record_sources *sources, uint64_t now_ns)
{
    struct ss_record_context *context = sources->context;
    bool was_in_window = sources->in_window;
    const struct ss_process_observer *observer = &context->observer;
    sources->in_window = context->follows_schedule && observer->context != NULL &&
                         observer->is_in_window(observer->context, 0, now_ns);
    uint64_t windows = ss_recording_windows(context->recording);
    bool is_same = was_in_window && windows == sources->windows;
    sources->windows = windows;
    if (!sources->in_window || is_same) {
        return;
    }
    sources->window_ns = now_ns;
    for (size_t i = 0; i < sources->newest.count; i++) {
        struct newest *newest = &sources->newest.data[i];
        if (newest->known) {
            struct ss_trace_counter value = newest->value;
            value.time_ns = now_ns;
            put_counter(sources, &value);
        }
    }
}

static void on_integer(void *context, uint32_t series, uint64_t time_ns, int64_t value)
{
    struct ss_trace_counter counter = {
        .time_ns = time_ns, .track_ref = series, .is_integer = true, .integer = value};
    write_counter(context, &counter);
}

static void on_real(void *context, uint32_t series, uint64_t time_ns, double value)
{
    struct ss_trace_counter counter = {.time_ns = time_ns, .track_ref = series, .real = value};
    write_counter(context, &counter);
}

static void each_process(void *context, void (*visit)(void *visitor, pid_t pid, uint32_t ref),
                         void *visitor)
{
    struct ss_record_sources *sources = context;
    ss_process_table_each(sources->processes, visit, visitor);
}

/* --- life ------------------------------------------------------------------------------------- */

static const enum ss_source_status statuses[] = {[SS_SOURCE_RUNS] = SS_SOURCE_RAN,
                                                 [SS_SOURCE_NOT_REQUESTED] = SS_SOURCE_OFF,
                                                 [SS_SOURCE_NOT_AVAILABLE] = SS_SOURCE_UNAVAILABLE,
                                                 [SS_SOURCE_BROKE] = SS_SOURCE_FAILED};

static void write_source(struct ss_record_sources *sources, const struct running *running,
                         enum ss_source_state state, const char *reason)
{
    struct ss_trace_source record = {.ref = running->ref,
                                     .name = ss_strview_of(running->ops->name),
                                     .status = statuses[state],
                                     .reason = ss_strview_of(reason)};
    struct ss_error err = {0};
    keep_error(sources->context, ss_recording_source(sources->context->recording, &record, &err),
               &err);
    ss_log(SS_DEBUG, "record", "source %s: %s", running->ops->name, reason);
}

static void start_one(struct ss_record_sources *sources, const struct ss_source_setup *setup,
                      const struct ss_source_ops *ops)
{
    char reason[SS_SOURCE_REASON_BYTES] = "";
    struct running *running = &sources->running[sources->count++];
    *running =
        (struct running){.ops = ops, .ref = ss_recording_new_source(sources->context->recording)};
    running->source = ops->start(setup, reason);
    enum ss_source_state state = running->source != NULL   ? SS_SOURCE_RUNS
                                 : setup->interval_ns == 0 ? SS_SOURCE_NOT_REQUESTED
                                                           : SS_SOURCE_NOT_AVAILABLE;
    write_source(sources, running, state, reason);
}

struct ss_record_sources *ss_record_sources_start(struct ss_record_context *context,
                                                  const struct ss_record_options *options,
                                                  struct ss_process_table *processes,
                                                  uint64_t since_ns)
{
    struct ss_record_sources *sources = ss_alloc_zero(1, sizeof *sources);
    sources->context = context;
    sources->processes = processes;
    struct ss_source_setup setup = {.proc_root = "/proc",
                                    .sys_root = "/sys",
                                    .interval_ns = options->host_interval_ns,
                                    .since_ns = since_ns,
                                    .metrics = {.context = sources,
                                                .device = on_device,
                                                .group = on_group,
                                                .series = on_series,
                                                .ranges = on_ranges,
                                                .range = on_range,
                                                .integer = on_integer,
                                                .real = on_real},
                                    .context = sources,
                                    .each_process = each_process};
    for (size_t i = 0; ss_sources[i] != NULL && sources->count < MOST_SOURCES; i++) {
        if (ss_sources[i]->start != NULL) {
            start_one(sources, &setup, ss_sources[i]);
        }
    }
    return sources;
}

uint64_t ss_record_sources_tick(struct ss_record_sources *sources, uint64_t now_ns)
{
    uint64_t next_ns = UINT64_MAX;
    for (size_t i = 0; i < sources->count; i++) {
        struct running *running = &sources->running[i];
        if (running->source == NULL) {
            continue;
        }
        if (now_ns >= running->next_ns) {
            running->next_ns = running->ops->tick(running->source, now_ns);
        }
        next_ns = running->next_ns < next_ns ? running->next_ns : next_ns;
    }
    return next_ns;
}

void ss_record_sources_process_ending(struct ss_record_sources *sources, pid_t pid, uint64_t now_ns)
{
    for (size_t i = 0; i < sources->count; i++) {
        struct running *running = &sources->running[i];
        if (running->source != NULL && running->ops->process_ending != NULL) {
            running->ops->process_ending(running->source, pid, now_ns);
        }
    }
}

void ss_record_sources_stop(struct ss_record_sources *sources, uint64_t now_ns)
{
    for (size_t i = 0; i < sources->count; i++) {
        struct running *running = &sources->running[i];
        if (running->source != NULL) {
            char reason[SS_SOURCE_REASON_BYTES] = "";
            enum ss_source_state state = running->ops->stop(running->source, now_ns, reason);
            write_source(sources, running, state, reason);
        }
    }
    ss_vec_fini(&sources->newest);
    ss_vec_fini(&sources->owners);
    ss_free(sources);
}
