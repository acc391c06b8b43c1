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
static bool without_gil; /* all cases run once more in free-threaded builds, from 3.13 on */

struct fixture {
    struct image image;
    struct ss_python *python;
    struct ss_python_thread *thread;
};

static const uint16_t versions[] = {0x0308, 0x0309, 0x030a, 0x030b, 0x030c, 0x030d, 0x030e, 0x030f};
enum { VERSIONS = sizeof versions / sizeof versions[0], DEPTH = 12 };

/* A stack f0 … f11; f<i> starts at line 100 * i and executes unit 5, which is on its next line. */
static void begin(struct fixture *fixture, uint16_t version)
{
    memset(fixture, 0, sizeof *fixture);
    image_build(&fixture->image,
                ss_cpython_layout_get(version, false, without_gil && version >= 0x030d), memory);
    image_publish(&fixture->image);
    for (int i = 0; i < DEPTH; i++) {
        char name[16];
        snprintf(name, sizeof name, "f%d", i);
        image_push(&fixture->image, image_code(&fixture->image, name, 100 * i + 1), 5);
    }
    struct ss_python_location location = image_location(&fixture->image);
    struct ss_error err = {0};
    enum ss_status status =
        ss_python_open(&fixture->image.reader, &location, NULL, &fixture->python, &err);
    if (status != SS_OK) {
        fail_msg("%x: %s", version, err.message);
    }
    assert_int_equal(ss_python_thread_count(fixture->python), 1);
    fixture->thread = ss_python_thread_at(fixture->python, 0);
}

static void end(struct fixture *fixture)
{
    ss_python_close(fixture->python);
}

static void assert_frame(const struct fixture *fixture, const struct ss_python_stack *stack,
                         uint32_t index, const char *name, int32_t line)
{
    struct ss_python_frame frame;
    assert_true(index < stack->depth);
    ss_python_frame_get(fixture->python, stack->frames[index], &frame);
    assert_int_equal(frame.name.length, strlen(name));
    assert_memory_equal(frame.name.data, name, strlen(name));
    assert_int_equal(frame.line, line);
}

static void a_whole_stack_is_read(void **state)
{
    (void)state;
    for (int v = 0; v < VERSIONS; v++) {
        struct fixture fixture;
        struct ss_python_stack stack;
        begin(&fixture, versions[v]);
        assert_int_equal(fixture.thread->tid,
                         versions[v] >= 0x030b ? IMAGE_TID : 0 /* no struct pthread to ask */);
        assert_int_equal(ss_python_walk_thread(fixture.python, fixture.thread, &stack),
                         SS_PYTHON_OK);
        assert_int_equal(stack.depth, DEPTH);
        assert_frame(&fixture, &stack, 0, "f0", 2);
        assert_frame(&fixture, &stack, DEPTH - 1, "f11", 1102);
        struct ss_python_frame frame;
        ss_python_frame_get(fixture.python, stack.frames[3], &frame);
        assert_memory_equal(frame.file.data, "/tmp/made_up.py", frame.file.length);
        assert_int_equal(frame.first_line, 301);
        end(&fixture);
    }
}

static void a_steady_stack_takes_one_read(void **state)
{
    (void)state;
    for (int v = 0; v < VERSIONS; v++) {
        struct fixture fixture;
        struct ss_python_stack stack;
        begin(&fixture, versions[v]);
        ss_python_walk_thread(fixture.python, fixture.thread, &stack);
        uint64_t before = fixture.image.reader.syscalls;
        for (int i = 0; i < 500; i++) {
            assert_int_equal(ss_python_walk_thread(fixture.python, fixture.thread, &stack),
                             SS_PYTHON_OK);
        }
        assert_int_equal(fixture.image.reader.syscalls - before, 500);
        end(&fixture);
    }
}

static void a_thread_between_calls_is_empty(void **state)
{
    (void)state;
    struct fixture fixture;
    struct ss_python_stack stack;
    begin(&fixture, 0x030b);
    image_set_leaf(&fixture.image, 0);
    assert_int_equal(ss_python_walk_thread(fixture.python, fixture.thread, &stack),
                     SS_PYTHON_EMPTY);
    assert_int_equal(stack.depth, 0);
    end(&fixture);
}

