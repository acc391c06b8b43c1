/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of rules_data.c, without those on epochs. The clean step takes 100 ms: 1 of data, 1 of
 * preparing, 30 of forward, 50 of backward, 15 of the optimizer, 3 of the rest. There are 40. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "diagnosed_training.h"

/* --- no-workers ------------------------------------------------------------------------------- */

/* The trainer fetches each batch itself. */
static struct shape fetching(uint64_t fetch_us)
{
    struct shape shape = clean;
    shape.workers = 0;
    shape.data_us = shape.fetch_us = fetch_us;
    return shape;
}

static void rule_no_workers_fires(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = fetching(60000);
    make(&made, &shape);
    const struct ss_finding *finding = only_finding(&made.diagnosis, "no-workers");
    /* 60 of 99 + 60 ms. With workers, half a millisecond for the batch remains. */
    check_cost(finding, 60000, 59500, 37.7358);
    assert_int_equal(finding->recoverable_ns, 59500 * US);
    check_evidence(finding, "fetching in the step", 60e6);
    check_evidence(finding, "samples in a batch", 16);
    check_evidence(finding, "cores", 8);
    assert_int_equal(finding->evidence_count, 3);
    assert_ptr_equal(finding->phase, ss_training_phase(&made.facts, "data"));
    check_line(&made, finding, 9, 50);
    end(&made);
}

static void rule_no_workers_just_does_not_fire(void **state)
{
    (void)state;
    /* Gained: 7.25 ms, less 0.5 for the batch, less 100 / 40 for the start of workers: 4.25 ms, 4 %
     * of 106.25. */
    struct shape shape = fetching(7250);
    speaks(&shape, "no-workers");
    shape = fetching(7249);
    speaks(&shape, "");
}

static void rule_no_workers_beside_a_larger_one(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = fetching(10000);
    shape.gc_us = 30000;
    make(&made, &shape);
    check_findings(&made.diagnosis, "gc-pauses no-workers");
    check_cost(&made.diagnosis.findings.data[0], 30000, 30000, 27.5229); /* of 109 ms */
    check_cost(&made.diagnosis.findings.data[1], 10000, 9500, 9.1743);
    end(&made);
}

/* What workers would have to do keeps the step as long. */
static void no_workers_estimates_the_step_with_workers(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = fetching(60000);
    shape.batches = 120; /* workers send each of them: 120 × 0.5 ms */
    speaks(&shape, "");
    shape.batches = 2;
    struct ss_finding finding = only_advice(&made, &shape);
    check_cost(&finding, 60000, 59000, 37.7358);
    check_evidence(&finding, "batches in a step", 2);
    end(&made);
    shape.batch_bytes = 10000000; /* of each of the two, at 500 ps a byte: 10 ms more */
    finding = only_advice(&made, &shape);
    check_cost(&finding, 60000, 49000, 37.7358);
    end(&made);
    shape.batches = 0;
    shape.batch_bytes = 40000000; /* at 500 ps a byte: 20 ms */
    finding = only_advice(&made, &shape);
    check_cost(&finding, 60000, 39500, 37.7358);
    end(&made);
    shape.batch_bytes = 120000000;
    speaks(&shape, "");
    shape.batch_bytes = 0;
    shape.iterators_each = 1; /* each epoch has one batch: nothing is loaded ahead */
    speaks(&shape, "");
    shape.iterators_each = 8; /* the first batches of 5 epochs: 5 × 60 ms in 40 steps */
    finding = only_advice(&made, &shape);
    check_cost(&finding, 60000, 52000, 37.7358);
    end(&made);
    shape.iterators_each = 0;
    shape.workers = -1; /* no loader */
    speaks(&shape, "");
}

