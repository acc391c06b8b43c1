/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Determines the state of each thread with few system calls. By increasing cost:
 *
 *   parked    asleep for a while: one read of a clock shows that it has not run;
 *   waiting   for the GIL, while its holders since the last poll are known: the wait ends only when
 *             the thread gets the GIL;
 *   waiting   for the GIL, like all others, by the waiter count of the GIL;
 *   others    are polled one by one, and the stacks of all threads that moved are read in batches.
 */
#include <string.h>

#include "source/python_sampler_inside.h"

static const uint64_t bare_poll_ns = UINT64_C(100000000); /* threads without Python frames */
/* Validity of "on a CPU": the kernel updates its counters at scheduler ticks only. */
static const uint64_t state_fresh_ns = UINT64_C(2000000);
enum {
    PARK_AFTER_POLLS = 5,
    REFINE_AFTER_POLLS = 3, /* a longer sleep justifies reading its kind */
    WATCH_FROM_PARKED = 4,  /* fewer parked threads are polled one by one */
    BATCH = 16,             /* threads per read of stacks */
    MOST_READ_AGAIN = 4,    /* stacks with names that are too new */
    MAX_INFERRED = 64,      /* consecutive inferred waits before a poll */
    MIN_TRUST = 3,          /* see verify_waiter_count */
    MAX_TRUST = 8,
    VERIFY_TICKS = 32
};

/* --- samples --------------------------------------------------------------------------------- */

/* Adds the shared still ticks of parked threads to the weight of one entry. */
static void add_still_ticks(struct ss_python_sampler *sampler, struct ss_sampler_entry *entry)
{
    if (entry->parked && sampler->still_ticks > entry->still_from) {
        entry->pending_weight += (uint32_t)(sampler->still_ticks - entry->still_from);
        entry->pending_ns = sampler->still_ns;
    }
    entry->still_from = sampler->still_ticks;
}

void ss_sampler_flush_entry(struct ss_python_sampler *sampler, struct ss_sampler_entry *entry)
{
    add_still_ticks(sampler, entry);
    if (entry->pending_weight == 0) {
        return;
    }
    struct ss_sampler_sample sample = {.thread = &entry->public,
                                       .time_ns = entry->pending_ns,
                                       .weight = entry->pending_weight,
                                       .activity = entry->activity,
                                       .wait = entry->wait,
                                       .gil = entry->gil,
                                       .partial = entry->partial,
                                       .same_stack = true,
                                       .counted_before = true,
                                       .is_confirmed = entry->is_confirmed};
    entry->pending_weight = 0;
    sampler->sink.sample(sampler->sink.context, &sample);
}

void ss_python_sampler_flush(struct ss_python_sampler *sampler)
{
    for (size_t i = 0; i < sampler->entries.count; i++) {
        ss_sampler_flush_entry(sampler, sampler->entries.data[i]);
    }
}

static void emit_sample(struct ss_python_sampler *sampler, struct ss_sampler_entry *entry,
                        const uint32_t *frames, uint32_t depth, uint32_t weight)
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
                                       .wait = entry->wait,
                                       .gil = entry->gil,
                                       .partial = entry->partial,
                                       .same_stack = same,
                                       .is_confirmed = entry->is_confirmed,
                                       .frames = same ? NULL : frames,
                                       .depth = depth};
    sampler->sink.sample(sampler->sink.context, &sample);
}

/* The thread has not moved since the last tick. */
static void grow_weight(struct ss_python_sampler *sampler, struct ss_sampler_entry *entry,
                        uint32_t weight)
{
    add_still_ticks(sampler, entry);
    entry->pending_weight += weight;
    entry->pending_ns = sampler->tick_ns;
    sampler->counts.unchanged += weight;
}

/* --- parked threads --------------------------------------------------------------------------
 * A large training program has a hundred threads that always sleep. Polling each of them at every
 * tick would be most of the cost of the recorder. But the run times of all threads of a process add
 * up to its CPU clock, to the ns: process − Σ active = parked + ended. While this difference is
 * constant, no parked thread has run. The active threads are read first and only grow, so that the
 * difference is never too small: a thread that ran is never missed. */

static uint64_t run_ns_of(struct ss_python_sampler *sampler, const ss_sampler_entries *entries)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < entries->count; i++) {
        struct ss_sampler_entry *entry = entries->data[i];
        if (entry->public.tid > 0) {
            sum += ss_task_state_peek_run_ns(&entry->state, sampler->tick_ns);
        }
    }
    return sum;
}