static void a_half_made_entry_is_not_taken_for_none(void **state)
{
    (void)state;
    struct fixture fixture;
    struct ss_python_stack stack;
    begin(&fixture, 0x030b);
    struct image *image = &fixture.image;
    uint64_t entry = image_alloc(image, 64); /* a new _PyCFrame, not filled yet */
    image_put_word(image, image->tstate, image->layout->tstate_cframe, entry);
    assert_int_equal(ss_python_walk_thread(fixture.python, fixture.thread, &stack), SS_PYTHON_LOST);
    image_put_word(image, entry, image->layout->cframe_current_frame, image->frames[DEPTH - 1]);
    assert_int_equal(ss_python_walk_thread(fixture.python, fixture.thread, &stack), SS_PYTHON_OK);
    end(&fixture);
}

/* The leaf function returns and is called again from then on, at every range that is read. */
static void toggle_leaf(struct image *image, uint64_t serial)
{
    image_set_leaf(image, image->frames[image->frame_count - 1 - serial % 2]);
}

static void a_leaf_that_comes_and_goes_is_no_wrong_stack(void **state)
{
    (void)state;
    for (int v = 0; v < VERSIONS; v++) {
        struct fixture fixture;
        struct ss_python_stack stack;
        begin(&fixture, versions[v]);
        fixture.image.on_range = toggle_leaf;
        for (int i = 0; i < 50; i++) {
            assert_int_equal(ss_python_walk_thread(fixture.python, fixture.thread, &stack),
                             SS_PYTHON_OK);
            assert_in_range(stack.depth, DEPTH - 1, DEPTH);
            assert_frame(&fixture, &stack, stack.depth - 1, stack.depth == DEPTH ? "f11" : "f10",
                         stack.depth == DEPTH ? 1102 : 1002);
        }
        end(&fixture);
    }
}

/* The two innermost frames are being written: what stands in them is not code. */
static void scramble_leaves(struct image *image, uint64_t serial)
{
    for (size_t i = 1; i <= 2; i++) {
        uint64_t frame = image->frames[image->frame_count - i];
        uint64_t previous = image->frames[image->frame_count - i - 1];
        image_fill_frame(image, frame, image->chunk + 64 * serial, previous, 5);
    }
}

static void what_holds_still_is_kept(void **state)
{
    (void)state;
    struct fixture fixture;
    struct ss_python_stack stack;
    begin(&fixture, 0x030b);
    fixture.image.on_range = scramble_leaves;
    assert_int_equal(ss_python_walk_thread(fixture.python, fixture.thread, &stack),
                     SS_PYTHON_PARTIAL);
    assert_in_range(stack.depth, DEPTH - 3, DEPTH - 2);
    assert_frame(&fixture, &stack, stack.depth - 1, stack.depth == DEPTH - 2 ? "f9" : "f8",
                 stack.depth == DEPTH - 2 ? 902 : 802);
    fixture.image.on_range = NULL;
    for (int i = DEPTH - 2; i < DEPTH; i++) {
        image_fill_frame(&fixture.image, fixture.image.frames[i], image_code_of(&fixture.image, 3),
                         fixture.image.frames[i - 1], 5);
    }
    assert_int_equal(ss_python_walk_thread(fixture.python, fixture.thread, &stack), SS_PYTHON_OK);
    end(&fixture);
}

/* A frame outside the data stack, inside the generator object, which the innermost frame called. */
static uint64_t add_generator(struct image *image)
{
    uint64_t code = image_code(image, "generator", 5000);
    uint64_t frame = image_alloc(image, 256);
    image_fill_frame(image, frame, code, image->frames[DEPTH - 1], 0);
    image_put(image, frame, image->layout->frame_owner, 1, 1);
    image_set_leaf(image, frame);
    return frame;
}

static void a_frame_elsewhere_is_found_and_remembered(void **state)
{
    (void)state;
    for (int v = 3; v < VERSIONS; v++) {
        struct fixture fixture;
        struct ss_python_stack stack;
        begin(&fixture, versions[v]);
        struct image *image = &fixture.image;
        add_generator(image);
        assert_int_equal(ss_python_walk_thread(fixture.python, fixture.thread, &stack),
                         SS_PYTHON_OK);
        assert_int_equal(stack.depth, DEPTH + 1);
        assert_frame(&fixture, &stack, DEPTH, "generator", 5000);
        uint64_t before = image->reader.syscalls;
        assert_int_equal(ss_python_walk_thread(fixture.python, fixture.thread, &stack),
                         SS_PYTHON_OK);
        assert_int_equal(image->reader.syscalls - before, 1);
        end(&fixture);
    }
}

