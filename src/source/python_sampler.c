/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "platform/memory.h"
#include "platform/procfs.h"
#include "source/python_locate.h"
#include "source/python_sampler_inside.h"

static const uint64_t force_list_ns = UINT64_C(500000000); /* walk all thread states at 2 Hz */
static const uint64_t new_threads_ns = UINT64_C(900000);   /* above 1 kHz: not at every tick */
static const uint64_t task_list_ns = UINT64_C(500000000);  /* list /proc/PID/task */
static const uint64_t task_list_min_ns = UINT64_C(20000000);
static const uint64_t name_poll_ns = UINT64_C(200000000);
/* Memory of code objects is reused mainly while modules are imported. The sink has the names of its
 * samples confirmed; these checks keep the names of code that was not sampled for a while. */
static const uint64_t cache_check_min_ns = UINT64_C(20000000);
static const uint64_t cache_check_max_ns = UINT64_C(500000000);
/* Where code objects were replaced, the next ones soon will be. */
static const uint64_t confirm_after_ns = UINT64_C(1000000000);
/* From this number of active threads, reading the GIL holder at each tick pays off. */
enum { GIL_FROM_THREADS = 3 };

bool ss_sampler_chore_is_due(const struct ss_sampler_chore *chore, uint64_t now_ns)
{
    return now_ns >= chore->next_ns;
}

void ss_sampler_chore_begin(struct ss_sampler_chore *chore)
{
    chore->started_cpu_ns = ss_clock_thread_cpu_ns();
}

void ss_sampler_chore_end(struct ss_sampler_chore *chore, const struct ss_clock *clock,
                          uint64_t interval_ns)
{
    /* Measured in CPU time: on a busy machine wall time includes time that is not spent here. */
    uint64_t rest_ns = (ss_clock_thread_cpu_ns() - chore->started_cpu_ns) * 20;
    chore->next_ns = ss_clock_now_ns(clock) + (rest_ns > interval_ns ? rest_ns : interval_ns);
}

enum ss_status ss_python_sampler_open(pid_t pid, const struct ss_sampler_sink *sink,
                                      struct ss_python_sampler **sampler, struct ss_error *err)
{
    struct ss_python_location location;
    SS_TRY(ss_python_locate(pid, &location, err));
    struct ss_python_sampler *opened = ss_alloc_zero(1, sizeof *opened);
    opened->pid = pid;
    opened->sink = *sink;
    opened->next_id = 1;
    opened->run_clock = ss_task_process_clock(pid);
    opened->other_namespace = ss_procfs_inner_tid(pid, pid) != pid;
    enum ss_status status = ss_memory_open(pid, &opened->reader, err);
    if (status == SS_OK) {
        struct ss_python_options options = {.size = sizeof options,
                                            .pid_in_namespace = ss_procfs_inner_tid(pid, pid)};
        status = ss_python_open(opened->reader, &location, &options, &opened->python, err);
    }
    if (status != SS_OK) {
        ss_python_sampler_close(opened);
        return status;
    }
    *sampler = opened;
    return SS_OK;
}

static struct ss_sampler_entry *add_entry(struct ss_python_sampler *sampler, pid_t tid,
                                          pid_t inner_tid)
{
    struct ss_sampler_entry *entry = ss_alloc_zero(1, sizeof *entry);
    entry->public.id = sampler->next_id++;
    entry->public.tid = tid;
    entry->public.is_main = tid == sampler->pid;
    entry->inner_tid = inner_tid;
    entry->state.schedstat_fd = entry->state.syscall_fd = entry->state.stat_fd = -1;
    struct ss_procfs_stat stat;
    if (tid > 0) {
        ss_task_state_open(&entry->state, sampler->pid, tid);
        if (ss_procfs_stat(sampler->pid, tid, &stat)) {
            snprintf(entry->public.name, sizeof entry->public.name, "%s", stat.comm);
        }
        HASH_ADD(hh, sampler->by_tid, public.tid, sizeof entry->public.tid, entry);
    }
    entry->poll_tick = sampler->ticks;
    ss_vec_push(&sampler->entries, entry);
    sampler->lists_stale = true;
    return entry;
}

