/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include "../model_builder.h"
#include "analysis/launches/recorded_devices.h"
#include "base/shared_names.h"

static void only_steps_in_a_window_count(void **state)
{
    (void)state;
    struct ss_model model;
    struct ss_recorded_devices recorded;
    ss_model_init(&model);
    uint32_t profiled = BUILD_PROCESS(&model, .pid = 1), other = BUILD_PROCESS(&model, .pid = 2);
    uint32_t track = BUILD_TRACK(&model, .kind = SS_TRACK_COUNTER, .process = profiled,
                                 .name = ss_counter_device_work_recorded);
    build_count(&model, track, 1005, 1);
    build_count(&model, track, 1290, 0);
    build_count(&model, track, 2000, 1); /* until the end of the recording */
    ss_recorded_devices_init(&recorded, &model);
    static const struct {
        uint64_t begin_ns, end_ns;
        bool is_recorded;
    } steps[] = {{900, 1000, false},  {1000, 1100, true},   {1100, 1200, true},
                 {1200, 1300, true},  {1200, 1310, false},  {1300, 1400, false},
                 {1950, 2050, false}, {2000, 9999999, true}};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        assert_int_equal(
            ss_recorded_devices_has(&recorded, profiled, steps[i].begin_ns, steps[i].end_ns),
            steps[i].is_recorded);
        assert_true(ss_recorded_devices_has(&recorded, other, steps[i].begin_ns, steps[i].end_ns));
    }
    ss_recorded_devices_fini(&recorded);
    ss_model_fini(&model);
}

/* Of steps in sums, the recorder writes no work of devices; a process without steps has none. */
static void steps_in_sums_do_not_count(void **state)
{
    (void)state;
    struct ss_model model;
    struct ss_recorded_devices recorded;
    ss_model_init(&model);
    uint32_t process = BUILD_PROCESS(&model, .pid = 1), other = BUILD_PROCESS(&model, .pid = 2);
    uint32_t profiled = BUILD_PROCESS(&model, .pid = 3);
    uint32_t ids[] = {process, other, profiled};
    uint32_t window = BUILD_TRACK(&model, .kind = SS_TRACK_COUNTER, .process = profiled,
                                  .name = ss_counter_device_work_recorded);
    build_count(&model, window, 1000, 1);
    for (size_t i = 0; i < 3; i++) {
        uint32_t detail = BUILD_TRACK(&model, .kind = SS_TRACK_COUNTER, .process = ids[i],
                                      .name = ss_counter_detail_recorded);
        build_count(&model, detail, 1100, 0);
        build_count(&model, detail, 1500, 1);
        build_count(&model, detail, 1600, 2);
        build_count(&model, detail, 1700, 0);
        if (ids[i] != other) {
            BUILD_TRACK(&model, .kind = SS_TRACK_STEPS, .process = ids[i], .name = "step");
        }
    }
    ss_recorded_devices_init(&recorded, &model);
    static const struct {
        uint64_t begin_ns, end_ns;
        bool is_recorded, is_profiled;
    } steps[] = {{0, 100, true, false},      {1000, 1100, true, true}, {1100, 1200, false, false},
                 {1400, 1500, false, false}, {1500, 1600, true, true}, {1600, 1700, true, true},
                 {1700, 1800, false, false}};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        uint64_t begin_ns = steps[i].begin_ns, end_ns = steps[i].end_ns;
        assert_int_equal(ss_recorded_devices_has(&recorded, process, begin_ns, end_ns),
                         steps[i].is_recorded);
        assert_int_equal(ss_recorded_devices_has(&recorded, profiled, begin_ns, end_ns),
                         steps[i].is_profiled);
        assert_true(ss_recorded_devices_has(&recorded, other, begin_ns, end_ns));
    }
    assert_int_equal(ss_recorded_devices_until(&recorded, process, 1550), 1600);
    assert_int_equal(ss_recorded_devices_until(&recorded, process, 1750), UINT64_MAX);
    assert_int_equal(ss_recorded_devices_until(&recorded, profiled, 1050), 1100);
    ss_recorded_devices_fini(&recorded);
    ss_model_fini(&model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_steps_in_a_window_count),
        cmocka_unit_test(steps_in_sums_do_not_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
