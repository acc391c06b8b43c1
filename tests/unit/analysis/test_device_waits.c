/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that wait for a device are charged to what they wait for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../timed_device.h"
#include "analysis/devices/device_waits.h"

#define US UINT64_C(1000)

struct found {
    struct timed timed;
    const struct ss_device_works *works;
    struct ss_range_finder finder;
    struct ss_steady_time steady;
    struct ss_device_waits waits;
};

static void launch(struct found *found, uint64_t at_us, int64_t correlation)
{
    timed_launch(&found->timed, at_us * US, (at_us + 1) * US, correlation);
}

static void synchronise(struct found *found, uint64_t begin_us, uint64_t end_us)
{
    timed_call(&found->timed, "cudaStreamSynchronize", SS_EVENT_TYPE_synchronisation, begin_us * US,
               end_us * US, TIMED_NONE);
}

static uint32_t stream_of(struct found *found)
{
    return timed_stream(&found->timed, timed_device(&found->timed, 2), 7);
}

static void kernel(struct found *found, uint32_t stream, const char *name, uint64_t begin_us,
                   uint64_t end_us, int64_t correlation)
{
    timed_kernel(&found->timed, stream, name, begin_us * US, end_us * US, correlation);
}

static void find(struct found *found)
{
    timed_load(&found->timed);
    found->works = ss_selection_works(&found->timed.selection);
    ss_range_finder_init(&found->finder, &found->timed.model);
    ss_steady_time_init(&found->steady, &found->timed.training, SS_STEADY_OF_DEVICES);
    ss_device_waits_init(&found->waits, &found->timed.selection, found->works, &found->finder,
                         &found->steady);
}

static void end(struct found *found)
{
    ss_device_waits_fini(&found->waits);
    ss_steady_time_fini(&found->steady);
    ss_range_finder_fini(&found->finder);
    timed_end(&found->timed);
}

/* `work`: NULL: nothing. */
static void check(const struct found *found, size_t row, const char *work, uint64_t count,
                  uint64_t total_us)
{
    const struct ss_model *model = &found->timed.model;
    const struct ss_device_wait *wait = &found->waits.rows.data[row];
    assert_string_equal(ss_model_text(model, model->names.data[wait->work].text),
                        work != NULL ? work : "");
    assert_int_equal(wait->count, count);
    assert_int_equal(wait->total_ns, total_us * US);
}

/* The last work to end is what the call waits for, not the one that ran longest, and not the copy
 * that only fetches the result. */
static void the_last_kernel_is_waited_for(void **state)
{
    (void)state;
    struct found found;
    timed_begin(&found.timed);
    launch(&found, 10, 1);
    launch(&found, 11, 2);
    timed_call(&found.timed, "cudaMemcpyAsync", SS_EVENT_TYPE_launch, 12 * US, 13 * US, 3);
    synchronise(&found, 20, 105);
    uint32_t stream = stream_of(&found);
    kernel(&found, stream, "long", 15, 80, 1);
    kernel(&found, stream, "last", 80, 90, 2);
    timed_copy(&found.timed, stream, "Memcpy DtoH (Device -> Pinned)", 90 * US, 100 * US, 3);
    find(&found);
    assert_int_equal(found.waits.rows.count, 1);
    check(&found, 0, "last", 1, 85);
    end(&found);
}

static void a_copy_alone_is_waited_for(void **state)
{
    (void)state;
    struct found found;
    timed_begin(&found.timed);
    timed_call(&found.timed, "cudaMemcpyAsync", SS_EVENT_TYPE_launch, 20 * US, 60 * US, 1);
    uint32_t stream = stream_of(&found);
    timed_copy(&found.timed, stream, "Memcpy DtoH (Device -> Pageable)", 30 * US, 58 * US, 1);
    find(&found);
    assert_int_equal(found.waits.rows.count, 1);
    check(&found, 0, "Memcpy DtoH (Device -> Pageable)", 1, 40);
    end(&found);
}

