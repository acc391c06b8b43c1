/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules of rules_pipeline.c, on two stages that run all forward passes before all backward
 * passes. A forward pass takes a ms on the first stage, b ≥ a on the second, a backward pass twice
 * as long. With m micro-batches the second stage begins at a and ends at a + 3 m b; the first one
 * runs its last backward pass behind that, and ends at 3 a + 3 m b. So long are all steps but one:
 * the first of the second stage does not wait for the first stage's end, 2 a before its own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../pipeline_builder.h"
#include "diagnosis_checks.h"

struct made {
    struct ss_model model;
    struct ss_selection selection;
    struct ss_step_summary steps;
    struct ss_training_facts facts;
    struct ss_diagnosis diagnosis;
};

static void make(struct made *made, const struct pipeline_shape *shape)
{
    struct ss_selection_options all = {.idle = SS_IDLE_ALL};
    struct ss_steps_options every = {0};
    *made = (struct made){0};
    ss_model_init(&made->model);
    run_pipeline(&made->model, shape, 0);
    build_sort_ranges(&made->model);
    assert_int_equal(ss_selection_init(&made->selection, &made->model, &all, NULL), SS_OK);
    ss_step_summary_init(&made->steps, &made->selection, &every);
    ss_training_facts_init(&made->facts, &made->selection, &made->steps,
                           &(struct ss_source_lines){0});
    ss_diagnosis_init(&made->diagnosis, &made->facts);
}

static void end(struct made *made)
{
    ss_diagnosis_fini(&made->diagnosis);
    ss_training_facts_fini(&made->facts);
    ss_step_summary_fini(&made->steps);
    ss_selection_fini(&made->selection);
    ss_model_fini(&made->model);
}

static struct pipeline_shape two_stages(unsigned batches, unsigned first, unsigned second)
{
    return (struct pipeline_shape){.stages = 2,
                                   .batches = batches,
                                   .pipelines = 1,
                                   .forward = {first, second},
                                   .is_gpipe = true};
}

static void finds(const struct pipeline_shape *shape, const char *wanted)
{
    struct made made;
    make(&made, shape);
    check_findings(&made.diagnosis, wanted);
    end(&made);
}

/* The share of the mean step: 23 of 24 steps take as long as a pass, one 2 a less. */
static double percent_of_step(double us, const struct pipeline_shape *shape)
{
    double pass_us = 3e3 * (shape->forward[0] + shape->batches * shape->forward[1]);
    double step_us = pass_us + 1e3 * shape->checkpoint;
    return 100 * us / (step_us - 2e3 * shape->forward[0] / (2 * STEPS));
}

/* --- unequal-stages --------------------------------------------------------------------------- */

static void rule_unequal_stages_fires(void **state)
{
    (void)state;
    struct made made;
    struct pipeline_shape shape = two_stages(16, 100, 120);
    make(&made, &shape);
    const struct ss_finding *finding = only_finding(&made.diagnosis, "unequal-stages");
    /* 15 micro-batches, each 360 - (300 + 360) / 2 longer: 450 of 6,060 ms */
    check_cost(finding, 450000, 450000, percent_of_step(450000, &shape));
    check_evidence(finding, "slowest: rank", 1);
    check_evidence(finding, "its micro-batch", 360e6);
    check_evidence(finding, "mean of the others", 300e6);
    check_evidence(finding, "stages", 2);
    check_evidence(finding, "micro-batches in a step", 16);
    /* The first stage works for 4,800 of a pass of 6,060 ms, the second for 5,760. */
    check_evidence(finding, "of a pass is idle", 100 * (1260 + 300) / 2.0 / 6060);
    check_evidence(finding, "with equal stages it would be", 100 / 17.0);
    assert_ptr_equal(finding->phase, ss_training_phase(&made.facts, "communication"));
    end(&made);
}

static void rule_unequal_stages_just_does_not_fire(void **state)
{
    (void)state;
    /* 15 × 1.5 × 99 of 3000 + 48 × 1099 - 2000 / 24 ms: 4.001 % */
    struct pipeline_shape shape = two_stages(16, 1000, 1099);
    finds(&shape, "unequal-stages");
    shape = two_stages(16, 1000, 1098); /* 3.964 % */
    finds(&shape, "");
}

