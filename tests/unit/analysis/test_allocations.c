/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/allocations.h"

#include <string.h>

#include "analysis/allocation_tables.h"
#include "base/alloc.h"
#include "model/domains.h"

#include "../model_builder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { GPU = 1 };

/* A process with a main thread and a thread of autograd, and allocations on both. */
struct program {
    struct ss_model model;
    uint32_t process;
    uint32_t memory, torch, backward_memory, backward_torch;
    struct ss_selection selection;
    struct ss_step_summary training;
    struct ss_allocations allocations;
    struct ss_arena arena;
};

static void add_field(struct ss_model *model, uint16_t field, uint64_t natural)
{
    ss_vec_push(&model->fields,
                (struct ss_model_field){.field = field, .type = SS_VALUE_UINT, .natural = natural});
}

struct built_allocation {
    uint32_t track;
    uint64_t time_ns;
    int64_t bytes;
    uint64_t address; /* 0: none */
    const char *name; /* NULL: "[memory]" */
    const char *category, *stack;
    uint64_t allocated, reserved, requested; /* 0: none */
    bool is_on_host;
};
#define ALLOCATE(program, ...) allocate(program, (struct built_allocation){__VA_ARGS__})

static void allocate(struct program *program, struct built_allocation event)
{
    struct ss_model *model = &program->model;
    bool is_plain = event.name == NULL;
    uint32_t name = build_name(model, is_plain ? "[memory]" : event.name, event.category);
    model->names.data[name].type = is_plain ? SS_EVENT_TYPE_allocation : SS_EVENT_TYPE_instant;
    uint32_t first = (uint32_t)model->fields.count;
    if (!event.is_on_host) {
        add_field(model, SS_EVENT_FIELD_device, GPU);
    }
    if (event.address != 0) {
        add_field(model, SS_EVENT_FIELD_address, event.address);
    }
    if (event.allocated != 0) {
        add_field(model, SS_EVENT_FIELD_allocated_bytes, event.allocated);
    }
    if (event.reserved != 0) {
        add_field(model, SS_EVENT_FIELD_reserved_bytes, event.reserved);
    }
    if (event.requested != 0) {
        add_field(model, SS_EVENT_FIELD_bytes, event.requested);
    }
    if (event.stack != NULL) {
        ss_vec_push(&model->fields,
                    (struct ss_model_field){.field = SS_EVENT_FIELD_stack,
                                            .type = SS_VALUE_TEXT,
                                            .text = build_text(model, event.stack)});
    }
    ss_vec_push(&model->fields, (struct ss_model_field){0});
    ss_vec_push(&model->payloads, (struct ss_model_payload){.type = SS_VALUE_INT,
                                                            .first_field = first,
                                                            .integer = event.bytes});
    ss_vec_push(&model->marks,
                (struct ss_model_mark){.time_ns = event.time_ns,
                                       .track = event.track != 0 ? event.track : program->memory,
                                       .name = name,
                                       .payload = (uint32_t)model->payloads.count - 1});
}

static void begin(struct program *program)
{
    struct ss_model *model = &program->model;
    *program = (struct program){0};
    ss_model_init(model);
    ss_model_new_input(model, SS_INPUT_IMPORT, "x");
    ss_vec_push(&model->devices, (struct ss_model_device){.kind = SS_DEVICE_GPU, .number = 0});
    assert_int_equal(model->devices.count - 1, GPU);
    program->process = BUILD_PROCESS(model, .pid = 42);
    uint32_t thread = BUILD_THREAD(model, .process = program->process, .tid = 42, .is_main = true);
    uint32_t autograd = BUILD_THREAD(model, .process = program->process, .tid = 43);
    program->memory = BUILD_TRACK(model, .kind = SS_TRACK_RANGES, .process = program->process,
                                  .thread = thread, .name = SS_DOMAIN_MEMORY);
    program->torch = BUILD_TRACK(model, .kind = SS_TRACK_RANGES, .process = program->process,
                                 .thread = thread, .name = "torch");
    program->backward_memory =
        BUILD_TRACK(model, .kind = SS_TRACK_RANGES, .process = program->process, .thread = autograd,
                    .name = SS_DOMAIN_MEMORY);
    program->backward_torch =
        BUILD_TRACK(model, .kind = SS_TRACK_RANGES, .process = program->process, .thread = autograd,
                    .name = "torch");
}

