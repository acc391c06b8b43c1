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
#include "base/capture.h"
#include "base/shared_names.h"

enum { MAX_TRIES = 1000 };
_Static_assert((int)SS_SCHEDULE_SKIP == SS_RING_SKIPS && (int)SS_SCHEDULE_RECORD == SS_RING_RECORDS,
               "the recorder writes windows, too");

static struct ss_steps steps;
static struct ss_capture capture;
static pid_t steps_pid;    /* process of `steps`: a forked child starts its own */
static uint32_t schedules; /* set by the program; 0: none. A forked child inherits the count */

/* The program marks explicitly: automatic marks no longer count. */
static _Atomic bool has_own_steps, has_own_phases;
static _Atomic bool has_found_steps;
/* The training thread, detected automatically; none in a forked child until it is set there. */
static _Atomic int32_t trainer_pid, trainer_tid;
static _Atomic bool is_trainer_sure; /* claimed: its optimizer has stepped */

static void write_number(enum ss_ring_type type, unsigned detail, int64_t number,
                         struct ss_thread *to, uint64_t stamp)
{
    ss_event_write_value(to, stamp, ss_ring_head_word(type, 1, 0, detail, 0), (uint64_t)number,
                         SS_RING_VALUE_SIGNED);
}

static _Atomic(ss_training_window_observer *) window_watcher;

void ss_training_observe_windows(ss_training_window_observer *callback)
{
    atomic_store_explicit(&window_watcher, callback, memory_order_relaxed);
}

static void write_window(struct ss_thread *to, uint64_t stamp, unsigned detail, int64_t number,
                         uint32_t which, uint32_t closed)
{
    const struct ss_ring_extra more[2] = {{(uint64_t)number, which},
                                          {(uint64_t)steps.batch, closed}};
    ss_ring_enter_window(ss_process_header, which);
    atomic_store_explicit(&ss_process_header->action, detail & SS_RING_WINDOW_ACTION,
                          memory_order_relaxed);
    ss_ring_write_more(&to->ring, stamp, ss_ring_head_word(SS_RING_WINDOW, 2, 0, detail, 0), more,
                       2);
    ss_training_window_observer *callback =
        atomic_load_explicit(&window_watcher, memory_order_relaxed);
    if (callback != NULL) {
        callback(detail & SS_RING_WINDOW_ACTION);
    }
}

