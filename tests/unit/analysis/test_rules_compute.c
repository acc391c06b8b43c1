/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of rules_compute.c on forward, backward and optimizer; those on cores are in
 * test_rules_cores.c. Without a fault, a step takes 100 ms: 30 of them forward, 50 backward, 15
 * optimizer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "diagnosed_training.h"

enum { FEW_STEPS = 10 }; /* enough, where each has many operators */

/* Another finding, of `us` in each step. */
static struct shape collecting(const struct shape *shape, uint64_t us)
{
    struct shape larger = *shape;
    larger.gc_us = us;
    return larger;
}

/* Another finding: without workers, the step takes so much longer, less 0.5 ms for a batch. One
 * core is in use, so that there is room for them. */
static struct shape fetching(const struct shape *shape, uint64_t us)
{
    struct shape larger = *shape;
    larger.workers = 0;
    larger.cpu_busy = 100;
    larger.data_us = larger.fetch_us = us;
    return larger;
}

/* --- host-sync -------------------------------------------------------------------------------- */

static struct shape reading(uint32_t reads)
{
    struct shape shape = clean;
    shape.steps = FEW_STEPS;
    shape.reads = reads;
    shape.read_us = 6;
    shape.between_us = 4;
    shape.operators = 85;
    return shape;
}

static void rule_host_sync_fires(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = reading(500);
    make(&made, &shape);
    const struct ss_finding *finding = only_finding(&made.diagnosis, "host-sync");
    check_cost(finding, 3000, 3000, 3); /* 500 × 6 µs, nothing of what lies between */
    check_evidence(finding, "reads a step", 500);
    assert_int_equal(finding->recoverable_ns, 3450 * US); /* 15 % more: cold caches */
    assert_null(finding->line);
    end(&made);
    shape.rest_us = 1000; /* the line is in no phase, which take 2 of 98 ms: no finding */
    shape.reading = 60;
    make(&made, &shape);
    finding = only_finding(&made.diagnosis, "host-sync");
    check_cost(finding, 3000, 3000, 100 * 3 / 98.0);
    assert_int_equal(made.model.frames.data[finding->line->frame].line, 31);
    assert_int_equal(finding->line->samples, 60);
    end(&made);
}

static void rule_host_sync_just_does_not_fire(void **state)
{
    (void)state;
    struct shape shape = reading(334); /* 2.004 ms: 2 % */
    speaks(&shape, "host-sync");
    shape = reading(333);
    speaks(&shape, "");
    shape = reading(1); /* one that waits for long */
    shape.read_us = 2000;
    speaks(&shape, "host-sync");
    shape.read_us = 1999;
    speaks(&shape, "");
    shape = reading(500); /* they are not the program's */
    shape.reads_phase = "optimizer";
    speaks(&shape, "");
}

static void rule_host_sync_beside_a_larger_one(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = reading(500);
    shape = collecting(&shape, 10000);
    make(&made, &shape);
    check_findings(&made.diagnosis, "gc-pauses host-sync");
    check_cost(&made.diagnosis.findings.data[0], 10000, 10000, 10);
    check_cost(&made.diagnosis.findings.data[1], 3000, 3000, 3);
    end(&made);
    shape = reading(500); /* all of the line goes with its reads: 4 ms in no phase */
    shape.reading = 60;
    make(&made, &shape);
    const struct ss_finding *finding = only_finding(&made.diagnosis, "hot-line");
    check_cost(finding, 4000, 4000, 4);
    check_evidence(finding, "reads a step", 500);
    assert_int_equal(made.model.frames.data[finding->line->frame].line, 31);
    end(&made);
    shape.reading = 20; /* too few for a claim */
    speaks(&shape, "host-sync");
}

/* A read waits for kernels whose times are unknown: the samples at its line show it. */
static void test_reads_that_wait_for_kernels(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = reading(500);
    shape.cuda = 1;
    shape.reading = 30;
    make(&made, &shape);
    const struct ss_finding *finding = only_finding(&made.diagnosis, "host-sync");
    /* 30 of 480 samples, of 100 ms. By Wilson's interval up to 2.53 points more: the centre is
     * 0.06597, the half width 0.02185. */
    check_cost(finding, 6250, 6250, 6.25);
    assert_float_equal(finding->error_ns, 2.532e6, 1e3);
    assert_int_equal(finding->recoverable_ns, 6250 * US + finding->error_ns); /* no cold caches */
    assert_string_equal(finding->headline, "waits for unknown kernels to read values of tensors");
    end(&made);
    shape.reading = 29; /* too few: the operators alone */
    make(&made, &shape);
    check_cost(only_finding(&made.diagnosis, "host-sync"), 3000, 3000, 3);
    end(&made);
}

