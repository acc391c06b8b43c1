/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of rules_data.c: each on a training with its fault, and on one just below its limits.
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

static void test_no_workers(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = clean;
    shape.workers = 0;
    shape.data_us = shape.fetch_us = 60000;
    struct ss_finding finding = only_advice(&made, &shape);
    assert_string_equal(finding.rule->id, "no-workers");
    assert_int_equal(finding.cost_ns, 60000 * US);
    assert_int_equal(finding.expected_ns, 59500 * US); /* less half a millisecond for the batch */
    assert_true(finding.percent > 37 && finding.percent < 38); /* 60 of 159 ms */
    assert_true(evidence(&finding, "fetching in the step") >= 6e7);
    assert_ptr_equal(finding.line, &ss_training_phase(&made.facts, "data")->line);
    end(&made);
    shape.data_us = shape.fetch_us = 4000; /* 4 % */
    speaks(&shape, "");
    shape.data_us = shape.fetch_us =
        6500; /* 6 ms of 105.5, were it not for 2.5 ms of their start */
    speaks(&shape, "");
    shape.data_us = shape.fetch_us = 7500;
    speaks(&shape, "no-workers");
    shape.data_us = shape.fetch_us = 60000;
    shape.batches = 120; /* workers send each of them */
    speaks(&shape, "");
    shape.batches = 0;
    shape.batch_bytes = 40000000; /* takes 20 ms longer than a small one */
    finding = only_advice(&made, &shape);
    assert_int_equal(finding.expected_ns, 39500 * US);
    end(&made);
    shape.batch_bytes = 120000000;
    speaks(&shape, "");
    shape.batch_bytes = 0;
    shape.cores = 2; /* both are in use: workers would take them from the operators */
    shape.cpu_busy = 199;
    speaks(&shape, "");
    shape.cpu_busy = 100;
    speaks(&shape, "no-workers");
    shape.cores = 8;
    shape.iterators_each = 1; /* each epoch has one batch: nothing is loaded ahead */
    speaks(&shape, "");
    shape.data_us = 60000;
    shape.workers = -1; /* no loader */
    speaks(&shape, "");
}

static void test_workers(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = clean;
    shape.data_us = 100000; /* 199 ms a step, in which both workers fetch */
    shape.worker_fetch_us = 398000;
    shape.ready = 0;
    struct ss_finding finding = only_advice(&made, &shape);
    assert_string_equal(finding.rule->id, "few-workers");
    assert_int_equal(finding.expected_ns, 100000 * US);
    assert_true(evidence(&finding, "workers that would keep up") >= 5);
    assert_true(evidence(&finding, "no batch ready") > 99);
    end(&made);
    make_for(&made, &shape, "42"); /* its workers are of the trainer that is asked for */
    assert_string_equal(made.diagnosis.findings.data[0].rule->id, "few-workers");
    end(&made);
    make_for(&made, &shape, "43");
    assert_int_equal(made.diagnosis.findings.count, 0);
    end(&made);
    shape.cpu_busy = 790;
    speaks(&shape, "slow-workers");
    shape.cpu_busy = -1;
    shape.cores = 3;
    speaks(&shape, "slow-workers");
    shape.worker_fetch_us = 100000; /* it is not the workers that let it wait */
    speaks(&shape, "");
    shape.worker_fetch_us = 398000;
    shape.ready = 2; /* made, but received late */
    speaks(&shape, "slow-workers");
    shape.worker_fetch_us = 300000;
    speaks(&shape, "");
    shape.empty_each = 4; /* both have one ready at a time, and of each second pair none */
    speaks(&shape, "slow-workers");
    shape.empty_each = 8;
    speaks(&shape, "");
}

/* They fetch all the time, but a disk or a network has them wait. */
static void test_waiting_workers(void **state)
{
    (void)state;
    struct shape shape = clean;
    shape.data_us = 100000;
    shape.worker_fetch_us = 398000;
    shape.ready = 0;
    shape.cpu_busy = 790; /* no core is left */
    shape.workers_asleep = 80;
    shape.workers_computing = 20;
    speaks(&shape, "few-workers");
    shape.workers_computing = 200;
    speaks(&shape, "slow-workers");
}