/* C code that the caller called has resumed a generator: both run, and only the pointer shows that
 * the generator is the innermost. */
static void a_generator_that_c_resumed_is_innermost(void **state)
{
    (void)state;
    for (int v = 3; v < VERSIONS; v++) {
        struct fixture fixture;
        struct ss_python_stack stack;
        begin(&fixture, versions[v]);
        struct image *image = &fixture.image;
        uint64_t frame = add_generator(image);
        if (image->layout->frame_is_entry != SS_ABSENT) {
            image_put(image, frame, image->layout->frame_is_entry, 1, 1);
        } else {
            uint64_t entry = image_alloc(image, 256);
            image_put(image, entry, image->layout->frame_owner, 3, 1);
            image_put_word(image, entry, image->layout->frame_previous, image->frames[DEPTH - 1]);
            image_put_word(image, frame, image->layout->frame_previous, entry);
        }
        image_set_running(image, image->frames[DEPTH - 1], true);
        image_set_running(image, frame, true);
        for (int i = 0; i < 3; i++) {
            assert_int_equal(ss_python_walk_thread(fixture.python, fixture.thread, &stack),
                             SS_PYTHON_OK);
            assert_int_equal(stack.depth, DEPTH + 1);
            assert_frame(&fixture, &stack, DEPTH, "generator", 5000);
        }
        end(&fixture);
    }
}

static void walk_to(struct fixture *fixture, uint32_t depth, const char *leaf, int32_t line)
{
    struct ss_python_stack stack;
    assert_int_equal(ss_python_walk_thread(fixture->python, fixture->thread, &stack), SS_PYTHON_OK);
    assert_int_equal(stack.depth, depth);
    assert_frame(fixture, &stack, depth - 1, leaf, line);
}

/* The pointer is read at another time than the frames: they themselves show which of them runs. */
static void what_runs_is_innermost_wherever_the_pointer_was(void **state)
{
    (void)state;
    for (int v = 3; v < VERSIONS; v++) {
        struct fixture fixture;
        begin(&fixture, versions[v]);
        struct image *image = &fixture.image;
        image_set_running(image, image->frames[DEPTH - 1], true);
        walk_to(&fixture, DEPTH, "f11", 1102);
        image_set_leaf(image, image->frames[DEPTH - 3]); /* it calls meanwhile */
        walk_to(&fixture, DEPTH, "f11", 1102);
        image_set_leaf(image, image->frames[DEPTH - 1]); /* it returns meanwhile */
        image_end_frame(image, image->frames[DEPTH - 1]);
        image_set_running(image, image->frames[DEPTH - 2], true);
        walk_to(&fixture, DEPTH - 1, "f10", 1002);
        end(&fixture);
    }
}

static void a_frame_that_ends_is_left_as_its_version_does(void **state)
{
    (void)state;
    for (int v = 3; v < VERSIONS; v++) {
        struct fixture fixture;
        begin(&fixture, versions[v]);
        struct image *image = &fixture.image;
        bool counts = versions[v] == 0x030b;
        uint64_t leaf = image->frames[DEPTH - 1];
        image_fill_frame(image, leaf, image_code_of(image, 0), image->frames[DEPTH - 2], 6);
        image_put_return(image, image_code_of(image, 0), 6);
        walk_to(&fixture, counts ? DEPTH : DEPTH - 1, counts ? "f11" : "f10", counts ? 1102 : 1002);
        image_set_running(image, leaf, true);
        walk_to(&fixture, DEPTH, "f11", 1102); /* how large frames are is known from here on */
        image_set_running(image, leaf, false);
        image_set_leaf(image, image->frames[DEPTH - 4]);
        walk_to(&fixture, counts ? DEPTH : DEPTH - 1, counts ? "f11" : "f10", counts ? 1102 : 1002);
        end(&fixture);
    }
}