static void free_entry(struct ss_python_sampler *sampler, struct ss_sampler_entry *entry)
{
    ss_sampler_flush_entry(sampler, entry);
    ss_sampler_unpark(sampler, entry);
    sampler->lists_stale = true;
    if (entry->python != NULL) {
        entry->python->user = NULL;
    }
    for (size_t i = 0; i < entry->inner.count; i++) {
        entry->inner.data[i]->user = NULL;
    }
    if (entry->public.tid > 0) {
        HASH_DEL(sampler->by_tid, entry);
    }
    ss_task_state_close(&entry->state);
    ss_vec_fini(&entry->frames);
    ss_vec_fini(&entry->joined);
    ss_vec_fini(&entry->inner);
    ss_free(entry);
}

static struct ss_sampler_entry *find_by_inner_tid(struct ss_python_sampler *sampler,
                                                  pid_t inner_tid)
{
    struct ss_sampler_entry *found = NULL;
    if (!sampler->other_namespace) {
        HASH_FIND(hh, sampler->by_tid, &inner_tid, sizeof inner_tid, found);
        return found;
    }
    for (size_t i = 0; i < sampler->entries.count; i++) {
        if (sampler->entries.data[i]->inner_tid == inner_tid) {
            return sampler->entries.data[i];
        }
    }
    return NULL;
}

/* --- the list of tasks ----------------------------------------------------------------------- */

static void on_task(void *context, pid_t tid)
{
    struct ss_python_sampler *sampler = context;
    struct ss_sampler_entry *entry = NULL;
    HASH_FIND(hh, sampler->by_tid, &tid, sizeof tid, entry);
    if (entry == NULL) {
        pid_t inner = sampler->other_namespace ? ss_procfs_inner_tid(sampler->pid, tid) : tid;
        entry = add_entry(sampler, tid, inner);
        sampler->sink.thread(sampler->sink.context, &entry->public);
    }
    entry->listed = true;
}

static void list_tasks(struct ss_python_sampler *sampler)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", (int)sampler->pid);
    for (size_t i = 0; i < sampler->entries.count; i++) {
        sampler->entries.data[i]->listed = false;
    }
    if (!ss_procfs_each_id(path, on_task, sampler)) {
        return;
    }
    size_t remaining = 0;
    for (size_t i = 0; i < sampler->entries.count; i++) {
        struct ss_sampler_entry *entry = sampler->entries.data[i];
        /* A thread state without known kernel thread stays as long as Python lists it. */
        bool stays = entry->listed || (entry->public.tid == 0 && entry->python != NULL);
        if (stays) {
            sampler->entries.data[remaining++] = entry;
        } else {
            free_entry(sampler, entry);
        }
    }
    sampler->entries.count = remaining;
}

/* --- Python threads -------------------------------------------------------------------------- */

/* Its stack is read at the next poll, even if the thread does not move until then. */
static void forget_stack(struct ss_python_sampler *sampler, struct ss_sampler_entry *entry)
{
    ss_sampler_flush_entry(sampler, entry); /* with its stack so far */
    ss_sampler_unpark(sampler, entry);
    entry->has_sample = false;
}

/* true: the state was one of several, and the others stay. */
static bool take_from_states(struct ss_sampler_entry *entry, const struct ss_python_thread *thread)
{
    size_t count = 0;
    if (entry->inner.count == 0) {
        return false;
    }
    for (size_t i = 0; i < entry->inner.count; i++) {
        if (entry->python == thread) {
            entry->python = entry->inner.data[i];
            thread = entry->python; /* it is no longer an inner frame */
        } else if (entry->inner.data[i] != thread) {
            entry->inner.data[count++] = entry->inner.data[i];
        }
    }
    entry->inner.count = count;
    return true;
}

static void forget_python_thread(void *context, struct ss_python_thread *thread)
{
    struct ss_python_sampler *sampler = context;
    struct ss_sampler_entry *entry = thread->user;
    if (entry != NULL && entry->inner.count > 0) {
        forget_stack(sampler, entry);
        take_from_states(entry, thread);
        thread->user = NULL;
    } else if (entry != NULL) {
        forget_stack(sampler, entry);
        entry->python = NULL;
        entry->poll_tick = sampler->ticks;
        entry->poll_still = sampler->still_ticks;
        thread->user = NULL;
        sampler->lists_stale = true;
    }
}

/* A thread state is created before its thread runs, with the ids of its creator or none: it does
 * not represent a thread yet. If no kernel ids are available at all, each thread state counts. */