static void rule_unequal_stages_beside_a_larger_one(void **state)
{
    (void)state;
    struct made made;
    struct pipeline_shape shape = two_stages(16, 100, 120);
    shape.checkpoint = 1000;
    make(&made, &shape);
    check_findings(&made.diagnosis, "checkpoint-stalls unequal-stages");
    check_cost(&made.diagnosis.findings.data[0], 1000000, 1000000,
               percent_of_step(1000000, &shape));
    check_cost(&made.diagnosis.findings.data[1], 450000, 450000, percent_of_step(450000, &shape));
    end(&made);
    /* Both rules are on the same waits, of which the larger reason is stated: of few micro-batches,
     * (300 + 345) / 2 / 2 ms rather than 3 × 1.5 × 15. */
    shape = two_stages(4, 100, 115);
    make(&made, &shape);
    const struct ss_finding *finding = only_finding(&made.diagnosis, "pipeline-bubble");
    check_cost(finding, 161250, 161250, percent_of_step(161250, &shape));
    assert_float_equal(made.facts.pipeline.unequal_ns, 67.5e6, 1); /* 4 % of 1,672 ms: enough */
    end(&made);
}

/* --- pipeline-bubble -------------------------------------------------------------------------- */

static void rule_pipeline_bubble_fires(void **state)
{
    (void)state;
    struct made made;
    struct pipeline_shape shape = two_stages(4, 4, 4);
    make(&made, &shape);
    const struct ss_finding *finding = only_finding(&made.diagnosis, "pipeline-bubble");
    /* Each stage waits for one micro-batch of 12 ms: half of it with twice as many. */
    check_cost(finding, 6000, 6000, percent_of_step(6000, &shape));
    check_evidence(finding, "stages", 2);
    check_evidence(finding, "micro-batches in a step", 4);
    check_evidence(finding, "of a pass is idle", 100 * 12 / 60.0);
    check_evidence(finding, "with equal stages it would be", 100 / 5.0);
    check_evidence(finding, "micro-batches that would save this", 8);
    check_evidence(finding, "with them it would be", 100 / 9.0);
    assert_ptr_equal(finding->phase, ss_training_phase(&made.facts, "communication"));
    end(&made);
}

static void rule_pipeline_bubble_just_does_not_fire(void **state)
{
    (void)state;
    struct pipeline_shape shape = two_stages(11, 4, 4); /* 6 of 12 × 12 - 8 / 24 ms: 4.18 % */
    finds(&shape, "pipeline-bubble");
    shape = two_stages(12, 4, 4); /* 3.85 % */
    finds(&shape, "");
}

static void rule_pipeline_bubble_beside_a_larger_one(void **state)
{
    (void)state;
    struct made made;
    struct pipeline_shape shape = two_stages(4, 4, 4);
    shape.checkpoint = 20;
    make(&made, &shape);
    check_findings(&made.diagnosis, "checkpoint-stalls pipeline-bubble");
    check_cost(&made.diagnosis.findings.data[0], 20000, 20000, percent_of_step(20000, &shape));
    check_cost(&made.diagnosis.findings.data[1], 6000, 6000, percent_of_step(6000, &shape));
    end(&made);
    /* Of the same waits the larger reason is stated: 3 × (21 - 16.5) ms rather than 16.5 / 2. */
    shape = two_stages(4, 4, 7);
    make(&made, &shape);
    const struct ss_finding *finding = only_finding(&made.diagnosis, "unequal-stages");
    check_cost(finding, 13500, 13500, percent_of_step(13500, &shape));
    assert_float_equal(made.facts.pipeline.ideal_ns, 16.5e6, 1);
    end(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rule_unequal_stages_fires),
        cmocka_unit_test(rule_unequal_stages_just_does_not_fire),
        cmocka_unit_test(rule_unequal_stages_beside_a_larger_one),
        cmocka_unit_test(rule_pipeline_bubble_fires),
        cmocka_unit_test(rule_pipeline_bubble_just_does_not_fire),
        cmocka_unit_test(rule_pipeline_bubble_beside_a_larger_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
