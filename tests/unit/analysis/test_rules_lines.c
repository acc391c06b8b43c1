/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of rules_lines.c: each on a training with its fault, and on one just below its limits.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "diagnosed_training.h"

static void test_hot_line(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = clean;
    shape.prepare_us = 40000;
    shape.prepares = 120;
    shape.torch_other = 28; /* too few for a finding */
    struct ss_finding finding = only_advice(&made, &shape);
    assert_string_equal(finding.rule->id, "hot-line");
    assert_in_range(finding.cost_ns, 34000 * US, 35000 * US); /* 120 of 148, of 43 ms */
    assert_in_range(finding.error_ns, 2900 * US, 3200 * US);  /* 7 points, by Wilson */
    assert_int_equal(finding.expected_ns, finding.cost_ns);
    assert_in_range(finding.recoverable_ns - finding.error_ns, finding.cost_ns * 114 / 100,
                    finding.cost_ns * 116 / 100);
    assert_int_equal(made.model.frames.data[finding.line->frame].line, 20);
    assert_int_equal(finding.activity, SS_ACTIVITY_NUMPY);
    assert_string_equal(finding.fix, ss_activity_fix(SS_ACTIVITY_NUMPY));
    end(&made);
    shape.prepares = 20; /* too few samples */
    shape.torch_other = 0;
    speaks(&shape, "");
    shape.prepares = 0;
    shape.losses = 120; /* operators between forward and backward: the training itself */
    speaks(&shape, "");
    shape.losses = 0;
    shape.direct_forward = 120; /* the model itself */
    speaks(&shape, "");
    shape.direct_forward = 0;
    shape.metrics = 120;
    speaks(&shape, "hot-line");
    shape.metrics = 0;
    shape.plain = 120; /* nothing is known of the line: it has to be heavier */
    finding = only_advice(&made, &shape);
    assert_string_equal(finding.rule->id, "hot-line");
    assert_int_equal(finding.activity, SS_ACTIVITY_NOTHING);
    assert_null(finding.fix);
    end(&made);
    shape.prepare_us = 2500; /* 5.5 of 101.5 ms */
    speaks(&shape, "");
    shape.prepare_us = 4000; /* 7 of 103 ms */
    speaks(&shape, "hot-line");
    shape.plain = 0;
    shape.prepares = 120;
    finding = only_advice(&made, &shape);
    assert_in_range(finding.cost_ns, 6900 * US, 7100 * US);
    assert_in_range(finding.recoverable_ns, 8000 * US,
                    8500 * US); /* nearly all samples: no error */
    end(&made);
}

static void test_memory_growth(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = clean;
    shape.grow_bytes = 1 << 20;
    struct ss_finding finding = only_advice(&made, &shape);
    assert_string_equal(finding.rule->id, "memory-growth");
    assert_int_equal(finding.recoverable_ns, 0);
    double grows = evidence(&finding, "more with each step");
    assert_true(grows > 1e6 && grows < 1.1e6);
    end(&made);
    shape.jumps = true; /* a buffer that is made once */
    speaks(&shape, "");
    shape.jumps = false;
    shape.grow_bytes = 10000; /* 300 kB in all */
    speaks(&shape, "");
}

static void test_warm_up(void **state)
{
    (void)state;
    struct shape shape = clean;
    shape.first_us = 3000000;
    speaks(&shape, "warm-up");
    shape.first_us = 1000000; /* 25 % more */
    speaks(&shape, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hot_line),
        cmocka_unit_test(test_memory_growth),
        cmocka_unit_test(test_warm_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