static void analyse(struct program *program)
{
    struct ss_selection_options options = {.idle = SS_IDLE_MAIN};
    struct ss_steps_options steps = {0};
    assert_int_equal(ss_selection_init(&program->selection, &program->model, &options, NULL),
                     SS_OK);
    ss_step_summary_init(&program->training, &program->selection, &steps);
    ss_allocations_init(&program->allocations, &program->selection, &program->training);
}

static void end(struct program *program)
{
    ss_allocations_fini(&program->allocations);
    ss_step_summary_fini(&program->training);
    ss_selection_fini(&program->selection);
    ss_model_fini(&program->model);
    ss_arena_fini(&program->arena);
}

/* When the allocation, of the first pool, was freed. */
static uint64_t freed_at(const struct program *program, const struct ss_allocation *row)
{
    return program->allocations.pools.data[0].points.data[row->end].time_ns;
}

static const struct ss_allocation *find(const struct program *program, uint64_t address)
{
    const struct ss_allocation *found = NULL;
    for (size_t i = 0; i < program->allocations.rows.count; i++) {
        const struct ss_allocation *row = &program->allocations.rows.data[i];
        if (row->address == address) {
            assert_null(found);
            found = row;
        }
    }
    assert_non_null(found);
    return found;
}

static void check_category(const struct program *program, uint64_t address, const char *category)
{
    const struct ss_allocation *row = find(program, address);
    assert_string_equal(ss_allocation_category_text((enum ss_allocation_category)row->category),
                        category);
}

/* An operator, of a numbered forward where `number` is not -1. */
static void add_operator(struct program *program, uint32_t track, const char *name,
                         const char *category, uint64_t begin_ns, uint64_t end_ns, int64_t number)
{
    struct ss_model *model = &program->model;
    uint32_t row = build_name(model, name, category);
    model->names.data[row].type = SS_EVENT_TYPE_operator;
    BUILD_RANGE(model, .track = track, .name = name, .category = category, .begin_ns = begin_ns,
                .end_ns = end_ns, .payload = number >= 0 ? build_integer(model, number) : 0);
}

/* --- a training ---------------------------------------------------------------------------------
 */

/* The ranges of two passes, the second 1000 ns after the first. */
static void add_passes(struct program *program)
{
    for (uint64_t at = 1000; at <= 2000; at += 1000) {
        add_operator(program, program->torch, "enumerate(DataLoader)#_Iter.__next__", "operator",
                     at, at + 100, -1);
        add_operator(program, program->torch, "aten::linear", "operator", at + 100, at + 400, 7);
        add_operator(program, program->torch, "Optimizer.step#SGD.step", "operator", at + 700,
                     at + 900, -1);
    }
    for (uint64_t at = 1000; at <= 2000; at += 1000) {
        add_operator(program, program->backward_torch,
                     "autograd::engine::evaluate_function: AddmmBackward0", "backward", at + 400,
                     at + 650, 7);
    }
}

