/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "platform/git_commit.h"

#define SHA1 "0123456789abcdef0123456789abcdef01234567"
#define OTHER "89abcdef0123456789abcdef0123456789abcdef"

static char top[64];

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *at)
{
    (void)status;
    (void)kind;
    (void)at;
    return remove(path);
}

static int begin(void **state)
{
    (void)state;
    snprintf(top, sizeof top, "/tmp/stepscope-git-XXXXXX");
    return mkdtemp(top) == NULL;
}

static int end(void **state)
{
    (void)state;
    return nftw(top, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* Makes the folders on its way. */
static void put(const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", top, name);
    for (char *slash = path + strlen(top) + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

/* "": none. */
static void check(const char *folder, const char *wanted)
{
    char path[256], commit[SS_GIT_COMMIT_BYTES] = "";
    snprintf(path, sizeof path, "%s/%s", top, folder);
    bool is_found = ss_git_commit_find(path, commit);
    assert_int_equal(is_found, wanted[0] != '\0');
    assert_string_equal(is_found ? commit : "", wanted);
}

static void branches_and_detached_heads_are_followed_from_below(void **state)
{
    (void)state;
    put("a/deep/er/file", "");
    check("a/deep", "");
    put("a/.git/HEAD", "ref: refs/heads/x/y\n");
    check("a/deep/er", "");
    put("a/.git/packed-refs",
        "# pack-refs with: peeled\n" OTHER " refs/heads/x\n" SHA1 " refs/heads/x/y\n^" OTHER "\n");
    check("a/deep/er", SHA1);
    put("a/.git/refs/heads/x/y", OTHER "\n");
    check("a", OTHER);
    put("a/.git/HEAD", SHA1 SHA1 "\n");
    check("a", "");
    put("a/.git/HEAD", SHA1 "0123456789abcdef01234567\n");
    check("a", SHA1 "0123456789abcdef01234567");
}

static void linked_trees_share_their_branches(void **state)
{
    (void)state;
    put("main/.git/refs/heads/topic", SHA1 "\n");
    put("main/.git/worktrees/linked/HEAD", "ref: refs/heads/topic\n");
    put("main/.git/worktrees/linked/commondir", "../..\n");
    put("linked/.git", "gitdir: ../main/.git/worktrees/linked\n");
    check("linked", SHA1);
    put("module/.git", "gitdir: ../main/.git/modules/module\n");
    put("main/.git/modules/module/HEAD", OTHER "\n");
    check("module", OTHER);
}

static void what_is_no_commit_counts_as_none(void **state)
{
    (void)state;
    static const char *const heads[] = {"",
                                        "\n",
                                        "ref: ",
                                        "ref: refs/../../secret\n",
                                        "ref: /etc/passwd\n",
                                        "no commit",
                                        "012345",
                                        SHA1 "0",
                                        "0123456789ABCDEF0123456789abcdef01234567"};
    put("secret", SHA1 "\n");
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        put("bad/.git/HEAD", heads[i]);
        check("bad", "");
    }
    char longer[9000];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    put("bad/.git/HEAD", longer);
    check("bad", "");
    put("bad/.git/HEAD", "ref: refs/heads/x\n");
    put("bad/.git/packed-refs", longer);
    check("bad", "");
    put("file/.git", "gitdir: nowhere\n");
    check("file", "");
    check("missing", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(branches_and_detached_heads_are_followed_from_below, begin,
                                        end),
        cmocka_unit_test_setup_teardown(linked_trees_share_their_branches, begin, end),
        cmocka_unit_test_setup_teardown(what_is_no_commit_counts_as_none, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
