/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#define IMAGE_BYTES (1 << 20)
#include "../../fakes/cpython_image.h"

static uint8_t memory[IMAGE_BYTES];

enum {
    PTHREAD_BYTES = 2304, /* of struct pthread, as far as it is searched */
    TID_OFFSET = 720,     /* as in glibc's */
    MANY = 1300,          /* more than two fetches of thread states */
    MAX_TID = 1 << 22,
};

struct fixture {
    struct image image;
    struct ss_python *python;
    struct ss_python_options options;
    uint64_t tstates[MANY];
    size_t count;
    uint64_t removed[4]; /* their thread states */
    size_t removed_count;
};

static void begin(struct fixture *fixture, uint16_t version)
{
    memset(fixture, 0, sizeof *fixture);
    fixture->options.size = sizeof fixture->options;
    struct image *image = &fixture->image;
    image_build(image, ss_cpython_layout_get(version, false, false), memory);
    uint64_t code = image_code(image, "f", 1);
    for (int i = 0; i < 3; i++) {
        image_push(image, code, 5);
    }
    fixture->tstates[fixture->count++] = image->tstate;
}

static void open(struct fixture *fixture)
{
    struct ss_python_location location = image_location(&fixture->image);
    struct ss_error err = {0};
    if (ss_python_open(&fixture->image.reader, &location, &fixture->options, &fixture->python,
                       &err) != SS_OK) {
        fail_msg("%s", err.message);
    }
}

static void end(struct fixture *fixture)
{
    ss_python_close(fixture->python);
}

static void on_removed(void *context, struct ss_python_thread *thread)
{
    struct fixture *fixture = context;
    assert_true(fixture->removed_count < 4);
    fixture->removed[fixture->removed_count++] = thread->tstate_address;
}

static void update(struct fixture *fixture, bool force)
{
    struct ss_error err;
    fixture->removed_count = 0;
    assert_int_equal(ss_python_update_threads(fixture->python, force, on_removed, fixture, &err),
                     SS_OK);
}

/* Reads of one update, which need not walk the list. */
static uint64_t reads_of_update(struct fixture *fixture)
{
    uint64_t before = fixture->image.reader.syscalls;
    update(fixture, false);
    return fixture->image.reader.syscalls - before;
}

static uint64_t new_tstate(struct image *image, uint64_t interpreter, uint64_t pthread,
                           uint64_t tid)
{
    const struct ss_cpython_layout *layout = image->layout;
    uint64_t tstate = image_alloc(image, (uint64_t)layout->tstate_size);
    assert_true(tstate != 0);
    image_put_word(image, tstate, layout->tstate_interp, interpreter);
    image_put_word(image, tstate, layout->tstate_thread_id, pthread);
    image_put_word(image, tstate, layout->tstate_native_thread_id, tid);
    return tstate;
}

/* Puts a new thread state before the others of an interpreter, as CPython does. */
static void link_tstate(struct image *image, uint64_t interpreter, uint64_t tstate)
{
    const struct ss_cpython_layout *layout = image->layout;
    image_put_word(image, tstate, layout->tstate_next,
                   image_word(image, interpreter, layout->interp_threads_head));
    image_put_word(image, interpreter, layout->interp_threads_head, tstate);
}

static uint64_t start_thread(struct fixture *fixture, uint64_t pthread, uint64_t tid)
{
    struct image *image = &fixture->image;
    uint64_t tstate = new_tstate(image, image->interpreter, pthread, tid);
    link_tstate(image, image->interpreter, tstate);
    fixture->tstates[fixture->count++] = tstate;
    return tstate;
}

static const struct ss_python_thread *thread_of(struct fixture *fixture, uint64_t tstate)
{
    for (size_t i = 0; i < ss_python_thread_count(fixture->python); i++) {
        const struct ss_python_thread *thread = ss_python_thread_at(fixture->python, i);
        if (thread->tstate_address == tstate) {
            return thread;
        }
    }
    fail_msg("no thread has the state %#llx", (unsigned long long)tstate);
    return NULL;
}

/* --- kernel thread ids of 3.8 to 3.10 --- */

static uint64_t make_pthread(struct image *image, int32_t tid)
{
    uint64_t pthread = image_alloc(image, PTHREAD_BYTES);
    image_put(image, pthread, TID_OFFSET, (uint32_t)tid, 4);
    return pthread;
}

