/* SPDX-License-Identifier: Apache-2.0 */
#include "record/sources.h"

#include "base/alloc.h"
#include "base/log.h"
#include "source/registry.h"
#include "trace/writer_tracks.h"

/* Refs of sources in the trace: 1 and 2 are those of record/facts.h. */
enum { FIRST_REF = 3, MOST_SOURCES = 16 };

/* Of tracks among their siblings: below what the program marked. */
enum { FIRST_RANK = 50 };

struct running {
    const struct ss_source_ops *ops;
    void *source; /* NULL: does not run */
    uint32_t ref;
    uint64_t next_ns;
};

struct ss_record_sources {
    struct ss_record_context *context;
    struct ss_process_table *processes;
    size_t count;
    struct running running[MOST_SOURCES];
};

static void keep_error(struct ss_record_context *context, enum ss_status status,
                       const struct ss_error *err)
{
    if (status != SS_OK && context->error.status == SS_OK) {
        context->error = *err;
    }
}

/* --- where the figures go --------------------------------------------------------------------- */

static uint32_t write_track(struct ss_record_sources *sources, struct ss_trace_track *track)
{
    struct ss_error err = {0};
    track->ref = ++sources->context->track_refs;
    keep_error(sources->context, ss_trace_writer_track(sources->context->writer, track, &err),
               &err);
    return track->ref;
}

/* What one looks at first stands first; the rest in the order in which it came up. */
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

static uint32_t on_group(void *context, uint32_t process_ref, uint32_t parent, const char *name)
{
    struct ss_trace_track track = {.kind = SS_TRACK_GROUP,
                                   .process_ref = process_ref,
                                   .parent_ref = parent,
                                   .name = ss_strview_of(name)};
    struct ss_record_sources *sources = context;
    track.ref = sources->context->track_refs + 1;
    track.rank = rank_of_group(&track);
    return write_track(context, &track);
}

static uint32_t on_series(void *context, uint32_t process_ref, uint32_t parent, const char *name,
                          const char *unit)
{
    struct ss_trace_track track = {.kind = SS_TRACK_COUNTER,
                                   .process_ref = process_ref,
                                   .parent_ref = parent,
                                   .name = ss_strview_of(name),
                                   .unit = ss_strview_of(unit),
                                   .counter = SS_COUNTER_GAUGE};
    struct ss_record_sources *sources = context;
    track.rank = FIRST_RANK + (int32_t)sources->context->track_refs;
    return write_track(context, &track);
}

/* Readings go on outside the windows of a schedule, for the rates; they are not kept. */
static bool is_wanted(const struct ss_record_sources *sources, uint64_t time_ns)
{
    const struct ss_record_context *context = sources->context;
    return !context->follows_schedule ||
           ss_record_annotations_is_in_window(context->annotations, NULL, time_ns);
}

static void write_counter(struct ss_record_sources *sources, const struct ss_trace_counter *counter)
{
    struct ss_error err = {0};
    if (!is_wanted(sources, counter->time_ns)) {
        return;
    }
    if (sources->context->error.status == SS_OK) { /* after a failed track its ref is unknown */
        keep_error(sources->context,
                   ss_trace_writer_counter(sources->context->writer, counter, &err), &err);
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
                                                 [SS_SOURCE_NOT_WANTED] = SS_SOURCE_OFF,
                                                 [SS_SOURCE_NOT_HERE] = SS_SOURCE_UNAVAILABLE,
                                                 [SS_SOURCE_BROKE] = SS_SOURCE_FAILED};

static void tell(struct ss_record_sources *sources, const struct running *running,
                 enum ss_source_state state, const char *reason)
{
    struct ss_trace_source told = {.ref = running->ref,
                                   .name = ss_strview_of(running->ops->name),
                                   .status = statuses[state],
                                   .reason = ss_strview_of(reason)};
    struct ss_error err = {0};
    keep_error(sources->context, ss_trace_writer_source(sources->context->writer, &told, &err),
               &err);
    ss_log(SS_DEBUG, "record", "source %s: %s", running->ops->name, reason);
}

static void start_one(struct ss_record_sources *sources, const struct ss_source_setup *setup,
                      const struct ss_source_ops *ops)
{
    char reason[SS_SOURCE_REASON_BYTES] = "";
    struct running *running = &sources->running[sources->count++];
    *running = (struct running){.ops = ops, .ref = FIRST_REF + (uint32_t)sources->count - 1};
    running->source = ops->start(setup, reason);
    enum ss_source_state state = running->source != NULL   ? SS_SOURCE_RUNS
                                 : setup->interval_ns == 0 ? SS_SOURCE_NOT_WANTED
                                                           : SS_SOURCE_NOT_HERE;
    tell(sources, running, state, reason);
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
                                    .metrics = {sources, on_group, on_series, on_integer, on_real},
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
            tell(sources, running, state, reason);
        }
    }
    ss_free(sources);
}
