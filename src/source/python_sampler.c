/* SPDX-License-Identifier: Apache-2.0 */
#include "source/python_sampler.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/vec.h"
#include "platform/memory.h"
#include "platform/procfs.h"
#include "source/python_locate.h"

static const uint64_t force_list_ns = UINT64_C(500000000); /* walk all thread states at 2 Hz */
static const uint64_t new_threads_ns = UINT64_C(900000);   /* above 1 kHz not at every tick */
static const uint64_t task_list_ns = UINT64_C(500000000);  /* list /proc/PID/task */
static const uint64_t task_list_min_ns = UINT64_C(20000000);
static const uint64_t bare_look_ns = UINT64_C(100000000); /* threads without Python frames */
static const uint64_t name_look_ns = UINT64_C(200000000);
/* Memory of code objects is reused above all while modules are imported: until the cache is checked
 * again, what runs there is shown under the old name. */
static const uint64_t cache_check_least_ns = UINT64_C(20000000);
static const uint64_t cache_check_most_ns = UINT64_C(500000000);
/* How long "on a CPU" is believed: the kernel's counters move at scheduler ticks only. */
static const uint64_t state_fresh_ns = UINT64_C(2000000);
enum {
    PARK_AFTER_LOOKS = 5,
    MOST_NAME_LOOKS = 10,   /* not every thread has a name */
    REFINE_AFTER_LOOKS = 3, /* a longer sleep is worth asking for its kind */
    WATCH_FROM_PARKED = 4   /* fewer are looked at one by one */
};

struct entry {
    struct ss_sampler_thread public;
    struct ss_task_state state;
    pid_t inner_tid; /* in the target's own pid namespace */
    struct ss_python_thread *python;
    struct ss_vec_of(uint32_t) frames; /* of the last sample */
    bool has_sample;
    bool partial;
    enum ss_sampler_gil gil;
    enum ss_task_activity activity;
    uint32_t pending_weight; /* ticks without movement, not handed out yet */
    uint64_t pending_ns;     /* the last of them */
    uint32_t bare_ticks;     /* since the last look at a thread without Python frames */
    uint32_t still_looks;    /* looks in a row that found it asleep and unmoved */
    uint32_t name_looks;     /* without finding one */
    bool parked;             /* still for a while: watched by the sum of run times, see below */
    bool named;
    bool listed;       /* mark of the task scan */
    UT_hash_handle hh; /* by tid */
};

/* Work that is done now and then, and less often the longer it takes: at most a twentieth of the
 * time goes into one of them, however many threads there are. */
struct chore {
    uint64_t next_ns, started_ns;
};

static bool chore_is_due(const struct chore *chore, uint64_t now_ns)
{
    return now_ns >= chore->next_ns;
}

static void chore_begin(struct chore *chore)
{
    chore->started_ns = ss_clock_monotonic_ns();
}

static void chore_end(struct chore *chore, uint64_t interval_ns)
{
    uint64_t now_ns = ss_clock_monotonic_ns();
    uint64_t rest_ns = (now_ns - chore->started_ns) * 20;
    chore->next_ns = now_ns + (rest_ns > interval_ns ? rest_ns : interval_ns);
}

struct ss_python_sampler {
    pid_t pid;
    struct ss_sampler_sink sink;
    struct ss_memory_reader *reader;
    struct ss_python *python;
    struct ss_vec_of(struct entry *) entries;
    struct ss_vec_of(struct entry *) named; /* Python threads by pthread; while names are read */
    struct entry *by_tid;
    struct ss_sampler_counts counts;
    uint64_t tick_ns;
    uint64_t bare_ns, threads_ns;
    struct chore thread_list, task_list, names; /* what costs more with more threads */
    struct chore cache;
    uint64_t cache_ns; /* between two checks of it */
    uint32_t next_id;
    bool other_namespace, tids_known;
    bool threads_changed, names_wanted;
    /* Parked threads: one clock read tells that none of them has run. */
    size_t parked_count;
    uint64_t parked_run_ns; /* run time of the parked and the ended threads together… */
    bool parked_known;      /* …when this is set */
    bool parked_still;      /* none has run since the last tick */
};