static bool is_not_started(const struct ss_python_sampler *sampler,
                           const struct ss_python_thread *thread,
                           const struct ss_sampler_entry *same_tid)
{
    if (thread->tid == 0) {
        return sampler->tids_known;
    }
    return same_tid != NULL && same_tid->python != NULL &&
           same_tid->python->interpreter_id == thread->interpreter_id;
}

/* A thread that runs code in another interpreter has a state in each: they are one stack. */
static void add_state(struct ss_python_sampler *sampler, struct ss_sampler_entry *entry,
                      struct ss_python_thread *thread)
{
    forget_stack(sampler, entry);
    if (thread->interpreter_id < entry->python->interpreter_id) {
        struct ss_python_thread *outer = thread;
        thread = entry->python;
        entry->python = outer;
    }
    ss_vec_push(&entry->inner, thread);
    for (size_t i = entry->inner.count - 1;
         i > 0 && entry->inner.data[i - 1]->interpreter_id > thread->interpreter_id; i--) {
        entry->inner.data[i] = entry->inner.data[i - 1];
        entry->inner.data[i - 1] = thread;
    }
}

static struct ss_sampler_entry *add_python_entry(struct ss_python_sampler *sampler,
                                                 struct ss_python_thread *thread,
                                                 struct ss_sampler_entry *same_tid)
{
    if (same_tid != NULL && same_tid->python != NULL) {
        add_state(sampler, same_tid, thread);
        return same_tid;
    }
    if (same_tid != NULL) {
        forget_stack(sampler, same_tid); /* it was polled before its thread state was known */
        same_tid->python = thread;
        return same_tid;
    }
    pid_t tid = sampler->other_namespace ? 0 : thread->tid;
    struct ss_sampler_entry *entry = add_entry(sampler, tid, thread->tid);
    entry->python = thread;
    return entry;
}

struct ss_sampler_entry *ss_sampler_entry_of(struct ss_python_sampler *sampler,
                                             struct ss_python_thread *thread)
{
    struct ss_sampler_entry *entry = thread->user;
    if (entry != NULL) {
        return entry;
    }
    entry = thread->tid > 0 ? find_by_inner_tid(sampler, thread->tid) : NULL;
    if (entry == NULL && thread->tid > 0 && sampler->other_namespace) {
        list_tasks(sampler); /* the thread is newer than the last listing */
        entry = find_by_inner_tid(sampler, thread->tid);
    }
    if (is_not_started(sampler, thread, entry)) {
        return NULL;
    }
    entry = add_python_entry(sampler, thread, entry);
    sampler->lists_stale = true;
    entry->public.has_python = true;
    entry->public.is_main = entry->python->is_main;
    thread->user = entry;
    sampler->names_wanted = true;
    uint64_t soon_ns = sampler->tick_ns + name_poll_ns;
    sampler->names.next_ns = sampler->names.next_ns < soon_ns ? sampler->names.next_ns : soon_ns;
    sampler->tids_known = sampler->tids_known || thread->tid > 0;
    sampler->sink.thread(sampler->sink.context, &entry->public);
    return entry;
}

void ss_sampler_note_replaced(struct ss_python_sampler *sampler, bool is_replaced)
{
    if (is_replaced) {
        sampler->confirms_until_ns = sampler->tick_ns + confirm_after_ns;
    }
}

static void check_cache(struct ss_python_sampler *sampler)
{
    ss_sampler_chore_begin(&sampler->cache);
    bool found = ss_python_check_cache(sampler->python);
    ss_sampler_note_replaced(sampler, found);
    uint64_t interval_ns = found ? cache_check_min_ns : sampler->cache_ns * 2;
    interval_ns = interval_ns > cache_check_min_ns ? interval_ns : cache_check_min_ns;
    sampler->cache_ns = interval_ns < cache_check_max_ns ? interval_ns : cache_check_max_ns;
    ss_sampler_chore_end(&sampler->cache, sampler->sink.clock, sampler->cache_ns);
}

