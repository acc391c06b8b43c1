/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of rules_compute.c on cores. A step takes 100 ms; a training has 450 samples and those
 * that wait for one of its 8 cores. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "diagnosed_training.h"

/* --- busy-machine ----------------------------------------------------------------------------- */

/* `busy`, `own`: percent of one core. */
static struct shape crowded(double busy, double own, uint64_t runnable)
{
    struct shape shape = clean;
    shape.cpu_busy = busy;
    shape.cpu_own = own;
    shape.runnable = runnable;
    return shape;
}

static void rule_busy_machine_fires(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = crowded(750, 300, 150);
    make(&made, &shape);
    const struct ss_finding *finding = only_finding(&made.diagnosis, "busy-machine");
    check_cost(finding, 25000, 0, 25); /* 150 of 600 samples; no change of the program helps */
    check_evidence(finding, "cores", 8);
    check_evidence(finding, "of their use by these processes", 40);
    end(&made);
}

static void rule_busy_machine_just_does_not_fire(void **state)
{
    (void)state;
    struct shape shape = crowded(640, 300, 150); /* 80 % of 8 cores */
    speaks(&shape, "busy-machine");
    shape = crowded(639, 300, 150);
    speaks(&shape, "");
    shape = crowded(750, 449, 150); /* 60 % of their use */
    speaks(&shape, "busy-machine");
    shape = crowded(750, 451, 150);
    speaks(&shape, "");
    shape = crowded(750, 300, 113); /* of 563: 20.07 % */
    speaks(&shape, "busy-machine");
    shape = crowded(750, 300, 112); /* 19.93 % */
    speaks(&shape, "");
}

/* Where other programs use the cores, a line's samples that wait for one are the machine's. */
static void add_line(struct made *made, const struct shape *shape)
{
    (void)shape;
    add_samples(made, NULL, 41, NULL, SS_STATE_ON_CPU, 60);
    add_samples(made, NULL, 41, NULL, SS_STATE_RUNNABLE, 60);
}

static void test_a_disturbed_line_costs_its_own_time(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = crowded(750, 300, 100);
    shape.rest_us = 23000; /* 24 ms in no phase */
    shape.more = add_line;
    make(&made, &shape);
    check_findings(&made.diagnosis, "hot-line busy-machine");
    assert_int_equal(made.diagnosis.findings.data[0].cost_ns, 12000 * US);
    end(&made);
    shape.cpu_own = 700;
    make(&made, &shape);
    check_findings(&made.diagnosis, "hot-line");
    assert_int_equal(made.diagnosis.findings.data[0].cost_ns, 24000 * US);
    end(&made);
}

/* What no change of the program recovers comes last, whatever it costs. */
static void rule_busy_machine_beside_a_larger_one(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = crowded(750, 300, 150);
    shape.gc_us = 30000;
    make(&made, &shape);
    check_findings(&made.diagnosis, "gc-pauses busy-machine");
    check_cost(&made.diagnosis.findings.data[0], 30000, 30000, 30);
    check_cost(&made.diagnosis.findings.data[1], 25000, 0, 25);
    end(&made);
    shape.gc_us = 3000;
    speaks(&shape, "gc-pauses busy-machine");
}

/* --- oversubscription ------------------------------------------------------------------------- */

static struct shape threaded(int64_t threads, uint64_t runnable)
{
    struct shape shape = clean;
    shape.threads = threads;
    shape.runnable = runnable;
    return shape;
}

static void rule_oversubscription_fires(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = threaded(16, 150);
    make(&made, &shape);
    const struct ss_finding *finding = only_finding(&made.diagnosis, "oversubscription");
    check_cost(finding, 25000, 25000, 25); /* 150 of 600 samples */
    /* By Wilson's interval up to 3.62 points more: the centre is 0.25159, the half width 0.03457.
     */
    assert_float_equal(finding->error_ns, 3.616e6, 1e3);
    check_evidence(finding, "trainers", 1);
    check_evidence(finding, "threads of operators in each", 16);
    check_evidence(finding, "workers of each", 2);
    check_evidence(finding, "cores", 8);
    check_evidence(finding, "cold caches after it, at most", 3750e3); /* 15 % */
    end(&made);
    shape.cpu_busy = 750;
    shape.cpu_own = 600;
    make(&made, &shape);
    finding = only_finding(&made.diagnosis, "oversubscription");
    check_evidence(finding, "of their use by these processes", 80);
    end(&made);
}

