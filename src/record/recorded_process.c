/* SPDX-License-Identifier: Apache-2.0 */
#include "record/recorded_process.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/vec.h"
#include "platform/procfs.h"
#include "record/facts.h"
#include "record/torch_reach.h"

_Static_assert((int)SS_TASK_ON_CPU == (int)SS_STATE_ON_CPU &&
                   (int)SS_TASK_STOPPED == (int)SS_STATE_STOPPED &&
                   (int)SS_SAMPLER_GIL_WAITED == (int)SS_GIL_WAITED &&
                   (int)SS_TASK_WAIT_FUTEX == (int)SS_WAIT_FUTEX &&
                   (int)SS_TASK_WAIT_OTHER == (int)SS_WAIT_OTHER,
               "the sampler's values are those of the trace");

/* How often a process that is not Python (yet) is retried. */
static const uint64_t eager_ns = UINT64_C(300000000); /* after start or exec: every tick */
/* By then the dynamic linker has mapped every library that the image is linked with: an image
 * without Python is not Python, unless it loads Python later. */
static const uint64_t linked_ns = UINT64_C(20000000);
static const uint64_t slow_retry_ns = UINT64_C(50000000);
static const uint64_t slowest_retry_ns = UINT64_C(1000000000);

/* The position of a thread in the program's annotations. */
struct sample_label {
    int64_t step;
    uint32_t window, phase_name, range_name;
};

struct sampled_thread {
    uint32_t ref;
    struct sample_label label;         /* at the last sample */
    uint32_t stack_ref;                /* of the last sample */
    bool truncated;                    /* the stack table was full */
    struct ss_vec_of(uint32_t) frames; /* of the last sample: sampler ids… */
    struct ss_vec_of(uint32_t) nodes;  /* …and their stack refs */
};

/* A thread that is defined in the trace, by the sampler or by its annotations. */
struct known_thread {
    int32_t tid;
    uint32_t ref;
    bool is_sampled;
    bool is_named; /* by the program itself */
};

struct ss_recorded_process {
    struct ss_record_context *context;
    uint32_t ref, parent_ref;
    pid_t pid;
    bool is_written;
    bool seen;
    bool judged; /* known to be Python, not Python, or unreadable */
    uint64_t first_seen_ns, image_since_ns, next_try_ns, retry_ns;
    struct ss_python_sampler *sampler;
    struct ss_vec_of(uint32_t) frame_refs;           /* by frame id of the sampler */
    struct ss_vec_of(struct sampled_thread) threads; /* by thread id of the sampler */
    struct ss_vec_of(struct known_thread) tids;
    struct ss_record_client *annotated;
    bool is_in_window;             /* at the last tick… */
    uint32_t window;               /* …its own; 0: none */
    struct ss_sampler_counts base; /* of samplers before an exec */
    struct ss_torch_reach torch;
    struct ss_error error;
};

/* --- processes and threads in the trace ------------------------------------------------------ */

static struct ss_strview last_path_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return ss_strview_of(slash != NULL ? slash + 1 : path);
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
    char label[48];
    ss_procfs_stat(process->pid, 0, &stat);
    ss_record_process_label(process->pid, label, sizeof label);
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
        .label = ss_strview_of(label),
        .first_seen_ns = process->first_seen_ns};
    struct ss_error err = {0};
    if (stat.start_time_ticks != 0) { /* else it has ended, and there is no data */
        ss_record_context_check(process->context,
                                ss_recording_process(process->context->recording, &record, &err),
                                &err);
        process->is_written = true;
    }
    ss_strbuf_fini(&cmdline);
    ss_strbuf_fini(&executable);
    ss_strbuf_fini(&runtime);
}

static struct sampled_thread *sampled_thread_of(struct ss_recorded_process *process, uint32_t id)
{
    if (id >= process->threads.count) {
        ss_vec_resize(&process->threads, (size_t)id + 1);
    }
    return &process->threads.data[id];
}

/* The newest thread of this id: ids are reused. */
static struct known_thread *find_tid(struct ss_recorded_process *process, int32_t tid)
{
    for (size_t i = process->tids.count; i > 0; i--) {
        if (process->tids.data[i - 1].tid == tid) {
            return &process->tids.data[i - 1];
        }
    }
    return NULL;
}

static struct known_thread *add_tid(struct ss_recorded_process *process, int32_t tid)
{
    ss_vec_push(&process->tids,
                (struct known_thread){.tid = tid, .ref = process->context->next_thread_ref++});
    return &process->tids.data[process->tids.count - 1];
}

