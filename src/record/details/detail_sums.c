/* SPDX-License-Identifier: Apache-2.0 */
#include "record/details/detail_sums.h"

enum { NUMBERS = 1 << 14, MOST_SUMS = 1 << 14 };

struct key {
    uint32_t kind, name, module, in_backward;
};

void ss_detail_sums_init(struct ss_detail_sums *sums)
{
    *sums = (struct ss_detail_sums){0};
    ss_intern_init(&sums->keys);
}

void ss_detail_sums_fini(struct ss_detail_sums *sums)
{
    ss_intern_fini(&sums->keys);
    ss_vec_fini(&sums->rows);
    ss_free(sums->numbers);
    *sums = (struct ss_detail_sums){0};
}

void ss_detail_sums_clear(struct ss_detail_sums *sums)
{
    ss_intern_fini(&sums->keys);
    ss_intern_init(&sums->keys);
    ss_vec_clear(&sums->rows);
}

/* --- modules ---------------------------------------------------------------------------------- */

/* Sequence numbers count up: the last ones are in different slots. */
static struct ss_detail_number *slot_of(struct ss_detail_sums *sums, uint64_t number)
{
    if (sums->numbers == NULL) {
        sums->numbers = ss_alloc_zero(NUMBERS, sizeof *sums->numbers);
    }
    return &sums->numbers[number % NUMBERS];
}

static bool numbers(const struct ss_annot_event *event)
{
    return event->value_type == SS_RING_VALUE_SIGNED && (int64_t)event->value >= 0;
}

/* A forward operator belongs to the innermost open module, a node of autograd to that of its
 * forward operator, all others to that of the call around them. */
static uint32_t module_of(struct ss_detail_sums *sums, const struct ss_detail_nest *modules,
                          const struct ss_detail_call *outer, const struct ss_annot_event *event,
                          enum ss_detail_name what)
{
    uint32_t inherited = outer != NULL ? outer->module : 0;
    if (what == SS_DETAIL_NAME_BACKWARD) {
        bool is_known = numbers(event) && slot_of(sums, event->value)->number == event->value + 1;
        return is_known ? slot_of(sums, event->value)->module : inherited;
    }
    if (outer != NULL && outer->in_backward) {
        return inherited;
    }
    uint32_t module =
        modules->open.count > 0 ? modules->open.data[modules->open.count - 1].name : inherited;
    if (numbers(event)) {
        *slot_of(sums, event->value) = (struct ss_detail_number){event->value + 1, module};
    }
    return module;
}

/* --- calls ------------------------------------------------------------------------------------ */

void ss_detail_sums_begin(struct ss_detail_sums *sums, struct ss_detail_nest *nest,
                          const struct ss_detail_nest *modules, const struct ss_annot_event *event,
                          enum ss_detail_name what, bool is_written)
{
    struct ss_detail_call *outer =
        nest->open.count > 0 ? &nest->open.data[nest->open.count - 1] : NULL;
    struct ss_detail_call call = {
        .begin_ns = event->time_ns, .name = event->name, .is_written = is_written};
    if (modules != NULL) {
        call.module = module_of(sums, modules, outer, event, what);
        call.in_backward = what == SS_DETAIL_NAME_BACKWARD || (outer != NULL && outer->in_backward);
    }
    if (outer != NULL) {
        outer->inner_calls++;
        outer->inner_name = event->name;
        outer->inner_sum = 0;
    }
    ss_vec_push(&nest->open, call);
}

static uint32_t find_sum(struct ss_detail_sums *sums, enum ss_detail_kind kind,
                         const struct ss_detail_call *call)
{
    bool is_crowded = sums->rows.count >= MOST_SUMS;
    struct key key = {.kind = (uint32_t)kind,
                      .name = call->name,
                      .module = is_crowded ? 0 : call->module,
                      .in_backward = call->in_backward};
    uint32_t id = ss_intern_put(&sums->keys, (const char *)&key, sizeof key);
    if (id > sums->rows.count) {
        ss_vec_push(&sums->rows, (struct ss_detail_sum){.kind = kind,
                                                        .name = key.name,
                                                        .module = key.module,
                                                        .in_backward = call->in_backward});
    }
    return id;
}

static bool is_recursion(const struct ss_detail_nest *nest, uint32_t name)
{
    for (size_t i = nest->open.count; i-- > 0;) {
        if (nest->open.data[i].name == name) {
            return true;
        }
    }
    return false;
}

/* Uncounts the only inner call of a call, of the same name. */
static void join(struct ss_detail_sums *sums, const struct ss_detail_call *call)
{
    if (call->inner_calls != 1 || call->inner_name != call->name || call->inner_sum == 0 ||
        call->inner_sum > sums->rows.count) {
        return;
    }
    struct ss_detail_sum *inner = &sums->rows.data[call->inner_sum - 1];
    if (inner->name == call->name && inner->calls > 0) { /* else rows were cleared in between */
        inner->calls--;
    }
}

/* Returns the sum that the call was added to. */
static uint32_t add_call(struct ss_detail_sums *sums, const struct ss_detail_nest *nest,
                         enum ss_detail_kind kind, const struct ss_detail_call *call, uint64_t ns)
{
    uint32_t id = find_sum(sums, kind, call);
    struct ss_detail_sum *sum = &sums->rows.data[id - 1];
    sum->calls++;
    sum->self_ns += ns > call->inner_ns ? ns - call->inner_ns : 0;
    sum->total_ns += is_recursion(nest, call->name) ? 0 : ns;
    if (kind == SS_DETAIL_OPERATORS) {
        join(sums, call);
    }
    return id;
}

void ss_detail_sums_mark(struct ss_detail_sums *sums, uint32_t name)
{
    const struct ss_detail_call mark = {.name = name};
    sums->rows.data[find_sum(sums, SS_DETAIL_RANGES, &mark) - 1].calls++;
}

bool ss_detail_sums_end(struct ss_detail_sums *sums, struct ss_detail_nest *nest,
                        enum ss_detail_kind kind, uint64_t end_ns)
{
    if (nest->open.count == 0) {
        return true; /* it began before anything was left out */
    }
    struct ss_detail_call call = nest->open.data[--nest->open.count];
    uint64_t ns = end_ns > call.begin_ns ? end_ns - call.begin_ns : 0;
    uint32_t id = kind != SS_DETAIL_NONE ? add_call(sums, nest, kind, &call, ns) : 0;
    if (nest->open.count > 0) {
        struct ss_detail_call *outer = &nest->open.data[nest->open.count - 1];
        outer->inner_ns += ns;
        outer->inner_sum = id;
    }
    return call.is_written;
}
