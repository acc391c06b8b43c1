/* SPDX-License-Identifier: Apache-2.0 */
#include "annot/training.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "annot/automatic.h"
#include "annot/define.h"
#include "annot/events.h"
#include "annot/facts.h"
#include "annot/schedule_text.h"
#include "annot/steps.h"

enum { MOST_TRIES = 1000 };

static struct ss_steps steps;
static pid_t steps_pid;    /* a forked child marks its own… */
static uint32_t schedules; /* …by the schedules that its parent brought */

/* The program speaks for itself: what was found does not count any more. */
static _Atomic bool has_own_steps, has_own_phases;
static _Atomic bool has_found_steps;
/* The thread that trains, found automatically; none in a forked child that has not claimed it. */
static _Atomic int32_t trainer_pid, trainer_tid;
static _Atomic bool is_trainer_sure; /* it has updated weights */

static void write_number(enum ss_ring_type type, unsigned detail, int64_t number,
                         struct ss_thread *to, uint64_t stamp)
{
    ss_event_write_value(to, stamp, ss_ring_head_word(type, 1, 0, detail, 0), (uint64_t)number,
                         SS_RING_VALUE_SIGNED);
}

static void write_window(struct ss_thread *to, uint64_t stamp, unsigned detail, int64_t number,
                         uint32_t which)
{
    const struct ss_ring_extra more[2] = {{(uint64_t)number, which}, {(uint64_t)steps.batch, 0}};
    atomic_store_explicit(&ss_process_header->window, which, memory_order_relaxed);
    atomic_store_explicit(&ss_process_header->action, detail & SS_RING_WINDOW_ACTION,
                          memory_order_relaxed);
    ss_ring_write_more(&to->ring, stamp, ss_ring_head_word(SS_RING_WINDOW, 2, 0, detail, 0), more,
                       2);
}

/* A window that is cut ends in a step under way; the one that follows may begin with another. */
static void write_turn(struct ss_thread *thread, uint64_t stamp,
                       const struct ss_steps_change *change)
{
    unsigned cut = change->cut ? SS_RING_WINDOW_CUT : 0;
    int64_t number = change->window != 0 ? change->window_step : change->step;
    if (change->cut && change->cut_step != number) {
        write_window(thread, stamp, SS_SCHEDULE_SKIP | cut, change->cut_step, 0);
        cut = 0;
    }
    write_window(thread, stamp, (unsigned)change->action | cut, number, change->window);
}

static void follow_fork(void)
{
    pid_t pid = ss_process_pid();
    if (steps_pid != pid) {
        steps_pid = pid;
        ss_steps_forget(&steps);
    }
}

static void write_change(struct ss_thread *thread, uint64_t stamp,
                         const struct ss_steps_change *change, bool overrules)
{
    if (change->begins_epoch) {
        atomic_store_explicit(&ss_process_header->epoch, change->epoch, memory_order_relaxed);
        write_number(SS_RING_EPOCH, 0, change->epoch, thread, stamp);
    }
    if (change->begins_step) {
        atomic_store_explicit(&ss_process_header->step, change->step, memory_order_relaxed);
        write_number(SS_RING_STEP, overrules ? SS_RING_STEP_OVERRULES : 0, change->step, thread,
                     stamp);
    }
    atomic_store_explicit(&ss_process_header->batch, change->batch, memory_order_relaxed);
    if (steps.has_schedule) {
        atomic_store_explicit(&ss_process_header->scheduled, schedules, memory_order_relaxed);
        atomic_store_explicit(&ss_process_header->steps, (uint32_t)steps.run.steps,
                              memory_order_relaxed);
        atomic_store_explicit(&ss_process_header->most_steps, (uint32_t)steps.run.longest,
                              memory_order_relaxed);
    }
    if (change->changes_window) {
        write_turn(thread, stamp, change);
    }
}

static _Atomic(ss_training_watcher *) watcher;

void ss_training_watch(ss_training_watcher *watches)
{
    atomic_store_explicit(&watcher, watches, memory_order_relaxed);
}

static void tell_watcher(bool is_step)
{
    ss_training_watcher *watches = atomic_load_explicit(&watcher, memory_order_relaxed);
    if (watches != NULL) {
        watches(is_step);
    }
}

/* Counts also while nobody records: who comes later is to see the right number. */
static void mark_wish(const struct ss_steps_wish *wish)
{
    follow_fork();
    if (wish->mark == SS_STEPS_BEGIN || wish->mark == SS_STEPS_NEXT) {
        tell_watcher(true);
    }
    struct ss_steps_change change = ss_steps_mark(&steps, wish);
    if (change.busy && wish->overrules) { /* the next own one will */
        atomic_store_explicit(&has_found_steps, true, memory_order_relaxed);
        atomic_store_explicit(&has_own_steps, false, memory_order_relaxed);
    }
    uint64_t stamp;
    struct ss_thread *thread = change.busy ? NULL : ss_event_enter(SS_RING_GATE_ALL, &stamp);
    if (thread != NULL) {
        write_change(thread, stamp, &change, wish->overrules);
    }
}

