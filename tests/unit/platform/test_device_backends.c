/* SPDX-License-Identifier: Apache-2.0 */
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

#include "platform/device_backends.h"

static char folder[] = "/tmp/stepscope-backends-XXXXXX";

static void put_file(const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fclose(file);
}

static void remove_file(const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    unlink(path);
}

/* Each row says what it records, or why it does not. */
static void test_rows(void **state)
{
    (void)state;
    assert_int_equal(ss_device_backend_count, 3);
    for (size_t i = 0; i < ss_device_backend_count; i++) {
        const struct ss_device_backend *backend = &ss_device_backends[i];
        assert_ptr_equal(ss_device_backend_named(backend->name), backend);
        assert_true(backend->unsupported != NULL || strlen(backend->fix) > 0);
        assert_true(strlen(backend->files) > 0 && backend->driver[0] == '/');
    }
    assert_null(ss_device_backend_named("metal"));
}

static void test_the_newest_library_is_found(void **state)
{
    const struct ss_device_backend *backend = ss_device_backend_named("rocprofiler-sdk");
    char path[4096] = "", list[512];
    (void)state;
    snprintf(list, sizeof list, ":/nowhere::%s:", folder);
    put_file("librocprofiler-sdk.so.0");
    assert_true(ss_device_backend_find(backend, list, path, sizeof path));
    assert_non_null(strstr(path, "backends-"));
    assert_string_equal(strrchr(path, '/'), "/librocprofiler-sdk.so.0");
    put_file("librocprofiler-sdk.so.1");
    assert_true(ss_device_backend_find(backend, list, path, sizeof path));
    assert_string_equal(strrchr(path, '/'), "/librocprofiler-sdk.so.1");
    remove_file("librocprofiler-sdk.so.0");
    remove_file("librocprofiler-sdk.so.1");
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_the_newest_library_is_found),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
