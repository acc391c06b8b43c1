/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of rules_interruptions.c on ranks. The clean step takes 100 ms: 1 of data, 1 of
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

/* --- communication ---------------------------------------------------------------------------- */

/* The last of each step; forward takes so long. */
static struct shape communicating(uint64_t forward_us, uint64_t us)
{
    struct shape shape = clean;
    shape.forward_us = forward_us;
    shape.stall_each = 1;
    shape.stall_us = us;
    shape.stall_phase = "communication";
    return shape;
}

static void rule_communication_fires(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = communicating(30000, 20000);
    make(&made, &shape);
    const struct ss_finding *finding = only_finding(&made.diagnosis, "communication");
    check_cost(finding, 20000, 20000, 16.6667); /* of 120 ms */
    assert_int_equal(finding->recoverable_ns, 20000 * US);
    assert_ptr_equal(finding->phase, ss_training_phase(&made.facts, "communication"));
    check_evidence(finding, "trainers in this recording", 1);
    assert_int_equal(finding->evidence_count, 1);
    end(&made);
    const struct shape other = communicating(38000, 12000);
    shape.other = &other; /* 16 ms in the mean; until the last 12, one waits for the other */
    make(&made, &shape);
    finding = only_finding(&made.diagnosis, "communication");
    check_cost(finding, 12000, 12000, 10);
    check_evidence(finding, "additional wait for other ranks", 4e6);
    check_evidence(finding, "trainers in this recording", 2);
    end(&made);
}

static void rule_communication_just_does_not_fire(void **state)
{
    (void)state;
    struct shape shape = communicating(30000, 8696); /* 8 % of 108.696 ms */
    speaks(&shape, "communication");
    shape = communicating(30000, 8695);
    speaks(&shape, "");
}

static void rule_communication_beside_a_larger_one(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = communicating(30000, 20000);
    shape.gc_us = 30000;
    make(&made, &shape);
    check_findings(&made.diagnosis, "gc-pauses communication");
    check_cost(&made.diagnosis.findings.data[0], 30000, 30000, 25);
    check_cost(&made.diagnosis.findings.data[1], 20000, 20000, 16.6667);
    end(&made);
}

/* --- late-rank -------------------------------------------------------------------------------- */

static void add_rank(struct made *made, const struct shape *shape)
{
    (void)shape;
    add_fact(made, "torch.rank", 0); /* of the second trainer */
}

static void rule_late_rank_fires(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = communicating(30000, 20000);
    const struct shape late = communicating(48000, 2000);
    shape.other = &late;
    shape.more = add_rank;
    make(&made, &shape);
    const struct ss_finding *finding = only_finding(&made.diagnosis, "late-rank");
    check_cost(finding, 18000, 18000, 15);                 /* 20 - 2 of 120 ms */
    assert_int_equal(finding->recoverable_ns, 20700 * US); /* and 15 % for cold caches */
    check_evidence(finding, "late: rank", 0);
    check_evidence(finding, "process ID", 142);
    check_evidence(finding, "the others wait longer by", 18e6);
    check_evidence(finding, "it takes longer itself by", 18e6); /* 48 - 30 */
    check_line(&made, finding, 10, 400);                        /* of its forward */
    assert_ptr_equal(finding->phase, ss_training_phase(&made.facts, "communication"));
    end(&made);
    const struct shape later = communicating(58000, 2000); /* than it need be: 130 ms a step */
    shape.other = &later;
    shape.more = NULL;
    struct ss_finding nameless = only_advice(&made, &shape);
    check_cost(&nameless, 18000, 18000, 15); /* of the other's step */
    check_evidence(&nameless, "late: process ID", 142);
    end(&made);
}

static void check_two(const struct shape *one, const struct shape *other, const char *wanted)
{
    struct shape both = *one;
    both.other = other;
    speaks(&both, wanted);
}

static void rule_late_rank_just_does_not_fire(void **state)
{
    (void)state;
    struct shape one = communicating(30000, 5000), other = communicating(34200, 800);
    check_two(&one, &other, "late-rank"); /* 4.2 ms, 4 % of 105 */
    other = communicating(34199, 801);
    check_two(&one, &other, "");
    one = communicating(30000, 20000);
    other = communicating(40001, 9999); /* less than half of the other's wait */
    check_two(&one, &other, "late-rank");
    other = communicating(40000, 10000);
    check_two(&one, &other, "communication"); /* both at once for 10 ms */
    other = communicating(48000, 2000);
    one.steps = other.steps = 5;
    check_two(&one, &other, "late-rank");
    one.steps = other.steps = 4;
    check_two(&one, &other, "");
}

static void rule_late_rank_beside_a_larger_one(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = communicating(30000, 20000);
    struct shape late = communicating(30000, 2000);
    shape.gc_us = late.gc_us = 30000;
    shape.other = &late;
    late.prepare_us = 19000;
    late.prepares = 120; /* 13 ms in the mean of both, a cause of the others' 18 */
    make(&made, &shape);
    check_findings(&made.diagnosis, "gc-pauses late-rank");
    check_cost(&made.diagnosis.findings.data[0], 30000, 30000, 25);
    check_cost(&made.diagnosis.findings.data[1], 18000, 18000, 15);
    check_line(&made, &made.diagnosis.findings.data[1], 20, 120);
    end(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rule_communication_fires),
        cmocka_unit_test(rule_communication_just_does_not_fire),
        cmocka_unit_test(rule_communication_beside_a_larger_one),
        cmocka_unit_test(rule_late_rank_fires),
        cmocka_unit_test(rule_late_rank_just_does_not_fire),
        cmocka_unit_test(rule_late_rank_beside_a_larger_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
