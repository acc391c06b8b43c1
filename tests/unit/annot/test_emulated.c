/* SPDX-License-Identifier: Apache-2.0 */
/* Emulators such as qemu-user say that they wipe memory on fork, and do not: a forked child is one
 * of its own all the same, and does not wait for the lock that its parent held. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "../../fakes/own_recorder.h"
#include <stepscope/stepscope.h>

enum { PATIENCE_S = 20, EVENTS = 100 };

static int refused_wipes;

/* Called by the library, too. */
int madvise(void *address, size_t length, int advice);
int madvise(void *address, size_t length, int advice)
{
    if (advice == MADV_WIPEONFORK) {
        refused_wipes++;
        return 0;
    }
    return (int)syscall(SYS_madvise, address, length, advice);
}

static void *mark_many(void *unused)
{
    stepscope_name name = stepscope_intern("emulated", 8);
    for (int i = 0; i < EVENTS; i++) {
        stepscope_mark(0, name);
    }
    return unused;
}

static void *mark_in_a_child(void *out)
{
    pid_t *pid = out;
    *pid = fork();
    if (*pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        mark_many(NULL);
        _exit(0);
    }
    int status = 0;
    waitpid(*pid, &status, 0);
    if (status != 0) {
        *pid = -1;
    }
    return NULL;
}

static void expect_marks_of(pid_t pid)
{
    struct recorded child;
    open_recorded(&child, pid);
    drain(&child);
    assert_int_equal(child.by_type[SS_RING_MARK], EVENTS);
    assert_int_equal(child.consumer.header->pid, pid);
    close_recorded(&child);
}

static void a_forked_child_is_one_of_its_own(void **state)
{
    (void)state;
    struct recorded recorded;
    pthread_t thread;
    pid_t of_main, of_thread;
    alarm(PATIENCE_S); /* a child that waits for its parent's lock has all signals blocked */
    start(&recorded, 0, now());
    mark_many(NULL);
    mark_in_a_child(&of_main);
    assert_int_equal(pthread_create(&thread, NULL, mark_in_a_child, &of_thread), 0);
    pthread_join(thread, NULL);
    mark_many(NULL);
    assert_true(refused_wipes > 0);
    assert_true(of_main > 0 && of_thread > 0);
    drain(&recorded);
    assert_int_equal(recorded.by_type[SS_RING_MARK], 2 * EVENTS); /* no child wrote into ours */
    expect_marks_of(of_main);
    expect_marks_of(of_thread);
    alarm(0);
    stop(&recorded);
}

int main(int argc, char **argv)
{
    (void)argc;
    if (own_recorder_begin(argv) != 0) {
        return 1;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_forked_child_is_one_of_its_own)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    own_recorder_end();
    return failed;
}
