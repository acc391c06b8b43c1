/* SPDX-License-Identifier: Apache-2.0 */
/* How much detail a recording may have: a clock, sizes and a disk that the test moves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include "record/details/detail_budget.h"

#define SECOND_NS UINT64_C(1000000000)
#define HOUR_NS (3600 * SECOND_NS)
#define MAX_BYTES (UINT64_C(64) << 20)

enum { EVENT_BYTES = 8, STEP_EVENTS = 1000, OTHER_BYTES = 20 /* of a step */ };

/* A recording of steps of equal length, whose detail is counted as it would be written. */
struct run {
    struct ss_detail_budget budget;
    struct ss_detail_steps steps;
    uint64_t now_ns, detail_bytes, other_bytes, records;
    uint64_t free_bytes, reserve_bytes;
    uint64_t full, stood_out, sums;
    int64_t number; /* of the next step */
};

static void begin(struct run *run, uint64_t max_bytes)
{
    *run = (struct run){.now_ns = SECOND_NS};
    ss_detail_budget_init(&run->budget, max_bytes, run->now_ns);
}

static void update(struct run *run)
{
    struct ss_detail_figures figures = {.now_ns = run->now_ns,
                                        .bytes = run->detail_bytes + run->other_bytes,
                                        .records = run->records,
                                        .free_bytes = run->free_bytes,
                                        .reserve_bytes = run->reserve_bytes};
    ss_detail_budget_update(&run->budget, &figures);
}

static enum ss_detail step(struct run *run, uint64_t step_ns)
{
    enum ss_detail detail = ss_detail_plan(&run->steps, &run->budget, run->number++);
    run->now_ns += step_ns;
    detail = ss_detail_settle(&run->steps, &run->budget, detail, step_ns, STEP_EVENTS);
    run->other_bytes += OTHER_BYTES;
    if (detail != SS_DETAIL_SUMS) {
        ss_detail_budget_spend(&run->budget, detail, STEP_EVENTS);
        run->detail_bytes += STEP_EVENTS * EVENT_BYTES;
        run->records += STEP_EVENTS;
    }
    run->full += detail == SS_DETAIL_FULL;
    run->stood_out += detail == SS_DETAIL_STOOD_OUT;
    run->sums += detail == SS_DETAIL_SUMS;
    update(run);
    return detail;
}

static void run_until(struct run *run, uint64_t until_ns)
{
    while (run->now_ns < until_ns) {
        step(run, SECOND_NS / 10);
    }
}

static void the_first_sixteenth_is_in_full(void **state)
{
    (void)state;
    struct run run;
    begin(&run, MAX_BYTES);
    while (!ss_detail_budget_thins(&run.budget)) {
        assert_int_equal(step(&run, SECOND_NS / 10), SS_DETAIL_FULL);
    }
    assert_in_range(run.detail_bytes, MAX_BYTES / 16 - 100000, MAX_BYTES / 16 + 100000);
}

/* Later hours have less than earlier ones, none has nothing, and a month fits. */
static void detail_becomes_rarer_and_never_ends(void **state)
{
    (void)state;
    struct run run;
    begin(&run, MAX_BYTES);
    uint64_t grown[13] = {0}, last = 0;
    for (uint64_t hour = 1; hour <= 12; hour++) {
        run_until(&run, hour * HOUR_NS);
        grown[hour] = run.detail_bytes - last;
        assert_true(grown[hour] > 0);
        last = run.detail_bytes;
    }
    assert_true(grown[1] > grown[2] && grown[2] > grown[4] && grown[4] > grown[8]);
    assert_true(run.detail_bytes + run.other_bytes < MAX_BYTES);
    assert_true(run.full > 0 && run.sums > run.full);
    for (uint64_t day = 1; day <= 30; day++) { /* of longer steps, so that the test ends */
        for (int i = 0; i < 10000; i++) {
            step(&run, 24 * HOUR_NS / 10000);
        }
    }
    assert_true(run.detail_bytes + run.other_bytes < MAX_BYTES);
    assert_true(run.detail_bytes > last);
}

