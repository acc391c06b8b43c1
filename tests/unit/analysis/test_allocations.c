/* SPDX-License-Identifier: Apache-2.0 */
/* What allocations are, when they are alive, and what is free between them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "allocation_builder.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_categories),    cmocka_unit_test(test_peak),
        cmocka_unit_test(test_operators),     cmocka_unit_test(test_base),
        cmocka_unit_test(test_no_addresses),  cmocka_unit_test(test_stated),
        cmocka_unit_test(test_unpaired),      cmocka_unit_test(test_pools),
        cmocka_unit_test(test_fragmentation), cmocka_unit_test(test_adjacent_segments),
        cmocka_unit_test(test_retries),       cmocka_unit_test(test_frames),
        cmocka_unit_test(test_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
