/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record/run/retained_files.h"
#include "record/run/window_name.h"

static struct ss_window_name_values values(void)
{
    struct ss_window_name_values all = ss_window_name_unknown();
    all.run_name = "run";
    all.rank = 3;
    all.epoch = 1;
    all.batch = 120;
    all.batch_in_epoch = 20;
    all.last_batch = 124;
    all.window = 4;
    all.total_wct = 12.3456;
    return all;
}

static void expect(const char *template, const char *name)
{
    struct ss_window_name_values all = values();
    struct ss_error err = {0};
    struct ss_strbuf out;
    ss_strbuf_init(&out, 4096);
    assert_int_equal(ss_window_name_expand(template, &all, &out, &err), SS_OK);
    assert_string_equal(out.data, name);
    ss_strbuf_fini(&out);
}

static void variables_are_filled_in(void **state)
{
    (void)state;
    expect("ep{epoch}-ba{batch}-rank{rank}.pftrace", "ep1-ba120-rank3.pftrace");
    expect("{run_name}/traces/w{window:04}.pftrace", "run/traces/w0004.pftrace");
    expect("{rank:06d}-{total_wct}", "000003-12.346");
    expect("{batch_in_epoch:01}", "20");
    expect("ep{epoch}-ba{last_batch}", "ep1-ba124");
    assert_true(ss_window_name_is_late("ep{epoch}-ba{last_batch:04}"));
    assert_false(ss_window_name_is_late("last_batch-{batch}-{{last_step}}"));
    expect("{{{epoch}}}", "{1}");
    expect("plain", "plain");
    expect("", "");
}

static void text_does_not_lead_away(void **state)
{
    (void)state;
    static const char *const texts[][2] = {
        {"a/b", "x/a_b"},       {"..", "x/__"},   {".", "x/_"}, {"", "x/_"},
        {"a\nb\177", "x/a_b_"}, {"..a", "x/..a"}, {"é", "x/é"}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct ss_window_name_values all = values();
        struct ss_strbuf out;
        ss_strbuf_init(&out, 4096);
        all.run_name = texts[i][0];
        assert_int_equal(ss_window_name_expand("x/{run_name}", &all, &out, NULL), SS_OK);
        assert_string_equal(out.data, texts[i][1]);
        ss_strbuf_fini(&out);
    }
}

static void refuse(const char *template, const char *part)
{
    struct ss_window_name_values all = values();
    struct ss_error err = {0};
    struct ss_strbuf out;
    ss_strbuf_init(&out, 64);
    assert_int_equal(ss_window_name_expand(template, &all, &out, &err), SS_E_USAGE);
    if (strstr(err.message, part) == NULL) {
        fail_msg("\"%s\": \"%s\" lacks \"%s\"", template, err.message, part);
    }
    ss_strbuf_fini(&out);
}

static void mistakes_are_refused(void **state)
{
    (void)state;
    refuse("{epok}", "{epok} in the name is not known; there are run_name, rank,");
    refuse("{}", "{} in the name is not known");
    refuse("{epoch", "a { in the name has no }");
    refuse("{epoch{rank}}", "a { in the name has no }");
    refuse("epoch}", "a } in the name has no {");
    refuse("{epoch:}", "may be filled with zeros");
    refuse("{epoch:4}", "may be filled with zeros");
    refuse("{epoch:0}", "may be filled with zeros");
    refuse("{epoch:00}", "may be filled with zeros");
    refuse("{epoch:0999999999999999999999}", "may be filled with zeros");
    refuse("{epoch:0x4}", "may be filled with zeros");
    refuse("{run_name:04}", "may be filled with zeros");
    refuse("{sample}", "is unknown in this recording");
    refuse("{host}", "is unknown in this recording");
    refuse("{epoch_wct}", "is unknown in this recording");
    refuse("0123456789012345678901234567890123456789012345678901234567890123456789", "too long");
}

