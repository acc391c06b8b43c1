/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include <string.h>

#include "../../fakes/cpython_image.h"
#include "../../fakes/cpython_published.h"
#include "unwind/cpython_code.h"

static uint8_t memory[IMAGE_BYTES];

static void build(struct image *image, uint16_t version, bool is_debug)
{
    image_build(image, ss_cpython_layout_get(version, is_debug, false), memory);
    for (int i = 0; i < 3; i++) {
        image_push(image, image_code(image, "f", 1), 5);
    }
}

static struct ss_python *open_it(struct image *image, struct ss_python_location location)
{
    struct ss_python *python = NULL;
    struct ss_error err = {0};
    if (ss_python_open(&image->reader, &location, NULL, &python, &err) != SS_OK) {
        fail_msg("%x: %s", location.version_hex, err.message);
    }
    return python;
}

static void assert_version(uint32_t version_hex, bool is_debug, const char *wanted)
{
    struct image image;
    build(&image, (uint16_t)(version_hex >> 16), is_debug);
    struct ss_python_location location = image_location(&image);
    location.version_hex = version_hex;
    struct ss_python *python = open_it(&image, location);
    assert_string_equal(ss_python_version(python), wanted);
    ss_python_close(python);
}

static void versions_are_written_as_python_does(void **state)
{
    (void)state;
    assert_version(0x030b07f0, false, "3.11.7");
    assert_version(0x030c00a4, false, "3.12.0a4");
    assert_version(0x030c00b1, false, "3.12.0b1");
    assert_version(0x030a10c2, false, "3.10.16rc2");
    assert_version(0x030c00f0, false, "3.12.0");
    assert_version(0x03080050, false, "3.8.0"); /* no level that is known */
    assert_version(0x03090000, false, "3.9");   /* only the minor version is known */
    assert_version(0x030b07f0, true, "3.11.7 debug");
}

static void publish(struct image *image, uint32_t version_hex)
{
    uint64_t words[PUBLISHED_WORDS];
    const struct ss_cpython_layout *layout = image->layout;
    published_fill_3_13(words);
    words[1] = version_hex;
    memcpy(image_at(image, image->runtime), words, sizeof words);
    image_put_word(image, image->runtime, layout->runtime_interpreters_head, image->interpreter);
    image_put_word(image, image->runtime, layout->runtime_interpreters_main, image->interpreter);
}

static void from_3_13_the_interpreter_says_its_version(void **state)
{
    (void)state;
    struct image image;
    build(&image, 0x030d, false);
    publish(&image, 0x030d02f0);
    struct ss_python_location location = image_location(&image);
    struct ss_python *python = open_it(&image, location);
    assert_string_equal(ss_python_version(python), "3.13.2");
    ss_python_close(python);
    location.is_debug = true;
    python = open_it(&image, location);
    assert_string_equal(ss_python_version(python), "3.13.2 debug");
    ss_python_close(python);
}

static void assert_fails(struct image *image, struct ss_python_location location,
                         enum ss_status status, const char *message)
{
    struct ss_python *python = NULL;
    struct ss_error err = {0};
    assert_int_equal(ss_python_open(&image->reader, &location, NULL, &python, &err), status);
    assert_null(python);
    if (strstr(err.message, message) == NULL) {
        fail_msg("\"%s\" is not in: %s", message, err.message);
    }
}

static void why_it_cannot_be_read_is_said(void **state)
{
    (void)state;
    struct image image;
    build(&image, 0x030d, false);
    publish(&image, 0x030d02f0);
    struct ss_python_location location = image_location(&image);
    image_put_word(&image, image.code_type, image.layout->type_name, 8); /* no code object fits */
    assert_fails(&image, location, SS_E_UNSUPPORTED, "CPython 3.13.2: its stacks could not be");
    assert_fails(&image, location, SS_E_UNSUPPORTED, "the interpreter may be modified");
    image_set_leaf(&image, 0);
    assert_fails(&image, location, SS_E_AGAIN, "process 4242 is not initialised yet");
    location.runtime_address = IMAGE_BASE + IMAGE_BYTES - 7;
    assert_fails(&image, location, SS_E_AGAIN, "process 4242 is not mapped yet");
    image.is_gone = true;
    assert_fails(&image, location, SS_E_GONE, "cannot read process 4242");
}

/* Without a published layout, which from 3.13 on means that it is not mapped yet. */
static void tables_end_with_3_12(void **state)
{
    (void)state;
    struct image image;
    build(&image, 0x030c, false);
    struct ss_python_location location = image_location(&image);
    location.version_hex = 0x030d00f0;
    assert_fails(&image, location, SS_E_AGAIN, "does not publish its layout yet");
    location.version_hex = 0x030200f0;
    assert_fails(&image, location, SS_E_UNSUPPORTED, "stepscope reads 3.8 to 3.15");
}

static void an_unknown_version_is_found_by_its_tables(void **state)
{
    (void)state;
    for (uint16_t version = 0x0308; version <= 0x030c; version++) {
        struct image image;
        build(&image, version, false);
        struct ss_python_location location = image_location(&image);
        location.version_hex = 0;
        struct ss_python *python = open_it(&image, location);
        struct ss_python_stack stack;
        assert_int_equal(ss_python_walk_thread(python, ss_python_thread_at(python, 0), &stack),
                         SS_PYTHON_OK);
        assert_int_equal(stack.depth, 3);
        ss_python_close(python);
    }
}

static void frames_that_do_not_exist_are_empty(void **state)
{
    (void)state;
    struct image image;
    build(&image, 0x030b, false);
    struct ss_python *python = open_it(&image, image_location(&image));
    struct ss_python_frame frame;
    uint32_t count = ss_python_frame_count(python);
    assert_int_not_equal(count, 0);
    ss_python_frame_get(python, count, &frame);
    assert_int_equal(frame.name.length, 1);
    ss_python_frame_get(python, count + 1, &frame);
    assert_int_equal(frame.name.length, 0);
    ss_python_frame_get(python, 0, &frame);
    assert_int_equal(frame.name.length, 0);
    ss_python_close(python);
}

/* Of a small process: two arrays of frames, and the first slots of three tables. */
static void memory_is_counted(void **state)
{
    (void)state;
    struct image image;
    build(&image, 0x030b, false);
    struct ss_python *python = open_it(&image, image_location(&image));
    size_t before = ss_python_memory_bytes(python);
    size_t tables = 1024 * (sizeof(struct ss_code_lookup) + 2 * sizeof(uint32_t));
    size_t least = 2 * SS_PYTHON_MAX_DEPTH * sizeof(uint32_t) + tables;
    assert_in_range(before, least, 2 * least);
    for (int i = 0; i < 40; i++) {
        struct ss_python_stack stack;
        image_push(&image, image_code(&image, "another function", 1), 5);
        ss_python_walk_thread(python, ss_python_thread_at(python, 0), &stack);
    }
    assert_true(ss_python_memory_bytes(python) > before);
    ss_python_close(python);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(versions_are_written_as_python_does),
        cmocka_unit_test(from_3_13_the_interpreter_says_its_version),
        cmocka_unit_test(why_it_cannot_be_read_is_said),
        cmocka_unit_test(tables_end_with_3_12),
        cmocka_unit_test(an_unknown_version_is_found_by_its_tables),
        cmocka_unit_test(frames_that_do_not_exist_are_empty),
        cmocka_unit_test(memory_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