enum ss_status ss_python_sampler_tick(struct ss_python_sampler *sampler, uint64_t now_ns,
                                      struct ss_error *err)
{
    sampler->tick_ns = now_ns;
    bool force = ss_sampler_chore_is_due(&sampler->thread_list, now_ns);
    if (force) {
        ss_sampler_chore_begin(&sampler->thread_list);
    }
    bool wants_gil = sampler->active.count >= GIL_FROM_THREADS;
    bool is_due = !wants_gil && now_ns - sampler->threads_ns >= new_threads_ns;
    bool needs_update = is_due && !ss_python_poll_heads(sampler->python);
    sampler->threads_ns = is_due ? now_ns : sampler->threads_ns;
    sampler->has_gil = false;
    if (force || wants_gil || needs_update) {
        SS_TRY(
            ss_python_update_threads(sampler->python, force, forget_python_thread, sampler, err));
        sampler->has_gil = ss_python_get_gil(sampler->python, &sampler->gil);
    }
    if (force) {
        ss_sampler_chore_end(&sampler->thread_list, sampler->sink.clock, force_list_ns);
    }
    if (ss_sampler_chore_is_due(&sampler->task_list, now_ns)) {
        ss_sampler_chore_begin(&sampler->task_list);
        sampler->threads_changed = false;
        list_tasks(sampler);
        ss_sampler_chore_end(&sampler->task_list, sampler->sink.clock, task_list_ns);
    }
    if (!ss_sampler_sample_threads(sampler)) {
        return ss_fail(err, SS_E_GONE, "process %d has ended or is ending", (int)sampler->pid);
    }
    if (sampler->names_wanted && ss_sampler_chore_is_due(&sampler->names, now_ns)) {
        ss_sampler_chore_begin(&sampler->names);
        unsigned doublings = ss_sampler_poll_names(sampler);
        ss_sampler_chore_end(&sampler->names, sampler->sink.clock, name_poll_ns << doublings);
    }
    if (ss_sampler_chore_is_due(&sampler->cache, now_ns)) {
        check_cache(sampler);
    }
    return SS_OK;
}

void ss_python_sampler_threads_changed(struct ss_python_sampler *sampler)
{
    /* Soon, but not once per thread when a hundred threads start together. */
    uint64_t soon_ns = sampler->tick_ns + task_list_min_ns;
    if (!sampler->threads_changed && sampler->task_list.next_ns > soon_ns &&
        sampler->task_list.next_ns < sampler->tick_ns + task_list_ns + task_list_min_ns) {
        sampler->task_list.next_ns = soon_ns;
        sampler->thread_list.next_ns = soon_ns;
    }
    sampler->threads_changed = true;
}

void ss_python_sampler_close(struct ss_python_sampler *sampler)
{
    if (sampler == NULL) {
        return;
    }
    for (size_t i = 0; i < sampler->entries.count; i++) {
        free_entry(sampler, sampler->entries.data[i]);
    }
    ss_vec_fini(&sampler->entries);
    ss_vec_fini(&sampler->named);
    ss_vec_fini(&sampler->active);
    ss_vec_fini(&sampler->bare);
    ss_vec_fini(&sampler->parked);
    ss_vec_fini(&sampler->moved);
    if (sampler->python != NULL) {
        ss_python_close(sampler->python);
    }
    if (sampler->reader != NULL) {
        ss_memory_close(sampler->reader);
    }
    ss_free(sampler);
}

bool ss_python_sampler_check_frames(struct ss_python_sampler *sampler, const uint32_t *frames,
                                    size_t count, bool *replaced)
{
    bool is_readable = ss_python_check_frames(sampler->python, frames, count, replaced);
    ss_sampler_note_replaced(sampler, *replaced);
    return is_readable;
}

uint32_t ss_python_sampler_unknown_frame(struct ss_python_sampler *sampler)
{
    return ss_python_frame_unknown(sampler->python);
}

void ss_python_sampler_count_partial(struct ss_python_sampler *sampler)
{
    sampler->counts.partial++;
    sampler->counts.ok -= sampler->counts.ok > 0;
}

const struct ss_python *ss_python_sampler_python(const struct ss_python_sampler *sampler)
{
    return sampler->python;
}

void ss_python_sampler_get_counts(const struct ss_python_sampler *sampler,
                                  struct ss_sampler_counts *counts)
{
    *counts = sampler->counts;
    counts->read_syscalls = sampler->reader->syscalls;
}

uint32_t ss_python_sampler_thread_count(const struct ss_python_sampler *sampler)
{
    return (uint32_t)sampler->entries.count;
}
