/* SPDX-License-Identifier: Apache-2.0 */
/* The rule of rules_drift.c. The clean step takes 100 ms, of which 30 are of forward. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "diagnosed_training.h"

/* From one step on, each takes longer by so much. */
static struct shape jumping(uint32_t at, uint64_t us)
{
    struct shape shape = clean;
    shape.steps = 80;
    shape.jump_at = at;
    shape.jump_us = us;
    return shape;
}

static void rule_drift_fires(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = jumping(40, 8000);
    make(&made, &shape);
    const struct ss_finding *finding = only_finding(&made.diagnosis, "drift");
    check_cost(finding, 4000, 4000, 3.8462); /* 8 ms in half of the steps; their mean is 104 */
    assert_int_equal(finding->recoverable_ns, 4000 * US);
    check_evidence(finding, "own time at the start", 100e6);
    check_evidence(finding, "at the end", 108e6);
    check_evidence(finding, "more in forward", 8e6);
    check_evidence(finding, "since step", 40);
    assert_int_equal(finding->evidence_count, 4);
    end(&made);
}

static void rule_drift_just_does_not_fire(void **state)
{
    (void)state;
    struct shape shape = jumping(41, 5000); /* 5 % of the median step, 100 ms */
    speaks(&shape, "drift");
    shape.jump_us = 4999;
    speaks(&shape, "");
    shape = jumping(20, 8000);
    shape.steps = 40;
    speaks(&shape, "drift");
    shape.steps = 39; /* too few */
    speaks(&shape, "");
}

static void rule_drift_beside_a_larger_one(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = jumping(40, 8000);
    shape.gc_us = 20000;
    make(&made, &shape);
    check_findings(&made.diagnosis, "gc-pauses drift");
    check_cost(&made.diagnosis.findings.data[0], 20000, 20000, 19.2308);
    check_cost(&made.diagnosis.findings.data[1], 4000, 4000, 3.8462);
    end(&made);
}

/* Without a jump it has no step since which it is slower. */
static void drift_along_a_line(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = clean;
    shape.steps = 80;
    shape.drift_us = 400;
    make(&made, &shape);
    const struct ss_finding *finding = only_finding(&made.diagnosis, "drift");
    /* 79 × 0.4 = 31.6 ms in all, half of it in the mean. Later steps take longer, so that the line
     * is less steep over time at the end. */
    assert_in_range(finding->cost_ns, 14900 * US, 16500 * US);
    double more = evidence(finding, "more in forward");
    assert_true(more > 31e6 && more < 32.5e6);
    assert_int_equal(finding->evidence_count, 3);
    end(&made);
    shape.drift_us = 50; /* 4 ms */
    speaks(&shape, "");
}

/* Longer episodes have more operators: that is work, and nothing is lost. */
static void steps_that_do_more_lose_nothing(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = jumping(40, 8000);
    shape.jump_operators = 4; /* 4.4 % more; the time, 8 % */
    make(&made, &shape);
    const struct ss_finding *finding = only_finding(&made.diagnosis, "drift");
    assert_non_null(strstr(finding->headline, "do more than at the start"));
    assert_int_equal(finding->recoverable_ns, 0);
    check_evidence(finding, "operators a step at the start", 90);
    check_evidence(finding, "operators a step at the end", 94);
    end(&made);
    shape.jump_operators = 3;
    make(&made, &shape);
    finding = only_finding(&made.diagnosis, "drift");
    assert_int_equal(finding->recoverable_ns, 4000 * US);
    end(&made);
}

static void add_rank(struct made *made, const struct shape *shape)
{
    (void)shape;
    add_fact(made, "torch.rank", 0); /* of the second trainer */
}