static void old_versions_have_the_tid_in_struct_pthread(void **state)
{
    (void)state;
    for (uint16_t version = 0x0308; version <= 0x030a; version++) {
        struct fixture fixture;
        begin(&fixture, version);
        struct image *image = &fixture.image;
        uint64_t own = make_pthread(image, IMAGE_PID);
        image_put(image, own, 0, IMAGE_PID, 4); /* the first word is a pointer, never the tid */
        image_put_word(image, image->tstate, image->layout->tstate_thread_id, own);
        uint64_t second = start_thread(&fixture, make_pthread(image, MAX_TID), 0);
        uint64_t third = start_thread(&fixture, make_pthread(image, MAX_TID + 1), 0);
        uint64_t fourth = start_thread(&fixture, make_pthread(image, -5), 0);
        uint64_t fifth = start_thread(&fixture, IMAGE_BASE + IMAGE_BYTES, 0); /* not mapped */
        open(&fixture);
        assert_int_equal(thread_of(&fixture, image->tstate)->tid, IMAGE_PID);
        assert_true(thread_of(&fixture, image->tstate)->is_main);
        assert_int_equal(thread_of(&fixture, second)->tid, MAX_TID);
        assert_int_equal(thread_of(&fixture, third)->tid, 0);
        assert_int_equal(thread_of(&fixture, fourth)->tid, 0);
        assert_int_equal(thread_of(&fixture, fifth)->tid, 0);
        assert_false(thread_of(&fixture, second)->is_main);
        /* One that was unknown is read again, one that is known is not. */
        image_put(image, thread_of(&fixture, third)->pthread, TID_OFFSET, 77, 4);
        image_put(image, thread_of(&fixture, second)->pthread, TID_OFFSET, 78, 4);
        update(&fixture, true);
        assert_int_equal(thread_of(&fixture, third)->tid, 77);
        assert_int_equal(thread_of(&fixture, second)->tid, MAX_TID);
        end(&fixture);
    }
}

static void the_pid_of_a_namespace_finds_the_tid(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture, 0x030a);
    struct image *image = &fixture.image;
    uint64_t own = make_pthread(image, 12);
    image_put_word(image, image->tstate, image->layout->tstate_thread_id, own);
    uint64_t second = start_thread(&fixture, make_pthread(image, 13), 0);
    fixture.options.pid_in_namespace = 12;
    open(&fixture);
    assert_int_equal(thread_of(&fixture, image->tstate)->tid, 12);
    assert_int_equal(thread_of(&fixture, second)->tid, 13);
    end(&fixture);
}

static int32_t known_tid(void *context, uint64_t pthread)
{
    return pthread == *(uint64_t *)context ? 99 : 0;
}

static void the_caller_may_know_the_tid(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture, 0x030a);
    struct image *image = &fixture.image;
    image_put_word(image, image->tstate, image->layout->tstate_thread_id,
                   make_pthread(image, IMAGE_PID));
    uint64_t asked = make_pthread(image, 31);
    uint64_t second = start_thread(&fixture, asked, 0);
    fixture.options.tid_of_pthread = known_tid;
    fixture.options.context = &asked;
    open(&fixture);
    assert_int_equal(thread_of(&fixture, second)->tid, 99);
    assert_int_equal(thread_of(&fixture, image->tstate)->tid, IMAGE_PID); /* it does not */
    end(&fixture);
}

static void a_tid_beyond_the_kernels_limit_is_unknown(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture, 0x030b);
    uint64_t last = start_thread(&fixture, 0x100, MAX_TID);
    uint64_t beyond = start_thread(&fixture, 0x200, MAX_TID + 1);
    open(&fixture);
    assert_int_equal(thread_of(&fixture, last)->tid, MAX_TID);
    assert_int_equal(thread_of(&fixture, beyond)->tid, 0);
    end(&fixture);
}

/* --- the list --- */

static void threads_are_oldest_first_and_only_one_is_main(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture, 0x030b);
    for (size_t i = 1; i < 5; i++) {
        start_thread(&fixture, 0x100 * i, 100 + i);
    }
    open(&fixture);
    assert_int_equal(ss_python_thread_count(fixture.python), 5);
    for (size_t i = 0; i < 5; i++) {
        const struct ss_python_thread *thread = ss_python_thread_at(fixture.python, i);
        assert_int_equal(thread->tstate_address, fixture.tstates[i]);
        assert_int_equal(thread->is_main, i == 0);
    }
    end(&fixture);
}

