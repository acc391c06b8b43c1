/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record/recording/frame_table.h"
#include "record/run/naming.h"
#include "record/run/ranks.h"

static void expect_name(const char *const *program, const char *beginning)
{
    struct ss_strbuf name;
    ss_strbuf_init(&name, 4096);
    ss_name_default((char *const *)program, 42, &name);
    assert_memory_equal(name.data, beginning, strlen(beginning));
    assert_string_equal(name.data + name.length - 3, "-42");
    ss_strbuf_fini(&name);
}

static void default_names_come_from_the_script(void **state)
{
    (void)state;
    expect_name((const char *[]){"python", "-u", "dir/train.py", "--x", NULL}, "train-2");
    expect_name((const char *[]){"/usr/bin/python3.11", "-m", "torch.distributed.run", NULL},
                "torch.distributed.run-2");
    expect_name((const char *[]){"python", "-c", "print()", NULL}, "python-2");
    expect_name((const char *[]){"python", "-W", "ignore", "a b;c.py", NULL}, "a_b_c-2");
    expect_name((const char *[]){"torchrun", "train.py", NULL}, "torchrun-2");
    expect_name(NULL, "attached-2");
}

static void expect_for_ranks(const char *path, const char *folder, const char *file)
{
    char expected[256];
    struct ss_strbuf text;
    ss_strbuf_init(&text, 4096);
    ss_name_append_for_ranks(path, &text);
    snprintf(expected, sizeof expected, "give all ranks one folder, -o %s, or each a file, -o %s",
             folder, file);
    assert_string_equal(text.data, expected);
    ss_strbuf_fini(&text);
}

static void one_path_for_several_ranks(void **state)
{
    (void)state;
    expect_for_ranks("run", "run.stepscope", "run.%r");
    expect_for_ranks("out/x.pftrace", "out/x.stepscope", "out/x.%r.pftrace");
    expect_for_ranks("v1.2/x", "v1.2/x.stepscope", "v1.2/x.%r");
    expect_for_ranks("a/.hidden", "a/.hidden.stepscope", "a/.hidden.%r");
}

/* Of one rank of several, the error that refuses a path says what to give all of them. */
static void the_error_names_what_ranks_need(void **state)
{
    (void)state;
    struct ss_error err;
    ss_fail(&err, SS_E_BUSY, "x.pftrace is being written");
    ss_rank_set_own(0, 1);
    ss_rank_explain_shared_path("x.pftrace", &err);
    assert_string_equal(err.message, "x.pftrace is being written");
    ss_rank_set_own(1, 2);
    ss_rank_explain_shared_path("x.pftrace", &err);
    assert_string_equal(err.message,
                        "x.pftrace is being written by another recording; give all ranks one "
                        "folder, -o x.stepscope, or each a file, -o x.%r.pftrace");
    assert_int_equal(err.status, SS_E_BUSY);
}

static void expect_expansion_of(const struct ss_rank_facts *facts, const char *template,
                                const char *expected)
{
    struct ss_strbuf name;
    struct ss_error err = {0};
    ss_strbuf_init(&name, 4096);
    enum ss_status status = ss_name_expand(template, 42, facts, &name, &err);
    if (expected == NULL) {
        assert_int_equal(status, SS_E_USAGE);
        assert_true(strlen(err.message) > 0);
    } else {
        assert_int_equal(status, SS_OK);
        assert_string_equal(name.data, expected);
    }
    ss_strbuf_fini(&name);
}

static void expect_expansion(const char *template, const char *expected)
{
    struct ss_rank_facts alone = {.launcher = SS_LAUNCHER_JOB};
    expect_expansion_of(&alone, template, expected);
}

