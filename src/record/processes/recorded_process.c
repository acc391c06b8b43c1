/* SPDX-License-Identifier: Apache-2.0 */
#include "record/processes/recorded_process.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "platform/procfs.h"
#include "platform/task_state.h"
#include "record/processes/recorded_process_inside.h"
#include "record/recording/facts.h"
#include "record/run/ranks.h"

/* How often a process that is not Python (yet) is retried. */
static const uint64_t eager_ns = UINT64_C(300000000); /* after start or exec: every tick */
/* After so much run time, or when it sleeps after so long, the dynamic linker has mapped every
 * library that the image is linked with: an image without Python is not Python, unless it loads
 * Python later.
 */
static const uint64_t linked_ns = UINT64_C(20000000);
static const uint64_t slow_retry_ns = UINT64_C(50000000);
static const uint64_t slowest_retry_ns = UINT64_C(1000000000);

/* --- the process in the trace ----------------------------------------------------------------- */

static struct ss_strview last_path_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return ss_strview_of(slash != NULL ? slash + 1 : path);
}

static void write_record(struct ss_recorded_process *process, const struct ss_trace_process *record)
{
    struct ss_error err = {0};
    ss_record_context_check(process->context,
                            ss_recording_process(process->context->recording, record, &err), &err);
    process->is_written = true;
}

/* A parent that gives it a rank launches. */
static void put_ranks(struct ss_recorded_process *process, struct ss_trace_process *record)
{
    struct ss_error err = {0};
    ss_record_process_ranks(process->pid, record);
    if (record->has_rank && process->parent_ref != 0 &&
        ss_rank_is_assigned(process->pid, record->parent_pid)) {
        ss_record_context_check(process->context,
                                ss_recording_role(process->context->recording, process->parent_ref,
                                                  SS_PROCESS_ROLE_LAUNCHES, &err),
                                &err);
    }
}

static void write_process(struct ss_recorded_process *process)
{
    struct ss_strbuf cmdline, executable, runtime;
    ss_strbuf_init(&cmdline, 4096);
    ss_strbuf_init(&executable, 4096);
    ss_strbuf_init(&runtime, 64);
    ss_procfs_cmdline(process->pid, process->context->keeps_secrets, &cmdline);
    ss_procfs_link(process->pid, "exe", &executable);
    if (process->sampler != NULL) {
        ss_strbuf_append_format(&runtime, "CPython %s",
                                ss_python_version(ss_python_sampler_python(process->sampler)));
    }
    struct ss_procfs_stat stat = {0};
    char label[48] = "";
    ss_procfs_stat(process->pid, 0, &stat);
    struct ss_trace_process record = {
        .ref = process->ref,
        .parent_ref = process->parent_ref,
        .pid = process->pid,
        .parent_pid = stat.parent_pid,
        .pid_namespace = ss_procfs_pid_namespace(process->pid),
        .start_time_ticks = stat.start_time_ticks,
        .cmdline = {cmdline.data, cmdline.length},
        .name = stat.comm[0] != '\0' ? ss_strview_of(stat.comm) : last_path_part(executable.data),
        .runtime = {runtime.data, runtime.length},
        .executable = {executable.data, executable.length},
        .first_seen_ns = process->first_seen_ns};
    put_ranks(process, &record);
    if (record.has_rank) {
        snprintf(label, sizeof label, "rank %u", record.rank);
    }
    record.label = ss_strview_of(label);
    if (stat.start_time_ticks != 0) { /* else it has ended, and there is no data */
        write_record(process, &record);
    }
    ss_strbuf_fini(&cmdline);
    ss_strbuf_fini(&executable);
    ss_strbuf_fini(&runtime);
}

/* --- life ------------------------------------------------------------------------------------- */

