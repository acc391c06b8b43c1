/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "model/core/clock_fit.h"

#define S UINT64_C(1000000000)

/* --- a simulation ----------------------------------------------------------------------------- */

/* A clock that is `offset_ns` behind the reference at its time `start_ns`, and drifts. */
struct clock {
    uint64_t start_ns;
    int64_t offset_ns;
    double drift;
    uint64_t random;
};

static double next(struct clock *clock)
{
    clock->random ^= clock->random << 13;
    clock->random ^= clock->random >> 7;
    clock->random ^= clock->random << 17;
    return (double)(clock->random >> 11) / (double)(UINT64_C(1) << 53);
}

/* The reference's time, in ns since start_ns + offset_ns. */
static double truth(const struct clock *clock, uint64_t time_ns)
{
    double since = (double)(time_ns - clock->start_ns);
    return since + clock->drift * since;
}

static void add(struct ss_clock_bounds *bounds, const struct clock *clock, uint64_t time_ns,
                double more_ns, bool is_upper)
{
    double difference = truth(clock, time_ns) - (double)(time_ns - clock->start_ns) + more_ns;
    int64_t whole = (int64_t)(is_upper ? ceil(difference) : floor(difference));
    ss_vec_push(bounds, (struct ss_clock_bound){time_ns, clock->offset_ns + whole, is_upper});
}

/* A message there and back. Each way takes at least 2 us, and often more: queues are not the same
 * in both directions. */
static void add_ping(struct ss_clock_bounds *bounds, struct clock *clock, uint64_t time_ns)
{
    double there = 2000 - 30000 * log(1 - next(clock)), back = 2000 - 5000 * log(1 - next(clock));
    add(bounds, clock, time_ns, there, true);
    add(bounds, clock, time_ns + (uint64_t)(there + back), -back, false);
}

static void add_collective(struct ss_clock_bounds *bounds, struct clock *clock, uint64_t time_ns)
{
    double late = 2e6 * (next(clock) - 0.5), transfer = 50000 + 100000 * next(clock);
    uint64_t end_ns = time_ns + (uint64_t)((late > 0 ? late : 0) + transfer);
    add(bounds, clock, time_ns, (late > 0 ? late : 0) + transfer, true);
    add(bounds, clock, end_ns, -(transfer + (late < 0 ? -late : 0)), false);
}

static double error_at(const struct clock *clock, const struct ss_clock_segments *segments,
                       uint64_t time_ns)
{
    uint64_t mapped = ss_clock_fit_map(segments->data, segments->count, time_ns);
    double since = (double)(int64_t)(mapped - clock->start_ns - (uint64_t)clock->offset_ns);
    return fabs(since - truth(clock, time_ns));
}

static struct clock seeded(unsigned seed)
{
    struct clock clock = {.random = UINT64_C(0x9e3779b97f4a7c15) * (seed + 1)};
    clock.start_ns = (uint64_t)(next(&clock) * 1e15);
    clock.offset_ns = (int64_t)((next(&clock) - 0.5) * 2 * 5000e9);
    clock.drift = (next(&clock) - 0.5) * 2 * 30e-6;
    return clock;
}

/* --- tests ------------------------------------------------------------------------------------ */

static void check_seeds(bool has_pings, double *worst_ns, double *single_ns)
{
    enum { SEEDS = 1000, SECONDS = 60, MOMENTS = 61 };
    for (unsigned seed = 0; seed < SEEDS; seed++) {
        struct clock clock = seeded(seed);
        struct ss_clock_bounds bounds = {0};
        struct ss_clock_segments segments = {0};
        uint64_t end_ns = clock.start_ns + SECONDS * S;
        for (unsigned round = 0; has_pings && round <= SECONDS; round += 10) {
            for (unsigned i = 0; i < 16; i++) {
                add_ping(&bounds, &clock, clock.start_ns + round * S + i * 1000000);
            }
        }
        for (unsigned i = 0; i < 300; i++) {
            add_collective(&bounds, &clock, clock.start_ns + i * S / 5);
        }
        assert_true(ss_clock_fit(&bounds, clock.start_ns, end_ns, &segments));
        assert_int_equal(segments.count, 1);
        for (unsigned i = 0; i < MOMENTS; i++) {
            uint64_t time_ns = clock.start_ns + i * S;
            double error = error_at(&clock, &segments, time_ns);
            assert_true(error <= (double)segments.data[0].error_ns);
            *worst_ns = error > *worst_ns ? error : *worst_ns;
        }
        double drifted = fabs(truth(&clock, end_ns) - SECONDS * 1e9);
        *single_ns = drifted > *single_ns ? drifted : *single_ns;
        ss_vec_fini(&bounds);
        ss_vec_fini(&segments);
    }
}

