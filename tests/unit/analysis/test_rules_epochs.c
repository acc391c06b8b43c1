/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of rules_data.c on the epochs of a DataLoader with workers. The clean step takes 100
 * ms: 1 of data, 1 of preparing, 30 of forward, 50 of backward, 15 of the optimizer, 3 of the rest.
 * There are 40. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "diagnosed_training.h"

/* --- worker-restarts -------------------------------------------------------------------------- */

/* Epochs of 8 steps with workers of their own, in 39 steps after the warm-up. They are stopped for
 * 5 ms and started for 10; a first fetch begins in the middle of the first wait. */
static struct shape restarting(uint64_t first_wait_us)
{
    struct shape shape = clean;
    shape.epoch_each = 8;
    shape.restarts = true;
    shape.stop_us = 5000;
    shape.restart_us = 10000;
    shape.first_wait_us = first_wait_us;
    return shape;
}

static void rule_worker_restarts_fires(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = restarting(40000);
    shape.slow_forward_us = 19500; /* the mean forward is 30 + 4 × 19.5 / 39 = 32 ms */
    make(&made, &shape);
    const struct ss_finding *finding = only_finding(&made.diagnosis, "worker-restarts");
    /* 4 × (5 + 10 + 20) ms, and 4 × (49.5 - 32), in 39 steps. */
    uint64_t cost_ns = 140 * MS / 39 + 70 * MS / 39;
    assert_int_equal(finding->cost_ns, cost_ns);
    assert_int_equal(finding->expected_ns, cost_ns);
    assert_int_equal(finding->recoverable_ns, cost_ns + cost_ns * 15 / 100);
    assert_int_equal(finding->of_ns, 100 * MS + 4 * 74500 * US / 39); /* 5 + 10 + 40 + 19.5 more */
    assert_true(finding->is_spread);
    check_evidence(finding, "restarts", 4);
    check_evidence(finding, "each", 35e6);
    check_evidence(finding, "slower computing after each", 17.5e6);
    check_evidence(finding, "steps to an epoch", 8);
    check_evidence(finding, "workers", 2);
    assert_int_equal(made.facts.epochs.each_wait_ns, 20 * MS); /* 41 + 1 - 20 - 2 × 1 */
    end(&made);
}

static void rule_worker_restarts_just_does_not_fire(void **state)
{
    (void)state;
    struct shape shape = restarting(40000);
    shape.steps = 17; /* begins an epoch at steps 8 and 16 */
    speaks(&shape, "worker-restarts");
    shape.steps = 16;
    speaks(&shape, "");
    shape = restarting(0);
    shape.restart_us = 0;
    shape.stop_us = 19898; /* 4 × 19.898 / 39 = 2.0408 ms, 2 % of 102.0408 */
    speaks(&shape, "worker-restarts");
    shape.stop_us = 19897;
    speaks(&shape, "");
}

static void rule_worker_restarts_beside_a_larger_one(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = waiting_for_workers();
    shape.epoch_each = 8;
    shape.restarts = true;
    shape.stop_us = 5000;
    shape.restart_us = 30000;
    shape.first_wait_us = 40000; /* 20 of it until they fetch */
    make(&made, &shape);
    check_findings(&made.diagnosis, "few-workers worker-restarts");
    /* Each has its own part of the phase data. */
    assert_in_range(made.diagnosis.findings.data[0].expected_ns, 100 * MS - 1, 100 * MS + 1);
    assert_int_equal(made.diagnosis.findings.data[1].expected_ns, 4 * (5 + 30 + 20) * MS / 39);
    end(&made);
}

/* --- epoch-starts ----------------------------------------------------------------------------- */

/* Epochs of 8 steps, whose first batch is waited for longer by so much. */
static struct shape starting_epochs(uint64_t first_wait_us)
{
    struct shape shape = clean;
    shape.epoch_each = 8;
    shape.first_wait_us = first_wait_us;
    return shape;
}

