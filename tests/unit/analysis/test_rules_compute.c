/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of rules_compute.c: each on a training with its fault, and on one just below its
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

static void test_host_sync(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = clean;
    shape.reads = 500;
    shape.read_us = 6;
    shape.between_us = 4;
    shape.operators = 85;
    struct ss_finding finding = only_advice(&made, &shape);
    assert_string_equal(finding.rule->id, "host-sync");
    assert_true(evidence(&finding, "reads a step") > 499);
    assert_in_range(finding.expected_ns, 2900 * US, 3100 * US); /* nothing of what lies between */
    end(&made);
    shape.reading = 60; /* all of the line goes with its reads */
    finding = only_advice(&made, &shape);
    assert_string_equal(finding.rule->id, "hot-line");
    assert_true(evidence(&finding, "reads a step") > 499);
    assert_true(finding.expected_ns > 3100 * US);
    assert_int_equal(made.model.frames.data[finding.line->frame].line, 31);
    end(&made);
    shape.reading = 20; /* too few for a claim */
    speaks(&shape, "host-sync");
    shape.reading = 0;
    shape.operators_each = 4; /* the mean is of the steps that were recorded */
    speaks(&shape, "host-sync");
    shape.operators_each = 0;
    shape.lossy_each = 3; /* the others are enough */
    finding = only_advice(&made, &shape);
    assert_true(evidence(&finding, "reads a step") > 499);
    end(&made);
    shape.read_us = 10;
    shape.between_us = 0;
    shape.lossy_each = 1; /* of all steps some were lost */
    finding = only_advice(&made, &shape);
    assert_true(evidence(&finding, "reads a step (at least)") < 251);
    end(&made);
    shape.lossy_each = 0;
    shape.reads_phase = "optimizer"; /* they are not the program's */
    speaks(&shape, "");
    shape.reads_phase = NULL;
    shape.reads = 100; /* 0.6 % of the step */
    speaks(&shape, "");
}

static void test_tiny_batches(void **state)
{
    (void)state;
    struct shape shape = clean;
    shape.operators = 500;
    shape.operator_us = 20;
    speaks(&shape, "tiny-batches");
    shape.cuda = 1; /* what the host does says nothing */
    speaks(&shape, "");
    shape.cuda = 0;
    shape.operator_us = 150;
    speaks(&shape, "");
}

static void test_anomaly_detection(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = clean;
    shape.tracebacks = 40; /* of 490 */
    shape.nan_checks = 100;
    shape.operators = 70;
    speaks(&shape, "");
    shape.anomaly = 1;
    struct ss_finding finding = only_advice(&made, &shape);
    assert_string_equal(finding.rule->id, "anomaly-detection");
    assert_in_range(finding.cost_ns, 9100 * US, 9200 * US); /* 40 of 490 samples, and 1 ms */
    end(&made);
    shape.nan_checks_in_node = true;
    finding = only_advice(&made, &shape);
    assert_in_range(finding.cost_ns, 9100 * US, 9200 * US);
    end(&made);
    shape.nan_checks_in_node = false;
    shape.tracebacks = 0;
    speaks(&shape, "");
}

static void test_float64(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = clean;
    shape.dtype = "model.dtype = float64";
    struct ss_finding finding = only_advice(&made, &shape);
    assert_string_equal(finding.rule->id, "float64");
    assert_in_range(finding.expected_ns, 53000 * US, 55000 * US); /* of 90 operators of 1 ms */
    end(&made);
    shape.cuda = 1;
    speaks(&shape, "");
    shape.cuda = 0;
    shape.dtype = "model.dtype = float32";
    speaks(&shape, "");
}

static void test_time_loop(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = clean;
    shape.cells = 15; /* half of the forward, and as much of the backward */
    struct ss_finding finding = only_advice(&made, &shape);
    assert_string_equal(finding.rule->id, "time-loop");
    assert_in_range(finding.cost_ns, 39900 * US, 40100 * US);
    assert_in_range(finding.expected_ns, 29900 * US, 30100 * US);
    end(&made);
    shape.cells = 7;
    speaks(&shape, "");
}

static void test_recompilation(void **state)
{
    (void)state;
    struct shape shape = clean;
    shape.compile_each = 10;
    shape.compile_us = 29000;
    speaks(&shape, "recompilation");
    shape.compile_each = 30; /* once after the first steps: a shape of the last batch */
    speaks(&shape, "");
}

static void test_oversubscription(void **state)
{
    (void)state;
    struct shape shape = clean;
    shape.threads = 16;
    shape.runnable = 150;
    speaks(&shape, "oversubscription");
    shape.cpu_busy = 790;
    shape.cpu_own = 700;
    speaks(&shape, "oversubscription");
    shape.cpu_own = 300; /* it is other programs that have the cores */
    speaks(&shape, "busy-machine");
    shape.runnable = 60; /* 11 % of the samples */
    speaks(&shape, "");
    shape.cpu_own = 0;
    shape.runnable = 20;
    speaks(&shape, "");
    shape.runnable = 150;
    shape.threads = 4;
    speaks(&shape, "");
    shape.cpu_limit = 200; /* of its container */
    shape.cpu_used = shape.cpu_own = 199;
    speaks(&shape, "oversubscription");
    shape = clean; /* the threads work while the main one waits: fewer would have to do it, too */
    shape.threads = 24;
    shape.computing = 0;
    shape.losses = 50; /* within operators */
    shape.runnable = 400;
    struct made made;
    struct ss_finding finding = only_advice(&made, &shape);
    assert_in_range(finding.percent, 79, 81);                             /* 400 of 500 samples */
    assert_in_range(finding.expected_ns * 100 / finding.cost_ns, 74, 76); /* less 2 × 50 */
    end(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_host_sync),         cmocka_unit_test(test_tiny_batches),
        cmocka_unit_test(test_anomaly_detection), cmocka_unit_test(test_float64),
        cmocka_unit_test(test_time_loop),         cmocka_unit_test(test_recompilation),
        cmocka_unit_test(test_oversubscription),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
