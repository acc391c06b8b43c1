/* SPDX-License-Identifier: Apache-2.0 */
/* Of which bucket an all-reduce is, by order and size. The file is the library's, which exports
 * none of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../../src/inject/torch/torch_buckets.c" // NOLINT(bugprone-suspicious-include): see above

/* What the functions of the hooks need: not called here. */
struct ss_python_api ss_python;

bool ss_torch_has_arguments(ptrdiff_t count, ptrdiff_t wanted)
{
    return count == wanted;
}

bool ss_torch_add_methods(ss_python_object *functions, struct ss_python_method *added, size_t count)
{
    (void)functions;
    (void)added;
    return count > 0;
}

enum { GROUP = 3, OTHER_GROUP = 4 };

/* Its buckets have the names `name`, `name` + 1, …; sizes end with 0. */
static struct reducer *make(uint32_t group, uint32_t name, const int64_t *sizes)
{
    struct reducer *reducer = &reducers[reducer_count++];
    *reducer = (struct reducer){.group = group};
    for (size_t i = 0; sizes[i] != 0; i++) {
        assert_true(add(
            reducer, (struct ss_torch_bucket){.name = name + (uint32_t)i, .elements = sizes[i]}));
    }
    return reducer;
}

static int forget_all(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < reducer_count; i++) {
        drop(&reducers[i]);
    }
    reducer_count = 0;
    return 0;
}

/* 0: unknown */
static uint32_t next(uint32_t group, int64_t elements)
{
    struct ss_torch_bucket bucket = {.name = 0};
    return ss_torch_bucket_next(group, elements, &bucket) ? bucket.name : 0;
}

static void test_buckets_come_in_their_order(void **state)
{
    (void)state;
    struct reducer *reducer = make(GROUP, 10, (const int64_t[]){5, 7, 7, 0});
    assert_int_equal(next(GROUP, 5), 0); /* no backward has begun */
    for (int i = 0; i < 2; i++) {
        begin(reducer);
        assert_int_equal(next(OTHER_GROUP, 5), 0);
        assert_int_equal(next(GROUP, 5), 10);
        assert_int_equal(next(GROUP, 6), 0); /* what the program's own library reduces */
        assert_int_equal(next(GROUP, 7), 11);
        assert_int_equal(next(GROUP, 7), 12);
        assert_int_equal(next(GROUP, 7), 0);
    }
}

static void test_threads_may_begin_in_another_order(void **state)
{
    (void)state;
    begin(make(GROUP, 10, (const int64_t[]){5, 7, 9, 0}));
    assert_int_equal(next(GROUP, 7), 11);
    assert_int_equal(next(GROUP, 5), 10);
    assert_int_equal(next(GROUP, 9), 12);
}

static void test_without_sizes_the_order_counts(void **state)
{
    (void)state;
    begin(make(GROUP, 10, (const int64_t[]){5, 7, 0}));
    assert_int_equal(next(GROUP, -1), 10);
    assert_int_equal(next(GROUP, -1), 11);
    assert_int_equal(next(GROUP, -1), 0);
}

static void test_a_backward_that_did_not_come_is_forgotten(void **state)
{
    (void)state;
    struct reducer *reducer = make(GROUP, 10, (const int64_t[]){5, 7, 0});
    begin(reducer);
    assert_int_equal(next(GROUP, 5), 10);
    begin(reducer);
    assert_int_equal(next(GROUP, 5), 10);
}

static void test_two_reducers_are_distinguished_by_sizes(void **state)
{
    (void)state;
    struct reducer *one = make(GROUP, 10, (const int64_t[]){5, 7, 0});
    struct reducer *other = make(GROUP, 20, (const int64_t[]){6, 7, 0});
    begin(one);
    begin(other);
    assert_int_equal(next(GROUP, 6), 20);
    assert_int_equal(next(GROUP, 5), 10);
    assert_int_equal(next(GROUP, 7), 0); /* of either: then nothing is certain */
    assert_int_equal(next(GROUP, 7), 0);
    begin(one);
    begin(other);
    assert_int_equal(next(GROUP, 5), 10);
    assert_int_equal(next(GROUP, 7), 11); /* of the one that is under way */
}

static void test_unknown_buckets_make_all_uncertain(void **state)
{
    (void)state;
    struct reducer *one = make(GROUP, 10, (const int64_t[]){5, 0});
    struct reducer *unknown = make(GROUP, 20, (const int64_t[]){0});
    begin(unknown);
    begin(one);
    assert_int_equal(next(GROUP, 5), 0);
    assert_true(add(unknown, (struct ss_torch_bucket){.name = 20, .elements = 6}));
    begin(unknown);
    begin(one);
    assert_int_equal(next(GROUP, 6), 20);
    assert_int_equal(next(GROUP, 5), 10);
}

static void test_buckets_are_reused(void **state)
{
    (void)state;
    int64_t sizes[101] = {0};
    for (int i = 0; i < 100; i++) {
        sizes[i] = i + 1;
    }
    struct reducer *reducer = make(GROUP, 1, sizes);
    uint32_t before = bucket_count;
    for (int i = 0; i < 1000; i++) {
        clear(reducer);
        for (size_t k = 0; k < 100; k++) {
            assert_true(add(reducer, (struct ss_torch_bucket){.name = 1, .elements = 1}));
        }
    }
    assert_int_equal(bucket_count, before);
}

/* A reducer that does not fit has no buckets, and a later one does. */
static void test_too_many_buckets(void **state)
{
    (void)state;
    struct reducer *reducer = make(GROUP, 1, (const int64_t[]){0});
    size_t added = 0;
    while (add(reducer, (struct ss_torch_bucket){.name = 1, .elements = 1})) {
        added++;
    }
    assert_int_equal(added, MOST_BUCKETS);
    begin(reducer);
    assert_int_equal(next(GROUP, 1), 0);
    begin(make(OTHER_GROUP, 7, (const int64_t[]){5, 0}));
    assert_int_equal(next(OTHER_GROUP, 5), 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_buckets_come_in_their_order, forget_all),
        cmocka_unit_test_teardown(test_threads_may_begin_in_another_order, forget_all),
        cmocka_unit_test_teardown(test_without_sizes_the_order_counts, forget_all),
        cmocka_unit_test_teardown(test_a_backward_that_did_not_come_is_forgotten, forget_all),
        cmocka_unit_test_teardown(test_two_reducers_are_distinguished_by_sizes, forget_all),
        cmocka_unit_test_teardown(test_unknown_buckets_make_all_uncertain, forget_all),
        cmocka_unit_test_teardown(test_buckets_are_reused, forget_all),
        cmocka_unit_test_teardown(test_too_many_buckets, forget_all)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
