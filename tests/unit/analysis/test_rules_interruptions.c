/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of rules_interruptions.c, without those on ranks. The clean step takes 100 ms: 1 of
 * data, 1 of preparing, 30 of forward, 50 of backward, 15 of the optimizer, 3 of the rest. There
 * are 40. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "diagnosed_training.h"

/* --- gc-pauses -------------------------------------------------------------------------------- */

/* So long in each step. */
static struct shape collecting(uint64_t us)
{
    struct shape shape = clean;
    shape.gc_us = us;
    return shape;
}

static void rule_gc_pauses_fires(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = collecting(6000);
    make(&made, &shape);
    const struct ss_finding *finding = only_finding(&made.diagnosis, "gc-pauses");
    check_cost(finding, 6000, 6000, 6);
    assert_int_equal(finding->recoverable_ns, 6900 * US); /* and 15 % for cold caches */
    check_evidence(finding, "collections", 40);
    assert_string_equal(finding->headline, finding->rule->headline);
    assert_null(finding->line);
    assert_true(finding->is_spread);
    end(&made);
    shape.gc_compiles = true; /* while a graph is compiled */
    speaks(&shape, "");
}

static void rule_gc_pauses_just_does_not_fire(void **state)
{
    (void)state;
    struct shape shape = collecting(2000); /* 2 % */
    speaks(&shape, "gc-pauses");
    shape = collecting(1999);
    speaks(&shape, "");
    shape = collecting(90000); /* 90 / 40 = 2.25 ms a step */
    shape.gc_each = 39;        /* in steps 0 and 39 */
    speaks(&shape, "gc-pauses");
    shape.gc_each = 40;
    speaks(&shape, "");
}

static void rule_gc_pauses_beside_a_larger_one(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = collecting(6000);
    shape.prepare_us = 40000;
    shape.plain = 60; /* all of the 43 ms in no phase */
    make(&made, &shape);
    check_findings(&made.diagnosis, "hot-line gc-pauses");
    check_cost(&made.diagnosis.findings.data[0], 43000, 43000, 30.9353); /* of 139 ms */
    check_cost(&made.diagnosis.findings.data[1], 6000, 6000, 4.3165);
    end(&made);
}

/* The line that calls gc.collect() is named. It has no finding of its own, although all 4 ms in no
 * phase are spent there. */
static void gc_pauses_of_calls(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = collecting(6000);
    shape.collecting = 30;
    make(&made, &shape);
    const struct ss_finding *finding = only_finding(&made.diagnosis, "gc-pauses");
    assert_string_equal(finding->headline, "goes into calls of gc.collect()");
    check_cost(finding, 6000, 6000, 6);
    check_line(&made, finding, 32, 30);
    end(&made);
    shape.collecting = 29; /* too few for a claim */
    struct ss_finding without = only_advice(&made, &shape);
    assert_string_equal(without.headline, without.rule->headline);
    assert_null(without.line);
    end(&made);
}

/* --- checkpoint-stalls ------------------------------------------------------------------------ */

/* At the end of each n-th step, for so long. */
static struct shape saving(uint32_t each, uint64_t us)
{
    struct shape shape = clean;
    shape.save_each = each;
    shape.save_us = us;
    shape.rest_us = 20000; /* 117 ms a step */
    return shape;
}

static void rule_checkpoint_stalls_fires(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = saving(5, 20000);
    make(&made, &shape);
    const struct ss_finding *finding = only_finding(&made.diagnosis, "checkpoint-stalls");
    check_cost(finding, 4000, 4000, 3.4188);              /* 8 × 20 ms in 40 steps */
    assert_int_equal(finding->recoverable_ns, 4600 * US); /* and 15 % for cold caches */
    check_evidence(finding, "checkpoints", 8);
    assert_null(finding->phase);
    end(&made);
}

static void rule_checkpoint_stalls_just_does_not_fire(void **state)
{
    (void)state;
    struct shape shape = saving(5, 11700); /* 8 × 11.7 / 40 = 2.34 ms, 2 % of 117 */
    speaks(&shape, "checkpoint-stalls");
    shape = saving(5, 11699);
    speaks(&shape, "");
    shape = saving(20, 400000); /* in steps 19 and 39 */
    shape.rest_us = 400000;
    speaks(&shape, "checkpoint-stalls");
    shape.save_each = 21; /* 10 of 497 ms in the mean, but once */
    speaks(&shape, "");
}

