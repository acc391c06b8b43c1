/* SPDX-License-Identifier: Apache-2.0 */
/* Accesses to mapped files that were truncated, and the bus errors that are not the guard's. Each
 * case runs in an image of its own: cmocka has a handler of SIGBUS, and the guard keeps the action
 * that it finds at its first range. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ring/page_guard.h"

enum { PAGES = 4, MANY = 600, FAILED = 99, HANDLED = 33 };

static size_t page_bytes;

static void check(bool is_right, int line)
{
    if (!is_right) {
        fprintf(stderr, "line %d\n", line);
        _exit(FAILED);
    }
}
#define CHECK(condition) check(condition, __LINE__)

/* Pages of a file, filled with 7. *fd: the file. */
static volatile unsigned char *new_mapping(int *fd)
{
    char path[] = "/tmp/guarded-XXXXXX";
    *fd = mkstemp(path);
    CHECK(*fd >= 0 && unlink(path) == 0);
    CHECK(ftruncate(*fd, (off_t)(PAGES * page_bytes)) == 0);
    unsigned char *start =
        mmap(NULL, PAGES * page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
    CHECK(start != MAP_FAILED);
    memset(start, 7, PAGES * page_bytes);
    return start;
}

static volatile unsigned char *new_guarded(int *fd)
{
    volatile unsigned char *start = new_mapping(fd);
    ss_page_guard_add((void *)start, PAGES * page_bytes);
    return start;
}

/* --- cases: each returns the status of its image ---------------------------------------------- */

static int read_and_write_lost_pages(void)
{
    int fd;
    volatile unsigned char *start = new_guarded(&fd);
    CHECK(ftruncate(fd, (off_t)page_bytes) == 0);
    CHECK(start[page_bytes - 1] == 7);
    CHECK(start[page_bytes] == 0);
    start[3 * page_bytes + 17] = 9; /* the first access to this page is a write */
    CHECK(start[3 * page_bytes + 17] == 9 && start[3 * page_bytes] == 0);
    return 0;
}

static int read_in_a_child(void)
{
    int fd, status = 0;
    volatile unsigned char *start = new_guarded(&fd);
    CHECK(ftruncate(fd, 0) == 0);
    pid_t pid = fork();
    if (pid == 0) {
        _exit(start[0]);
    }
    CHECK(waitpid(pid, &status, 0) == pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : FAILED;
}

struct many {
    void *starts[MANY];
    int fd;
};

static void *guard_many(void *context)
{
    struct many *many = context;
    for (int i = 0; i < MANY; i++) {
        ss_page_guard_add(many->starts[i], PAGES * page_bytes);
    }
    return NULL;
}

/* More ranges than one block holds, added by two threads at once. */
static int read_many_ranges(void)
{
    static struct many many[2];
    pthread_t threads[2];
    for (int t = 0; t < 2; t++) {
        many[t].starts[0] = (void *)new_mapping(&many[t].fd);
        for (int i = 1; i < MANY; i++) {
            many[t].starts[i] =
                mmap(NULL, PAGES * page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, many[t].fd, 0);
            CHECK(many[t].starts[i] != MAP_FAILED);
        }
        CHECK(pthread_create(&threads[t], NULL, guard_many, &many[t]) == 0);
    }
    for (int t = 0; t < 2; t++) {
        CHECK(pthread_join(threads[t], NULL) == 0 && ftruncate(many[t].fd, 0) == 0);
    }
    for (int t = 0; t < 2; t++) {
        for (int i = 0; i < MANY; i++) {
            CHECK(*(volatile unsigned char *)many[t].starts[i] == 0);
        }
    }
    return 0;
}

static int read_a_removed_range(void)
{
    int fd;
    volatile unsigned char *start = new_guarded(&fd);
    ss_page_guard_remove((const void *)start);
    CHECK(ftruncate(fd, 0) == 0);
    return start[0];
}

static int read_beyond_the_range(void)
{
    int fd;
    volatile unsigned char *start = new_mapping(&fd);
    ss_page_guard_add((void *)start, page_bytes); /* the first page alone */
    CHECK(ftruncate(fd, 0) == 0 && start[0] == 0);
    return start[page_bytes];
}

static int send_to_itself(void)
{
    int fd;
    (void)new_guarded(&fd);
    return kill(getpid(), SIGBUS);
}

static void on_bus_error_of_the_program(int number)
{
    (void)number;
    _exit(HANDLED);
}

static void set_own_handler(void)
{
    struct sigaction action = {.sa_handler = on_bus_error_of_the_program};
    sigaction(SIGBUS, &action, NULL);
}

static int fault_with_own_handler(void)
{
    set_own_handler();
    return read_beyond_the_range();
}

static int send_with_own_handler(void)
{
    set_own_handler();
    return send_to_itself();
}

static const struct {
    const char *name;
    int (*act)(void);
} cases[] = {{"lost", read_and_write_lost_pages},
             {"child", read_in_a_child},
             {"many", read_many_ranges},
             {"removed", read_a_removed_range},
             {"beyond", read_beyond_the_range},
             {"sent", send_to_itself},
             {"own fault", fault_with_own_handler},
             {"own sent", send_with_own_handler}};

static int run_case(const char *name)
{
    const struct rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (strcmp(cases[i].name, name) == 0) {
            return cases[i].act();
        }
    }
    return FAILED;
}

/* --- tests ------------------------------------------------------------------------------------ */

static const char *own_path;

/* The status of a case; minus the signal that ended it. */
static int status_of(const char *name)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        signal(SIGBUS, SIG_DFL);
        execl(own_path, own_path, name, (char *)NULL);
        _exit(FAILED);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void pages_that_the_file_lost_are_zeros(void **state)
{
    (void)state;
    assert_int_equal(status_of("lost"), 0);
    assert_int_equal(status_of("child"), 0);
    assert_int_equal(status_of("many"), 0);
}

static void other_bus_errors_kill_as_without_the_guard(void **state)
{
    (void)state;
    assert_int_equal(status_of("removed"), -SIGBUS);
    assert_int_equal(status_of("beyond"), -SIGBUS);
    assert_int_equal(status_of("sent"), -SIGBUS);
}

static void a_handler_of_the_program_gets_the_others(void **state)
{
    (void)state;
    assert_int_equal(status_of("own fault"), HANDLED);
    assert_int_equal(status_of("own sent"), HANDLED);
}

int main(int argc, char **argv)
{
    page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    if (argc > 1) {
        return run_case(argv[1]);
    }
    own_path = argv[0];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_that_the_file_lost_are_zeros),
        cmocka_unit_test(other_bus_errors_kill_as_without_the_guard),
        cmocka_unit_test(a_handler_of_the_program_gets_the_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