struct ss_recorded_process *ss_recorded_process_new(struct ss_record_context *context, uint32_t ref,
                                                    uint32_t parent_ref, pid_t pid, uint64_t now_ns)
{
    struct ss_recorded_process *process = ss_alloc_zero(1, sizeof *process);
    *process = (struct ss_recorded_process){.context = context,
                                            .ref = ref,
                                            .parent_ref = parent_ref,
                                            .pid = pid,
                                            .first_seen_ns = now_ns,
                                            .image_since_ns = now_ns};
    return process;
}

static void add_counts(struct ss_sampler_counts *sum, const struct ss_sampler_counts *more)
{
    sum->seen += more->seen;
    sum->ok += more->ok;
    sum->partial += more->partial;
    sum->lost += more->lost;
    sum->unchanged += more->unchanged;
    sum->retries += more->retries;
    sum->read_syscalls += more->read_syscalls;
}

void ss_recorded_process_add_counts(const struct ss_recorded_process *process,
                                    struct ss_sampler_counts *counts)
{
    add_counts(counts, &process->base);
    if (process->sampler != NULL) {
        struct ss_sampler_counts now;
        ss_python_sampler_get_counts(process->sampler, &now);
        add_counts(counts, &now);
    }
}

struct ss_trace_counts ss_recorded_counts(const struct ss_record_context *context,
                                          const struct ss_sampler_counts *sum, uint64_t now_ns)
{
    return (struct ss_trace_counts){.source_ref = context->python_source_ref,
                                    .time_ns = now_ns,
                                    .seen = sum->seen,
                                    .ok = sum->ok,
                                    .partial = sum->partial,
                                    .lost = sum->lost,
                                    .unchanged = sum->unchanged,
                                    .retries = sum->retries,
                                    .read_syscalls = sum->read_syscalls};
}

static void write_counts(struct ss_recorded_process *process, uint64_t now_ns)
{
    struct ss_sampler_counts sum = {0};
    ss_recorded_process_add_counts(process, &sum);
    if (sum.seen == 0) {
        return;
    }
    struct ss_trace_counts counts = ss_recorded_counts(process->context, &sum, now_ns);
    counts.process_ref = process->ref;
    struct ss_error err = {0};
    ss_record_context_check(process->context,
                            ss_recording_counts(process->context->recording, &counts, &err), &err);
}

/* At the end of the image: until then the hooks could still be loaded. */
static void note_missed_torch(struct ss_recorded_process *process, uint64_t now_ns)
{
    if (process->torch.missed != NULL && process->is_written) {
        struct ss_trace_note note = {.time_ns = now_ns,
                                     .process_ref = process->ref,
                                     .kind = ss_strview_of("torch-missed"),
                                     .text = ss_strview_of(process->torch.missed)};
        struct ss_error err = {0};
        ss_record_context_check(process->context,
                                ss_recording_note(process->context->recording,
                                                  (struct ss_route){.process_ref = process->ref},
                                                  &note, &err),
                                &err);
    }
    ss_torch_reach_fini(&process->torch);
}

static void close_sampler(struct ss_recorded_process *process)
{
    if (process->sampler == NULL) {
        return;
    }
    ss_python_sampler_flush(process->sampler);
    ss_recorded_process_confirm(process);
    struct ss_sampler_counts counts;
    ss_python_sampler_get_counts(process->sampler, &counts);
    add_counts(&process->base, &counts);
    ss_python_sampler_close(process->sampler);
    process->sampler = NULL;
    for (size_t i = 0; i < process->threads.count; i++) {
        ss_vec_fini(&process->threads.data[i].frames);
        ss_vec_fini(&process->threads.data[i].nodes);
    }
    ss_vec_fini(&process->threads);
    ss_vec_fini(&process->frame_refs);
    ss_vec_fini(&process->held);
    ss_vec_fini(&process->held_frames);
}

