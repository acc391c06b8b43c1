/* SPDX-License-Identifier: Apache-2.0 */
/* The function table of include/stepscope/stepscope.h, and the library's constructor. */
#define STEPSCOPE_BUILDING
#include "stepscope/stepscope.h"

#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "annot/define.h"
#include "annot/events.h"
#include "annot/first.h"
#include "annot/schedule_text.h"
#include "annot/sealed.h"
#include "annot/steps.h"
#include "base/env.h"
#include "ring/sealed.h"

_Static_assert((int)STEPSCOPE_RANGES == (int)SS_RING_GATE_RANGES &&
                   (int)STEPSCOPE_COUNTERS == (int)SS_RING_GATE_COUNTERS &&
                   (int)STEPSCOPE_MARKS == (int)SS_RING_GATE_MARKS &&
                   (int)STEPSCOPE_ANY == (int)SS_RING_GATE_ALL,
               "the header's gate is the ring's");
_Static_assert((int)STEPSCOPE_UINT == (int)SS_RING_VALUE_UNSIGNED &&
                   (int)STEPSCOPE_NAME == (int)SS_RING_VALUE_NAME &&
                   (int)STEPSCOPE_DELTA == (int)SS_RING_DELTA &&
                   (int)STEPSCOPE_CUMULATIVE == (int)SS_RING_CUMULATIVE,
               "the header's values are the ring's");
_Static_assert((int)STEPSCOPE_SEALED_PARTIAL == (int)SS_RING_SEALED_PARTIAL &&
                   (int)STEPSCOPE_SEALED_FAILED == (int)SS_RING_SEALED_FAILED &&
                   sizeof((struct stepscope_sealed *)0)->path == SS_RING_SEALED_PATH_BYTES,
               "the header's notices are the ring's");

/* --- names ----------------------------------------------------------------------------------- */

static stepscope_name intern(const char *text, size_t length)
{
    return ss_define_name(text, length);
}

static stepscope_domain domain_of(const char *name)
{
    return name != NULL && name[0] != '\0' ? ss_define_domain(name, strlen(name)) : 0;
}

static stepscope_name intern_text(const char *text)
{
    return text != NULL && text[0] != '\0' ? ss_define_name(text, strlen(text)) : 0;
}

static void style(stepscope_name name, uint32_t argb, const char *category)
{
    ss_define_style(name, argb, intern_text(category));
}

static stepscope_name counter(const char *name, const char *unit, unsigned kind)
{
    stepscope_name id = name != NULL ? intern(name, strlen(name)) : 0;
    ss_define_counter(id, intern_text(unit), kind);
    return id;
}

static stepscope_name function(const char *text, size_t length, stepscope_name file, uint32_t line)
{
    return text != NULL ? ss_define_function(text, length, file, line) : 0;
}

/* --- ranges ---------------------------------------------------------------------------------- */

/* How many ranges are open: the table's functions return that, events.h the level. */
static int push(stepscope_domain domain, stepscope_name name)
{
    int level = ss_event_push(domain, name);
    return level >= 0 ? level + 1 : 0;
}

static int push_value(stepscope_domain domain, stepscope_name name, unsigned type, uint64_t bits)
{
    int level = ss_event_push_value(domain, name, (struct ss_event_value){bits, type});
    return level >= 0 ? level + 1 : 0;
}

static int pop(stepscope_domain domain)
{
    return ss_event_pop(domain) != SS_EVENT_OFF ? (int)ss_thread_current->ring.depth : 0;
}

static void mark(stepscope_domain domain, stepscope_name name)
{
    ss_event_mark(domain, name, (struct ss_event_value){0});
}

static void mark_value(stepscope_domain domain, stepscope_name name, unsigned type, uint64_t bits)
{
    ss_event_mark(domain, name, (struct ss_event_value){bits, type});
}

static stepscope_id begin(stepscope_domain domain, stepscope_name name, unsigned type,
                          uint64_t bits)
{
    return ss_event_begin(domain, name, (struct ss_event_value){bits, type});
}

static void end(stepscope_id id)
{
    ss_event_end(id);
}