static void rule_checkpoint_stalls_beside_a_larger_one(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = saving(5, 20000);
    shape.gc_us = 11700;
    make(&made, &shape);
    check_findings(&made.diagnosis, "gc-pauses checkpoint-stalls");
    check_cost(&made.diagnosis.findings.data[0], 11700, 11700, 10);
    check_cost(&made.diagnosis.findings.data[1], 4000, 4000, 3.4188);
    end(&made);
}

/* Another file of each checkpoint. */
static void save_twice(struct made *made, const struct shape *shape)
{
    for (size_t i = 0, count = made->model.ranges.count; i < count; i++) {
        struct ss_model_range range = made->model.ranges.data[i];
        if (range.track == made->save) {
            add_range(made, made->save, "torch.save", "",
                      range.begin_ns - (shape->checkpoint_us - shape->save_us) * US, US, 0);
        }
    }
}

/* All that a framework does counts, around the call that writes. */
static void checkpoints_of_a_framework(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = saving(5, 8000);
    shape.checkpoint_us = 20000;
    shape.writes = 60;
    shape.more = save_twice;
    make(&made, &shape);
    const struct ss_finding *finding = only_finding(&made.diagnosis, "checkpoint-stalls");
    check_cost(finding, 4000, 4000, 3.4188); /* 8 × 20 ms in 40 steps */
    check_evidence(finding, "steps with a checkpoint", 8);
    check_evidence(finding, "calls of torch.save", 16);
    assert_ptr_equal(finding->phase, ss_training_phase(&made.facts, "checkpoint"));
    check_line(&made, finding, 33, 60);
    end(&made);
}

static void compute_at_the_line(struct made *made, const struct shape *shape)
{
    (void)shape;
    add_samples(made, NULL, 33, NULL, SS_STATE_ON_CPU, 300);
}

/* Each step waits 20 ms of 124 for the file, and computes for 8 at the same line: taking the line
 * off the thread saves both. */
static void checkpoints_include_their_line(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = saving(1, 8000);
    shape.checkpoint_us = 20000;
    shape.prepare_us = 8000;
    shape.writes = 30;
    shape.more = compute_at_the_line;
    make(&made, &shape);
    const struct ss_finding *finding = only_finding(&made.diagnosis, "checkpoint-stalls");
    assert_int_equal(finding->cost_ns, 20 * MS);
    assert_int_equal(finding->expected_ns, 28 * MS);
    check_evidence(finding, "computing at the line", 8e6);
    check_line(&made, finding, 33, 30);
    end(&made);
}

/* --- periodic-stalls -------------------------------------------------------------------------- */

/* Each n-th step takes longer by so much, at its end. */
static struct shape stalling(uint32_t each, uint64_t us, const char *phase)
{
    struct shape shape = clean;
    shape.stall_each = each;
    shape.stall_us = us;
    shape.stall_phase = phase;
    return shape;
}

static void rule_periodic_stalls_fires(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = stalling(10, 200000, NULL);
    shape.plain = 60; /* a line of the same time: it has no finding of its own */
    make(&made, &shape);
    const struct ss_finding *finding = only_finding(&made.diagnosis, "periodic-stalls");
    check_cost(finding, 20000, 20000, 16.6667);            /* 4 × 200 / 40, of 120 ms */
    assert_int_equal(finding->recoverable_ns, 23000 * US); /* and 15 % for cold caches */
    check_evidence(finding, "a slow step every", 10);
    check_evidence(finding, "slow steps", 4);
    check_evidence(finding, "each longer by", 200e6);
    check_line(&made, finding, 38, 60);
    assert_string_equal(finding->headline, finding->rule->headline);
    end(&made);
    shape.stall_phase = "forward"; /* another program uses the core */
    shape.plain = 0;
    speaks(&shape, "");
}

/* The line with most of the time of that phase, and what it does. */
static void periodic_stalls_are_named_by_what_they_do(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = stalling(10, 200000, NULL);
    shape.prepares = 60;
    shape.torch_other = 20;
    make(&made, &shape);
    const struct ss_finding *finding = only_finding(&made.diagnosis, "periodic-stalls");
    check_line(&made, finding, 20, 60);
    assert_int_equal(finding->activity, SS_ACTIVITY_NUMPY);
    assert_string_equal(finding->fix, ss_activity_fix(SS_ACTIVITY_NUMPY));
    end(&made);
    shape.prepares = 35;
    shape.torch_other = 65;
    make(&made, &shape);
    check_findings(&made.diagnosis, "periodic-stalls hot-line");
    finding = &made.diagnosis.findings.data[0];
    check_line(&made, finding, 21, 65); /* the heavier one, of which nothing more is known */
    assert_int_equal(finding->activity, SS_ACTIVITY_NOTHING);
    assert_string_equal(finding->fix, finding->rule->fix);
    end(&made);
}