static void the_error_is_within_the_bound_for_every_seed(void **state)
{
    (void)state;
    double worst_ns = 0, single_ns = 0, collectives_ns = 0, ignored = 0;
    check_seeds(true, &worst_ns, &single_ns);
    check_seeds(false, &collectives_ns, &ignored);
    printf("largest error of 1000 runs of 60 s: %.3f us with pings, %.3f us by collectives alone; "
           "of a single offset at the start %.3f us\n",
           worst_ns / 1e3, collectives_ns / 1e3, single_ns / 1e3);
    assert_true(worst_ns < 5000);
    assert_true(collectives_ns < 200000);
    assert_true(single_ns > 1e6);
}

static void bounds_that_contradict_each_other_have_no_fit(void **state)
{
    (void)state;
    struct ss_clock_bounds bounds = {0};
    struct ss_clock_segments segments = {0};
    ss_vec_push(&bounds, (struct ss_clock_bound){1000, 50, true});
    ss_vec_push(&bounds, (struct ss_clock_bound){1000, 90, false});
    assert_false(ss_clock_fit(&bounds, 0, 2000, &segments));
    assert_int_equal(segments.count, 0);
    ss_vec_fini(&bounds);
}

static void one_sided_bounds_have_no_fit(void **state)
{
    (void)state;
    struct ss_clock_bounds bounds = {0};
    struct ss_clock_segments segments = {0};
    assert_false(ss_clock_fit(&bounds, 0, 2000, &segments));
    ss_vec_push(&bounds, (struct ss_clock_bound){1000, 50, true});
    ss_vec_push(&bounds, (struct ss_clock_bound){1500, 50, true});
    assert_false(ss_clock_fit(&bounds, 0, 2000, &segments));
    ss_vec_fini(&bounds);
}

/* A clock whose drift changes by more than one line can follow. */
static void the_time_is_split_where_one_line_does_not_fit(void **state)
{
    (void)state;
    struct clock before = {.start_ns = 5 * S, .offset_ns = 100, .drift = 200e-6, .random = 7};
    struct ss_clock_bounds bounds = {0};
    struct ss_clock_segments segments = {0};
    uint64_t change_ns = before.start_ns + 30 * S;
    struct clock after = {.start_ns = change_ns, .drift = -200e-6, .random = 9};
    after.offset_ns = 100 + (int64_t)(200e-6 * 30e9);
    for (unsigned i = 0; i < 30; i++) {
        add_ping(&bounds, &before, before.start_ns + i * S);
        add_ping(&bounds, &after, change_ns + i * S + 1000);
    }
    assert_true(ss_clock_fit(&bounds, before.start_ns, change_ns + 30 * S, &segments));
    assert_true(segments.count > 1);
    for (unsigned i = 0; i < 30; i++) {
        uint64_t early_ns = before.start_ns + i * S, late_ns = change_ns + i * S + 1000;
        assert_true(
            error_at(&before, &segments, early_ns) <=
            (double)ss_clock_fit_segment(segments.data, segments.count, early_ns)->error_ns);
        assert_true(error_at(&after, &segments, late_ns) <=
                    (double)ss_clock_fit_segment(segments.data, segments.count, late_ns)->error_ns);
    }
    ss_vec_fini(&bounds);
    ss_vec_fini(&segments);
}

static void a_single_pair_leaves_the_drift_open(void **state)
{
    (void)state;
    struct ss_clock_bounds bounds = {0};
    struct ss_clock_segments segments = {0};
    ss_vec_push(&bounds, (struct ss_clock_bound){10 * S, 1000, true});
    ss_vec_push(&bounds, (struct ss_clock_bound){10 * S, 900, false});
    assert_true(ss_clock_fit(&bounds, 10 * S, 12 * S, &segments));
    assert_int_equal(segments.data[0].offset_ns, 950);
    /* 500 ppm of 2 s, and half the width of the pair. */
    assert_in_range(segments.data[0].error_ns, 1000050, 1000060);
    ss_vec_fini(&bounds);
    ss_vec_fini(&segments);
}

static void bounds_of_any_size_are_survived(void **state)
{
    (void)state;
    struct clock clock = {.random = 77};
    for (unsigned run = 0; run < 200; run++) {
        struct ss_clock_bounds bounds = {0};
        struct ss_clock_segments segments = {0};
        for (unsigned i = 0; i < 20; i++) {
            next(&clock);
            uint64_t time_ns = clock.random;
            next(&clock);
            ss_vec_push(&bounds, (struct ss_clock_bound){time_ns, (int64_t)clock.random,
                                                         clock.random % 3 == 0});
        }
        if (ss_clock_fit(&bounds, 0, UINT64_MAX, &segments)) {
            ss_clock_fit_map(segments.data, segments.count, clock.random);
        }
        ss_vec_fini(&bounds);
        ss_vec_fini(&segments);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_error_is_within_the_bound_for_every_seed),
        cmocka_unit_test(bounds_that_contradict_each_other_have_no_fit),
        cmocka_unit_test(one_sided_bounds_have_no_fit),
        cmocka_unit_test(the_time_is_split_where_one_line_does_not_fit),
        cmocka_unit_test(bounds_of_any_size_are_survived),
        cmocka_unit_test(a_single_pair_leaves_the_drift_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
