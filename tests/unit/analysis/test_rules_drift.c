/* SPDX-License-Identifier: Apache-2.0 */
/* The rule of rules_drift.c, on a training with its fault, and on one just below its limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "diagnosed_training.h"

static void test_drift(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = clean;
    shape.steps = 80;
    shape.drift_us = 400; /* 32 ms of a step of 100 */
    struct ss_finding finding = only_advice(&made, &shape);
    assert_string_equal(finding.rule->id, "drift");
    assert_in_range(finding.cost_ns, 15000000, 16500000);
    double more = evidence(&finding, "more in forward");
    assert_true(more > 31e6 && more < 32.5e6);
    end(&made);
    shape.drift_us = 50; /* 4 ms */
    speaks(&shape, "");
    shape.drift_us = 400;
    shape.steps = 30; /* too few */
    speaks(&shape, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_drift),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
