/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "platform/procfs.h"
#include "platform/task_events.h"
#include "platform/task_state.h"

static void stat_lines_with_odd_names_are_parsed(void **state)
{
    (void)state;
    struct ss_procfs_stat stat;
    assert_true(ss_procfs_parse_stat("12 (a) b ) (c) R 7 1 1 0 -1 4 1 2 3 4 5 6 7 8 20 0 3 0 "
                                     "98765 1 2",
                                     &stat));
    assert_string_equal(stat.comm, "a) b ) (c");
    assert_int_equal(stat.state, 'R');
    assert_int_equal(stat.parent_pid, 7);
    assert_int_equal(stat.thread_count, 3);
    assert_int_equal(stat.start_time_ticks, 98765);
    assert_false(ss_procfs_parse_stat("", &stat));
    assert_false(ss_procfs_parse_stat("12 (a", &stat));
    assert_false(ss_procfs_parse_stat("12 (a) R 1", &stat));
    assert_false(ss_procfs_parse_stat(")(", &stat));
}

static void own_process_is_described(void **state)
{
    (void)state;
    struct ss_procfs_stat stat;
    assert_true(ss_procfs_stat(getpid(), 0, &stat));
    assert_int_equal(stat.parent_pid, getppid());
    pid_t tgid, parent;
    assert_true(ss_procfs_task_parents(getpid(), &tgid, &parent));
    assert_int_equal(tgid, getpid());
    assert_int_equal(parent, getppid());
    assert_int_not_equal(ss_procfs_pid_namespace(getpid()), 0);
    int fd = open("/proc/loadavg", O_RDONLY);
    pid_t child = fork();
    if (child == 0) {
        _exit(0);
    }
    assert_true(ss_procfs_last_pid(fd) >= child);
    waitpid(child, NULL, 0);
    close(fd);
}

/* A child that waits for input, after its exec. */
static pid_t start_waiting(int input[2])
{
    int started[2];
    char nothing;
    assert_int_equal(pipe(input), 0);
    assert_int_equal(pipe2(started, O_CLOEXEC), 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(input[0], STDIN_FILENO);
        close(input[1]);
        execl("/bin/sh", "sh", "-c", "read _", "sh", "--password=hunter2", "last", (char *)NULL);
        _exit(127);
    }
    close(started[1]);
    assert_int_equal(read(started[0], &nothing, 1), 0); /* closed by exec */
    close(started[0]);
    return child;
}

