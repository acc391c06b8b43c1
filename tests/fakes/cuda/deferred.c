/* SPDX-License-Identifier: Apache-2.0 */
/* Work whose end is unknown until other processes have come as far, and all that comes after it on
   its stream, or on streams that wait for it: kept in order, and started as ends become known. */
#include "inside.h"

#include <stdlib.h>

enum kind { WORK, OPEN, RECORD, WAIT };

struct sim_deferred {
    enum kind kind;
    struct sim_work work;
    uint64_t duration_ns;
    struct sim_open open;
    bool has_started;
    struct sim_moment *moment;
    uint64_t queued_ns;
    struct sim_deferred *next;
};

static pthread_cond_t advanced = PTHREAD_COND_INITIALIZER;
static unsigned open_count;

bool sim_has_open_work(void)
{
    return open_count > 0;
}

static struct sim_deferred *append(struct sim_stream *stream, enum kind kind)
{
    struct sim_deferred *new = calloc(1, sizeof *new);
    if (new == NULL) {
        abort();
    }
    new->kind = kind;
    new->queued_ns = sim_now_ns();
    if (stream->deferred == NULL) {
        stream->deferred = new;
    } else {
        stream->last_deferred->next = new;
    }
    stream->last_deferred = new;
    return new;
}

void sim_defer_work(struct sim_stream *stream, const struct sim_work *work, uint64_t duration_ns)
{
    struct sim_deferred *new = append(stream, WORK);
    new->work = *work;
    new->duration_ns = duration_ns;
}

void sim_release_moment(struct sim_moment *moment)
{
    if (moment != NULL && --moment->uses == 0) {
        free(moment);
    }
}

void sim_defer_record(struct sim_stream *stream, struct sim_event *event)
{
    event->moment = calloc(1, sizeof *event->moment);
    if (event->moment == NULL) {
        abort();
    }
    event->moment->uses = 2; /* the event's and the stream's */
    append(stream, RECORD)->moment = event->moment;
}

void sim_defer_wait(struct sim_stream *stream, struct sim_moment *moment)
{
    moment->uses++;
    append(stream, WAIT)->moment = moment;
}

enum sim_result sim_launch_open(struct sim_stream *stream, const struct sim_kernel *kernel,
                                struct sim_open open)
{
    sim_use_device(stream->device);
    pthread_mutex_lock(&sim_lock);
    if (stream->capture != NULL) {
        stream->capture->is_broken = true;
        pthread_mutex_unlock(&sim_lock);
        return SIM_CAPTURE_UNSUPPORTED;
    }
    struct sim_deferred *new = append(stream, OPEN);
    new->work = (struct sim_work){.kind = SIM_KERNEL, .kernel = *kernel};
    new->open = open;
    sim_describe(stream, &new->work);
    open_count++;
    sim_wake_device_thread();
    pthread_mutex_unlock(&sim_lock);
    return SIM_OK;
}

/* Whether the first of the stream's deferred is over now. */
static bool advance_open(struct sim_stream *stream, struct sim_deferred *first)
{
    if (!first->has_started) {
        first->work.start_ns = sim_earliest_start(stream, first->work.queued_ns);
        first->has_started = true;
    }
    if (first->work.start_ns > sim_now_ns() ||
        !first->open.poll(first->open.argument, first->work.start_ns, &first->work.end_ns)) {
        return false;
    }
    stream->ready_ns = first->work.end_ns;
    sim_queue(&first->work);
    open_count--;
    return true;
}

static bool advance_first(struct sim_stream *stream)
{
    struct sim_deferred *first = stream->deferred;
    struct sim_moment *moment = first->moment;
    switch (first->kind) {
    case OPEN:
        if (!advance_open(stream, first)) {
            return false;
        }
        break;
    case WORK:
        sim_start(stream, &first->work, first->duration_ns);
        break;
    case RECORD:
        moment->at_ns = stream->ready_ns > first->queued_ns ? stream->ready_ns : first->queued_ns;
        moment->is_known = true;
        break;
    case WAIT:
        if (!moment->is_known) {
            return false;
        }
        stream->ready_ns = moment->at_ns > stream->ready_ns ? moment->at_ns : stream->ready_ns;
        break;
    }
    sim_release_moment(moment);
    stream->deferred = first->next;
    free(first);
    return true;
}

void sim_advance(void)
{
    bool has_advanced, any = false;
    do {
        has_advanced = false;
        for (unsigned i = 0; sim_device(i) != NULL; i++) {
            for (struct sim_stream *stream = sim_device(i)->streams; stream != NULL;
                 stream = stream->next) {
                while (stream->deferred != NULL && advance_first(stream)) {
                    has_advanced = any = true;
                }
            }
        }
    } while (has_advanced);
    if (any) {
        pthread_cond_broadcast(&advanced);
    }
}

void sim_settle(struct sim_stream *stream)
{
    while (stream->deferred != NULL) {
        pthread_cond_wait(&advanced, &sim_lock);
    }
}

void sim_settle_device(struct sim_device *device)
{
    for (struct sim_stream *stream = device->streams; stream != NULL; stream = stream->next) {
        sim_settle(stream);
    }
}

void sim_settle_moment(const struct sim_moment *moment)
{
    while (moment != NULL && !moment->is_known) {
        pthread_cond_wait(&advanced, &sim_lock);
    }
}