static void write_thread(struct ss_recorded_process *process, uint32_t ref, int32_t tid,
                         bool is_main, struct ss_strview name)
{
    struct ss_trace_thread record = {
        .ref = ref, .process_ref = process->ref, .tid = tid, .is_main = is_main, .name = name};
    struct ss_error err = {0};
    ss_record_context_check(process->context,
                            ss_recording_thread(process->context->recording, &record, &err), &err);
}

uint32_t ss_recorded_process_thread(struct ss_recorded_process *process, int32_t tid)
{
    struct known_thread *entry = find_tid(process, tid);
    if (entry == NULL) {
        struct ss_procfs_stat stat = {0};
        ss_procfs_stat(process->pid, tid, &stat);
        entry = add_tid(process, tid);
        write_thread(process, entry->ref, tid, tid == process->pid, ss_strview_of(stat.comm));
    }
    return entry->ref;
}

bool ss_recorded_process_has_thread(struct ss_recorded_process *process, int32_t tid)
{
    struct ss_procfs_stat stat;
    return tid > 0 && (find_tid(process, tid) != NULL || ss_procfs_stat(process->pid, tid, &stat));
}

void ss_recorded_process_name_thread(struct ss_recorded_process *process, int32_t tid,
                                     struct ss_strview name)
{
    uint32_t ref = ss_recorded_process_thread(process, tid);
    find_tid(process, tid)->is_named = true;
    write_thread(process, ref, tid, tid == process->pid, name);
}

static void on_thread(void *context, const struct ss_sampler_thread *thread)
{
    struct ss_recorded_process *process = context;
    struct sampled_thread *entry = sampled_thread_of(process, thread->id);
    struct known_thread *known = thread->tid > 0 ? find_tid(process, thread->tid) : NULL;
    if (entry->ref == 0) {
        if (known == NULL || known->is_sampled) {
            known = add_tid(process, thread->tid);
        }
        known->is_sampled = true;
        entry->ref = known->ref;
    }
    if (known == NULL || known->ref != entry->ref || !known->is_named) {
        write_thread(process, entry->ref, thread->tid, thread->is_main,
                     ss_strview_of(thread->name));
    }
}

/* --- stacks ---------------------------------------------------------------------------------- */

static uint32_t frame_ref_of(struct ss_recorded_process *process, uint32_t id)
{
    if (id >= process->frame_refs.count) {
        const struct ss_python *python = ss_python_sampler_python(process->sampler);
        ss_vec_resize(&process->frame_refs, (size_t)ss_python_frame_count(python) + 1);
    }
    uint32_t *ref = &process->frame_refs.data[id];
    if (*ref == 0) {
        struct ss_python_frame frame;
        struct ss_error err = {0};
        ss_python_frame_get(ss_python_sampler_python(process->sampler), id, &frame);
        ss_record_context_check(
            process->context,
            ss_frame_table_frame(process->context->frames, process->pid, &frame, ref, &err), &err);
    }
    return *ref;
}

/* Consecutive stacks of a thread have most frames in common: resolves only those that differ. */
static void cache_stack(struct ss_recorded_process *process, struct sampled_thread *entry,
                        const struct ss_sampler_sample *sample)
{
    size_t common = 0;
    while (common < entry->frames.count && common < sample->depth &&
           entry->frames.data[common] == sample->frames[common]) {
        common++;
    }
    ss_vec_resize(&entry->frames, sample->depth);
    ss_vec_resize(&entry->nodes, sample->depth);
    uint32_t node = common > 0 ? entry->nodes.data[common - 1] : 0;
    entry->truncated = false;
    for (size_t i = common; i < sample->depth; i++) {
        uint32_t next = 0;
        struct ss_error err = {0};
        entry->frames.data[i] = sample->frames[i];
        uint32_t frame_ref = frame_ref_of(process, sample->frames[i]);
        ss_record_context_check(
            process->context,
            ss_frame_table_stack(process->context->frames, node, frame_ref, &next, &err), &err);
        if (next == 0) {
            entry->truncated = true;
            ss_vec_resize(&entry->frames, i);
            ss_vec_resize(&entry->nodes, i);
            break;
        }
        entry->nodes.data[i] = node = next;
    }
    entry->stack_ref = node;
}

/* A schedule is active, and the process is outside its windows. */
static bool is_outside_windows(const struct ss_recorded_process *process, uint64_t now_ns)
{
    const struct ss_process_observer *observer = &process->context->observer;
    return observer->context != NULL &&
           !observer->is_in_window(observer->context, process->ref, now_ns);
}

/* A stack that was read just now belongs to the current window; a weight that is emitted later
 * belongs to the window of the last tick. */
static struct ss_route aim_of_sample(const struct ss_recorded_process *process,
                                     struct ss_trace_sample *sample, bool was_counted)
{
    if (was_counted && process->window != 0) {
        sample->window = process->window;
    } else if (!was_counted && process->annotated != NULL && sample->window != 0) {
        process->context->observer.ensure_window(process->annotated, sample->window);
    }
    return (struct ss_route){process->ref, sample->window};
}

