/* SPDX-License-Identifier: Apache-2.0 */
/* The sampler of a Python process over a real one, which does what the test asks of it; time is a
 * manual clock. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../manual_clock.h"
#include "platform/procfs.h"
#include "source/python_sampler.h"

enum { SECOND_NS = 1000000000 };

/* Answers each line with one. "first": starts a thread that waits. "second": ends it and starts
 * another in its place, whose thread state has the same address. */
static const char program[] =
    "import ctypes, os, sys, threading\n"
    "address = ctypes.pythonapi.PyThreadState_Get\n"
    "address.restype = ctypes.c_void_p\n"
    "def wait_here(place, lock):\n"
    "    place += [address(), threading.get_native_id()]\n"
    "    lock.acquire()\n"
    "def start():\n"
    "    lock, place = threading.Lock(), []\n"
    "    lock.acquire()\n"
    "    thread = threading.Thread(target=wait_here, args=(place, lock), daemon=True)\n"
    "    thread.start()\n"
    "    while len(place) < 2: pass\n"
    "    return thread, lock, place\n"
    "print('ready', flush=True)\n"
    "for line in sys.stdin:\n"
    "    if line == 'first\\n':\n"
    "        thread, lock, place = start()\n"
    "    elif line == 'second\\n':\n"
    "        for _ in range(50):\n"
    "            before = place[0]\n"
    "            lock.release()\n"
    "            thread.join()\n"
    "            thread, lock, place = start()\n"
    "            if place[0] == before: break\n"
    "        else: place[1] = 0\n"
    "    print(place[1], flush=True)\n";

struct target {
    pid_t pid;
    FILE *to, *from;
};

static int ask(const struct target *target, const char *line)
{
    char answer[64] = "";
    if (line != NULL) {
        fprintf(target->to, "%s\n", line);
        fflush(target->to);
    }
    return fgets(answer, sizeof answer, target->from) != NULL ? (int)strtol(answer, NULL, 10) : -1;
}

static void start(struct target *target, const char *code)
{
    int to[2], from[2];
    assert_int_equal(pipe(to), 0);
    assert_int_equal(pipe(from), 0);
    target->pid = fork();
    if (target->pid == 0) {
        dup2(to[0], STDIN_FILENO);
        dup2(from[1], STDOUT_FILENO);
        close(to[1]);
        close(from[0]);
        execlp("python3", "python3", "-S", "-c", code, (char *)NULL);
        _exit(127);
    }
    close(to[0]);
    close(from[1]);
    target->to = fdopen(to[1], "w");
    target->from = fdopen(from[0], "r");
    assert_int_equal(ask(target, NULL), 0); /* "ready" is not a number; -1: no Python here */
}

static void end(struct target *target)
{
    fclose(target->to);
    fclose(target->from);
    waitpid(target->pid, NULL, 0);
}

static void wait_until_asleep(pid_t pid, pid_t tid)
{
    struct ss_procfs_stat stat = {0};
    for (int i = 0; i < 10000000 && stat.state != 'S'; i++) {
        sched_yield();
        assert_true(ss_procfs_stat(pid, tid, &stat));
    }
    assert_int_equal(stat.state, 'S');
}

/* --- a sink that remembers one thread --------------------------------------------------------- */

struct seen {
    pid_t tid;
    uint32_t samples, without_frames, weight, depth;
};

static void on_thread(void *context, const struct ss_sampler_thread *thread)
{
    (void)context;
    (void)thread;
}

static void on_sample(void *context, const struct ss_sampler_sample *sample)
{
    struct seen *seen = context;
    if (sample->thread->tid == seen->tid) {
        seen->samples++;
        seen->weight += sample->weight;
        seen->depth = sample->same_stack ? seen->depth : sample->depth;
        seen->without_frames += seen->depth == 0 ? sample->weight : 0;
    }
}

