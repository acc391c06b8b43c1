/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators, autograd nodes and record_function's scopes, as ranges of all threads. What a forward
 * operator and its node have in common, the number of the node, is their payload.
 */
#include "inject/torch.h"

#include <stdatomic.h>
#include <string.h>

#include "annot/define.h"
#include "annot/events.h"
#include "annot/facts.h"
#include "annot/names.h"
#include "annot/process.h"
#include "inject/torch_check.h"
#include "inject/torch_copies.h"
#include "inject/torch_cost.h"
#include "inject/torch_library.h"

/* --- names ----------------------------------------------------------------------------------- */

enum { KNOWN_SLOTS = 4096 };

/* By kind: which name a text of this hash was, last time. */
struct kind {
    const char *category;
    _Atomic uint32_t category_name;
    _Atomic uint16_t known[KNOWN_SLOTS];
};
static struct kind kinds[] = {{"operator"}, {"backward"}, {"scope"}};
enum { OPERATOR, BACKWARD, SCOPE };

static uint32_t domain;

/* Of its length and its end: names that begin alike are many (aten::, autograd::engine::…). */
static uint32_t hash_of(const char *text, size_t length)
{
    uint64_t words[2] = {0};
    if (length >= sizeof words) {
        memcpy(words, text + length - sizeof words, sizeof words);
    } else if (length >= sizeof *words) {
        memcpy(&words[0], text, sizeof *words);
        memcpy(&words[1], text + length - sizeof *words, sizeof *words);
    } else {
        memcpy(words, text, length);
    }
    uint64_t hash = (words[0] ^ length) * UINT64_C(0x9e3779b97f4a7c15);
    hash = (hash ^ hash >> 29 ^ words[1]) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(hash >> 40) % KNOWN_SLOTS;
}

static uint32_t define(struct kind *kind, const char *text, size_t length)
{
    uint32_t category = atomic_load_explicit(&kind->category_name, memory_order_relaxed);
    if (category == 0) {
        category = ss_define_name(kind->category, strlen(kind->category));
        atomic_store_explicit(&kind->category_name, category, memory_order_relaxed);
    }
    return ss_define_styled(ss_define_name(text, length), 0, category);
}

static uint32_t name_in(struct kind *kind, const char *text)
{
    size_t length = strlen(text), known_length;
    _Atomic uint16_t *slot = &kind->known[hash_of(text, length)];
    uint32_t name = atomic_load_explicit(slot, memory_order_relaxed);
    const char *known = name != 0 ? ss_names_text(name, &known_length) : NULL;
    if (__builtin_expect(
            known == NULL || known_length != length || memcmp(known, text, length) != 0, 0)) {
        name = define(kind, text, length);
        atomic_store_explicit(slot, (uint16_t)name, memory_order_relaxed);
    }
    return name;
}
_Static_assert(SS_RING_MAX_NAMES <= UINT16_MAX + 1, "a name fits its slot");

/* --- events ---------------------------------------------------------------------------------- */

/* How many there were, about: a thread adds its own now and then, or threads that run at the same
 * time would wait for one another at each. */
enum { EVENTS_AT_ONCE = 32 };
static _Atomic uint64_t events;
static _Thread_local uint32_t uncounted_events;

static inline void count_event(void)
{
    if (++uncounted_events == EVENTS_AT_ONCE) {
        uncounted_events = 0;
        atomic_fetch_add_explicit(&events, EVENTS_AT_ONCE, memory_order_relaxed);
    }
}

/* Returns its name; 0: not recorded. */
static inline uint32_t begin(const struct ss_torch_call *call, struct kind *kind)
{
    count_event();
    if (!ss_event_is_on(SS_RING_GATE_RANGES)) {
        return 0;
    }
    uint32_t name = name_in(kind, ss_torch_library.name_of(call));
    size_t place = ss_torch_layout.sequence;
    int64_t node = place != 0 ? (int64_t)ss_torch_word(call, place) : -1;
    ss_event_push_minor(domain, name,
                        node >= 0 ? (struct ss_event_value){(uint64_t)node, SS_RING_VALUE_SIGNED}
                                  : (struct ss_event_value){0});
    return name;
}