enum ss_status ss_python_sampler_open(pid_t pid, const struct ss_sampler_sink *sink,
                                      struct ss_python_sampler **sampler, struct ss_error *err)
{
    struct ss_python_location location;
    SS_TRY(ss_python_locate(pid, &location, err));
    struct ss_python_sampler *opened = ss_alloc_zero(1, sizeof *opened);
    opened->pid = pid;
    opened->sink = *sink;
    opened->next_id = 1;
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

static void unpark(struct ss_python_sampler *sampler, struct entry *entry);

static void flush_entry(struct ss_python_sampler *sampler, struct entry *entry)
{
    if (entry->pending_weight == 0) {
        return;
    }
    struct ss_sampler_sample sample = {.thread = &entry->public,
                                       .time_ns = entry->pending_ns,
                                       .weight = entry->pending_weight,
                                       .activity = entry->activity,
                                       .gil = entry->gil,
                                       .partial = entry->partial,
                                       .same_stack = true};
    entry->pending_weight = 0;
    sampler->sink.sample(sampler->sink.context, &sample);
}

static struct entry *add_entry(struct ss_python_sampler *sampler, pid_t tid, pid_t inner_tid)
{
    struct entry *entry = ss_alloc_zero(1, sizeof *entry);
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
    ss_vec_push(&sampler->entries, entry);
    return entry;
}

static void free_entry(struct ss_python_sampler *sampler, struct entry *entry)
{
    flush_entry(sampler, entry);
    unpark(sampler, entry);
    if (entry->python != NULL) {
        entry->python->user = NULL;
    }
    if (entry->public.tid > 0) {
        HASH_DEL(sampler->by_tid, entry);
    }
    ss_task_state_close(&entry->state);
    ss_vec_fini(&entry->frames);
    ss_free(entry);
}

void ss_python_sampler_flush(struct ss_python_sampler *sampler)
{
    for (size_t i = 0; i < sampler->entries.count; i++) {
        flush_entry(sampler, sampler->entries.data[i]);
    }
}

static struct entry *find_by_inner_tid(struct ss_python_sampler *sampler, pid_t inner_tid)
{
    struct entry *found = NULL;
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

static void see_task(void *context, pid_t tid)
{
    struct ss_python_sampler *sampler = context;
    struct entry *entry = NULL;
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
    if (!ss_procfs_each_id(path, see_task, sampler)) {
        return;
    }
    size_t kept = 0;
    for (size_t i = 0; i < sampler->entries.count; i++) {
        struct entry *entry = sampler->entries.data[i];
        /* A thread state whose kernel thread is unknown stays as long as Python lists it. */
        bool stays = entry->listed || (entry->public.tid == 0 && entry->python != NULL);
        if (stays) {
            sampler->entries.data[kept++] = entry;
        } else {
            free_entry(sampler, entry);
        }
    }
    sampler->entries.count = kept;
}

/* --- Python threads -------------------------------------------------------------------------- */

static void forget_python_thread(void *context, struct ss_python_thread *thread)
{
    (void)context;
    struct entry *entry = thread->user;
    if (entry != NULL) {
        entry->python = NULL;
        thread->user = NULL;
    }
}

/* A thread state is made before its thread runs, with its creator's ids or none: it is not a thread
 * of its own yet. Where no kernel ids can be had at all, thread states stand for themselves. */
static bool is_unborn(const struct ss_python_sampler *sampler,
                      const struct ss_python_thread *thread, const struct entry *of_its_tid)
{
    if (thread->tid == 0) {
        return sampler->tids_known;
    }
    return of_its_tid != NULL && of_its_tid->python != NULL &&
           of_its_tid->python->interpreter_id == thread->interpreter_id;
}

static struct entry *add_python_entry(struct ss_python_sampler *sampler,
                                      const struct ss_python_thread *thread,
                                      struct entry *of_its_tid)
{
    if (of_its_tid != NULL && of_its_tid->python == NULL) {
        return of_its_tid;
    }
    /* Several interpreters on one kernel thread: each its own row, of the same state. */
    bool shares_tid = of_its_tid != NULL;
    pid_t tid = shares_tid || sampler->other_namespace ? 0 : thread->tid;
    struct entry *entry = add_entry(sampler, tid, thread->tid);
    if (shares_tid) {
        ss_task_state_open(&entry->state, sampler->pid, of_its_tid->public.tid);
    }
    return entry;
}

/* NULL: not to be sampled yet. */
static struct entry *entry_of(struct ss_python_sampler *sampler, struct ss_python_thread *thread)
{
    struct entry *entry = thread->user;
    if (entry != NULL) {
        return entry;
    }
    entry = thread->tid > 0 ? find_by_inner_tid(sampler, thread->tid) : NULL;
    if (entry == NULL && thread->tid > 0 && sampler->other_namespace) {
        list_tasks(sampler); /* a thread younger than the last list */
        entry = find_by_inner_tid(sampler, thread->tid);
    }
    if (is_unborn(sampler, thread, entry)) {
        return NULL;
    }
    entry = add_python_entry(sampler, thread, entry);
    entry->python = thread;
    entry->public.has_python = true;
    entry->public.is_main = thread->is_main;
    thread->user = entry;
    sampler->names_wanted = true;
    sampler->tids_known = sampler->tids_known || thread->tid > 0;
    sampler->sink.thread(sampler->sink.context, &entry->public);
    return entry;
}

static enum ss_sampler_gil gil_of(struct ss_python_sampler *sampler, struct entry *entry,
                                  bool holds_gil)
{
    if (holds_gil) {
        return SS_SAMPLER_GIL_HELD;
    }
    uint64_t address;
    size_t length;
    if (entry->activity == SS_TASK_SLEEPING &&
        ss_python_gil_range(sampler->python, entry->python, &address, &length) &&
        ss_task_state_waits_on(&entry->state, address, length)) {
        return SS_SAMPLER_GIL_WAITED;
    }
    return SS_SAMPLER_GIL_NONE;
}

static void hand_out(struct ss_python_sampler *sampler, struct entry *entry, const uint32_t *frames,
                     uint32_t depth, uint32_t weight)
{
    bool same = entry->has_sample && entry->frames.count == depth &&
                (depth == 0 || memcmp(entry->frames.data, frames, depth * sizeof *frames) == 0);
    if (!same) {
        ss_vec_resize(&entry->frames, depth);
        if (depth > 0) {
            memcpy(entry->frames.data, frames, depth * sizeof *frames);
        }
    }
    entry->has_sample = true;
    struct ss_sampler_sample sample = {.thread = &entry->public,
                                       .time_ns = sampler->tick_ns,
                                       .weight = weight,
                                       .activity = entry->activity,
                                       .gil = entry->gil,
                                       .partial = entry->partial,
                                       .same_stack = same,
                                       .frames = same ? NULL : frames,
                                       .depth = depth};
    sampler->sink.sample(sampler->sink.context, &sample);
}

/* --- parked threads --------------------------------------------------------------------------
 * A big training has a hundred threads that sleep all the time. Asking the kernel about each of
 * them at every tick would be most of the recorder's cost. But the run times of all threads of a
 * process add up to the process's CPU clock, to the ns: process − Σ active = parked + ended, and
 * when that sum has not grown, no parked thread has run. The active threads are read first and can
 * only grow, so that the difference is never too small: a thread that ran cannot be missed. */

static uint64_t active_run_ns(struct ss_python_sampler *sampler)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < sampler->entries.count; i++) {
        struct entry *entry = sampler->entries.data[i];
        if (!entry->parked && entry->public.tid > 0) {
            sum += ss_task_state_peek_run_ns(&entry->state, sampler->tick_ns);
        }
    }
    return sum;
}

