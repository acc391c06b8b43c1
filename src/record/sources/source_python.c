/* SPDX-License-Identifier: Apache-2.0 */
/* The source "python": samples the stacks of all processes at the requested rate, and counts ticks
 * and stacks. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "record/processes/recorded_process.h"
#include "record/run/ticker.h"
#include "record/sources/recorder.h"
#include "record/sources/source_registry.h"

/* While nothing is sampled before a window is requested: the list of processes is read. */
static const uint64_t paused_period_ns = UINT64_C(100000000);

struct sampler {
    struct ss_recorder *recorder;
    struct ss_record_context *context; /* the recorder's */
    struct ss_ticker ticker;
    bool has_begun, is_paused;
    bool is_out_of_descriptors; /* no descriptors are left */
};

static void note(struct sampler *sampler, const char *kind, const char *text, int64_t value)
{
    struct ss_record_context *context = sampler->context;
    struct ss_error err = {0};
    struct ss_trace_note record = {.time_ns = ss_clock_now_ns(context->clock),
                                   .kind = ss_strview_of(kind),
                                   .text = ss_strview_of(text),
                                   .value = value};
    ss_record_context_check(
        context, ss_recording_note(context->recording, (struct ss_route){0}, &record, &err), &err);
}

static enum ss_source_state start(const struct ss_source_setup *setup, void **source, char *reason)
{
    struct sampler *sampler = ss_alloc_zero(1, sizeof *sampler);
    sampler->recorder = setup->recorder;
    sampler->context = &sampler->recorder->context;
    sampler->context->python_source_ref = setup->source_ref;
    snprintf(reason, SS_SOURCE_REASON_BYTES, "%s", ss_source_python.summary);
    *source = sampler;
    return SS_SOURCE_RUNS;
}

/* --- ticks ------------------------------------------------------------------------------------ */

/* The loop has begun, and with it the time in which ticks are due. */
static void begin(struct sampler *sampler)
{
    const struct ss_recorder *recorder = sampler->recorder;
    uint64_t start_ns = recorder->figures->start_ns;
    if (!sampler->has_begun) {
        ss_ticker_init(&sampler->ticker, start_ns, (uint64_t)(1e9 / recorder->options->rate_hz),
                       start_ns ^ (uint64_t)getpid() << 32);
        sampler->has_begun = true;
    }
}

static void note_rate(struct sampler *sampler, bool is_lowered)
{
    char text[128];
    double rate_hz = ss_ticker_rate_hz(&sampler->ticker);
    snprintf(text, sizeof text, "sampling %s to %.4g Hz (%.4g Hz asked)",
             is_lowered ? "fell behind: lowered" : "raised again", rate_hz,
             sampler->recorder->options->rate_hz);
    note(sampler, is_lowered ? "rate-lowered" : "rate-raised", text, (int64_t)rate_hz);
    ss_log(SS_INFO, "record", "%s", text);
}

static uint64_t tick(void *source, uint64_t now_ns)
{
    struct sampler *sampler = source;
    struct ss_record_context *context = sampler->context;
    begin(sampler);
    if (sampler->is_paused && !sampler->recorder->awaits_request) {
        ss_ticker_pause(&sampler->ticker, now_ns);
        sampler->is_paused = false;
    }
    if (now_ns < sampler->ticker.next_due_ns) {
        return sampler->ticker.next_due_ns;
    }
    if (context->observer.context != NULL) {
        context->observer.before_sampling(context->observer.context, now_ns);
    }
    ss_ticker_begin(&sampler->ticker, now_ns);
    context->is_sampling = true;
    ss_process_table_tick(sampler->recorder->processes, now_ns);
    context->is_sampling = false;
    enum ss_ticker_change change =
        ss_ticker_end(&sampler->ticker, now_ns, ss_clock_now_ns(context->clock));
    if (change != SS_TICKER_SAME) {
        note_rate(sampler, change == SS_TICKER_LOWERED);
    }
    if (sampler->recorder->awaits_request && sampler->ticker.period_ns < paused_period_ns) {
        ss_ticker_pause(&sampler->ticker, now_ns + paused_period_ns - sampler->ticker.period_ns);
        sampler->is_paused = true;
    }
    return sampler->ticker.next_due_ns;
}

/* --- counts ----------------------------------------------------------------------------------- */

static struct ss_sampler_counts count(const struct sampler *sampler)
{
    struct ss_sampler_counts counts = sampler->context->ended_counts;
    ss_process_table_add_counts(sampler->recorder->processes, &counts);
    return counts;
}

static void write_counts(struct sampler *sampler, uint64_t now_ns)
{
    struct ss_record_context *context = sampler->context;
    struct ss_sampler_counts sum = count(sampler);
    struct ss_trace_counts counts = ss_recorded_counts(context, &sum, now_ns);
    struct ss_error err = {0};
    counts.due = sampler->ticker.due;
    counts.done = sampler->ticker.done;
    counts.skipped = sampler->ticker.skipped;
    counts.late = sampler->ticker.late;
    counts.processes_short = ss_process_table_short(sampler->recorder->processes);
    ss_record_context_check(context, ss_recording_counts(context->recording, &counts, &err), &err);
}

