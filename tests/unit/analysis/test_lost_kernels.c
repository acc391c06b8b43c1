/* SPDX-License-Identifier: Apache-2.0 */
/* Launches without a kernel, by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../timed_device.h"
#include "analysis/launches/lost_kernels.h"

/* Kernels at 150, 550 and 950 have launches at 100, 500 and 900; those at 300 and 320 have none,
 * nor has the last one, at 1000. */
static uint32_t make(struct timed *timed)
{
    timed_begin(timed);
    timed_launch(timed, 100, 110, 1);
    timed_launch(timed, 300, 310, 2);
    timed_launch(timed, 320, 330, 3);
    timed_launch(timed, 500, 510, 4);
    timed_launch(timed, 900, 910, 5);
    timed_launch(timed, 1000, 1010, 6);
    uint32_t stream = timed_stream(timed, timed_device(timed, 0), 7);
    timed_kernel(timed, stream, "gemm", 150, 350, 1);
    timed_kernel(timed, stream, "gemm", 550, 650, 4);
    timed_kernel(timed, stream, "gemm", 950, 1050, 5);
    return stream;
}

static void find(struct timed *timed, struct ss_lost_kernels *lost)
{
    struct ss_recorded_devices recorded;
    timed_load(timed);
    ss_recorded_devices_init(&recorded, &timed->model);
    ss_lost_kernels_init(lost, &timed->selection, &recorded);
    ss_recorded_devices_fini(&recorded);
}

static void end(struct timed *timed, struct ss_lost_kernels *lost)
{
    ss_lost_kernels_fini(lost);
    timed_end(timed);
}

static void a_kernel_ran_between_its_neighbours(void **state)
{
    (void)state;
    struct timed timed;
    struct ss_lost_kernels lost;
    make(&timed);
    find(&timed, &lost);
    assert_int_equal(lost.launches, 6);
    assert_int_equal(lost.rows.count, 3);
    const struct ss_lost_kernel *rows = lost.rows.data;
    assert_int_equal(rows[0].launch_ns, 300);
    assert_int_equal(rows[0].from_ns, 350); /* the end of the one before */
    assert_int_equal(rows[0].until_ns, 550);
    assert_false(rows[0].is_at_end);
    assert_int_equal(rows[1].from_ns, 350);
    assert_int_equal(rows[2].from_ns, 1050);
    assert_int_equal(rows[2].until_ns, UINT64_MAX);
    assert_true(rows[2].is_at_end);
    assert_int_equal(lost.at_end, 1);
    end(&timed, &lost);
}

static void what_a_lost_kernel_hides(void **state)
{
    (void)state;
    struct timed timed;
    struct ss_lost_kernels lost;
    make(&timed);
    find(&timed, &lost);
    uint32_t process = timed.process;
    assert_int_equal(ss_lost_kernels_count(&lost, process, 300, 320), 1);
    assert_int_equal(ss_lost_kernels_count(&lost, process, 300, 321), 2);
    assert_int_equal(ss_lost_kernels_count(&lost, process, 0, UINT64_MAX), 3);
    assert_int_equal(ss_lost_kernels_count(&lost, process + 1, 0, UINT64_MAX), 0);
    assert_int_equal(ss_lost_kernels_time(&lost, process, 0, 1000), 200);
    assert_int_equal(ss_lost_kernels_time(&lost, process, 400, 500), 100);
    assert_int_equal(ss_lost_kernels_time(&lost, process, 1000, 1200), 150);
    assert_false(ss_lost_kernels_hide(&lost, process, 0, 300));
    assert_true(ss_lost_kernels_hide(&lost, process, 300, 5000)); /* launched in it */
    assert_true(ss_lost_kernels_hide(&lost, process, 539, 639));  /* 11 of 100 */
    assert_false(ss_lost_kernels_hide(&lost, process, 540, 640));
    assert_false(ss_lost_kernels_hide(&lost, process, 950, 1055)); /* 5 of 105, though launched */
    assert_true(ss_lost_kernels_hide(&lost, process, 950, 1100));
    end(&timed, &lost);
}

/* The driver's call within the runtime's has the correlation of the kernel. */
static void a_launch_within_a_launch(void **state)
{
    (void)state;
    struct timed timed;
    struct ss_lost_kernels lost;
    timed_begin(&timed);
    timed_launch(&timed, 100, 140, 1);
    timed_call(&timed, "cuLaunchKernel", SS_EVENT_TYPE_launch, 110, 130, 2);
    timed_launch(&timed, 200, 240, 3);
    timed_call(&timed, "cuLaunchKernel", SS_EVENT_TYPE_launch, 210, 230, 4);
    timed_kernel(&timed, timed_stream(&timed, timed_device(&timed, 0), 7), "gemm", 150, 190, 2);
    find(&timed, &lost);
    assert_int_equal(lost.launches, 2);
    assert_int_equal(lost.rows.count, 1);
    assert_int_equal(lost.rows.data[0].launch_ns, 200);
    end(&timed, &lost);
}

