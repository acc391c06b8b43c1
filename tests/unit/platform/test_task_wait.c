/* SPDX-License-Identifier: Apache-2.0 */
/* What a thread waits for, by its call and by the kind of its descriptor. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "platform/task_state.h"

static enum ss_task_wait of_read(int fd)
{
    assert_true(fd >= 0);
    return ss_task_wait_of_call(getpid(), SYS_read, (uint64_t)fd);
}

static void reads_are_distinguished_by_descriptor(void **state)
{
    (void)state;
    int ends[2], sockets[2];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
    int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    int device = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_int_equal(of_read(ends[0]), SS_TASK_WAIT_PIPE);
    assert_int_equal(of_read(sockets[0]), SS_TASK_WAIT_SOCKET);
    assert_int_equal(of_read(file), SS_TASK_WAIT_FILE);
    assert_int_equal(of_read(device), SS_TASK_WAIT_PIPE);
    close(file);
    assert_int_equal(ss_task_wait_of_call(getpid(), SYS_read, (uint64_t)file),
                     SS_TASK_WAIT_UNKNOWN);
    assert_int_equal(ss_task_wait_of_call(getpid(), SYS_read, UINT64_MAX), SS_TASK_WAIT_UNKNOWN);
    int others[] = {ends[0], ends[1], sockets[0], sockets[1], device};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        close(others[i]);
    }
}

static void a_named_pipe_is_a_pipe(void **state)
{
    (void)state;
    char folder[] = "/tmp/ss-wait-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/fifo", folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    assert_int_equal(of_read(fd), SS_TASK_WAIT_PIPE);
    close(fd);
    unlink(path);
    rmdir(folder);
}

static void calls_are_classified(void **state)
{
    (void)state;
    static const struct {
        int64_t call;
        enum ss_task_wait wait;
    } rows[] = {{SYS_futex, SS_TASK_WAIT_FUTEX},        {SYS_clock_nanosleep, SS_TASK_WAIT_TIMER},
                {SYS_ppoll, SS_TASK_WAIT_POLL},         {SYS_recvfrom, SS_TASK_WAIT_SOCKET},
                {SYS_preadv, SS_TASK_WAIT_FILE},        {SYS_fsync, SS_TASK_WAIT_FILE},
                {SYS_wait4, SS_TASK_WAIT_CHILD},        {-1, SS_TASK_WAIT_FILE},
                {SYS_rt_sigsuspend, SS_TASK_WAIT_OTHER}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(ss_task_wait_of_call(getpid(), rows[i].call, 0), rows[i].wait);
    }
}

/* --- of a thread ----------------------------------------------------------------------------- */

struct sleeper {
    pid_t tid;
    int pipe;
    sem_t started;
};

static void *read_pipe(void *argument)
{
    struct sleeper *sleeper = argument;
    sleeper->tid = (pid_t)syscall(SYS_gettid);
    sem_post(&sleeper->started);
    char byte;
    return read(sleeper->pipe, &byte, 1) == 1 ? NULL : sleeper;
}

static void a_thread_that_reads_a_pipe(void **state)
{
    (void)state;
    int ends[2];
    struct sleeper sleeper = {0};
    assert_int_equal(pipe(ends), 0);
    sleeper.pipe = ends[0];
    sem_init(&sleeper.started, 0, 0);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, read_pipe, &sleeper), 0);
    sem_wait(&sleeper.started);
    struct ss_task_state task;
    ss_task_state_open(&task, getpid(), sleeper.tid);
    assert_int_equal(ss_task_state_wait(&task), SS_TASK_WAIT_UNKNOWN); /* not read yet */
    uint64_t now_ns = 1;
    while (task.activity != SS_TASK_SLEEPING && !task.no_syscall_file) {
        ss_task_state_update(&task, now_ns++);
        sched_yield();
    }
    if (task.no_syscall_file) {
        assert_int_equal(ss_task_state_wait(&task), SS_TASK_WAIT_UNKNOWN);
    } else {
        assert_int_equal(ss_task_state_wait(&task), SS_TASK_WAIT_PIPE);
    }
    ss_task_state_close(&task);
    assert_int_equal(write(ends[1], "x", 1), 1);
    void *failed;
    pthread_join(thread, &failed);
    assert_null(failed);
    sem_destroy(&sleeper.started);
    close(ends[0]);
    close(ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_are_distinguished_by_descriptor),
        cmocka_unit_test(a_named_pipe_is_a_pipe),
        cmocka_unit_test(calls_are_classified),
        cmocka_unit_test(a_thread_that_reads_a_pipe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
