/* SPDX-License-Identifier: Apache-2.0 */
/* The memory that a process may use, from files like those of /proc and of control groups. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
/* cmocka wants the four first ones */
#include <cmocka.h>

#include "platform/memory_limit.h"

static char root[] = "/tmp/ss_limit.XXXXXX";

static void put(const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", root, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void make_folder(const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", root, name);
    assert_int_equal(mkdir(path, 0700), 0);
}

static void the_tightest_limit_counts(void **state)
{
    (void)state;
    char mount[256];
    assert_int_equal(ss_memory_limit_in(root), 0); /* nothing is known */
    put("meminfo", "MemTotal:        8192 kB\nMemFree:  1 kB\nMemAvailable: 1 kB\n");
    assert_int_equal(ss_memory_limit_in(root), 8 << 20);
    make_folder("self");
    make_folder("cg");
    make_folder("cg/job");
    snprintf(mount, sizeof mount, "30 20 0:26 / %s/cg rw - cgroup2 cgroup2 rw\n", root);
    put("self/mountinfo", mount);
    put("self/cgroup", "0::/job\n");
    assert_int_equal(ss_memory_limit_in(root), 8 << 20); /* no limit there */
    put("cg/job/memory.max", "max\n");
    assert_int_equal(ss_memory_limit_in(root), 8 << 20);
    put("cg/job/memory.max", "4194304\n");
    assert_int_equal(ss_memory_limit_in(root), 4 << 20);
    put("cg/memory.max", "2097152\n"); /* of the folder above it */
    assert_int_equal(ss_memory_limit_in(root), 2 << 20);
    put("cg/memory.max", "1000000000\n");
    assert_int_equal(ss_memory_limit_in(root), 4 << 20);
}

static void this_machine_has_memory(void **state)
{
    (void)state;
    assert_true(ss_memory_limit_bytes() > 1 << 20);
}

static int make_root(void **state)
{
    (void)state;
    return mkdtemp(root) == NULL;
}

static int remove_root(void **state)
{
    (void)state;
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", root);
    return system(command); /* NOLINT: a folder of our own */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_tightest_limit_counts),
        cmocka_unit_test(this_machine_has_memory),
    };
    return cmocka_run_group_tests(tests, make_root, remove_root);
}