/* Thousands of known thread states come in a few reads, in whatever order they were created. */
static void many_known_threads_take_few_reads(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture, 0x030b);
    for (size_t i = 1; i < MANY; i++) {
        start_thread(&fixture, 0x10000 + 0x40 * i, 100 + i);
    }
    open(&fixture);
    assert_int_equal(ss_python_thread_count(fixture.python), MANY);
    start_thread(&fixture, 0x40, 50);
    fixture.count--;
    uint64_t before = fixture.image.reader.syscalls, ranges = fixture.image.ranges;
    update(&fixture, true);
    /* Two for the interpreters, three for the known states, one for the new one. */
    assert_int_equal(fixture.image.reader.syscalls - before, 6);
    assert_int_equal(fixture.image.ranges - ranges, 3 + MANY + 1);
    assert_int_equal(ss_python_thread_count(fixture.python), MANY + 1);
    assert_int_equal(ss_python_thread_at(fixture.python, MANY)->tid, 50);
    assert_int_equal(reads_of_update(&fixture), 1);
    end(&fixture);
}

static void two_known_threads_take_one_read(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture, 0x030b);
    start_thread(&fixture, 0x100, 7);
    open(&fixture);
    uint64_t before = fixture.image.reader.syscalls;
    update(&fixture, true);
    assert_int_equal(fixture.image.reader.syscalls - before, 3);
    end(&fixture);
}

static void an_ended_thread_is_removed_and_the_others_stay(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture, 0x030b);
    struct image *image = &fixture.image;
    for (size_t i = 1; i < 4; i++) {
        start_thread(&fixture, 0x100 * i, 100 + i);
    }
    open(&fixture);
    struct ss_python_thread *kept = ss_python_thread_at(fixture.python, 3);
    kept->user = &fixture;
    image_put_word(image, fixture.tstates[3], image->layout->tstate_next, fixture.tstates[1]);
    uint32_t round = ss_python_thread_round(fixture.python);
    update(&fixture, true);
    assert_int_equal(ss_python_thread_round(fixture.python), round + 1);
    assert_int_equal(fixture.removed_count, 1);
    assert_int_equal(fixture.removed[0], fixture.tstates[2]);
    assert_int_equal(ss_python_thread_count(fixture.python), 3);
    assert_ptr_equal(ss_python_thread_at(fixture.python, 2), kept);
    assert_ptr_equal(kept->user, &fixture);
    end(&fixture);
}

/* The same address, another thread: the old one ended, and nothing of it is left. */
static void a_reused_thread_state_is_another_thread(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture, 0x030b);
    struct image *image = &fixture.image;
    uint64_t second = start_thread(&fixture, 0x100, 7);
    open(&fixture);
    ss_python_thread_at(fixture.python, 1)->user = &fixture;
    image_put_word(image, second, image->layout->tstate_thread_id, 0x200);
    image_put_word(image, second, image->layout->tstate_native_thread_id, 8);
    update(&fixture, true);
    assert_int_equal(fixture.removed_count, 1);
    assert_int_equal(ss_python_thread_count(fixture.python), 2);
    assert_null(thread_of(&fixture, second)->user);
    assert_int_equal(thread_of(&fixture, second)->tid, 8);
    end(&fixture);
}

/* A new thread has its parent's ids until it runs; the next update reads it again. */
static void new_threads_count_once_they_run(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture, 0x030b);
    struct image *image = &fixture.image;
    start_thread(&fixture, 0x100, 7);
    uint64_t first = start_thread(&fixture, 0x100, 7), next = start_thread(&fixture, 0x100, 7);
    uint64_t other = start_thread(&fixture, 0x50, 9);
    open(&fixture);
    assert_int_equal(ss_python_thread_count(fixture.python), 3);
    assert_int_equal(thread_of(&fixture, fixture.tstates[1])->tid, 7);
    assert_int_equal(thread_of(&fixture, other)->tid, 9);
    image_put_word(image, first, image->layout->tstate_thread_id, 0x300);
    image_put_word(image, next, image->layout->tstate_thread_id, 0x400);
    update(&fixture, false); /* though the heads are the same */
    assert_int_equal(ss_python_thread_count(fixture.python), 5);
    assert_int_equal(reads_of_update(&fixture), 1);
    end(&fixture);
}

static void a_list_that_is_a_circle_ends(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture, 0x030b);
    struct image *image = &fixture.image;
    for (size_t i = 1; i < 6; i++) {
        start_thread(&fixture, 0x100 * i, 100 + i);
    }
    open(&fixture);
    image_put_word(image, image->tstate, image->layout->tstate_next, fixture.tstates[3]);
    update(&fixture, true);
    assert_in_range(ss_python_thread_count(fixture.python), 1, 6);
    image_put_word(image, image->tstate, image->layout->tstate_next, 0);
    update(&fixture, false); /* what was read in part is read again */
    assert_int_equal(ss_python_thread_count(fixture.python), 6);
    assert_int_equal(reads_of_update(&fixture), 1);
    end(&fixture);
}

