/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "../model_builder.h"
#include "analysis/selection/curves.h"

static void make(struct ss_model *model)
{
    ss_model_init(model);
    ss_model_new_input(model, SS_INPUT_TRACE, "test");
    ss_vec_push(&model->clock_domains, (struct ss_model_clock_domain){.mapping = SS_CLOCK_IS_AXIS});
    model->inputs.data[0].clock_domain = (uint32_t)model->clock_domains.count - 1;
}

static void add_value(struct ss_model *model, uint32_t track, uint64_t time_ns, double real)
{
    ss_vec_push(&model->values,
                (struct ss_model_value){.time_ns = time_ns, .track = track, .real = real});
}

static void draw(const struct ss_model *model, struct ss_curves *curves)
{
    const struct ss_selection_options all = {.idle = SS_IDLE_ALL};
    struct ss_selection selection;
    assert_int_equal(ss_selection_init(&selection, model, &all, NULL), SS_OK);
    ss_curves_init(curves, &selection);
    ss_selection_fini(&selection);
}

static void test_one_unit_of_a_group_is_a_picture(void **state)
{
    (void)state;
    struct ss_model model;
    struct ss_curves curves;
    make(&model);
    uint32_t process = BUILD_PROCESS(&model, .pid = 42);
    uint32_t host =
        BUILD_TRACK(&model, .kind = SS_TRACK_COUNTER, .group = "CPU", .name = "user", .unit = "%");
    uint32_t still =
        BUILD_TRACK(&model, .kind = SS_TRACK_COUNTER, .name = "total", .unit = "bytes");
    uint32_t rss = BUILD_TRACK(&model, .kind = SS_TRACK_COUNTER, .process = process, .name = "rss",
                               .unit = "bytes");
    uint32_t peak = BUILD_TRACK(&model, .kind = SS_TRACK_COUNTER, .process = process,
                                .name = "peak", .unit = "bytes");
    for (uint64_t i = 0; i < 3; i++) {
        add_value(&model, host, 100 + 50 * i, (double)i);
    }
    add_value(&model, still, 100, 5);
    add_value(&model, still, 200, 5);
    add_value(&model, rss, 150, 1);
    add_value(&model, rss, 160, NAN);
    add_value(&model, rss, 250, 2);
    add_value(&model, peak, 150, 1);
    add_value(&model, peak, 250, 3);
    draw(&model, &curves);
    assert_int_equal(curves.end_ns, 150);
    assert_int_equal(curves.pictures.count, 2); /* what does not change is none */
    assert_int_equal(curves.pictures.data[0].pid, 42);
    assert_int_equal(curves.pictures.data[0].curves.count, 2);
    assert_int_equal(curves.pictures.data[0].curves.data[0].points.count, 2);
    assert_int_equal(curves.pictures.data[0].curves.data[0].points.data[0].time_ns, 50);
    assert_int_equal(curves.pictures.data[1].pid, -1);
    assert_string_equal(curves.pictures.data[1].group.data, "CPU");
    ss_curves_fini(&curves);
    ss_model_fini(&model);
}

static void test_peaks_remain_of_many_values(void **state)
{
    (void)state;
    enum { VALUES = 100000, PEAK = 54321 };
    struct ss_model model;
    struct ss_curves curves;
    double low = 1e9, high = 0;
    make(&model);
    uint32_t track = BUILD_TRACK(&model, .kind = SS_TRACK_COUNTER, .name = "load", .unit = "tasks");
    for (uint64_t i = 0; i < VALUES; i++) {
        add_value(&model, track, i, i == PEAK ? 99 : i == PEAK + 1 ? -99 : 1);
    }
    draw(&model, &curves);
    const struct ss_curve *curve = &curves.pictures.data[0].curves.data[0];
    assert_true(curve->points.count <= SS_CURVE_POINTS_MOST + 1);
    for (size_t i = 0; i < curve->points.count; i++) {
        low = fmin(low, curve->points.data[i].low);
        high = fmax(high, curve->points.data[i].high);
    }
    assert_true(low == -99 && high == 99);
    ss_curves_fini(&curves);
    ss_model_fini(&model);
}

static void test_what_does_not_fit_is_counted(void **state)
{
    (void)state;
    struct ss_model model;
    struct ss_curves curves;
    make(&model);
    for (size_t i = 0; i < SS_CURVES_MOST + 3; i++) {
        uint32_t track = BUILD_TRACK(&model, .kind = SS_TRACK_COUNTER, .name = "c", .unit = "x");
        add_value(&model, track, 1, 1);
        add_value(&model, track, 2, 2);
    }
    for (size_t i = 0; i < SS_CURVE_PICTURES_MOST + 2; i++) {
        char unit[16];
        snprintf(unit, sizeof unit, "u%zu", i);
        uint32_t track = BUILD_TRACK(&model, .kind = SS_TRACK_COUNTER, .name = "c", .unit = unit);
        add_value(&model, track, 1, 1);
        add_value(&model, track, 2, 2);
    }
    draw(&model, &curves);
    assert_int_equal(curves.pictures.count, SS_CURVE_PICTURES_MOST);
    assert_int_equal(curves.pictures.data[0].curves.count, SS_CURVES_MOST);
    assert_int_equal(curves.pictures.data[0].hidden, 3);
    assert_int_equal(curves.hidden, 3);
    ss_curves_fini(&curves);
    ss_model_fini(&model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_unit_of_a_group_is_a_picture),
        cmocka_unit_test(test_peaks_remain_of_many_values),
        cmocka_unit_test(test_what_does_not_fit_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
