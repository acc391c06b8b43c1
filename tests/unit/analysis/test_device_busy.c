/* SPDX-License-Identifier: Apache-2.0 */
/* When a device was busy, and with what, against times computed by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analysis/devices/device_busy.h"

#define WORK(begin, end, of)                                                                       \
    (struct ss_device_work)                                                                        \
    {                                                                                              \
        .begin_ns = (begin), .end_ns = (end), .work_class = (of)                                   \
    }

enum { COMPUTE = SS_WORK_COMPUTE, SENDS = SS_WORK_COMMUNICATION, COPY = SS_WORK_COPY };

struct expected {
    uint64_t compute, communication, copy, idle, all_communication, overlap;
};

static void check(const struct ss_busy *busy, uint64_t begin_ns, uint64_t end_ns,
                  struct expected expected)
{
    struct ss_busy_times times = {0};
    ss_busy_add_between(busy, begin_ns, end_ns, &times);
    assert_int_equal(times.class_ns[COMPUTE], expected.compute);
    assert_int_equal(times.class_ns[SENDS], expected.communication);
    assert_int_equal(times.class_ns[COPY], expected.copy);
    assert_int_equal(times.idle_ns, expected.idle);
    assert_int_equal(times.communication_ns, expected.all_communication);
    assert_int_equal(times.overlap_ns, expected.overlap);
    assert_int_equal(ss_busy_sum(&times),
                     expected.compute + expected.communication + expected.copy);
}

static void overlapping_kernels_of_one_stream_count_once(void **state)
{
    (void)state;
    const struct ss_device_work works[] = {WORK(10, 30, COMPUTE), WORK(20, 25, COMPUTE),
                                           WORK(25, 40, COMPUTE), WORK(40, 50, COMPUTE)};
    struct ss_busy busy;
    ss_busy_init(&busy, works, 4);
    assert_int_equal(busy.segments.count, 1); /* the last touches it */
    check(&busy, 0, 100, (struct expected){.compute = 40, .idle = 60});
    check(&busy, 15, 45, (struct expected){.compute = 30});
    ss_busy_fini(&busy);
}

/* compute [10, 20), communication [15, 30), copy [25, 40), copy [60, 70) under compute [55, 65) */
static const struct ss_device_work mixed[] = {WORK(10, 20, COMPUTE), WORK(15, 30, SENDS),
                                              WORK(25, 40, COPY), WORK(55, 65, COMPUTE),
                                              WORK(60, 70, COPY)};
enum { MIXED = sizeof mixed / sizeof *mixed };

static void what_hides_behind_other_work_is_not_exposed(void **state)
{
    (void)state;
    struct ss_busy busy;
    ss_busy_init(&busy, mixed, MIXED);
    check(&busy, 0, 100,
          (struct expected){.compute = 20,
                            .communication = 10,
                            .copy = 10 + 5,
                            .idle = 55,
                            .all_communication = 15,
                            .overlap = 5});
    check(
        &busy, 18, 28,
        (struct expected){.compute = 2, .communication = 8, .all_communication = 10, .overlap = 2});
    check(&busy, 28, 35, (struct expected){.communication = 2, .copy = 5, .all_communication = 2});
    check(&busy, 40, 55, (struct expected){.idle = 15});
    check(&busy, 70, 71, (struct expected){.idle = 1});
    ss_busy_fini(&busy);
}

/* Of each interval, against a picture of each nanosecond. */
static void times_add_up_to_any_interval(void **state)
{
    (void)state;
    enum { END = 80 };
    struct ss_busy busy;
    ss_busy_init(&busy, mixed, MIXED);
    for (uint64_t begin = 0; begin < END; begin++) {
        struct expected sum = {0};
        for (uint64_t end = begin + 1; end <= END; end++) {
            uint64_t at = end - 1;
            bool computes = false, sends = false, copies = false;
            for (size_t i = 0; i < MIXED; i++) {
                bool runs = mixed[i].begin_ns <= at && at < mixed[i].end_ns;
                computes = computes || (runs && mixed[i].work_class == COMPUTE);
                sends = sends || (runs && mixed[i].work_class == SENDS);
                copies = copies || (runs && mixed[i].work_class == COPY);
            }
            sum.compute += computes;
            sum.communication += !computes && sends;
            sum.copy += !computes && !sends && copies;
            sum.idle += !computes && !sends && !copies;
            sum.all_communication += sends;
            sum.overlap += sends && computes;
            check(&busy, begin, end, sum);
        }
    }
    ss_busy_fini(&busy);
}

static void work_without_length_takes_no_time(void **state)
{
    (void)state;
    const struct ss_device_work works[] = {WORK(10, 10, SENDS), WORK(15, 25, COMPUTE),
                                           WORK(20, 20, COPY), WORK(30, 30, COMPUTE)};
    struct ss_busy busy;
    ss_busy_init(&busy, works, 4);
    assert_int_equal(busy.segments.count, 1);
    check(&busy, 0, 40, (struct expected){.compute = 10, .idle = 30});
    check(&busy, 20, 20, (struct expected){0});
    check(&busy, 20, 10, (struct expected){0});
    ss_busy_fini(&busy);
    ss_busy_init(&busy, works, 1);
    assert_int_equal(busy.segments.count, 0);
    check(&busy, 0, 40, (struct expected){.idle = 40});
    ss_busy_fini(&busy);
    ss_busy_init(&busy, NULL, 0);
    check(&busy, 0, 40, (struct expected){.idle = 40});
    ss_busy_fini(&busy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(overlapping_kernels_of_one_stream_count_once),
        cmocka_unit_test(what_hides_behind_other_work_is_not_exposed),
        cmocka_unit_test(times_add_up_to_any_interval),
        cmocka_unit_test(work_without_length_takes_no_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