/* Step, phase and range at the time of the counted ticks. */
static void label(struct ss_recorded_process *process, struct sampled_thread *entry,
                  const struct ss_sampler_sample *sample, struct ss_trace_sample *record)
{
    struct ss_trace_sample now = *record;
    if (process->annotated != NULL) {
        process->context->observer.label(process->annotated, sample->thread->tid, &now);
    }
    if (!sample->counted_before) {
        entry->label = (struct sample_label){now.step, now.window, now.phase_name, now.range_name};
    }
    record->step = entry->label.step;
    record->window = entry->label.window;
    record->phase_name = entry->label.phase_name;
    record->range_name = entry->label.range_name;
    entry->label = (struct sample_label){now.step, now.window, now.phase_name, now.range_name};
}

static void on_sample(void *context, const struct ss_sampler_sample *sample)
{
    struct ss_recorded_process *process = context;
    /* The window may have ended while the stack was read. An accumulated weight (same_stack) is of
     * earlier ticks. */
    if (!sample->same_stack && is_outside_windows(process, sample->time_ns)) {
        return;
    }
    struct sampled_thread *entry = sampled_thread_of(process, sample->thread->id);
    process->seen = true;
    if (!sample->same_stack) {
        cache_stack(process, entry, sample);
    }
    struct ss_trace_sample record = {.time_ns = sample->time_ns,
                                     .thread_ref = entry->ref,
                                     .stack_ref = entry->stack_ref,
                                     .weight = sample->weight,
                                     .state = (enum ss_thread_state)sample->activity,
                                     .gil = (enum ss_gil_state)sample->gil,
                                     .wait = (enum ss_wait_kind)sample->wait,
                                     .partial = sample->partial || entry->truncated,
                                     .step = -1};
    label(process, entry, sample, &record);
    struct ss_route aim = aim_of_sample(process, &record, sample->counted_before);
    struct ss_error err = {0};
    ss_record_context_check(process->context,
                            ss_recording_sample(process->context->recording, aim, &record, &err),
                            &err);
    process->context->samples++;
}

/* --- life ------------------------------------------------------------------------------------ */

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

/* A process that never becomes Python (a shell, a tool) is retried less and less often; one that
 * refuses or is unreadable gets one note in the trace. */
static bool try_open(struct ss_recorded_process *process, uint64_t now_ns)
{
    struct ss_sampler_sink sink = {process, on_thread, on_sample};
    struct ss_error err = {0};
    enum ss_status status = ss_python_sampler_open(process->pid, &sink, &process->sampler, &err);
    if (status == SS_OK) {
        process->error.status = SS_OK;
        process->context->python_processes++;
        process->judged = true;
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
    process->judged |= now_ns - process->image_since_ns >= linked_ns;
    bool waits = status == SS_E_NOTFOUND || status == SS_E_AGAIN || status == SS_E_GONE;
    if (!waits && process->error.status != status) {
        process->judged = true;
        process->error = err;
        struct ss_trace_note note = {.time_ns = now_ns,
                                     .process_ref = process->ref,
                                     .kind = ss_strview_of("python-unreadable"),
                                     .text = ss_strview_of(err.message)};
        struct ss_error write_err = {0};
        write_process(process);
        ss_record_context_check(process->context,
                                ss_recording_note(process->context->recording,
                                                  (struct ss_route){.process_ref = process->ref},
                                                  &note, &write_err),
                                &write_err);
        ss_log(SS_INFO, "record", "process %d: %s", (int)process->pid, err.message);
    }
    return true;
}

bool ss_recorded_process_tick(struct ss_recorded_process *process, uint64_t now_ns)
{
    if (process->sampler == NULL) {
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
        if (process->sampler == NULL) {
            return true;
        }
    }
    bool is_in_window = !is_outside_windows(process, now_ns);
    uint32_t window =
        process->annotated != NULL ? process->context->observer.window(process->annotated) : 0;
    if (process->is_in_window && (!is_in_window || window != process->window)) {
        ss_python_sampler_flush(process->sampler);
    }
    process->is_in_window = is_in_window;
    process->window = window;
    if (!is_in_window) {
        return true;
    }
    struct ss_error err = {0};
    enum ss_status status = ss_python_sampler_tick(process->sampler, now_ns, &err);
    if (status == SS_OK) {
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
    process->judged = false;
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
    struct ss_error err = {0};
    ss_record_context_check(process->context,
                            ss_recording_process(process->context->recording, &record, &err), &err);
    process->is_written = true;
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

bool ss_recorded_process_is_judged(const struct ss_recorded_process *process)
{
    return process->judged;
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
