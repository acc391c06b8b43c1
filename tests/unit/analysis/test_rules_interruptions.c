/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of rules_interruptions.c: each on a training with its fault, and on one just below its
 * limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "diagnosed_training.h"

static void test_periodic_stalls(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = clean;
    shape.stall_each = 10;
    shape.stall_us = 200000;
    shape.stall_phase = "evaluation";
    struct ss_finding finding = only_advice(&made, &shape);
    assert_string_equal(finding.rule->id, "evaluation");
    assert_in_range(finding.cost_ns, 19900 * US, 20100 * US);
    assert_in_range(finding.expected_ns, 9900 * US, 10100 * US); /* in each 20th step, not 10th */
    assert_true(finding.percent > 16 && finding.percent < 17);   /* 200 of 1,200 ms */
    end(&made);
    shape.stall_each = 20; /* seldom */
    speaks(&shape, "");
    shape.stall_each = 10;
    shape.stall_phase = NULL;
    finding = only_advice(&made, &shape);
    assert_string_equal(finding.rule->id, "periodic-stalls");
    assert_true(evidence(&finding, "a slow step every") > 9);
    end(&made);
    shape.stall_each = 13; /* thrice: it may be chance */
    speaks(&shape, "");
    shape.stall_each = 10;
    shape.stall_us = 40000; /* 4 % */
    speaks(&shape, "");
    shape.stall_us = 200000;
    shape.stall_phase = "forward"; /* another program uses the core */
    speaks(&shape, "");
}

static void test_interruptions(void **state)
{
    (void)state;
    struct shape shape = clean;
    shape.gc_us = 6000;
    speaks(&shape, "gc-pauses");
    shape.gc_compiles = true;
    speaks(&shape, "");
    shape.gc_compiles = false;
    shape.gc_us = 1000;
    speaks(&shape, "");
    shape = clean;
    shape.save_each = 5;
    shape.save_us = 20000;
    shape.rest_us = 20000;
    speaks(&shape, "checkpoint-stalls");
    shape.save_us = 8000; /* of 20 ms that a framework saves for */
    shape.checkpoint_us = 20000;
    struct made saving;
    struct ss_finding finding = only_advice(&saving, &shape);
    assert_string_equal(finding.rule->id, "checkpoint-stalls");
    assert_in_range(finding.expected_ns, 4000 * US, 4200 * US); /* 8 times in 39 steps */
    end(&saving);
    shape.checkpoint_us = 0;
    shape.save_each = 40; /* once, at the end */
    speaks(&shape, "");
}

static void test_logging(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = clean;
    shape.logs = 60;
    shape.prints = 40;
    struct ss_finding finding = only_advice(&made, &shape);
    assert_string_equal(finding.rule->id, "logging");
    assert_int_equal(finding.line->all, 100);
    assert_int_equal(made.model.frames.data[finding.line->frame].line, 22);
    end(&made);
    shape.logs = 10;
    shape.prints = 0;
    shape.saves = 100; /* a file's write(), and copies to the CPU, as a checkpoint is saved */
    speaks(&shape, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_periodic_stalls),
        cmocka_unit_test(test_interruptions),
        cmocka_unit_test(test_logging),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
