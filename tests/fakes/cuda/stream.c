/* SPDX-License-Identifier: Apache-2.0 */
/* Streams and events: what waits for what, and the waits of the host. */
#include "inside.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_STREAM_ID = 13 };

static atomic_uint next_stream_id = FIRST_STREAM_ID, next_event_id = 1;

static void *zeroed(size_t size)
{
    void *memory = calloc(1, size);
    if (memory == NULL) {
        abort();
    }
    return memory;
}

/* cudaStreamLegacy and cudaStreamPerThread are the numbers 1 and 2; the second shares the null
   stream here, as programs that are not compiled for it do not use it. */
struct sim_stream *sim_stream(void *handle)
{
    if ((uintptr_t)handle <= 2) {
        struct sim_device *device = sim_current_device();
        sim_use_device(device);
        return device->null_stream;
    }
    return handle;
}

static void publish(const struct sim_stream *stream, bool destroyed)
{
    const struct sim_tracer *tracer = sim_tracer;
    if (tracer != NULL && tracer->stream_made != NULL) {
        tracer->stream_made(stream, destroyed);
    }
}

struct sim_stream *sim_stream_new(struct sim_device *device, unsigned flags, int priority)
{
    struct sim_stream *stream = zeroed(sizeof *stream);
    pthread_mutex_lock(&sim_lock);
    stream->device = device;
    stream->flags = flags & SIM_NON_BLOCKING;
    stream->priority = priority;
    if (device->null_stream != NULL) {
        stream->id = atomic_fetch_add(&next_stream_id, 1);
    }
    stream->next = device->streams;
    device->streams = stream;
    pthread_mutex_unlock(&sim_lock);
    if (device->null_stream != NULL) {
        sim_use_device(device);
        publish(stream, false);
    }
    return stream;
}

/* Its work goes on; the handle stays valid memory. */
enum sim_result sim_stream_destroy(struct sim_stream *stream)
{
    if (stream->is_null || stream->is_destroyed) {
        return SIM_INVALID_HANDLE;
    }
    stream->is_destroyed = true;
    publish(stream, true);
    return SIM_OK;
}

static void publish_wait(enum sim_wait_kind kind, uint64_t start_ns,
                         const struct sim_device *device, const struct sim_stream *stream,
                         const struct sim_event *event)
{
    const struct sim_tracer *tracer = sim_tracer;
    if (tracer == NULL || tracer->waited == NULL) {
        return;
    }
    struct sim_wait wait = {.kind = kind,
                            .start_ns = start_ns,
                            .end_ns = sim_now_ns(),
                            .correlation = sim_correlation(),
                            .context = device->context,
                            .stream = stream != NULL ? stream->id : UINT32_MAX,
                            .event = event != NULL ? event->id : 0,
                            .event_sync = event != NULL ? event->record_count : 0};
    tracer->waited(&wait);
}

/* With the lock: what the host waits for when it waits for the stream. */
static uint64_t end_of_stream(const struct sim_stream *stream)
{
    uint64_t end_ns = stream->ready_ns;
    if (stream->is_null) {
        for (struct sim_stream *other = stream->device->streams; other != NULL;
             other = other->next) {
            if ((other->flags & SIM_NON_BLOCKING) == 0 && other->ready_ns > end_ns) {
                end_ns = other->ready_ns;
            }
        }
    }
    return end_ns;
}

/* A wait for a stream that is captured breaks the capture. An unknown end is waited for, or else
   not ready. */
static enum sim_result end_of_work(struct sim_stream *stream, bool waits, uint64_t *end_ns)
{
    enum sim_result result = SIM_OK;
    pthread_mutex_lock(&sim_lock);
    if (stream->capture != NULL) {
        stream->capture->is_broken = true;
        result = SIM_CAPTURE_UNSUPPORTED;
    } else if (waits) {
        sim_settle(stream);
    } else if (stream->deferred != NULL) {
        result = SIM_NOT_READY;
    }
    *end_ns = end_of_stream(stream);
    pthread_mutex_unlock(&sim_lock);
    return result;
}

enum sim_result sim_stream_query(struct sim_stream *stream)
{
    uint64_t end_ns;
    enum sim_result result = end_of_work(stream, false, &end_ns);
    if (result == SIM_OK && end_ns > sim_now_ns()) {
        return SIM_NOT_READY;
    }
    if (result == SIM_OK) {
        sim_wait_until(end_ns); /* for effects that are due */
    }
    return result;
}