/* All work of a step, divided by the cores, is the shortest step. */
static void no_workers_shares_the_cores(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = fetching(60000);
    shape.cores = 2; /* both are in use: workers would take them from the operators */
    shape.cpu_busy = 199;
    speaks(&shape, "");
    shape.cpu_own = 100; /* about half of it is other programs' */
    struct ss_finding finding = only_advice(&made, &shape);
    check_cost(&finding, 60000, 59500, 37.7358);
    end(&made);
    shape.cpu_own = 0;
    shape.cpu_busy = -1; /* two threads in 99 ms, one in 60: 258 / 2, and half of the batch's 0.5 */
    finding = only_advice(&made, &shape);
    check_cost(&finding, 60000, 29750, 37.7358);
    end(&made);
    shape.batch_bytes = 10000000; /* 5 ms to receive it, 6 to share it: half of 11 less */
    finding = only_advice(&made, &shape);
    check_cost(&finding, 60000, 24250, 37.7358);
    end(&made);
    shape.batch_bytes = 0;
    shape.threads = 16; /* no more of them run than there are cores */
    finding = only_advice(&made, &shape);
    check_cost(&finding, 60000, 29750, 37.7358);
    end(&made);
    shape.threads = 1;
    const struct shape other = shape; /* a second trainer has a thread as well */
    shape.other = &other;
    finding = only_advice(&made, &shape);
    check_cost(&finding, 60000, 29750, 37.7358);
    end(&made);
    shape.other = NULL; /* (99 + 60 + 0.5) / 2 is less than 99.5 ms */
    finding = only_advice(&made, &shape);
    check_cost(&finding, 60000, 59500, 37.7358);
    end(&made);
    shape.cores = 0; /* their number is unknown */
    finding = only_advice(&made, &shape);
    check_cost(&finding, 60000, 59500, 37.7358);
    assert_int_equal(finding.evidence_count, 2);
    end(&made);
}

/* --- few-workers, slow-workers ---------------------------------------------------------------- */

static void check_late_workers(const struct made *made, const struct ss_finding *finding)
{
    check_cost(finding, 100000, 100000, 50.2513); /* of 199 ms */
    assert_int_equal(finding->recoverable_ns, 100 * MS);
    assert_ptr_equal(finding->phase, ss_training_phase(&made->facts, "data"));
    check_evidence(finding, "workers", 2);
    check_evidence(finding, "workers that would keep up", 5); /* 398 in 99 ms: more than 4 */
    check_evidence(finding, "a batch in a worker", 398e6);
    /* 39 batches of 398 ms, and one of which 199 are recorded, in 2 × 40 × 199. */
    check_evidence(finding, "workers fetching", 98.75);
    check_evidence(finding, "no batch ready", 100);
    check_line(made, finding, 50, 100);
}

static void rule_few_workers_fires(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = waiting_for_workers();
    make(&made, &shape);
    const struct ss_finding *finding = only_finding(&made.diagnosis, "few-workers");
    check_late_workers(&made, finding);
    check_evidence(finding, "of all cores busy", 37.5); /* 300 of 800 */
    end(&made);
    make_for(&made, &shape, "42"); /* its workers are of the trainer that is asked for */
    check_late_workers(&made, only_finding(&made.diagnosis, "few-workers"));
    end(&made);
    make_for(&made, &shape, "43");
    check_findings(&made.diagnosis, "");
    end(&made);
}

static void rule_few_workers_just_does_not_fire(void **state)
{
    (void)state;
    struct shape shape = waiting_for_workers();
    shape.worker_fetch_us = 199000; /* one of two workers, all the time: 50 % */
    speaks(&shape, "few-workers");
    shape.worker_fetch_us = 198999;
    speaks(&shape, "");
}

/* Two workers, and epochs of 8 steps whose first batch takes 1.2 s more: in 4 of the 39 steps after
 * the warm-up. Each finding has its own part of the wait. */
static struct shape with_long_first_waits(void)
{
    struct shape shape = waiting_for_workers();
    shape.epoch_each = 8;
    shape.first_wait_us = 1200000;
    return shape;
}