static void ranks_expand_where_the_launcher_says_them(void **state)
{
    (void)state;
    static const char srun[] = "SLURM_PROCID=5\0SLURM_STEP_ID=0\0SLURM_STEP_NUM_TASKS=8\0"
                               "SLURM_LOCALID=1\0SLURM_NODEID=1\0SLURM_JOB_ID=77\0"
                               "SLURM_RESTART_COUNT=2";
    static const char mpich[] = "PMI_RANK=5\0PMI_SIZE=8\0MPI_LOCALRANKID=1";
    struct ss_rank_facts facts;
    ss_rank_facts_of_environment(srun, sizeof srun, &facts);
    expect_expansion_of(&facts, "%r-%R-%l-%n-%j-%a.pftrace", "5-8-1-1-77-2.pftrace");
    ss_rank_facts_of_environment(mpich, sizeof mpich, &facts);
    expect_expansion_of(&facts, "%r-%R-%l-%a", "5-8-1-0");
    expect_expansion_of(&facts, "%n", NULL);
    expect_expansion_of(&facts, "%j", NULL);
    expect_expansion("%r-%R-%l-%n-%a", "0-1-0-0-0");
    expect_expansion("%j", NULL);
}

static void launchers_are_known_by_name(void **state)
{
    (void)state;
    static const struct {
        const char *program[4];
        enum ss_launcher launcher;
    } rows[] = {{{"/opt/bin/torchrun", "train.py"}, SS_LAUNCHER_TORCHRUN},
                {{"python3", "-m", "torch.distributed.run"}, SS_LAUNCHER_TORCHRUN},
                {{"python", "/venv/bin/accelerate", "launch"}, SS_LAUNCHER_ACCELERATE},
                {{"srun", "-n2", "hostname"}, SS_LAUNCHER_SLURM},
                {{"python", "train.py", "torchrun"}, SS_LAUNCHER_JOB},
                {{"python"}, SS_LAUNCHER_JOB}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(ss_name_launcher((char *const *)rows[i].program), rows[i].launcher);
    }
    assert_int_equal(ss_name_launcher(NULL), SS_LAUNCHER_JOB);
}

static void templates_expand_or_are_refused(void **state)
{
    (void)state;
    setenv("SS_TEST_RANK", "7", 1);
    unsetenv("SS_TEST_UNSET");
    expect_expansion("out/p%p.pftrace", "out/p42.pftrace");
    expect_expansion("100%%", "100%");
    expect_expansion("r%q{SS_TEST_RANK}.svg", "r7.svg");
    expect_expansion("r%q{SS_TEST_UNSET}.svg", NULL);
    expect_expansion("r%q{", NULL);
    expect_expansion("r%q", NULL);
    expect_expansion("%d", NULL);
    expect_expansion("%", NULL);
}

static void folders_are_created_and_bad_targets_refused(void **state)
{
    (void)state;
    char folder[] = "/tmp/ss-naming-XXXXXX";
    assert_non_null(mkdtemp(folder));
    char path[256];
    struct ss_error err = {0};
    snprintf(path, sizeof path, "%s/a/b c/t.pftrace", folder);
    assert_int_equal(ss_name_check_writable(path, &err), SS_OK);
    assert_int_equal(access(path, F_OK), -1); /* proven, and removed again */
    snprintf(path, sizeof path, "%s/a/", folder);
    assert_int_equal(ss_name_check_writable(path, &err), SS_E_USAGE);
    snprintf(path, sizeof path, "%s/a", folder);
    assert_int_not_equal(ss_name_check_writable(path, &err), SS_OK);
    assert_int_not_equal(ss_name_check_writable("/dev/null", &err), SS_OK);
    assert_int_not_equal(ss_name_check_writable("/proc/nowhere/x", &err), SS_OK);
    assert_int_equal(chdir("/"), 0);
    char inner[256];
    snprintf(inner, sizeof inner, "%s/a/b c", folder);
    rmdir(inner);
    snprintf(inner, sizeof inner, "%s/a", folder);
    rmdir(inner);
    rmdir(folder);
}

static void touch(const char *folder, const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fclose(file);
}

static void check_whole(const char *file, const char *wanted)
{
    char whole[PATH_MAX];
    struct ss_strview found = ss_whole_file(getpid(), ss_strview_of(file), whole);
    assert_true(ss_strview_equal(found, ss_strview_of(wanted)));
}

