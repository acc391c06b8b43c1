/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators, autograd nodes and record_function's scopes of all threads, as ranges. The payload of
 * a forward operator and of its autograd node is the sequence number, which they share.
 */
#include "inject/torch/torch.h"

#include <stdatomic.h>
#include <string.h>

#include "annot/define.h"
#include "annot/events.h"
#include "annot/facts.h"
#include "annot/names.h"
#include "annot/process.h"
#include "base/device_api.h"
#include "base/shared_names.h"
#include "inject/nccl/operations.h"
#include "inject/torch/torch_check.h"
#include "inject/torch/torch_collectives.h"
#include "inject/torch/torch_copies.h"
#include "inject/torch/torch_cost.h"
#include "inject/torch/torch_library.h"

/* --- names ----------------------------------------------------------------------------------- */

enum { CACHE_SLOTS = 4096 };

/* Per kind: a cache of the last name by the hash of its text. */
struct kind {
    const char *category;
    enum ss_event_type type;
    _Atomic uint32_t category_name;
    _Atomic uint16_t cached_names[CACHE_SLOTS];
};
static struct kind kinds[] = {{"operator", SS_EVENT_TYPE_operator},
                              {"backward", SS_EVENT_TYPE_operator},
                              {"scope", SS_EVENT_TYPE_NONE},
                              {"scope", SS_EVENT_TYPE_collective}};
enum { OPERATOR, BACKWARD, SCOPE, COLLECTIVE };

static uint32_t domain;

/* Hashes the length and the end: many names have the same prefix (aten::, autograd::engine::…). */
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
    return (uint32_t)(hash >> 40) % CACHE_SLOTS;
}

static uint32_t define(struct kind *kind, const char *text, size_t length)
{
    uint32_t category = atomic_load_explicit(&kind->category_name, memory_order_relaxed);
    if (category == 0) {
        category = ss_define_name(kind->category, strlen(kind->category));
        atomic_store_explicit(&kind->category_name, category, memory_order_relaxed);
    }
    return ss_define_styled(ss_define_name(text, length),
                            (struct ss_name_style){.category = category, .type = kind->type});
}

