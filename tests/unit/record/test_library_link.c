/* SPDX-License-Identifier: Apache-2.0 */
#include "record/run/library_link.h"

#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define TEMPLATE "/tmp/stepscope-link-XXXXXX"

static char root[sizeof TEMPLATE], rings[64], folder[64], library[128];

static int enter(void **state)
{
    (void)state;
    snprintf(root, sizeof root, "%s", TEMPLATE);
    assert_non_null(mkdtemp(root));
    snprintf(rings, sizeof rings, "%s/r1.2.0", root);
    snprintf(folder, sizeof folder, "%s/a b", root);
    snprintf(library, sizeof library, "%s/preload.so", folder);
    assert_int_equal(mkdir(folder, 0700), 0);
    close(open(library, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    return 0;
}

static int leave(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", root);
    return system(command); /* a folder of this test */
}

static void expect_linked(const char *path)
{
    char resolved[PATH_MAX];
    assert_null(strpbrk(path, " :"));
    assert_int_equal(strncmp(path, root, strlen(root)), 0);
    assert_non_null(realpath(path, resolved));
    assert_string_equal(resolved, library);
}

static void test_a_path_without_separators_stays(void **state)
{
    (void)state;
    char path[] = "/usr/libexec/stepscope/preload.so";
    assert_true(ss_library_link(rings, " :", path, sizeof path));
    assert_string_equal(path, "/usr/libexec/stepscope/preload.so");
    snprintf(path, sizeof path, "/a b/x");
    assert_true(ss_library_link(rings, ":", path, sizeof path));
    assert_string_equal(path, "/a b/x");
}

static void test_a_path_with_separators_gets_one_link(void **state)
{
    (void)state;
    char first[PATH_MAX], second[PATH_MAX];
    snprintf(first, sizeof first, "%s", library);
    snprintf(second, sizeof second, "%s", library);
    assert_true(ss_library_link(rings, " :", first, sizeof first));
    expect_linked(first);
    assert_true(ss_library_link(rings, " :", second, sizeof second));
    assert_string_equal(first, second);
}

/* The folder of another version was at this place before. */
static void test_a_link_that_leads_elsewhere_is_made_anew(void **state)
{
    (void)state;
    char path[PATH_MAX], link[PATH_MAX];
    snprintf(path, sizeof path, "%s", library);
    assert_true(ss_library_link(rings, " :", path, sizeof path));
    snprintf(link, sizeof link, "%.*s", (int)(strrchr(path, '/') - path), path);
    assert_int_equal(unlink(link), 0);
    assert_int_equal(symlink("/nowhere", link), 0);
    snprintf(path, sizeof path, "%s", library);
    assert_true(ss_library_link(rings, " :", path, sizeof path));
    expect_linked(path);
}

static void test_no_link_where_none_helps(void **state)
{
    (void)state;
    char path[PATH_MAX], before[PATH_MAX];
    snprintf(path, sizeof path, "%s", library);
    snprintf(before, sizeof before, "%s", library);
    char beside[128];
    snprintf(beside, sizeof beside, "%s/r1.2.0", folder); /* its own path has a space */
    assert_false(ss_library_link(beside, " :", path, sizeof path));
    assert_string_equal(path, before);
    assert_false(ss_library_link("/no-such-folder/r1.2.0", " :", path, sizeof path));
    assert_false(ss_library_link("", " :", path, sizeof path));
    assert_false(ss_library_link(rings, " :", path, 20));
    assert_string_equal(path, before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_path_without_separators_stays, enter, leave),
        cmocka_unit_test_setup_teardown(test_a_path_with_separators_gets_one_link, enter, leave),
        cmocka_unit_test_setup_teardown(test_a_link_that_leads_elsewhere_is_made_anew, enter,
                                        leave),
        cmocka_unit_test_setup_teardown(test_no_link_where_none_helps, enter, leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