/* Of a program that was started by a relative path. `folder` has an __init__.py. */
static void check_whole_files(const char *folder)
{
    char before[PATH_MAX], wanted[PATH_MAX];
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(chdir(folder), 0);
    snprintf(wanted, sizeof wanted, "%s/__init__.py", folder);
    check_whole("__init__.py", wanted);
    check_whole("none.py", "none.py");
    check_whole("<string>", "<string>");
    check_whole("/there/train.py", "/there/train.py");
    check_whole("", "");
    assert_int_equal(chdir(before), 0);
}

static void put_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    fclose(file);
}

static bool is_installed(const char *folder, const char *name)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return ss_is_installed_file(getpid(), ss_strview_of(path), strlen(folder) + 1);
}

/* As pip install --target puts packages, beside the user's own code. */
static void packages_outside_of_the_usual_folders(void **state)
{
    (void)state;
    char folder[] = "/tmp/ss-target-XXXXXX", metadata[64], record[80];
    assert_non_null(mkdtemp(folder));
    snprintf(metadata, sizeof metadata, "%s/pkg-1.0.dist-info", folder);
    snprintf(record, sizeof record, "%s/RECORD", metadata);
    assert_false(is_installed(folder, "pkg/nn/functional.py"));
    assert_int_equal(mkdir(metadata, 0755), 0);
    assert_false(is_installed(folder, "pkg/nn/functional.py")); /* no list of files */
    put_file(record, "../bin/pkg,sha256=1,2\npkg/__init__.py,sha256=1,2\nsix.py,sha256=1,2\n");
    assert_true(is_installed(folder, "pkg/nn/functional.py"));
    assert_true(is_installed(folder, "six.py"));
    assert_false(is_installed(folder, "pk/nn.py"));
    assert_false(is_installed(folder, "pkgs/nn.py"));
    assert_false(is_installed(folder, "train.py"));
    assert_false(ss_is_installed_file(getpid(), ss_strview_of("train.py"), 0));
    unlink(record);
    rmdir(metadata);
    rmdir(folder);
}

static void short_names_begin_at_the_package(void **state)
{
    (void)state;
    char folder[] = "/tmp/ss-short-XXXXXX";
    assert_non_null(mkdtemp(folder));
    char path[256], package[256], inner[256];
    snprintf(package, sizeof package, "%s/pkg", folder);
    snprintf(inner, sizeof inner, "%s/pkg/nn", folder);
    mkdir(package, 0755);
    mkdir(inner, 0755);
    touch(package, "__init__.py");
    touch(inner, "__init__.py");
    snprintf(path, sizeof path, "%s/pkg/nn/functional.py", folder);
    assert_string_equal(path + ss_short_file_offset(getpid(), path), "pkg/nn/functional.py");
    snprintf(path, sizeof path, "%s/train.py", folder);
    assert_string_equal(path + ss_short_file_offset(getpid(), path), "train.py");
    assert_int_equal(ss_short_file_offset(getpid(), "<frozen importlib._bootstrap>"), 0);
    assert_int_equal(ss_short_file_offset(getpid(), "train.py"), 0);
    assert_int_equal(ss_short_file_offset(getpid(), ""), 0);
    assert_int_equal(ss_short_file_offset(getpid(), "/"), 1);
    check_whole_files(inner);
    char file[300];
    snprintf(file, sizeof file, "%s/__init__.py", inner);
    unlink(file);
    snprintf(file, sizeof file, "%s/__init__.py", package);
    unlink(file);
    rmdir(inner);
    rmdir(package);
    rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(default_names_come_from_the_script),
        cmocka_unit_test(one_path_for_several_ranks),
        cmocka_unit_test(the_error_names_what_ranks_need),
        cmocka_unit_test(templates_expand_or_are_refused),
        cmocka_unit_test(ranks_expand_where_the_launcher_says_them),
        cmocka_unit_test(launchers_are_known_by_name),
        cmocka_unit_test(folders_are_created_and_bad_targets_refused),
        cmocka_unit_test(short_names_begin_at_the_package),
        cmocka_unit_test(packages_outside_of_the_usual_folders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