enum sim_result sim_stream_synchronize(struct sim_stream *stream)
{
    uint64_t end_ns, start_ns = sim_now_ns();
    enum sim_result result = end_of_work(stream, true, &end_ns);
    if (result == SIM_OK) {
        sim_wait_until(end_ns);
        publish_wait(SIM_WAIT_STREAM, start_ns, stream->device, stream, NULL);
    }
    return result;
}

enum sim_result sim_device_synchronize(struct sim_device *device)
{
    uint64_t end_ns = 0, start_ns = sim_now_ns();
    pthread_mutex_lock(&sim_lock);
    sim_settle_device(device);
    for (struct sim_stream *stream = device->streams; stream != NULL; stream = stream->next) {
        if (stream->ready_ns > end_ns) {
            end_ns = stream->ready_ns;
        }
    }
    pthread_mutex_unlock(&sim_lock);
    sim_wait_until(end_ns);
    publish_wait(SIM_WAIT_CONTEXT, start_ns, device, NULL, NULL);
    return SIM_OK;
}

enum sim_result sim_context_synchronize(struct sim_device *device)
{
    bool is_captured = false;
    pthread_mutex_lock(&sim_lock);
    for (struct sim_stream *stream = device->streams; stream != NULL; stream = stream->next) {
        if (stream->capture != NULL) {
            stream->capture->is_broken = is_captured = true;
        }
    }
    pthread_mutex_unlock(&sim_lock);
    return is_captured ? SIM_CAPTURE_UNSUPPORTED : sim_device_synchronize(device);
}

uint32_t sim_stream_id(const struct sim_stream *stream)
{
    return stream->id;
}

struct sim_device *sim_stream_device(const struct sim_stream *stream)
{
    return stream->device;
}

unsigned sim_stream_flags(const struct sim_stream *stream)
{
    return stream->flags;
}

int sim_stream_priority(const struct sim_stream *stream)
{
    return stream->priority;
}

struct sim_event *sim_event_new(unsigned flags)
{
    struct sim_event *event = zeroed(sizeof *event);
    event->id = atomic_fetch_add(&next_event_id, 1);
    event->flags = flags;
    return event;
}

enum sim_result sim_event_destroy(struct sim_event *event)
{
    pthread_mutex_lock(&sim_lock);
    sim_release_moment(event->moment);
    pthread_mutex_unlock(&sim_lock);
    free(event);
    return SIM_OK;
}

static void publish_record(const struct sim_event *event)
{
    const struct sim_tracer *tracer = sim_tracer;
    if (tracer != NULL && tracer->event_recorded != NULL) {
        struct sim_event_record record = {.correlation = sim_correlation(),
                                          .context = event->context,
                                          .stream = event->stream,
                                          .event = event->id,
                                          .event_sync = event->record_count};
        tracer->event_recorded(&record);
    }
}

enum sim_result sim_event_record(struct sim_event *event, struct sim_stream *stream)
{
    pthread_mutex_lock(&sim_lock);
    event->capture = stream->capture;
    sim_release_moment(event->moment);
    event->moment = NULL;
    if (stream->capture != NULL) {
        event->tips = stream->tips;
    } else {
        event->at_ns = end_of_stream(stream);
        uint64_t now_ns = sim_now_ns();
        event->at_ns = event->at_ns > now_ns ? event->at_ns : now_ns;
        event->is_recorded = true;
        event->record_count++;
        event->context = stream->device->context;
        event->stream = stream->id;
        if (stream->deferred != NULL) {
            sim_defer_record(stream, event);
        }
    }
    bool is_captured = event->capture != NULL;
    pthread_mutex_unlock(&sim_lock);
    if (!is_captured) {
        publish_record(event);
    }
    return SIM_OK;
}

/* The time of the event, if it is known; true when it has passed. */
static bool has_happened(const struct sim_event *event, uint64_t *at_ns)
{
    pthread_mutex_lock(&sim_lock);
    bool is_known = event->moment == NULL || event->moment->is_known;
    *at_ns = event->moment != NULL ? event->moment->at_ns : event->at_ns;
    pthread_mutex_unlock(&sim_lock);
    return is_known && *at_ns <= sim_now_ns();
}