static void check_oversubscription(const struct shape *shape, uint64_t cost_us,
                                   uint64_t expected_us, double percent)
{
    struct made made;
    make(&made, shape);
    check_cost(only_finding(&made.diagnosis, "oversubscription"), cost_us, expected_us, percent);
    end(&made);
}

/* The threads work while the main one waits: fewer would have to do it, too. For each sample in
 * operators there are 24 / 8 - 1 that other threads spend on them. */
static void test_threads_that_work_meanwhile(void **state)
{
    (void)state;
    struct shape shape = threaded(24, 400);
    shape.computing = 0;
    shape.losses = 50; /* of 500 samples in operators: 20 ms of work */
    check_oversubscription(&shape, 80000, 60000, 80);
    shape.runnable = 350;
    shape.losses = 100; /* 40 ms: half of the waits are recovered at least */
    check_oversubscription(&shape, 70000, 35000, 70);
    shape.runnable = 250;
    shape.losses = 200; /* more than the main thread's share of the cores: the others only wait */
    check_oversubscription(&shape, 50000, 50000, 50);
}

static void put_asleep_in_operators(struct made *made, const struct shape *shape)
{
    struct ss_model_total total = {.thread = made->thread,
                                   .stack = call(made, 0, "train.py", 10, SS_ORIGIN_USER),
                                   .phase = text_id(made, "forward"),
                                   .step = SS_SAMPLE_LATER_STEP,
                                   .in_operator = SS_OPERATOR_INSIDE,
                                   .state = SS_STATE_SLEEPING,
                                   .samples = shape->computing / 4,
                                   .records = shape->computing / 4};
    ss_model_add_total(&made->model, &total);
}

/* With more threads than cores, an operator waits for its last thread, asleep. */
static void test_sleep_in_operators(void **state)
{
    (void)state;
    struct shape shape = threaded(16, 50);
    shape.more = put_asleep_in_operators; /* 100, of 600 with those that are runnable */
    check_oversubscription(&shape, 25000, 25000, 25);
}

static void put_second_trainer(struct made *made, const struct shape *shape)
{
    add_trainer(made, 52);
    put_training(made, shape);
}

/* Each has as many threads as there are cores. */
static void test_two_trainers(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = threaded(8, 150);
    speaks(&shape, "");
    shape.more = put_second_trainer;
    make(&made, &shape);
    const struct ss_finding *finding = only_finding(&made.diagnosis, "oversubscription");
    check_cost(finding, 25000, 25000, 25);
    check_evidence(finding, "trainers", 2);
    check_evidence(finding, "threads of operators in each", 8);
    end(&made);
}

static void rule_oversubscription_just_does_not_fire(void **state)
{
    (void)state;
    struct shape shape = threaded(12, 150); /* 1.5 for each core */
    speaks(&shape, "oversubscription");
    shape = threaded(11, 150); /* and 2 workers that are busy for 20 % */
    speaks(&shape, "");
    shape = threaded(16, 50); /* of 500 */
    speaks(&shape, "oversubscription");
    shape = threaded(16, 49); /* of 499 */
    speaks(&shape, "");
    shape = threaded(3, 150); /* its container has 2 of the 8 cores */
    shape.cpu_limit = 200;
    shape.cpu_used = shape.cpu_own = 199;
    speaks(&shape, "oversubscription");
    shape.threads = 2;
    speaks(&shape, "");
}

static void rule_oversubscription_beside_a_larger_one(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = threaded(16, 150);
    shape.gc_us = 30000;
    make(&made, &shape);
    check_findings(&made.diagnosis, "gc-pauses oversubscription");
    check_cost(&made.diagnosis.findings.data[0], 30000, 30000, 30);
    check_cost(&made.diagnosis.findings.data[1], 25000, 25000, 25);
    end(&made);
    shape = threaded(16, 150); /* other programs have the cores */
    shape.cpu_busy = 790;
    shape.cpu_own = 300;
    speaks(&shape, "busy-machine");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rule_busy_machine_fires),
        cmocka_unit_test(rule_busy_machine_just_does_not_fire),
        cmocka_unit_test(test_a_disturbed_line_costs_its_own_time),
        cmocka_unit_test(rule_busy_machine_beside_a_larger_one),
        cmocka_unit_test(rule_oversubscription_fires),
        cmocka_unit_test(test_threads_that_work_meanwhile),
        cmocka_unit_test(test_sleep_in_operators),
        cmocka_unit_test(test_two_trainers),
        cmocka_unit_test(rule_oversubscription_just_does_not_fire),
        cmocka_unit_test(rule_oversubscription_beside_a_larger_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