static void check_beside_epoch_starts(const struct shape *shape, const char *wanted)
{
    struct made made;
    make(&made, shape);
    check_findings(&made.diagnosis, wanted);
    assert_int_equal(made.diagnosis.findings.data[0].expected_ns, 4 * 1200 * MS / 39);
    assert_in_range(made.diagnosis.findings.data[1].expected_ns, 100 * MS, 100 * MS + 1);
    end(&made);
}

static void rule_few_workers_beside_a_larger_one(void **state)
{
    (void)state;
    struct shape shape = with_long_first_waits();
    check_beside_epoch_starts(&shape, "epoch-starts few-workers");
}

static void rule_slow_workers_fires(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = waiting_for_workers();
    shape.cpu_busy = 790;
    make(&made, &shape);
    const struct ss_finding *finding = only_finding(&made.diagnosis, "slow-workers");
    check_late_workers(&made, finding);
    check_evidence(finding, "of all cores busy", 98.75);
    end(&made);
    shape.cpu_busy = -1; /* each process counts as one */
    shape.cores = 3;
    speaks(&shape, "slow-workers");
    shape.cores = 4;
    speaks(&shape, "few-workers");
}

/* One more worker has a core from here on: too few workers, not too slow ones. */
static void rule_slow_workers_just_does_not_fire(void **state)
{
    (void)state;
    struct shape shape = waiting_for_workers();
    shape.cpu_busy = 720; /* 90 % of the cores */
    speaks(&shape, "slow-workers");
    shape.cpu_busy = 719;
    speaks(&shape, "few-workers");
    shape.cores = 4;
    shape.cpu_busy = 351; /* less than half a core is free */
    speaks(&shape, "slow-workers");
    shape.cpu_busy = 350;
    speaks(&shape, "few-workers");
}

static void rule_slow_workers_beside_a_larger_one(void **state)
{
    (void)state;
    struct shape shape = with_long_first_waits();
    shape.cpu_busy = 790;
    check_beside_epoch_starts(&shape, "epoch-starts slow-workers");
}

/* A batch that is ready was delivered late, if the workers are never idle. */
static void late_workers_may_have_batches_ready(void **state)
{
    (void)state;
    struct shape shape = waiting_for_workers();
    shape.ready = 2;
    speaks(&shape, "few-workers");
    shape.worker_fetch_us = 300000; /* 39 × 300 + 199 ms of 2 × 40 × 199: less than 85 % */
    speaks(&shape, "");
    shape.empty_each = 4; /* both have one ready at a time, and of each second pair none */
    speaks(&shape, "few-workers");
    shape.empty_each = 5; /* 8 of 40 requests, for two workers: 40 % */
    speaks(&shape, "");
}

/* Its fetches overlap in the recording, as if it were two. */
static void one_worker_may_be_too_few(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = waiting_for_workers();
    shape.workers = 1;
    make(&made, &shape);
    const struct ss_finding *finding = only_finding(&made.diagnosis, "few-workers");
    check_evidence(finding, "workers", 1);
    check_evidence(finding, "workers fetching", 100);
    end(&made);
    shape.cpu_busy = 790;
    shape.workers_asleep = 100; /* half of the time it computes */
    speaks(&shape, "slow-workers");
    shape.workers_asleep = 101;
    speaks(&shape, "few-workers");
}

/* Where the use of cores is not recorded, each process of each trainer counts as one. */
static void workers_of_two_trainers(void **state)
{
    (void)state;
    struct shape other = waiting_for_workers(), shape = other;
    shape.other = &other;
    shape.cpu_busy = -1;
    shape.cores = 6;
    speaks(&shape, "slow-workers");
    shape.cores = 7;
    speaks(&shape, "few-workers");
}

