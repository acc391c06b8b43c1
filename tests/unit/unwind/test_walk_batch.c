/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "../../fakes/cpython_image.h"

static uint8_t memory[IMAGE_BYTES];

enum { DEPTH = 6, MAX_TAKEN = 64, SWITCHES = 5 };

/* Several threads with a GIL; each has a thread state and a data stack of its own. */
struct fixture {
    struct image image;
    struct ss_python *python;
    struct ss_python_thread *threads[MAX_TAKEN];
    uint64_t gil, tstates[MAX_TAKEN], frames[MAX_TAKEN][DEPTH];
    size_t count;
    struct {
        struct ss_python_thread *thread;
        enum ss_python_result result;
        uint32_t depth, retries;
        bool holds_gil;
        char leaf[24];
    } taken[MAX_TAKEN];
    size_t taken_count;
};

static void take(void *context, struct ss_python_thread *thread, enum ss_python_result result,
                 const struct ss_python_stack *stack)
{
    struct fixture *fixture = context;
    size_t at = fixture->taken_count++;
    fixture->taken[at].thread = thread;
    fixture->taken[at].result = result;
    fixture->taken[at].depth = stack->depth;
    fixture->taken[at].retries = stack->retries;
    fixture->taken[at].holds_gil = stack->holds_gil;
    if (stack->depth > 0) {
        struct ss_python_frame frame;
        ss_python_frame_get(fixture->python, stack->frames[stack->depth - 1], &frame);
        snprintf(fixture->taken[at].leaf, sizeof fixture->taken[at].leaf, "%.*s",
                 (int)frame.name.length, frame.name.data);
    }
}

static void set_gil(struct fixture *fixture, size_t holder, uint64_t switches)
{
    const struct ss_cpython_layout *layout = fixture->image.layout;
    image_put_word(&fixture->image, fixture->gil, layout->gil_last_holder,
                   fixture->tstates[holder]);
    image_put(&fixture->image, fixture->gil, layout->gil_locked, 1, 4);
    image_put_word(&fixture->image, fixture->gil, layout->gil_switch_number, switches);
}

static void begin(struct fixture *fixture, size_t count)
{
    memset(fixture, 0, sizeof *fixture);
    struct image *image = &fixture->image;
    image_build(image, ss_cpython_layout_get(0x030c, false, false), memory);
    fixture->gil = image_alloc(image, 256);
    image_put_word(image, image->interpreter, image->layout->interp_gil, fixture->gil);
    fixture->count = count;
    uint64_t first = image->tstate;
    for (size_t i = 0; i < count; i++) {
        if (i > 0) { /* the newest is the first of the list */
            uint64_t older = image->tstate;
            image->tstate = image_alloc(image, (uint64_t)image->layout->tstate_size);
            memcpy(image_at(image, image->tstate), image_at(image, first),
                   (size_t)image->layout->tstate_size);
            image->cframe = image->tstate + (uint64_t)image->layout->tstate_size - 24;
            image->chunk = image_alloc(image, 2048);
            image->frame_count = 0;
            image_put_word(image, image->chunk, image->layout->chunk_size, 2048);
            image_put_word(image, image->tstate, image->layout->tstate_next, older);
            image_put_word(image, image->tstate, image->layout->tstate_cframe, image->cframe);
            image_put_word(image, image->tstate, image->layout->tstate_datastack_chunk,
                           image->chunk);
            image_put_word(image, image->tstate, image->layout->tstate_thread_id,
                           IMAGE_PTHREAD + 64 * i);
            image_put_word(image, image->tstate, image->layout->tstate_native_thread_id,
                           IMAGE_TID + i);
        }
        fixture->tstates[i] = image->tstate;
        for (int k = 0; k < DEPTH; k++) {
            char name[40];
            snprintf(name, sizeof name, "t%zu_%d", i, k);
            fixture->frames[i][k] = image_push(image, image_code(image, name, 100 * k + 1), 5);
            image_set_running(image, fixture->frames[i][k], k == DEPTH - 1);
        }
    }
    image_put_word(image, image->interpreter, image->layout->interp_threads_head, image->tstate);
    set_gil(fixture, 0, SWITCHES);
    struct ss_python_location location = image_location(image);
    struct ss_error err = {0};
    assert_int_equal(ss_python_open(&image->reader, &location, NULL, &fixture->python, &err),
                     SS_OK);
    assert_int_equal(ss_python_thread_count(fixture->python), count);
    for (size_t i = 0; i < count; i++) {
        fixture->threads[i] = ss_python_thread_at(fixture->python, i);
    }
}

static void end(struct fixture *fixture)
{
    ss_python_close(fixture->python);
}

/* One tick: who has the GIL, then all stacks. Returns the reads it took. */
static uint64_t walk_all(struct fixture *fixture)
{
    struct ss_error err;
    struct ss_python_stack_visitor takes = {fixture, take};
    uint64_t before = fixture->image.reader.syscalls;
    fixture->taken_count = 0;
    assert_int_equal(ss_python_update_threads(fixture->python, false, NULL, NULL, &err), SS_OK);
    assert_true(ss_python_walk_threads(fixture->python, fixture->threads, fixture->count, &takes));
    assert_int_equal(fixture->taken_count, fixture->count);
    return fixture->image.reader.syscalls - before;
}

/* Until everything is where the plans expect it. */
static void learn(struct fixture *fixture)
{
    for (int i = 0; i < 3; i++) {
        walk_all(fixture);
    }
}

static void assert_taken(const struct fixture *fixture, size_t i)
{
    char leaf[24];
    snprintf(leaf, sizeof leaf, "t%zu_%d", i, DEPTH - 1);
    assert_ptr_equal(fixture->taken[i].thread, fixture->threads[i]);
    assert_int_equal(fixture->taken[i].result, SS_PYTHON_OK);
    assert_int_equal(fixture->taken[i].depth, DEPTH);
    assert_string_equal(fixture->taken[i].leaf, leaf);
}