/* A policy acts in its environment between updates: the time of both is lost, and what helps is no
 * less of it. */
static void periodic_stalls_may_be_rollouts(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = stalling(10, 180000, NULL);
    shape.acts_us = 20000;
    make(&made, &shape);
    const struct ss_finding *finding = only_finding(&made.diagnosis, "periodic-stalls");
    check_cost(finding, 20000, 20000, 16.6667); /* 4 × (180 + 20) / 40, of 120 ms */
    check_evidence(finding, "each longer by", 200e6);
    check_evidence(finding, "the model in each", 20e6);
    assert_non_null(strstr(finding->headline, "the model runs without a backward"));
    assert_non_null(strstr(finding->fix, "step several environments at once"));
    end(&made);
    shape.acts_us = 17999; /* less than a tenth */
    make(&made, &shape);
    finding = only_finding(&made.diagnosis, "periodic-stalls");
    assert_string_equal(finding->headline, finding->rule->headline);
    end(&made);
    shape = stalling(10, 200000, "inference"); /* nothing else in those steps */
    make(&made, &shape);
    finding = only_finding(&made.diagnosis, "periodic-stalls");
    check_evidence(finding, "the model in each", 200e6);
    end(&made);
}

static void rule_periodic_stalls_just_does_not_fire(void **state)
{
    (void)state;
    struct shape shape = stalling(10, 52632, NULL); /* 5.2632 of 105.2632 ms: 5 % */
    speaks(&shape, "periodic-stalls");
    shape.stall_us = 52631;
    speaks(&shape, "");
    shape = stalling(4, 25001, NULL); /* more than 25 % of the median step */
    speaks(&shape, "periodic-stalls");
    shape.stall_us = 25000;
    speaks(&shape, "");
    shape = stalling(10, 200000, NULL);
    shape.steps = 39; /* thrice: it may be chance */
    speaks(&shape, "");
}

/* 50 steps, of which every fifth should be slow: the first so many are. */
static struct shape stalling_at_first(uint32_t slow)
{
    struct shape shape = clean;
    shape.steps = 50;
    shape.stall_us = 200000;
    for (uint32_t i = 0; i < slow; i++) {
        shape.stall_in |= UINT64_C(1) << (5 * i + 4);
    }
    return shape;
}

static void periodic_stalls_are_regular(void **state)
{
    (void)state;
    struct shape shape = stalling_at_first(8); /* of 10 */
    speaks(&shape, "periodic-stalls");
    shape = stalling_at_first(7);
    speaks(&shape, "");
    shape = stalling(2, 200000, NULL); /* 19 of 39 */
    shape.steps = 39;
    speaks(&shape, "periodic-stalls");
}

/* Each third of so many steps is slow, and so many others. */
static struct shape stalling_elsewhere(uint32_t steps, uint32_t others)
{
    struct shape shape = stalling(3, 200000, NULL);
    shape.steps = steps;
    for (uint32_t i = 0; i < others; i++) {
        shape.stall_in |= UINT64_C(1) << (3 * i + 3);
    }
    return shape;
}

static void periodic_stalls_are_not_elsewhere(void **state)
{
    (void)state;
    struct shape shape = stalling_elsewhere(30, 4); /* of 20: 20 % */
    speaks(&shape, "periodic-stalls");
    shape = stalling_elsewhere(36, 5); /* of 24 */
    speaks(&shape, "");
}

static void rule_periodic_stalls_beside_a_larger_one(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = stalling(10, 200000, NULL);
    shape.workers = 0;
    shape.data_us = shape.fetch_us = 60000;
    make(&made, &shape);
    check_findings(&made.diagnosis, "no-workers periodic-stalls");
    check_cost(&made.diagnosis.findings.data[0], 60000, 59500, 37.7358); /* of 159 ms */
    check_cost(&made.diagnosis.findings.data[1], 20000, 20000, 11.1732); /* of 179 ms */
    end(&made);
}

/* Collections, reads and logs may be what is periodic: they replace it if they explain half of its
 * 20 ms. */