/* They fetch all the time, but a disk or a network has them wait: more of them need no core. */
static void waiting_workers_need_no_core(void **state)
{
    (void)state;
    struct shape shape = waiting_for_workers();
    shape.cpu_busy = 790;
    shape.workers_asleep = 103; /* 100 of 203 samples compute: less than half of 98.75 % */
    speaks(&shape, "few-workers");
    shape.workers_asleep = 102; /* 49.5 % */
    speaks(&shape, "slow-workers");
    shape.workers_asleep = 20;
    shape.workers_computing = 9; /* too few samples to say */
    speaks(&shape, "slow-workers");
    shape.workers_asleep = 21;
    speaks(&shape, "few-workers");
}

/* --- slow-collate ----------------------------------------------------------------------------- */

static struct shape collating(uint64_t fetch_us, uint64_t collate_us)
{
    struct shape shape = fetching(fetch_us);
    shape.collate_us = collate_us;
    shape.collates = 70;
    return shape;
}

static void rule_slow_collate_fires(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = collating(8000, 7800);
    make(&made, &shape);
    const struct ss_finding *finding = only_finding(&made.diagnosis, "slow-collate");
    check_cost(finding, 7800, 7800, 7.2897);              /* of 107 ms */
    assert_int_equal(finding->recoverable_ns, 8970 * US); /* and 15 % for cold caches */
    check_evidence(finding, "collate of the fetch", 97.5);
    check_evidence(finding, "collating a batch", 7.8e6);
    check_line(&made, finding, 40, 70);
    end(&made);
    shape = waiting_for_workers(); /* in workers: that share of the wait for them */
    shape.collate_us = 298500;     /* of 398 ms */
    make(&made, &shape);
    finding = only_finding(&made.diagnosis, "slow-collate");
    check_cost(finding, 75000, 75000, 37.6884); /* of 199 ms */
    check_evidence(finding, "collate of the fetch", 75);
    check_evidence(finding, "collating a batch", 298.5e6);
    assert_int_equal(finding->recoverable_ns, 75 * MS);
    end(&made);
    shape.cpu_busy = 790; /* the workers leave the training no core */
    make(&made, &shape);
    finding = only_finding(&made.diagnosis, "slow-collate");
    assert_int_equal(finding->recoverable_ns, 75000 * US + 298500 * US / 8);
    end(&made);
    shape.workers = 1;
    speaks(&shape, "slow-collate");
}

/* A collate function that tokenises text, in PyTorch's fetch. */
static void add_tokenising(struct made *made, const struct shape *shape)
{
    (void)shape;
    uint32_t stack =
        call(made, 0, "/site-packages/torch/utils/data/_utils/fetch.py", 1, SS_ORIGIN_PACKAGE);
    stack = call(made, stack, "collate.py", 40, SS_ORIGIN_USER);
    stack = call(made, stack, "/site-packages/transformers/tokenization_utils_base.py", 1,
                 SS_ORIGIN_PACKAGE);
    add_total(made, stack, "data", SS_STATE_ON_CPU, 40);
}

/* Its fix is that of what it does, where that is at least half of it. */
static void slow_collate_names_what_it_does(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = collating(8000, 7800);
    shape.collates = 40;
    shape.more = add_tokenising;
    struct ss_finding finding = only_advice(&made, &shape);
    assert_string_equal(finding.rule->id, "slow-collate");
    assert_int_equal(finding.activity, SS_ACTIVITY_TOKENISATION);
    assert_ptr_equal(finding.fix, ss_activity_fix(SS_ACTIVITY_TOKENISATION));
    end(&made);
    shape.collates = 41;
    finding = only_advice(&made, &shape);
    assert_int_equal(finding.activity, SS_ACTIVITY_NOTHING);
    assert_ptr_equal(finding.fix, finding.rule->fix);
    end(&made);
}

static void rule_slow_collate_just_does_not_fire(void **state)
{
    (void)state;
    struct shape shape = waiting_for_workers();
    shape.collate_us = 199000;
    speaks(&shape, "slow-collate");
    shape.collate_us = 198999;
    speaks(&shape, "few-workers");
    shape = clean; /* batches are ready: they would be as ready without it */
    shape.data_us = 20000;
    shape.collate_us = 39000; /* of 40 ms */
    speaks(&shape, "");
    shape = collating(20000, 10000);
    speaks(&shape, "slow-collate");
    shape = collating(20000, 9999);
    speaks(&shape, "no-workers");
}

