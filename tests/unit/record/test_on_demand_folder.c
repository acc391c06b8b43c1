/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record/windows/on_demand_folder.h"

struct fixture {
    char parent[64], path[96];
    struct ss_on_demand_folder folder;
    struct ss_strbuf text;
};

static void begin(struct fixture *fixture)
{
    struct ss_error err = {0};
    snprintf(fixture->parent, sizeof fixture->parent, "/tmp/stepscope-test-XXXXXX");
    assert_non_null(mkdtemp(fixture->parent));
    snprintf(fixture->path, sizeof fixture->path, "%s/on-demand", fixture->parent);
    ss_strbuf_init(&fixture->text, SS_ON_DEMAND_FILE_BYTES);
    if (ss_on_demand_folder_create(&fixture->folder, fixture->path, &err) != SS_OK) {
        fail_msg("%s", err.message);
    }
}

static void end(struct fixture *fixture)
{
    char command[128];
    ss_on_demand_folder_close(&fixture->folder);
    ss_strbuf_fini(&fixture->text);
    snprintf(command, sizeof command, "rm -rf %s", fixture->parent);
    assert_int_equal(system(command), 0);
}

static mode_t mode_of(const struct fixture *fixture, const char *name)
{
    struct stat status;
    assert_int_equal(fstatat(fixture->folder.fd, name, &status, 0), 0);
    return status.st_mode & 07777;
}

/* Makes a file without the library; 0600 unless said otherwise. */
static void put_file(const struct fixture *fixture, const char *name, const char *text, mode_t mode)
{
    int fd = openat(fixture->folder.fd, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    assert_int_equal(fchmod(fd, mode), 0);
    close(fd);
}

static void count(void *context, const char *name)
{
    (void)name;
    ++*(int *)context;
}

/* With "." and "..". */
static int entries_of(const struct fixture *fixture)
{
    int entries = 0;
    ss_on_demand_list(&fixture->folder, count, &entries);
    return entries;
}

static void a_new_folder_is_private_and_has_a_token(void **state)
{
    (void)state;
    struct fixture fixture;
    struct ss_error err;
    begin(&fixture);
    assert_string_equal(fixture.folder.path, fixture.path);
    assert_int_equal(mode_of(&fixture, "."), 0700);
    assert_int_equal(mode_of(&fixture, "token"), 0600);
    assert_int_equal(ss_on_demand_read(&fixture.folder, "token", &fixture.text, &err), SS_OK);
    assert_int_equal(fixture.text.length, 32);
    assert_int_equal(strspn(fixture.text.data, "0123456789abcdef"), 32);
    assert_int_equal(entries_of(&fixture), 3); /* and no draft */
    end(&fixture);
}

/* The first recorder's token counts for the others, and for who triggers. */
static void all_that_open_it_have_the_same_key(void **state)
{
    (void)state;
    struct fixture fixture, other;
    struct ss_on_demand_folder second, third;
    struct ss_error err;
    begin(&fixture);
    begin(&other);
    assert_int_equal(ss_on_demand_folder_create(&second, fixture.path, &err), SS_OK);
    assert_int_equal(ss_on_demand_folder_open(&third, fixture.path, &err), SS_OK);
    assert_memory_equal(&second.key, &fixture.folder.key, sizeof second.key);
    assert_memory_equal(&third.key, &fixture.folder.key, sizeof third.key);
    assert_memory_not_equal(&other.folder.key, &fixture.folder.key, sizeof third.key);
    assert_int_equal(entries_of(&fixture), 3);
    ss_on_demand_folder_close(&second);
    ss_on_demand_folder_close(&third);
    assert_int_equal(third.fd, -1);
    assert_null(third.path);
    end(&other);
    end(&fixture);
}

static void assert_refused(const char *path, enum ss_status status, const char *why)
{
    struct ss_on_demand_folder folder;
    struct ss_error err = {0};
    assert_int_equal(ss_on_demand_folder_open(&folder, path, &err), status);
    assert_int_equal(folder.fd, -1);
    assert_null(folder.path);
    if (strstr(err.message, why) == NULL) {
        fail_msg("\"%s\" is not in: %s", why, err.message);
    }
}

static void what_others_may_read_or_write_is_refused(void **state)
{
    (void)state;
    static const mode_t modes[] = {0710, 0701, 0720, 0702, 0740, 0704};
    struct fixture fixture;
    struct ss_error err = {0};
    begin(&fixture);
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        assert_int_equal(fchmod(fixture.folder.fd, modes[i]), 0);
        assert_refused(fixture.path, SS_E_PERMISSION, "is not a private folder of this user");
        struct ss_on_demand_folder folder;
        assert_int_equal(ss_on_demand_folder_create(&folder, fixture.path, &err), SS_E_PERMISSION);
        assert_int_equal(folder.fd, -1);
    }
    assert_int_equal(fchmod(fixture.folder.fd, 0700), 0);
    put_file(&fixture, "host.12", "x", 0640);
    assert_int_equal(ss_on_demand_read(&fixture.folder, "host.12", &fixture.text, &err),
                     SS_E_PERMISSION);
    assert_non_null(strstr(err.message, "on-demand/host.12 is not a private file of this user"));
    assert_int_equal(fixture.text.length, 0);
    assert_int_equal(mkdirat(fixture.folder.fd, "host.13", 0700), 0);
    assert_int_equal(ss_on_demand_read(&fixture.folder, "host.13", &fixture.text, &err),
                     SS_E_PERMISSION);
    end(&fixture);
}

