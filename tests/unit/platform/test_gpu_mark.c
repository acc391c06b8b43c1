/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "platform/gpu_mark.h"

static char folder[] = "/tmp/stepscope-mark-XXXXXX";

static int set_up(void **state)
{
    (void)state;
    return mkdtemp(folder) != NULL ? setenv("XDG_CACHE_HOME", folder, 1) : -1;
}

static int tear_down(void **state)
{
    char command[200];
    (void)state;
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    FILE *ran = popen(command, "r"); /* NOLINT(cert-env33-c): a path of this test */
    return ran != NULL ? pclose(ran) : -1;
}

/* A /proc whose driver has this line. */
static void write_driver(const char *line)
{
    char path[300];
    for (const char *part = "/driver\0/driver/nvidia\0"; *part != '\0'; part += strlen(part) + 1) {
        snprintf(path, sizeof path, "%s%s", folder, part);
        mkdir(path, 0700);
    }
    snprintf(path, sizeof path, "%s/driver/nvidia/version", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "%s\n", line);
    fclose(file);
}

static void a_mark_is_of_a_device_a_driver_and_a_cupti(void **state)
{
    (void)state;
    struct ss_error err = {0};
    write_driver(
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  Sun Jul 27 07:14:13 UTC 2025");
    struct ss_gpu_mark mark = {"GPU-0102", 130001, folder};
    char path[4096];
    assert_true(ss_gpu_mark_path(&mark, path, sizeof path));
    assert_non_null(strstr(path, "/stepscope/gpu-GPU-0102-driver-580.65.06-cupti-130001.tested"));
    assert_false(ss_gpu_mark_exists(&mark));
    assert_int_equal(ss_gpu_mark_put(&mark, &err), SS_OK);
    assert_true(ss_gpu_mark_exists(&mark));
    assert_int_equal(ss_gpu_mark_put(&mark, &err), SS_OK); /* again */
    struct ss_gpu_mark other = {"GPU-0103", 130001, folder}, newer = {"GPU-0102", 130101, folder};
    assert_false(ss_gpu_mark_exists(&other));
    assert_false(ss_gpu_mark_exists(&newer));
    write_driver(
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  590.10  Sun Jul 27 07:14:13 UTC 2026");
    assert_false(ss_gpu_mark_exists(&mark));
}

static void names_of_devices_stay_in_the_folder(void **state)
{
    (void)state;
    char path[4096];
    struct ss_gpu_mark mark = {"../../a/b c", 1, "/nonexistent"};
    assert_true(ss_gpu_mark_path(&mark, path, sizeof path));
    assert_non_null(strstr(path, "/stepscope/gpu-.._.._a_b_c-driver-unknown-cupti-1.tested"));
}

static void without_a_folder_there_is_no_mark(void **state)
{
    (void)state;
    struct ss_error err = {0};
    struct ss_gpu_mark mark = {"GPU-0102", 1, "/nonexistent"};
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
    assert_false(ss_gpu_mark_exists(&mark));
    assert_int_equal(ss_gpu_mark_put(&mark, &err), SS_E_NOTFOUND);
    assert_non_null(strstr(err.message, "XDG_CACHE_HOME"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mark_is_of_a_device_a_driver_and_a_cupti),
        cmocka_unit_test(names_of_devices_stay_in_the_folder),
        cmocka_unit_test(without_a_folder_there_is_no_mark),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
