/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include <math.h>

#include "analysis/table/drift.h"

enum { MOST = 2000 };

static double times[MOST], values[MOST];
static uint64_t seed;

/* Uniform, -1 to 1. */
static double noise(void)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(seed >> 11) / (double)(UINT64_C(1) << 52) - 1;
}

/* Steps of 100, with noise that resembles its neighbours by `correlation`. */
static void make(size_t count, uint64_t from, double correlation)
{
    double state = 0;
    seed = from * 7919 + 1;
    for (size_t i = 0; i < count; i++) {
        state = correlation * state + sqrt(1 - correlation * correlation) * 3 * noise();
        times[i] = (double)i;
        values[i] = 100 + state;
    }
}

static struct ss_drift found(size_t count)
{
    struct ss_drift drift;
    ss_drift_find(times, values, count, &drift);
    return drift;
}

static void a_ramp(void **state)
{
    (void)state;
    for (size_t count = 60; count <= MOST; count = count * 3) {
        size_t within = 0;
        for (uint64_t run = 0; run < 100; run++) {
            make(count, run, 0);
            for (size_t i = 0; i < count; i++) {
                values[i] += 20 * (double)i / (double)(count - 1);
            }
            struct ss_drift drift = found(count);
            assert_true(drift.is_certain && !drift.has_changed_once);
            assert_true(drift.low > 15 && drift.high < 25);
            assert_true(fabs(drift.before - 100) < 3 && fabs(drift.after - 120) < 3);
            within += drift.low <= 20 && 20 <= drift.high;
        }
        assert_true(within >= 90);
    }
}

static void a_change(void **state)
{
    (void)state;
    for (size_t at = 120; at < 500; at += 90) {
        make(600, at, 0);
        for (size_t i = at; i < 600; i++) {
            values[i] += 25;
        }
        struct ss_drift drift = found(600);
        assert_true(drift.is_certain && drift.has_changed_once);
        assert_int_equal(drift.change_at, at);
        assert_true(fabs(drift.before - 100) < 1 && fabs(drift.after - 125) < 1);
    }
}

/* Neither a line nor two levels, and no noise at all. */
static void a_curve(void **state)
{
    (void)state;
    for (size_t i = 0; i < 80; i++) {
        times[i] = (double)i;
        values[i] = 100 + 30 * sqrt((double)i / 79);
    }
    struct ss_drift drift = found(80);
    assert_true(drift.is_certain && drift.change > 15 && drift.change < 30);
}

/* Steps that wait for a timer: most are equal, some are longer. */
static void skewed_noise(void **state)
{
    (void)state;
    make(100, 9, 0);
    for (size_t i = 0; i < 100; i++) {
        double late = values[i] > 101 ? (values[i] - 101) * 20 : (values[i] - 100) / 100;
        values[i] = (i < 50 ? 41 : 441) + late;
    }
    struct ss_drift drift = found(100);
    assert_true(drift.is_certain && drift.has_changed_once);
    assert_int_equal(drift.change_at, 50);
}

/* Both levels fall by a little: nearly as many pairs of steps fall as rise. */
static void a_clear_change(void **state)
{
    (void)state;
    for (size_t at = 20; at <= 80; at += 10) {
        for (size_t i = 0; i < 100; i++) {
            times[i] = (double)i;
            values[i] = (i < at ? 4 : 44) - 1e-4 * (double)i;
        }
        struct ss_drift drift = found(100);
        assert_true(drift.is_certain && drift.has_changed_once);
        assert_int_equal(drift.change_at, at);
        assert_true(drift.low > 39 && drift.low <= drift.change && drift.change <= drift.high);
        assert_true(drift.high < 41);
    }
    make(100, 11, 0);
    for (size_t i = 90; i < 100; i++) { /* too few to be a level of their own */
        values[i] += 1000;
    }
    assert_false(found(100).is_certain);
}

/* What becomes faster drifts, too; slow single steps do not. */
static void faster_and_outliers(void **state)
{
    (void)state;
    make(400, 3, 0);
    for (size_t i = 0; i < 400; i++) {
        values[i] -= 15 * (double)i / 399;
    }
    struct ss_drift faster = found(400);
    assert_true(faster.is_certain && faster.high < -10);
    make(400, 4, 0);
    for (size_t i = 200; i < 400; i += 17) {
        values[i] += 500;
    }
    assert_false(found(400).is_certain);
}

/* Also where steps resemble their neighbours, at most 1.5 % of healthy runs are called drifting. */
static void healthy_runs(void **state)
{
    (void)state;
    static const double correlations[] = {0, 0.5, 0.8};
    static const size_t counts[] = {40, 100, 400};
    for (size_t c = 0; c < 3; c++) {
        for (size_t k = 0; k < 3; k++) {
            size_t wrong = 0, within = 0;
            for (uint64_t run = 0; run < 200; run++) {
                make(counts[k], run + 1, correlations[c]);
                struct ss_drift drift = found(counts[k]);
                wrong += drift.is_certain;
                within += drift.low <= 0 && 0 <= drift.high;
            }
            assert_true(wrong <= 3);
            assert_true(within >= 150);
        }
    }
}

static void too_little(void **state)
{
    (void)state;
    make(SS_DRIFT_FEWEST, 5, 0);
    assert_int_equal(found(0).count, 0);
    struct ss_drift few = found(SS_DRIFT_FEWEST - 1);
    assert_true(few.median > 90 && few.change == 0 && !few.is_certain);
    for (size_t i = 0; i < 100; i++) { /* the same value at the same time */
        times[i] = 5;
        values[i] = 7;
    }
    struct ss_drift equal = found(100);
    assert_true(equal.change == 0 && !equal.is_certain && equal.median == 7);
    for (size_t i = 0; i < 100; i++) {
        times[i] = (double)i;
    }
    assert_false(found(100).is_certain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ramp),         cmocka_unit_test(a_change),
        cmocka_unit_test(a_curve),        cmocka_unit_test(skewed_noise),
        cmocka_unit_test(a_clear_change), cmocka_unit_test(faster_and_outliers),
        cmocka_unit_test(healthy_runs),   cmocka_unit_test(too_little),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
