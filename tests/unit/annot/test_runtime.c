/* SPDX-License-Identifier: Apache-2.0 */
/* libstepscope and a recorder by hand, both in this test: what a program does comes out of its
 * rings, whatever happens to its threads and processes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "../../fakes/own_recorder.h"
#include <stepscope/stepscope.h>

#include "platform/procfs.h"
#include "ring/page_guard.h"

static int setup(void **state)
{
    struct recorded *recorded = malloc(sizeof *recorded);
    start(recorded, 0, now());
    *state = recorded;
    return 0;
}

static int teardown(void **state)
{
    stop(*state);
    free(*state);
    return 0;
}

/* --- one thread ------------------------------------------------------------------------------ */

static void check_payload(stepscope_payload payload, unsigned type, uint64_t bits)
{
    assert_int_equal(payload.type, type);
    assert_int_equal(payload.bits, bits);
}

static void test_payloads_have_the_type_of_their_value(void **state)
{
    (void)state;
    check_payload(stepscope_payload_uint(UINT64_MAX), STEPSCOPE_UINT, UINT64_MAX);
    check_payload(stepscope_payload_int(-1), STEPSCOPE_INT, UINT64_MAX);
    check_payload(stepscope_payload_double(-2), STEPSCOPE_DOUBLE, UINT64_C(0xc000000000000000));
    check_payload(stepscope_payload_name(7), STEPSCOPE_NAME, 7);
}

static void test_all_calls_arrive(void **state)
{
    struct recorded *recorded = *state;
    stepscope_domain domain = stepscope_domain_get("test");
    stepscope_name name = stepscope_intern("forward", 7);
    stepscope_name size = stepscope_counter("batch", "samples", STEPSCOPE_GAUGE);
    assert_int_not_equal(domain, 0);
    assert_int_equal(domain, stepscope_domain_get("test"));
    assert_int_not_equal(name, 0);
    assert_int_equal(name, stepscope_intern("forward pass", 7));
    assert_int_not_equal(size, name);
    stepscope_name_style(name, 0xff00ff00, "model");
    assert_int_equal(stepscope_push(domain, name), 1);
    assert_int_equal(stepscope_push_payload(0, name, stepscope_payload_int(-3)), 2);
    assert_int_equal(stepscope_pop(0), 1);
    assert_int_equal(stepscope_pop(domain), 0);
    assert_int_equal(stepscope_pop(domain), 0); /* unmatched: counted, not recorded */
    stepscope_mark(0, name);
    stepscope_mark_payload(0, name, stepscope_payload_double(0.5));
    stepscope_id id = stepscope_begin(0, name);
    stepscope_id other = stepscope_begin_payload(0, name, stepscope_payload_name(name));
    assert_true(id != 0 && other != 0 && id != other);
    stepscope_end(id);
    stepscope_end(other);
    stepscope_flow(stepscope_flow_new(), STEPSCOPE_FLOW_START);
    stepscope_count_i(size, 32);
    stepscope_count_f(size, 0.5);
    stepscope_step(3);
    stepscope_epoch(1);
    stepscope_phase(name);
    stepscope_thread_name("worker");
    stepscope_thread_name(""); /* else each later recording would get it */
    stepscope_fact_payload("batch size", stepscope_payload_int(32));
    {
        STEPSCOPE_FUNC();
        STEPSCOPE_RANGE("inner");
        STEPSCOPE_RANGE_IN(domain, "innermost");
    }
    drain(recorded);
    static const uint64_t expected[SS_RING_TYPE_COUNT] = {
        [SS_RING_PUSH] = 5,  [SS_RING_POP] = 5,         [SS_RING_MARK] = 2,  [SS_RING_BEGIN] = 2,
        [SS_RING_END] = 2,   [SS_RING_FLOW] = 1,        [SS_RING_COUNT] = 2, [SS_RING_STEP] = 1,
        [SS_RING_EPOCH] = 1, [SS_RING_THREAD_NAME] = 1, [SS_RING_PHASE] = 1, [SS_RING_FACT] = 1};
    for (int i = 0; i < SS_RING_TYPE_COUNT; i++) {
        assert_int_equal(recorded->by_type[i], expected[i]);
    }
    assert_int_equal(check_sums(recorded), recorded->records);
    assert_int_equal(ss_ring_consumer_count(&recorded->consumer, 0)->unmatched, 1);
    assert_int_equal(recorded->consumer.header->step, 3);
    assert_int_equal(recorded->consumer.header->phase, name);
}

