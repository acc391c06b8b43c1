/* SPDX-License-Identifier: Apache-2.0 */
#include "record/sources/source_metrics.h"

#include <string.h>

#include "base/alloc.h"
#include "base/search.h"
#include "base/vec.h"
#include "record/devices/device_tracks.h"
#include "trace/writer_tracks.h"

/* Sort rank of tracks among their siblings: below the program's annotations. */
enum { FIRST_RANK = 50 };

struct newest {
    struct ss_trace_counter value;
    bool known;
};

struct ss_record_metrics {
    struct ss_record_context *context;
    /* With a schedule: the newest value of each series (not `known`: none yet), by ref of the
     * track, and the start of the current window. */
    struct ss_vec_of(struct newest) newest;
    bool in_window;
    uint64_t window_ns;
    uint64_t windows;                  /* begun so far, with a file each */
    struct ss_vec_of(uint32_t) owners; /* of tracks: processes, 0 for the machine */
    uint32_t first_track;              /* of owners[0] */
};

static uint32_t write_track(struct ss_record_metrics *metrics, struct ss_trace_track *track)
{
    struct ss_error err = {0};
    track->ref = ++metrics->context->track_refs;
    if (ss_recording_is_per_window(metrics->context->recording)) { /* one file needs no routing */
        metrics->first_track = metrics->owners.count == 0 ? track->ref : metrics->first_track;
        ss_vec_resize(&metrics->owners, (size_t)(track->ref - metrics->first_track) + 1);
        metrics->owners.data[track->ref - metrics->first_track] = track->process_ref;
    }
    ss_record_context_check(metrics->context,
                            ss_recording_track(metrics->context->recording, track, &err), &err);
    return track->ref;
}

static uint32_t on_device(void *context, const struct ss_metric_device *device)
{
    struct ss_record_metrics *metrics = context;
    struct ss_error err = {0};
    struct ss_trace_device record = {.ref = ++metrics->context->device_refs,
                                     .kind = device->is_gpu ? SS_DEVICE_GPU : SS_DEVICE_OTHER,
                                     .number = device->number,
                                     .model = ss_strview_of(device->model),
                                     .uuid = ss_strview_of(device->uuid),
                                     .pci_address = ss_strview_of(device->pci_address),
                                     .memory_bytes = device->memory_bytes};
    ss_record_context_check(metrics->context,
                            ss_recording_device(metrics->context->recording, &record, &err), &err);
    return record.ref;
}

static bool is_recorded(void *context, const char *uuid, const char *figure)
{
    const struct ss_record_metrics *metrics = context;
    return ss_device_is_sampled(metrics->context, uuid, figure);
}