static void names_of_many_windows_differ(void **state)
{
    (void)state;
    struct ss_error err = {0};
    assert_int_equal(ss_window_name_check("rank{rank}.pftrace", false, &err), SS_OK);
    assert_int_equal(ss_window_name_check("rank{rank}.pftrace", true, &err), SS_E_USAGE);
    assert_non_null(strstr(err.message, "is the same for every window"));
    assert_int_equal(ss_window_name_check("rank{rank}-{batch}.pftrace", true, &err), SS_OK);
    assert_int_equal(ss_window_name_check("{window", false, &err), SS_E_USAGE);
    assert_true(ss_window_name_is_template("a{{{rank}"));
    assert_int_equal(ss_window_name_fixed("a{{b}}/{{{rank}"), 9);
    assert_false(ss_window_name_is_template("a{{b}}.pftrace"));
    assert_int_equal(ss_window_name_fixed("a{{"), 3);
    assert_true(ss_window_name_is_template("}"));
    assert_false(ss_window_name_is_template("run.pftrace"));
}

/* --- files ----------------------------------------------------------------------------------- */

static char folder[] = "/tmp/ss-kept-XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) != NULL ? 0 : -1;
}

static const char *path_of(const char *name)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void touch(const char *name)
{
    int fd = open(path_of(name), O_CREAT | O_WRONLY, 0600);
    assert_true(fd >= 0);
    close(fd);
}

static bool exists(const char *name)
{
    return access(path_of(name), F_OK) == 0;
}

static void add(struct ss_retained_files *kept, const char *name)
{
    struct ss_error err = {0};
    touch(name);
    assert_int_equal(ss_retained_files_add(kept, path_of(name), &err), SS_OK);
}

static void the_newest_stay(void **state)
{
    (void)state;
    struct ss_retained_files kept;
    touch("theirs");
    ss_retained_files_init(&kept, 2);
    add(&kept, "a");
    add(&kept, "b");
    add(&kept, "a"); /* written anew: b is the oldest now */
    assert_true(exists("a") && exists("b"));
    add(&kept, "c");
    assert_true(exists("a") && exists("c") && exists("theirs"));
    assert_false(exists("b"));
    unlink(path_of("a"));
    add(&kept, "d"); /* what is gone already is not an error */
    assert_true(exists("c") && exists("d"));
    ss_retained_files_fini(&kept);
    assert_true(exists("c") && exists("d"));
    ss_retained_files_init(&kept, 0);
    add(&kept, "e");
    assert_false(exists("e"));
    ss_retained_files_fini(&kept);
    ss_retained_files_init(&kept, -1);
    add(&kept, "f");
    add(&kept, "g");
    assert_true(exists("f") && exists("g"));
    assert_int_equal(kept.paths.count, 0); /* nothing to remember */
    ss_retained_files_fini(&kept);
}

static void what_cannot_be_removed_is_reported(void **state)
{
    (void)state;
    struct ss_retained_files kept;
    struct ss_error err = {0};
    mkdir(path_of("folder"), 0700);
    ss_retained_files_init(&kept, 0);
    assert_int_not_equal(ss_retained_files_add(&kept, path_of("folder"), &err), SS_OK);
    assert_non_null(strstr(err.message, "cannot remove the old recording"));
    assert_int_equal(kept.paths.count, 0);
    ss_retained_files_fini(&kept);
    rmdir(path_of("folder"));
}

static void a_folder_with_something_in_it_is_refused(void **state)
{
    (void)state;
    struct ss_error err = {0};
    assert_int_equal(ss_folder_check_empty(path_of("missing"), &err), SS_OK);
    mkdir(path_of("empty"), 0700);
    assert_int_equal(ss_folder_check_empty(path_of("empty"), &err), SS_OK);
    rmdir(path_of("empty"));
    touch("theirs");
    assert_int_equal(ss_folder_check_empty(folder, &err), SS_E_USAGE);
    assert_non_null(strstr(err.message, "is not empty"));
    assert_int_not_equal(ss_folder_check_empty(path_of("theirs"), &err), SS_OK);
    assert_non_null(strstr(err.message, "cannot read the folder"));
}

static int remove_folder(void **state)
{
    (void)state;
    static const char *const names[] = {"theirs", "a", "b", "c", "d", "e", "f", "g"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        unlink(path_of(names[i]));
    }
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(variables_are_filled_in),
        cmocka_unit_test(text_does_not_lead_away),
        cmocka_unit_test(mistakes_are_refused),
        cmocka_unit_test(names_of_many_windows_differ),
        cmocka_unit_test(the_newest_stay),
        cmocka_unit_test(what_cannot_be_removed_is_reported),
        cmocka_unit_test(a_folder_with_something_in_it_is_refused),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