static void test_nothing_happens_without_a_recording(void **state)
{
    (void)state;
    struct recorded recorded;
    start(&recorded, 0, now());
    stop(&recorded);
    open_recorded(&recorded, getpid());
    errno = 77;
    assert_int_equal(stepscope_enabled(STEPSCOPE_ANY), 0);
    assert_int_equal(stepscope_push(0, 1), 0);
    assert_int_equal(stepscope_pop(0), 0);
    assert_true(stepscope_begin(0, 1) == 0);
    assert_int_equal(stepscope_link_.runtime->push(0, 1), 0); /* without reading the gate */
    assert_int_equal(errno, 77);
    close_recorded(&recorded);
}

static void test_ring_that_is_full_drops_and_counts(void **state)
{
    (void)state;
    struct recorded recorded;
    uint64_t count = (1 << SS_RING_DEFAULT_SLOTS_LOG2) + 5000;
    start(&recorded, 0, now());
    for (uint64_t i = 0; i < count; i++) {
        stepscope_mark(0, 1);
    }
    drain(&recorded);
    assert_int_equal(recorded.records, 1 << SS_RING_DEFAULT_SLOTS_LOG2);
    assert_int_equal(check_sums(&recorded), count);
    stop(&recorded);
}

static void test_orphan_closes_its_gate(void **state)
{
    (void)state;
    struct recorded recorded;
    start(&recorded, 0, now());
    atomic_store(&recorded.consumer.header->heartbeat_ns, 1); /* long ago */
    atomic_store(&recorded.consumer.header->heartbeat_timeout_ms, 1);
    uint64_t begin_ns = now();
    while (stepscope_enabled(STEPSCOPE_ANY) && now() - begin_ns < 20000000000) {
        stepscope_mark(0, 1); /* it polls once a second */
    }
    assert_int_equal(stepscope_enabled(STEPSCOPE_ANY), 0);
    assert_true(atomic_load(&recorded.consumer.header->orphaned) > 0);
    atomic_store(&recorded.consumer.header->heartbeat_timeout_ms, 0);
    stop(&recorded);
}

/* --- threads --------------------------------------------------------------------------------- */

static void *name_self(void *context)
{
    struct recorded *recorded = context;
    stepscope_thread_name("first");
    stepscope_thread_name("early"); /* no recording */
    for (uint64_t i = 1; i <= 2; i++) {
        start(recorded, 0, now());
        stepscope_mark(0, 1);
        stepscope_mark(0, 1);
        drain(recorded);
        assert_int_equal(recorded->by_type[SS_RING_THREAD_NAME], 1);
        assert_int_equal(recorded->by_type[SS_RING_MARK], 2);
        stop(recorded);
    }
    start(recorded, 0, now());
    stepscope_thread_name("late"); /* instead, not as well */
    stepscope_mark(0, 1);
    drain(recorded);
    assert_int_equal(recorded->by_type[SS_RING_THREAD_NAME], 1);
    stepscope_thread_name("");
    stop(recorded);
    return NULL;
}

static void test_earlier_names_reach_each_recording(void **state)
{
    (void)state;
    static struct recorded recorded;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, name_self, &recorded), 0);
    pthread_join(thread, NULL);
}

enum { THREADS = 8, ROUNDS = 20, PAIRS = 200 };