static void a_long_step_is_in_full(void **state)
{
    (void)state;
    struct run run;
    begin(&run, MAX_BYTES);
    run_until(&run, HOUR_NS);
    uint64_t sums = run.sums;
    for (int tries = 0; tries < 100; tries++) {
        run_until(&run, run.now_ns + 20 * SECOND_NS);
        assert_int_not_equal(step(&run, SECOND_NS), SS_DETAIL_SUMS);
    }
    assert_true(run.stood_out > 50 && run.sums > sums);
}

/* Where every other step is long, they are how the program runs; and they have their own share. */
static void many_long_steps_do_not_use_up_the_limit(void **state)
{
    (void)state;
    struct run run;
    begin(&run, MAX_BYTES);
    for (uint64_t i = 0; run.now_ns < 12 * HOUR_NS; i++) {
        step(&run, i % 20 == 0 ? SECOND_NS : SECOND_NS / 10);
    }
    assert_true(run.detail_bytes + run.other_bytes < MAX_BYTES);
    assert_true(run.stood_out > 0 && run.full > 0);
}

/* Ranks whose steps differ by a hundredth, in length and events, have nearly the same windows. */
static void ranks_have_the_same_windows(void **state)
{
    (void)state;
    struct run one, other;
    uint64_t common = 0;
    begin(&one, MAX_BYTES);
    begin(&other, MAX_BYTES);
    for (uint64_t i = 0; i < 200000; i++) {
        bool has = step(&one, SECOND_NS / 10) == SS_DETAIL_FULL;
        common += (step(&other, SECOND_NS / 10 + SECOND_NS / 1000) == SS_DETAIL_FULL) && has;
    }
    assert_true(10 * common > 8 * one.full && 10 * common > 8 * other.full);
    assert_true(one.full < 20000);
}

static void all_is_in_full_without_a_limit(void **state)
{
    (void)state;
    struct run run;
    begin(&run, 0);
    run_until(&run, HOUR_NS);
    assert_int_equal(run.sums + run.stood_out, 0);
}

/* The rest of the file comes near the limit: there is no more detail, whatever it could be. */
static void what_is_always_written_comes_first(void **state)
{
    (void)state;
    struct run run;
    begin(&run, MAX_BYTES);
    run_until(&run, HOUR_NS);
    run.other_bytes = MAX_BYTES;
    update(&run);
    uint64_t full = run.full + run.stood_out;
    run_until(&run, 3 * HOUR_NS);
    step(&run, SECOND_NS);
    assert_int_equal(run.full + run.stood_out, full);
}

static void a_disk_near_its_reserve_gets_no_detail(void **state)
{
    (void)state;
    struct run run;
    begin(&run, 0); /* even of a recording that is to be in full */
    run.reserve_bytes = 1 << 20;
    run.free_bytes = 2 << 20;
    update(&run);
    assert_int_equal(step(&run, SECOND_NS), SS_DETAIL_FULL);
    run.free_bytes = (1 << 20) + (1 << 16);
    update(&run);
    assert_int_equal(step(&run, SECOND_NS), SS_DETAIL_SUMS);
    run.free_bytes = 2 << 20; /* another program made room */
    update(&run);
    assert_int_equal(step(&run, SECOND_NS), SS_DETAIL_FULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_sixteenth_is_in_full),
        cmocka_unit_test(detail_becomes_rarer_and_never_ends),
        cmocka_unit_test(a_long_step_is_in_full),
        cmocka_unit_test(many_long_steps_do_not_use_up_the_limit),
        cmocka_unit_test(ranks_have_the_same_windows),
        cmocka_unit_test(all_is_in_full_without_a_limit),
        cmocka_unit_test(what_is_always_written_comes_first),
        cmocka_unit_test(a_disk_near_its_reserve_gets_no_detail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
