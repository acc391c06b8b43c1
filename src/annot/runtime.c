/* SPDX-License-Identifier: Apache-2.0 */
/* The function table of include/stepscope/stepscope.h, and the library's constructor. */
#define STEPSCOPE_BUILDING
#include "stepscope/stepscope.h"

#include <stdatomic.h>
#include <string.h>

#include "annot/define.h"
#include "annot/events.h"
#include "annot/facts.h"
#include "annot/first.h"
#include "annot/sealed.h"
#include "annot/training.h"
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

/* The table's functions return the number of open ranges, events.h returns the level. */
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

static int prepare(void)
{
    struct ss_thread_quiet quiet;
    int outcome = 0;
    if (ss_thread_enter(&quiet)) {
        outcome = ss_process_prepare();
        ss_thread_leave(&quiet);
    }
    return outcome;
}

/* --- threads, facts --------------------------------------------------------------------------- */

static void thread_name(const char *text)
{
    uint64_t stamp;
    uint32_t name = text != NULL && text[0] != '\0' ? intern(text, strlen(text)) : 0;
    ss_thread_name = 0; /* preparing the ring below must not write the name too */
    struct ss_thread *thread = ss_event_enter(SS_RING_GATE_ALL, &stamp);
    ss_thread_name = name;
    if (thread != NULL && name != 0) {
        ss_ring_write(&thread->ring, stamp, ss_ring_head_word(SS_RING_THREAD_NAME, 0, 0, 0, name));
    }
}

static void fact(stepscope_name key, unsigned type, uint64_t bits)
{
    ss_fact_set(key, (struct ss_event_value){bits, type});
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
                                    .step = ss_training_step,
                                    .epoch = ss_training_epoch,
                                    .phase = ss_training_phase,
                                    .window = ss_training_window,
                                    .thread_name = thread_name,
                                    .fact = fact,
                                    .next_step = ss_training_next_step,
                                    .begin_epoch = ss_training_begin_epoch,
                                    .schedule = ss_training_schedule,
                                    .sealed = ss_sealed_wait,
                                    .flush = ss_flush_wait,
                                    .function = function,
                                    .ticks = ticks,
                                    .line = line,
                                    .prepare = prepare};

/* Runs before the constructors of code that uses the library. */
__attribute__((constructor(101))) static void on_load(void)
{
    if (ss_first_find() != NULL) {
        ss_process_init_idle();
        return;
    }
    ss_process_init();
    ss_thread_init();
    ss_training_init(ss_env_get(SS_ENV_STEPSCOPE_SCHEDULE));
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