/* Of two ranks the one that drifts is named, by its process where it has no rank. */
static void drift_names_the_rank(void **state)
{
    (void)state;
    struct made made;
    struct shape steady = clean, shape = jumping(40, 8000);
    steady.steps = 80;
    steady.other = &shape;
    make(&made, &steady);
    const struct ss_finding *finding = only_finding(&made.diagnosis, "drift");
    check_cost(finding, 4000, 4000, 3.9216); /* of 102 ms, the mean of all steps */
    check_evidence(finding, "process ID", 142);
    check_evidence(finding, "ranks that drift by themselves", 1);
    check_evidence(finding, "of", 2);
    end(&made);
    steady.more = add_rank;
    struct ss_finding named = only_advice(&made, &steady);
    check_evidence(&named, "rank", 0);
    end(&made);
}

/* Objects that are kept slow the training down: the fix is that of the growing memory. */
static void drift_beside_growing_memory(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = jumping(40, 8000);
    shape.grow_bytes = 4e6;
    make(&made, &shape);
    check_findings(&made.diagnosis, "drift memory-growth");
    const struct ss_finding *findings = made.diagnosis.findings.data;
    assert_non_null(strstr(findings[0].headline, "as memory grows"));
    assert_ptr_equal(findings[0].fix, findings[1].fix);
    assert_in_range((uint64_t)evidence(&findings[0], "memory more with each step"), 3900000,
                    4100000);
    end(&made);
}

/* --- the same time in another finding -----------------------------------------------------------
 */

/* From step 40 on, the forward is longer by 20 ms, and a lock has samples of 100 in it. */
static uint64_t lock_samples;

static void add_lock(struct made *made, const struct shape *shape)
{
    (void)shape;
    uint32_t stack = call(made, 0, "train.py", 25, SS_ORIGIN_USER);
    stack = call(made, stack, "/usr/lib/python3.11/threading.py", 7, SS_ORIGIN_STDLIB);
    ss_model_add_total(&made->model, &(struct ss_model_total){.thread = made->thread,
                                                              .stack = stack,
                                                              .phase = text_id(made, "forward"),
                                                              .step = SS_SAMPLE_LATER_STEP,
                                                              .state = SS_STATE_SLEEPING,
                                                              .wait = SS_WAIT_FUTEX,
                                                              .samples = lock_samples,
                                                              .records = lock_samples});
}

static struct shape jumping_in_a_lock(uint64_t samples)
{
    struct shape shape = jumping(40, 20000);
    lock_samples = samples;
    shape.computing = 1000 - 50 - samples; /* the loader has 50 */
    shape.more = add_lock;
    return shape;
}

/* Of 110 ms, the lock has 11 and the drift 10: one time, which only the lock's finding has. */
static void drift_yields_to_the_finding_of_its_time(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = jumping_in_a_lock(100);
    make(&made, &shape);
    const struct ss_finding *finding = only_finding(&made.diagnosis, "lock-wait");
    check_cost(finding, 11000, 11000, 10);
    check_evidence(finding, "a step at the start", 100e6);
    check_evidence(finding, "at the end", 120e6);
    check_evidence(finding, "since step", 40);
    end(&made);
}

/* The lock has 6.6 of the 10 ms. The rest is 3.4 ms, more than 2 %. */
static void drift_keeps_the_rest_of_its_time(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = jumping_in_a_lock(60);
    make(&made, &shape);
    check_findings(&made.diagnosis, "lock-wait drift");
    check_cost(&made.diagnosis.findings.data[0], 6600, 6600, 6);
    check_cost(&made.diagnosis.findings.data[1], 3400, 3400, 3.0909);
    check_evidence(&made.diagnosis.findings.data[1], "more of it in other findings", 6.6e6);
    end(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rule_drift_fires),
        cmocka_unit_test(rule_drift_just_does_not_fire),
        cmocka_unit_test(rule_drift_beside_a_larger_one),
        cmocka_unit_test(drift_along_a_line),
        cmocka_unit_test(steps_that_do_more_lose_nothing),
        cmocka_unit_test(drift_names_the_rank),
        cmocka_unit_test(drift_beside_growing_memory),
        cmocka_unit_test(drift_yields_to_the_finding_of_its_time),
        cmocka_unit_test(drift_keeps_the_rest_of_its_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