static void rule_epoch_starts_fires(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = starting_epochs(80000);
    make(&made, &shape);
    const struct ss_finding *finding = only_finding(&made.diagnosis, "epoch-starts");
    /* Four epochs in 39 steps. Each: 81 + 1 ms for two batches, of which later ones take 1 ms. */
    assert_int_equal(finding->cost_ns, 4 * 80 * MS / 39);
    assert_int_equal(finding->expected_ns, 4 * 80 * MS / 39);
    assert_int_equal(finding->recoverable_ns, 4 * 80 * MS / 39);
    assert_int_equal(finding->of_ns, (39 * 100 + 4 * 80) * MS / 39);
    assert_true(finding->is_spread);
    check_evidence(finding, "epochs begun", 4);
    check_evidence(finding, "waited at each", 80e6);
    check_evidence(finding, "steps to an epoch", 8);
    check_evidence(finding, "a batch in a worker", 40e6);
    check_evidence(finding, "workers", 2);
    check_evidence(finding, "cores", 8);
    end(&made);
}

static void rule_epoch_starts_just_does_not_fire(void **state)
{
    (void)state;
    struct shape shape = starting_epochs(51316); /* 4 × 51.316 / 39 = 5.2632 ms, 5 % of 105.2632 */
    speaks(&shape, "epoch-starts");
    shape = starting_epochs(51315);
    speaks(&shape, "");
    shape = starting_epochs(100000);
    shape.steps = 17; /* begins an epoch at steps 8 and 16 */
    struct made made;
    struct ss_finding finding = only_advice(&made, &shape);
    assert_string_equal(finding.rule->id, "epoch-starts");
    assert_int_equal(finding.cost_ns, 2 * 100 * MS / 16); /* over all steps but the first */
    end(&made);
    shape.steps = 16; /* once: no more than a program's last epoch costs */
    speaks(&shape, "");
}

static void rule_epoch_starts_beside_a_larger_one(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = restarting(200000);
    make(&made, &shape);
    check_findings(&made.diagnosis, "worker-restarts epoch-starts");
    assert_int_equal(made.diagnosis.findings.data[0].expected_ns, 4 * (5 + 10 + 100) * MS / 39);
    assert_int_equal(made.diagnosis.findings.data[1].expected_ns, 4 * 100 * MS / 39);
    end(&made);
}

/* As an iterator of workers that stay begins, they are asked for their first batches. */
static void epoch_starts_include_their_iterators(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = starting_epochs(80000);
    shape.restart_us = 10000;
    struct ss_finding finding = only_advice(&made, &shape);
    assert_int_equal(finding.cost_ns, 4 * 90 * MS / 39);
    end(&made);
    shape = restarting(40000);
    shape.workers = 1;
    speaks(&shape, "worker-restarts");
    shape.workers = 2;
    shape.epoch_each = 1; /* 39 starts after the first, each for one batch of 41 ms */
    make(&made, &shape);
    check_findings(&made.diagnosis, "worker-restarts epoch-starts");
    assert_int_equal(made.facts.epochs.each_wait_ns, 21 * MS); /* 20 of it until they fetch */
    end(&made);
}

/* Workers that are late all the time are late as an epoch begins as well. */
static void epochs_of_late_workers(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = waiting_for_workers();
    shape.epoch_each = 8;
    shape.first_wait_us = 10000;
    speaks(&shape, "few-workers");
    shape.steps = 17; /* two epochs after the first: the 10 ms are in three steps of 17 */
    struct ss_finding finding = only_advice(&made, &shape);
    assert_string_equal(finding.rule->id, "few-workers");
    assert_in_range(finding.cost_ns, 100 * MS + 10 * MS / 17, 100 * MS + 10 * MS / 17 + 1);
    end(&made);
    shape.steps = 40;
    shape.data_us = 1000;
    shape.first_wait_us = 400000; /* all of it is waited for at their beginnings */
    shape.epoch_each = 4;
    speaks(&shape, "epoch-starts");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rule_worker_restarts_fires),
        cmocka_unit_test(rule_worker_restarts_just_does_not_fire),
        cmocka_unit_test(rule_worker_restarts_beside_a_larger_one),
        cmocka_unit_test(rule_epoch_starts_fires),
        cmocka_unit_test(rule_epoch_starts_just_does_not_fire),
        cmocka_unit_test(rule_epoch_starts_beside_a_larger_one),
        cmocka_unit_test(epoch_starts_include_their_iterators),
        cmocka_unit_test(epochs_of_late_workers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