static void *make_pairs(void *name)
{
    for (int i = 0; i < PAIRS; i++) {
        stepscope_push(0, *(stepscope_name *)name);
        stepscope_pop(0);
    }
    return NULL;
}

static void test_threads_come_and_go(void **state)
{
    struct recorded *recorded = *state;
    stepscope_name name = stepscope_intern("pair", 4);
    for (int round = 0; round < ROUNDS; round++) {
        pthread_t threads[THREADS];
        for (int i = 0; i < THREADS; i++) {
            assert_int_equal(pthread_create(&threads[i], NULL, make_pairs, &name), 0);
        }
        for (int i = 0; i < THREADS; i++) {
            pthread_join(threads[i], NULL);
        }
        drain(recorded);
    }
    assert_int_equal(recorded->by_type[SS_RING_PUSH], THREADS * ROUNDS * PAIRS);
    assert_int_equal(recorded->by_type[SS_RING_POP], THREADS * ROUNDS * PAIRS);
    assert_int_equal(check_sums(recorded), recorded->records);
    assert_true(recorded->consumer.lanes.count <= 3 * THREADS); /* rings are used again */
}

static stepscope_name late_name;

static void push_late(void *value)
{
    (void)value;
    stepscope_mark(0, late_name);
}

static void *use_key(void *key)
{
    pthread_setspecific(*(pthread_key_t *)key, &late_name);
    stepscope_mark(0, late_name);
    return NULL;
}

static void test_events_of_ending_threads_are_safe(void **state)
{
    struct recorded *recorded = *state;
    pthread_key_t key;
    late_name = stepscope_intern("late", 4);
    assert_int_equal(pthread_key_create(&key, push_late), 0);
    uint64_t before = atomic_load(&recorded->consumer.header->dropped);
    for (int i = 0; i < 10; i++) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, use_key, &key), 0);
        pthread_join(thread, NULL);
    }
    drain(recorded);
    uint64_t dropped = atomic_load(&recorded->consumer.header->dropped) - before;
    assert_int_equal(recorded->by_type[SS_RING_MARK] + dropped, 20);
    pthread_key_delete(key);
}

/* --- signals --------------------------------------------------------------------------------- */

static volatile sig_atomic_t handled;
static stepscope_name handler_name;

static void on_signal(int number)
{
    (void)number;
    stepscope_push(0, handler_name);
    stepscope_count_i(handler_name, 1);
    stepscope_pop(0);
    handled++;
}

/* Deliveries at any instruction of push and pop. */
static void test_signal_handlers_may_interrupt_anything(void **state)
{
    struct recorded *recorded = *state;
    handler_name = stepscope_intern("handler", 7);
    stepscope_name name = stepscope_intern("interrupted", 11);
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART}, old;
    assert_int_equal(sigaction(SIGRTMIN, &action, &old), 0);
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN};
    assert_int_equal(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
    struct itimerspec often = {{0, 50000}, {0, 50000}};
    assert_int_equal(timer_settime(timer, 0, &often, NULL), 0);
    uint64_t pairs = 0, begin_ns = now();
    uint64_t before = atomic_load(&recorded->consumer.header->dropped);
    handled = 0;
    while ((handled < 500 || pairs < 10000) && now() - begin_ns < 20000000000) {
        for (int i = 0; i < 100; i++, pairs++) {
            stepscope_push(0, name);
            stepscope_pop(0);
        }
        drain(recorded);
    }
    timer_delete(timer);
    sigaction(SIGRTMIN, &old, NULL);
    drain(recorded);
    assert_true(handled > 0);
    /* A handler that came while its thread set up its ring was refused, all of it, and counted. */
    uint64_t refused = atomic_load(&recorded->consumer.header->dropped) - before;
    assert_int_equal(check_sums(recorded) + refused, 2 * pairs + 3 * (uint64_t)handled);
    assert_int_equal(recorded->by_type[SS_RING_COUNT] + refused / 3, handled);
    assert_int_equal(recorded->by_type[SS_RING_PUSH] + refused / 3, pairs + (uint64_t)handled);
}

