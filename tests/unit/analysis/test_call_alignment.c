/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/table/call_alignment.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { MOST = 64, REDUCE = 1, GATHER = 2, US = 1000, APART_US = 1000, FAR_S = 86400 };

static struct ss_aligned_call a[MOST], b[MOST];
static size_t partners[MOST];

/* As many calls, a millisecond apart; their ends differ by up to 40 us, as those of ranks do. */
static void fill(struct ss_aligned_call *calls, size_t count, uint64_t begin_us, unsigned seed)
{
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1103515245 + 12345;
        calls[i].end_ns = (begin_us + i * APART_US + seed / 65536 % 40) * US;
        calls[i].kind = i % 5 == 4 ? GATHER : REDUCE;
    }
}

static void drop(struct ss_aligned_call *calls, size_t count, size_t at)
{
    for (size_t i = at; i + 1 < count; i++) {
        calls[i] = calls[i + 1];
    }
}

static void expect_pair(size_t j, size_t i)
{
    assert_int_equal(partners[j], i);
}

static void as_many_calls_keep_their_order(void **state)
{
    (void)state;
    fill(a, 20, 5000, 1);
    fill(b, 20, 5000 + 700, 2); /* another clock, by most of a distance */
    ss_align_calls(a, 20, b, 20, partners);
    for (size_t i = 0; i < 20; i++) {
        expect_pair(i, i);
    }
}

static void a_lost_call_shifts_no_others(void **state)
{
    (void)state;
    for (size_t lost = 0; lost < 20; lost++) {
        fill(a, 20, 5000, 1);
        fill(b, 20, 5000 + 100, 2);
        drop(b, 20, lost);
        ss_align_calls(a, 20, b, 19, partners);
        for (size_t j = 0; j < 19; j++) {
            expect_pair(j, j < lost ? j : j + 1);
        }
        ss_align_calls(b, 19, a, 20, partners); /* the longer second */
        for (size_t i = 0; i < 20; i++) {
            expect_pair(i, i < lost ? i : i == lost ? SIZE_MAX : i - 1);
        }
    }
}

/* As many calls on both, but not the same ones. */
static void each_has_lost_another_call(void **state)
{
    (void)state;
    fill(a, 30, 5000, 1);
    fill(b, 30, 5000 + 50, 2);
    for (size_t i = 0; i < 30; i++) {
        a[i].kind = b[i].kind = REDUCE;
    }
    drop(a, 30, 3);
    drop(b, 30, 26);
    ss_align_calls(a, 29, b, 29, partners);
    for (size_t j = 0; j < 29; j++) {
        size_t at = j < 26 ? j : j + 1; /* its place among the 30 */
        expect_pair(j, at < 3 ? at : at == 3 ? SIZE_MAX : at - 1);
    }
}

static void clocks_may_differ_by_any_time(void **state)
{
    (void)state;
    fill(a, 20, 5000, 1);
    fill(b, 20, UINT64_C(1000000) * FAR_S, 2);
    drop(b, 20, 19); /* the last is missing: what is there fits in order */
    ss_align_calls(a, 20, b, 19, partners);
    for (size_t j = 0; j < 19; j++) {
        expect_pair(j, j);
    }
}

static void calls_in_another_order_are_of_another_program(void **state)
{
    (void)state;
    a[0] = (struct ss_aligned_call){21 * US, GATHER};
    a[1] = (struct ss_aligned_call){51 * US, REDUCE};
    b[0] = (struct ss_aligned_call){21 * US, REDUCE};
    b[1] = (struct ss_aligned_call){51 * US, GATHER};
    ss_align_calls(a, 2, b, 2, partners);
    expect_pair(0, SIZE_MAX);
    expect_pair(1, SIZE_MAX);
}

static void single_calls_and_none(void **state)
{
    (void)state;
    fill(a, 1, 5000, 1);
    fill(b, 1, 9000, 2);
    ss_align_calls(a, 1, b, 1, partners);
    expect_pair(0, 0);
    ss_align_calls(a, 1, b, 0, partners);
    partners[0] = 7;
    ss_align_calls(a, 0, b, 1, partners);
    expect_pair(0, SIZE_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_many_calls_keep_their_order),
        cmocka_unit_test(a_lost_call_shifts_no_others),
        cmocka_unit_test(each_has_lost_another_call),
        cmocka_unit_test(clocks_may_differ_by_any_time),
        cmocka_unit_test(calls_in_another_order_are_of_another_program),
        cmocka_unit_test(single_calls_and_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