static void periodic_stalls_that_others_explain(void **state)
{
    (void)state;
    struct shape shape = stalling(10, 200000, NULL);
    shape.gc_us = 9999;
    speaks(&shape, "periodic-stalls gc-pauses");
    shape.gc_us = 10000;
    speaks(&shape, "gc-pauses");
    shape.gc_us = 4999;
    shape.logs = 20; /* of 480 samples, of 120 ms: 5 ms */
    shape.computing = 410;
    speaks(&shape, "periodic-stalls gc-pauses");
    shape.gc_us = 5000;
    speaks(&shape, "gc-pauses");
    shape.logs = 0;
    shape.reads = 500;
    shape.read_us = 10;
    shape.operators = 85;
    speaks(&shape, "host-sync gc-pauses");
    shape.gc_us = 4999;
    speaks(&shape, "periodic-stalls host-sync gc-pauses");
}

/* A loader without workers may be what stalls. */
static void periodic_stalls_of_data(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = stalling(10, 200000, "data");
    shape.workers = 0;
    struct ss_finding late = only_advice(&made, &shape);
    assert_string_equal(late.headline, "waits for data that comes late again and again");
    check_line(&made, &late, 9, 50);
    end(&made);
    shape.workers = -1;
    speaks(&shape, "periodic-stalls");
    shape.workers = 1;
    speaks(&shape, "");
}

/* --- evaluation ------------------------------------------------------------------------------- */

static void add_evaluating(struct made *made, const struct shape *shape)
{
    (void)shape;
    add_samples(made, "evaluation", 34, NULL, SS_STATE_ON_CPU, 60);
}

static void rule_evaluation_fires(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = stalling(10, 200000, "evaluation");
    shape.more = add_evaluating;
    make(&made, &shape);
    const struct ss_finding *finding = only_finding(&made.diagnosis, "evaluation");
    /* 4 × 200 ms in 40 steps of 120 ms. In each 20th step, not 10th, it would be half of that. */
    check_cost(finding, 20000, 10000, 16.6667);
    assert_int_equal(finding->recoverable_ns, 11500 * US); /* and 15 % for cold caches */
    check_evidence(finding, "steps with an evaluation", 4);
    check_evidence(finding, "one in so many steps", 10);
    check_evidence(finding, "each", 200e6);
    assert_ptr_equal(finding->phase, ss_training_phase(&made.facts, "evaluation"));
    check_line(&made, finding, 34, 60);
    end(&made);
}

static void rule_evaluation_just_does_not_fire(void **state)
{
    (void)state;
    struct shape shape = stalling(19, 200000, "evaluation"); /* in steps 18 and 37 */
    shape.steps = 39;
    speaks(&shape, "evaluation");
    shape.steps = 40; /* 2 of 40 */
    speaks(&shape, "");
    shape = stalling(10, 52632, "evaluation"); /* 5.2632 of 105.2632 ms: 5 % */
    speaks(&shape, "evaluation");
    shape.stall_us = 52631;
    speaks(&shape, "");
    shape = stalling(10, 200000, "evaluation");
    shape.steps = 20;
    speaks(&shape, "evaluation");
    shape.steps = 19; /* once, as far as is known */
    speaks(&shape, "");
}

/* By what is recovered, not by what it costs. */
static void rule_evaluation_beside_a_larger_one(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = stalling(10, 200000, "evaluation");
    shape.gc_us = 12000;
    make(&made, &shape);
    check_findings(&made.diagnosis, "gc-pauses evaluation");
    check_cost(&made.diagnosis.findings.data[0], 12000, 12000, 10);
    check_cost(&made.diagnosis.findings.data[1], 20000, 10000, 16.6667);
    end(&made);
}

/* --- logging ---------------------------------------------------------------------------------- */

/* Beside 50 samples of waits for batches, and so many of computing. */
static struct shape logging(uint64_t logs, uint64_t prints, uint64_t computing)
{
    struct shape shape = clean;
    shape.logs = logs;
    shape.prints = prints;
    shape.computing = computing;
    return shape;
}

static void rule_logging_fires(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = logging(60, 40, 350);
    make(&made, &shape);
    const struct ss_finding *finding = only_finding(&made.diagnosis, "logging");
    check_cost(finding, 20000, 20000, 20); /* 100 of 500 samples */
    /* Wilson's interval of 0.2 of 500 ends at 0.2373. */
    assert_in_range(finding->error_ns, 3725 * US, 3735 * US);
    assert_int_equal(finding->recoverable_ns, 23000 * US + finding->error_ns);
    check_evidence(finding, "samples", 100);
    check_line(&made, finding, 22, 60);
    assert_int_equal(finding->line->all, 100);
    assert_false(finding->is_spread);
    end(&made);
}

