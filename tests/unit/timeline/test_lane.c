/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes against the plain answer, which reads every slice. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../../random.h"
#include "base/alloc.h"
#include "timeline/lane.h"

enum { MOST = 3000 };

struct fixture {
    struct ss_model_range ranges[MOST];
    struct ss_lane lane;
};

/* Slices of very different lengths, some of none, some side by side. */
static void fill(struct fixture *fixture, uint32_t count)
{
    uint64_t at = next_random() % 1000;
    uint32_t *slices = ss_alloc((count + 1) * sizeof *slices);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t length = next_random() % (UINT64_C(1) << next_random() % 16);
        at += next_random() % 3 == 0 ? 0 : next_random() % (UINT64_C(1) << next_random() % 12);
        fixture->ranges[i] = (struct ss_model_range){.begin_ns = at, .end_ns = at + length};
        at += length;
        slices[i] = i;
    }
    ss_lane_init(&fixture->lane, fixture->ranges, slices, count);
}

static struct ss_lane_sum plain_sum(const struct fixture *fixture, uint32_t first, uint32_t end)
{
    struct ss_lane_sum sum = {0};
    uint64_t longest_ns = 0;
    for (uint32_t i = first; i < end; i++) {
        uint64_t ns = fixture->ranges[i].end_ns - fixture->ranges[i].begin_ns;
        if (sum.count == 0 || ns > longest_ns) {
            longest_ns = ns;
            sum.longest = i;
        }
        sum.count++;
        sum.busy_ns += ns;
    }
    return sum;
}

static uint64_t plain_busy_ns(const struct fixture *fixture, uint64_t from_ns, uint64_t to_ns)
{
    uint64_t busy_ns = 0;
    for (uint32_t i = 0; i < fixture->lane.count; i++) {
        const struct ss_model_range *range = &fixture->ranges[i];
        uint64_t begin_ns = range->begin_ns > from_ns ? range->begin_ns : from_ns;
        uint64_t end_ns = range->end_ns < to_ns ? range->end_ns : to_ns;
        busy_ns += end_ns > begin_ns ? end_ns - begin_ns : 0;
    }
    return busy_ns;
}

/* One slice after the other: a long one is alone, a short one joins the rectangle before it if that
 * is of short ones of the same bucket. */
static size_t plain_rects(const struct fixture *fixture, uint64_t from_ns, uint64_t to_ns,
                          uint64_t bucket_ns, struct ss_lane_rect *rects)
{
    size_t count = 0, kept = 0;
    bool joins = false;
    from_ns = from_ns / bucket_ns * bucket_ns;
    to_ns = (to_ns + bucket_ns - 1) / bucket_ns * bucket_ns;
    for (uint32_t i = 0; i < fixture->lane.count; i++) {
        const struct ss_model_range *range = &fixture->ranges[i];
        bool is_short = range->end_ns - range->begin_ns < bucket_ns;
        bool is_same =
            count > 0 && rects[count - 1].begin_ns / bucket_ns == range->begin_ns / bucket_ns;
        if (joins && is_short && is_same) {
            rects[count - 1].end_ns = range->end_ns;
            rects[count - 1].sum.count++;
        } else {
            rects[count++] = (struct ss_lane_rect){range->begin_ns, range->end_ns, i, {1, i, 0}};
        }
        joins = is_short;
    }
    for (size_t i = 0; i < count; i++) {
        struct ss_lane_rect rect = rects[i];
        rect.sum = plain_sum(fixture, rect.first, rect.first + rect.sum.count);
        bool is_before = rect.end_ns <= from_ns && rect.begin_ns < from_ns;
        if (!is_before && rect.begin_ns < to_ns) {
            rects[kept++] = rect;
        }
    }
    return kept;
}

static void check_rects(const struct fixture *fixture, uint64_t from_ns, uint64_t to_ns,
                        uint64_t bucket_ns)
{
    static struct ss_lane_rect plain[MOST], rects[MOST];
    size_t expected = plain_rects(fixture, from_ns, to_ns, bucket_ns, plain);
    size_t count = ss_lane_rects(&fixture->lane, from_ns, to_ns, bucket_ns, rects, MOST);
    assert_int_equal(count, expected);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(rects[i].begin_ns, plain[i].begin_ns);
        assert_int_equal(rects[i].end_ns, plain[i].end_ns);
        assert_int_equal(rects[i].first, plain[i].first);
        assert_int_equal(rects[i].sum.count, plain[i].sum.count);
        assert_int_equal(rects[i].sum.longest, plain[i].sum.longest);
        assert_int_equal(rects[i].sum.busy_ns, plain[i].sum.busy_ns);
    }
    if (count > 1) { /* no room for all */
        assert_true(ss_lane_rects(&fixture->lane, from_ns, to_ns, bucket_ns, rects, count - 1) >
                    count - 1);
    }
}