static void test_reads_of_the_steps_that_were_recorded(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = reading(500);
    shape.operators_each = 4; /* the mean is of the steps that were recorded */
    make(&made, &shape);
    check_cost(only_finding(&made.diagnosis, "host-sync"), 3000, 3000, 3);
    end(&made);
    shape.operators_each = 0;
    shape.lossy_each = 3; /* the others are enough */
    make(&made, &shape);
    check_evidence(only_finding(&made.diagnosis, "host-sync"), "reads a step", 500);
    end(&made);
    shape.read_us = 10;
    shape.between_us = 0;
    shape.lossy_each = 1; /* half of each step's reads were lost */
    make(&made, &shape);
    check_evidence(only_finding(&made.diagnosis, "host-sync"), "reads a step (at least)", 250);
    end(&made);
}

/* --- tiny-batches ----------------------------------------------------------------------------- */

static struct shape tiny(uint32_t operators, uint64_t us)
{
    struct shape shape = clean;
    shape.steps = FEW_STEPS;
    shape.operators = operators;
    shape.operator_us = us;
    return shape;
}

/* An operator of each step, 15 ms after its start: after the tiny ones. */
static void put_long_operator(struct made *made, const struct shape *shape, uint64_t us)
{
    for (uint64_t i = 0; i < shape->steps; i++) {
        add_range(made, made->torch, "aten::mm", "operator", (16 + 100 * i) * 1000 * US, us * US,
                  0);
    }
}

static void put_half(struct made *made, const struct shape *shape)
{
    put_long_operator(made, shape, 47500);
}

static void put_almost_half(struct made *made, const struct shape *shape)
{
    put_long_operator(made, shape, 47499);
}

static void rule_tiny_batches_fires(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = tiny(500, 20);
    shape.stall_each = FEW_STEPS; /* one step takes 105 ms: a share of the median */
    shape.stall_us = 5000;
    make(&made, &shape);
    const struct ss_finding *finding = only_finding(&made.diagnosis, "tiny-batches");
    check_cost(finding, 95000, 95000, 95); /* 30 + 50 + 15 ms, none of it in longer operators */
    check_evidence(finding, "operators a step", 500);
    check_evidence(finding, "time in all operators", 10e6);
    check_evidence(finding, "median operator", 20e3);
    check_evidence(finding, "samples in a batch", 16);
    assert_non_null(strstr(finding->fix, "batch_size"));
    end(&made);
    shape.workers = -1; /* no loader, whose batches could be larger */
    make(&made, &shape);
    finding = only_finding(&made.diagnosis, "tiny-batches");
    assert_null(strstr(finding->fix, "batch_size"));
    end(&made);
}

static void rule_tiny_batches_just_does_not_fire(void **state)
{
    (void)state;
    struct shape shape = tiny(500, 29);
    speaks(&shape, "tiny-batches");
    shape = tiny(500, 30);
    speaks(&shape, "");
    shape = tiny(50, 20);
    speaks(&shape, "tiny-batches");
    shape = tiny(49, 20);
    speaks(&shape, "");
    shape = tiny(500, 20); /* more than half of 95 ms is outside of longer ones */
    shape.more = put_almost_half;
    speaks(&shape, "tiny-batches");
    shape.more = put_half;
    speaks(&shape, "");
    shape = tiny(500, 20); /* what the host does says nothing */
    shape.cuda = 1;
    speaks(&shape, "");
}

static void rule_tiny_batches_beside_a_larger_one(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = tiny(500, 20);
    shape = fetching(&shape, 200000); /* 299 ms */
    make(&made, &shape);
    check_findings(&made.diagnosis, "no-workers tiny-batches");
    check_cost(&made.diagnosis.findings.data[0], 200000, 199500, 100 * 200 / 299.0);
    check_cost(&made.diagnosis.findings.data[1], 95000, 95000, 100 * 95 / 299.0);
    end(&made);
}

static void put_numpy_in_forward(struct made *made, const struct shape *shape)
{
    (void)shape;
    add_samples(made, "forward", 39, "/site-packages/numpy/random.py", SS_STATE_ON_CPU, 200);
}

