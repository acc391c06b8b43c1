/* SPDX-License-Identifier: Apache-2.0 */
/* How far a host is ahead of its device, computed by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../timed_device.h"
#include "analysis/devices/device_queue.h"

static void check(const struct ss_device_queue *queue, uint64_t begin_ns, uint64_t end_ns,
                  uint64_t sum, uint64_t most)
{
    struct ss_queue_depth depth = ss_device_queue_between(queue, begin_ns, end_ns);
    assert_true(depth.sum == (double)sum);
    assert_int_equal(depth.most, most);
}

/* Launched at 100, 110, 120; begun at 150, 160, 200: one works, then two, then three … */
static void works_are_queued_from_their_call_to_their_begin(void **state)
{
    (void)state;
    struct timed timed;
    const struct ss_device_works *works;
    struct ss_device_queue queue;
    timed_begin(&timed);
    timed_launch(&timed, 100, 105, 1);
    timed_launch(&timed, 110, 115, 2);
    timed_launch(&timed, 120, 125, 3);
    timed_launch(&timed, 300, 305, 4);
    uint32_t stream = timed_stream(&timed, timed_device(&timed, 2), 7);
    timed_kernel(&timed, stream, "before", 40, 140, 99); /* its call is not known */
    timed_kernel(&timed, stream, "gemm", 150, 160, 1);
    timed_kernel(&timed, stream, "gemm", 160, 200, 2);
    timed_kernel(&timed, stream, "gemm", 200, 210, 3);
    timed_kernel(&timed, stream, "gemm", 290, 320, 4); /* clocks that differ */
    timed_load(&timed);
    works = ss_selection_works(&timed.selection);
    ss_device_queue_init(&queue, &timed.model, works, &works->parts.data[0]);
    check(&queue, 0, 1000, 50 + 50 + 80, 3);
    check(&queue, 0, 100, 0, 0);
    check(&queue, 100, 110, 10, 1);
    check(&queue, 105, 125, 5 + 20 + 15, 3);
    check(&queue, 130, 131, 3, 3);
    check(&queue, 155, 170, 2 * 5 + 10, 2);
    check(&queue, 200, 400, 0, 0);
    check(&queue, 130, 130, 0, 0);
    ss_device_queue_fini(&queue);
    timed_end(&timed);
}

/* The three kernels of a graph are queued as one call. */
static void a_graph_queues_all_its_kernels(void **state)
{
    (void)state;
    struct timed timed;
    const struct ss_device_works *works;
    struct ss_device_queue queue;
    timed_begin(&timed);
    timed_call(&timed, "cudaGraphLaunch", SS_EVENT_TYPE_launch, 100, 105, 1);
    uint32_t stream = timed_stream(&timed, timed_device(&timed, 0), 7);
    timed_kernel(&timed, stream, "a", 150, 160, 1);
    timed_kernel(&timed, stream, "b", 150, 170, 1);
    timed_kernel(&timed, stream, "c", 180, 180, 1);
    timed_load(&timed);
    works = ss_selection_works(&timed.selection);
    ss_device_queue_init(&queue, &timed.model, works, &works->parts.data[0]);
    check(&queue, 0, 1000, 50 + 50 + 80, 3);
    check(&queue, 150, 180, 30, 1);
    ss_device_queue_fini(&queue);
    timed_end(&timed);
}

static void nothing_launched_is_nothing_queued(void **state)
{
    (void)state;
    struct timed timed;
    const struct ss_device_works *works;
    struct ss_device_queue queue;
    timed_begin(&timed);
    uint32_t stream = timed_stream(&timed, timed_device(&timed, 0), 7);
    timed_kernel(&timed, stream, "a", 150, 160, TIMED_NONE);
    timed_load(&timed);
    works = ss_selection_works(&timed.selection);
    ss_device_queue_init(&queue, &timed.model, works, &works->parts.data[0]);
    check(&queue, 0, UINT64_MAX, 0, 0);
    ss_device_queue_fini(&queue);
    timed_end(&timed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(works_are_queued_from_their_call_to_their_begin),
        cmocka_unit_test(a_graph_queues_all_its_kernels),
        cmocka_unit_test(nothing_launched_is_nothing_queued),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