static void add_training(struct program *program)
{
    add_passes(program);
    ALLOCATE(program, .time_ns = 100, .bytes = 4000, .address = 1); /* a parameter */
    ALLOCATE(program, .time_ns = 110, .bytes = 100, .address = 2);
    ALLOCATE(program, .time_ns = 120, .bytes = -100, .address = 2);
    ALLOCATE(program, .time_ns = 1050, .bytes = 512, .address = 3);  /* the batch */
    ALLOCATE(program, .time_ns = 1150, .bytes = 1000, .address = 4); /* an activation */
    ALLOCATE(program, .time_ns = 1160, .bytes = 300, .address = 5);
    ALLOCATE(program, .time_ns = 1170, .bytes = -300, .address = 5);
    ALLOCATE(program, .time_ns = 1180, .bytes = 16, .address = 13); /* the loss */
    ALLOCATE(program, .track = program->backward_memory, .time_ns = 1450, .bytes = 4000,
             .address = 6); /* a gradient */
    ALLOCATE(program, .track = program->backward_memory, .time_ns = 1460, .bytes = 200,
             .address = 7);
    ALLOCATE(program, .track = program->backward_memory, .time_ns = 1480, .bytes = -200,
             .address = 7);
    ALLOCATE(program, .track = program->backward_memory, .time_ns = 1500, .bytes = -1000,
             .address = 4);
    ALLOCATE(program, .time_ns = 1750, .bytes = 8000, .address = 8); /* momentum */
    ALLOCATE(program, .time_ns = 1760, .bytes = 50, .address = 9);
    ALLOCATE(program, .time_ns = 1770, .bytes = -50, .address = 9);
    ALLOCATE(program, .time_ns = 1950, .bytes = -4000, .address = 6);
    ALLOCATE(program, .time_ns = 2050, .bytes = 512, .address = 10);
    ALLOCATE(program, .time_ns = 2060, .bytes = -512, .address = 3);
    ALLOCATE(program, .time_ns = 2150, .bytes = 1000, .address = 11);
    ALLOCATE(program, .time_ns = 2180, .bytes = 16, .address = 14);
    ALLOCATE(program, .time_ns = 2190, .bytes = -16, .address = 13);
    ALLOCATE(program, .track = program->backward_memory, .time_ns = 2450, .bytes = 4000,
             .address = 12);
    ALLOCATE(program, .time_ns = 2800, .bytes = 64, .address = 15); /* the recording ends in it */
}

static void test_categories(void **state)
{
    struct program program;
    (void)state;
    begin(&program);
    add_training(&program);
    analyse(&program);
    check_category(&program, 1, "parameters");
    check_category(&program, 2, "unknown"); /* no phase was seen yet */
    check_category(&program, 3, "input");
    check_category(&program, 4, "activations");
    check_category(&program, 5, "temporaries");
    check_category(&program, 6, "gradients");
    check_category(&program, 7, "autograd");
    check_category(&program, 8, "optimizer state");
    check_category(&program, 9, "temporaries");
    check_category(&program, 10, "input");
    check_category(&program, 11, "activations");
    check_category(&program, 12, "gradients");
    check_category(&program, 13, "activations");
    check_category(&program, 14, "activations");
    check_category(&program, 15, "unknown");
    end(&program);
}

static void test_peak(void **state)
{
    struct program program;
    (void)state;
    begin(&program);
    add_training(&program);
    analyse(&program);
    assert_int_equal(program.allocations.pools.count, 1);
    const struct ss_allocation_pool *pool = &program.allocations.pools.data[0];
    /* parameter, batch, activation, loss, momentum, gradient, and what came last */
    const struct ss_allocation_point *peak = ss_allocation_pool_peak(pool);
    assert_int_equal(peak->allocated, 4000 + 512 + 1000 + 16 + 8000 + 4000 + 64);
    assert_int_equal(peak->time_ns, 2800);
    assert_int_equal(pool->peak_code.phase, SS_ALLOCATION_OPTIMIZER);
    assert_int_equal(pool->peak_bytes[SS_ALLOCATION_PARAMETERS], 4000);
    assert_int_equal(pool->peak_bytes[SS_ALLOCATION_INPUT], 512);
    assert_int_equal(pool->peak_bytes[SS_ALLOCATION_ACTIVATIONS], 1016);
    assert_int_equal(pool->peak_bytes[SS_ALLOCATION_OPTIMIZER_STATE], 8000);
    assert_int_equal(pool->peak_bytes[SS_ALLOCATION_GRADIENTS], 4000);
    assert_int_equal(pool->peak_bytes[SS_ALLOCATION_TEMPORARIES], 0);
    assert_int_equal(pool->peak_bytes[SS_ALLOCATION_UNKNOWN], 64);
    assert_int_equal(pool->allocations, 15);
    assert_true(pool->has_addresses);
    assert_false(pool->is_whole);
    assert_int_equal(freed_at(&program, find(&program, 4)), 1500);
    assert_int_equal(ss_allocation_pool_peak_in(pool, 1000, 1400)->allocated, 4000 + 512 + 1300);
    assert_int_equal(ss_allocation_pool_peak_in(pool, 1120, 1130)->allocated, 4000 + 512);
    assert_null(ss_allocation_pool_peak_in(pool, 0, 50));
    end(&program);
}

