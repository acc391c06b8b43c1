/* SPDX-License-Identifier: Apache-2.0 */
#include "base/parallel.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { MOST = 1000 };

struct calls {
    unsigned times[MOST];
    size_t order[MOST], count;
};

static void count_call(void *context, size_t index)
{
    struct calls *calls = context;
    __atomic_fetch_add(&calls->times[index], 1, __ATOMIC_RELAXED);
}

static void test_each_index_once(void **state)
{
    static const unsigned threads[] = {0, 1, 2, 7, 5000};
    static const size_t counts[] = {0, 1, 3, MOST};
    (void)state;
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
        for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
            struct calls calls = {0};
            ss_parallel_run(threads[i], counts[k], count_call, &calls);
            for (size_t index = 0; index < MOST; index++) {
                assert_int_equal(calls.times[index], index < counts[k]);
            }
        }
    }
}

static void note_order(void *context, size_t index)
{
    struct calls *calls = context;
    calls->order[calls->count++] = index;
}

static void test_one_thread_keeps_the_order(void **state)
{
    struct calls calls = {0};
    (void)state;
    ss_parallel_run(1, 9, note_order, &calls);
    assert_int_equal(calls.count, 9);
    for (size_t i = 0; i < 9; i++) {
        assert_int_equal(calls.order[i], i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_index_once),
        cmocka_unit_test(test_one_thread_keeps_the_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
