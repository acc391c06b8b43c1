/* SPDX-License-Identifier: Apache-2.0 */
/* The source "children": which processes belong to the recording
 * (record/processes/process_table.h). */
#include <stdio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "record/sources/recorder.h"
#include "record/sources/source_registry.h"

/* New processes are detected by each tick of the sampler, and at least so often: its rate may be
 * one tick in a hundred seconds. The first processes are detected earlier. */
static const uint64_t first_poll_ns = UINT64_C(62500000), poll_ns = UINT64_C(1000000000);

struct children {
    struct ss_recorder *recorder;
    uint64_t pause_ns;
    char polled[512]; /* why the kernel does not report processes; "": it does */
};

static void note_polling(struct ss_record_context *context, const char *reason)
{
    struct ss_error err = {0};
    struct ss_trace_note note = {.time_ns = ss_clock_now_ns(context->clock),
                                 .kind = ss_strview_of("children-polled"),
                                 .text = ss_strview_of(reason)};
    ss_log(SS_INFO, "record", "children are found by polling: %s", reason);
    ss_record_context_check(
        context, ss_recording_note(context->recording, (struct ss_route){0}, &note, &err), &err);
}

static enum ss_source_state describe(const struct children *children, char *reason)
{
    const struct ss_record_options *options = children->recorder->options;
    if (!options->follow_children) {
        snprintf(reason, SS_SOURCE_REASON_BYTES, "--no-subprocesses");
        return SS_SOURCE_NOT_REQUESTED;
    }
    if (children->polled[0] != '\0') {
        snprintf(reason, SS_SOURCE_REASON_BYTES, "polls for new processes: %s", children->polled);
    } else {
        snprintf(reason, SS_SOURCE_REASON_BYTES, "%s",
                 options->attach_pid != 0 ? "polls for new processes"
                                          : "the kernel reports each new process");
    }
    return SS_SOURCE_RUNS;
}

static enum ss_source_state start(const struct ss_source_setup *setup, void **source, char *reason)
{
    struct ss_recorder *recorder = setup->recorder;
    struct ss_record_context *context = &recorder->context;
    const struct ss_record_options *options = recorder->options;
    bool is_attached = options->attach_pid != 0;
    struct children *children = ss_alloc_zero(1, sizeof *children);
    *children = (struct children){.recorder = recorder, .pause_ns = first_poll_ns};
    recorder->processes =
        ss_process_table_open(context, recorder->program, options->follow_children, !is_attached,
                              is_attached ? 0 : getpid(), children->polled);
    if (is_attached) {
        struct ss_error err = {0};
        ss_record_context_check(context, ss_process_table_check(recorder->processes, &err), &err);
    } else if (children->polled[0] != '\0') {
        note_polling(context, children->polled);
    }
    *source = children;
    return describe(children, reason);
}

static uint64_t tick(void *source, uint64_t now_ns)
{
    struct children *children = source;
    uint64_t pause_ns = children->pause_ns;
    ss_process_table_poll(children->recorder->processes, now_ns);
    children->pause_ns = 2 * pause_ns < poll_ns ? 2 * pause_ns : poll_ns;
    return now_ns + pause_ns;
}

static void publish(const struct ss_recorder *recorder)
{
    recorder->figures->processes = ss_process_table_seen(recorder->processes);
    recorder->figures->short_processes = ss_process_table_short(recorder->processes);
}

static void flush(void *source, uint64_t now_ns, bool whole)
{
    struct children *children = source;
    (void)now_ns;
    (void)whole;
    publish(children->recorder);
}

static void release(void *source)
{
    ss_free(source);
}

/* The last source that stops: the others refer to processes. */
static enum ss_source_state stop(void *source, uint64_t now_ns, char *reason)
{
    struct children *children = source;
    struct ss_recorder *recorder = children->recorder;
    (void)now_ns;
    publish(recorder);
    struct ss_process_table *processes = recorder->processes;
    recorder->processes = NULL; /* a new file, which the end of a process may begin, is empty */
    ss_process_table_close(processes);
    return describe(children, reason);
}

const struct ss_source_ops ss_source_children = {
    .name = "children",
    .summary = "the processes that the program starts",
    .start = start,
    .tick = tick,
    .flush = flush,
    .stop = stop,
    .release = release,
};