/* The code of the innermost operator that does more than allocate. */
static void test_operators(void **state)
{
    struct program program;
    (void)state;
    begin(&program);
    struct ss_model *model = &program.model;
    uint32_t linear = build_name(model, "aten::linear", "operator");
    uint32_t empty = build_name(model, "aten::empty", "operator");
    model->names.data[linear].type = model->names.data[empty].type = SS_EVENT_TYPE_operator;
    uint32_t path = BUILD_RANGE(model, .track = program.torch, .name = "aten::linear",
                                .category = "operator", .begin_ns = 10, .end_ns = 50);
    BUILD_RANGE(model, .track = program.torch, .around = path, .name = "aten::empty",
                .category = "operator", .begin_ns = 20, .end_ns = 30);
    BUILD_RANGE(model, .track = program.torch, .name = "aten::empty", .category = "operator",
                .begin_ns = 60, .end_ns = 70);
    ALLOCATE(&program, .time_ns = 25, .bytes = 8, .address = 1);
    ALLOCATE(&program, .time_ns = 65, .bytes = 8, .address = 2);
    ALLOCATE(&program, .time_ns = 80, .bytes = 8, .address = 3);
    analyse(&program);
    assert_int_equal(find(&program, 1)->code.operator_name, linear);
    assert_int_equal(find(&program, 2)->code.operator_name, empty);
    assert_int_equal(find(&program, 3)->code.operator_name, 0);
    end(&program);
}

/* --- totals and pairs ---------------------------------------------------------------------------
 */

/* The first total says how much was there before; a free without an allocation is a part of it. */
static void test_base(void **state)
{
    struct program program;
    (void)state;
    begin(&program);
    ALLOCATE(&program, .time_ns = 10, .bytes = 100, .address = 1, .allocated = 1100,
             .reserved = 4096);
    ALLOCATE(&program, .time_ns = 20, .bytes = -300, .address = 2, .allocated = 800,
             .reserved = 4096);
    ALLOCATE(&program, .time_ns = 30, .bytes = 50, .address = 3, .allocated = 850,
             .reserved = 8192);
    analyse(&program);
    const struct ss_allocation_pool *pool = &program.allocations.pools.data[0];
    assert_true(pool->is_whole);
    assert_int_equal(pool->base_bytes, 700);
    assert_int_equal(pool->points.data[0].allocated, 1000);
    assert_int_equal(ss_allocation_pool_peak(pool)->allocated, 1100);
    assert_int_equal(ss_allocation_pool_peak(pool)->reserved, 4096);
    assert_int_equal(pool->reserved_peak, 8192);
    assert_int_equal(pool->peak_bytes[SS_ALLOCATION_BEFORE],
                     1000); /* 300 of them have an address */
    assert_int_equal(find(&program, 2)->begin, 0);
    check_category(&program, 2, "before");
    check_category(&program, 1, "unknown");
    end(&program);
}

/* Without addresses there are totals and counts, but nothing is alive by name. */
static void test_no_addresses(void **state)
{
    struct program program;
    (void)state;
    begin(&program);
    ALLOCATE(&program, .time_ns = 10, .bytes = 100);
    ALLOCATE(&program, .time_ns = 20, .bytes = -250);
    ALLOCATE(&program, .time_ns = 30, .bytes = 60);
    analyse(&program);
    const struct ss_allocation_pool *pool = &program.allocations.pools.data[0];
    assert_false(pool->is_whole);
    assert_false(pool->has_addresses);
    assert_int_equal(pool->base_bytes, 150); /* at least that much was there */
    assert_int_equal(ss_allocation_pool_peak(pool)->allocated, 250);
    assert_int_equal(pool->peak_bytes[SS_ALLOCATION_BEFORE], 150);
    assert_int_equal(pool->peak_bytes[SS_ALLOCATION_UNKNOWN], 100);
    assert_int_equal(pool->allocations, 2);
    assert_int_equal(pool->allocated_bytes, 160);
    end(&program);
}

