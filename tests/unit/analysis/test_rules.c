/* SPDX-License-Identifier: Apache-2.0 */
/* The diagnosis as a whole: the order of its findings, time that two of them claim, what it knows
 * of kernels. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "diagnosed_training.h"

static void test_clean(void **state)
{
    (void)state;
    speaks(&clean, "");
    struct shape few = clean; /* too few to judge by */
    few.steps = 4;
    few.workers = 0;
    few.data_us = 90000;
    speaks(&few, "");
}

/* Not the rule of the line, which explains less than half of what the line costs. */
static void test_one_finding_for_one_time(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = clean;
    shape.rest_us = 40000;
    shape.reads = 500;
    shape.read_us = 6;
    shape.between_us = 4;
    shape.operators = 85;
    shape.reading = 100;
    struct ss_finding finding = only_advice(&made, &shape);
    assert_string_equal(finding.rule->id, "hot-line");
    assert_int_equal(finding.activity, SS_ACTIVITY_TENSOR_READ);
    assert_in_range(finding.cost_ns, 40900 * US, 41100 * US);
    assert_int_equal(finding.expected_ns, finding.cost_ns);
    assert_in_range(finding.recoverable_ns - finding.error_ns, finding.cost_ns * 114 / 100,
                    finding.cost_ns * 116 / 100);
    end(&made);
}

/* The largest recoverable first, whatever the order of the table. */
static void test_order(void **state)
{
    (void)state;
    struct shape shape = clean;
    shape.workers = 0;
    shape.data_us = shape.fetch_us = 10000;
    shape.gc_us = 30000;
    shape.grow_bytes = 1 << 20;
    speaks(&shape, "gc-pauses no-workers memory-growth");
}

static void test_hidden_kernels(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = clean;
    make(&made, &shape);
    assert_false(made.diagnosis.host_time);
    end(&made);
    shape.cuda = 1;
    make(&made, &shape);
    assert_true(made.diagnosis.host_time);
    end(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clean),
        cmocka_unit_test(test_one_finding_for_one_time),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_hidden_kernels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
