/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include "../model_builder.h"
#include "analysis/recorded_devices.h"
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_steps_in_a_window_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
