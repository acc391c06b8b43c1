/* SPDX-License-Identifier: Apache-2.0 */
/* The part of the disk that a recording leaves free. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace/output.h"

static char path[64];

static int make_file(void **state)
{
    (void)state;
    snprintf(path, sizeof path, "/tmp/stepscope-test-XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    return close(fd);
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(path);
}

static void a_twentieth_of_the_disk_is_the_reserve(void **state)
{
    (void)state;
    struct ss_output output;
    struct ss_error err = {0};
    uint64_t free_bytes, size_bytes;
    assert_int_equal(ss_output_open(path, true, &output, &err), SS_OK);
    assert_true(ss_output_space(&output, &free_bytes, &size_bytes));
    assert_true(free_bytes <= size_bytes);
    assert_true(output.reserve_bytes <= size_bytes / 20 && output.reserve_bytes > 0);
    ss_output_close(&output);
}

static void no_append_takes_the_reserve(void **state)
{
    (void)state;
    struct ss_output output;
    struct ss_error err = {0};
    assert_int_equal(ss_output_open(path, false, &output, &err), SS_OK);
    assert_int_equal(output.reserve_bytes, 0); /* other outputs than recordings have none */
    output.reserve_bytes = UINT64_C(1) << 62;
    assert_int_equal(ss_output_append(&output, "unit", 4, &err), SS_E_NOSPACE);
    assert_non_null(strstr(err.message, "which stepscope keeps free"));
    assert_int_equal(output.length, 0);
    output.reserve_bytes = 1;
    assert_int_equal(ss_output_append(&output, "unit", 4, &err), SS_OK);
    ss_output_close(&output);
}

/* /dev/full and other devices have no space of their own. */
static void a_device_has_no_reserve(void **state)
{
    (void)state;
    struct ss_output output;
    struct ss_error err = {0};
    uint64_t free_bytes, size_bytes;
    if (ss_output_open("/dev/null", true, &output, &err) != SS_OK) {
        skip(); /* as a user who may not change its mode */
    }
    assert_false(ss_output_space(&output, &free_bytes, &size_bytes));
    assert_int_equal(output.reserve_bytes, 0);
    ss_output_close(&output);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_twentieth_of_the_disk_is_the_reserve, make_file,
                                        remove_file),
        cmocka_unit_test_setup_teardown(no_append_takes_the_reserve, make_file, remove_file),
        cmocka_unit_test(a_device_has_no_reserve),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
