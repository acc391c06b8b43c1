/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each thread does, found out with as few system calls as will do. In the order of their cost:
 *
 *   parked    asleep for a while: one clock read tells that none of them has run;
 *   waiting   for the GIL, and who had it since is known: nobody gets out of that wait without it;
 *   waiting   for the GIL, as all others do, by the number of its waiters;
 *   the rest  are asked one by one, and the stacks of all that moved are read together.
 */
#include <string.h>

#include "source/sampler_inside.h"

static const uint64_t bare_look_ns = UINT64_C(100000000); /* threads without Python frames */
/* How long "on a CPU" is believed: the kernel's counters move at scheduler ticks only. */
static const uint64_t state_fresh_ns = UINT64_C(2000000);
enum {
    PARK_AFTER_LOOKS = 5,
    REFINE_AFTER_LOOKS = 3, /* a longer sleep is worth asking for its kind */
    WATCH_FROM_PARKED = 4,  /* fewer are looked at one by one */
    BATCH = 16,             /* stacks are read when so many states are known */
    INFER_MOST = 64,        /* then a look makes sure */
    TRUST_FROM = 3,         /* see count_waiters */
    TRUST_MOST = 8,
    VERIFY_TICKS = 32
};

/* --- handing out ----------------------------------------------------------------------------- */

/* Brings a parked entry's own count up to the still ticks, which are counted for all together. */
static void settle(struct ss_python_sampler *sampler, struct ss_sampler_entry *entry)
{
    if (entry->parked && sampler->still_ticks > entry->still_from) {
        entry->pending_weight += (uint32_t)(sampler->still_ticks - entry->still_from);
        entry->pending_ns = sampler->still_ns;
    }
    entry->still_from = sampler->still_ticks;
}

void ss_sampler_flush_entry(struct ss_python_sampler *sampler, struct ss_sampler_entry *entry)
{
    settle(sampler, entry);
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
                                       .counted_before = true};
    entry->pending_weight = 0;
    sampler->sink.sample(sampler->sink.context, &sample);
}

void ss_python_sampler_flush(struct ss_python_sampler *sampler)
{
    for (size_t i = 0; i < sampler->entries.count; i++) {
        ss_sampler_flush_entry(sampler, sampler->entries.data[i]);
    }
}

static void hand_out(struct ss_python_sampler *sampler, struct ss_sampler_entry *entry,
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
                                       .frames = same ? NULL : frames,
                                       .depth = depth};
    sampler->sink.sample(sampler->sink.context, &sample);
}

/* It stands where it stood at the last tick. */
static void grow(struct ss_python_sampler *sampler, struct ss_sampler_entry *entry, uint32_t weight)
{
    settle(sampler, entry);
    entry->pending_weight += weight;
    entry->pending_ns = sampler->tick_ns;
    sampler->counts.unchanged += weight;
}

/* --- parked threads --------------------------------------------------------------------------
 * A big training has a hundred threads that sleep all the time. Asking the kernel about each of
 * them at every tick would be most of the recorder's cost. But the run times of all threads of a
 * process add up to the process's CPU clock, to the ns: process − Σ active = parked + ended, and
 * when that sum has not grown, no parked thread has run. The active threads are read first and can
 * only grow, so that the difference is never too small: a thread that ran cannot be missed. */

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

/* Decides whether this tick may pass over the parked threads; if not, measures the sum anew, ahead
 * of the looks at each of them: what runs after the measurement is found by the look. */
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
    /* Only threads that the sum covers, each once. */
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
        settle(sampler, entry);
        entry->parked = false;
        sampler->parked_known = false;
        sampler->lists_stale = true;
    }
}

/* --- one look -------------------------------------------------------------------------------- */

/* Returns false when the thread has not moved: its weight has grown. */
static bool look_at_state(struct ss_python_sampler *sampler, struct ss_sampler_entry *entry,
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
        entry->still_looks = 0;
        ss_sampler_unpark(sampler, entry);
        return true;
    }
    grow(sampler, entry, weight);
    entry->still_looks++;
    if (entry->still_looks == REFINE_AFTER_LOOKS) {
        ss_task_state_refine_sleep(&entry->state);
        entry->activity = entry->state.activity;
    } else if (entry->still_looks == PARK_AFTER_LOOKS) {
        park(sampler, entry);
    }
    return false;
}