/* --- processes ------------------------------------------------------------------------------- */

static void leave(int generation);

static void have_children(int children, int generation)
{
    for (int i = 0; i < children; i++) {
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            leave(generation);
        }
    }
}

/* What a child does: its own pairs, and children of its own. */
static void leave(int generation)
{
    make_pairs(&late_name);
    if (generation > 1) {
        have_children(2, generation - 1);
    }
    while (wait(NULL) > 0) {
    }
    _exit(0);
}

static void test_forked_children_have_rings_of_their_own(void **state)
{
    struct recorded *recorded = *state;
    late_name = stepscope_intern("in a child", 10);
    make_pairs(&late_name);
    have_children(8, 2);
    while (wait(NULL) > 0) {
    }
    make_pairs(&late_name);
    drain(recorded);
    assert_int_equal(recorded->records, 4 * PAIRS); /* no child wrote into ours */
    DIR *entries = opendir(folder);
    int files = 0, grandchildren = 0;
    uint64_t pushes = 0;
    for (struct dirent *entry; (entry = readdir(entries)) != NULL;) {
        pid_t pid;
        uint64_t start_time;
        if (!ss_ring_file_parse_name(entry->d_name, &pid, &start_time) || pid == getpid()) {
            continue;
        }
        struct recorded child;
        open_recorded(&child, pid);
        drain(&child);
        assert_int_equal(check_sums(&child), 2 * PAIRS);
        assert_int_equal(child.consumer.header->pid, pid);
        grandchildren += child.consumer.header->generation == 2;
        pushes += child.by_type[SS_RING_PUSH];
        files++;
        close_recorded(&child);
    }
    if (entries != NULL) {
        closedir(entries);
    }
    assert_int_equal(files, 8 + 16);
    assert_int_equal(grandchildren, 16);
    assert_int_equal(pushes, 24 * PAIRS);
}

/* Without the fork handlers of the C library. */
static void test_raw_fork_is_noticed(void **state)
{
    struct recorded *recorded = *state;
    stepscope_mark(0, 1);
    pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (pid == 0) {
        stepscope_mark(0, 1);
        stepscope_mark(0, 1);
        _exit(0);
    }
    waitpid(pid, NULL, 0);
    drain(recorded);
    assert_int_equal(recorded->records, 1);
    struct recorded child;
    open_recorded(&child, pid);
    drain(&child);
    assert_int_equal(child.records, 2);
    close_recorded(&child);
}

static void test_records_survive_a_kill(void **state)
{
    (void)state;
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        stepscope_push(0, 1);
        for (int i = 0; i < 1000; i++) {
            stepscope_mark(0, 1);
        }
        if (write(ready[1], "r", 1) == 1) {
            pause();
        }
        _exit(1);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    struct recorded child;
    open_recorded(&child, pid);
    drain(&child);
    assert_int_equal(child.records, 1001);
    struct ss_ring_live_copy live;
    assert_true(ss_ring_read_live(child.consumer.lanes.data[0].thread, &live));
    assert_int_equal(live.depth, 1);
    assert_int_equal(live.range[0].name, 1);
    close_recorded(&child);
    close(ready[0]);
    close(ready[1]);
}

static struct sigaction guard_action; /* cmocka replaces it before each test */

static void set_up_guard(void)
{
    static char page[1];
    ss_page_guard_add(page, sizeof page);
    sigaction(SIGBUS, NULL, &guard_action);
}