static void a_state_of_another_interpreter_ends_the_list(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture, 0x030b);
    struct image *image = &fixture.image;
    start_thread(&fixture, 0x100, 7);
    open(&fixture);
    image_put_word(image, image->tstate, image->layout->tstate_interp, image->interpreter + 8);
    update(&fixture, true);
    assert_int_equal(ss_python_thread_count(fixture.python), 1);
    assert_int_equal(fixture.removed[0], image->tstate);
    image_put_word(image, image->tstate, image->layout->tstate_interp, image->interpreter);
    update(&fixture, false);
    assert_int_equal(ss_python_thread_count(fixture.python), 2);
    /* An address that cannot be one. */
    image_put_word(image, fixture.tstates[1], image->layout->tstate_next, image->tstate + 4);
    update(&fixture, true);
    assert_int_equal(ss_python_thread_count(fixture.python), 1);
    end(&fixture);
}

/* --- interpreters --- */

/* Before the others, as CPython does: the main interpreter is the last of the list. */
static uint64_t start_interpreter(struct fixture *fixture, uint64_t id)
{
    struct image *image = &fixture->image;
    const struct ss_cpython_layout *layout = image->layout;
    uint64_t interpreter = image_alloc(image, IMAGE_INTERPRETER_BYTES / 2);
    assert_true(interpreter != 0);
    image_put_word(image, interpreter, layout->interp_id, id);
    image_put_word(image, interpreter, layout->interp_next,
                   image_word(image, image->runtime, layout->runtime_interpreters_head));
    image_put_word(image, image->runtime, layout->runtime_interpreters_head, interpreter);
    link_tstate(image, interpreter, new_tstate(image, interpreter, 0x1000 * id, 1000 + id));
    return interpreter;
}

static void each_interpreter_has_its_threads(void **state)
{
    (void)state;
    for (uint16_t version = 0x030b; version <= 0x030c; version++) {
        struct fixture fixture;
        begin(&fixture, version);
        struct image *image = &fixture.image;
        start_thread(&fixture, 0x100, 7);
        uint64_t second = start_interpreter(&fixture, 2);
        image_put_word(image, second, image->layout->interp_gil, 0x2000);
        image_put_word(image, image->interpreter, image->layout->interp_gil, 0x3000);
        open(&fixture);
        assert_int_equal(ss_python_thread_count(fixture.python), 3);
        struct ss_python_thread *first = ss_python_thread_at(fixture.python, 0);
        struct ss_python_thread *sub = ss_python_thread_at(fixture.python, 2);
        assert_int_equal(first->interpreter_id, 0);
        assert_int_equal(sub->interpreter_id, 2);
        assert_int_equal(sub->tid, 1002);
        assert_true(first->is_main);
        assert_false(sub->is_main);
        uint64_t address;
        size_t length;
        assert_true(ss_python_gil_range(fixture.python, sub, &address, &length));
        assert_int_equal(length, image->layout->gil_size);
        assert_int_equal(address, version == 0x030b
                                      ? image->runtime + (uint64_t)image->layout->runtime_gil
                                      : 0x2000);
        assert_true(ss_python_gil_range(fixture.python, first, &address, &length));
        assert_int_equal(address, version == 0x030b
                                      ? image->runtime + (uint64_t)image->layout->runtime_gil
                                      : 0x3000);
        struct ss_python_thread stranger = {.interpreter_id = 9};
        assert_false(ss_python_gil_range(fixture.python, &stranger, &address, &length));
        end(&fixture);
    }
}

/* Known threads of two interpreters are fetched for each; the states come out the same. */
static void interpreters_with_known_threads_are_read_again(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture, 0x030b);
    struct image *image = &fixture.image;
    start_thread(&fixture, 0x100, 7);
    uint64_t second = start_interpreter(&fixture, 2);
    link_tstate(image, second, new_tstate(image, second, 0x5000, 55));
    open(&fixture);
    uint64_t before = image->reader.syscalls;
    update(&fixture, true);
    /* The runtime, two interpreters, the states of each. */
    assert_int_equal(image->reader.syscalls - before, 5);
    assert_int_equal(fixture.removed_count, 0);
    assert_int_equal(ss_python_thread_count(fixture.python), 4);
    end(&fixture);
}

