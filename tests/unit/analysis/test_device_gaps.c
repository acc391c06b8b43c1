/* SPDX-License-Identifier: Apache-2.0 */
/* Idle times of a device and their causes, computed by hand. Times of the host are microseconds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../timed_device.h"
#include "analysis/devices/device_gaps.h"
#include "base/alloc.h"

#define US UINT64_C(1000)

struct found {
    struct timed timed;
    const struct ss_device_works *works;
    struct ss_busy *busy;
    struct ss_device_gaps gaps;
};

static void find(struct found *found)
{
    timed_load(&found->timed);
    found->works = ss_selection_works(&found->timed.selection);
    found->busy = ss_alloc_zero(found->works->parts.count + 1, sizeof *found->busy);
    for (size_t i = 0; i < found->works->parts.count; i++) {
        const struct ss_device_part *part = &found->works->parts.data[i];
        ss_busy_init(&found->busy[i], &found->works->works.data[part->first],
                     part->end - part->first);
    }
    ss_device_gaps_init(&found->gaps, &found->timed.model, found->works, found->busy,
                        &found->timed.training.index.phases);
}

static void end(struct found *found)
{
    for (size_t i = 0; i < found->works->parts.count; i++) {
        ss_busy_fini(&found->busy[i]);
    }
    ss_free(found->busy);
    ss_device_gaps_fini(&found->gaps);
    timed_end(&found->timed);
}

struct expected {
    uint64_t begin_us, end_us;
    enum ss_gap_cause cause;
};

static void check(const struct found *found, const struct expected *expected, size_t count)
{
    assert_int_equal(found->gaps.rows.count, count);
    for (size_t i = 0; i < count; i++) {
        const struct ss_device_gap *gap = &found->gaps.rows.data[i];
        assert_int_equal(gap->begin_ns, expected[i].begin_us * US);
        assert_int_equal(gap->end_ns, expected[i].end_us * US);
        assert_string_equal(ss_gap_cause_name(gap->cause), ss_gap_cause_name(expected[i].cause));
    }
}
#define CHECK(found, ...)                                                                          \
    check(found, (const struct expected[]){__VA_ARGS__},                                           \
          sizeof((const struct expected[]){__VA_ARGS__}) / sizeof(struct expected))

/* A launch at `at`; the call takes a microsecond. */
static void launch(struct found *found, uint64_t at_us, int64_t correlation)
{
    timed_launch(&found->timed, at_us * US, (at_us + 1) * US, correlation);
}

static uint32_t stream_of(struct found *found)
{
    return timed_stream(&found->timed, timed_device(&found->timed, 2), 7);
}

static void kernel(struct found *found, uint32_t stream, uint64_t begin_us, uint64_t end_us,
                   int64_t correlation)
{
    timed_kernel(&found->timed, stream, "gemm", begin_us * US, end_us * US, correlation);
}

/* The second launch is late, the third in time; 20 us are a launch's latency, 40 are not. */
static void a_gap_is_the_hosts_until_the_launch(void **state)
{
    (void)state;
    struct found found;
    timed_begin(&found.timed);
    launch(&found, 10, 1);
    launch(&found, 150, 2);
    launch(&found, 155, 3);
    uint32_t stream = stream_of(&found);
    kernel(&found, stream, 20, 100, 1);
    kernel(&found, stream, 170, 180, 2);
    kernel(&found, stream, 220, 230, 3);
    find(&found);
    CHECK(&found, {10, 20, SS_GAP_LATENCY}, {100, 150, SS_GAP_HOST}, {150, 170, SS_GAP_LATENCY},
          {180, 220, SS_GAP_UNKNOWN});
    assert_int_equal(found.gaps.rows.data[1].work, 1);
    assert_int_equal(found.gaps.rows.data[2].work, 1);
    assert_int_equal(found.gaps.rows.data[3].work, 2);
    end(&found);
}

/* A batch is fetched in the middle of the gap, another one across its start, one behind all work.
 */
static void fetches_are_input(void **state)
{
    (void)state;
    struct found found;
    timed_begin(&found.timed);
    timed_phase(&found.timed, "data", 90 * US, 110 * US);
    timed_phase(&found.timed, "forward", 110 * US, 120 * US);
    timed_phase(&found.timed, "data", 120 * US, 140 * US);
    timed_phase(&found.timed, "data", 600 * US, 700 * US);
    launch(&found, 10, 1);
    launch(&found, 150, 2);
    uint32_t stream = stream_of(&found);
    kernel(&found, stream, 10, 100, 1);
    kernel(&found, stream, 150, 180, 2);
    find(&found);
    CHECK(&found, {100, 110, SS_GAP_INPUT}, {110, 120, SS_GAP_HOST}, {120, 140, SS_GAP_INPUT},
          {140, 150, SS_GAP_HOST}, {180, 600, SS_GAP_HOST}, {600, 700, SS_GAP_INPUT});
    end(&found);
}

/* The thread waits for the first kernel, so that it launches nothing meanwhile. A copy that blocks
 * its call is such a wait, too. */
static void what_waits_for_the_device_lets_it_run_empty(void **state)
{
    (void)state;
    for (int copies = 0; copies < 2; copies++) {
        struct found found;
        timed_begin(&found.timed);
        launch(&found, 10, 1);
        timed_call(&found.timed, copies ? "cudaMemcpyAsync" : "cudaStreamSynchronize",
                   copies ? SS_EVENT_TYPE_launch : SS_EVENT_TYPE_synchronisation, 20 * US, 105 * US,
                   2);
        uint32_t wait = (uint32_t)found.timed.model.ranges.count;
        launch(&found, 150, 3);
        uint32_t stream = stream_of(&found);
        kernel(&found, stream, 10, 90, 1);
        if (copies) {
            timed_copy(&found.timed, stream, "Memcpy DtoH (Device -> Pageable)", 90 * US, 100 * US,
                       2);
        } else {
            kernel(&found, stream, 90, 100, TIMED_NONE);
        }
        kernel(&found, stream, 155, 160, 3);
        find(&found);
        CHECK(&found, {100, 150, SS_GAP_WAIT}, {150, 155, SS_GAP_LATENCY});
        assert_int_equal(found.gaps.rows.data[0].waited, wait);
        assert_int_equal(found.gaps.rows.data[1].waited, 0);
        end(&found);
    }
}

