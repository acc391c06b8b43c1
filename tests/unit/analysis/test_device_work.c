/* SPDX-License-Identifier: Apache-2.0 */
/* Works of devices and the calls that launched them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../timed_device.h"
#include "analysis/launches/device_work.h"

/* The begin of the call that launched a work; 0: none. */
static uint64_t launched_at(const struct timed *timed, const struct ss_device_works *works,
                            size_t work)
{
    uint32_t launch = works->works.data[work].launch;
    return launch != 0 ? timed->model.ranges.data[launch - 1].begin_ns : 0;
}

static void a_launch_has_the_correlation_of_its_work(void **state)
{
    (void)state;
    struct timed timed;
    const struct ss_device_works *works;
    timed_begin(&timed);
    timed_launch(&timed, 100, 110, 1);
    timed_launch(&timed, 120, 130, 2);
    timed_call(&timed, "cudaMemcpyAsync", SS_EVENT_TYPE_launch, 140, 150, 3);
    uint32_t stream = timed_stream(&timed, timed_device(&timed, 0), 7);
    timed_kernel(&timed, stream, "before", 50, 60, 77); /* launched before the recording */
    timed_kernel(&timed, stream, "second", 200, 210, 2);
    timed_kernel(&timed, stream, "first", 210, 210, 1);
    timed_copy(&timed, stream, "Memcpy HtoD (Pinned -> Device)", 220, 230, 3);
    timed_load(&timed);
    works = ss_selection_works(&timed.selection);
    assert_int_equal(works->works.count, 4);
    assert_int_equal(works->without_launch, 1);
    static const uint64_t expected[] = {0, 120, 100, 140};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(launched_at(&timed, works, i), expected[i]);
    }
    assert_int_equal(works->works.data[3].work_class, SS_WORK_COPY);
    timed_end(&timed);
}

static void kernels_of_a_graph_have_its_launch(void **state)
{
    (void)state;
    struct timed timed;
    const struct ss_device_works *works;
    timed_begin(&timed);
    timed_call(&timed, "cudaGraphLaunch", SS_EVENT_TYPE_launch, 100, 110, 5);
    uint32_t stream = timed_stream(&timed, timed_device(&timed, 0), 7);
    for (uint64_t i = 0; i < 3; i++) {
        timed_kernel(&timed, stream, "gemm", 200 + 10 * i, 205 + 10 * i, 5);
    }
    timed_load(&timed);
    works = ss_selection_works(&timed.selection);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(launched_at(&timed, works, i), 100);
    }
    assert_int_equal(works->without_launch, 0);
    timed_end(&timed);
}

/* Where a runtime's call and a synchronisation share a number, the launch is meant. Work of HIP may
 * lack all but its times. */
static void missing_and_shared_numbers(void **state)
{
    (void)state;
    struct timed timed;
    const struct ss_device_works *works;
    timed_begin(&timed);
    timed_call(&timed, "hipStreamSynchronize", SS_EVENT_TYPE_synchronisation, 90, 95, 4);
    timed_call(&timed, "hipModuleLaunchKernel", SS_EVENT_TYPE_launch, 100, 110, 4);
    timed_call(&timed, "hipMemcpyWithStream", SS_EVENT_TYPE_launch, 120, 125, TIMED_NONE);
    uint32_t stream = timed_stream(&timed, timed_device(&timed, 0), 0);
    timed_kernel(&timed, stream, "Cijk_Ailk", 150, 160, 4);
    timed_kernel(&timed, stream, "Cijk_Alik", 160, 170, TIMED_NONE);
    timed_copy(&timed, stream, "CopyHostToDevice", 170, 180, TIMED_NONE);
    timed_load(&timed);
    works = ss_selection_works(&timed.selection);
    assert_int_equal(works->works.count, 3);
    assert_int_equal(launched_at(&timed, works, 0), 100);
    assert_int_equal(works->without_launch, 2);
    timed_end(&timed);
}

