/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the core's files: its lock, its objects, and the queue of the device thread. */
#ifndef FAKE_CUDA_INSIDE_H
#define FAKE_CUDA_INSIDE_H

#include "core.h"

#include <pthread.h>

struct sim_capture {
    struct sim_graph *graph;
    struct sim_stream *origin;
    bool is_broken, is_over;
};

enum { SIM_MOST_TIPS = 16 };

/* What a captured operation waits for: nodes of a graph by number. */
struct sim_tips {
    uint32_t nodes[SIM_MOST_TIPS];
    uint32_t count;
};

/* When something recorded happens; unknown while it waits for work whose end is unknown. */
struct sim_moment {
    unsigned uses; /* the last one frees it */
    bool is_known;
    uint64_t at_ns;
};

struct sim_deferred;

struct sim_stream {
    struct sim_device *device;
    uint32_t id;
    unsigned flags;
    int priority;
    bool is_null, is_destroyed;
    uint64_t ready_ns; /* the end of all work so far */
    struct sim_capture *capture;
    struct sim_tips tips;
    struct sim_deferred *deferred, *last_deferred; /* in order; NULL unless an end is unknown */
    struct sim_stream *next;
};

struct sim_event {
    uint32_t id;
    unsigned flags;
    bool is_recorded;
    uint64_t at_ns, record_count;
    struct sim_moment *moment; /* instead of at_ns, when that was unknown */
    uint32_t context, stream;
    struct sim_capture *capture; /* recorded in a capture: tips are its nodes */
    struct sim_tips tips;
};

extern pthread_mutex_t sim_lock;

extern const struct sim_tracer *sim_tracer; /* NULL without */

/* All below with the lock held. */

/* When work that was submitted then may start. */
uint64_t sim_earliest_start(struct sim_stream *stream, uint64_t queued_ns);
/* Sets the times of work and queues it; or defers it, with an end of 0. */
void sim_submit(struct sim_stream *stream, struct sim_work *work, uint64_t duration_ns);
/* The same for work that has been described and need not be deferred. */
void sim_start(struct sim_stream *stream, struct sim_work *work, uint64_t duration_ns);
/* Queues work whose times are set: effects for the device thread, the record for the tracer. */
void sim_queue(const struct sim_work *work);
/* Fills what a stream and the current call know of a work. */
void sim_describe(struct sim_stream *stream, struct sim_work *work);
uint64_t sim_work_duration(const struct sim_work *work);
const struct sim_known *sim_known_kernel(const char *name); /* NULL: not known */
/* Adds the work to the graph that the stream is captured into; the node's id. */
uint64_t sim_capture_work(struct sim_stream *stream, const struct sim_work *work);

/* --- deferred.c: what comes after work whose end is unknown --- */

void sim_defer_work(struct sim_stream *stream, const struct sim_work *work, uint64_t duration_ns);
/* The event's moment becomes known, or the stream waits for it, in the order of the stream. */
void sim_defer_record(struct sim_stream *stream, struct sim_event *event);
void sim_defer_wait(struct sim_stream *stream, struct sim_moment *moment);
void sim_release_moment(struct sim_moment *moment);
/* Polls open work and starts what can start. */
void sim_advance(void);
bool sim_has_open_work(void);
/* Waits until the stream has, or the moment is, nothing unknown; NULL: any of the device's. */
void sim_settle(struct sim_stream *stream);
void sim_settle_device(struct sim_device *device);
void sim_settle_moment(const struct sim_moment *moment);
/* Makes the device thread poll. */
void sim_wake_device_thread(void);

/* Without the lock. */

/* Returns when the time has come and the effects up to it have been carried out. */
void sim_wait_until(uint64_t at_ns);
void sim_publish_graph(const struct sim_graph_change *change);
void sim_start_device_thread(void);
/* Returns when the device thread calls no tracer any more. */
void sim_end_reports(void);
void sim_run_effect(struct sim_work *work);

#endif