/* Its time is within that of the rules on workers: it replaces theirs if it explains enough. */
static void rule_slow_collate_beside_a_larger_one(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = collating(20000, 15801);
    shape.data_us = 40000; /* workers would save 39.5 ms, of which collating is 40 % */
    speaks(&shape, "slow-collate");
    shape.collate_us = 15799;
    struct ss_finding finding = only_advice(&made, &shape);
    assert_string_equal(finding.rule->id, "no-workers");
    check_evidence(&finding, "collate of the fetch", 78.995); /* of 20 ms */
    end(&made);
    shape = waiting_for_workers();
    shape.collate_us = 199000; /* half of each fetch */
    shape.gc_us = 60000;
    make(&made, &shape);
    check_findings(&made.diagnosis, "gc-pauses slow-collate");
    check_cost(&made.diagnosis.findings.data[0], 60000, 60000, 30.1508); /* of 199 ms */
    check_cost(&made.diagnosis.findings.data[1], 50000, 50000, 25.1256);
    end(&made);
}

/* --- slow-samples ----------------------------------------------------------------------------- */

/* Times of samples that were recorded; most take 100 µs. */
static struct {
    uint64_t samples, slow, slow_us;
} timed;

static void add_timed_samples(struct made *made, const struct shape *shape)
{
    (void)shape;
    uint64_t at_ns = 2000 * MS;
    for (uint64_t i = 0; i < timed.samples; i++) {
        uint64_t us = i < timed.slow ? timed.slow_us : 100;
        add_range(made, made->data, "sample", "", at_ns, us * US + (i == 3), (int64_t)(100 + i));
        at_ns += us * US + 1;
    }
}

static struct shape with_slow_samples(uint64_t samples, uint64_t slow, uint64_t slow_us)
{
    struct shape shape = fetching(60000);
    timed.samples = samples;
    timed.slow = slow;
    timed.slow_us = slow_us;
    shape.more = add_timed_samples;
    return shape;
}

/* 10 of 100 samples take 91 of 100 ms, 90 more than ten others: so much of the fetch. Workers would
 * save more, and leave the samples as slow as they are. */
static void rule_slow_samples_fires(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = with_slow_samples(100, 10, 9100);
    make(&made, &shape);
    const struct ss_finding *finding = only_finding(&made.diagnosis, "slow-samples");
    assert_in_range(finding->cost_ns, 53999 * US, 54001 * US); /* of 159 ms */
    assert_float_equal(finding->percent, 33.9623, 1e-3);
    check_evidence(finding, "slow samples", 10);
    assert_float_equal(evidence(finding, "of the time of all samples"), 91, 1e-3);
    check_evidence(finding, "a median sample", 100e3);
    check_evidence(finding, "slowest: index", 103);
    check_evidence(finding, "takes", 9.1e6 + 1);
    assert_ptr_equal(finding->phase, ss_training_phase(&made.facts, "data"));
    end(&made);
    shape.workers = 2; /* which keep up */
    speaks(&shape, "");
}

static void rule_slow_samples_just_does_not_fire(void **state)
{
    (void)state;
    struct shape shape = with_slow_samples(100, 10, 1000);
    speaks(&shape, "slow-samples");
    shape = with_slow_samples(100, 10, 999); /* not ten times the median */
    speaks(&shape, "no-workers");
    shape = with_slow_samples(99, 9, 9100);
    speaks(&shape, "no-workers");
    shape = with_slow_samples(100, 11, 9100); /* no few */
    speaks(&shape, "no-workers");
    shape = with_slow_samples(100, 1, 9901); /* half of the time */
    speaks(&shape, "slow-samples");
    shape = with_slow_samples(100, 1, 9800);
    speaks(&shape, "no-workers");
}