/* Decides whether this tick may pass over the parked threads; if not, measures the sum anew, ahead
 * of the looks at each of them: what runs after the measurement is found by the look. */
static void watch_parked(struct ss_python_sampler *sampler)
{
    sampler->parked_still = false;
    size_t active = sampler->entries.count - sampler->parked_count;
    if (sampler->parked_count < WATCH_FROM_PARKED || active > sampler->parked_count) {
        sampler->parked_known = false;
        return;
    }
    uint64_t active_ns = active_run_ns(sampler);
    uint64_t process_ns = ss_task_process_run_ns(sampler->pid);
    if (process_ns == 0) {
        return;
    }
    if (sampler->parked_known && process_ns - active_ns == sampler->parked_run_ns) {
        sampler->parked_still = true;
        return;
    }
    sampler->parked_known = active_run_ns(sampler) == active_ns;
    sampler->parked_run_ns = process_ns - active_ns;
}

static void park(struct ss_python_sampler *sampler, struct entry *entry)
{
    /* Only threads that the sum covers, each once. */
    if (!entry->parked && entry->public.tid > 0) {
        entry->parked = true;
        sampler->parked_count++;
        sampler->parked_run_ns += entry->state.run_ns;
    }
}

static void unpark(struct ss_python_sampler *sampler, struct entry *entry)
{
    if (entry->parked) {
        entry->parked = false;
        sampler->parked_count--;
        sampler->parked_known = false;
    }
}