static void publish(const struct sampler *sampler)
{
    struct ss_record_figures *figures = sampler->recorder->figures;
    struct ss_sampler_counts counts = count(sampler);
    figures->samples = counts.ok + counts.partial + counts.unchanged;
    figures->due = sampler->ticker.due;
    figures->done = sampler->ticker.done;
    figures->skipped = sampler->ticker.skipped;
    figures->late = sampler->ticker.late;
    figures->ok = counts.ok;
    figures->partial = counts.partial;
    figures->lost = counts.lost;
    figures->unchanged = counts.unchanged;
    figures->python_processes = sampler->context->python_processes;
}

/* Attaching to a process needs a few descriptors at once. */
static void check_descriptors(struct sampler *sampler)
{
    enum { NEEDED = 4 };
    int fds[NEEDED];
    for (int i = 0; i < NEEDED; i++) {
        fds[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
        sampler->is_out_of_descriptors =
            sampler->is_out_of_descriptors || (fds[i] < 0 && errno == EMFILE);
    }
    for (int i = 0; i < NEEDED; i++) {
        if (fds[i] >= 0) {
            close(fds[i]);
        }
    }
}

static void flush(void *source, uint64_t now_ns, bool whole)
{
    struct sampler *sampler = source;
    ss_process_table_flush(sampler->recorder->processes, now_ns, whole);
    if (sampler->context->python_processes == 0) {
        check_descriptors(sampler);
    }
    write_counts(sampler, now_ns);
    publish(sampler);
}

/* --- end -------------------------------------------------------------------------------------- */

/* "none was a Python" would be a claim about processes that ended before they were classified. */
static void describe_unclassified(const struct sampler *sampler, uint64_t end_ns, char *text,
                                  size_t size)
{
    const struct ss_process_table *processes = sampler->recorder->processes;
    unsigned long long seen = ss_process_table_seen(processes);
    unsigned long long unclassified = ss_process_table_unclassified(processes);
    uint64_t start_ns = sampler->recorder->figures->start_ns;
    if (unclassified == 0 || sampler->recorder->is_duration_over) {
        return;
    }
    if (seen == 1) {
        snprintf(text, size,
                 "the program ended after %.1f ms, before a sample of it could be taken; a "
                 "higher rate (-r) samples shorter programs",
                 start_ns != 0 ? (double)(end_ns - start_ns) / 1e6 : 0.0);
    } else if (unclassified >= seen) {
        snprintf(text, size,
                 "all %llu processes ended before a sample of them could be taken; a higher "
                 "rate (-r) samples shorter programs",
                 seen);
    } else {
        snprintf(text, size,
                 "%llu of the %llu processes that ran ended before they could be identified, "
                 "and none of the others was a Python that stepscope supports (CPython 3.8 to "
                 "3.15); a higher rate (-r) samples shorter programs",
                 unclassified, seen);
    }
}

/* Why there are no samples although programs ran. */
static void note_no_samples(struct sampler *sampler, uint64_t end_ns)
{
    char text[300] = "";
    struct rlimit files;
    if (sampler->is_out_of_descriptors) {
        bool is_known = getrlimit(RLIMIT_NOFILE, &files) == 0;
        snprintf(text, sizeof text,
                 "the recorder has no file descriptors left (ulimit -n %llu); raise the limit: "
                 "it needs about 30, and one for each process",
                 is_known ? (unsigned long long)files.rlim_cur : 0);
    } else if (access("/proc/self/stat", R_OK) != 0) {
        snprintf(text, sizeof text,
                 "/proc, through which processes are read, is not mounted; mount it (mount -t "
                 "proc proc /proc)");
    } else {
        describe_unclassified(sampler, end_ns, text, sizeof text);
    }
    if (text[0] != '\0') {
        note(sampler, "python-unreadable", text, 0);
    }
}

static enum ss_source_state stop(void *source, uint64_t now_ns, char *reason)
{
    struct sampler *sampler = source;
    begin(sampler);
    ss_ticker_finish(&sampler->ticker, now_ns);
    ss_process_table_end(sampler->recorder->processes, now_ns);
    if (sampler->context->python_processes == 0) {
        note_no_samples(sampler, now_ns);
    }
    write_counts(sampler, now_ns);
    publish(sampler);
    ss_free(sampler);
    snprintf(reason, SS_SOURCE_REASON_BYTES, "%s", ss_source_python.summary);
    return SS_SOURCE_RUNS;
}

const struct ss_source_ops ss_source_python = {
    .name = "python",
    .summary = "stacks read from outside, the program is never stopped",
    .start = start,
    .tick = tick,
    .flush = flush,
    .stop = stop,
};
