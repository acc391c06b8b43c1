/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "platform/memory.h"

enum { PAGE = 4096, PAGES = 4 };

/* A child with four pages, the third of which is not mapped; each holds its own number. */
struct child {
    pid_t pid;
    uint8_t *pages;
    struct ss_memory_reader *reader;
};

static void begin(struct child *child)
{
    child->pages =
        mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(child->pages != MAP_FAILED);
    for (int i = 0; i < PAGES; i++) {
        memset(child->pages + i * PAGE, i + 1, PAGE);
    }
    munmap(child->pages + 2 * PAGE, PAGE);
    child->pid = fork();
    if (child->pid == 0) {
        for (;;) {
            pause();
        }
    }
    struct ss_error err;
    assert_int_equal(ss_memory_open(child->pid, &child->reader, &err), SS_OK);
}

static void end(struct child *child)
{
    ss_memory_close(child->reader);
    kill(child->pid, SIGKILL);
    waitpid(child->pid, NULL, 0);
    munmap(child->pages, 2 * PAGE);
    munmap(child->pages + 3 * PAGE, PAGE);
}

static uint64_t at(const struct child *child, size_t offset)
{
    return (uint64_t)(uintptr_t)child->pages + offset;
}

static void many_ranges_take_one_call(void **state)
{
    (void)state;
    enum { COUNT = 600 };
    static uint8_t buffer[COUNT][4];
    static struct ss_memory_range ranges[COUNT];
    struct child child;
    begin(&child);
    for (size_t i = 0; i < COUNT; i++) {
        ranges[i] = (struct ss_memory_range){at(&child, i % 2 * PAGE + i), buffer[i], 4, 0};
    }
    assert_int_equal(child.reader->read(child.reader, ranges, COUNT), 0);
    assert_int_equal(child.reader->syscalls, 1);
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(ranges[i].got, 4);
        assert_int_equal(buffer[i][3], i % 2 + 1);
    }
    end(&child);
}

static void more_ranges_than_one_call_takes_are_read(void **state)
{
    (void)state;
    enum { COUNT = 3000 };
    static uint8_t buffer[COUNT];
    static struct ss_memory_range ranges[COUNT];
    struct child child;
    begin(&child);
    for (size_t i = 0; i < COUNT; i++) {
        ranges[i] = (struct ss_memory_range){at(&child, 3 * PAGE + i), &buffer[i], 1, 0};
    }
    assert_int_equal(child.reader->read(child.reader, ranges, COUNT), 0);
    assert_int_equal(child.reader->syscalls, 3);
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(buffer[i], 4);
    }
    end(&child);
}

/* Holes, null, the kernel's half, ranges that wrap round: none of them hinders the others. */
static void read_with_holes(struct child *child)
{
    uint8_t good[3][16], bad[6][64];
    struct ss_memory_range ranges[] = {
        {at(child, 0), good[0], 16, 9},
        {at(child, 2 * PAGE), bad[0], 64, 9},
        {0, bad[1], 64, 9},
        {at(child, PAGE), good[1], 16, 9},
        {UINT64_MAX - 3, bad[2], 64, 9},
        {UINT64_C(0xffff800000000000), bad[3], 64, 9},
        {at(child, 2 * PAGE - 8), bad[4], 64, 9}, /* the first 8 bytes are there */
        {at(child, 3 * PAGE), good[2], 16, 9},
        {at(child, 0), bad[5], 0, 9},
    };
    assert_int_equal(child->reader->read(child->reader, ranges, 9), 0);
    assert_int_equal(ranges[0].got, 16);
    assert_int_equal(ranges[1].got, 0);
    assert_int_equal(ranges[2].got, 0);
    assert_int_equal(ranges[3].got, 16);
    assert_int_equal(ranges[4].got, 0);
    assert_int_equal(ranges[5].got, 0);
    assert_int_equal(ranges[6].got, 8);
    assert_int_equal(ranges[7].got, 16);
    assert_int_equal(ranges[8].got, 0);
    assert_int_equal(good[0][15], 1);
    assert_int_equal(good[1][15], 2);
    assert_int_equal(good[2][15], 4);
    assert_int_equal(bad[4][7], 2);
}

static void a_hole_does_not_hinder_the_others(void **state)
{
    (void)state;
    struct child child;
    begin(&child);
    read_with_holes(&child);
    end(&child);
}

static void the_end_of_the_process_is_esrch(void **state)
{
    (void)state;
    struct child child;
    uint8_t byte;
    begin(&child);
    kill(child.pid, SIGKILL);
    waitpid(child.pid, NULL, 0);
    struct ss_memory_range range = {at(&child, 0), &byte, 1, 0};
    assert_int_equal(child.reader->read(child.reader, &range, 1), ESRCH);
    assert_int_equal(range.got, 0);
    struct ss_memory_reader *reader = NULL;
    struct ss_error err;
    assert_int_equal(ss_memory_open(child.pid, &reader, &err), SS_E_GONE);
    assert_null(reader);
    child.pid = fork(); /* for end() */
    if (child.pid == 0) {
        for (;;) {
            pause();
        }
    }
    end(&child);
}

static void a_zombie_is_gone(void **state)
{
    (void)state;
    pid_t pid = fork();
    if (pid == 0) {
        _exit(0);
    }
    siginfo_t info;
    waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
    struct ss_memory_reader *reader = NULL;
    struct ss_error err;
    assert_int_equal(ss_memory_open(pid, &reader, &err), SS_E_GONE);
    waitpid(pid, NULL, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_ranges_take_one_call),
        cmocka_unit_test(more_ranges_than_one_call_takes_are_read),
        cmocka_unit_test(a_hole_does_not_hinder_the_others),
        cmocka_unit_test(the_end_of_the_process_is_esrch),
        cmocka_unit_test(a_zombie_is_gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
