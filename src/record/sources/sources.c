/* SPDX-License-Identifier: Apache-2.0 */
#include "record/sources/sources.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "record/sources/source_metrics.h"
#include "record/sources/source_registry.h"

enum { MOST_SOURCES = 32 };

/* A drain lasts at least so long, even when a tick is due: a flood of events does not delay the
 * ticks, nor the ticks the drains. */
static const uint64_t drain_least_ns = UINT64_C(1000000);

struct running {
    const struct ss_source_ops *ops;
    void *source;  /* NULL: no work to do, or stopped */
    void *stopped; /* to be released */
    int fd;
    uint32_t ref;
    uint64_t tick_ns, drain_ns; /* when each is due */
};

struct ss_record_sources {
    struct ss_recorder *recorder;
    struct ss_record_context *context; /* the recorder's */
    struct ss_record_metrics *metrics;
    struct ss_source_setup setup;
    size_t count;
    struct running running[MOST_SOURCES];
};

/* --- outcomes --------------------------------------------------------------------------------- */

static const enum ss_source_status statuses[] = {[SS_SOURCE_RUNS] = SS_SOURCE_RAN,
                                                 [SS_SOURCE_LIMITED] = SS_SOURCE_RAN,
                                                 [SS_SOURCE_NOT_REQUESTED] = SS_SOURCE_OFF,
                                                 [SS_SOURCE_NOT_AVAILABLE] = SS_SOURCE_UNAVAILABLE,
                                                 [SS_SOURCE_BROKE] = SS_SOURCE_FAILED};

static void write_outcome(struct ss_record_sources *sources, const struct running *running,
                          enum ss_source_state state, const char *reason)
{
    struct ss_trace_source record = {.ref = running->ref,
                                     .name = ss_strview_of(running->ops->name),
                                     .status = statuses[state],
                                     .reason = ss_strview_of(reason)};
    struct ss_error err = {0};
    ss_record_context_check(sources->context,
                            ss_recording_source(sources->context->recording, &record, &err), &err);
    ss_log(SS_DEBUG, "record", "source %s: %s", running->ops->name, reason);
}

/* --- start ------------------------------------------------------------------------------------ */

static void each_process(void *context, void (*visit)(void *visitor, pid_t pid, uint32_t ref),
                         void *visitor)
{
    struct ss_record_sources *sources = context;
    ss_process_table_each(sources->recorder->processes, visit, visitor);
}

static void start_one(struct ss_record_sources *sources, struct running *running)
{
    char reason[SS_SOURCE_REASON_BYTES] = "";
    sources->setup.source_ref = running->ref;
    enum ss_source_state state = running->ops->start(&sources->setup, &running->source, reason);
    if (running->source != NULL) {
        running->fd = running->ops->fd != NULL ? running->ops->fd(running->source) : -1;
        running->tick_ns = running->ops->tick != NULL ? 0 : UINT64_MAX;
    }
    write_outcome(sources, running, state, reason);
}

/* A source that fails sets the error of the recording, which ends it. */
static void start_phase(struct ss_record_sources *sources, bool is_first)
{
    for (size_t i = 0; i < sources->count; i++) {
        if (sources->running[i].ops->starts_first == is_first &&
            sources->context->error.status == SS_OK) {
            start_one(sources, &sources->running[i]);
        }
    }
}

struct ss_record_sources *ss_record_sources_new(struct ss_recorder *recorder)
{
    struct ss_record_sources *sources = ss_alloc_zero(1, sizeof *sources);
    struct ss_record_context *context = &recorder->context;
    sources->recorder = recorder;
    sources->context = context;
    sources->metrics = ss_record_metrics_new(context);
    sources->setup = (struct ss_source_setup){.clock = context->clock,
                                              .proc_root = "/proc",
                                              .sys_root = "/sys",
                                              .interval_ns = recorder->options->host_interval_ns,
                                              .metrics = ss_record_metrics_sink(sources->metrics),
                                              .context = sources,
                                              .each_process = each_process,
                                              .recorder = recorder};
    for (size_t i = 0; ss_sources[i] != NULL && i < MOST_SOURCES; i++) {
        sources->running[sources->count++] =
            (struct running){.ops = ss_sources[i],
                             .fd = -1,
                             .ref = ss_recording_new_source(context->recording),
                             .tick_ns = UINT64_MAX,
                             .drain_ns = UINT64_MAX};
    }
    for (size_t i = 0; i < sources->count; i++) { /* in the order of the rows */
        write_outcome(sources, &sources->running[i], SS_SOURCE_NOT_REQUESTED, "not started");
    }
    start_phase(sources, true);
    return sources;
}