enum sim_result sim_event_query(struct sim_event *event)
{
    uint64_t at_ns;
    if (event->capture != NULL) {
        return SIM_CAPTURE_UNSUPPORTED;
    }
    if (!event->is_recorded) {
        return SIM_OK;
    }
    if (!has_happened(event, &at_ns)) {
        return SIM_NOT_READY;
    }
    sim_wait_until(at_ns);
    return SIM_OK;
}

enum sim_result sim_event_synchronize(struct sim_event *event)
{
    uint64_t at_ns, start_ns = sim_now_ns();
    if (event->capture != NULL) {
        return SIM_CAPTURE_UNSUPPORTED;
    }
    if (event->is_recorded) {
        pthread_mutex_lock(&sim_lock);
        sim_settle_moment(event->moment);
        pthread_mutex_unlock(&sim_lock);
        has_happened(event, &at_ns);
        sim_wait_until(at_ns);
        const struct sim_device *device = sim_device(event->context - 1);
        struct sim_stream on = {.id = event->stream};
        publish_wait(SIM_WAIT_EVENT, start_ns, device, &on, event);
    }
    return SIM_OK;
}

enum sim_result sim_event_elapsed_ms(const struct sim_event *from, const struct sim_event *to,
                                     float *ms)
{
    uint64_t from_ns, to_ns;
    if (!from->is_recorded || !to->is_recorded ||
        ((from->flags | to->flags) & SIM_NO_TIMING) != 0) {
        return SIM_INVALID_HANDLE;
    }
    if (!has_happened(from, &from_ns) || !has_happened(to, &to_ns)) {
        return SIM_NOT_READY;
    }
    *ms = (float)((double)(int64_t)(to_ns - from_ns) / 1e6);
    return SIM_OK;
}

/* In a capture, the stream joins it and waits for the nodes up to the event. */
static void join_capture(struct sim_stream *stream, const struct sim_event *event)
{
    if (stream->capture != event->capture) {
        stream->tips.count = 0;
        stream->capture = event->capture;
    }
    for (uint32_t i = 0; i < event->tips.count; i++) {
        bool is_known = false;
        for (uint32_t j = 0; j < stream->tips.count; j++) {
            is_known = is_known || stream->tips.nodes[j] == event->tips.nodes[i];
        }
        if (!is_known && stream->tips.count < SIM_MOST_TIPS) {
            stream->tips.nodes[stream->tips.count++] = event->tips.nodes[i];
        } else if (!is_known) {
            stream->capture->is_broken = true;
        }
    }
}

/* With the lock. */
static void wait_for_event(struct sim_stream *stream, const struct sim_event *event)
{
    bool is_known = event->moment == NULL || event->moment->is_known;
    uint64_t at_ns = event->moment != NULL ? event->moment->at_ns : event->at_ns;
    if (stream->deferred == NULL && is_known) {
        stream->ready_ns = at_ns > stream->ready_ns ? at_ns : stream->ready_ns;
    } else if (event->moment != NULL) {
        sim_defer_wait(stream, event->moment);
    } else {
        struct sim_moment *known = zeroed(sizeof *known);
        *known = (struct sim_moment){.uses = 1, .is_known = true, .at_ns = at_ns};
        sim_defer_wait(stream, known);
        sim_release_moment(known);
    }
}

enum sim_result sim_stream_wait_event(struct sim_stream *stream, struct sim_event *event)
{
    uint64_t start_ns = sim_now_ns();
    bool is_captured = false;
    pthread_mutex_lock(&sim_lock);
    if (event->capture != NULL && !event->capture->is_over) {
        is_captured = true;
        join_capture(stream, event);
    } else if (event->is_recorded) {
        wait_for_event(stream, event);
    }
    pthread_mutex_unlock(&sim_lock);
    if (!is_captured && event->is_recorded) {
        publish_wait(SIM_WAIT_STREAM_EVENT, start_ns, stream->device, stream, event);
    }
    return SIM_OK;
}

void sim_each_stream(struct sim_device *device, void (*visit)(const struct sim_stream *))
{
    pthread_mutex_lock(&sim_lock);
    struct sim_stream *first = device->streams; /* new ones come before it */
    pthread_mutex_unlock(&sim_lock);
    for (struct sim_stream *stream = first; stream != NULL; stream = stream->next) {
        if (!stream->is_destroyed) {
            visit(stream);
        }
    }
}