/* What the recording states of itself counts more than rules. */
static void test_stated(void **state)
{
    struct program program;
    (void)state;
    begin(&program);
    ALLOCATE(&program, .name = SS_MARK_ALLOCATED_BEFORE, .time_ns = 10, .bytes = 100,
             .category = "parameters");
    ALLOCATE(&program, .time_ns = 10, .bytes = 40, .category = "activations");
    ALLOCATE(&program, .time_ns = 20, .bytes = -40, .category = "activations");
    ALLOCATE(&program, .time_ns = 30, .bytes = 70, .category = "gradients");
    analyse(&program);
    const struct ss_allocation_pool *pool = &program.allocations.pools.data[0];
    assert_true(pool->is_whole);
    assert_int_equal(ss_allocation_pool_peak(pool)->allocated, 170);
    assert_int_equal(pool->peak_bytes[SS_ALLOCATION_PARAMETERS], 100);
    assert_int_equal(pool->peak_bytes[SS_ALLOCATION_ACTIVATIONS], 0);
    assert_int_equal(pool->peak_bytes[SS_ALLOCATION_GRADIENTS], 70);
    end(&program);
}

/* An address that is allocated again without a free: the first ends there, and it is counted. */
static void test_unpaired(void **state)
{
    struct program program;
    (void)state;
    begin(&program);
    ALLOCATE(&program, .time_ns = 10, .bytes = 100, .address = 1);
    ALLOCATE(&program, .time_ns = 20, .bytes = 30, .address = 1);
    ALLOCATE(&program, .time_ns = 30, .bytes = -30, .address = 1);
    analyse(&program);
    assert_int_equal(program.allocations.pools.data[0].unpaired, 1);
    assert_int_equal(program.allocations.rows.count, 2);
    assert_int_equal(freed_at(&program, &program.allocations.rows.data[0]), 20);
    assert_int_equal(freed_at(&program, &program.allocations.rows.data[1]), 30);
    end(&program);
}

/* Devices come before the host. */
static void test_pools(void **state)
{
    struct program program;
    (void)state;
    begin(&program);
    ALLOCATE(&program, .time_ns = 5, .bytes = 9000, .address = 1, .is_on_host = true);
    ALLOCATE(&program, .time_ns = 10, .bytes = 100, .address = 1);
    analyse(&program);
    assert_int_equal(program.allocations.pools.count, 2);
    assert_int_equal(program.allocations.pools.data[0].device, GPU);
    assert_int_equal(program.allocations.pools.data[1].device, 0);
    assert_int_equal(ss_allocation_pool_peak(&program.allocations.pools.data[1])->allocated, 9000);
    end(&program);
}

/* --- segments -----------------------------------------------------------------------------------
 */

/* Two segments, one of them in parts; at the peak the second has a hole and an end that are free.
 */