void ss_record_sources_start(struct ss_record_sources *sources, uint64_t since_ns)
{
    sources->setup.since_ns = since_ns;
    start_phase(sources, false);
    uint64_t now_ns = ss_clock_now_ns(sources->context->clock);
    for (size_t i = 0; i < sources->count && sources->context->error.status == SS_OK; i++) {
        struct running *running = &sources->running[i];
        if (running->source != NULL && running->ops->program_created != NULL) {
            running->ops->program_created(running->source, now_ns);
        }
        if (running->source != NULL && running->ops->drain != NULL) {
            running->drain_ns = running->ops->drain(running->source, now_ns, UINT64_MAX);
        }
    }
}

enum ss_status ss_record_sources_watch(const struct ss_record_sources *sources,
                                       enum ss_status (*watch)(void *watcher, int fd,
                                                               struct ss_error *err),
                                       void *watcher, struct ss_error *err)
{
    for (size_t i = 0; i < sources->count; i++) {
        if (sources->running[i].fd >= 0) {
            SS_TRY(watch(watcher, sources->running[i].fd, err));
        }
    }
    return SS_OK;
}

/* --- work ------------------------------------------------------------------------------------- */

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t next_tick_ns(const struct ss_record_sources *sources)
{
    uint64_t next_ns = UINT64_MAX;
    for (size_t i = 0; i < sources->count; i++) {
        next_ns = earlier(next_ns, sources->running[i].tick_ns);
    }
    return next_ns;
}

static void drain_one(struct ss_record_sources *sources, struct running *running, uint64_t now_ns)
{
    uint64_t least_ns = now_ns + drain_least_ns, tick_ns = next_tick_ns(sources);
    if (running->ops->drain != NULL) {
        running->drain_ns =
            running->ops->drain(running->source, now_ns, tick_ns > least_ns ? tick_ns : least_ns);
    }
}

void ss_record_sources_ready(struct ss_record_sources *sources, int fd, uint64_t now_ns)
{
    for (size_t i = 0; i < sources->count; i++) {
        struct running *running = &sources->running[i];
        if (running->fd == fd && running->source != NULL) {
            if (running->ops->ready != NULL) {
                running->ops->ready(running->source, now_ns);
            }
            drain_one(sources, running, now_ns);
        }
    }
}

void ss_record_sources_drain(struct ss_record_sources *sources, uint64_t now_ns)
{
    for (size_t i = 0; i < sources->count; i++) {
        if (sources->running[i].source != NULL && now_ns >= sources->running[i].drain_ns) {
            drain_one(sources, &sources->running[i], now_ns);
        }
    }
}

void ss_record_sources_tick(struct ss_record_sources *sources, uint64_t now_ns)
{
    ss_record_metrics_poll_window(sources->metrics, now_ns);
    for (size_t i = 0; i < sources->count; i++) {
        struct running *running = &sources->running[i];
        if (running->source != NULL && now_ns >= running->tick_ns) {
            running->tick_ns = running->ops->tick(running->source, now_ns);
        }
    }
    for (size_t i = 0; sources->context->ticks_requested && i < sources->count; i++) {
        struct running *running = &sources->running[i];
        running->tick_ns = running->tick_ns != UINT64_MAX ? now_ns : UINT64_MAX;
    }
    sources->context->ticks_requested = false;
}

uint64_t ss_record_sources_due_ns(const struct ss_record_sources *sources)
{
    uint64_t next_ns = next_tick_ns(sources);
    for (size_t i = 0; i < sources->count; i++) {
        next_ns = earlier(next_ns, sources->running[i].drain_ns);
    }
    return next_ns;
}

void ss_record_sources_flush(struct ss_record_sources *sources, uint64_t now_ns, bool whole)
{
    for (size_t i = 0; i < sources->count; i++) {
        struct running *running = &sources->running[i];
        if (running->source != NULL && running->ops->flush != NULL) {
            running->ops->flush(running->source, now_ns, whole);
        }
    }
}

void ss_record_sources_written(struct ss_record_sources *sources)
{
    for (size_t i = 0; i < sources->count; i++) {
        struct running *running = &sources->running[i];
        if (running->source != NULL && running->ops->written != NULL) {
            running->ops->written(running->source);
        }
    }
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

/* --- end -------------------------------------------------------------------------------------- */

void ss_record_sources_stop(struct ss_record_sources *sources, uint64_t now_ns)
{
    for (size_t i = sources->count; i > 0; i--) {
        struct running *running = &sources->running[i - 1];
        void *source = running->source;
        if (source != NULL && running->ops->stop != NULL) {
            char reason[SS_SOURCE_REASON_BYTES] = "";
            enum ss_source_state state = running->ops->stop(source, now_ns, reason);
            write_outcome(sources, running, state, reason);
        }
        running->source = NULL;
        running->tick_ns = running->drain_ns = UINT64_MAX;
        running->stopped = source;
    }
}

void ss_record_sources_free(struct ss_record_sources *sources)
{
    for (size_t i = sources->count; i > 0; i--) {
        struct running *running = &sources->running[i - 1];
        if (running->stopped != NULL && running->ops->release != NULL) {
            running->ops->release(running->stopped);
        }
    }
    ss_record_metrics_free(sources->metrics);
    ss_free(sources);
}