/* A copy that returns at once is not a wait, nor does it end meanwhile what was launched by another
 * thread later. */
static void what_is_launched_later_is_not_waited_for(void **state)
{
    (void)state;
    struct found found;
    timed_begin(&found.timed);
    launch(&found, 10, 1);
    synchronise(&found, 20, 50);
    uint32_t thread = BUILD_THREAD(&found.timed.model, .process = found.timed.process, .tid = 43);
    found.timed.calls =
        BUILD_TRACK(&found.timed.model, .kind = SS_TRACK_RANGES, .process = found.timed.process,
                    .thread = thread, .name = "torch");
    launch(&found, 25, 2);
    timed_call(&found.timed, "cudaMemcpyAsync", SS_EVENT_TYPE_launch, 27 * US, 28 * US, 3);
    uint32_t stream = stream_of(&found);
    kernel(&found, stream, "earlier", 15, 40, 1);
    kernel(&found, stream, "later", 41, 49, 2);
    timed_copy(&found.timed, stream, "Memcpy HtoD (Pinned -> Device)", 49 * US, 50 * US, 3);
    find(&found);
    assert_int_equal(found.waits.rows.count, 1);
    check(&found, 0, "earlier", 1, 30);
    end(&found);
}

/* The device's clock may be some microseconds ahead; what ends a millisecond later is not meant,
 * nor what had ended before. */
static void nothing_ended_meanwhile(void **state)
{
    (void)state;
    struct found found;
    timed_begin(&found.timed);
    launch(&found, 10, 1);
    synchronise(&found, 20, 21); /* the kernel has ended */
    launch(&found, 100, 2);
    synchronise(&found, 110, 150); /* it ends 40 us later */
    launch(&found, 300, 3);
    synchronise(&found, 310, 350); /* it ends a millisecond later */
    uint32_t stream = stream_of(&found);
    kernel(&found, stream, "first", 12, 18, 1);
    kernel(&found, stream, "second", 120, 190, 2);
    kernel(&found, stream, "third", 320, 1350, 3);
    find(&found);
    assert_int_equal(found.waits.rows.count, 2);
    check(&found, 0, NULL, 2, 1 + 40);
    check(&found, 1, "second", 1, 40);
    end(&found);
}

/* Two waits for kernels of one name are one row; steps count those within. */
static void equal_waits_are_one_row(void **state)
{
    (void)state;
    struct found found;
    timed_begin(&found.timed);
    for (uint64_t i = 0; i < 6; i++) {
        timed_step(&found.timed, i * 1000 * US, (i + 1) * 1000 * US);
    }
    for (uint64_t i = 0; i < 6; i++) {
        launch(&found, i * 1000 + 100, (int64_t)i + 1);
        synchronise(&found, i * 1000 + 110, i * 1000 + 310);
    }
    uint32_t stream = stream_of(&found);
    for (uint64_t i = 0; i < 6; i++) {
        kernel(&found, stream, "gemm", i * 1000 + 110, i * 1000 + 300, (int64_t)i + 1);
    }
    find(&found);
    assert_int_equal(found.waits.rows.count, 1);
    check(&found, 0, "gemm", 6, 6 * 200);
    const struct ss_device_wait *wait = &found.waits.rows.data[0];
    assert_int_equal(wait->max_ns, 200 * US);
    assert_int_equal(wait->steady_count, found.timed.training.steady);
    assert_int_equal(wait->steady_ns, found.timed.training.steady * 200 * US);
    assert_true(wait->steady_count > 0);
    end(&found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_kernel_is_waited_for),
        cmocka_unit_test(a_copy_alone_is_waited_for),
        cmocka_unit_test(what_is_launched_later_is_not_waited_for),
        cmocka_unit_test(nothing_ended_meanwhile),
        cmocka_unit_test(equal_waits_are_one_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