void ss_recorded_process_free(struct ss_recorded_process *process, uint64_t now_ns)
{
    close_sampler(process);
    if (process->annotated != NULL) {
        const struct ss_process_observer *observer = &process->context->observer;
        observer->ended(observer->context, process->annotated, now_ns);
    }
    write_counts(process, now_ns);
    note_missed_torch(process, now_ns);
    add_counts(&process->context->ended_counts, &process->base);
    ss_vec_fini(&process->tids);
    ss_free(process);
}

static bool is_alive(pid_t pid)
{
    struct ss_procfs_stat stat;
    return ss_procfs_stat(pid, 0, &stat) && stat.state != 'Z' && stat.state != 'X';
}

/* One note in the trace for a process that refuses or is unreadable. */
static void note_unreadable(struct ss_recorded_process *process, const struct ss_error *cause,
                            uint64_t now_ns)
{
    struct ss_trace_note note = {.time_ns = now_ns,
                                 .process_ref = process->ref,
                                 .kind = ss_strview_of("python-unreadable"),
                                 .text = ss_strview_of(cause->message)};
    struct ss_route route = {.process_ref = process->ref};
    struct ss_error err = {0};
    process->classified = true;
    process->error = *cause;
    write_process(process);
    ss_record_context_check(
        process->context, ss_recording_note(process->context->recording, route, &note, &err), &err);
    ss_log(SS_INFO, "record", "process %d: %s", (int)process->pid, cause->message);
}

/* On a busy machine time passes in which an image does not run: it has not been linked then. */
static bool is_linked(const struct ss_recorded_process *process, uint64_t now_ns)
{
    uint64_t age_ns = now_ns - process->image_since_ns;
    if (age_ns < linked_ns || age_ns >= eager_ns) {
        return age_ns >= eager_ns;
    }
    struct ss_procfs_stat stat;
    return ss_task_process_run_ns(ss_task_process_clock(process->pid)) >= linked_ns ||
           (ss_procfs_stat(process->pid, 0, &stat) && stat.state == 'S');
}

/* A process that never becomes Python (a shell, a tool) is retried less and less often. */
static bool try_open(struct ss_recorded_process *process, uint64_t now_ns)
{
    struct ss_sampler_sink sink = ss_recorded_process_sink(process);
    struct ss_error err = {0};
    enum ss_status status = ss_python_sampler_open(process->pid, &sink, &process->sampler, &err);
    if (status == SS_OK) {
        process->error.status = SS_OK;
        process->context->python_processes++;
        process->classified = true;
        write_process(process);
        return true;
    }
    process->sampler = NULL;
    if (status == SS_E_GONE && !is_alive(process->pid)) {
        return false;
    }
    bool eager = now_ns - process->image_since_ns < eager_ns;
    if (!eager) {
        process->retry_ns = process->retry_ns == 0 ? slow_retry_ns : process->retry_ns * 2;
        if (process->retry_ns > slowest_retry_ns) {
            process->retry_ns = slowest_retry_ns;
        }
        process->next_try_ns = now_ns + process->retry_ns;
    }
    process->classified = process->classified || is_linked(process, now_ns);
    bool waits = status == SS_E_NOTFOUND || status == SS_E_AGAIN || status == SS_E_GONE;
    if (!waits && process->error.status != status) {
        note_unreadable(process, &err, now_ns);
    }
    return true;
}

/* Opens the sampler when it is due. false: the process has ended. */
static bool poll_python(struct ss_recorded_process *process, uint64_t now_ns)
{
    if (now_ns < process->next_try_ns) {
        return true;
    }
    if (!try_open(process, now_ns)) {
        return false;
    }
    if (!process->seen && now_ns - process->image_since_ns >= eager_ns) {
        process->seen = true; /* long enough to know that it is not Python */
        write_process(process);
    }
    return true;
}