static void a_link_is_not_followed(void **state)
{
    (void)state;
    struct fixture fixture;
    struct ss_error err = {0};
    char link[128];
    begin(&fixture);
    put_file(&fixture, "host.12", "text", 0600);
    assert_int_equal(symlinkat("host.12", fixture.folder.fd, "host.13"), 0);
    assert_int_equal(ss_on_demand_read(&fixture.folder, "host.12", &fixture.text, &err), SS_OK);
    assert_int_equal(ss_on_demand_read(&fixture.folder, "host.13", &fixture.text, &err), SS_E_IO);
    snprintf(link, sizeof link, "%s/link", fixture.parent);
    assert_int_equal(symlink(fixture.path, link), 0);
    assert_refused(link, SS_E_NOTFOUND, "/link");
    end(&fixture);
}

static void a_folder_that_is_none_cannot_be_opened(void **state)
{
    (void)state;
    struct fixture fixture;
    struct ss_error err = {0};
    char path[128];
    begin(&fixture);
    snprintf(path, sizeof path, "%s/absent", fixture.parent);
    assert_refused(path, SS_E_NOTFOUND, "/absent");
    snprintf(path, sizeof path, "%s/absent/on-demand", fixture.parent);
    struct ss_on_demand_folder folder;
    assert_int_equal(ss_on_demand_folder_create(&folder, path, &err), SS_E_NOTFOUND);
    assert_non_null(strstr(err.message, "cannot create"));
    assert_int_equal(folder.fd, -1);
    end(&fixture);
}

static void a_token_that_is_none_is_refused_or_made_again(void **state)
{
    (void)state;
    static const char *const tokens[] = {"", "0123456789abcdef", "0123456789abcdef0123456789abcde"};
    struct fixture fixture;
    begin(&fixture);
    for (size_t i = 0; i < sizeof tokens / sizeof tokens[0]; i++) {
        put_file(&fixture, "token", tokens[i], 0600);
        assert_refused(fixture.path, SS_E_FORMAT, "/token is not a token: remove the folder");
    }
    ss_on_demand_remove(&fixture.folder, "token");
    assert_refused(fixture.path, SS_E_NOTFOUND, "/token");
    struct ss_on_demand_folder folder;
    struct ss_error err;
    assert_int_equal(ss_on_demand_folder_create(&folder, fixture.path, &err), SS_OK);
    assert_int_equal(mode_of(&fixture, "token"), 0600);
    ss_on_demand_folder_close(&folder);
    end(&fixture);
}

static void files_are_written_whole(void **state)
{
    (void)state;
    struct fixture fixture;
    struct ss_error err = {0};
    char large[10000];
    begin(&fixture);
    memset(large, 'x', sizeof large);
    assert_int_equal(ss_on_demand_write(&fixture.folder, "a.request", "first", 5, &err), SS_OK);
    assert_int_equal(ss_on_demand_write(&fixture.folder, "a.request", large, sizeof large, &err),
                     SS_OK);
    assert_int_equal(mode_of(&fixture, "a.request"), 0600);
    assert_int_equal(entries_of(&fixture), 4);
    assert_int_equal(ss_on_demand_read(&fixture.folder, "a.request", &fixture.text, &err), SS_OK);
    assert_int_equal(fixture.text.length, sizeof large);
    assert_memory_equal(fixture.text.data, large, sizeof large);
    ss_on_demand_remove(&fixture.folder, "a.request");
    assert_int_equal(entries_of(&fixture), 3);
    assert_int_equal(ss_on_demand_read(&fixture.folder, "a.request", &fixture.text, &err),
                     SS_E_NOTFOUND);
    assert_int_equal(fixture.text.length, 0);
    end(&fixture);
}

static void what_cannot_be_written_leaves_nothing(void **state)
{
    (void)state;
    struct fixture fixture;
    struct ss_error err = {0};
    begin(&fixture);
    assert_int_equal(mkdirat(fixture.folder.fd, "a.request", 0700), 0);
    assert_int_not_equal(ss_on_demand_write(&fixture.folder, "a.request", "x", 1, &err), SS_OK);
    assert_non_null(strstr(err.message, "cannot write"));
    assert_int_equal(ss_on_demand_hold(&fixture.folder, "a.request", "x", 1, &err), -1);
    assert_int_equal(entries_of(&fixture), 4);
    end(&fixture);
}