static uint32_t on_group(void *context, struct ss_metric_owner owner, uint32_t parent,
                         enum ss_metric_subject subject, const char *name)
{
    struct ss_trace_track track = {.kind = SS_TRACK_GROUP,
                                   .process_ref = owner.process_ref,
                                   .device_ref = owner.device_ref,
                                   .parent_ref = parent,
                                   .name = ss_strview_of(name)};
    struct ss_record_metrics *metrics = context;
    int32_t after = 100 + (int32_t)metrics->context->track_refs + 1; /* in order of creation */
    track.rank = FIRST_RANK + (subject != SS_METRICS_OTHER ? (int32_t)subject - 1 : after);
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
    struct ss_record_metrics *metrics = context;
    track.rank = FIRST_RANK + (int32_t)metrics->context->track_refs;
    uint32_t ref = write_track(context, &track);
    if (metrics->context->follows_schedule) {
        ss_vec_push(&metrics->newest, (struct newest){.value.track_ref = ref});
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
    struct ss_record_metrics *metrics = context;
    track.rank = FIRST_RANK + (int32_t)metrics->context->track_refs;
    return write_track(context, &track);
}

static struct ss_route aim_of(const struct ss_record_metrics *metrics, uint32_t track)
{
    uint32_t index = track - metrics->first_track;
    return (struct ss_route){index < metrics->owners.count ? metrics->owners.data[index] : 0, 0};
}

/* Outside of the windows of a schedule no file is open for a range. */
static void on_range(void *context, uint32_t track, uint64_t begin_ns, uint64_t end_ns,
                     const char *name)
{
    struct ss_record_metrics *metrics = context;
    struct ss_record_context *shared = metrics->context;
    struct ss_event_name key = {.text = ss_intern_put(&shared->names.texts, name, strlen(name))};
    struct ss_error err = {0};
    struct ss_trace_event event = {
        .time_ns = begin_ns,
        .track_ref = track,
        .name_ref = ss_event_names_put(&shared->names, shared->recording, &key, &err),
        .kind = SS_EVENT_BEGIN};
    struct ss_trace_event end = {.time_ns = end_ns, .track_ref = track, .kind = SS_EVENT_END};
    ss_record_context_check(shared, err.status, &err);
    if (shared->error.status == SS_OK && (!shared->follows_schedule || metrics->in_window)) {
        struct ss_route route = aim_of(metrics, track);
        ss_record_context_check(shared, ss_recording_event(shared->recording, route, &event, &err),
                                &err);
        ss_record_context_check(shared, ss_recording_event(shared->recording, route, &end, &err),
                                &err);
    }
}

static void put_counter(struct ss_record_metrics *metrics, const struct ss_trace_counter *counter)
{
    struct ss_error err = {0};
    struct ss_route route = aim_of(metrics, counter->track_ref);
    if (metrics->context->error.status == SS_OK) { /* after a failed track its ref is unknown */
        ss_record_context_check(
            metrics->context,
            ss_recording_counter(metrics->context->recording, route, counter, &err), &err);
    }
}

static struct newest *find_newest(struct ss_record_metrics *metrics, uint32_t track)
{
    /* Refs are ascending. */
    size_t first =
        ss_search(i, 0, metrics->newest.count, metrics->newest.data[i].value.track_ref < track);
    return &metrics->newest.data[first];
}

/* Outside the windows of a schedule, values are read for the rates but not written. A rate whose
 * interval began before the window is written from the start of the window on. */
static void write_counter(struct ss_record_metrics *metrics, const struct ss_trace_counter *counter)
{
    struct ss_trace_counter value = *counter;
    if (metrics->context->follows_schedule) {
        *find_newest(metrics, counter->track_ref) = (struct newest){value, true};
        value.time_ns = value.time_ns > metrics->window_ns ? value.time_ns : metrics->window_ns;
    }
    if (!metrics->context->follows_schedule || metrics->in_window) {
        put_counter(metrics, &value);
    }
}

void ss_record_metrics_poll_window(struct ss_record_metrics *metrics, uint64_t now_ns)
{
    struct ss_record_context *context = metrics->context;
    bool was_in_window = metrics->in_window;
    const struct ss_process_observer *observer = &context->observer;
    metrics->in_window = context->follows_schedule && observer->context != NULL &&
                         observer->is_in_window(observer->context, 0, now_ns);
    uint64_t windows = ss_recording_windows(context->recording);
    bool is_same = was_in_window && windows == metrics->windows;
    metrics->windows = windows;
    if (!metrics->in_window || is_same) {
        return;
    }
    metrics->window_ns = now_ns;
    for (size_t i = 0; i < metrics->newest.count; i++) {
        struct newest *newest = &metrics->newest.data[i];
        if (newest->known) {
            struct ss_trace_counter value = newest->value;
            value.time_ns = now_ns;
            put_counter(metrics, &value);
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

struct ss_record_metrics *ss_record_metrics_new(struct ss_record_context *context)
{
    struct ss_record_metrics *metrics = ss_alloc_zero(1, sizeof *metrics);
    metrics->context = context;
    return metrics;
}

struct ss_metric_sink ss_record_metrics_sink(struct ss_record_metrics *metrics)
{
    return (struct ss_metric_sink){.context = metrics,
                                   .device = on_device,
                                   .is_recorded = is_recorded,
                                   .group = on_group,
                                   .series = on_series,
                                   .ranges = on_ranges,
                                   .range = on_range,
                                   .integer = on_integer,
                                   .real = on_real};
}

void ss_record_metrics_free(struct ss_record_metrics *metrics)
{
    ss_vec_fini(&metrics->newest);
    ss_vec_fini(&metrics->owners);
    ss_free(metrics);
}
