/* SPDX-License-Identifier: Apache-2.0 */
/* Errors of means: known values, and how often equal trainings seem to differ. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "../../random.h"
#include "analysis/table/mean_error.h"

static void quantiles_are_those_of_student(void **state)
{
    (void)state;
    static const struct {
        double freedom, quantile;
    } known[] = {{1, 12.7062}, {2, 4.3027},  {3, 3.1824},  {4, 2.7764},
                 {5, 2.5706},  {10, 2.2281}, {30, 2.0423}, {1000, 1.9623}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        double found = ss_student_quantile(known[i].freedom);
        assert_true(fabs(found / known[i].quantile - 1) < 0.003);
    }
}

static void few_values_have_no_error(void **state)
{
    (void)state;
    static const double values[] = {1, 2, 3, 4, 5, 6};
    assert_true(isnan(ss_mean_error(values, 0)));
    assert_true(isnan(ss_mean_error(values, SS_FEWEST_FOR_MEAN_ERROR - 1)));
    assert_false(isnan(ss_mean_error(values, SS_FEWEST_FOR_MEAN_ERROR)));
    assert_true(isnan(ss_mean_error_independent(values, 1)));
}

static void independent_values_have_the_error_of_student(void **state)
{
    (void)state;
    /* Mean 3, standard deviation sqrt(2.5): t(4) sqrt(2.5 / 5) = 1.963. */
    static const double values[] = {1, 2, 3, 4, 5};
    assert_true(fabs(ss_mean_error_independent(values, 5) - 1.9632) < 0.002);
    /* Two runs: t(1) |a - b| / 2. */
    assert_true(fabs(ss_mean_error_independent(values, 2) - 12.7062 / 2) < 0.002);
}

static void equal_values_have_none(void **state)
{
    (void)state;
    double values[100];
    for (size_t i = 0; i < 100; i++) {
        values[i] = 1e9 + 7;
    }
    assert_true(ss_mean_error(values, 100) == 0);
}

/* A drift has an error that no independent values of this spread have. */
static void a_drift_counts_as_error(void **state)
{
    (void)state;
    double values[100];
    for (size_t i = 0; i < 100; i++) {
        values[i] = (double)i;
    }
    assert_true(ss_mean_error(values, 100) > 3 * ss_mean_error_independent(values, 100));
}

/* --- equal trainings -------------------------------------------------------------------------- */

enum { MOST = 400, PAIRS = 1000 };

static double uniform(void)
{
    return ((double)(next_random() >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(void)
{
    return sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform());
}

static void correlated(double *values, size_t count, double with_next)
{
    double value = normal();
    for (size_t i = 0; i < count; i++) {
        values[i] = value;
        value = with_next * value + sqrt(1 - with_next * with_next) * normal();
    }
}

enum shape { NORMAL, SKEWED, CORRELATED, STRONGLY_CORRELATED, PERIODIC, BURSTS };

static void simulate(enum shape shape, double *values, size_t count)
{
    size_t phase = next_random() % 4;
    correlated(values, count,
               shape == CORRELATED                               ? 0.5
               : shape == STRONGLY_CORRELATED || shape == BURSTS ? 0.8
                                                                 : 0);
    for (size_t i = 0; i < count; i++) {
        values[i] = shape == SKEWED     ? exp(0.8 * values[i])
                    : shape == PERIODIC ? 0.3 * values[i] + (i % 4 == phase ? 3 : 0)
                    : shape == BURSTS   ? 0.3 * normal() + (values[i] > 1.2 ? 2 : 0)
                                        : values[i];
    }
}

static double mean_of(const double *values, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += values[i];
    }
    return sum / (double)count;
}

/* The percentage of pairs of equal trainings that seem to differ; by the error of independent
 * steps, too. */
static double percent_differing(enum shape shape, size_t count, double *by_independent)
{
    size_t differing = 0, naive = 0;
    for (int i = 0; i < PAIRS; i++) {
        double a[MOST], b[MOST];
        simulate(shape, a, count);
        simulate(shape, b, count);
        double change = fabs(mean_of(a, count) - mean_of(b, count));
        differing += change > hypot(ss_mean_error(a, count), ss_mean_error(b, count));
        naive += change >
                 hypot(ss_mean_error_independent(a, count), ss_mean_error_independent(b, count));
    }
    *by_independent = 100.0 * (double)naive / PAIRS;
    return 100.0 * (double)differing / PAIRS;
}

static void equal_trainings_seldom_differ(void **state)
{
    (void)state;
    for (enum shape shape = NORMAL; shape <= BURSTS; shape++) {
        for (size_t count = 100; count <= MOST; count *= 4) {
            double naive, percent = percent_differing(shape, count, &naive);
            print_message("shape %d, %zu steps: %.1f %%, as if independent %.1f %%\n", (int)shape,
                          count, percent, naive);
            assert_true(percent <= 9); /* 7 % and what 1000 pairs scatter */
            bool is_correlated = shape == CORRELATED || shape == STRONGLY_CORRELATED;
            assert_true(!is_correlated || naive > 20);
        }
    }
}

/* Nor is every change lost in the error. */
static void a_change_is_found(void **state)
{
    (void)state;
    size_t found = 0;
    for (int i = 0; i < PAIRS; i++) {
        double a[100], b[100];
        simulate(NORMAL, a, 100);
        simulate(NORMAL, b, 100);
        found += fabs(mean_of(a, 100) - mean_of(b, 100) - 0.6) >
                 hypot(ss_mean_error(a, 100), ss_mean_error(b, 100));
    }
    assert_true(found > PAIRS * 9 / 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantiles_are_those_of_student),
        cmocka_unit_test(few_values_have_no_error),
        cmocka_unit_test(independent_values_have_the_error_of_student),
        cmocka_unit_test(equal_values_have_none),
        cmocka_unit_test(a_drift_counts_as_error),
        cmocka_unit_test(equal_trainings_seldom_differ),
        cmocka_unit_test(a_change_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
