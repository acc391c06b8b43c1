/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of rules_lines.c. The clean step takes 100 ms, of which 4 are in no phase: 1 of
 * preparing, 3 of the rest. There are 40. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "diagnosed_training.h"

#define MIB (1 << 20)

/* --- memory-growth ---------------------------------------------------------------------------- */

static struct shape growing(double bytes)
{
    struct shape shape = clean;
    shape.grow_bytes = bytes;
    return shape;
}

static void rule_memory_growth_fires(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = growing(MIB);
    make(&made, &shape);
    const struct ss_finding *finding = only_finding(&made.diagnosis, "memory-growth");
    check_cost(finding, 0, 0, 0);
    assert_int_equal(finding->recoverable_ns, 0);
    check_evidence(finding, "memory rss", 3e8 + 12288 + 39.0 * MIB); /* with its noise */
    /* The noise repeats every five steps: the median slope has none of it. */
    check_evidence(finding, "more with each step", MIB);
    check_evidence(finding, "steps", 40);
    assert_null(finding->grows_in);
    end(&made);
}

static void rule_memory_growth_just_does_not_fire(void **state)
{
    (void)state;
    /* The last 30 of 40 steps count: 29 × 554,552 bytes are 5 % of 300,012,288 + 39 × 554,552. */
    struct shape shape = growing(554552);
    speaks(&shape, "memory-growth");
    shape = growing(554551);
    speaks(&shape, "");
    shape = growing(36158); /* 29 × 36,158: 1 MiB */
    shape.memory_bytes = 1e6;
    speaks(&shape, "memory-growth");
    shape.grow_bytes = 36157;
    speaks(&shape, "");
    shape = growing(MIB);
    shape.memory_bytes = 1e8;
    shape.steps = 15; /* the last 12 */
    speaks(&shape, "memory-growth");
    shape.steps = 14; /* the last 11 */
    speaks(&shape, "");
    shape = growing(MIB);
    shape.jumps = true; /* a buffer that is made once */
    speaks(&shape, "");
}

static void rule_memory_growth_beside_a_larger_one(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = growing(MIB);
    shape.gc_us = 2000; /* what costs time comes first, however little */
    make(&made, &shape);
    check_findings(&made.diagnosis, "gc-pauses memory-growth");
    check_cost(&made.diagnosis.findings.data[0], 2000, 2000, 2);
    check_evidence(&made.diagnosis.findings.data[1], "more with each step", MIB);
    end(&made);
    shape.first_us = 3000000; /* of what costs none, in the order of the rules */
    speaks(&shape, "gc-pauses memory-growth warm-up");
}

/* Levels where phases begin and end: the memory rises in each backward. */
static void add_levels_of_phases(struct made *made, const struct shape *shape)
{
    struct ss_model *model = &made->model;
    double bytes = 3e8 - shape->grow_bytes;
    for (size_t i = 0; i < model->ranges.count; i++) {
        struct ss_model_range range = model->ranges.data[i];
        if (range.track == made->phases) {
            uint32_t name = model->names.data[model->paths.data[range.path].name].text;
            bool is_backward = strcmp(ss_model_text(model, name), "backward") == 0;
            build_level(model, made->rss, range.begin_ns, bytes);
            bytes += is_backward ? shape->grow_bytes : 0;
            build_level(model, made->rss, range.end_ns, bytes);
        }
    }
}

static void memory_growth_names_the_phase_that_retains(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = growing(MIB);
    shape.more = add_levels_of_phases;
    make(&made, &shape);
    const struct ss_finding *finding = only_finding(&made.diagnosis, "memory-growth");
    assert_non_null(finding->grows_in);
    assert_ptr_equal(finding->grows_in, ss_training_phase(&made.facts, "backward"));
    end(&made);
}

/* --- warm-up ---------------------------------------------------------------------------------- */

static void rule_warm_up_fires(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = clean;
    shape.first_us = 3000000;
    make(&made, &shape);
    const struct ss_finding *finding = only_finding(&made.diagnosis, "warm-up");
    check_cost(finding, 0, 0, 0);
    assert_int_equal(finding->recoverable_ns, 0);
    check_evidence(finding, "mean with the first steps", 175e6); /* (3100 + 39 × 100) / 40 */
    check_evidence(finding, "of the usual ones", 100e6);
    check_evidence(finding, "first step", 3100e6);
    end(&made);
}

static void rule_warm_up_just_does_not_fire(void **state)
{
    (void)state;
    struct shape shape = clean;
    shape.first_us = 2000000; /* 150 ms in the mean, one and a half times 100 */
    speaks(&shape, "warm-up");
    shape.first_us = 1999999;
    speaks(&shape, "");
}

static void rule_warm_up_beside_a_larger_one(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = clean;
    shape.first_us = 3000000;
    shape.gc_us = 2000;
    make(&made, &shape);
    check_findings(&made.diagnosis, "gc-pauses warm-up");
    check_cost(&made.diagnosis.findings.data[0], 2000, 2000, 2); /* of the steady-state step */
    check_evidence(&made.diagnosis.findings.data[1], "mean with the first steps", 175e6);
    end(&made);
}

/* --- hot-line --------------------------------------------------------------------------------- */

/* 120 samples of numpy at line 20, in no phase. */
static struct shape preparing(uint64_t us)
{
    struct shape shape = clean;
    shape.prepare_us = us;
    shape.prepares = 120;
    return shape;
}