/* Where each frame says whether it has ended, and how large it is, the copy alone is decisive. */
static void from_3_14_on_the_copy_names_the_innermost_frame(void **state)
{
    (void)state;
    for (int v = 0; v < VERSIONS; v++) {
        struct fixture fixture;
        if (versions[v] < 0x030e) {
            continue;
        }
        begin(&fixture, versions[v]);
        struct image *image = &fixture.image;
        walk_to(&fixture, DEPTH, "f11", 1102);
        image_set_leaf(image, UINT64_C(0xdeadbeef000)); /* a generator that is gone meanwhile */
        walk_to(&fixture, DEPTH, "f11", 1102);
        image_set_leaf(image, image->frames[DEPTH - 1]); /* the pointer is older than the copy */
        image_end_frame(image, image->frames[DEPTH - 1]);
        walk_to(&fixture, DEPTH - 1, "f10", 1002);
        image_end_frame(image, image->frames[DEPTH - 2]);
        walk_to(&fixture, DEPTH - 2, "f9", 902);
        end(&fixture);
    }
}

/* A frame that cannot be decoded is not left out as if it had ended. */
static void from_3_14_on_a_frame_of_unknown_code_is_no_end(void **state)
{
    (void)state;
    for (int v = 0; v < VERSIONS; v++) {
        struct fixture fixture;
        struct ss_python_stack stack;
        if (versions[v] < 0x030e) {
            continue;
        }
        begin(&fixture, versions[v]);
        struct image *image = &fixture.image;
        walk_to(&fixture, DEPTH, "f11", 1102);
        image_put_word(image, image->frames[DEPTH - 1], image->layout->frame_code, image->chunk);
        assert_int_not_equal(ss_python_walk_thread(fixture.python, fixture.thread, &stack),
                             SS_PYTHON_OK);
        end(&fixture);
    }
}

/* A deep recursion goes to and fro between the chunks of its data stack. */
static void a_new_chunk_costs_one_more_read(void **state)
{
    (void)state;
    for (int v = 3; v < VERSIONS; v++) {
        struct fixture fixture;
        struct ss_python_stack stack;
        begin(&fixture, versions[v]);
        struct image *image = &fixture.image;
        const struct ss_cpython_layout *layout = image->layout;
        walk_to(&fixture, DEPTH, "f11", 1102);
        uint64_t chunk = image_alloc(image, IMAGE_CHUNK_BYTES);
        uint64_t frame = chunk + (uint64_t)layout->chunk_data;
        image_put_word(image, chunk, layout->chunk_previous, image->chunk);
        image_put_word(image, chunk, layout->chunk_size, IMAGE_CHUNK_BYTES);
        image_put_word(image, image->chunk, layout->chunk_size + 8, DEPTH * IMAGE_FRAME_BYTES / 8);
        image_put_word(image, image->tstate, layout->tstate_datastack_chunk, chunk);
        image_fill_frame(image, frame, image_code(image, "above", 7000), image->frames[DEPTH - 1],
                         0);
        image_set_running(image, frame, true);
        image_set_leaf(image, frame);
        walk_to(&fixture, DEPTH + 1, "above", 7000);
        assert_int_equal(ss_python_walk_thread(fixture.python, fixture.thread, &stack),
                         SS_PYTHON_OK);
        assert_int_equal(stack.retries, 0);
        image_put_word(image, image->tstate, layout->tstate_datastack_chunk, image->chunk);
        image_set_leaf(image, image->frames[DEPTH - 1]); /* it returns: the chunk is freed */
        assert_int_equal(ss_python_walk_thread(fixture.python, fixture.thread, &stack),
                         SS_PYTHON_OK);
        assert_int_equal(stack.depth, DEPTH);
        assert_int_equal(stack.retries, 1);
        image_put_word(image, image->tstate, layout->tstate_datastack_chunk, chunk);
        image_set_leaf(image, frame); /* and is there again */
        assert_int_equal(ss_python_walk_thread(fixture.python, fixture.thread, &stack),
                         SS_PYTHON_OK);
        assert_int_equal(stack.depth, DEPTH + 1);
        assert_int_equal(stack.retries, 1);
        end(&fixture);
    }
}