static void many_threads_take_one_read(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture, 8);
    learn(&fixture);
    for (int round = 0; round < 100; round++) {
        assert_int_equal(walk_all(&fixture), 2); /* the list and the GIL; the stacks */
        for (size_t i = 0; i < fixture.count; i++) {
            assert_taken(&fixture, i);
            assert_int_equal(fixture.taken[i].holds_gil, i == 0);
            assert_int_equal(fixture.taken[i].retries, 0);
        }
    }
    end(&fixture);
}

static void more_than_a_batch_take_more_reads(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture, 20);
    learn(&fixture);
    assert_int_equal(walk_all(&fixture), 3);
    for (size_t i = 0; i < fixture.count; i++) {
        assert_taken(&fixture, i);
    }
    end(&fixture);
}

static void one_that_cannot_be_read_does_not_hinder_the_others(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture, 5);
    walk_all(&fixture);
    struct image *image = &fixture.image;
    /* Its data stack is not mapped any more, and its thread state is another thread's. */
    image_put_word(image, fixture.tstates[2], image->layout->tstate_thread_id, 1);
    image_put_word(image, fixture.tstates[2], image->layout->tstate_datastack_chunk,
                   IMAGE_BASE + 2 * (uint64_t)IMAGE_BYTES);
    walk_all(&fixture);
    for (size_t i = 0; i < fixture.count; i++) {
        if (i == 2) {
            assert_int_equal(fixture.taken[i].result, SS_PYTHON_LOST);
        } else {
            assert_taken(&fixture, i);
        }
    }
    end(&fixture);
}

/* Behind the first range of a batch, which is the GIL, it goes to the last thread. */
static void hand_gil_over(struct image *image, uint64_t serial)
{
    struct fixture *fixture = image->context;
    if (serial == 1) {
        set_gil(fixture, fixture->count - 1, SWITCHES + 1);
    }
}

static void when_the_gil_moves_each_is_read_on_its_own(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture, 4);
    learn(&fixture);
    struct ss_error err;
    struct ss_python_stack_visitor takes = {&fixture, take};
    struct image *image = &fixture.image;
    assert_int_equal(ss_python_update_threads(fixture.python, false, NULL, NULL, &err), SS_OK);
    fixture.taken_count = 0;
    image->context = &fixture;
    image->ranges = 0;
    image->on_range = hand_gil_over;
    uint64_t before = image->reader.syscalls;
    assert_true(ss_python_walk_threads(fixture.python, fixture.threads, fixture.count, &takes));
    assert_int_equal(image->reader.syscalls - before, fixture.count); /* all but the old holder */
    for (size_t i = 0; i < fixture.count; i++) {
        assert_taken(&fixture, i);
        assert_int_equal(fixture.taken[i].retries, i > 0);
        assert_int_equal(fixture.taken[i].holds_gil, i == fixture.count - 1);
    }
    end(&fixture);
}

static void new_threads_are_seen_along_with_the_stacks(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture, 2);
    learn(&fixture);
    struct image *image = &fixture.image;
    struct ss_python_stack_visitor takes = {&fixture, take};
    struct ss_error err;
    for (int i = 0; i < 3; i++) {
        bool seen = ss_python_poll_heads(fixture.python);
        assert_int_equal(seen, i > 0);
        if (!seen) {
            ss_python_update_threads(fixture.python, false, NULL, NULL, &err);
        }
        uint64_t before = image->reader.syscalls;
        assert_true(ss_python_walk_threads(fixture.python, fixture.threads, 1, &takes));
        assert_int_equal(image->reader.syscalls - before, 1);
    }
    /* The newest thread ends. */
    image_put_word(image, image->interpreter, image->layout->interp_threads_head,
                   fixture.tstates[0]);
    assert_true(ss_python_poll_heads(fixture.python));
    assert_true(ss_python_walk_threads(fixture.python, fixture.threads, 1, &takes));
    assert_false(ss_python_poll_heads(fixture.python));
    assert_int_equal(ss_python_update_threads(fixture.python, false, NULL, NULL, &err), SS_OK);
    assert_int_equal(ss_python_thread_count(fixture.python), 1);
    end(&fixture);
}

static void the_gil_holder_is_known(void **state)
{
    (void)state;
    struct fixture fixture;
    struct ss_python_gil gil;
    begin(&fixture, 3);
    walk_all(&fixture);
    assert_true(ss_python_get_gil(fixture.python, &gil));
    assert_int_equal(gil.holder, fixture.tstates[0]);
    assert_int_equal(gil.switches, SWITCHES);
    assert_true(gil.is_held);
    assert_int_equal(gil.waiters, 0);
    struct ss_error err;
    fixture.image.is_gone = true;
    assert_int_equal(ss_python_update_threads(fixture.python, false, NULL, NULL, &err), SS_E_GONE);
    assert_false(ss_python_get_gil(fixture.python, &gil));
    struct ss_python_stack_visitor takes = {&fixture, take};
    fixture.taken_count = 0;
    assert_false(ss_python_walk_threads(fixture.python, fixture.threads, fixture.count, &takes));
    assert_int_equal(fixture.taken_count, 0);
    end(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_threads_take_one_read),
        cmocka_unit_test(more_than_a_batch_take_more_reads),
        cmocka_unit_test(one_that_cannot_be_read_does_not_hinder_the_others),
        cmocka_unit_test(when_the_gil_moves_each_is_read_on_its_own),
        cmocka_unit_test(new_threads_are_seen_along_with_the_stacks),
        cmocka_unit_test(the_gil_holder_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