/* What a tensor's `to` and `cuda` call for another device or type; 0: it is not to be watched. */
static uint32_t copying_name;
/* Operators that this thread is in, and nodes. Those that convert a number inside another operator
 * are many: only what `to` itself calls is watched. */
static _Thread_local uint32_t open_operators;
enum { WITHIN_TO = 2 };

static void **on_operator(void **context, const struct ss_torch_call *call)
{
    *context = NULL;
    uint32_t name = begin(call, &kinds[OPERATOR]);
    if (++open_operators == WITHIN_TO && name == copying_name && name != 0 &&
        ss_torch_module_depth() == 0) {
        ss_torch_copies_begin(call);
    }
    return context;
}

static void **on_backward(void **context, const struct ss_torch_call *call)
{
    *context = NULL;
    begin(call, &kinds[BACKWARD]);
    return context;
}

static void on_end(const struct ss_torch_call *call, void *context)
{
    (void)call;
    (void)context;
    ss_event_pop_minor(domain);
}

static void on_operator_end(const struct ss_torch_call *call, void *context)
{
    if (ss_torch_copies_are_of(call)) {
        ss_torch_copies_end();
    }
    open_operators--;
    on_end(call, context);
}

/* Collectives begin on the thread that asks and end on one of the library's: as ranges that any
 * thread may end, which are found by the object's address. */
enum { MOST_FAR = 256 };
static struct far {
    _Atomic(const struct ss_torch_call *) call;
    _Atomic uint64_t id;
} far_ranges[MOST_FAR];

static bool is_far(const char *name)
{
    static const char *const stems[] = {"gloo:", "nccl:", "mpi:", "ucc:", "xccl:", "c10d::"};
    for (size_t i = 0; i < sizeof stems / sizeof *stems; i++) {
        if (strncmp(name, stems[i], strlen(stems[i])) == 0) {
            return true;
        }
    }
    return false;
}

static void begin_far(const struct ss_torch_call *call, uint32_t name)
{
    for (size_t i = 0; i < MOST_FAR; i++) {
        const struct ss_torch_call *expected = NULL;
        if (atomic_compare_exchange_strong(&far_ranges[i].call, &expected, call)) {
            atomic_store(&far_ranges[i].id,
                         ss_event_begin(domain, name, (struct ss_event_value){0}));
            return;
        }
    }
}

/* One that found no place, or began unrecorded, is not there. */
static void end_far(const struct ss_torch_call *call)
{
    for (size_t i = 0; i < MOST_FAR; i++) {
        if (atomic_load(&far_ranges[i].call) == call) {
            uint64_t id = atomic_load(&far_ranges[i].id);
            atomic_store(&far_ranges[i].call, NULL);
            ss_event_end(id);
            return;
        }
    }
}

static void **on_scope(void **context, const struct ss_torch_call *call)
{
    *context = NULL;
    const char *name = ss_torch_library.name_of(call);
    if (is_far(name)) {
        if (ss_event_is_on(SS_RING_GATE_RANGES)) {
            begin_far(call, name_in(&kinds[SCOPE], name));
        }
    } else {
        begin(call, &kinds[SCOPE]);
    }
    return context;
}

static void on_scope_end(const struct ss_torch_call *call, void *context)
{
    if (is_far(ss_torch_library.name_of(call))) {
        end_far(call);
    } else {
        on_end(call, context);
    }
}

/* --- how many steps -------------------------------------------------------------------------- */

/* With tiny operators their recording would be a good part of a step. It may cost about this
 * part of the time on the whole: then only some steps are recorded, at random, evenly over the run.
 */
enum { LOST_SOME = -1 };
enum { BUDGET_PER_MILLE = 12, FIRST_STEPS = 5, CREDIT_STEPS = 10 };

static struct {
    uint64_t handles[sizeof kinds / sizeof *kinds];
    bool is_started, is_on, all;
    uint32_t counter;
    /* Of the steps so far. */
    uint64_t steps, began_ns, began_events, began_dropped, random;
    double credit_ns, cost_ns;
    struct ss_torch_cost of_one;
    double told_ns;
} course = {.random = 0x9e3779b9};