static void test_fragmentation(void **state)
{
    struct program program;
    (void)state;
    begin(&program);
    ALLOCATE(&program, .name = SS_MARK_SEGMENT_BEFORE, .time_ns = 1, .bytes = 2048,
             .address = 10240);
    ALLOCATE(&program, .name = SS_MARK_ALLOCATED_BEFORE, .time_ns = 1, .bytes = 2000,
             .address = 10240);
    ALLOCATE(&program, .name = SS_MARK_SEGMENT, .category = SS_CATEGORY_EXPANDABLE, .time_ns = 10,
             .bytes = 4096, .address = 20480);
    ALLOCATE(&program, .name = SS_MARK_SEGMENT, .category = SS_CATEGORY_EXPANDABLE, .time_ns = 11,
             .bytes = 4096, .address = 24576);
    ALLOCATE(&program, .time_ns = 20, .bytes = 512, .address = 20480);
    ALLOCATE(&program, .time_ns = 21, .bytes = 1024, .address = 20992);
    ALLOCATE(&program, .time_ns = 22, .bytes = -1024, .address = 20992);
    ALLOCATE(&program, .time_ns = 23, .bytes = 4000, .address = 22528); /* across both parts */
    ALLOCATE(&program, .name = SS_MARK_SEGMENT, .category = SS_CATEGORY_EXPANDABLE, .time_ns = 40,
             .bytes = -4096, .address = 24576);
    analyse(&program);
    const struct ss_allocation_pool *pool = &program.allocations.pools.data[0];
    assert_int_equal(ss_allocation_pool_peak(pool)->time_ns, 23);
    assert_int_equal(ss_allocation_pool_peak(pool)->reserved, 2048 + 8192);
    assert_int_equal(pool->points.data[pool->points.count - 1].reserved, 2048 + 4096);
    assert_true(pool->has_segments);
    assert_int_equal(pool->segments, 2);
    assert_int_equal(pool->free_blocks, 2);
    assert_int_equal(pool->free_bytes, (22528 - 20992) + (28672 - 26624));
    assert_int_equal(pool->largest_free_bytes, 28672 - 26624);
    assert_true(pool->is_whole);
    end(&program);
}

/* Segments that only touch are not one: no block lies in both. */
static void test_adjacent_segments(void **state)
{
    struct program program;
    (void)state;
    begin(&program);
    ALLOCATE(&program, .name = SS_MARK_SEGMENT, .time_ns = 10, .bytes = 4096, .address = 20480);
    ALLOCATE(&program, .name = SS_MARK_SEGMENT, .time_ns = 11, .bytes = 4096, .address = 24576);
    ALLOCATE(&program, .time_ns = 20, .bytes = 512, .address = 20480);
    analyse(&program);
    const struct ss_allocation_pool *pool = &program.allocations.pools.data[0];
    assert_int_equal(pool->segments, 2);
    assert_int_equal(pool->free_blocks, 2);
    assert_int_equal(pool->largest_free_bytes, 4096);
    end(&program);
}

#define EMPTIES "[\"/x/site-packages/torch/cuda/memory.py(160): empty_cache\"]"

/* A request after the cache was given back is a retry, unless the program gave it back. */
static void test_retries(void **state)
{
    struct program program;
    (void)state;
    begin(&program);
    ALLOCATE(&program, .name = SS_MARK_SEGMENT, .time_ns = 1, .bytes = 4096, .address = 4096);
    ALLOCATE(&program, .name = SS_MARK_SEGMENT, .time_ns = 2, .bytes = -4096, .address = 4096);
    ALLOCATE(&program, .name = SS_MARK_SEGMENT, .time_ns = 3, .bytes = 8192, .address = 4096);
    ALLOCATE(&program, .time_ns = 4, .bytes = 8192, .address = 4096);
    ALLOCATE(&program, .time_ns = 5, .bytes = -8192, .address = 4096);
    ALLOCATE(&program, .name = SS_MARK_SEGMENT, .time_ns = 6, .bytes = -8192, .address = 4096,
             .stack = EMPTIES);
    ALLOCATE(&program, .name = SS_MARK_SEGMENT, .time_ns = 7, .bytes = 8192, .address = 4096);
    ALLOCATE(&program, .name = SS_MARK_OUT_OF_MEMORY, .time_ns = 8, .bytes = 77,
             .requested = 1 << 20,
             .stack = "[\"/home/me/train.py(41): forward\", \"/home/me/train.py(80): main\"]");
    analyse(&program);
    const struct ss_allocation_pool *pool = &program.allocations.pools.data[0];
    assert_int_equal(pool->requests, 3);
    assert_int_equal(pool->returns, 2);
    assert_int_equal(pool->retries, 1);
    assert_int_equal(pool->failures.count, 1);
    const struct ss_allocation_failure *failure = &pool->failures.data[0];
    assert_int_equal(failure->requested_bytes, 1 << 20);
    assert_int_equal(failure->device_free_bytes, 77);
    assert_int_equal(failure->reserved, 8192);
    const struct ss_allocation_line *line = &program.allocations.lines.data[failure->code.line];
    assert_int_equal(line->line, 41);
    assert_memory_equal(line->function.data, "forward", 7);
    end(&program);
}