/* Launched long before, behind an event of another stream. */
static void an_event_is_a_dependency(void **state)
{
    (void)state;
    struct found found;
    timed_begin(&found.timed);
    launch(&found, 10, 1);
    timed_call(&found.timed, "cudaStreamWaitEvent", SS_EVENT_TYPE_NONE, 12 * US, 13 * US, 2);
    launch(&found, 15, 3);
    launch(&found, 17, 4); /* no event since the launch before it */
    uint32_t stream = stream_of(&found);
    kernel(&found, stream, 10, 90, 1);
    kernel(&found, stream, 190, 200, 3);
    kernel(&found, stream, 290, 300, 4);
    find(&found);
    CHECK(&found, {90, 190, SS_GAP_DEPENDENCY}, {200, 290, SS_GAP_UNKNOWN});
    end(&found);
}

/* A graph: three kernels of one launch, the first of which waits for the launch. */
static void gaps_between_works_of_one_launch_lie_within_graphs(void **state)
{
    (void)state;
    struct found found;
    timed_begin(&found.timed);
    launch(&found, 10, 1);
    launch(&found, 60, 2);
    uint32_t stream = stream_of(&found);
    kernel(&found, stream, 20, 30, 1);
    kernel(&found, stream, 40, 50, 1);
    kernel(&found, stream, 90, 100, 1);
    kernel(&found, stream, 110, 120, 2);
    find(&found);
    CHECK(&found, {10, 20, SS_GAP_LATENCY}, {30, 40, SS_GAP_GRAPH}, {50, 90, SS_GAP_GRAPH},
          {100, 110, SS_GAP_LATENCY});
    end(&found);
}

static void without_a_launch_the_cause_is_unknown(void **state)
{
    (void)state;
    struct found found;
    timed_begin(&found.timed);
    launch(&found, 10, 1);
    uint32_t stream = stream_of(&found);
    kernel(&found, stream, 10, 90, 1);
    kernel(&found, stream, 100, 120, 99);
    kernel(&found, stream, 130, 130, TIMED_NONE); /* of no length: it ends no gap */
    kernel(&found, stream, 150, 160, TIMED_NONE);
    find(&found);
    CHECK(&found, {90, 100, SS_GAP_UNKNOWN}, {120, 150, SS_GAP_UNKNOWN});
    end(&found);
}

/* Before the first work and behind the last one, while the host has ranges; and where clocks
 * differ, so that a work begins before its call. */
static void the_ends_of_a_recording_are_gaps(void **state)
{
    (void)state;
    struct found found;
    timed_begin(&found.timed);
    timed_call(&found.timed, "aten::empty", SS_EVENT_TYPE_operator, 10 * US, 20 * US, TIMED_NONE);
    launch(&found, 40, 1);
    launch(&found, 75, 2);
    timed_call(&found.timed, "aten::empty", SS_EVENT_TYPE_operator, 80 * US, 200 * US, TIMED_NONE);
    uint32_t stream = stream_of(&found);
    kernel(&found, stream, 50, 60, 1);
    kernel(&found, stream, 70, 90, 2);
    find(&found);
    CHECK(&found, {10, 40, SS_GAP_HOST}, {40, 50, SS_GAP_LATENCY}, {60, 70, SS_GAP_HOST},
          {90, 200, SS_GAP_HOST});
    assert_int_equal(found.gaps.rows.data[3].work, UINT32_MAX);
    end(&found);
}

/* Work that overlaps leaves no gap; another device has gaps of its own. */
static void devices_have_their_own_gaps(void **state)
{
    (void)state;
    struct found found;
    timed_begin(&found.timed);
    launch(&found, 10, 1);
    launch(&found, 11, 2);
    launch(&found, 12, 3);
    launch(&found, 105, 4);
    uint32_t two = timed_device(&found.timed, 2), three = timed_device(&found.timed, 3);
    uint32_t stream = timed_stream(&found.timed, two, 7);
    kernel(&found, stream, 10, 60, 1);
    kernel(&found, stream, 20, 30, 2);
    uint32_t other = timed_stream(&found.timed, two, 8);
    kernel(&found, other, 55, 100, 3);
    uint32_t far = timed_stream(&found.timed, three, 7);
    kernel(&found, far, 110, 120, 4);
    find(&found);
    CHECK(&found, {100, 106, SS_GAP_HOST}, {10, 105, SS_GAP_HOST}, {105, 110, SS_GAP_LATENCY});
    assert_int_equal(found.gaps.rows.data[0].part, 0);
    assert_int_equal(found.gaps.rows.data[1].part, 1);
    end(&found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gap_is_the_hosts_until_the_launch),
        cmocka_unit_test(fetches_are_input),
        cmocka_unit_test(what_waits_for_the_device_lets_it_run_empty),
        cmocka_unit_test(an_event_is_a_dependency),
        cmocka_unit_test(gaps_between_works_of_one_launch_lie_within_graphs),
        cmocka_unit_test(without_a_launch_the_cause_is_unknown),
        cmocka_unit_test(the_ends_of_a_recording_are_gaps),
        cmocka_unit_test(devices_have_their_own_gaps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
