/* SPDX-License-Identifier: Apache-2.0 */
/* System calls that older kernels do not have: a filter refuses them in a process of its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/random.h"
#include "platform/epoll.h"

static bool refuse(int number)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* Runs `check` without the call, and then with it; it returns 0 if all is well. */
static void assert_works_without(int number, int (*check)(void))
{
    assert_int_equal(check(), 0);
    pid_t child = fork();
    if (child == 0) {
        _exit(refuse(number) ? check() : 100);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 100) {
        skip(); /* no filters here */
    }
    assert_int_equal(status, 0);
}

static int check_random(void)
{
    unsigned char bytes[1000] = {0}, others[1000];
    if (!ss_random_bytes(bytes, sizeof bytes) || !ss_random_bytes(others, sizeof others)) {
        return 1;
    }
    return memcmp(bytes, others, sizeof bytes) == 0 ||
           (bytes[998] == 0 && bytes[999] == 0 && others[998] == 0 && others[999] == 0);
}

static int check_epoll(void)
{
    struct timespec short_while = {0, 200000}, long_while = {100, 0};
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = 77}, found[2];
    int epoll_fd = epoll_create1(EPOLL_CLOEXEC), fd = eventfd(0, EFD_CLOEXEC);
    uint64_t one = 1;
    int failed = epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0 ||
                 ss_epoll_wait(epoll_fd, found, 2, &short_while) != 0 ||
                 write(fd, &one, sizeof one) != sizeof one ||
                 ss_epoll_wait(epoll_fd, found, 2, &long_while) != 1 || found[0].data.u64 != 77;
    close(fd);
    close(epoll_fd);
    return failed || ss_epoll_wait(epoll_fd, found, 2, &short_while) >= 0;
}

static void random_bytes_come_from_the_device(void **state)
{
    (void)state;
    assert_works_without(SYS_getrandom, check_random);
}

static void events_are_waited_for_by_poll(void **state)
{
    (void)state;
    assert_works_without(SYS_epoll_pwait2, check_epoll);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_bytes_come_from_the_device),
        cmocka_unit_test(events_are_waited_for_by_poll),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