/* A cut window ends within the current step; the next window may begin with another step. */
static void write_turn(struct ss_thread *thread, uint64_t stamp,
                       const struct ss_steps_change *change)
{
    unsigned cut = change->cut ? SS_RING_WINDOW_CUT : 0;
    int64_t number = change->window != 0 ? change->window_step : change->step;
    if (change->cut && change->cut_step != number) {
        write_window(thread, stamp, SS_SCHEDULE_SKIP | cut, change->cut_step, 0, change->closed);
        cut = 0;
    }
    write_window(thread, stamp, (unsigned)change->action | cut, number, change->window,
                 change->closed);
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
    if (change->changes_window) {
        ss_ring_leave_window(ss_process_header, change->window);
    }
    if (change->begins_step) {
        ss_ring_set_step(ss_process_header, change->step);
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

static _Atomic(ss_training_begin_observer *) watcher;

void ss_training_observe_begins(ss_training_begin_observer *callback)
{
    atomic_store_explicit(&watcher, callback, memory_order_relaxed);
}

static _Atomic(ss_training_step_observer *) step_watcher;

void ss_training_observe_steps(ss_training_step_observer *callback)
{
    atomic_store_explicit(&step_watcher, callback, memory_order_relaxed);
}

static void notify_watcher(bool is_step)
{
    ss_training_step_observer *of_steps =
        is_step ? atomic_load_explicit(&step_watcher, memory_order_relaxed) : NULL;
    if (of_steps != NULL) {
        of_steps(steps.step);
    }
    ss_training_begin_observer *callback = atomic_load_explicit(&watcher, memory_order_relaxed);
    if (callback != NULL) {
        callback(is_step);
    }
}

/* Counts without a recorder too: one that attaches later needs the right numbers. */
static void apply_mark(const struct ss_steps_request *request)
{
    follow_fork();
    if (request->mark == SS_STEPS_BEGIN || request->mark == SS_STEPS_NEXT) {
        notify_watcher(true);
    }
    struct ss_steps_change change = ss_steps_mark(&steps, request);
    if (change.busy && request->overrules) { /* the next explicit mark overrules instead */
        atomic_store_explicit(&has_found_steps, true, memory_order_relaxed);
        atomic_store_explicit(&has_own_steps, false, memory_order_relaxed);
    }
    uint64_t stamp;
    struct ss_thread *thread = change.busy ? NULL : ss_event_enter(SS_RING_GATE_ALL, &stamp);
    if (thread != NULL) {
        write_change(thread, stamp, &change, request->overrules);
    }
}

void ss_training_init(const char *schedule)
{
    ss_steps_init(&steps, schedule, ss_process_header);
    ss_capture_get(schedule, &capture);
    steps_pid = getpid();
}

/* NULL: ends the schedule; "": removes it. */
static struct ss_steps_change change_schedule(const char *text, const struct ss_schedule *requested)
{
    return text == NULL      ? ss_steps_schedule(&steps, NULL)
           : text[0] == '\0' ? ss_steps_unschedule(&steps)
                             : ss_steps_schedule(&steps, requested);
}

/* The recorder reads `scheduled` before the records that follow. */
int ss_training_schedule(const char *text)
{
    struct ss_schedule requested = {0};
    bool is_none = text != NULL && text[0] == '\0';
    if (text != NULL && !is_none && ss_schedule_parse(text, &requested, NULL) != SS_OK) {
        return -1;
    }
    follow_fork();
    ss_process_ensure();
    struct ss_steps_change change = change_schedule(text, &requested);
    for (int i = 0; change.busy && i < MAX_TRIES; i++) { /* a mark takes less than a microsecond */
        sched_yield();
        change = change_schedule(text, &requested);
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

const struct ss_capture *ss_training_captures(void)
{
    return &capture;
}

void ss_training_capture(bool opens)
{
    follow_fork();
    struct ss_steps_change change = ss_steps_capture(&steps, opens);
    for (int i = 0; change.busy && i < MAX_TRIES; i++) {
        sched_yield();
        change = ss_steps_capture(&steps, opens);
    }
    uint64_t stamp;
    struct ss_thread *thread =
        change.changes_window ? ss_event_enter(SS_RING_GATE_ALL, &stamp) : NULL;
    if (thread != NULL) {
        write_change(thread, stamp, &change, false);
    }
}

static void record_step_source(const char *how)
{
    struct ss_event_value value = {ss_define_name(how, strlen(how)), SS_RING_VALUE_NAME};
    ss_fact_set(ss_define_name(ss_fact_torch_steps, sizeof ss_fact_torch_steps - 1), value);
}

/* --- follower of steps ----------------------------------------------------------------------- */

static _Atomic(ss_training_end_observer *) follower;

void ss_training_observe_ends(ss_training_end_observer *callback)
{
    atomic_store_explicit(&follower, callback, memory_order_relaxed);
}

bool ss_training_now(int64_t *step, uint32_t *window, uint32_t *action)
{
    follow_fork();
    *step = steps.step;
    *window = steps.window;
    *action = (uint32_t)steps.action;
    return steps.has_schedule;
}

static void mark_with_follower(const struct ss_steps_request *request)
{
    ss_training_end_observer *callback = atomic_load_explicit(&follower, memory_order_relaxed);
    if (callback != NULL) {
        callback(true);
    }
    apply_mark(request);
    if (callback != NULL) {
        callback(false);
    }
}

/* The follower is called because the schedule may begin a window with an epoch. */
static void mark_epoch(int64_t number, int64_t length, int64_t resumed_at)
{
    struct ss_steps_request request = {
        .mark = SS_STEPS_EPOCH, .number = number, .length = length, .resumed_at = resumed_at};
    apply_mark(&request);
    ss_training_end_observer *callback = atomic_load_explicit(&follower, memory_order_relaxed);
    if (callback != NULL) {
        callback(false);
    }
}

/* The first explicit step discards the automatic steps before it. */
static struct ss_steps_request own_step(enum ss_steps_mark mark, int64_t number)
{
    struct ss_steps_request request = {.mark = mark, .number = number, .length = -1};
    if (!atomic_load_explicit(&has_own_steps, memory_order_relaxed)) {
        atomic_store_explicit(&has_own_steps, true, memory_order_relaxed);
        request.overrules = atomic_exchange_explicit(&has_found_steps, false, memory_order_relaxed);
        if (request.overrules) {
            record_step_source("program");
        }
    }
    return request;
}

void ss_training_step(int64_t number)
{
    struct ss_steps_request request = own_step(SS_STEPS_BEGIN, number);
    apply_mark(&request);
}

void ss_training_next_step(int64_t number)
{
    struct ss_steps_request request = own_step(SS_STEPS_NEXT, number);
    mark_with_follower(&request);
}

void ss_training_epoch(int64_t number)
{
    mark_epoch(number, -1, 0);
}

void ss_training_begin_epoch(int64_t number, int64_t length, int64_t resumed_at)
{
    mark_epoch(number, length, resumed_at);
}

/* Cuts an open window. */
__attribute__((destructor)) static void on_exit_of_program(void)
{
    if (steps.has_schedule && steps_pid == ss_process_pid()) {
        struct ss_steps_request request = {.mark = SS_STEPS_END, .number = -1, .length = -1};
        apply_mark(&request);
    }
}

static void begin_phase(uint32_t name)
{
    notify_watcher(false);
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
        write_window(thread, stamp, action & SS_RING_WINDOW_ACTION, number, which, 0);
    }
}

/* --- automatic steps and phases --------------------------------------------------------------- */

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

/* Ends the phase of the previous training thread. */
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

void ss_automatic_set_step_source(const char *how)
{
    if (!atomic_load_explicit(&has_own_steps, memory_order_relaxed)) {
        record_step_source(how);
    }
}

/* True once per recording: the rest of a step that began before it counts as a step. */
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
        ss_automatic_guess(); /* a forked child has its own training thread */
        follow_fork();
    }
    if (!is_trainer() || atomic_load_explicit(&has_own_steps, memory_order_relaxed)) {
        return;
    }
    bool again = is_first_of_recording() && steps.step >= 0;
    if (again || steps.step < 0) {
        struct ss_steps_request request = {.mark = SS_STEPS_BEGIN,
                                           .number = again ? steps.step : 0,
                                           .length = -1,
                                           .is_found = true,
                                           .again = again};
        if (!again) {
            atomic_store_explicit(&has_found_steps, true, memory_order_relaxed);
            record_step_source("optimizer");
        }
        mark_with_follower(&request);
        steps.has_begun = false; /* a following epoch mark still includes this step */
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
        struct ss_steps_request request = {
            .mark = SS_STEPS_NEXT, .number = -1, .length = -1, .is_found = true};
        mark_with_follower(&request);
    }
    return counts;
}

uint32_t ss_automatic_phase(void)
{
    return is_trainer() ? atomic_load_explicit(&ss_process_header->phase, memory_order_relaxed) : 0;
}

bool ss_automatic_is_between_phases(void)
{
    return atomic_load_explicit(&ss_process_header->phase, memory_order_relaxed) == 0 &&
           !atomic_load_explicit(&has_own_phases, memory_order_relaxed) && is_trainer();
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