static void what_c_called_is_found_above_what_runs(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture, 0x030b);
    struct image *image = &fixture.image;
    image_set_running(image, image->frames[DEPTH - 3], true);
    walk_to(&fixture, DEPTH - 2, "f9", 902); /* what is above it has ended */
    image_put(image, image->frames[DEPTH - 2], image->layout->frame_is_entry, 1, 1);
    walk_to(&fixture, DEPTH, "f11", 1102);
    end(&fixture);
}

/* It has just yielded, or is not resumed yet; the pointer to it was read before. */
static void a_generator_without_a_caller_is_no_thread(void **state)
{
    (void)state;
    for (int v = 0; v < VERSIONS; v++) {
        struct fixture fixture;
        struct ss_python_stack stack;
        if (versions[v] == 0x030b) {
            continue; /* there a generator that is suspended is not taken for one that runs */
        }
        begin(&fixture, versions[v]);
        struct image *image = &fixture.image;
        uint64_t frame = add_generator(image);
        image_put(image, image_word(image, frame, image->layout->frame_code),
                  image->layout->code_flags, 0x20, 4);
        assert_int_equal(ss_python_walk_thread(fixture.python, fixture.thread, &stack),
                         SS_PYTHON_OK);
        assert_int_equal(stack.depth, DEPTH + 1);
        image_put_word(image, frame, image->layout->frame_previous, 0);
        image_set_leaf(image, frame);
        enum ss_python_result result =
            ss_python_walk_thread(fixture.python, fixture.thread, &stack);
        assert_true(result == SS_PYTHON_LOST || stack.depth >= DEPTH);
        end(&fixture);
    }
}

static void a_circle_of_frames_ends(void **state)
{
    (void)state;
    for (int v = 0; v < VERSIONS; v++) {
        struct fixture fixture;
        struct ss_python_stack stack;
        begin(&fixture, versions[v]);
        image_put_word(&fixture.image, fixture.image.frames[2],
                       fixture.image.layout->frame_previous, fixture.image.frames[9]);
        /* From 3.14 on, what its caller did not call is no frame. */
        assert_int_equal(ss_python_walk_thread(fixture.python, fixture.thread, &stack),
                         versions[v] < 0x030e ? SS_PYTHON_LOST : SS_PYTHON_OK);
        assert_int_equal(stack.depth, versions[v] < 0x030e ? 0 : 2);
        end(&fixture);
    }
}

static void a_pointer_into_nowhere_is_lost(void **state)
{
    (void)state;
    for (int v = 0; v < VERSIONS && versions[v] < 0x030e; v++) {
        struct fixture fixture;
        struct ss_python_stack stack;
        begin(&fixture, versions[v]);
        image_set_leaf(&fixture.image, UINT64_C(0xdeadbeef000));
        assert_int_equal(ss_python_walk_thread(fixture.python, fixture.thread, &stack),
                         SS_PYTHON_LOST);
        image_set_leaf(&fixture.image, fixture.image.frames[DEPTH - 1]);
        assert_int_equal(ss_python_walk_thread(fixture.python, fixture.thread, &stack),
                         SS_PYTHON_OK);
        end(&fixture);
    }
}

static void an_instruction_outside_the_code_is_no_frame(void **state)
{
    (void)state;
    struct fixture fixture;
    struct ss_python_stack stack;
    begin(&fixture, 0x030b);
    image_fill_frame(&fixture.image, fixture.image.frames[DEPTH - 1],
                     image_code_of(&fixture.image, 0), fixture.image.frames[DEPTH - 2], 8);
    assert_int_equal(ss_python_walk_thread(fixture.python, fixture.thread, &stack),
                     SS_PYTHON_PARTIAL);
    assert_int_equal(stack.depth, DEPTH - 1);
    end(&fixture);
}

static void a_reused_code_address_gets_its_new_name(void **state)
{
    (void)state;
    for (int v = 0; v < VERSIONS; v++) {
        struct fixture fixture;
        struct ss_python_stack stack;
        begin(&fixture, versions[v]);
        struct image *image = &fixture.image;
        ss_python_walk_thread(fixture.python, fixture.thread, &stack);
        uint32_t old = stack.frames[DEPTH - 1];
        uint64_t code = image_code_of(image, 0);
        image_fill_code(image, code, "newcomer", 9000);
        ss_python_check_cache(fixture.python);
        assert_int_equal(ss_python_walk_thread(fixture.python, fixture.thread, &stack),
                         SS_PYTHON_OK);
        assert_frame(&fixture, &stack, DEPTH - 1, "newcomer", 9001);
        assert_int_not_equal(stack.frames[DEPTH - 1], old);
        struct ss_python_frame frame;
        ss_python_frame_get(fixture.python, old, &frame); /* still what it was */
        assert_memory_equal(frame.name.data, "f11", 3);
        end(&fixture);
    }
}

