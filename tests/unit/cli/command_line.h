/* SPDX-License-Identifier: Apache-2.0 */
/* The command line in this process: stepscope("report", "in.txt") does what the program does, and
 * returns its exit status and output. Each test has a folder of its own, which is the current one;
 * texts live until the test ends. */
#ifndef SS_TEST_COMMAND_LINE_H
#define SS_TEST_COMMAND_LINE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/terminal.h"
#include "cli/commands/command_line.h"

enum { MOST_WORDS_RUN = 64, MOST_TEXTS = 4096 };

struct ran {
    int status;
    char *out, *err;
    size_t out_length;
};

static char *kept_texts[MOST_TEXTS];
static size_t kept_count;
static char first_folder[4096], test_folder[4096];

static inline char *keep_text(char *text)
{
    assert_true(kept_count < MOST_TEXTS);
    return kept_texts[kept_count++] = text;
}

static inline int enter_folder(void **state)
{
    (void)state;
    const char *base = getenv("TMPDIR");
    assert_non_null(getcwd(first_folder, sizeof first_folder));
    snprintf(test_folder, sizeof test_folder, "%s/stepscope-cli-XXXXXX",
             base != NULL ? base : "/tmp");
    assert_non_null(mkdtemp(test_folder));
    assert_int_equal(chdir(test_folder), 0);
    return 0;
}

static inline int remove_entry(const char *path, const struct stat *facts, int kind,
                               struct FTW *place)
{
    (void)facts, (void)kind, (void)place;
    return remove(path);
}

static inline int leave_folder(void **state)
{
    (void)state;
    assert_int_equal(chdir(first_folder), 0);
    assert_int_equal(nftw(test_folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS), 0);
    while (kept_count > 0) {
        free(kept_texts[--kept_count]);
    }
    return 0;
}

#define in_folder(test) cmocka_unit_test_setup_teardown(test, enter_folder, leave_folder)

static inline char *read_whole(int fd, size_t *length)
{
    off_t size = lseek(fd, 0, SEEK_END);
    char *text = malloc((size_t)size + 1);
    assert_non_null(text);
    assert_int_equal(pread(fd, text, (size_t)size, 0), size);
    text[size] = '\0';
    *length = (size_t)size;
    return keep_text(text);
}

/* Flushes and forgets what has failed. */
static inline void settle_streams(void)
{
    FILE *const all[] = {stdout, stderr, ss_stdout(), ss_stderr()};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        fflush(all[i]);
        clearerr(all[i]);
    }
}

/* With `out_fd` as standard output, or a file if it is -1. */
static inline struct ran stepscope_to(int out_fd, const char *const *words)
{
    struct ran ran = {0};
    char *argv[MOST_WORDS_RUN + 1] = {NULL};
    int argc = 0;
    size_t err_length;
    settle_streams();
    int saved[2] = {dup(STDOUT_FILENO), dup(STDERR_FILENO)};
    int out = out_fd >= 0 ? out_fd : memfd_create("out", 0), err = memfd_create("err", 0);
    assert_true(saved[0] >= 0 && saved[1] >= 0 && out >= 0 && err >= 0);
    for (; words[argc] != NULL && argc < MOST_WORDS_RUN; argc++) {
        argv[argc] = keep_text(strdup(words[argc]));
    }
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    ran.status = ss_command_line_run(argc, argv);
    settle_streams();
    dup2(saved[0], STDOUT_FILENO);
    dup2(saved[1], STDERR_FILENO);
    ran.out = out_fd >= 0 ? keep_text(strdup("")) : read_whole(out, &ran.out_length);
    ran.err = read_whole(err, &err_length);
    const int ours[] = {saved[0], saved[1], err, out_fd >= 0 ? -1 : out};
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) {
        close(ours[i]);
    }
    return ran;
}

#define stepscope(...) stepscope_to(-1, (const char *const[]){"stepscope", __VA_ARGS__, NULL})

static inline void put_bytes(const char *name, const char *bytes, size_t length)
{
    FILE *file = fopen(name, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

static inline void put_text(const char *name, const char *text)
{
    put_bytes(name, text, strlen(text));
}

static inline char *text_of(const char *name)
{
    size_t length;
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        fail_msg("%s is missing", name);
    }
    char *text = read_whole(fd, &length);
    close(fd);
    return text;
}

static inline bool has_text(const char *text, const char *part)
{
    return strstr(text, part) != NULL;
}

static inline void expect_text(const char *text, const char *part)
{
    if (!has_text(text, part)) {
        fail_msg("without \"%s\":\n%s", part, text);
    }
}

static inline void expect_no_text(const char *text, const char *part)
{
    if (has_text(text, part)) {
        fail_msg("with \"%s\":\n%s", part, text);
    }
}

static inline void expect_status(const struct ran *ran, int status)
{
    if (ran->status != status) {
        fail_msg("exit status %d, not %d:\n%s%s", ran->status, status, ran->err, ran->out);
    }
}

/* Wrong usage: nothing on standard output, and the message in the first of two lines. */
static inline void expect_usage_error(const struct ran *ran, const char *message)
{
    expect_status(ran, 2);
    assert_string_equal(ran->out, "");
    const char *end = strchr(ran->err, '\n'), *found = strstr(ran->err, message);
    if (end == NULL || found == NULL || found > end ||
        strncmp(end + 1, "Try \"stepscope ", 15) != 0) {
        fail_msg("without \"%s\" in the first line, and what to try in the second:\n%s", message,
                 ran->err);
    }
}

#endif