/* Whether the process is in a window now. Weights of the window before are emitted. */
static bool enter_window(struct ss_recorded_process *process, uint64_t now_ns)
{
    bool is_in_window = !ss_recorded_process_is_outside_windows(process, now_ns);
    uint32_t window =
        process->annotated != NULL ? process->context->observer.window(process->annotated) : 0;
    if (process->is_in_window && (!is_in_window || window != process->window)) {
        ss_python_sampler_flush(process->sampler);
        ss_recorded_process_confirm(process);
    }
    process->is_in_window = is_in_window;
    process->window = window;
    return is_in_window;
}

bool ss_recorded_process_tick(struct ss_recorded_process *process, uint64_t now_ns)
{
    if (process->sampler == NULL && !poll_python(process, now_ns)) {
        return false;
    }
    if (process->sampler == NULL || !enter_window(process, now_ns)) {
        return true;
    }
    struct ss_error err = {0};
    enum ss_status status = ss_python_sampler_tick(process->sampler, now_ns, &err);
    if (status == SS_OK) {
        ss_recorded_process_confirm_when_due(process, now_ns);
        return true;
    }
    /* The memory is gone, the process is not: it has called exec since the last notification. */
    if (status == SS_E_GONE && !is_alive(process->pid)) {
        return false;
    }
    ss_log(SS_DEBUG, "record", "process %d: %s", (int)process->pid, err.message);
    ss_recorded_process_execed(process, now_ns);
    return true;
}

void ss_recorded_process_execed(struct ss_recorded_process *process, uint64_t now_ns)
{
    close_sampler(process);
    note_missed_torch(process, now_ns);
    process->classified = false;
    process->image_since_ns = now_ns;
    process->next_try_ns = 0;
    process->retry_ns = 0;
}

void ss_recorded_process_threads_changed(struct ss_recorded_process *process)
{
    if (process->sampler != NULL) {
        ss_python_sampler_threads_changed(process->sampler);
    }
}

void ss_recorded_process_flush(struct ss_recorded_process *process, uint64_t now_ns, bool weights)
{
    if (process->sampler != NULL && weights) {
        ss_python_sampler_flush(process->sampler);
    }
    if (process->sampler != NULL) {
        ss_recorded_process_confirm(process);
        ss_torch_reach_poll(&process->torch, process->context->injection, process->pid, now_ns);
    }
    write_counts(process, now_ns);
}

uint32_t ss_recorded_process_define(struct ss_recorded_process *process)
{
    if (!process->is_written) {
        write_process(process);
    }
    return process->is_written ? process->ref : process->parent_ref;
}

bool ss_recorded_process_is_defined(const struct ss_recorded_process *process)
{
    return process->is_written;
}

void ss_recorded_process_define_ended(struct ss_recorded_process *process, int32_t parent_pid,
                                      uint64_t start_time_ticks)
{
    ss_recorded_process_define(process);
    if (process->is_written) {
        return;
    }
    struct ss_trace_process record = {.ref = process->ref,
                                      .parent_ref = process->parent_ref,
                                      .pid = process->pid,
                                      .parent_pid = parent_pid,
                                      .start_time_ticks = start_time_ticks,
                                      .first_seen_ns = process->first_seen_ns};
    write_record(process, &record);
}

void ss_recorded_process_set_annotated(struct ss_recorded_process *process,
                                       struct ss_record_client *annotated)
{
    process->annotated = annotated;
    if (annotated != NULL && process->is_written) {
        write_process(process); /* the image with annotations is the current one */
    }
}

struct ss_record_client *ss_recorded_process_annotated(const struct ss_recorded_process *process)
{
    return process->annotated;
}

bool ss_recorded_process_is_classified(const struct ss_recorded_process *process)
{
    return process->classified;
}

bool ss_recorded_process_was_seen(const struct ss_recorded_process *process)
{
    return process->seen;
}

uint32_t ss_recorded_process_ref(const struct ss_recorded_process *process)
{
    return process->ref;
}

pid_t ss_recorded_process_pid(const struct ss_recorded_process *process)
{
    return process->pid;
}

const struct ss_error *ss_recorded_process_error(const struct ss_recorded_process *process)
{
    return &process->error;
}
