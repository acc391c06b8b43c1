/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../random.h"
#include "timeline/series.h"

enum { MOST = 2000 };
static struct ss_model_value values[MOST];

static void fill(uint32_t count)
{
    uint64_t time_ns = 0;
    for (uint32_t i = 0; i < count; i++) {
        time_ns += next_random() % 500;
        values[i] = (struct ss_model_value){.time_ns = time_ns,
                                            .real = (double)(next_random() % 1000) - 500};
    }
}

static void test_points_are_those_of_all_values(void **state)
{
    static struct ss_series_point points[MOST];
    (void)state;
    for (int round = 0; round < 80; round++) {
        uint32_t count = 1 + (uint32_t)(next_random() % (round % 2 == 0 ? 40 : MOST - 1));
        struct ss_series series;
        fill(count);
        ss_series_init(&series, values, count);
        uint64_t bucket_ns = UINT64_C(1) << next_random() % 16;
        size_t made = ss_series_points(&series, 0, UINT64_MAX, bucket_ns, points, MOST);
        uint32_t at = 0;
        for (size_t i = 0; i < made; i++) {
            double low = ss_model_real(&values[at]), high = low, last = low;
            uint64_t bucket = values[at].time_ns / bucket_ns;
            assert_int_equal(points[i].time_ns, values[at].time_ns);
            for (uint32_t j = 0; j < points[i].count; j++, at++) {
                last = ss_model_real(&values[at]);
                low = last < low ? last : low;
                high = last > high ? last : high;
                assert_int_equal(values[at].time_ns / bucket_ns, bucket);
            }
            assert_true(points[i].low == low && points[i].high == high && points[i].last == last);
        }
        assert_int_equal(at, count);
        ss_series_fini(&series);
    }
}

/* A line is drawn from the value before the window on. */
static void test_begins_before_the_window(void **state)
{
    struct ss_series_point points[8];
    struct ss_series series;
    (void)state;
    for (uint32_t i = 0; i < 5; i++) {
        values[i] = (struct ss_model_value){.time_ns = 100 * i, .real = i};
    }
    ss_series_init(&series, values, 5);
    assert_int_equal(ss_series_points(&series, 250, 320, 1, points, 8), 2);
    assert_int_equal(points[0].time_ns, 200);
    assert_int_equal(points[1].time_ns, 300);
    ss_series_fini(&series);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_points_are_those_of_all_values),
        cmocka_unit_test(test_begins_before_the_window),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