/* The heads of sixteen lists fit into one read; of more, all lists are walked. */
static void few_interpreters_take_one_read(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture, 0x030b);
    for (uint64_t id = 1; id < 16; id++) {
        start_interpreter(&fixture, id);
    }
    open(&fixture);
    assert_int_equal(ss_python_thread_count(fixture.python), 16);
    assert_int_equal(reads_of_update(&fixture), 1);
    start_interpreter(&fixture, 16);
    assert_in_range(reads_of_update(&fixture), 17, 100);
    assert_int_equal(ss_python_thread_count(fixture.python), 17);
    assert_in_range(reads_of_update(&fixture), 17, 100);
    end(&fixture);
}

static void an_interpreter_that_ends_takes_its_threads_along(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture, 0x030b);
    struct image *image = &fixture.image;
    const struct ss_cpython_layout *layout = image->layout;
    uint64_t first = start_interpreter(&fixture, 1);
    uint64_t second = start_interpreter(&fixture, 2);
    open(&fixture);
    assert_int_equal(ss_python_thread_count(fixture.python), 3);
    image_put_word(image, second, layout->interp_next, image->interpreter); /* 1 ends */
    update(&fixture, false);
    assert_int_equal(ss_python_thread_count(fixture.python), 2);
    assert_int_equal(fixture.removed[0], image_word(image, first, layout->interp_threads_head));
    image_put_word(image, image->runtime, layout->runtime_interpreters_head, image->interpreter);
    update(&fixture, false);
    assert_int_equal(ss_python_thread_count(fixture.python), 1);
    end(&fixture);
}

static void an_interpreter_that_cannot_be_read_is_left_out(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture, 0x030b);
    struct image *image = &fixture.image;
    image_put_word(image, image->interpreter, image->layout->interp_next, IMAGE_BASE + IMAGE_BYTES);
    open(&fixture);
    assert_int_equal(ss_python_thread_count(fixture.python), 1);
    assert_int_equal(reads_of_update(&fixture), 1);
    end(&fixture);
}

static void a_circle_of_interpreters_ends(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture, 0x030b);
    struct image *image = &fixture.image;
    uint64_t second = start_interpreter(&fixture, 1);
    image_put_word(image, image->interpreter, image->layout->interp_next, second);
    open(&fixture);
    /* It is noticed one round later at most. */
    assert_in_range(ss_python_thread_count(fixture.python), 2, 4);
    end(&fixture);
}

static void a_runtime_that_cannot_be_read_is_gone(void **state)
{
    (void)state;
    struct fixture fixture;
    struct ss_error err = {0};
    begin(&fixture, 0x030b);
    struct image *image = &fixture.image;
    open(&fixture);
    image_put_word(image, image->runtime, image->layout->runtime_interpreters_head, 0);
    assert_int_equal(ss_python_update_threads(fixture.python, false, NULL, NULL, &err), SS_E_GONE);
    assert_non_null(strstr(err.message, "process 4242 has ended"));
    end(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(old_versions_have_the_tid_in_struct_pthread),
        cmocka_unit_test(the_pid_of_a_namespace_finds_the_tid),
        cmocka_unit_test(the_caller_may_know_the_tid),
        cmocka_unit_test(a_tid_beyond_the_kernels_limit_is_unknown),
        cmocka_unit_test(threads_are_oldest_first_and_only_one_is_main),
        cmocka_unit_test(many_known_threads_take_few_reads),
        cmocka_unit_test(two_known_threads_take_one_read),
        cmocka_unit_test(an_ended_thread_is_removed_and_the_others_stay),
        cmocka_unit_test(a_reused_thread_state_is_another_thread),
        cmocka_unit_test(new_threads_count_once_they_run),
        cmocka_unit_test(a_list_that_is_a_circle_ends),
        cmocka_unit_test(a_state_of_another_interpreter_ends_the_list),
        cmocka_unit_test(each_interpreter_has_its_threads),
        cmocka_unit_test(interpreters_with_known_threads_are_read_again),
        cmocka_unit_test(few_interpreters_take_one_read),
        cmocka_unit_test(an_interpreter_that_ends_takes_its_threads_along),
        cmocka_unit_test(an_interpreter_that_cannot_be_read_is_left_out),
        cmocka_unit_test(a_circle_of_interpreters_ends),
        cmocka_unit_test(a_runtime_that_cannot_be_read_is_gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