/* Neither what cells take nor a line of the program's own is of small operators. */
static void test_tiny_batches_without_what_others_explain(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = tiny(500, 20);
    shape.cells = 9; /* 9 of 30 ms, and 15 of 50: 24, of which 18 are recovered */
    make(&made, &shape);
    check_findings(&made.diagnosis, "tiny-batches time-loop");
    check_cost(&made.diagnosis.findings.data[0], 71000, 71000, 71);
    check_cost(&made.diagnosis.findings.data[1], 24000, 18000, 24);
    end(&made);
    shape.cells = 0;
    shape.more = put_numpy_in_forward; /* 200 of 600 samples of 30 ms */
    make(&made, &shape);
    check_findings(&made.diagnosis, "tiny-batches hot-line");
    check_cost(&made.diagnosis.findings.data[0], 85000, 85000, 85);
    check_cost(&made.diagnosis.findings.data[1], 10000, 10000, 10);
    end(&made);
}

/* --- anomaly-detection ------------------------------------------------------------------------ */

static struct shape detecting(uint64_t tracebacks, uint32_t nan_checks)
{
    struct shape shape = clean;
    shape.anomaly = 1;
    shape.tracebacks = tracebacks;
    shape.nan_checks = nan_checks;
    shape.operators = 70;
    return shape;
}

static void rule_anomaly_detection_fires(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = detecting(40, 100);
    make(&made, &shape);
    const struct ss_finding *finding = only_finding(&made.diagnosis, "anomaly-detection");
    /* 40 of 490 samples, of 100 ms; and 100 × 10 µs. By Wilson's interval up to 2.76 points more:
     * the centre is 0.08489, the half width 0.02437. */
    assert_int_equal(finding->cost_ns, 100000 * US * 40 / 490 + 1000 * US);
    assert_int_equal(finding->expected_ns, finding->cost_ns);
    assert_float_equal(finding->error_ns, 2.762e6, 1e3);
    check_evidence(finding, "search for NaN in the backward", 1e6);
    check_evidence(finding, "samples in tracebacks", 40);
    check_evidence(finding, "cold caches after it, at most", (double)(finding->cost_ns * 15 / 100));
    end(&made);
    shape.nan_checks_in_node = true;
    make(&made, &shape);
    finding = only_finding(&made.diagnosis, "anomaly-detection");
    assert_int_equal(finding->cost_ns, 100000 * US * 40 / 490 + 1000 * US);
    end(&made);
}

static void rule_anomaly_detection_just_does_not_fire(void **state)
{
    (void)state;
    struct shape shape = detecting(0, 200); /* 2 ms: 2 % */
    speaks(&shape, "anomaly-detection");
    shape = detecting(0, 199);
    speaks(&shape, "");
    shape = detecting(10, 0); /* of 460: 2.2 % */
    speaks(&shape, "anomaly-detection");
    shape = detecting(9, 0); /* of 459: 1.96 % */
    speaks(&shape, "");
    shape = detecting(40, 100); /* of a program's own */
    shape.anomaly = 0;
    speaks(&shape, "");
}

static void rule_anomaly_detection_beside_a_larger_one(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = detecting(0, 300);
    shape = collecting(&shape, 10000);
    make(&made, &shape);
    check_findings(&made.diagnosis, "gc-pauses anomaly-detection");
    check_cost(&made.diagnosis.findings.data[0], 10000, 10000, 10);
    check_cost(&made.diagnosis.findings.data[1], 3000, 3000, 3);
    end(&made);
}

/* --- float64 ---------------------------------------------------------------------------------- */

static struct shape doubles(uint32_t operators, uint64_t us)
{
    struct shape shape = tiny(operators, us);
    shape.dtype = "model.dtype = float64";
    return shape;
}

static void rule_float64_fires(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = doubles(90, 1000);
    shape.stall_each = FEW_STEPS; /* one step takes 105 ms: a share of the median */
    shape.stall_us = 5000;
    make(&made, &shape);
    const struct ss_finding *finding = only_finding(&made.diagnosis, "float64");
    check_cost(finding, 90000, 54000, 90); /* 60 % of it */
    check_evidence(finding, "in operators of 30 µs and more", 90e6);
    end(&made);
}

static void rule_float64_just_does_not_fire(void **state)
{
    (void)state;
    struct shape shape = doubles(10, 1000); /* 10 % */
    speaks(&shape, "float64");
    shape = doubles(10, 999);
    speaks(&shape, "");
    shape = doubles(90, 1000);
    shape.cuda = 1; /* the times of its kernels are unknown */
    speaks(&shape, "");
    shape.cuda = 0;
    shape.dtype = "model.dtype = float32";
    speaks(&shape, "");
}

static void rule_float64_beside_a_larger_one(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = doubles(90, 1000);
    shape = fetching(&shape, 60000); /* 159 ms */
    make(&made, &shape);
    check_findings(&made.diagnosis, "no-workers float64");
    check_cost(&made.diagnosis.findings.data[0], 60000, 59500, 100 * 60 / 159.0);
    check_cost(&made.diagnosis.findings.data[1], 90000, 54000, 100 * 90 / 159.0);
    end(&made);
}