/* Devices 2 and 3 of a machine, of two processes which number their calls alike. */
static void parts_are_of_a_process_and_a_device(void **state)
{
    (void)state;
    struct timed timed;
    const struct ss_device_works *works;
    timed_begin(&timed);
    timed_launch(&timed, 100, 110, 1);
    uint32_t two = timed_device(&timed, 2), three = timed_device(&timed, 3);
    uint32_t stream = timed_stream(&timed, three, 7), other = timed_stream(&timed, two, 7);
    timed_kernel(&timed, stream, "gemm", 300, 310, 1);
    timed_kernel(&timed, other, "gemm", 320, 330, TIMED_NONE);
    timed_kernel(&timed, other, "gemm", 330, 340, TIMED_NONE);
    uint32_t first = timed.process;
    timed.process = BUILD_PROCESS(&timed.model, .pid = 43);
    uint32_t thread = BUILD_THREAD(&timed.model, .process = timed.process, .tid = 43);
    timed.calls = BUILD_TRACK(&timed.model, .kind = SS_TRACK_RANGES, .process = timed.process,
                              .thread = thread, .name = "torch");
    timed_launch(&timed, 200, 210, 1);
    stream = timed_stream(&timed, three, 7);
    timed_kernel(&timed, stream, "gemm", 250, 260, 1);
    timed_load(&timed);
    works = ss_selection_works(&timed.selection);
    static const struct {
        int32_t device;
        size_t count;
    } expected[] = {{2, 2}, {3, 1}, {3, 1}};
    assert_int_equal(works->parts.count, 3);
    for (size_t i = 0; i < 3; i++) {
        const struct ss_device_part *part = &works->parts.data[i];
        assert_int_equal(timed.model.devices.data[part->device].number, expected[i].device);
        assert_int_equal(part->end - part->first, expected[i].count);
        assert_int_equal(part->process, i < 2 ? first : timed.process);
    }
    assert_int_equal(launched_at(&timed, works, works->parts.data[1].first), 100);
    assert_int_equal(launched_at(&timed, works, works->parts.data[2].first), 200);
    timed_end(&timed);
}

/* Copies of 30 and 20 beside a kernel of 150; without work there is no share. */
static void the_share_of_copies(void **state)
{
    (void)state;
    struct timed timed;
    timed_begin(&timed);
    timed_load(&timed);
    assert_true(ss_device_copies_share(&timed.selection) == 0);
    timed_end(&timed);
    timed_begin(&timed);
    uint32_t stream = timed_stream(&timed, timed_device(&timed, 0), 7);
    timed_copy(&timed, stream, "Memcpy HtoD (Pinned -> Device)", 100, 130, 1);
    timed_kernel(&timed, stream, "gemm", 200, 350, 2);
    timed_copy(&timed, stream, "Memcpy DtoH (Device -> Pinned)", 400, 420, 3);
    timed_load(&timed);
    assert_true(ss_device_copies_share(&timed.selection) == 0.25);
    timed_end(&timed);
}

/* Work that began outside the requested time counts only where all is asked for. */
static void works_outside_the_requested_time(void **state)
{
    (void)state;
    struct timed timed;
    const struct ss_device_works *works;
    timed_begin(&timed);
    uint32_t stream = timed_stream(&timed, timed_device(&timed, 0), 7);
    timed_kernel(&timed, stream, "gemm", 100, 200, 1);
    timed.model.ranges.data[timed.model.ranges.count - 1].flags = SS_RANGE_OUTSIDE;
    timed_kernel(&timed, stream, "gemm", 300, 400, 2);
    timed_load(&timed);
    works = ss_selection_works(&timed.selection);
    assert_int_equal(works->works.count, 1);
    works = ss_selection_all_works(&timed.selection);
    assert_int_equal(works->works.count, 2);
    timed_end(&timed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_launch_has_the_correlation_of_its_work),
        cmocka_unit_test(kernels_of_a_graph_have_its_launch),
        cmocka_unit_test(missing_and_shared_numbers),
        cmocka_unit_test(parts_are_of_a_process_and_a_device),
        cmocka_unit_test(the_share_of_copies),
        cmocka_unit_test(works_outside_the_requested_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
