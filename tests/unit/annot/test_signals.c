/* SPDX-License-Identifier: Apache-2.0 */
/* Signal handlers that annotate, at every moment: within other events, within fork, on threads
 * without a ring, on stacks of their own, and such as never return. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "../../fakes/own_recorder.h"
#include <stepscope/stepscope.h>

enum { PATIENCE_S = 100, THREADS = 4, TICKS = 1000, TICK_NS = 100000, SMALL_LOG2 = 6 };

static stepscope_name outer, inner;

static void begin_with(struct recorded *recorded, uint32_t slots_log2)
{
    alarm(PATIENCE_S); /* a thread that waits for itself is killed */
    start(recorded, slots_log2, now());
    outer = stepscope_intern("outer", 5);
    inner = stepscope_intern("inner", 5);
}

static uint64_t unbuffered_events(const struct recorded *recorded)
{
    return atomic_load(&recorded->consumer.header->dropped);
}

/* --- a timer of each thread ------------------------------------------------------------------- */

static _Thread_local volatile uint64_t handled;
static _Thread_local volatile sig_atomic_t nests;

static void on_tick(int number)
{
    int saved = errno;
    stepscope_push(0, inner);
    stepscope_count_i(inner, 1);
    if (number == SIGRTMIN && nests++ % 16 == 0) {
        raise(SIGRTMIN + 1); /* a handler within a handler */
    }
    stepscope_pop(0);
    handled += 3;
    errno = saved;
}

static void catch_ticks(void)
{
    struct sigaction action = {.sa_handler = on_tick, .sa_flags = SA_RESTART};
    sigaction(SIGRTMIN, &action, NULL);
    sigaction(SIGRTMIN + 1, &action, NULL);
}

static timer_t tick_this_thread(void)
{
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMIN};
    event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
    assert_int_equal(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
    struct itimerspec often = {{0, TICK_NS}, {0, TICK_NS}};
    timer_settime(timer, 0, &often, NULL);
    return timer;
}

static void *work_among_ticks(void *made)
{
    uint64_t pairs = 0;
    timer_t timer = tick_this_thread();
    uint64_t begin_ns = now();
    while (handled < (uint64_t)3 * TICKS && now() - begin_ns < (uint64_t)20 * 1000000000) {
        for (int i = 0; i < 50; i++, pairs++) {
            stepscope_push(0, outer);
            stepscope_count_i(outer, i);
            stepscope_pop(0);
        }
    }
    timer_delete(timer);
    *(uint64_t *)made = 3 * pairs + handled;
    return NULL;
}

/* Rings of 64 slots: they are full most of the time, where handlers find slots given back, tails
 * that moved, and room that their thread had not seen. */
static void test_storms_on_threads_with_full_rings(void **state)
{
    (void)state;
    struct recorded recorded;
    pthread_t threads[THREADS];
    uint64_t made[THREADS], all = 0, unbuffered_processes;
    begin_with(&recorded, SMALL_LOG2);
    unbuffered_processes = unbuffered_events(&recorded);
    catch_ticks();
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, work_among_ticks, &made[i]), 0);
    }
    for (int ended = 0; ended < THREADS;) {
        /* Not the last word: what a handler interrupted is written when it returns. */
        static struct ss_ring_record records[BATCH];
        ss_ring_consumer_refresh(&recorded.consumer);
        for (uint32_t i = 0; i < recorded.consumer.lanes.count; i++) {
            recorded.records += ss_ring_consumer_read(&recorded.consumer, i, records, BATCH, false);
        }
        if (pthread_tryjoin_np(threads[ended], NULL) == 0) {
            all += made[ended++];
        }
        sched_yield();
    }
    drain(&recorded);
    unbuffered_processes = unbuffered_events(&recorded) - unbuffered_processes;
    uint64_t dropped = 0;
    for (uint32_t i = 0; i < recorded.consumer.lanes.count; i++) {
        const struct ss_ring_counts *counts = ss_ring_consumer_count(&recorded.consumer, i);
        assert_int_equal(counts->torn, 0);
        assert_int_equal(counts->damaged, 0);
        dropped += counts->dropped + counts->unmatched;
    }
    assert_int_equal(recorded.records + dropped + unbuffered_processes, all);
    alarm(0);
    stop(&recorded);
}

/* --- within fork ------------------------------------------------------------------------------ */

static volatile sig_atomic_t raises_in_fork;

static void raise_in_fork(void)
{
    if (raises_in_fork) {
        raise(SIGRTMIN);
    }
}

static void register_first(void)
{
    pthread_atfork(raise_in_fork, NULL, NULL);
}

/* Before the library's constructor: what is registered first is called last before the fork, when
 * the library has taken its lock. */
__attribute__((section(".preinit_array"),
               used)) static void (*const before_all)(void) = register_first;

static void *fork_without_a_ring(void *unused)
{
    raises_in_fork = 1;
    pid_t pid = fork();
    if (pid == 0) {
        stepscope_mark(0, inner);
        _exit(0);
    }
    raises_in_fork = 0;
    waitpid(pid, NULL, 0);
    return unused;
}