static void a_file_that_is_too_long_is_an_error(void **state)
{
    (void)state;
    struct fixture fixture;
    struct ss_error err = {0};
    struct ss_strbuf little;
    begin(&fixture);
    ss_strbuf_init(&little, 10);
    put_file(&fixture, "host.1", "0123456789abcdef", 0600);
    assert_int_equal(ss_on_demand_read(&fixture.folder, "host.1", &little, &err), SS_E_LIMIT);
    assert_non_null(strstr(err.message, "host.1 is too long"));
    ss_strbuf_fini(&little);
    end(&fixture);
}

static void a_recorder_holds_its_file_while_it_lives(void **state)
{
    (void)state;
    struct fixture fixture;
    struct ss_error err;
    bool has_locks = false;
    begin(&fixture);
    int fd = ss_on_demand_hold(&fixture.folder, "host.12", "text", 4, &err);
    assert_true(fd >= 0);
    assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    assert_int_equal(entries_of(&fixture), 4);
    assert_int_equal(ss_on_demand_read(&fixture.folder, "host.12", &fixture.text, &err), SS_OK);
    assert_string_equal(fixture.text.data, "text");
    assert_false(ss_on_demand_is_abandoned(&fixture.folder, "host.12", &has_locks));
    assert_true(has_locks);
    close(fd);
    assert_true(ss_on_demand_is_abandoned(&fixture.folder, "host.12", &has_locks));
    assert_true(has_locks);
    ss_on_demand_remove(&fixture.folder, "host.12");
    assert_true(ss_on_demand_is_abandoned(&fixture.folder, "host.12", &has_locks));
    assert_false(has_locks);
    end(&fixture);
}

static void names_say_what_a_file_is(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        bool is_request, is_said, is_recorder;
    } cases[] = {{"7f.request", true, false, false},   {"host.12.said", false, true, false},
                 {"host.12", false, false, true},      {"token", false, false, false},
                 {".host.12", false, false, false},    {".7f.request", false, false, false},
                 {".request", false, false, false},    {".said", false, false, false},
                 {"host", false, false, false},        {"..", false, false, false},
                 {"host.12.saidx", false, false, true}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(ss_on_demand_is_request(cases[i].name), cases[i].is_request);
        assert_int_equal(ss_on_demand_is_said(cases[i].name), cases[i].is_said);
        assert_int_equal(ss_on_demand_is_recorder(cases[i].name), cases[i].is_recorder);
    }
    char name[SS_ON_DEMAND_NAME_BYTES + 1];
    memset(name, 'h', sizeof name);
    strcpy(name + SS_ON_DEMAND_NAME_BYTES - 19, ".1");
    assert_true(ss_on_demand_is_recorder(name)); /* 111 characters */
    strcpy(name + SS_ON_DEMAND_NAME_BYTES - 19, ".12");
    assert_false(ss_on_demand_is_recorder(name));
    memset(name, 'h', sizeof name);
    strcpy(name + SS_ON_DEMAND_NAME_BYTES - 9, ".request");
    assert_true(ss_on_demand_is_request(name));
    memset(name, 'h', sizeof name);
    strcpy(name + SS_ON_DEMAND_NAME_BYTES - 8, ".request");
    assert_false(ss_on_demand_is_request(name));
}

static void a_folder_lies_within_its_run_or_beside_its_file(void **state)
{
    (void)state;
    static const struct {
        const char *recording;
        bool is_folder;
        const char *path;
    } cases[] = {{"run", true, "run/on-demand"},
                 {"run//", true, "run/on-demand"},
                 {"/", true, "//on-demand"},
                 {"t.pftrace", false, "t.pftrace.on-demand"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ss_strbuf path;
        ss_strbuf_init(&path, 256);
        ss_on_demand_path(cases[i].recording, cases[i].is_folder, &path);
        assert_string_equal(path.data, cases[i].path);
        ss_strbuf_fini(&path);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_folder_is_private_and_has_a_token),
        cmocka_unit_test(all_that_open_it_have_the_same_key),
        cmocka_unit_test(what_others_may_read_or_write_is_refused),
        cmocka_unit_test(a_link_is_not_followed),
        cmocka_unit_test(a_folder_that_is_none_cannot_be_opened),
        cmocka_unit_test(a_token_that_is_none_is_refused_or_made_again),
        cmocka_unit_test(files_are_written_whole),
        cmocka_unit_test(what_cannot_be_written_leaves_nothing),
        cmocka_unit_test(a_file_that_is_too_long_is_an_error),
        cmocka_unit_test(a_recorder_holds_its_file_while_it_lives),
        cmocka_unit_test(names_say_what_a_file_is),
        cmocka_unit_test(a_folder_lies_within_its_run_or_beside_its_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