/* A program that cuts its own file harms itself alone. */
static void test_file_cut_under_the_recorder(void **state)
{
    (void)state;
    sigaction(SIGBUS, &guard_action, NULL);
    pid_t pid = fork();
    if (pid == 0) {
        make_pairs(&late_name);
        _exit(0);
    }
    waitpid(pid, NULL, 0);
    char path[512];
    struct recorded child;
    open_recorded(&child, pid);
    ss_ring_consumer_refresh(&child.consumer);
    assert_true(find_file(pid, path, sizeof path));
    assert_int_equal(truncate(path, 0), 0);
    drain(&child);
    assert_int_equal(child.records, 0);
    close_recorded(&child);
}

/* --- notices of a recorder to the program ---------------------------------------------------- */

static void notify_program(const char *text)
{
    char path[512];
    assert_true(find_file(getpid(), path, sizeof path));
    strcpy(strrchr(path, '.'), SS_RING_SEALED_SUFFIX);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

/* Once the main thread sleeps, which it does only to wait for this. */
static void *notify_later(void *text)
{
    struct ss_procfs_stat stat = {0};
    while (!ss_procfs_stat(getpid(), getpid(), &stat) || stat.state != 'S') {
        sched_yield();
    }
    notify_program(text);
    return NULL;
}

static void test_program_hears_of_sealed_windows(void **state)
{
    (void)state;
    struct stepscope_sealed sealed = {.size = sizeof sealed};
    assert_int_equal(stepscope_wait_sealed(0, 1, &sealed), 0);
    notify_program("0 5 7 0 /tmp/a b.pftrace\n1 9 9 1 /tmp/hal");
    assert_int_equal(stepscope_wait_sealed(0, 0, &sealed), 1);
    assert_int_equal(sealed.window, 0);
    assert_int_equal(sealed.first_step, 5);
    assert_int_equal(sealed.last_step, 7);
    assert_int_equal(sealed.flags, 0);
    assert_string_equal(sealed.path, "/tmp/a b.pftrace");
    assert_int_equal(stepscope_wait_sealed(1, 1, &sealed), 0); /* half a line does not count */
    pthread_t thread;
    char rest[] = "f.json\nend\n";
    assert_int_equal(pthread_create(&thread, NULL, notify_later, rest), 0);
    assert_int_equal(stepscope_wait_sealed(1, 60000, &sealed), 1);
    pthread_join(thread, NULL);
    assert_int_equal(sealed.flags, STEPSCOPE_SEALED_PARTIAL);
    assert_string_equal(sealed.path, "/tmp/half.json");
    assert_int_equal(stepscope_wait_sealed(0, 0, &sealed), 1);
    assert_int_equal(stepscope_wait_sealed(2, 60000, &sealed), -1);
}

static void test_waiting_ends_with_the_recorder(void **state)
{
    (void)state;
    struct stepscope_sealed sealed = {.size = sizeof sealed};
    struct recorded silent;
    start(&silent, 0, 1); /* heard of long ago */
    assert_int_equal(stepscope_wait_sealed(1000, 60000, &sealed), -1);
    assert_int_equal(stepscope_flush(60000), -1);
    close_recorded(&silent);
}

static void test_flush_waits_for_the_recorder(void **state)
{
    struct recorded *recorded = *state;
    assert_int_equal(stepscope_flush(1), 0);
    struct ss_ring_header *header = recorded->consumer.header;
    atomic_store(&header->flush_done, atomic_load(&header->flush_wanted) + 1);
    assert_int_equal(stepscope_flush(60000), 1);
}

static void test_program_brings_its_schedule(void **state)
{
    struct recorded *recorded = *state;
    const struct ss_ring_header *header = recorded->consumer.header;
    assert_int_equal(stepscope_schedule("wait=1,wait"), -1);
    assert_int_equal(atomic_load(&header->scheduled), 0);
    assert_int_equal(stepscope_schedule("wait=1,active=2,repeat=1"), 0);
    assert_int_equal(atomic_load(&header->scheduled), 1);
    assert_int_equal(atomic_load(&header->window), 0);
    stepscope_next_step();
    assert_int_equal(atomic_load(&header->window), 1);
    assert_int_equal(stepscope_schedule("active=1"), 0); /* cuts it, and begins at once */
    assert_int_equal(atomic_load(&header->window), 2);
    assert_int_equal(stepscope_schedule(NULL), 0);
    assert_int_equal(atomic_load(&header->window), 0);
    stepscope_next_step();
    assert_int_equal(atomic_load(&header->window), 0);
    assert_int_equal(atomic_load(&header->scheduled), 3);
    drain(recorded);
    assert_int_equal(recorded->by_type[SS_RING_WINDOW], 4);
    assert_int_equal(check_sums(recorded), recorded->records);
}

struct window_reader {
    const struct ss_ring_header *header;
    uint32_t first_window;
    int64_t first_step; /* of the first window */
    _Atomic bool is_over;
    _Atomic uint64_t reads; /* in a window */
    uint64_t wrong;         /* with a step that does not lie in the window */
};

/* The schedule wait=1,active=1: every second step has a window. */
static void *read_steps_of_windows(void *context)
{
    struct window_reader *reader = context;
    while (!atomic_load(&reader->is_over)) {
        uint32_t window;
        int64_t step = ss_ring_read_step(reader->header, &window);
        if (window != 0) {
            atomic_fetch_add(&reader->reads, 1);
            reader->wrong +=
                step != reader->first_step + 2 * (int64_t)(window - reader->first_window);
        }
    }
    return NULL;
}

static void test_a_step_is_read_with_its_window(void **state)
{
    struct recorded *recorded = *state;
    struct window_reader reader = {.header = recorded->consumer.header};
    pthread_t thread;
    assert_int_equal(stepscope_schedule("wait=1,active=1"), 0);
    stepscope_next_step();
    reader.first_step = ss_ring_read_step(reader.header, &reader.first_window);
    assert_int_not_equal(reader.first_window, 0);
    assert_int_equal(pthread_create(&thread, NULL, read_steps_of_windows, &reader), 0);
    for (int i = 0; i < 300000 || atomic_load(&reader.reads) < 100000; i++) {
        stepscope_next_step();
    }
    atomic_store(&reader.is_over, true);
    pthread_join(thread, NULL);
    assert_int_equal(reader.wrong, 0);
}

int main(int argc, char **argv)
{
    (void)argc;
    if (own_recorder_begin(argv) != 0) {
        return 1;
    }
    set_up_guard();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_payloads_have_the_type_of_their_value),
        cmocka_unit_test_setup_teardown(test_all_calls_arrive, setup, teardown),
        cmocka_unit_test(test_nothing_happens_without_a_recording),
        cmocka_unit_test(test_ring_that_is_full_drops_and_counts),
        cmocka_unit_test(test_orphan_closes_its_gate),
        cmocka_unit_test(test_earlier_names_reach_each_recording),
        cmocka_unit_test_setup_teardown(test_threads_come_and_go, setup, teardown),
        cmocka_unit_test_setup_teardown(test_events_of_ending_threads_are_safe, setup, teardown),
        cmocka_unit_test_setup_teardown(test_signal_handlers_may_interrupt_anything, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_forked_children_have_rings_of_their_own, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_raw_fork_is_noticed, setup, teardown),
        cmocka_unit_test_setup_teardown(test_records_survive_a_kill, setup, teardown),
        cmocka_unit_test_setup_teardown(test_file_cut_under_the_recorder, setup, teardown),
        cmocka_unit_test_setup_teardown(test_program_hears_of_sealed_windows, setup, teardown),
        cmocka_unit_test(test_waiting_ends_with_the_recorder),
        cmocka_unit_test_setup_teardown(test_flush_waits_for_the_recorder, setup, teardown),
        cmocka_unit_test_setup_teardown(test_program_brings_its_schedule, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_step_is_read_with_its_window, setup, teardown),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    own_recorder_end();
    return failed;
}