static void a_thread_state_that_is_another_thread_is_lost(void **state)
{
    (void)state;
    struct fixture fixture;
    struct ss_python_stack stack;
    begin(&fixture, 0x030b);
    image_put_word(&fixture.image, fixture.image.tstate, fixture.image.layout->tstate_thread_id,
                   IMAGE_PTHREAD + 16);
    assert_int_equal(ss_python_walk_thread(fixture.python, fixture.thread, &stack), SS_PYTHON_LOST);
    struct ss_error err;
    assert_int_equal(ss_python_update_threads(fixture.python, false, NULL, NULL, &err), SS_OK);
    assert_int_equal(ss_python_thread_count(fixture.python), 1);
    fixture.thread = ss_python_thread_at(fixture.python, 0);
    assert_int_equal(ss_python_walk_thread(fixture.python, fixture.thread, &stack), SS_PYTHON_OK);
    end(&fixture);
}

static void count_removed(void *context, struct ss_python_thread *thread)
{
    assert_int_equal(thread->tid, IMAGE_TID);
    ++*(int *)context;
}

static void threads_come_and_go(void **state)
{
    (void)state;
    struct fixture fixture;
    struct ss_error err;
    int removed = 0;
    begin(&fixture, 0x030b);
    struct image *image = &fixture.image;
    uint64_t before = image->reader.syscalls;
    assert_int_equal(ss_python_update_threads(fixture.python, false, NULL, NULL, &err), SS_OK);
    assert_int_equal(image->reader.syscalls - before, 1); /* nothing changed: one small read */
    uint64_t second = image_alloc(image, (uint64_t)image->layout->tstate_size);
    memcpy(image_at(image, second), image_at(image, image->tstate),
           (size_t)image->layout->tstate_size);
    image_put_word(image, second, image->layout->tstate_next, image->tstate);
    image_put_word(image, image->interpreter, image->layout->interp_threads_head, second);
    /* Made by its parent, with the parent's ids: not started yet. */
    assert_int_equal(ss_python_update_threads(fixture.python, false, NULL, NULL, &err), SS_OK);
    assert_int_equal(ss_python_thread_count(fixture.python), 1);
    image_put_word(image, second, image->layout->tstate_thread_id, IMAGE_PTHREAD + 64);
    image_put_word(image, second, image->layout->tstate_native_thread_id, IMAGE_TID + 1);
    assert_int_equal(ss_python_update_threads(fixture.python, false, NULL, NULL, &err), SS_OK);
    assert_int_equal(ss_python_thread_count(fixture.python), 2);
    image_put_word(image, second, image->layout->tstate_next, 0); /* the first one ends */
    assert_int_equal(ss_python_update_threads(fixture.python, true, count_removed, &removed, &err),
                     SS_OK);
    assert_int_equal(removed, 1);
    assert_int_equal(ss_python_thread_count(fixture.python), 1);
    assert_int_equal(ss_python_thread_at(fixture.python, 0)->tid, IMAGE_TID + 1);
    end(&fixture);
}

static void the_end_of_the_process_is_reported(void **state)
{
    (void)state;
    struct fixture fixture;
    struct ss_python_stack stack;
    struct ss_error err;
    begin(&fixture, 0x030b);
    fixture.image.is_gone = true;
    assert_int_equal(ss_python_walk_thread(fixture.python, fixture.thread, &stack), SS_PYTHON_LOST);
    assert_int_equal(ss_python_update_threads(fixture.python, false, NULL, NULL, &err), SS_E_GONE);
    end(&fixture);
}