static bool waits_for_gil(const struct ss_python_sampler *sampler,
                          const struct ss_sampler_entry *entry)
{
    uint64_t address;
    size_t length;
    return entry->activity == SS_TASK_SLEEPING &&
           ss_python_gil_range(sampler->python, entry->python, &address, &length) &&
           ss_task_state_waits_on(&entry->state, address, length);
}

/* --- stacks ---------------------------------------------------------------------------------- */

static void take_stack(void *context, struct ss_python_thread *thread, enum ss_python_result result,
                       const struct ss_python_stack *stack)
{
    struct ss_python_sampler *sampler = context;
    struct ss_sampler_entry *entry = thread->user;
    sampler->counts.retries += stack->retries;
    sampler->counts.seen++;
    if (result == SS_PYTHON_LOST) {
        sampler->counts.lost++;
        entry->has_sample = false;
        return;
    }
    entry->partial = result == SS_PYTHON_PARTIAL;
    sampler->counts.partial += entry->partial;
    sampler->counts.ok += !entry->partial;
    entry->gil = stack->holds_gil                ? SS_SAMPLER_GIL_HELD
                 : waits_for_gil(sampler, entry) ? SS_SAMPLER_GIL_WAITED
                                                 : SS_SAMPLER_GIL_NONE;
    entry->wait = entry->gil == SS_SAMPLER_GIL_WAITED ? SS_TASK_WAIT_UNKNOWN
                                                      : ss_task_state_wait(&entry->state);
    hand_out(sampler, entry, stack->frames, result == SS_PYTHON_EMPTY ? 0 : stack->depth, 1);
}

/* Reads the stacks of those that moved; false: the process is gone. */
static bool read_stacks(struct ss_python_sampler *sampler)
{
    struct ss_python_takes takes = {sampler, take_stack};
    bool is_there =
        sampler->moved.count == 0 ||
        ss_python_walk_threads(sampler->python, sampler->moved.data, sampler->moved.count, &takes);
    ss_vec_clear(&sampler->moved);
    return is_there;
}

static bool add_moved(struct ss_python_sampler *sampler, struct ss_sampler_entry *entry)
{
    ss_vec_push(&sampler->moved, entry->python);
    return sampler->moved.count < BATCH || read_stacks(sampler);
}

/* --- Python threads -------------------------------------------------------------------------- */

/* False: the process is gone. */
static bool sample_python_thread(struct ss_python_sampler *sampler, struct ss_sampler_entry *entry)
{
    if (!look_at_state(sampler, entry, 1)) {
        sampler->counts.seen++;
        return true;
    }
    ss_sampler_flush_entry(sampler, entry); /* with the state it had */
    if (entry->state.gone) {
        /* The thread has ended; its thread state goes, or is freed memory already. */
        ss_python_sampler_threads_changed(sampler);
        return true; /* there was no thread to see */
    }
    entry->inferred = 0;
    entry->activity = entry->state.activity;
    return add_moved(sampler, entry);
}

/* A thread that waits for the GIL goes on waiting until it gets it, and who got it since the last
 * look is known when it changed hands no more than once. */
static bool still_waits(const struct ss_python_sampler *sampler,
                        const struct ss_sampler_entry *entry)
{
    uint64_t self = entry->python->tstate_address;
    uint64_t changes = sampler->gil.switches - entry->gil_switches;
    return sampler->has_gil && entry->has_sample && entry->gil == SS_SAMPLER_GIL_WAITED &&
           entry->gil_holder != 0 && entry->inferred < INFER_MOST && changes <= 1 &&
           self != entry->gil_holder && self != sampler->gil.holder;
}

/* The number of waiters lies in a structure of the C library, which may be another one: it counts
 * for something once it was what the kernel said, again and again. */
static bool is_waiter_count_trusted(const struct ss_python_sampler *sampler)
{
    return sampler->has_gil && sampler->gil.is_held && sampler->waiters_trust >= TRUST_FROM &&
           sampler->ticks % VERIFY_TICKS != 0;
}

/* Do all active threads but the one that holds the GIL wait for it? */
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

/* Compares the number of waiters with what was found out one by one. */
static void count_waiters(struct ss_python_sampler *sampler)
{
    uint32_t waiting = 0;
    for (size_t i = 0; i < sampler->active.count; i++) {
        waiting += waits_for_gil(sampler, sampler->active.data[i]);
    }
    if (waiting != sampler->gil.waiters) {
        sampler->waiters_trust /= 2;
    } else if (waiting >= 2 && sampler->waiters_trust < TRUST_MOST) {
        sampler->waiters_trust++;
    }
}