/* --- time-loop -------------------------------------------------------------------------------- */

static struct shape looping(uint32_t cells)
{
    struct shape shape = clean;
    shape.cells = cells;
    return shape;
}

static void rule_time_loop_fires(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = looping(15);
    make(&made, &shape);
    const struct ss_finding *finding = only_finding(&made.diagnosis, "time-loop");
    check_cost(finding, 40000, 30000, 40); /* half of 30 and of 50 ms; a layer takes 25 % of it */
    check_evidence(finding, "calls of cells in a step", 15);
    check_evidence(finding, "in them in the forward", 15e6);
    end(&made);
}

static void rule_time_loop_just_does_not_fire(void **state)
{
    (void)state;
    struct shape shape = looping(8); /* 21 % */
    speaks(&shape, "time-loop");
    shape = looping(7); /* 19 %, but they may be layers */
    speaks(&shape, "");
}

static void rule_time_loop_beside_a_larger_one(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = looping(15);
    shape = fetching(&shape, 60000);
    make(&made, &shape);
    check_findings(&made.diagnosis, "no-workers time-loop");
    check_cost(&made.diagnosis.findings.data[0], 60000, 59500, 100 * 60 / 159.0);
    check_cost(&made.diagnosis.findings.data[1], 40000, 30000, 100 * 40 / 159.0);
    end(&made);
}

/* --- recompilation ---------------------------------------------------------------------------- */

static struct shape compiling(uint32_t each, uint64_t us)
{
    struct shape shape = clean;
    shape.compile_each = each;
    shape.compile_us = us;
    return shape;
}

static void rule_recompilation_fires(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = compiling(10, 37000);
    make(&made, &shape);
    const struct ss_finding *finding = only_finding(&made.diagnosis, "recompilation");
    /* In steps 0, 10, 20 and 30: three of the 37 after the third. */
    check_cost(finding, 3000, 3000, 3);
    check_evidence(finding, "compiled after the third step", 3);
    check_evidence(finding, "in steps", 3);
    assert_true(finding->is_spread);
    end(&made);
}

static void rule_recompilation_just_does_not_fire(void **state)
{
    (void)state;
    struct shape shape = compiling(10, 24667); /* 3 × 24.667 of 37 × 100 ms: 2 % */
    speaks(&shape, "recompilation");
    shape = compiling(10, 24666);
    speaks(&shape, "");
    shape = compiling(15, 37000); /* in steps 15 and 30 */
    speaks(&shape, "recompilation");
    shape = compiling(30, 90000); /* 2.4 %, but once: a shape of the last batch */
    speaks(&shape, "");
}

static void rule_recompilation_beside_a_larger_one(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = compiling(10, 37000);
    shape = collecting(&shape, 10000);
    make(&made, &shape);
    check_findings(&made.diagnosis, "gc-pauses recompilation");
    check_cost(&made.diagnosis.findings.data[0], 10000, 10000, 10);
    check_cost(&made.diagnosis.findings.data[1], 3000, 3000, 3);
    end(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rule_host_sync_fires),
        cmocka_unit_test(rule_host_sync_just_does_not_fire),
        cmocka_unit_test(rule_host_sync_beside_a_larger_one),
        cmocka_unit_test(test_reads_that_wait_for_kernels),
        cmocka_unit_test(test_reads_of_the_steps_that_were_recorded),
        cmocka_unit_test(rule_tiny_batches_fires),
        cmocka_unit_test(rule_tiny_batches_just_does_not_fire),
        cmocka_unit_test(rule_tiny_batches_beside_a_larger_one),
        cmocka_unit_test(test_tiny_batches_without_what_others_explain),
        cmocka_unit_test(rule_anomaly_detection_fires),
        cmocka_unit_test(rule_anomaly_detection_just_does_not_fire),
        cmocka_unit_test(rule_anomaly_detection_beside_a_larger_one),
        cmocka_unit_test(rule_float64_fires),
        cmocka_unit_test(rule_float64_just_does_not_fire),
        cmocka_unit_test(rule_float64_beside_a_larger_one),
        cmocka_unit_test(rule_time_loop_fires),
        cmocka_unit_test(rule_time_loop_just_does_not_fire),
        cmocka_unit_test(rule_time_loop_beside_a_larger_one),
        cmocka_unit_test(rule_recompilation_fires),
        cmocka_unit_test(rule_recompilation_just_does_not_fire),
        cmocka_unit_test(rule_recompilation_beside_a_larger_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