static void an_interpreter_that_starts_is_to_be_tried_again(void **state)
{
    (void)state;
    struct image image;
    struct ss_python *python = NULL;
    struct ss_error err;
    image_build(&image, ss_cpython_layout_get(0x030b, false, false), memory);
    struct ss_python_location location = image_location(&image);
    assert_int_equal(ss_python_open(&image.reader, &location, NULL, &python, &err), SS_E_AGAIN);
    image_put_word(&image, image.runtime, image.layout->runtime_interpreters_head, 0);
    assert_int_equal(ss_python_open(&image.reader, &location, NULL, &python, &err), SS_E_AGAIN);
    assert_null(python);
}

static void a_layout_that_does_not_fit_is_refused(void **state)
{
    (void)state;
    struct image image;
    struct ss_python *python = NULL;
    struct ss_error err;
    image_build(&image, ss_cpython_layout_get(0x030b, false, false), memory);
    image_push(&image, image_code(&image, "f", 1), 0);
    memcpy(image_at(&image, image_word(&image, image.code_type, image.layout->type_name)), "cody",
           5);
    struct ss_python_location location = image_location(&image);
    assert_int_equal(ss_python_open(&image.reader, &location, NULL, &python, &err),
                     SS_E_UNSUPPORTED);
    assert_non_null(strstr(err.message, "could not be verified"));
}

/* A greenlet: another data stack, and the thread state's own pointers to it. */
struct greenlet {
    uint64_t chunk, leaf;
};

static struct greenlet push_greenlet(struct image *image, const char *name, int32_t line)
{
    struct greenlet made = {.chunk = image_alloc(image, 2048)};
    uint64_t chunk = image->chunk;
    size_t count = image->frame_count;
    image->chunk = made.chunk;
    image->frame_count = 0;
    image_put_word(image, made.chunk, image->layout->chunk_size, 2048);
    image_push(image, image_code(image, "greenlet", line), 5);
    made.leaf = image_push(image, image_code(image, name, line + 100), 5);
    image_set_running(image, made.leaf, true); /* in switch(): also while it is suspended */
    image->chunk = chunk;
    image->frame_count = count;
    return made;
}

static void switch_to(struct image *image, struct greenlet greenlet)
{
    image_put_word(image, image->tstate, image->layout->tstate_datastack_chunk, greenlet.chunk);
    image_set_leaf(image, greenlet.leaf);
}

static void a_suspended_greenlet_is_no_stack(void **state)
{
    (void)state;
    for (int v = 3; v < VERSIONS; v++) {
        struct fixture fixture;
        struct ss_python_stack stack;
        begin(&fixture, versions[v]);
        struct image *image = &fixture.image;
        struct greenlet all[3] = {{image->chunk, image->frames[DEPTH - 1]}};
        image_set_running(image, all[0].leaf, true);
        all[1] = push_greenlet(image, "left", 5001);
        all[2] = push_greenlet(image, "right", 6001);
        for (int i = 0; i < 30; i++) {
            int which = i % 3;
            switch_to(image, all[which]);
            assert_int_equal(ss_python_walk_thread(fixture.python, fixture.thread, &stack),
                             SS_PYTHON_OK);
            assert_int_equal(stack.depth, which == 0 ? DEPTH : 2);
            assert_frame(&fixture, &stack, stack.depth - 1,
                         which == 0   ? "f11"
                         : which == 1 ? "left"
                                      : "right",
                         which == 0   ? 1102
                         : which == 1 ? 5102
                                      : 6102);
        }
        end(&fixture);
    }
}

/* f11 calls a frame outside the data stack, at an address that no walk has seen, which calls a
 * function. */
static uint64_t call_from_outside(struct image *image, uint64_t outside)
{
    image_fill_frame(image, outside, image_code(image, "generator", 5000),
                     image->frames[image->frame_count - 1], 0);
    image_put(image, outside, image->layout->frame_owner, 1, 1);
    uint64_t called = image_push(image, image_code(image, "called", 7001), 5);
    image_put_word(image, called, image->layout->frame_previous, outside);
    image_set_running(image, called, true);
    return called;
}