static void turn(bool on)
{
    static const struct ss_torch_observer observers[] = {
        {on_operator, on_operator_end, 1, .scopes[SS_TORCH_FUNCTION] = true},
        {on_backward, on_end, 1, .scopes[SS_TORCH_BACKWARD_FUNCTION] = true},
        {on_scope, on_scope_end, 1, .scopes[SS_TORCH_USER_SCOPE] = true}};
    for (size_t i = 0; i < sizeof observers / sizeof *observers && on != course.is_on; i++) {
        if (on) {
            course.handles[i] = ss_torch_library.add(observers[i]);
        } else {
            ss_torch_library.remove(course.handles[i]);
        }
    }
    course.is_on = on;
}

/* What is to be saved up before a step is recorded: what one costs, give or take a half. */
static double threshold(void)
{
    course.random = course.random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    double part = (double)(course.random >> 40) / (1 << 24);
    return course.cost_ns * (0.5 + part);
}

/* What an operator costs, for the report; again when it turns out to be another. */
static void tell_cost(void)
{
    static const char key[] = "torch.operator_ns";
    double ns = course.of_one.ns;
    if (ns < 0.9 * course.told_ns || ns > 1.1 * course.told_ns) {
        course.told_ns = ns;
        ss_fact_tell(ss_define_name(key, sizeof key - 1),
                     (struct ss_event_value){(uint64_t)(ns + 0.5), SS_RING_VALUE_SIGNED});
    }
}

/* The step that is over, in what is saved up. */
static void pay(double step_ns, double operators)
{
    if (course.is_on) {
        course.cost_ns = operators * course.of_one.ns;
    }
    if (course.steps < FIRST_STEPS) {
        course.credit_ns = CREDIT_STEPS * course.cost_ns;
        return;
    }
    ss_torch_cost_see(&course.of_one, course.is_on, step_ns, operators);
    double most = CREDIT_STEPS * course.cost_ns;
    course.credit_ns += step_ns * BUDGET_PER_MILLE / 1000;
    course.credit_ns -= course.is_on ? course.cost_ns : 0;
    course.credit_ns = course.credit_ns < most ? course.credit_ns : most;
}

static void tell(int value)
{
    struct ss_event_value told = {(uint64_t)(int64_t)value, SS_RING_VALUE_SIGNED};
    ss_event_count(course.counter, told);
}

/* A ring that is full while the recorder sleeps loses some: then this step is none to count by. */
void ss_torch_operators_end_step(void)
{
    uint64_t dropped = course.is_started ? ss_process_dropped() : 0;
    if (course.is_on && dropped != course.began_dropped) {
        tell(LOST_SOME);
    }
    course.began_dropped = dropped;
}

void ss_torch_operators_step(void)
{
    if (!course.is_started) {
        return;
    }
    uint64_t now_ns = ss_stamp_monotonic_ns();
    uint64_t now_events = atomic_load_explicit(&events, memory_order_relaxed);
    pay((double)(now_ns - course.began_ns), (double)(now_events - course.began_events));
    tell_cost();
    course.steps++;
    course.began_ns = now_ns;
    course.began_events = now_events;
    if (!course.all) {
        turn(course.steps < FIRST_STEPS || course.credit_ns >= threshold());
    }
    tell(course.is_on);
}

/* --- set-up ---------------------------------------------------------------------------------- */

void ss_torch_operators_start(bool all)
{
    static const char counter[] = "operators recorded";
    course.is_started = true;
    course.all = all;
    course.steps = 0;
    course.counter = ss_define_name(counter, sizeof counter - 1);
    ss_define_counter(course.counter, 0, SS_RING_GAUGE);
    ss_torch_cost_init(&course.of_one);
    course.told_ns = 0; /* another recording has not heard of it */
    domain = ss_define_domain("torch", 5);
    copying_name = ss_torch_copies_init() ? name_in(&kinds[OPERATOR], "aten::_to_copy") : 0;
    turn(true);
}

void ss_torch_operators_stop(void)
{
    turn(false);
    course.is_started = false;
}