/* Returns false when the thread has not moved: its weight has grown. */
static bool look_at_state(struct ss_python_sampler *sampler, struct entry *entry, uint32_t weight)
{
    if (entry->state.tid == 0) {
        entry->activity = SS_TASK_UNKNOWN;
        return true;
    }
    bool still = entry->parked && sampler->parked_still;
    if (!still) {
        bool fresh = entry->state.activity == SS_TASK_ON_CPU &&
                     sampler->tick_ns - entry->state.checked_ns < state_fresh_ns;
        still = !fresh && !ss_task_state_update(&entry->state, sampler->tick_ns);
    }
    if (!still || !entry->has_sample) {
        entry->still_looks = 0;
        unpark(sampler, entry);
        return true;
    }
    entry->pending_weight += weight;
    entry->pending_ns = sampler->tick_ns;
    entry->still_looks++;
    if (entry->still_looks == REFINE_AFTER_LOOKS) {
        ss_task_state_refine_sleep(&entry->state);
        entry->activity = entry->state.activity;
    } else if (entry->still_looks == PARK_AFTER_LOOKS) {
        park(sampler, entry);
    }
    return false;
}

static void sample_python_thread(struct ss_python_sampler *sampler, struct entry *entry)
{
    sampler->counts.seen++;
    if (!look_at_state(sampler, entry, 1)) {
        sampler->counts.unchanged++;
        return;
    }
    flush_entry(sampler, entry); /* with the state it had */
    if (entry->state.gone) {
        /* The thread has ended; its thread state goes, or is freed memory already. */
        ss_python_sampler_threads_changed(sampler);
        sampler->counts.seen--; /* there was no thread to see */
        return;
    }
    entry->activity = entry->state.activity;
    struct ss_python_stack stack;
    enum ss_python_result result = ss_python_walk_thread(sampler->python, entry->python, &stack);
    sampler->counts.retries += stack.retries;
    if (result == SS_PYTHON_LOST) {
        sampler->counts.lost++;
        entry->has_sample = false;
        return;
    }
    entry->partial = result == SS_PYTHON_PARTIAL;
    sampler->counts.partial += entry->partial;
    sampler->counts.ok += !entry->partial;
    entry->gil = gil_of(sampler, entry, stack.holds_gil);
    hand_out(sampler, entry, stack.frames, result == SS_PYTHON_EMPTY ? 0 : stack.depth, 1);
}

/* --- threads without Python frames ----------------------------------------------------------- */

static void sample_bare_thread(struct ss_python_sampler *sampler, struct entry *entry)
{
    uint32_t weight = entry->bare_ticks;
    entry->bare_ticks = 0;
    if (weight == 0) {
        return;
    }
    sampler->counts.seen += weight;
    if (!look_at_state(sampler, entry, weight)) {
        sampler->counts.unchanged += weight;
        return;
    }
    flush_entry(sampler, entry);
    if (entry->state.gone) {
        ss_python_sampler_threads_changed(sampler);
        sampler->counts.seen -= weight; /* there was no thread to see */
        return;
    }
    sampler->counts.ok += weight;
    entry->activity = entry->state.activity;
    entry->gil = SS_SAMPLER_GIL_NONE;
    entry->partial = false;
    hand_out(sampler, entry, NULL, 0, weight);
}

/* --- names ----------------------------------------------------------------------------------- */

static int by_pthread(const void *a, const void *b)
{
    const struct entry *left = *(struct entry *const *)a, *right = *(struct entry *const *)b;
    uint64_t l = left->python->pthread, r = right->python->pthread;
    return (l > r) - (l < r);
}

static int compare_pthread(const void *key, const void *element)
{
    uint64_t l = *(const uint64_t *)key, r = (*(struct entry *const *)element)->python->pthread;
    return (l > r) - (l < r);
}

static void take_name(void *context, uint64_t pthread, struct ss_strview text)
{
    struct ss_python_sampler *sampler = context;
    struct entry **first = bsearch(&pthread, sampler->named.data, sampler->named.count,
                                   sizeof *sampler->named.data, compare_pthread);
    if (first == NULL) {
        return;
    }
    while (first > sampler->named.data && first[-1]->python->pthread == pthread) {
        first--;
    }
    struct entry **end = sampler->named.data + sampler->named.count;
    for (struct entry **at = first; at < end && (*at)->python->pthread == pthread; at++) {
        struct entry *entry = *at;
        entry->named = true;
        char name[sizeof entry->public.name];
        snprintf(name, sizeof name, "%.*s", (int)text.length, text.data);
        if (strcmp(name, entry->public.name) != 0) {
            memcpy(entry->public.name, name, sizeof name);
            sampler->sink.thread(sampler->sink.context, &entry->public);
        }
    }
}