static void assert_skipped(struct fixture *fixture, const char *between[], uint32_t count)
{
    struct ss_python_stack stack;
    struct ss_python_frame frame;
    assert_int_equal(ss_python_walk_thread(fixture->python, fixture->thread, &stack),
                     count > 0 && between[0][0] == '<' ? SS_PYTHON_PARTIAL : SS_PYTHON_OK);
    assert_int_equal(stack.retries, 0);
    assert_int_equal(stack.depth, DEPTH + count + 1);
    assert_frame(fixture, &stack, DEPTH - 1, "f11", 1102);
    for (uint32_t i = 0; i < count; i++) {
        ss_python_frame_get(fixture->python, stack.frames[DEPTH + i], &frame);
        assert_memory_equal(frame.name.data, between[i], frame.name.length);
    }
    assert_frame(fixture, &stack, stack.depth - 1, "called", 7002);
}

/* Each new generator has another address there. */
static void without_a_gil_a_generator_that_is_gone_is_skipped(void **state)
{
    (void)state;
    static const char *const gone = "<unknown: a generator that had ended>";
    for (int v = 0; v < VERSIONS; v++) {
        struct fixture fixture;
        struct ss_python_stack stack;
        if (!without_gil || versions[v] < 0x030d) {
            continue;
        }
        begin(&fixture, versions[v]);
        struct image *image = &fixture.image;
        assert_int_equal(ss_python_walk_thread(fixture.python, fixture.thread, &stack),
                         SS_PYTHON_OK);
        uint64_t outside = image_alloc(image, 256);
        uint64_t called = call_from_outside(image, outside);
        assert_skipped(&fixture, (const char *[]){"generator"}, 1);
        image_put_word(image, outside, image->layout->frame_previous, 0);
        image_put_word(image, called, image->layout->frame_previous, outside + 2048);
        memcpy(image_at(image, outside + 2048), image_at(image, outside), 256);
        assert_skipped(&fixture, (const char *[]){gone, "generator"}, 2); /* it is suspended */
        image_put_word(image, called, image->layout->frame_previous, outside + 4096);
        assert_skipped(&fixture, (const char *[]){gone}, 1);
        uint64_t below_entry = image->entry - 256; /* on the C stack, which C code uses again */
        image_put_word(image, called, image->layout->frame_previous, below_entry);
        memset(image_at(image, below_entry), 0, 128);
        assert_skipped(&fixture, NULL, 0);
        end(&fixture);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_stack_is_read),
        cmocka_unit_test(a_steady_stack_takes_one_read),
        cmocka_unit_test(a_thread_between_calls_is_empty),
        cmocka_unit_test(a_half_made_entry_is_not_taken_for_none),
        cmocka_unit_test(a_leaf_that_comes_and_goes_is_no_wrong_stack),
        cmocka_unit_test(what_holds_still_is_kept),
        cmocka_unit_test(a_frame_elsewhere_is_found_and_remembered),
        cmocka_unit_test(a_generator_that_c_resumed_is_innermost),
        cmocka_unit_test(what_runs_is_innermost_wherever_the_pointer_was),
        cmocka_unit_test(a_frame_that_ends_is_left_as_its_version_does),
        cmocka_unit_test(from_3_14_on_the_copy_names_the_innermost_frame),
        cmocka_unit_test(from_3_14_on_a_frame_of_unknown_code_is_no_end),
        cmocka_unit_test(a_new_chunk_costs_one_more_read),
        cmocka_unit_test(what_c_called_is_found_above_what_runs),
        cmocka_unit_test(a_generator_without_a_caller_is_no_thread),
        cmocka_unit_test(a_circle_of_frames_ends),
        cmocka_unit_test(a_pointer_into_nowhere_is_lost),
        cmocka_unit_test(an_instruction_outside_the_code_is_no_frame),
        cmocka_unit_test(a_reused_code_address_gets_its_new_name),
        cmocka_unit_test(a_thread_state_that_is_another_thread_is_lost),
        cmocka_unit_test(threads_come_and_go),
        cmocka_unit_test(the_end_of_the_process_is_reported),
        cmocka_unit_test(an_interpreter_that_starts_is_to_be_tried_again),
        cmocka_unit_test(a_layout_that_does_not_fit_is_refused),
        cmocka_unit_test(a_suspended_greenlet_is_no_stack),
        cmocka_unit_test(without_a_gil_a_generator_that_is_gone_is_skipped),
    };
    int failed = cmocka_run_group_tests_name("with a GIL", tests, NULL, NULL);
    without_gil = true;
    return failed + cmocka_run_group_tests_name("without a GIL", tests, NULL, NULL);
}