/* The handler's first event wants the lock that its thread holds for the fork. */
static void test_handler_within_fork(void **state)
{
    (void)state;
    struct recorded recorded;
    pthread_t thread;
    sigset_t mask;
    begin_with(&recorded, 0);
    catch_ticks();
    nests = 1;
    assert_int_equal(pthread_create(&thread, NULL, fork_without_a_ring, NULL), 0);
    pthread_join(thread, NULL);
    fork_without_a_ring(NULL);
    drain(&recorded);
    assert_int_equal(recorded.by_type[SS_RING_PUSH], recorded.by_type[SS_RING_POP]);
    assert_true(recorded.by_type[SS_RING_PUSH] >= 2);
    pthread_sigmask(SIG_BLOCK, NULL, &mask);
    assert_false(sigismember(&mask, SIGRTMIN));
    alarm(0);
    stop(&recorded);
}

/* --- handlers that do not return ---------------------------------------------------------------
 */

static sigjmp_buf out;
static volatile sig_atomic_t may_jump;

static void on_jump(int number)
{
    (void)number;
    if (may_jump) {
        may_jump = 0;
        siglongjmp(out, 1);
    }
}

/* Out of the setting up of a ring, out of new names, out of anything. */
static void test_handlers_that_jump_away(void **state)
{
    (void)state;
    struct recorded recorded;
    struct sigaction action = {.sa_handler = on_jump};
    static volatile int jumps, names;
    char text[32];
    begin_with(&recorded, 0);
    sigaction(SIGRTMIN, &action, NULL);
    timer_t timer = tick_this_thread();
    uint64_t begin_ns = now();
    jumps = names = 0;
    while (jumps < 300 && now() - begin_ns < (uint64_t)20 * 1000000000) {
        if (sigsetjmp(out, 1) != 0) {
            jumps++;
        }
        may_jump = 1;
        for (;;) {
            names = names + 1;
            int length = snprintf(text, sizeof text, "jumped %d", names % 20000);
            stepscope_push(0, stepscope_intern(text, (size_t)length));
            stepscope_pop(0);
            if (jumps >= 300 || now() - begin_ns > (uint64_t)20 * 1000000000) {
                break;
            }
        }
        may_jump = 0;
    }
    timer_delete(timer);
    assert_true(jumps > 0);
    assert_int_not_equal(stepscope_intern("after all jumps", 15), 0);
    drain(&recorded);
    check_sums(&recorded);
    alarm(0);
    stop(&recorded);
}

static void on_end(int number)
{
    (void)number;
    stepscope_mark(0, inner);
    pthread_exit(NULL);
}

static void *push_until_ended(void *unused)
{
    timer_t timer = tick_this_thread();
    (void)timer;
    for (;;) {
        stepscope_push(0, outer);
        stepscope_pop(0);
    }
    return unused;
}

#if defined(__SANITIZE_THREAD__)
static const bool is_tsan = true;
#else
static const bool is_tsan;
#endif

/* A thread that ends within an event leaves a ring that others can use. */
static void test_handlers_that_end_their_thread(void **state)
{
    (void)state;
    struct recorded recorded;
    struct sigaction action = {.sa_handler = on_end};
    if (is_tsan) {
        print_message("ThreadSanitizer calls handlers later, in places that must not end\n");
        skip();
    }
    begin_with(&recorded, 0);
    sigaction(SIGRTMIN, &action, NULL);
    for (int i = 0; i < 100; i++) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, push_until_ended, NULL), 0);
        pthread_join(thread, NULL);
        drain(&recorded);
    }
    check_sums(&recorded);
    assert_true(recorded.by_type[SS_RING_MARK] > 0);
    assert_in_range(recorded.consumer.lanes.count, 1, 50);
    alarm(0);
    stop(&recorded);
}

/* --- first events in handlers ------------------------------------------------------------------
 */

static void *raise_on_own_stack(void *unused)
{
    static _Alignas(16) char memory[64 << 10];
    stack_t stack = {.ss_sp = memory, .ss_size = sizeof memory}, none = {.ss_flags = SS_DISABLE};
    sigaltstack(&stack, NULL);
    raise(SIGUSR1);
    raise(SIGUSR1);
    sigaltstack(&none, NULL);
    return unused;
}

static void test_first_event_in_a_handler_on_its_own_stack(void **state)
{
    (void)state;
    struct recorded recorded;
    struct sigaction action = {.sa_handler = on_tick, .sa_flags = SA_ONSTACK};
    pthread_t thread;
    begin_with(&recorded, 0);
    sigaction(SIGUSR1, &action, NULL);
    assert_int_equal(pthread_create(&thread, NULL, raise_on_own_stack, NULL), 0);
    pthread_join(thread, NULL);
    drain(&recorded);
    assert_int_equal(recorded.records, 6);
    alarm(0);
    stop(&recorded);
}

int main(int argc, char **argv)
{
    (void)argc;
    if (own_recorder_begin(argv) != 0) {
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_handler_within_fork),
        cmocka_unit_test(test_first_event_in_a_handler_on_its_own_stack),
        cmocka_unit_test(test_handlers_that_jump_away),
        cmocka_unit_test(test_handlers_that_end_their_thread),
        /* Last: the others would get its small rings. */
        cmocka_unit_test(test_storms_on_threads_with_full_rings),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    own_recorder_end();
    return failed;
}