static void rule_slow_samples_beside_a_larger_one(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = with_slow_samples(100, 10, 9100);
    shape.gc_us = 70000;
    make(&made, &shape);
    check_findings(&made.diagnosis, "gc-pauses slow-samples");
    check_cost(&made.diagnosis.findings.data[0], 70000, 70000, 44.0252);
    end(&made);
}

/* --- received-batches ------------------------------------------------------------------------- */

/* Workers keep up: three batches are ready. Half of the data phase's samples receive one. */
static struct shape receiving(uint64_t data_us, uint64_t samples)
{
    struct shape shape = clean;
    shape.data_us = data_us;
    shape.receives = samples; /* beside 50 that wait */
    return shape;
}

static void rule_received_batches_fires(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = receiving(26000, 150);
    shape.batch_tensors = 4;
    shape.batch_bytes = 1000000;
    shape.collate_us = 39000; /* of 40 ms, which nothing waits for */
    make(&made, &shape);
    const struct ss_finding *finding = only_finding(&made.diagnosis, "received-batches");
    check_cost(finding, 19500, 14625, 15.6); /* 150 of 200 samples, of 26 ms; of 125 */
    check_evidence(finding, "tensors in a batch", 4);
    check_evidence(finding, "size of a batch", 1000000);
    check_evidence(finding, "no batch ready", 0);
    check_evidence(finding, "workers", 2);
    check_line(&made, finding, 9, 150);
    assert_ptr_equal(finding->phase, ss_training_phase(&made.facts, "data"));
    end(&made);
}

static void rule_received_batches_just_does_not_fire(void **state)
{
    (void)state;
    struct shape shape = receiving(26000, 50);
    speaks(&shape, "received-batches");
    shape.receives = 49;
    speaks(&shape, "");
    shape = waiting_for_workers(); /* which are late: that is the cost */
    shape.receives = 150;
    speaks(&shape, "few-workers");
}

static void rule_received_batches_beside_a_larger_one(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = receiving(26000, 150);
    shape.gc_us = 30000;
    make(&made, &shape);
    check_findings(&made.diagnosis, "gc-pauses received-batches");
    check_cost(&made.diagnosis.findings.data[0], 30000, 30000, 24);
    check_cost(&made.diagnosis.findings.data[1], 19500, 14625, 15.6);
    end(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rule_no_workers_fires),
        cmocka_unit_test(rule_no_workers_just_does_not_fire),
        cmocka_unit_test(rule_no_workers_beside_a_larger_one),
        cmocka_unit_test(no_workers_estimates_the_step_with_workers),
        cmocka_unit_test(no_workers_shares_the_cores),
        cmocka_unit_test(rule_few_workers_fires),
        cmocka_unit_test(rule_few_workers_just_does_not_fire),
        cmocka_unit_test(rule_few_workers_beside_a_larger_one),
        cmocka_unit_test(rule_slow_workers_fires),
        cmocka_unit_test(rule_slow_workers_just_does_not_fire),
        cmocka_unit_test(rule_slow_workers_beside_a_larger_one),
        cmocka_unit_test(late_workers_may_have_batches_ready),
        cmocka_unit_test(one_worker_may_be_too_few),
        cmocka_unit_test(workers_of_two_trainers),
        cmocka_unit_test(waiting_workers_need_no_core),
        cmocka_unit_test(rule_slow_collate_fires),
        cmocka_unit_test(slow_collate_names_what_it_does),
        cmocka_unit_test(rule_slow_collate_just_does_not_fire),
        cmocka_unit_test(rule_slow_collate_beside_a_larger_one),
        cmocka_unit_test(rule_slow_samples_fires),
        cmocka_unit_test(rule_slow_samples_just_does_not_fire),
        cmocka_unit_test(rule_slow_samples_beside_a_larger_one),
        cmocka_unit_test(rule_received_batches_fires),
        cmocka_unit_test(rule_received_batches_just_does_not_fire),
        cmocka_unit_test(rule_received_batches_beside_a_larger_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