static void rule_hot_line_fires(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = preparing(40000);
    shape.torch_other = 28;
    make(&made, &shape);
    const struct ss_finding *finding = only_finding(&made.diagnosis, "hot-line");
    /* 120 of 148 samples, of 43 ms in a step of 139: 34.86 ms. */
    uint64_t cost_ns = 43000 * US * 120 / 148;
    assert_int_equal(finding->cost_ns, cost_ns);
    assert_int_equal(finding->expected_ns, cost_ns);
    assert_float_equal(finding->percent, 25.0826, 1e-3);
    /* Wilson's interval of 0.8108 of 148 begins at 0.7402: 0.07065 × 43 ms. */
    assert_in_range(finding->error_ns, 3037 * US, 3039 * US);
    assert_int_equal(finding->recoverable_ns, cost_ns + finding->error_ns + cost_ns * 15 / 100);
    check_evidence(finding, "of the samples of that phase", 12000.0 / 148);
    check_evidence(finding, "samples at the line", 120);
    check_evidence(finding, "sampling error", (double)finding->error_ns);
    check_evidence(finding, "cold caches after it, at most", (double)(cost_ns * 15 / 100));
    check_line(&made, finding, 20, 120);
    assert_int_equal(finding->line->all, 148);
    assert_string_equal(finding->line_of, "the samples of that phase");
    assert_ptr_equal(finding->hot_line, &made.facts.hot_lines.rows[0]);
    assert_ptr_equal(finding->phase, ss_training_phase(&made.facts, "other"));
    assert_int_equal(finding->activity, SS_ACTIVITY_NUMPY);
    assert_string_equal(finding->fix, ss_activity_fix(SS_ACTIVITY_NUMPY));
    assert_false(finding->is_spread);
    end(&made);
}

static void rule_hot_line_just_does_not_fire(void **state)
{
    (void)state;
    struct shape shape = preparing(689); /* 120 of 148, of 3.689 ms: 3 % of 99.689 */
    shape.torch_other = 28;
    speaks(&shape, "hot-line");
    shape.prepare_us = 688;
    speaks(&shape, "");
    shape = preparing(40000);
    shape.prepares = 30; /* samples for a claim */
    speaks(&shape, "hot-line");
    shape.prepares = 29;
    speaks(&shape, "");
}

/* Nothing is known of the line: it has to be heavier. */
static void hot_line_of_unknown_activity(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = clean;
    shape.prepare_us = 3128; /* 6.128 of 102.128 ms: 6 % */
    shape.plain = 120;
    struct ss_finding finding = only_advice(&made, &shape);
    assert_string_equal(finding.rule->id, "hot-line");
    assert_int_equal(finding.cost_ns, 6128 * US);
    assert_int_equal(finding.activity, SS_ACTIVITY_NOTHING);
    assert_null(finding.fix);
    check_line(&made, &finding, 38, 120);
    end(&made);
    shape.prepare_us = 3127;
    speaks(&shape, "");
}

static void rule_hot_line_beside_a_larger_one(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = preparing(40000);
    shape.plain = 60; /* at another line of the same phase */
    shape.gc_us = 60000;
    make(&made, &shape);
    check_findings(&made.diagnosis, "gc-pauses hot-line hot-line");
    const struct ss_finding *findings = made.diagnosis.findings.data;
    check_cost(&findings[0], 60000, 60000, 43.1655); /* of 139 ms */
    assert_int_equal(findings[1].cost_ns, 43000 * US * 120 / 180);
    check_line(&made, &findings[1], 20, 120);
    assert_int_equal(findings[2].cost_ns, 43000 * US * 60 / 180);
    check_line(&made, &findings[2], 38, 60);
    end(&made);
}

/* Operators in no phase are the training itself where they belong to the model. */
static void hot_line_of_operators(void **state)
{
    (void)state;
    struct shape shape = clean;
    shape.prepare_us = 40000;
    shape.losses = 120; /* between forward and backward */
    speaks(&shape, "");
    shape.losses = 0;
    shape.direct_forward = 120; /* of a forward() that is called as a plain function */
    speaks(&shape, "");
    shape.direct_forward = 0;
    shape.metrics = 120;
    speaks(&shape, "hot-line");
}

/* A training without a loader takes its batches by index: so much of it is not a fault. */
static uint64_t indexing;

static void add_indexing(struct made *made, const struct shape *shape)
{
    (void)shape;
    add_samples(made, NULL, 44, NULL, SS_STATE_ON_CPU, indexing);
}

static void a_batch_is_taken_by_index(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = clean;
    shape.rest_us = 24000; /* of 121 ms: 25 in no phase */
    shape.more = add_indexing;
    shape.plain = 3;
    indexing = 97; /* 24.25 ms: 20.04 % */
    struct ss_finding finding = only_advice(&made, &shape);
    assert_string_equal(finding.rule->id, "hot-line");
    assert_int_equal(finding.activity, SS_ACTIVITY_INDEXING);
    end(&made);
    shape.plain = 4;
    indexing = 96; /* 24 ms: 19.83 % */
    speaks(&shape, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rule_memory_growth_fires),
        cmocka_unit_test(rule_memory_growth_just_does_not_fire),
        cmocka_unit_test(rule_memory_growth_beside_a_larger_one),
        cmocka_unit_test(memory_growth_names_the_phase_that_retains),
        cmocka_unit_test(rule_warm_up_fires),
        cmocka_unit_test(rule_warm_up_just_does_not_fire),
        cmocka_unit_test(rule_warm_up_beside_a_larger_one),
        cmocka_unit_test(rule_hot_line_fires),
        cmocka_unit_test(rule_hot_line_just_does_not_fire),
        cmocka_unit_test(rule_hot_line_beside_a_larger_one),
        cmocka_unit_test(hot_line_of_unknown_activity),
        cmocka_unit_test(hot_line_of_operators),
        cmocka_unit_test(a_batch_is_taken_by_index),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