static uint64_t active_run_ns(struct ss_python_sampler *sampler)
{
    return run_ns_of(sampler, &sampler->active) + run_ns_of(sampler, &sampler->bare);
}

/* Decides whether this tick may skip the parked threads; if not, measures the sum again before the
 * polls of the single threads: a thread that runs after the measurement is found by its poll. */
static void watch_parked(struct ss_python_sampler *sampler)
{
    sampler->parked_still = false;
    size_t active = sampler->active.count + sampler->bare.count;
    if (sampler->parked.count < WATCH_FROM_PARKED || active > sampler->parked.count) {
        sampler->parked_known = false;
        return;
    }
    uint64_t active_ns = active_run_ns(sampler);
    uint64_t process_ns = ss_task_process_run_ns(sampler->run_clock);
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

static void park(struct ss_python_sampler *sampler, struct ss_sampler_entry *entry)
{
    /* Only threads that the sum includes, each once. */
    if (!entry->parked && entry->public.tid > 0) {
        entry->parked = true;
        entry->still_from = sampler->still_ticks;
        sampler->parked_run_ns += entry->state.run_ns;
        sampler->lists_stale = true;
    }
}

void ss_sampler_unpark(struct ss_python_sampler *sampler, struct ss_sampler_entry *entry)
{
    if (entry->parked) {
        add_still_ticks(sampler, entry);
        entry->parked = false;
        sampler->parked_known = false;
        sampler->lists_stale = true;
    }
}

/* --- one poll -------------------------------------------------------------------------------- */

/* False: the thread has not moved, and its weight has grown. */
static bool poll_state(struct ss_python_sampler *sampler, struct ss_sampler_entry *entry,
                       uint32_t weight)
{
    if (entry->state.tid == 0) {
        entry->activity = SS_TASK_UNKNOWN;
        return true;
    }
    bool fresh = entry->state.activity == SS_TASK_ON_CPU &&
                 sampler->tick_ns - entry->state.checked_ns < state_fresh_ns;
    bool still = !fresh && !ss_task_state_update(&entry->state, sampler->tick_ns);
    if (!still || !entry->has_sample) {
        entry->still_polls = 0;
        ss_sampler_unpark(sampler, entry);
        return true;
    }
    grow_weight(sampler, entry, weight);
    entry->still_polls++;
    if (entry->still_polls == REFINE_AFTER_POLLS) {
        ss_task_state_refine_sleep(&entry->state);
        entry->activity = entry->state.activity;
    } else if (entry->still_polls == PARK_AFTER_POLLS) {
        park(sampler, entry);
    }
    return false;
}

static bool waits_for_gil_of(const struct ss_python_sampler *sampler,
                             const struct ss_sampler_entry *entry,
                             const struct ss_python_thread *thread)
{
    uint64_t address;
    size_t length;
    return ss_python_gil_range(sampler->python, thread, &address, &length) &&
           ss_task_state_waits_on(&entry->state, address, length);
}

static bool waits_for_gil(const struct ss_python_sampler *sampler,
                          const struct ss_sampler_entry *entry)
{
    bool waits = entry->activity == SS_TASK_SLEEPING;
    if (!waits || waits_for_gil_of(sampler, entry, entry->python)) {
        return waits;
    }
    for (size_t i = 0; i < entry->inner.count; i++) {
        if (waits_for_gil_of(sampler, entry, entry->inner.data[i])) {
            return true;
        }
    }
    return false;
}

/* --- stacks ---------------------------------------------------------------------------------- */

static void take_stack(struct ss_python_sampler *sampler, struct ss_sampler_entry *entry,
                       enum ss_python_result result, const uint32_t *frames, uint32_t depth,
                       bool holds_gil)
{
    sampler->counts.seen++;
    if (result == SS_PYTHON_LOST) {
        sampler->counts.lost++;
        entry->has_sample = false;
        return;
    }
    entry->partial = result == SS_PYTHON_PARTIAL;
    sampler->counts.partial += entry->partial;
    sampler->counts.ok += !entry->partial;
    entry->gil = holds_gil                       ? SS_SAMPLER_GIL_HELD
                 : waits_for_gil(sampler, entry) ? SS_SAMPLER_GIL_WAITED
                                                 : SS_SAMPLER_GIL_NONE;
    entry->wait = entry->gil == SS_SAMPLER_GIL_WAITED ? SS_TASK_WAIT_UNKNOWN
                                                      : ss_task_state_wait(&entry->state);
    emit_sample(sampler, entry, frames, result == SS_PYTHON_EMPTY ? 0 : depth, 1);
}

/* The states of a thread arrive in their order, the outermost first. The worst result counts, but
 * that a state without frames is nothing bad. */
static void join_stack(struct ss_python_sampler *sampler, struct ss_sampler_entry *entry,
                       const struct ss_python_thread *thread, enum ss_python_result result,
                       const struct ss_python_stack *stack)
{
    if (thread == entry->python) {
        ss_vec_clear(&entry->joined);
        entry->joined_states = 0;
        entry->joined_result = SS_PYTHON_EMPTY;
        entry->joined_holds_gil = false;
    }
    size_t before = entry->joined.count, depth = result == SS_PYTHON_EMPTY ? 0 : stack->depth;
    ss_vec_resize(&entry->joined, before + depth);
    if (depth > 0) {
        memcpy(entry->joined.data + before, stack->frames, depth * sizeof *stack->frames);
    }
    entry->joined_holds_gil |= stack->holds_gil;
    bool is_worse = entry->joined_result == SS_PYTHON_EMPTY || result == SS_PYTHON_LOST ||
                    (result == SS_PYTHON_PARTIAL && entry->joined_result != SS_PYTHON_LOST);
    entry->joined_result = is_worse ? result : entry->joined_result;
    if (++entry->joined_states == 1 + entry->inner.count) {
        take_stack(sampler, entry, entry->joined_result, entry->joined.data,
                   (uint32_t)entry->joined.count, entry->joined_holds_gil);
    }
}

/* Reads the stack again until all of its names are from before it was read and, where code objects
 * are replaced at present, still hold after it. `*is_confirmed`: they do. */
static enum ss_python_result settle(struct ss_python_sampler *sampler,
                                    struct ss_python_thread *thread, enum ss_python_result result,
                                    struct ss_python_stack *stack, bool *is_confirmed)
{
    bool confirms = sampler->tick_ns < sampler->confirms_until_ns;
    for (int again = 0; again < MOST_READ_AGAIN; again++) {
        bool replaced = false, is_new = sampler->loads != ss_python_loads(sampler->python);
        if (confirms && !is_new && result != SS_PYTHON_LOST) {
            *is_confirmed =
                ss_python_check_frames(sampler->python, stack->frames, stack->depth, &replaced) &&
                !replaced;
            ss_sampler_note_replaced(sampler, replaced);
        }
        if (!is_new && !replaced) {
            break;
        }
        sampler->loads = ss_python_loads(sampler->python);
        result = ss_python_walk_thread(sampler->python, thread, stack);
    }
    return result;
}

static void on_stack(void *context, struct ss_python_thread *thread, enum ss_python_result result,
                     const struct ss_python_stack *stack)
{
    struct ss_python_sampler *sampler = context;
    struct ss_sampler_entry *entry = thread->user;
    struct ss_python_stack settled = *stack;
    bool is_confirmed = false;
    result = settle(sampler, thread, result, &settled, &is_confirmed);
    sampler->counts.retries += settled.retries;
    if (entry->inner.count > 0) {
        entry->is_confirmed = false;
        join_stack(sampler, entry, thread, result, &settled);
    } else {
        entry->is_confirmed = is_confirmed;
        take_stack(sampler, entry, result, settled.frames, settled.depth, settled.holds_gil);
    }
}

/* Reads the stacks of threads that moved. False: the process has ended. */
static bool read_stacks(struct ss_python_sampler *sampler)
{
    struct ss_python_stack_visitor visitor = {sampler, on_stack};
    sampler->loads = ss_python_loads(sampler->python);
    bool is_alive =
        sampler->moved.count == 0 || ss_python_walk_threads(sampler->python, sampler->moved.data,
                                                            sampler->moved.count, &visitor);
    ss_vec_clear(&sampler->moved);
    return is_alive;
}

static bool add_moved(struct ss_python_sampler *sampler, struct ss_sampler_entry *entry)
{
    ss_vec_push(&sampler->moved, entry->python);
    for (size_t i = 0; i < entry->inner.count; i++) {
        ss_vec_push(&sampler->moved, entry->inner.data[i]);
    }
    return sampler->moved.count < BATCH || read_stacks(sampler);
}

/* --- Python threads -------------------------------------------------------------------------- */

/* False: the process has ended. */
static bool sample_python_thread(struct ss_python_sampler *sampler, struct ss_sampler_entry *entry)
{
    if (!poll_state(sampler, entry, 1)) {
        sampler->counts.seen++;
        return true;
    }
    ss_sampler_flush_entry(sampler, entry); /* with its previous state */
    if (entry->state.gone) {
        /* The thread has ended; its thread state will be freed or already is. */
        ss_python_sampler_threads_changed(sampler);
        return true; /* not counted as seen */
    }
    entry->inferred = 0;
    entry->activity = entry->state.activity;
    return add_moved(sampler, entry);
}

/* A thread waits for the GIL until it becomes the holder, and all holders since the last poll are
 * known if the holder changed at most once. */
static bool still_waits(const struct ss_python_sampler *sampler,
                        const struct ss_sampler_entry *entry)
{
    uint64_t self = entry->python->tstate_address;
    uint64_t changes = sampler->gil.switches - entry->gil_switches;
    return sampler->has_gil && entry->has_sample && entry->gil == SS_SAMPLER_GIL_WAITED &&
           entry->inner.count == 0 && entry->gil_holder != 0 && entry->inferred < MAX_INFERRED &&
           changes <= 1 && self != entry->gil_holder && self != sampler->gil.holder;
}

/* The waiter count is part of a structure of the C library, whose layout may differ: it is trusted
 * after it has agreed with the kernel several times. */
static bool is_waiter_count_trusted(const struct ss_python_sampler *sampler)
{
    return sampler->has_gil && sampler->gil.is_held && sampler->waiters_trust >= MIN_TRUST &&
           sampler->ticks % VERIFY_TICKS != 0;
}

/* True when all active threads but the GIL holder wait for the GIL. */
static bool do_all_wait(const struct ss_python_sampler *sampler)
{
    if (!is_waiter_count_trusted(sampler) || sampler->gil.waiters + 1 != sampler->active.count) {
        return false;
    }
    for (size_t i = 0; i < sampler->active.count; i++) {
        if (sampler->active.data[i]->python->tstate_address == sampler->gil.holder) {
            return true;
        }
    }
    return false;
}

/* Compares the waiter count with the polled states. */
static void verify_waiter_count(struct ss_python_sampler *sampler)
{
    uint32_t waiting = 0;
    for (size_t i = 0; i < sampler->active.count; i++) {
        waiting += waits_for_gil(sampler, sampler->active.data[i]);
    }
    if (waiting != sampler->gil.waiters) {
        sampler->waiters_trust /= 2;
    } else if (waiting >= 2 && sampler->waiters_trust < MAX_TRUST) {
        sampler->waiters_trust++;
    }
}

/* False: the process has ended. */
static bool sample_as_waiting(struct ss_python_sampler *sampler, struct ss_sampler_entry *entry)
{
    uint64_t address;
    size_t length;
    if (!ss_python_gil_range(sampler->python, entry->python, &address, &length)) {
        return sample_python_thread(sampler, entry);
    }
    ss_sampler_flush_entry(sampler, entry);
    ss_task_state_assume_wait(&entry->state, address, sampler->tick_ns);
    entry->activity = entry->state.activity;
    entry->still_polls = 0;
    return add_moved(sampler, entry);
}

static bool sample_active(struct ss_python_sampler *sampler, bool others_wait)
{
    bool is_alive = true;
    for (size_t i = 0; i < sampler->active.count && is_alive; i++) {
        struct ss_sampler_entry *entry = sampler->active.data[i];
        if (still_waits(sampler, entry)) {
            entry->inferred++;
            sampler->counts.seen++;
            grow_weight(sampler, entry, 1);
        } else if (others_wait && entry->state.tid != 0 && entry->inner.count == 0 &&
                   entry->python->tstate_address != sampler->gil.holder) {
            is_alive = sample_as_waiting(sampler, entry);
        } else {
            is_alive = sample_python_thread(sampler, entry);
        }
        entry->gil_holder = sampler->has_gil ? sampler->gil.holder : 0;
        entry->gil_switches = sampler->gil.switches;
    }
    return is_alive;
}

/* --- threads without Python frames ----------------------------------------------------------- */

static void sample_bare_thread(struct ss_python_sampler *sampler, struct ss_sampler_entry *entry)
{
    uint64_t since = sampler->ticks - entry->poll_tick;
    uint64_t counted = entry->parked ? sampler->still_ticks - entry->poll_still : 0;
    uint32_t weight = (uint32_t)(since - counted);
    entry->poll_tick = sampler->ticks;
    entry->poll_still = sampler->still_ticks;
    if (weight == 0) {
        return;
    }
    if (!poll_state(sampler, entry, weight)) {
        sampler->counts.seen += weight;
        return;
    }
    ss_sampler_flush_entry(sampler, entry);
    if (entry->state.gone) {
        ss_python_sampler_threads_changed(sampler);
        return; /* not counted as seen */
    }
    sampler->counts.seen += weight;
    sampler->counts.ok += weight;
    entry->activity = entry->state.activity;
    entry->gil = SS_SAMPLER_GIL_NONE;
    entry->wait = SS_TASK_WAIT_UNKNOWN; /* not worth a system call */
    entry->partial = false;
    emit_sample(sampler, entry, NULL, 0, weight);
}

/* --- the tick -------------------------------------------------------------------------------- */

static void sort_entries(struct ss_python_sampler *sampler)
{
    sampler->thread_round = ss_python_thread_round(sampler->python);
    sampler->has_unborn = false;
    size_t count = ss_python_thread_count(sampler->python);
    for (size_t i = 0; i < count; i++) {
        struct ss_python_thread *thread = ss_python_thread_at(sampler->python, i);
        sampler->has_unborn |= ss_sampler_entry_of(sampler, thread) == NULL;
    }
    ss_vec_clear(&sampler->active);
    ss_vec_clear(&sampler->bare);
    ss_vec_clear(&sampler->parked);
    for (size_t i = 0; i < sampler->entries.count; i++) {
        struct ss_sampler_entry *entry = sampler->entries.data[i];
        if (entry->parked) {
            ss_vec_push(&sampler->parked, entry);
        } else if (entry->python != NULL) {
            ss_vec_push(&sampler->active, entry);
        } else if (entry->state.tid > 0) {
            ss_vec_push(&sampler->bare, entry);
        }
    }
    sampler->lists_stale = false;
}

/* Counts parked threads together if none has run, else polls each. `*moved`: a thread with Python
 * frames has run. False: the process has ended. */
static bool sample_parked(struct ss_python_sampler *sampler, bool bare_due, bool *moved)
{
    bool is_alive = true;
    *moved = false;
    if (sampler->parked_still) {
        sampler->still_ticks++;
        sampler->still_ns = sampler->tick_ns;
        sampler->counts.seen += sampler->parked.count;
        sampler->counts.unchanged += sampler->parked.count;
        return true;
    }
    for (size_t i = 0; i < sampler->parked.count && is_alive; i++) {
        struct ss_sampler_entry *entry = sampler->parked.data[i];
        if (entry->python != NULL) {
            is_alive = sample_python_thread(sampler, entry);
            *moved |= !entry->parked;
        } else if (bare_due) {
            sample_bare_thread(sampler, entry);
        }
    }
    return is_alive;
}

bool ss_sampler_sample_threads(struct ss_python_sampler *sampler)
{
    sampler->ticks++;
    if (sampler->lists_stale || sampler->has_unborn ||
        sampler->thread_round != ss_python_thread_round(sampler->python)) {
        sort_entries(sampler);
    }
    watch_parked(sampler);
    ss_vec_clear(&sampler->moved);
    bool bare_due = sampler->tick_ns - sampler->bare_ns >= bare_poll_ns;
    bool parked_moved;
    if (!sample_parked(sampler, bare_due, &parked_moved)) {
        return false;
    }
    bool others_wait = !parked_moved && do_all_wait(sampler);
    if (!sample_active(sampler, others_wait) || !read_stacks(sampler)) {
        return false;
    }
    if (sampler->has_gil && sampler->gil.is_held && !others_wait) {
        verify_waiter_count(sampler);
    }
    for (size_t i = 0; i < sampler->bare.count && bare_due; i++) {
        sample_bare_thread(sampler, sampler->bare.data[i]);
    }
    if (bare_due) {
        sampler->bare_ns = sampler->tick_ns;
    }
    return true;
}
