/* SPDX-License-Identifier: Apache-2.0 */
/* What an input may cost; what is charged by each importer: tests/recorded/test_bombs.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
/* cmocka wants the four first ones */
#include <cmocka.h>

#include "base/alloc.h"
#include "model/files/input_budget.h"

#define MIB ((size_t)1 << 20)

static struct ss_input_budget budget;
static struct ss_error err;

/* A file of `stored` bytes and a hole. */
static void init_of_file(size_t stored, size_t hole)
{
    char path[] = "/tmp/ss_budget.XXXXXX";
    int fd = mkstemp(path);
    char *bytes = ss_alloc_zero(1, stored + 1);
    memset(bytes, 'x', stored);
    assert_true(fd >= 0 && write(fd, bytes, stored) == (ssize_t)stored);
    assert_int_equal(ftruncate(fd, (off_t)(stored + hole)), 0);
    assert_int_equal(lseek(fd, 7, SEEK_SET), 7);
    ss_input_budget_init(&budget, "a.json", fd);
    assert_int_equal(lseek(fd, 0, SEEK_CUR), 7); /* where the reader goes on */
    close(fd);
    unlink(path);
    ss_free(bytes);
    err = (struct ss_error){0};
}

static void large_blocks_are_counted(void **state)
{
    (void)state;
    int64_t before = ss_alloc_thread_bytes();
    int64_t all = ss_alloc_process_bytes();
    void *small = ss_alloc(1000);
    assert_int_equal(ss_alloc_thread_bytes(), before);
    char *large = ss_alloc(MIB);
    assert_in_range(ss_alloc_thread_bytes() - before, MIB, MIB + 65536);
    large = ss_realloc(large, 3, MIB);
    assert_in_range(ss_alloc_thread_bytes() - before, 3 * MIB, 3 * MIB + 65536);
    assert_in_range(ss_alloc_process_bytes() - all, 3 * MIB, 3 * MIB + 65536);
    large = ss_realloc(large, 1, 100);
    assert_int_equal(ss_alloc_thread_bytes(), before);
    ss_free(large);
    large = ss_alloc_zero(4, MIB);
    ss_free(large);
    ss_free(small);
    ss_free(NULL);
    assert_int_equal(ss_alloc_thread_bytes(), before);
    assert_int_equal(ss_alloc_process_bytes(), all);
}

static void memory_is_limited_by_the_size_of_the_file(void **state)
{
    (void)state;
    init_of_file(MIB, 64 * MIB); /* of which the hole is nothing */
    void *most = ss_alloc(383 * MIB);
    assert_int_equal(ss_input_budget_check(&budget, &err), SS_OK);
    void *more = ss_alloc(2 * MIB);
    assert_int_equal(ss_input_budget_check(&budget, &err), SS_E_LIMIT);
    assert_string_equal(err.message,
                        "a.json has 1048576 bytes, but needs more than 384 MiB of memory: its "
                        "content is not a recording's; --max-memory SIZE allows more");
    ss_free(most);
    ss_free(more);
    err = (struct ss_error){0};
    assert_int_equal(ss_input_budget_read(&budget, 1, &err), SS_E_LIMIT); /* for good */
    assert_non_null(strstr(err.message, "384 MiB"));
}

static void the_limit_of_the_user_replaces_it(void **state)
{
    (void)state;
    init_of_file(10, 0);
    budget.is_requested = true;
    budget.most_total_bytes = (uint64_t)ss_alloc_process_bytes() + 500 * MIB;
    void *most = ss_alloc(499 * MIB);
    assert_int_equal(ss_input_budget_check(&budget, &err), SS_OK);
    void *more = ss_alloc(2 * MIB);
    assert_int_equal(ss_input_budget_check(&budget, &err), SS_E_LIMIT);
    assert_non_null(strstr(err.message, "MiB of memory (--max-memory)"));
    ss_free(most);
    ss_free(more);
}

static void reading_is_limited_by_what_the_file_stores(void **state)
{
    (void)state;
    enum { SAFE_READS = 1024 + 200 };
    init_of_file(MIB, 0);
    for (int i = 0; i < SAFE_READS; i++) {
        assert_int_equal(ss_input_budget_read(&budget, MIB, &err), SS_OK);
    }
    assert_int_equal(ss_input_budget_read(&budget, 1, &err), SS_E_LIMIT);
    assert_non_null(strstr(err.message, "stores 1048576 bytes, but stands for more than 1224 MiB"));
    init_of_file(MIB, 1024 * MIB); /* what lies in a hole is not content */
    for (int i = 0; i < 64 + 200; i++) {
        assert_int_equal(ss_input_budget_read(&budget, MIB, &err), SS_OK);
    }
    assert_int_equal(ss_input_budget_read(&budget, 1, &err), SS_E_LIMIT);
    ss_input_budget_init(&budget, "pipe", -1); /* which has no size */
    for (int i = 0; i < 2 * SAFE_READS; i++) {
        assert_int_equal(ss_input_budget_read(&budget, MIB, &err), SS_OK);
    }
}

static void a_row_takes_a_byte(void **state)
{
    (void)state;
    init_of_file(10, 0);
    assert_int_equal(ss_input_budget_read(&budget, 10, &err), SS_OK);
    assert_int_equal(ss_input_budget_rows(&budget, 9, &err), SS_OK);
    assert_int_equal(ss_input_budget_rows(&budget, 1, &err), SS_OK);
    assert_int_equal(ss_input_budget_rows(&budget, 1, &err), SS_E_LIMIT);
    assert_non_null(strstr(err.message, "its 10 bytes name the same values again and again"));
}

static void without_a_budget_nothing_is_limited(void **state)
{
    (void)state;
    assert_int_equal(ss_input_budget_check(NULL, &err), SS_OK);
    assert_int_equal(ss_input_budget_read(NULL, SIZE_MAX, &err), SS_OK);
    assert_int_equal(ss_input_budget_rows(NULL, UINT64_MAX, &err), SS_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(large_blocks_are_counted),
        cmocka_unit_test(memory_is_limited_by_the_size_of_the_file),
        cmocka_unit_test(the_limit_of_the_user_replaces_it),
        cmocka_unit_test(reading_is_limited_by_what_the_file_stores),
        cmocka_unit_test(a_row_takes_a_byte),
        cmocka_unit_test(without_a_budget_nothing_is_limited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