static void test_epochs(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = clean; /* 100 ms a step, two workers */
    shape.epoch_each = 8;
    shape.first_wait_us = 80000;
    struct ss_finding finding = only_advice(&made, &shape);
    assert_string_equal(finding.rule->id, "epoch-starts");
    assert_true(finding.is_spread);
    assert_in_range(finding.expected_ns, 8100 * US, 8300 * US); /* 4 times in 39 steps */
    assert_true(evidence(&finding, "epochs begun") > 3 && evidence(&finding, "epochs begun") < 5);
    assert_true(evidence(&finding, "steps to an epoch") > 7 &&
                evidence(&finding, "steps to an epoch") < 9);
    assert_in_range(made.facts.epochs.each_wait_ns, 79000 * US, 80500 * US);
    end(&made);
    shape.restarts = true; /* 35 ms until they fetch, 20 of them within the first wait */
    shape.restart_us = 10000;
    shape.stop_us = 5000;
    shape.first_wait_us = 40000;
    make(&made, &shape);
    assert_int_equal(made.diagnosis.findings.count, 1);
    finding = made.diagnosis.findings.data[0];
    assert_string_equal(finding.rule->id, "worker-restarts");
    assert_in_range(made.facts.epochs.each_restart_ns, 34500 * US, 35500 * US);
    assert_in_range(made.facts.epochs.each_wait_ns, 19000 * US, 20500 * US);
    assert_in_range(made.facts.epochs.each_behind_ns, 0, 100 * US);
    uint64_t without_ns = finding.expected_ns;
    end(&made);
    shape.slow_forward_us = 20000; /* behind the fork, 4 times in 39 steps */
    make(&made, &shape);
    finding = made.diagnosis.findings.data[0];
    assert_string_equal(finding.rule->id, "worker-restarts");
    assert_in_range(made.facts.epochs.each_restart_ns, 34500 * US, 35500 * US);
    assert_in_range(made.facts.epochs.each_behind_ns, 17500 * US, 18500 * US); /* than the mean */
    assert_in_range(finding.expected_ns - without_ns, 1790 * US, 1900 * US);
    end(&made);
    shape.slow_forward_us = 0;
    shape.restarts = false; /* those that stay */
    shape.restart_us = 0;
    shape.first_wait_us = 10000;
    speaks(&shape, "");
    shape.epoch_each = 24; /* once: no more than a program's last epoch costs */
    shape.first_wait_us = 900000;
    speaks(&shape, "");
}

/* Workers that are late all the time are late as an epoch begins as well. */
static void test_epochs_of_late_workers(void **state)
{
    (void)state;
    struct shape shape = clean;
    shape.data_us = 100000;
    shape.worker_fetch_us = 398000;
    shape.ready = 0;
    shape.epoch_each = 8;
    shape.first_wait_us = 10000;
    speaks(&shape, "few-workers");
    shape.data_us = 1000;
    shape.first_wait_us = 400000; /* all of it is waited for at their beginnings */
    shape.epoch_each = 4;
    speaks(&shape, "epoch-starts");
}

static void test_slow_collate(void **state)
{
    (void)state;
    struct shape shape = clean;
    shape.workers = 0;
    shape.data_us = 8000;
    shape.fetch_us = 7900;
    shape.collate_us = 7800;
    shape.collates = 70;
    struct made made;
    make(&made, &shape);
    assert_int_equal(made.diagnosis.findings.count, 1); /* its time is that of no-workers */
    struct ss_finding first = made.diagnosis.findings.data[0];
    assert_string_equal(first.rule->id, "slow-collate");
    assert_int_equal(made.model.frames.data[first.line->frame].line, 40);
    end(&made);
    shape.collate_us = 2000;
    shape.collates = 0;
    shape.data_us = shape.fetch_us = 20000;
    speaks(&shape, "no-workers");
    shape = clean;
    shape.data_us = 20000; /* workers have it ready, if late: a share of the wait */
    shape.collate_us = shape.worker_fetch_us / 2;
    struct ss_finding finding = only_advice(&made, &shape);
    assert_string_equal(finding.rule->id, "slow-collate");
    assert_in_range(finding.expected_ns, 9900 * US, 10100 * US);
    end(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_workers),
        cmocka_unit_test(test_workers),
        cmocka_unit_test(test_waiting_workers),
        cmocka_unit_test(test_epochs),
        cmocka_unit_test(test_epochs_of_late_workers),
        cmocka_unit_test(test_slow_collate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
