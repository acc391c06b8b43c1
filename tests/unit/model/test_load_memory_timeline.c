/* SPDX-License-Identifier: Apache-2.0 */
#include "model/files/importer.h"

#include <string.h>

#include "analysis/memory/allocations.h"
#include "model/core/domains.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static struct ss_model model;
static struct ss_error err;

static enum ss_status load(const char *text)
{
    struct ss_import_file file = {
        .path = "x.json", .head = text, .head_length = strlen(text), .fd = -1};
    struct ss_model_load request = {.quiet = true};
    ss_model_init(&model);
    return ss_importer_memory_timeline.load(&model, &file, &request, &err);
}

static struct ss_selection selection;
static struct ss_allocations allocations;

static const struct ss_allocation_pool *analyse(void)
{
    struct ss_selection_options options = {.idle = SS_IDLE_MAIN};
    assert_int_equal(ss_selection_init(&selection, &model, &options, NULL), SS_OK);
    ss_allocations_init(&allocations, &selection, NULL);
    assert_int_equal(allocations.pools.count, 1);
    return &allocations.pools.data[0];
}

static void end(void)
{
    ss_allocations_fini(&allocations);
    ss_selection_fini(&selection);
    ss_model_fini(&model);
}

/* Each of PyTorch's categories keeps its name; a version that changes its category only moves. */
static void test_events(void **state)
{
    (void)state;
    assert_int_equal(load("[[-1, 1, 1000, 0], [-1, 1, 24, 0], [10, 2, 64, 4], [20, 3, -64, 4],"
                          " [20, 3, 64, 5], [30, 2, 8, 7], [40, 4, -64, 5]]"),
                     SS_OK);
    const struct ss_allocation_pool *pool = analyse();
    assert_int_equal(ss_allocation_pool_peak(pool)->allocated, 1024 + 64 + 8);
    assert_int_equal(ss_allocation_pool_peak(pool)->time_ns, 30);
    assert_int_equal(pool->points.data[0].allocated, 1024);
    assert_int_equal(pool->points.data[pool->points.count - 1].allocated, 1024 + 8);
    assert_int_equal(pool->peak_bytes[SS_ALLOCATION_PARAMETERS], 1024);
    assert_int_equal(pool->peak_bytes[SS_ALLOCATION_ACTIVATIONS], 0);
    assert_int_equal(pool->peak_bytes[SS_ALLOCATION_GRADIENTS], 64);
    assert_int_equal(pool->peak_bytes[SS_ALLOCATION_UNKNOWN], 8);
    assert_int_equal(pool->allocations, 0); /* what is a sum and what an allocation is unknown */
    end();
}

/* Sizes by category over time, in µs: the first row is what was there before. */
static void test_sizes(void **state)
{
    (void)state;
    assert_int_equal(load("[[5, 6, 7], [[0, 100, 1, 2, 3, 4, 5, 6, 7],"
                          " [0, 100, 1, 2, 3, 44, 5, 6, 0], [0, 100, 0, 0, 0, 0, 0, 0, 0]]]"),
                     SS_OK);
    const struct ss_allocation_pool *pool = analyse();
    assert_int_equal(pool->points.data[0].allocated, 128);
    assert_int_equal(ss_allocation_pool_peak(pool)->allocated, 161);
    assert_int_equal(ss_allocation_pool_peak(pool)->time_ns, 6000);
    static const uint64_t sizes[SS_ALLOCATION_CATEGORIES] = {
        [SS_ALLOCATION_PARAMETERS] = 100, [SS_ALLOCATION_OPTIMIZER_STATE] = 1,
        [SS_ALLOCATION_INPUT] = 2,        [SS_ALLOCATION_TEMPORARIES] = 3,
        [SS_ALLOCATION_ACTIVATIONS] = 44, [SS_ALLOCATION_GRADIENTS] = 5,
        [SS_ALLOCATION_AUTOGRAD] = 6};
    for (size_t i = 0; i < SS_ALLOCATION_CATEGORIES; i++) {
        assert_int_equal(pool->peak_bytes[i], sizes[i]);
    }
    assert_int_equal(pool->points.data[pool->points.count - 1].allocated, 100);
    end();
}

static void test_skipped(void **state)
{
    (void)state;
    assert_int_equal(load("[[1, 2, 64, 4], [2, 9, 1, 1], \"x\", [3, 2], [-1, 2, 5, 5],"
                          " [4, 4, -64, 4]]"),
                     SS_OK);
    assert_int_equal(model.inputs.data[0].skipped.events, 4);
    assert_int_equal(model.marks.count, 2);
    ss_model_fini(&model);
    assert_int_equal(load("[[1, 2, 64, 4], [2, 2, 1"), SS_OK);
    assert_true(model.inputs.data[0].skipped.is_cut);
    ss_model_fini(&model);
}

static void test_others(void **state)
{
    static const char *const texts[] = {"[[]]", "[[1, 2], [3, 4]]", "[[1], [[1, 2]]]", "[[1",
                                        "[[1, 2, 3, 4, 5]]"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_int_equal(load(texts[i]), SS_E_FORMAT);
        assert_non_null(strstr(err.message, "no memory timeline"));
        ss_model_fini(&model);
    }
}

static void test_probe(void **state)
{
    (void)state;
    assert_int_equal(ss_importer_memory_timeline.probe("[[-1, 1", 7), SS_IMPORT_LIKELY);
    assert_int_equal(ss_importer_memory_timeline.probe(" [ [1", 5), SS_IMPORT_LIKELY);
    assert_int_equal(ss_importer_memory_timeline.probe("[[\"a", 4), SS_IMPORT_NO);
    assert_int_equal(ss_importer_memory_timeline.probe("[{", 2), SS_IMPORT_NO);
    assert_int_equal(ss_importer_memory_timeline.probe("[1", 2), SS_IMPORT_NO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_events), cmocka_unit_test(test_sizes),
                                       cmocka_unit_test(test_skipped),
                                       cmocka_unit_test(test_others), cmocka_unit_test(test_probe)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