static stepscope_id flow_id(void)
{
    uint32_t gate = atomic_load_explicit(&ss_process_header->gate, memory_order_relaxed);
    return (gate & SS_RING_GATE_RANGES) != 0 ? ss_process_new_id() : 0;
}

static void flow(stepscope_id id, unsigned where)
{
    uint64_t stamp;
    struct ss_thread *thread = id != 0 ? ss_event_enter(SS_RING_GATE_RANGES, &stamp) : NULL;
    if (thread != NULL) {
        ss_event_write_value(thread, stamp, ss_ring_head_word(SS_RING_FLOW, 1, 0, where, 0), id, 0);
    }
}

static void count(stepscope_name name, unsigned type, uint64_t bits)
{
    ss_event_count(name, (struct ss_event_value){bits, type});
}

static uint64_t ticks(void)
{
    return ss_stamp_now();
}

static int line(stepscope_name function_name, uint32_t number, uint64_t hits, uint64_t ticks_spent)
{
    uint64_t stamp;
    struct ss_thread *thread = ss_event_enter(SS_RING_GATE_RANGES, &stamp);
    if (thread == NULL) {
        return 0;
    }
    struct ss_ring_extra more[2] = {{ticks_spent, number}, {hits, 0}};
    return ss_ring_write_more(&thread->ring, stamp,
                              ss_ring_head_word(SS_RING_LINE, 2, 0, 0, function_name), more, 2);
}

/* --- training -------------------------------------------------------------------------------- */

enum { MOST_TRIES = 1000 };

static struct ss_steps steps;
static pid_t steps_pid;    /* a forked child marks its own… */
static uint32_t schedules; /* …by the schedules that its parent brought */