static void a_command_line_is_whole_and_keeps_no_secret(void **state)
{
    (void)state;
    int input[2], status;
    pid_t child = start_waiting(input);
    struct ss_strbuf whole, masked;
    ss_strbuf_init(&whole, 4096);
    ss_strbuf_init(&masked, 4096);
    ss_procfs_cmdline(child, true, &whole);
    ss_procfs_cmdline(child, false, &masked);
    close(input[0]);
    close(input[1]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_string_equal(whole.data, "sh -c read _ sh --password=hunter2 last");
    assert_string_equal(masked.data, "sh -c read _ sh --password=*** last");
    ss_strbuf_fini(&whole);
    ss_strbuf_fini(&masked);
}

static int wait_pipe[2];
static _Atomic pid_t worker_tid;

static void *sleep_on_pipe(void *unused)
{
    worker_tid = (pid_t)syscall(SYS_gettid);
    char byte;
    while (read(wait_pipe[0], &byte, 1) == 1 && byte == 'w') {
    }
    return unused;
}

/* The time of each poll is another one: that is all that a state asks of its clock. */
static uint64_t poll_ns;

static bool poll_task(struct ss_task_state *task)
{
    return ss_task_state_update(task, ++poll_ns);
}

/* Polls until the thread has moved, or has not, however long the machine takes. */
static void await_moved(struct ss_task_state *task, bool has_moved)
{
    while (poll_task(task) != has_moved) {
        sched_yield();
    }
}

static void a_sleeping_thread_has_not_moved_until_it_wakes(void **state)
{
    (void)state;
    pthread_t thread;
    assert_int_equal(pipe(wait_pipe), 0);
    worker_tid = 0;
    assert_int_equal(pthread_create(&thread, NULL, sleep_on_pipe, NULL), 0);
    while (worker_tid == 0) {
        sched_yield();
    }
    struct ss_task_state task;
    ss_task_state_open(&task, getpid(), worker_tid);
    assert_true(poll_task(&task));
    await_moved(&task, false);
    assert_int_equal(task.activity, SS_TASK_SLEEPING);
    for (int i = 0; i < 20; i++) {
        assert_false(poll_task(&task));
    }
    assert_int_equal(write(wait_pipe[1], "w", 1), 1);
    await_moved(&task, true); /* it runs, or ran in between */
    await_moved(&task, false);
    assert_int_equal(task.activity, SS_TASK_SLEEPING);
    assert_int_equal(write(wait_pipe[1], "q", 1), 1);
    pthread_join(thread, NULL);
    /* The kernel lets the joiner go before it takes the thread out of /proc. */
    while (!task.gone) {
        sched_yield();
        poll_task(&task);
    }
    ss_task_state_close(&task);
}

static void a_running_thread_is_on_a_cpu(void **state)
{
    (void)state;
    struct ss_task_state task;
    ss_task_state_open(&task, getpid(), getpid());
    assert_true(poll_task(&task));
    assert_true(poll_task(&task)); /* it polls itself: it never sleeps */
    assert_in_range(task.activity, SS_TASK_ON_CPU, SS_TASK_RUNNABLE);
    ss_task_state_close(&task);
}

struct seen_events {
    int forks, execs, exits;
    char name[16];
};

static void count_event(void *context, const struct ss_task_event *event)
{
    struct seen_events *seen = context;
    seen->forks += event->kind == SS_TASK_FORKED;
    seen->exits += event->kind == SS_TASK_EXITED && event->tid == event->pid;
    if (event->kind == SS_TASK_EXECED) {
        seen->execs++;
        memcpy(seen->name, event->name, sizeof seen->name);
    }
}

static void the_kernel_reports_the_shortest_process(void **state)
{
    (void)state;
    int go[2];
    assert_int_equal(pipe(go), 0);
    pid_t root = fork();
    if (root == 0) {
        char byte;
        if (read(go[0], &byte, 1) != 1) {
            _exit(1);
        }
        for (int i = 0; i < 50; i++) {
            if (fork() == 0) {
                execl("/bin/true", "true", (char *)NULL);
                _exit(1);
            }
            wait(NULL);
        }
        _exit(0);
    }
    struct ss_task_events *events = NULL;
    struct ss_error err = {0};
    if (ss_task_events_open(root, &events, &err) != SS_OK) {
        print_message("skipped: %s\n", err.message);
        assert_int_equal(write(go[1], "g", 1), 1);
        waitpid(root, NULL, 0);
        skip();
    }
    assert_int_equal(write(go[1], "g", 1), 1);
    waitpid(root, NULL, 0);
    struct seen_events seen = {0};
    ss_task_events_drain(events, count_event, &seen);
    assert_int_equal(seen.forks, 50);
    assert_int_equal(seen.execs, 50);
    assert_int_equal(seen.exits, 51);
    assert_string_equal(seen.name, "true");
    ss_task_events_close(events);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stat_lines_with_odd_names_are_parsed),
        cmocka_unit_test(own_process_is_described),
        cmocka_unit_test(a_command_line_is_whole_and_keeps_no_secret),
        cmocka_unit_test(a_sleeping_thread_has_not_moved_until_it_wakes),
        cmocka_unit_test(a_running_thread_is_on_a_cpu),
        cmocka_unit_test(the_kernel_reports_the_shortest_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