static void rule_logging_just_does_not_fire(void **state)
{
    (void)state;
    struct shape shape = logging(30, 0, 670); /* 30 of 750 samples: 4 % */
    speaks(&shape, "logging");
    shape = logging(30, 0, 671);
    speaks(&shape, "");
    shape = logging(30, 0, 200);
    speaks(&shape, "logging");
    shape = logging(29, 0, 200); /* too few for a claim */
    speaks(&shape, "");
    shape = logging(10, 0, 400);
    shape.saves = 100; /* a file's write(), and copies to the CPU, as a checkpoint is saved */
    speaks(&shape, "");
}

static void rule_logging_beside_a_larger_one(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = logging(60, 40, 350);
    shape.gc_us = 30000;
    make(&made, &shape);
    check_findings(&made.diagnosis, "gc-pauses logging");
    check_cost(&made.diagnosis.findings.data[0], 30000, 30000, 30);
    check_cost(&made.diagnosis.findings.data[1], 20000, 20000, 20);
    end(&made);
}

/* --- inference -------------------------------------------------------------------------------- */

/* A model runs without gradients, and another one is trained: 70 ms and so many µs. */
static void add_teacher(struct made *made, const struct shape *shape)
{
    (void)shape;
    add_fact(made, "model.frozen", 1);
}

static struct shape teaching(uint64_t us)
{
    struct shape shape = clean;
    shape.more = add_teacher;
    shape.reads_phase = "inference";
    shape.forward_us = us;
    return shape;
}

static void rule_inference_fires(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = teaching(30000);
    make(&made, &shape);
    const struct ss_finding *finding = only_finding(&made.diagnosis, "inference");
    check_cost(finding, 30000, 30000, 30);
    check_evidence(finding, "the rest of the step", 70e6);
    assert_ptr_equal(finding->phase, ss_training_phase(&made.facts, "inference"));
    end(&made);
}

static void rule_inference_just_does_not_fire(void **state)
{
    (void)state;
    struct shape shape = teaching(7778); /* 10 % */
    speaks(&shape, "inference");
    shape.forward_us = 7777;
    speaks(&shape, "");
    shape = teaching(30000); /* the model that is trained, as a policy that acts */
    shape.more = NULL;
    speaks(&shape, "");
    shape = teaching(30000); /* a program that only infers */
    shape.backward_us = 0;
    speaks(&shape, "");
    shape = teaching(30000); /* kernels were not recorded: the phase is the host's time */
    shape.cuda = 1;
    shape.reads = 0;
    speaks(&shape, "");
}

static void rule_inference_beside_a_larger_one(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = teaching(30000);
    shape.gc_us = 40000;
    make(&made, &shape);
    check_findings(&made.diagnosis, "gc-pauses inference");
    check_cost(&made.diagnosis.findings.data[0], 40000, 40000, 40);
    check_cost(&made.diagnosis.findings.data[1], 30000, 30000, 30);
    end(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rule_gc_pauses_fires),
        cmocka_unit_test(rule_gc_pauses_just_does_not_fire),
        cmocka_unit_test(rule_gc_pauses_beside_a_larger_one),
        cmocka_unit_test(gc_pauses_of_calls),
        cmocka_unit_test(rule_checkpoint_stalls_fires),
        cmocka_unit_test(rule_checkpoint_stalls_just_does_not_fire),
        cmocka_unit_test(rule_checkpoint_stalls_beside_a_larger_one),
        cmocka_unit_test(checkpoints_of_a_framework),
        cmocka_unit_test(checkpoints_include_their_line),
        cmocka_unit_test(rule_periodic_stalls_fires),
        cmocka_unit_test(rule_periodic_stalls_just_does_not_fire),
        cmocka_unit_test(periodic_stalls_are_named_by_what_they_do),
        cmocka_unit_test(periodic_stalls_may_be_rollouts),
        cmocka_unit_test(periodic_stalls_are_regular),
        cmocka_unit_test(periodic_stalls_are_not_elsewhere),
        cmocka_unit_test(rule_periodic_stalls_beside_a_larger_one),
        cmocka_unit_test(periodic_stalls_that_others_explain),
        cmocka_unit_test(periodic_stalls_of_data),
        cmocka_unit_test(rule_evaluation_fires),
        cmocka_unit_test(rule_evaluation_just_does_not_fire),
        cmocka_unit_test(rule_evaluation_beside_a_larger_one),
        cmocka_unit_test(rule_inference_fires),
        cmocka_unit_test(rule_inference_just_does_not_fire),
        cmocka_unit_test(rule_inference_beside_a_larger_one),
        cmocka_unit_test(rule_logging_fires),
        cmocka_unit_test(rule_logging_just_does_not_fire),
        cmocka_unit_test(rule_logging_beside_a_larger_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