/* --- frames
 * --------------------------------------------------------------------------------------- */

#define TORCH "/x/lib/python3.11/site-packages/torch/"

/* The phase that frames say, and the line that a person needs. */
static void test_frames(void **state)
{
    static const struct {
        const char *stack;
        enum ss_allocation_phase phase;
        int64_t line;
    } stacks[] = {
        {"[\"" TORCH "nn/modules/linear.py(125): forward\", \"" TORCH
         "nn/modules/module.py(1736): _call_impl\", \"/me/net.py(7): forward\"]",
         SS_ALLOCATION_FORWARD, 7},
        {"[\"" TORCH "autograd/graph.py(769): _engine_run_backward\", \"" TORCH
         "_tensor.py(521): backward\", \"/me/train.py(9): main\"]",
         SS_ALLOCATION_BACKWARD, 9},
        /* recomputed within a backward */
        {"[\"" TORCH "nn/modules/module.py(1736): _call_impl\", \"" TORCH
         "autograd/graph.py(769): _engine_run_backward\", \"/me/train.py(9): main\"]",
         SS_ALLOCATION_BACKWARD, 9},
        {"[\"" TORCH "optim/adam.py(150): _init_group\", \"" TORCH
         "optim/optimizer.py(487): wrapper\", \"/me/train.py(11): main\"]",
         SS_ALLOCATION_OPTIMIZER, 11},
        {"[\"" TORCH "optim/optimizer.py(900): Optimizer.zero_grad\", \"/me/train.py(8): main\"]",
         SS_ALLOCATION_UNKNOWN_PHASE, 8},
        {"[\"" TORCH "nn/modules/module.py(1340): Module.to\", \"/me/train.py(3): main\"]",
         SS_ALLOCATION_BUILD, 3},
        {"[\"" TORCH "nn/modules/linear.py(100): __init__\", \"/me/train.py(2): main\"]",
         SS_ALLOCATION_BUILD, 2},
        {"[\"" TORCH "utils/data/_utils/collate.py(171): collate\", \"/me/train.py(5): main\"]",
         SS_ALLOCATION_DATA, 5},
        {"[\"engine.cpp(0): torch::autograd::Engine::thread_main(std::shared_ptr<ReadyQueue> "
         "const&)\"]",
         SS_ALLOCATION_BACKWARD, -1},
        {"[\"/me/train.py(6): main\"]", SS_ALLOCATION_UNKNOWN_PHASE, 6},
    };
    struct program program;
    (void)state;
    begin(&program);
    for (size_t i = 0; i < sizeof stacks / sizeof *stacks; i++) {
        ALLOCATE(&program, .time_ns = i, .bytes = 8, .address = i + 1, .stack = stacks[i].stack);
    }
    analyse(&program);
    for (size_t i = 0; i < sizeof stacks / sizeof *stacks; i++) {
        const struct ss_allocation *row = find(&program, i + 1);
        assert_int_equal(row->code.phase, stacks[i].phase);
        int64_t line = program.allocations.lines.data[row->code.line].line;
        assert_true(stacks[i].line < 0 || line == stacks[i].line);
    }
    end(&program);
}