/* Ten a second. */
static void tick(struct ss_python_sampler *sampler, uint64_t *now_ns, int ticks)
{
    struct ss_error err = {0};
    for (int i = 0; i < ticks; i++) {
        assert_int_equal(ss_python_sampler_tick(sampler, *now_ns, &err), SS_OK);
        *now_ns += SECOND_NS / 10;
    }
}

/* A new thread can be polled before its thread state is known: here, since that has the address of
 * one that has just ended. It sleeps then, and does not move before its stack is read. */
static void a_thread_has_its_stack_once_its_state_is_known(void **state)
{
    (void)state;
    struct target target;
    struct manual_clock clock;
    struct seen seen = {0};
    struct ss_error err = {0};
    struct ss_python_sampler *sampler = NULL;
    struct ss_sampler_sink sink = {.context = &seen, .thread = on_thread, .sample = on_sample};
    manual_clock_init(&clock, SECOND_NS);
    /* The list of thread states is due a step before the list of tasks. */
    clock.step_ns = SECOND_NS / 5;
    sink.clock = &clock.clock;
    start(&target, program);
    wait_until_asleep(target.pid, ask(&target, "first"));
    if (ss_python_sampler_open(target.pid, &sink, &sampler, &err) != SS_OK) {
        print_message("%s\n", err.message);
        end(&target);
        skip();
    }
    uint64_t now_ns = SECOND_NS;
    tick(sampler, &now_ns, 7); /* the thread states are listed anew at 1.5 s, the tasks at 1.7 s */
    seen.tid = ask(&target, "second");
    if (seen.tid == 0) {
        print_message("no thread state was used twice\n");
        ss_python_sampler_close(sampler);
        end(&target);
        skip();
    }
    wait_until_asleep(target.pid, seen.tid);
    tick(sampler, &now_ns, 40);
    ss_python_sampler_close(sampler);
    end(&target);
    assert_true(seen.samples > 0);
    assert_true(seen.depth >= 3); /* _bootstrap, _bootstrap_inner, run, wait_here */
    print_message("%u of %u without frames\n", seen.without_frames, seen.weight);
    assert_true(seen.without_frames < seen.weight / 2);
}

/* A thread's name is in a module that a program which takes long to start imports late. */
static const char late_program[] = "import sys\n"
                                   "assert 'threading' not in sys.modules\n"
                                   "print('ready', flush=True)\n"
                                   "sys.stdin.readline()\n"
                                   "import threading\n"
                                   "print(1, flush=True)\n"
                                   "sys.stdin.readline()\n";

static void on_name(void *context, const struct ss_sampler_thread *thread)
{
    bool *is_named = context;
    *is_named |= strcmp(thread->name, "MainThread") == 0;
}

static void ignore_sample(void *context, const struct ss_sampler_sample *sample)
{
    (void)context;
    (void)sample;
}

static void a_name_that_comes_late_is_found(void **state)
{
    (void)state;
    struct target target;
    struct manual_clock clock;
    bool is_named = false;
    struct ss_error err = {0};
    struct ss_python_sampler *sampler = NULL;
    struct ss_sampler_sink sink = {
        .context = &is_named, .thread = on_name, .sample = ignore_sample, .clock = &clock.clock};
    start(&target, late_program);
    if (ss_python_sampler_open(target.pid, &sink, &sampler, &err) != SS_OK) {
        print_message("%s\n", err.message);
        end(&target);
        skip();
    }
    manual_clock_init(&clock, SECOND_NS);
    int ticks = 0;
    for (; ticks < 1200 && !is_named; ticks++) {
        if (ticks == 300) { /* after 30 s */
            assert_int_equal(ask(&target, ""), 1);
        }
        assert_int_equal(ss_python_sampler_tick(sampler, clock.now.monotonic_ns, &err), SS_OK);
        manual_clock_advance(&clock, SECOND_NS / 10);
    }
    ss_python_sampler_close(sampler);
    end(&target);
    assert_true(ticks > 300);
    assert_true(is_named);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_has_its_stack_once_its_state_is_known),
        cmocka_unit_test(a_name_that_comes_late_is_found),
    };
    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