/* Copies may need no device; a graph has the kernels, whose captured launches have none. */
static void what_needs_no_kernel(void **state)
{
    (void)state;
    struct timed timed;
    struct ss_lost_kernels lost;
    timed_begin(&timed);
    timed_call(&timed, "cudaMemcpyAsync", SS_EVENT_TYPE_launch, 50, 60, 1);
    timed_call(&timed, "cudaStreamBeginCapture_v10000", SS_EVENT_TYPE_range, 100, 110, 2);
    timed_launch(&timed, 120, 130, 3);
    timed_call(&timed, "cudaStreamEndCapture_v10000", SS_EVENT_TYPE_range, 140, 150, 4);
    timed_call(&timed, "cudaGraphLaunch", SS_EVENT_TYPE_launch, 160, 170, 5);
    timed_call(&timed, "cudaGraphLaunch", SS_EVENT_TYPE_launch, 260, 270, 6);
    timed_kernel(&timed, timed_stream(&timed, timed_device(&timed, 0), 7), "gemm", 180, 190, 5);
    find(&timed, &lost);
    assert_int_equal(lost.launches, 2);
    assert_int_equal(lost.rows.count, 1);
    assert_int_equal(lost.rows.data[0].launch_ns, 260);
    end(&timed, &lost);
}

/* A capture that had begun before the recording, and one that never ends. */
static void captures_at_the_edges(void **state)
{
    (void)state;
    struct timed timed;
    struct ss_lost_kernels lost;
    timed_begin(&timed);
    timed_launch(&timed, 10, 20, 1);
    timed_call(&timed, "hipStreamEndCapture", SS_EVENT_TYPE_range, 30, 40, 2);
    timed_call(&timed, "hipLaunchKernel", SS_EVENT_TYPE_launch, 50, 60, 3);
    timed_call(&timed, "hipStreamBeginCapture", SS_EVENT_TYPE_range, 70, 80, 4);
    timed_call(&timed, "hipLaunchKernel", SS_EVENT_TYPE_launch, 90, 100, 5);
    find(&timed, &lost);
    assert_int_equal(lost.rows.count, 1);
    assert_int_equal(lost.rows.data[0].launch_ns, 50);
    end(&timed, &lost);
}

static void of_work_that_names_no_launch_nothing_is_said(void **state)
{
    (void)state;
    struct timed timed;
    struct ss_lost_kernels lost;
    uint32_t stream = make(&timed);
    timed_kernel(&timed, stream, "gemm", 1100, 1150, TIMED_NONE);
    find(&timed, &lost);
    assert_int_equal(lost.launches, 0);
    assert_int_equal(lost.rows.count, 0);
    end(&timed, &lost);
}

static void note(struct timed *timed, int64_t value)
{
    BUILD_NOTE(&timed->model, .process = timed->process, .kind = "gpu-launches-without-kernel",
               .value = value);
}

/* One window without lost kernels, then one with. */
static void the_count_of_the_recorder(void **state)
{
    (void)state;
    struct timed timed;
    struct ss_lost_kernels lost;
    make(&timed);
    note(&timed, 0);
    find(&timed, &lost);
    assert_int_equal(lost.rows.count, 0);
    end(&timed, &lost);
    make(&timed);
    note(&timed, 3);
    note(&timed, 0);
    find(&timed, &lost);
    assert_int_equal(lost.rows.count, 3);
    end(&timed, &lost);
}

/* What follows the last kernel of a window is at its end. */
static void the_end_of_a_window(void **state)
{
    (void)state;
    struct timed timed;
    struct ss_lost_kernels lost;
    make(&timed);
    uint32_t counter = BUILD_TRACK(&timed.model, .kind = SS_TRACK_COUNTER, .process = timed.process,
                                   .name = "device work recorded");
    build_count(&timed.model, counter, 0, 1);
    build_count(&timed.model, counter, 400, 0);
    build_count(&timed.model, counter, 450, 1);
    find(&timed, &lost);
    assert_int_equal(lost.rows.count, 3);
    assert_true(lost.rows.data[0].is_at_end);
    assert_int_equal(lost.rows.data[0].until_ns, 400);
    assert_int_equal(lost.at_end, 3);
    end(&timed, &lost);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kernel_ran_between_its_neighbours),
        cmocka_unit_test(what_a_lost_kernel_hides),
        cmocka_unit_test(a_launch_within_a_launch),
        cmocka_unit_test(what_needs_no_kernel),
        cmocka_unit_test(captures_at_the_edges),
        cmocka_unit_test(of_work_that_names_no_launch_nothing_is_said),
        cmocka_unit_test(the_count_of_the_recorder),
        cmocka_unit_test(the_end_of_a_window),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