void ss_training_init(const char *schedule)
{
    ss_steps_init(&steps, schedule);
    steps_pid = getpid();
}

/* NULL: the schedule is over; "": there is none. */
static struct ss_steps_change change_schedule(const char *text, const struct ss_schedule *asked)
{
    return text == NULL      ? ss_steps_schedule(&steps, NULL)
           : text[0] == '\0' ? ss_steps_unschedule(&steps)
                             : ss_steps_schedule(&steps, asked);
}

/* The recorder looks at `scheduled` before it believes what follows. */
int ss_training_schedule(const char *text)
{
    struct ss_schedule asked = {0};
    bool is_none = text != NULL && text[0] == '\0';
    if (text != NULL && !is_none && ss_schedule_parse(text, &asked, NULL) != SS_OK) {
        return -1;
    }
    follow_fork();
    ss_process_ensure();
    struct ss_steps_change change = change_schedule(text, &asked);
    for (int i = 0; change.busy && i < MOST_TRIES; i++) { /* a mark takes less than a microsecond */
        sched_yield();
        change = change_schedule(text, &asked);
    }
    if (change.busy) {
        return -2;
    }
    schedules = is_none ? 0 : schedules + 1;
    atomic_store_explicit(&ss_process_header->scheduled, schedules, memory_order_release);
    uint64_t stamp;
    struct ss_thread *thread = ss_event_enter(SS_RING_GATE_ALL, &stamp);
    if (thread != NULL) {
        write_change(thread, stamp, &change, false);
    }
    return 0;
}

static void tell_steps(const char *how)
{
    struct ss_event_value value = {ss_define_name(how, strlen(how)), SS_RING_VALUE_NAME};
    ss_fact_tell(ss_define_name("torch.steps", 11), value);
}

/* --- who follows ----------------------------------------------------------------------------- */

static _Atomic(ss_training_follower *) follower;

void ss_training_follow(ss_training_follower *follows)
{
    atomic_store_explicit(&follower, follows, memory_order_relaxed);
}

bool ss_training_now(int64_t *step, uint32_t *window, uint32_t *action)
{
    follow_fork();
    *step = steps.step;
    *window = steps.window;
    *action = (uint32_t)steps.action;
    return steps.has_schedule;
}

static void mark_followed(const struct ss_steps_wish *wish)
{
    ss_training_follower *follows = atomic_load_explicit(&follower, memory_order_relaxed);
    if (follows != NULL) {
        follows(true);
    }
    mark_wish(wish);
    if (follows != NULL) {
        follows(false);
    }
}

/* The schedule may begin a window with an epoch. */
static void mark_epoch(int64_t number, int64_t length, int64_t resumed_at)
{
    struct ss_steps_wish wish = {
        .mark = SS_STEPS_EPOCH, .number = number, .length = length, .resumed_at = resumed_at};
    mark_wish(&wish);
    ss_training_follower *follows = atomic_load_explicit(&follower, memory_order_relaxed);
    if (follows != NULL) {
        follows(false);
    }
}

/* Steps that were found before the first own one never were. */
static struct ss_steps_wish own_step(enum ss_steps_mark mark, int64_t number)
{
    struct ss_steps_wish wish = {.mark = mark, .number = number, .length = -1};
    if (!atomic_load_explicit(&has_own_steps, memory_order_relaxed)) {
        atomic_store_explicit(&has_own_steps, true, memory_order_relaxed);
        wish.overrules = atomic_exchange_explicit(&has_found_steps, false, memory_order_relaxed);
        if (wish.overrules) {
            tell_steps("program");
        }
    }
    return wish;
}

void ss_training_step(int64_t number)
{
    struct ss_steps_wish wish = own_step(SS_STEPS_BEGIN, number);
    mark_wish(&wish);
}

void ss_training_next_step(int64_t number)
{
    struct ss_steps_wish wish = own_step(SS_STEPS_NEXT, number);
    mark_followed(&wish);
}

void ss_training_epoch(int64_t number)
{
    mark_epoch(number, -1, 0);
}

void ss_training_begin_epoch(int64_t number, int64_t length, int64_t resumed_at)
{
    mark_epoch(number, length, resumed_at);
}

/* A window that is open is cut. */
__attribute__((destructor)) static void on_exit_of_program(void)
{
    if (steps.has_schedule && steps_pid == ss_process_pid()) {
        struct ss_steps_wish wish = {.mark = SS_STEPS_END, .number = -1, .length = -1};
        mark_wish(&wish);
    }
}

static void begin_phase(uint32_t name)
{
    tell_watcher(false);
    uint64_t stamp;
    struct ss_thread *thread = ss_event_enter(SS_RING_GATE_ALL, &stamp);
    if (thread != NULL) {
        atomic_store_explicit(&thread->ring.thread->phase, name, memory_order_relaxed);
        atomic_store_explicit(&ss_process_header->phase, name, memory_order_relaxed);
        ss_ring_write(&thread->ring, stamp, ss_ring_head_word(SS_RING_PHASE, 0, 0, 0, name));
    }
}