/* Allocations that the history begins with are known by their frames alone. */
static void test_before(void **state)
{
    struct program program;
    (void)state;
    begin(&program);
    ALLOCATE(&program, .name = SS_MARK_ALLOCATED_BEFORE, .time_ns = 1, .bytes = 100, .address = 1,
             .stack = "[\"" TORCH "nn/modules/module.py(1340): _apply\"]");
    ALLOCATE(&program, .name = SS_MARK_ALLOCATED_BEFORE, .time_ns = 1, .bytes = 200, .address = 2,
             .stack = "[\"" TORCH "optim/adam.py(150): _init_group\"]");
    ALLOCATE(&program, .name = SS_MARK_ALLOCATED_BEFORE, .time_ns = 1, .bytes = 50, .address = 3);
    ALLOCATE(&program, .time_ns = 9, .bytes = -50, .address = 3);
    analyse(&program);
    const struct ss_allocation_pool *pool = &program.allocations.pools.data[0];
    check_category(&program, 1, "parameters");
    check_category(&program, 2, "optimizer state");
    check_category(&program, 3, "before");
    assert_int_equal(pool->peak, 0);
    assert_int_equal(ss_allocation_pool_peak(pool)->allocated, 350);
    assert_int_equal(find(&program, 3)->end, 1);
    end(&program);
}

/* --- tables
 * --------------------------------------------------------------------------------------- */

static void test_table(void **state)
{
    struct program program;
    struct ss_table table;
    (void)state;
    begin(&program);
    add_training(&program);
    analyse(&program);
    struct ss_allocation_options options = {.only_peak = true};
    ss_allocations_table(&program.allocations, &program.training, &options, &table);
    assert_int_equal(table.row_count, 6);
    uint64_t sum = 0;
    for (size_t i = 0; i < table.row_count; i++) {
        const struct ss_cell *cells = ss_table_cell(&table, i, 0);
        assert_memory_equal(cells[SS_ALLOCATION_DEVICE].text.data, "GPU 0", 5);
        sum += (uint64_t)cells[SS_ALLOCATION_PEAK].integer;
    }
    assert_int_equal(sum, ss_allocation_pool_peak(&program.allocations.pools.data[0])->allocated);
    const struct ss_cell *first = ss_table_cell(&table, 0, 0);
    assert_memory_equal(first[SS_ALLOCATION_CATEGORY_NAME].text.data, "optimizer state", 15);
    assert_int_equal(first[SS_ALLOCATION_PEAK].integer, 8000);
    assert_int_equal(first[SS_ALLOCATION_PEAK_COUNT].integer, 1);
    ss_table_fini(&table);

    options = (struct ss_allocation_options){
        .grouping = SS_ALLOCATIONS_BY_PHASE, .sort = SS_ALLOCATIONS_SORT_TOTAL, .max_rows = 2};
    ss_allocations_table(&program.allocations, &program.training, &options, &table);
    assert_int_equal(table.row_count, 2);
    assert_int_equal(table.hidden_rows, 3);
    first = ss_table_cell(&table, 0, 0);
    assert_memory_equal(first[SS_ALLOCATION_PHASE].text.data, "backward", 8);
    assert_int_equal(first[SS_ALLOCATION_BYTES].integer, 8200);
    assert_int_equal(first[SS_ALLOCATION_COUNT].integer, 3);
    ss_table_fini(&table);
    end(&program);
}

static void test_no_events(void **state)
{
    struct program program;
    struct ss_table table;
    (void)state;
    begin(&program);
    assert_false(ss_model_has_allocations(&program.model));
    analyse(&program);
    assert_int_equal(program.allocations.pools.count, 0);
    ss_allocation_pools_table(&program.allocations, &program.training, &table);
    assert_int_equal(table.row_count, 0);
    ss_table_fini(&table);
    end(&program);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_categories),    cmocka_unit_test(test_peak),
        cmocka_unit_test(test_operators),     cmocka_unit_test(test_base),
        cmocka_unit_test(test_no_addresses),  cmocka_unit_test(test_stated),
        cmocka_unit_test(test_unpaired),      cmocka_unit_test(test_pools),
        cmocka_unit_test(test_fragmentation), cmocka_unit_test(test_adjacent_segments),
        cmocka_unit_test(test_retries),       cmocka_unit_test(test_frames),
        cmocka_unit_test(test_before),        cmocka_unit_test(test_table),
        cmocka_unit_test(test_no_events)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