static void write_number(enum ss_ring_type type, int64_t number, struct ss_thread *to,
                         uint64_t stamp)
{
    ss_event_write_value(to, stamp, ss_ring_head_word(type, 1, 0, 0, 0), (uint64_t)number,
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

/* A window that is cut ends in the step under way; the one that follows may begin with the next. */
static void write_turn(struct ss_thread *thread, uint64_t stamp,
                       const struct ss_steps_change *change)
{
    unsigned cut = change->cut ? SS_RING_WINDOW_CUT : 0;
    if (change->cut && change->window != 0 && change->window_step != change->step) {
        write_window(thread, stamp, SS_SCHEDULE_SKIP | cut, change->step, 0);
        cut = 0;
    }
    write_window(thread, stamp, (unsigned)change->action | cut,
                 change->window != 0 ? change->window_step : change->step, change->window);
}

static void follow_fork(void)
{
    pid_t pid = getpid();
    if (steps_pid != pid) {
        steps_pid = pid;
        ss_steps_forget(&steps);
    }
}

static void write_change(struct ss_thread *thread, uint64_t stamp,
                         const struct ss_steps_change *change)
{
    if (change->begins_epoch) {
        atomic_store_explicit(&ss_process_header->epoch, change->epoch, memory_order_relaxed);
        write_number(SS_RING_EPOCH, change->epoch, thread, stamp);
    }
    if (change->begins_step) {
        atomic_store_explicit(&ss_process_header->step, change->step, memory_order_relaxed);
        write_number(SS_RING_STEP, change->step, thread, stamp);
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

/* Counts also while nobody records: who comes later is to see the right number. */
static void mark_step(enum ss_steps_mark mark, int64_t number, int64_t length, int64_t resumed_at)
{
    follow_fork();
    struct ss_steps_wish wish = {mark, number, length, resumed_at};
    struct ss_steps_change change = ss_steps_mark(&steps, &wish);
    uint64_t stamp;
    struct ss_thread *thread = change.busy ? NULL : ss_event_enter(SS_RING_GATE_ALL, &stamp);
    if (thread != NULL) {
        write_change(thread, stamp, &change);
    }
}

/* NULL: the schedule is over; "": there is none. */
static struct ss_steps_change change_schedule(const char *text, const struct ss_schedule *asked)
{
    return text == NULL      ? ss_steps_schedule(&steps, NULL)
           : text[0] == '\0' ? ss_steps_unschedule(&steps)
                             : ss_steps_schedule(&steps, asked);
}

/* The recorder looks at `scheduled` before it believes what follows. */
static int schedule(const char *text)
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
        write_change(thread, stamp, &change);
    }
    return 0;
}

static void step(int64_t number)
{
    mark_step(SS_STEPS_BEGIN, number, -1, 0);
}

static void next_step(int64_t number)
{
    mark_step(SS_STEPS_NEXT, number, -1, 0);
}

static void epoch(int64_t number)
{
    mark_step(SS_STEPS_EPOCH, number, -1, 0);
}

static void begin_epoch(int64_t number, int64_t length, int64_t resumed_at)
{
    mark_step(SS_STEPS_EPOCH, number, length, resumed_at);
}

/* A window that is open is cut. */
__attribute__((destructor)) static void on_exit_of_program(void)
{
    if (steps.has_schedule && steps_pid == getpid()) {
        mark_step(SS_STEPS_END, -1, -1, 0);
    }
}

static void phase(stepscope_name name)
{
    uint64_t stamp;
    struct ss_thread *thread = ss_event_enter(SS_RING_GATE_ALL, &stamp);
    if (thread != NULL) {
        atomic_store_explicit(&thread->ring.thread->phase, name, memory_order_relaxed);
        atomic_store_explicit(&ss_process_header->phase, name, memory_order_relaxed);
        ss_ring_write(&thread->ring, stamp, ss_ring_head_word(SS_RING_PHASE, 0, 0, 0, name));
    }
}

static void window(unsigned action, int64_t number, uint32_t which)
{
    uint64_t stamp;
    struct ss_thread *thread = ss_event_enter(SS_RING_GATE_ALL, &stamp);
    if (thread != NULL) {
        write_window(thread, stamp, action & SS_RING_WINDOW_ACTION, number, which);
    }
}

static void thread_name(const char *text)
{
    uint64_t stamp;
    uint32_t name = text != NULL && text[0] != '\0' ? intern(text, strlen(text)) : 0;
    ss_thread_name = 0; /* the ring that is made ready here is not told twice */
    struct ss_thread *thread = ss_event_enter(SS_RING_GATE_ALL, &stamp);
    ss_thread_name = name;
    if (thread != NULL && name != 0) {
        ss_ring_write(&thread->ring, stamp, ss_ring_head_word(SS_RING_THREAD_NAME, 0, 0, 0, name));
    }
}

static void fact(stepscope_name key, unsigned type, uint64_t bits)
{
    ss_event_fact(key, (struct ss_event_value){bits, type});
}

/* --- the table ------------------------------------------------------------------------------- */

static stepscope_runtime runtime = {.size = sizeof runtime,
                                    .domain = domain_of,
                                    .intern = intern,
                                    .style = style,
                                    .counter = counter,
                                    .push = push,
                                    .push_value = push_value,
                                    .pop = pop,
                                    .mark = mark,
                                    .mark_value = mark_value,
                                    .begin = begin,
                                    .end = end,
                                    .flow_id = flow_id,
                                    .flow = flow,
                                    .count = count,
                                    .step = step,
                                    .epoch = epoch,
                                    .phase = phase,
                                    .window = window,
                                    .thread_name = thread_name,
                                    .fact = fact,
                                    .next_step = next_step,
                                    .begin_epoch = begin_epoch,
                                    .schedule = schedule,
                                    .sealed = ss_sealed_wait,
                                    .flush = ss_flush_wait,
                                    .function = function,
                                    .ticks = ticks,
                                    .line = line};

/* Before the constructors of whoever uses us. */
__attribute__((constructor(101))) static void on_load(void)
{
    if (ss_first_find() != NULL) {
        ss_process_init_idle();
        return;
    }
    ss_process_init();
    ss_thread_init();
    ss_steps_init(&steps, ss_env_get(SS_ENV_STEPSCOPE_SCHEDULE));
    steps_pid = getpid();
    runtime.gate = (const uint32_t *)&ss_process_header->gate;
}

const stepscope_runtime *stepscope_runtime_get(uint32_t version)
{
    const stepscope_runtime *(*get)(uint32_t) = NULL;
    *(void **)&get = ss_first_function("stepscope_runtime_get");
    if (get != NULL) {
        return get(version);
    }
    return version == STEPSCOPE_RUNTIME_VERSION && runtime.gate != NULL ? &runtime : NULL;
}