static void test_sums_are_those_of_all_slices(void **state)
{
    struct fixture *fixture = *state;
    for (int round = 0; round < 60; round++) {
        fill(fixture, (uint32_t)(next_random() % (round % 2 == 0 ? 40 : MOST)));
        for (int i = 0; i < 40; i++) {
            uint32_t count = fixture->lane.count;
            uint32_t first = (uint32_t)(next_random() % (count + 1));
            uint32_t end = first + (uint32_t)(next_random() % (count - first + 1));
            struct ss_lane_sum sum = ss_lane_sum(&fixture->lane, first, end);
            struct ss_lane_sum plain = plain_sum(fixture, first, end);
            assert_int_equal(sum.count, plain.count);
            assert_int_equal(sum.longest, plain.longest);
            assert_int_equal(sum.busy_ns, plain.busy_ns);
        }
        ss_lane_fini(&fixture->lane);
    }
}

static void test_rectangles_are_those_of_all_slices(void **state)
{
    struct fixture *fixture = *state;
    for (int round = 0; round < 60; round++) {
        fill(fixture, (uint32_t)(next_random() % (round % 2 == 0 ? 40 : MOST)));
        uint32_t count = fixture->lane.count;
        uint64_t end_ns = count > 0 ? fixture->ranges[count - 1].end_ns + 100 : 100;
        for (int i = 0; i < 20; i++) {
            uint64_t from_ns = next_random() % end_ns;
            uint64_t to_ns = from_ns + 1 + next_random() % end_ns;
            check_rects(fixture, from_ns, to_ns, UINT64_C(1) << next_random() % 24);
            assert_int_equal(ss_lane_busy_ns(&fixture->lane, from_ns, to_ns),
                             plain_busy_ns(fixture, from_ns, to_ns));
        }
        ss_lane_fini(&fixture->lane);
    }
}

static void test_rectangles_stay_while_the_window_moves(void **state)
{
    struct fixture *fixture = *state;
    static struct ss_lane_rect whole[MOST], part[MOST];
    fill(fixture, MOST);
    uint64_t end_ns = fixture->ranges[MOST - 1].end_ns, bucket_ns = 4096;
    size_t all = ss_lane_rects(&fixture->lane, 0, end_ns + 1, bucket_ns, whole, MOST);
    for (uint64_t from_ns = 0; from_ns < end_ns; from_ns += end_ns / 37) {
        size_t count =
            ss_lane_rects(&fixture->lane, from_ns, from_ns + end_ns / 10, bucket_ns, part, MOST);
        size_t at = 0;
        while (count > 0 && at < all && whole[at].first != part[0].first) {
            at++;
        }
        for (size_t i = 0; i < count; i++) {
            assert_int_equal(part[i].first, whole[at + i].first);
            assert_int_equal(part[i].end_ns, whole[at + i].end_ns);
        }
    }
    ss_lane_fini(&fixture->lane);
}

static void test_times_at_the_end_of_the_clock(void **state)
{
    struct fixture *fixture = *state;
    struct ss_lane_rect rects[4];
    uint32_t *slices = ss_alloc(2 * sizeof *slices);
    fixture->ranges[0] = (struct ss_model_range){.begin_ns = 1, .end_ns = UINT64_MAX - 5};
    fixture->ranges[1] = (struct ss_model_range){.begin_ns = UINT64_MAX - 5, .end_ns = UINT64_MAX};
    slices[0] = 0;
    slices[1] = 1;
    ss_lane_init(&fixture->lane, fixture->ranges, slices, 2);
    assert_int_equal(ss_lane_rects(&fixture->lane, 0, UINT64_MAX, 1 << 20, rects, 4), 2);
    assert_int_equal(ss_lane_rects(&fixture->lane, UINT64_MAX - 2, UINT64_MAX, 1, rects, 4), 1);
    ss_lane_fini(&fixture->lane);
}

static void test_a_slice_costs_less_than_five_bytes(void **state)
{
    struct fixture *fixture = *state;
    fill(fixture, MOST);
    assert_true(ss_lane_memory(&fixture->lane) < 5 * (size_t)MOST);
    ss_lane_fini(&fixture->lane);
}

static int set_up(void **state)
{
    *state = ss_alloc_zero(1, sizeof(struct fixture));
    return 0;
}

static int tear_down(void **state)
{
    ss_free(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums_are_those_of_all_slices),
        cmocka_unit_test(test_rectangles_are_those_of_all_slices),
        cmocka_unit_test(test_rectangles_stay_while_the_window_moves),
        cmocka_unit_test(test_times_at_the_end_of_the_clock),
        cmocka_unit_test(test_a_slice_costs_less_than_five_bytes),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