void ss_training_phase(uint32_t name)
{
    atomic_store_explicit(&has_own_phases, true, memory_order_relaxed);
    begin_phase(name);
}

void ss_training_window(unsigned action, int64_t number, uint32_t which)
{
    uint64_t stamp;
    struct ss_thread *thread = ss_event_enter(SS_RING_GATE_ALL, &stamp);
    if (thread != NULL) {
        write_window(thread, stamp, action & SS_RING_WINDOW_ACTION, number, which);
    }
}

/* --- what nobody wrote into the program ------------------------------------------------------- */

static bool is_trainer(void)
{
    return atomic_load_explicit(&trainer_pid, memory_order_relaxed) == ss_process_pid() &&
           atomic_load_explicit(&trainer_tid, memory_order_relaxed) == ss_thread_tid();
}

static void set_trainer(int32_t tid, bool is_sure)
{
    atomic_store_explicit(&trainer_tid, tid, memory_order_relaxed);
    atomic_store_explicit(&trainer_pid, ss_process_pid(), memory_order_relaxed);
    atomic_store_explicit(&is_trainer_sure, is_sure, memory_order_relaxed);
}

void ss_automatic_guess(void)
{
    set_trainer(ss_thread_tid(), false);
}

/* Phases of another thread, if it was in one, are of no matter any more. */
void ss_automatic_claim(void)
{
    bool takes_over = !is_trainer();
    set_trainer(ss_thread_tid(), true);
    if (takes_over && ss_automatic_phase() != 0 &&
        !atomic_load_explicit(&has_own_phases, memory_order_relaxed)) {
        begin_phase(0);
    }
}

void ss_automatic_disclaim(void)
{
    set_trainer(0, true);
}

void ss_automatic_tell(const char *how)
{
    if (!atomic_load_explicit(&has_own_steps, memory_order_relaxed)) {
        tell_steps(how);
    }
}

/* The step under way began before anybody recorded this process: what is left of it is one. */
static bool is_first_of_recording(void)
{
    static _Atomic uint32_t begun;
    uint32_t gate = atomic_load_explicit(&ss_process_header->gate, memory_order_relaxed);
    return (gate & SS_RING_GATE_ALL) != 0 &&
           atomic_exchange_explicit(&begun, gate / SS_RING_GATE_RECORDING, memory_order_relaxed) !=
               gate / SS_RING_GATE_RECORDING;
}

void ss_automatic_begin(void)
{
    if (atomic_load_explicit(&trainer_pid, memory_order_relaxed) != ss_process_pid()) {
        ss_automatic_guess(); /* a forked child trains by itself */
        follow_fork();
    }
    if (!is_trainer() || atomic_load_explicit(&has_own_steps, memory_order_relaxed)) {
        return;
    }
    bool again = is_first_of_recording() && steps.step >= 0;
    if (again || steps.step < 0) {
        struct ss_steps_wish wish = {.mark = SS_STEPS_BEGIN,
                                     .number = again ? steps.step : 0,
                                     .length = -1,
                                     .is_found = true,
                                     .again = again};
        if (!again) {
            atomic_store_explicit(&has_found_steps, true, memory_order_relaxed);
            tell_steps("optimizer");
        }
        mark_followed(&wish);
        steps.has_begun = false; /* the program may still say that this is of its first epoch */
    }
}

void ss_automatic_train(void)
{
    bool is_another =
        atomic_load_explicit(&trainer_pid, memory_order_relaxed) == ss_process_pid() &&
        !atomic_load_explicit(&is_trainer_sure, memory_order_relaxed) && !is_trainer();
    if (is_another && atomic_load_explicit(&ss_process_header->phase, memory_order_relaxed) == 0) {
        ss_automatic_guess();
    }
    ss_automatic_begin();
}

bool ss_automatic_step(void)
{
    bool counts = !atomic_load_explicit(&has_own_steps, memory_order_relaxed);
    if (counts) {
        atomic_store_explicit(&has_found_steps, true, memory_order_relaxed);
        struct ss_steps_wish wish = {
            .mark = SS_STEPS_NEXT, .number = -1, .length = -1, .is_found = true};
        mark_followed(&wish);
    }
    return counts;
}

uint32_t ss_automatic_phase(void)
{
    return is_trainer() ? atomic_load_explicit(&ss_process_header->phase, memory_order_relaxed) : 0;
}

int64_t ss_automatic_enter(uint32_t name)
{
    if (atomic_load_explicit(&has_own_phases, memory_order_relaxed) || !is_trainer()) {
        return SS_AUTOMATIC_NOT;
    }
    uint32_t before = atomic_load_explicit(&ss_process_header->phase, memory_order_relaxed);
    if (before != name) {
        begin_phase(name);
    }
    return before;
}

void ss_automatic_leave(int64_t before)
{
    bool counts = before >= 0 && !atomic_load_explicit(&has_own_phases, memory_order_relaxed);
    if (counts && is_trainer() && ss_automatic_phase() != (uint32_t)before) {
        begin_phase((uint32_t)before);
    }
}