/* False: the process is gone. */
static bool take_for_waiting(struct ss_python_sampler *sampler, struct ss_sampler_entry *entry)
{
    uint64_t address;
    size_t length;
    if (!ss_python_gil_range(sampler->python, entry->python, &address, &length)) {
        return sample_python_thread(sampler, entry);
    }
    ss_sampler_flush_entry(sampler, entry);
    ss_task_state_take_wait(&entry->state, address, sampler->tick_ns);
    entry->activity = entry->state.activity;
    entry->still_looks = 0;
    return add_moved(sampler, entry);
}

static bool sample_active(struct ss_python_sampler *sampler, bool others_wait)
{
    bool is_there = true;
    for (size_t i = 0; i < sampler->active.count && is_there; i++) {
        struct ss_sampler_entry *entry = sampler->active.data[i];
        if (still_waits(sampler, entry)) {
            entry->inferred++;
            sampler->counts.seen++;
            grow(sampler, entry, 1);
        } else if (others_wait && entry->state.tid != 0 &&
                   entry->python->tstate_address != sampler->gil.holder) {
            is_there = take_for_waiting(sampler, entry);
        } else {
            is_there = sample_python_thread(sampler, entry);
        }
        entry->gil_holder = sampler->has_gil ? sampler->gil.holder : 0;
        entry->gil_switches = sampler->gil.switches;
    }
    return is_there;
}

/* --- threads without Python frames ----------------------------------------------------------- */

static void sample_bare_thread(struct ss_python_sampler *sampler, struct ss_sampler_entry *entry)
{
    uint64_t since = sampler->ticks - entry->look_tick;
    uint64_t counted = entry->parked ? sampler->still_ticks - entry->look_still : 0;
    uint32_t weight = (uint32_t)(since - counted);
    entry->look_tick = sampler->ticks;
    entry->look_still = sampler->still_ticks;
    if (weight == 0) {
        return;
    }
    if (!look_at_state(sampler, entry, weight)) {
        sampler->counts.seen += weight;
        return;
    }
    ss_sampler_flush_entry(sampler, entry);
    if (entry->state.gone) {
        ss_python_sampler_threads_changed(sampler);
        return; /* there was no thread to see */
    }
    sampler->counts.seen += weight;
    sampler->counts.ok += weight;
    entry->activity = entry->state.activity;
    entry->gil = SS_SAMPLER_GIL_NONE;
    entry->wait = SS_TASK_WAIT_UNKNOWN; /* asking would cost more than it tells */
    entry->partial = false;
    hand_out(sampler, entry, NULL, 0, weight);
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

/* Those that did not run are counted together; else each is looked at. `*moved`: one with Python
 * frames has run. False: the process is gone. */
static bool sample_parked(struct ss_python_sampler *sampler, bool bare_due, bool *moved)
{
    bool is_there = true;
    *moved = false;
    if (sampler->parked_still) {
        sampler->still_ticks++;
        sampler->still_ns = sampler->tick_ns;
        sampler->counts.seen += sampler->parked.count;
        sampler->counts.unchanged += sampler->parked.count;
        return true;
    }
    for (size_t i = 0; i < sampler->parked.count && is_there; i++) {
        struct ss_sampler_entry *entry = sampler->parked.data[i];
        if (entry->python != NULL) {
            is_there = sample_python_thread(sampler, entry);
            *moved |= !entry->parked;
        } else if (bare_due) {
            sample_bare_thread(sampler, entry);
        }
    }
    return is_there;
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
    bool bare_due = sampler->tick_ns - sampler->bare_ns >= bare_look_ns;
    bool parked_moved;
    if (!sample_parked(sampler, bare_due, &parked_moved)) {
        return false;
    }
    bool others_wait = !parked_moved && do_all_wait(sampler);
    if (!sample_active(sampler, others_wait) || !read_stacks(sampler)) {
        return false;
    }
    if (sampler->has_gil && sampler->gil.is_held && !others_wait) {
        count_waiters(sampler);
    }
    for (size_t i = 0; i < sampler->bare.count && bare_due; i++) {
        sample_bare_thread(sampler, sampler->bare.data[i]);
    }
    if (bare_due) {
        sampler->bare_ns = sampler->tick_ns;
    }
    return true;
}