static void look_at_names(struct ss_python_sampler *sampler)
{
    sampler->names_wanted = false;
    ss_vec_clear(&sampler->named);
    for (size_t i = 0; i < sampler->entries.count; i++) {
        if (sampler->entries.data[i]->python != NULL) {
            ss_vec_push(&sampler->named, sampler->entries.data[i]);
        }
    }
    if (sampler->named.count > 0) {
        qsort(sampler->named.data, sampler->named.count, sizeof *sampler->named.data, by_pthread);
        ss_python_thread_names(sampler->python, take_name, sampler);
    }
    /* A thread runs before it is known by its name, and the table of names may have been changing.
     */
    for (size_t i = 0; i < sampler->named.count; i++) {
        struct entry *entry = sampler->named.data[i];
        sampler->names_wanted |= !entry->named && ++entry->name_looks < MOST_NAME_LOOKS;
    }
}

/* --- the tick -------------------------------------------------------------------------------- */

static void sample_threads(struct ss_python_sampler *sampler)
{
    watch_parked(sampler);
    size_t count = ss_python_thread_count(sampler->python);
    for (size_t i = 0; i < count; i++) {
        struct entry *entry = entry_of(sampler, ss_python_thread_at(sampler->python, i));
        if (entry != NULL) {
            sample_python_thread(sampler, entry);
        }
    }
    bool bare_due = sampler->tick_ns - sampler->bare_ns >= bare_look_ns;
    for (size_t i = 0; i < sampler->entries.count; i++) {
        struct entry *entry = sampler->entries.data[i];
        if (entry->python == NULL && entry->state.tid > 0) {
            entry->bare_ticks++;
            if (bare_due) {
                sample_bare_thread(sampler, entry);
            }
        }
    }
    if (bare_due) {
        sampler->bare_ns = sampler->tick_ns;
    }
}

static void check_cache(struct ss_python_sampler *sampler)
{
    chore_begin(&sampler->cache);
    bool found = ss_python_check_cache(sampler->python);
    uint64_t interval_ns = found ? cache_check_least_ns : sampler->cache_ns * 2;
    interval_ns = interval_ns > cache_check_least_ns ? interval_ns : cache_check_least_ns;
    sampler->cache_ns = interval_ns < cache_check_most_ns ? interval_ns : cache_check_most_ns;
    chore_end(&sampler->cache, sampler->cache_ns);
}

enum ss_status ss_python_sampler_tick(struct ss_python_sampler *sampler, uint64_t now_ns,
                                      struct ss_error *err)
{
    sampler->tick_ns = now_ns;
    bool force = chore_is_due(&sampler->thread_list, now_ns);
    if (force) {
        chore_begin(&sampler->thread_list);
    }
    if (force || now_ns - sampler->threads_ns >= new_threads_ns) {
        sampler->threads_ns = now_ns;
        SS_TRY(
            ss_python_update_threads(sampler->python, force, forget_python_thread, sampler, err));
    }
    if (force) {
        chore_end(&sampler->thread_list, force_list_ns);
    }
    if (chore_is_due(&sampler->task_list, now_ns)) {
        chore_begin(&sampler->task_list);
        sampler->threads_changed = false;
        list_tasks(sampler);
        chore_end(&sampler->task_list, task_list_ns);
    }
    sample_threads(sampler);
    if (sampler->names_wanted && chore_is_due(&sampler->names, now_ns)) {
        chore_begin(&sampler->names);
        look_at_names(sampler);
        chore_end(&sampler->names, name_look_ns);
    }
    if (chore_is_due(&sampler->cache, now_ns)) {
        check_cache(sampler);
    }
    return SS_OK;
}

void ss_python_sampler_threads_changed(struct ss_python_sampler *sampler)
{
    /* Soon, but not at once for each of a hundred threads that start together. */
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
    if (sampler->python != NULL) {
        ss_python_close(sampler->python);
    }
    if (sampler->reader != NULL) {
        ss_memory_close(sampler->reader);
    }
    ss_free(sampler);
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