static uint32_t name_in(struct kind *kind, const char *text)
{
    size_t length = strlen(text), known_length;
    _Atomic uint16_t *slot = &kind->cached_names[hash_of(text, length)];
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

/* About the number of events: each thread adds its own in batches, since concurrent threads would
 * otherwise contend at every event. */
enum { EVENT_BATCH = 32 };
static _Atomic uint64_t events;
static _Thread_local uint32_t uncounted_events;

static inline void count_event(void)
{
    if (++uncounted_events == EVENT_BATCH) {
        uncounted_events = 0;
        atomic_fetch_add_explicit(&events, EVENT_BATCH, memory_order_relaxed);
    }
}

/* Begins a range and returns its name; 0: not recorded. */
static inline uint32_t begin(const struct ss_torch_call *call, struct kind *kind)
{
    count_event();
    if (!ss_event_is_on(SS_RING_GATE_RANGES)) {
        return 0;
    }
    uint32_t name = name_in(kind, ss_torch_library.name_of(call));
    size_t offset = ss_torch_layout.sequence;
    int64_t node = offset != 0 ? (int64_t)ss_torch_word(call, offset) : -1;
    ss_event_push_minor(domain, name,
                        node >= 0 ? (struct ss_event_value){(uint64_t)node, SS_RING_VALUE_SIGNED}
                                  : (struct ss_event_value){0});
    return name;
}

/* The operator that Tensor.to and Tensor.cuda call for another device or type; 0: not observed. */
static uint32_t copying_name;
/* The number of open operators of this thread. Many operators convert numbers
 * internally: only the operator that `to` itself calls is observed. */
static _Thread_local uint32_t open_operators;
enum { DEPTH_IN_TO = 2 };

static void **on_operator(void **context, const struct ss_torch_call *call)
{
    *context = NULL;
    uint32_t name = begin(call, &kinds[OPERATOR]);
    if (++open_operators == DEPTH_IN_TO && name == copying_name && name != 0 &&
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

/* Collectives begin on the calling thread and end on a thread of the library: they are cross-thread
 * ranges, found by the address of the call. */
enum { MAX_COLLECTIVES = 256 };
static struct collective {
    _Atomic(const struct ss_torch_call *) call;
    _Atomic uint64_t id;
} collectives[MAX_COLLECTIVES];

static uint64_t begin_event(const struct ss_torch_call *call, const char *text, uint32_t name)
{
    struct ss_event_collective collective;
    if (!ss_torch_collective_next(call, text, &collective)) {
        return ss_event_begin(domain, name, (struct ss_event_value){0});
    }
    if (!collective.has_tag) { /* NCCL's messages have no numbers to be matched with */
        ss_nccl_torch_begins(&collective);
    }
    return ss_event_begin_collective(domain, name, &collective);
}

static void begin_collective(const struct ss_torch_call *call)
{
    const char *text = ss_torch_library.name_of(call);
    bool is_on = ss_event_is_on(SS_RING_GATE_RANGES);
    uint64_t id = begin_event(call, text, is_on ? name_in(&kinds[COLLECTIVE], text) : 0);
    for (size_t i = 0; i < MAX_COLLECTIVES && id != 0; i++) {
        const struct ss_torch_call *expected = NULL;
        if (atomic_compare_exchange_strong(&collectives[i].call, &expected, call)) {
            atomic_store(&collectives[i].id, id);
            return;
        }
    }
}

/* A collective that found no free entry, or began while nothing was recorded, has none. */
static void end_collective(const struct ss_torch_call *call)
{
    for (size_t i = 0; i < MAX_COLLECTIVES; i++) {
        if (atomic_load(&collectives[i].call) == call) {
            uint64_t id = atomic_load(&collectives[i].id);
            atomic_store(&collectives[i].call, NULL);
            ss_event_end(id);
            return;
        }
    }
}

static bool is_collective(const struct ss_torch_call *call)
{
    return ss_collective_scope(ss_strview_of(ss_torch_library.name_of(call)));
}

static void **on_scope(void **context, const struct ss_torch_call *call)
{
    *context = NULL;
    if (!is_collective(call)) {
        begin(call, &kinds[SCOPE]);
    }
    return context;
}

static void on_scope_end(const struct ss_torch_call *call, void *context)
{
    if (!is_collective(call)) {
        on_end(call, context);
    }
}

/* Collectives are recorded in all steps. */
static void **on_collective(void **context, const struct ss_torch_call *call)
{
    *context = NULL;
    if (is_collective(call)) {
        begin_collective(call);
    }
    return context;
}

static void on_collective_end(const struct ss_torch_call *call, void *context)
{
    (void)context;
    if (is_collective(call)) {
        end_collective(call);
    }
}

/* --- the duty cycle --------------------------------------------------------------------------- */

/* Recording tiny operators would take a good part of a step. It may take about
 * BUDGET_PER_MILLE of the whole time: beyond that only some steps are recorded, chosen at random,
 * evenly over the run. */
enum { LOST_SOME = -1 };
enum { BUDGET_PER_MILLE = 12, FIRST_STEPS = 5, CREDIT_STEPS = 10, OBSERVERS = 3 };

static struct {
    uint64_t handles[OBSERVERS];
    bool is_started, is_on;
    enum ss_torch_operators which;
    uint32_t counter;
    /* The number of steps, and values at the start of the current one. */
    uint64_t steps, began_ns, began_events, began_dropped, random;
    double credit_ns, cost_ns;
    struct ss_torch_cost operator_cost;
    double emitted_ns;
} duty_cycle = {.random = 0x9e3779b9};

static void set_enabled(bool on)
{
    static const struct ss_torch_observer observers[OBSERVERS] = {
        {on_operator, on_operator_end, 1, .scopes[SS_TORCH_FUNCTION] = true},
        {on_backward, on_end, 1, .scopes[SS_TORCH_BACKWARD_FUNCTION] = true},
        {on_scope, on_scope_end, 1, .scopes[SS_TORCH_USER_SCOPE] = true}};
    for (size_t i = 0; i < OBSERVERS && on != duty_cycle.is_on; i++) {
        if (on) {
            duty_cycle.handles[i] = ss_torch_library.add(observers[i]);
        } else {
            ss_torch_library.remove(duty_cycle.handles[i]);
        }
    }
    duty_cycle.is_on = on;
}

/* Until the process ends: what happens while nothing is recorded counts, too. */
static void observe_collectives(void)
{
    static const struct ss_torch_observer observer = {on_collective, on_collective_end, 1,
                                                      .scopes[SS_TORCH_USER_SCOPE] = true};
    static bool is_on;
    if (!is_on) {
        ss_torch_library.add(observer);
        is_on = true;
    }
}

/* The credit that recording the next step requires: the cost of one, plus or minus half of it. */
static double threshold(void)
{
    duty_cycle.random =
        duty_cycle.random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    double part = (double)(duty_cycle.random >> 40) / (1 << 24);
    return duty_cycle.cost_ns * (0.5 + part);
}

/* Emits the cost of an operator, for the report; again when the estimate has changed by 10 %. */
static void emit_cost(void)
{
    double ns = duty_cycle.operator_cost.ns;
    if (ns < 0.9 * duty_cycle.emitted_ns || ns > 1.1 * duty_cycle.emitted_ns) {
        duty_cycle.emitted_ns = ns;
        ss_fact_set(ss_define_name(ss_fact_torch_operator_ns, sizeof ss_fact_torch_operator_ns - 1),
                    (struct ss_event_value){(uint64_t)(ns + 0.5), SS_RING_VALUE_SIGNED});
    }
}

/* Updates the credit for the step that ended. */
static void settle(double step_ns, double operators)
{
    if (duty_cycle.is_on) {
        duty_cycle.cost_ns = operators * duty_cycle.operator_cost.ns;
    }
    if (duty_cycle.steps < FIRST_STEPS) {
        duty_cycle.credit_ns = CREDIT_STEPS * duty_cycle.cost_ns;
        return;
    }
    ss_torch_cost_add(&duty_cycle.operator_cost, duty_cycle.is_on, step_ns, operators);
    double most = CREDIT_STEPS * duty_cycle.cost_ns;
    duty_cycle.credit_ns += step_ns * BUDGET_PER_MILLE / 1000;
    duty_cycle.credit_ns -= duty_cycle.is_on ? duty_cycle.cost_ns : 0;
    duty_cycle.credit_ns = duty_cycle.credit_ns < most ? duty_cycle.credit_ns : most;
}

static void emit_state(int value)
{
    struct ss_event_value state = {(uint64_t)(int64_t)value, SS_RING_VALUE_SIGNED};
    ss_event_count(duty_cycle.counter, state);
}

/* A ring that fills up while the recorder sleeps drops events: the step is then marked as
 * incomplete. */
void ss_torch_operators_end_step(void)
{
    uint64_t dropped = duty_cycle.is_started ? ss_process_dropped() : 0;
    if (duty_cycle.is_on && dropped != duty_cycle.began_dropped) {
        emit_state(LOST_SOME);
    }
    duty_cycle.began_dropped = dropped;
}

void ss_torch_operators_step(void)
{
    if (!duty_cycle.is_started) {
        return;
    }
    uint64_t now_ns = ss_stamp_monotonic_ns();
    uint64_t now_events = atomic_load_explicit(&events, memory_order_relaxed);
    settle((double)(now_ns - duty_cycle.began_ns), (double)(now_events - duty_cycle.began_events));
    emit_cost();
    duty_cycle.steps++;
    duty_cycle.began_ns = now_ns;
    duty_cycle.began_events = now_events;
    if (duty_cycle.which == SS_TORCH_OPERATORS_OF_SOME_STEPS) {
        set_enabled(duty_cycle.steps < FIRST_STEPS || duty_cycle.credit_ns >= threshold());
    }
    emit_state(duty_cycle.is_on);
}

/* --- set-up ---------------------------------------------------------------------------------- */

void ss_torch_operators_start(enum ss_torch_operators which)
{
    duty_cycle.is_started = true;
    duty_cycle.which = which;
    duty_cycle.steps = 0;
    duty_cycle.counter =
        ss_define_name(ss_counter_operators_recorded, sizeof ss_counter_operators_recorded - 1);
    ss_define_counter(duty_cycle.counter, 0, SS_RING_GAUGE);
    ss_torch_cost_init(&duty_cycle.operator_cost);
    duty_cycle.emitted_ns = 0; /* a new recording has no value yet */
    domain = ss_define_domain("torch", 5);
    copying_name = ss_torch_copies_init() ? name_in(&kinds[OPERATOR], "aten::_to_copy") : 0;
    set_enabled(which != SS_TORCH_COLLECTIVES_ONLY);
    observe_collectives();
}

void ss_torch_operators_stop(void)
{
    set_enabled(false);
    duty_cycle.is_started = false;
}
