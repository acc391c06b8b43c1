/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#define IMAGE_BYTES (1 << 22)
#include "../../fakes/cpython_image.h"
#include "unwind/cpython_code.h"

static uint8_t memory[IMAGE_BYTES];

enum {
    UNITS = 8,   /* instructions of image_code's functions, of two bytes each */
    MANY = 2500, /* codes: every table grows more than once */
    MAX_FRAME_BYTES = 1 << 20,
    MAX_BYTECODE_BYTES = 64 << 20,
};

struct fixture {
    struct image image;
    struct ss_code_cache cache;
};

static void begin_with(struct fixture *fixture, const struct ss_cpython_layout *layout,
                       bool no_lines)
{
    image_build(&fixture->image, layout, memory);
    ss_code_cache_init(&fixture->cache, &fixture->image.reader, layout, no_lines);
}

static void begin(struct fixture *fixture, uint16_t version)
{
    begin_with(fixture, ss_cpython_layout_get(version, false, false), false);
}

static void end(struct fixture *fixture)
{
    ss_code_cache_fini(&fixture->cache);
}

/* What a frame has as its instruction while it executes this unit. */
static uint64_t instruction_at(const struct image *image, uint64_t code, int64_t unit)
{
    const struct ss_cpython_layout *layout = image->layout;
    if (layout->code_bytecode != SS_ABSENT) {
        return code + (uint64_t)layout->code_bytecode + (uint64_t)(unit * 2);
    }
    return (uint64_t)(uint32_t)(int32_t)(layout->version == 0x030a || unit < 0 ? unit : unit * 2);
}

static uint32_t frame_at(struct fixture *fixture, uint64_t code, int64_t unit)
{
    return ss_code_frame(&fixture->cache, code, instruction_at(&fixture->image, code, unit));
}

static int32_t line_of(const struct fixture *fixture, uint32_t frame)
{
    assert_in_range(frame, 1, fixture->cache.frames.count);
    return fixture->cache.frames.data[frame - 1].line;
}

static void assert_text(const struct fixture *fixture, uint32_t text, const char *wanted)
{
    assert_true(
        ss_strview_equal(ss_intern_get(&fixture->cache.texts, text), ss_strview_of(wanted)));
}

static const uint16_t versions[] = {0x0308, 0x0309, 0x030a, 0x030b, 0x030c, 0x030d, 0x030e};
enum { VERSIONS = sizeof versions / sizeof versions[0] };

static void each_instruction_has_its_line(void **state)
{
    (void)state;
    for (int v = 0; v < VERSIONS; v++) {
        struct fixture fixture;
        begin(&fixture, versions[v]);
        uint64_t code = image_code(&fixture.image, "f", 40);
        for (int64_t unit = 0; unit < UNITS; unit++) {
            assert_int_equal(line_of(&fixture, frame_at(&fixture, code, unit)), unit < 4 ? 40 : 41);
        }
        assert_int_equal(fixture.cache.frames.count, 2); /* one for each line */
        assert_int_equal(frame_at(&fixture, code, UNITS), SS_FRAME_NONE);
        /* In a new frame, up to 3.12, it is the one before the first. */
        uint32_t fresh = frame_at(&fixture, code, -1);
        if (versions[v] <= 0x030c) {
            assert_int_equal(line_of(&fixture, fresh), 40);
        } else {
            assert_int_equal(fresh, SS_FRAME_NONE);
        }
        assert_int_equal(frame_at(&fixture, code, -2), SS_FRAME_NONE);
        end(&fixture);
    }
}

static void an_instruction_in_the_middle_of_a_unit_is_none(void **state)
{
    (void)state;
    for (int v = 3; v < VERSIONS; v++) {
        struct fixture fixture;
        begin(&fixture, versions[v]);
        uint64_t code = image_code(&fixture.image, "f", 40);
        uint64_t instruction = instruction_at(&fixture.image, code, 3);
        assert_int_equal(ss_code_frame(&fixture.cache, code, instruction + 1), SS_FRAME_NONE);
        assert_int_not_equal(ss_code_frame(&fixture.cache, code, instruction), SS_FRAME_NONE);
        end(&fixture);
    }
}

static void names_are_those_of_the_code(void **state)
{
    (void)state;
    for (int v = 0; v < VERSIONS; v++) {
        struct fixture fixture;
        begin(&fixture, versions[v]);
        struct image *image = &fixture.image;
        uint64_t code = image_code(image, "f", 40);
        image_put_word(image, code, image->layout->code_qualname, image_text(image, "Class.f"));
        assert_int_not_equal(frame_at(&fixture, code, 0), SS_FRAME_NONE);
        const struct ss_code *known = &fixture.cache.codes.data[0];
        assert_text(&fixture, known->name, "f");
        assert_text(&fixture, known->function, versions[v] < 0x030b ? "f" : "Class.f");
        assert_text(&fixture, known->file, "/tmp/made_up.py");
        assert_int_equal(known->first_line, 40);
        assert_int_equal(known->bytecode_bytes, 2 * UNITS);
        end(&fixture);
    }
}

static void without_lines_none_is_read(void **state)
{
    (void)state;
    struct fixture fixture;
    begin_with(&fixture, ss_cpython_layout_get(0x030b, false, false), true);
    uint64_t code = image_code(&fixture.image, "f", 40);
    image_put_word(&fixture.image, code, fixture.image.layout->code_linetable, 8);
    assert_int_equal(line_of(&fixture, frame_at(&fixture, code, 5)), 0);
    assert_int_equal(frame_at(&fixture, code, 1), frame_at(&fixture, code, 6));
    end(&fixture);
}

/* Frame ids stay as the tables grow, and a frame that is known takes no read. */
static void many_codes_keep_their_frames(void **state)
{
    (void)state;
    static uint64_t codes[MANY];
    static uint32_t frames[MANY][2];
    struct fixture fixture;
    begin(&fixture, 0x030b);
    size_t before = ss_code_cache_bytes(&fixture.cache);
    for (int i = 0; i < MANY; i++) {
        char name[16];
        snprintf(name, sizeof name, "f%d", i);
        codes[i] = image_code(&fixture.image, name, 10 * i + 1);
        frames[i][0] = frame_at(&fixture, codes[i], 0);
        frames[i][1] = frame_at(&fixture, codes[i], 7);
        assert_int_equal(frames[i][0], 2 * i + 1);
        assert_int_equal(frames[i][1], 2 * i + 2);
    }
    uint64_t reads = fixture.image.reader.syscalls;
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(frame_at(&fixture, codes[i], 0), frames[i][0]);
        assert_int_equal(frame_at(&fixture, codes[i], 7), frames[i][1]);
        assert_int_equal(line_of(&fixture, frames[i][1]), 10 * i + 2);
    }
    assert_int_equal(fixture.image.reader.syscalls, reads);
    for (int i = 0; i < MANY; i++) { /* other instructions of the same lines */
        assert_int_equal(frame_at(&fixture, codes[i], 1), frames[i][0]);
        assert_int_equal(frame_at(&fixture, codes[i], 6), frames[i][1]);
    }
    assert_int_equal(fixture.image.reader.syscalls, reads);
    assert_int_equal(fixture.cache.codes.count, MANY);
    assert_int_equal(fixture.cache.lookup_count, 4 * MANY); /* each is found at once */
    size_t least = MANY * (sizeof(struct ss_code) + 2 * sizeof(struct ss_line_entry) +
                           2 * sizeof(struct ss_code_frame) + 4 * sizeof(struct ss_code_lookup));
    size_t bytes = ss_code_cache_bytes(&fixture.cache);
    assert_in_range(bytes, before + least, before + 6 * least);
    end(&fixture);
}

/* --- what is not code --- */

static void assert_none(struct fixture *fixture, uint64_t code)
{
    assert_int_equal(frame_at(fixture, code, 0), SS_FRAME_NONE);
}

static void what_is_no_code_has_no_frame(void **state)
{
    (void)state;
    for (int v = 0; v < VERSIONS; v++) {
        struct fixture fixture;
        begin(&fixture, versions[v]);
        struct image *image = &fixture.image;
        const struct ss_cpython_layout *layout = image->layout;
        uint64_t good = image_code(image, "f", 1);
        assert_none(&fixture, 0);
        assert_none(&fixture, IMAGE_BASE + IMAGE_BYTES); /* not mapped */
        uint64_t nameless = image_code(image, "f", 1), fileless = image_code(image, "f", 1);
        uint64_t lineless = image_code(image, "f", 1), alien = image_code(image, "f", 1);
        image_put_word(image, nameless, layout->code_name, 8);
        image_put_word(image, fileless, layout->code_filename, 8);
        image_put_word(image, lineless, layout->code_linetable, 8);
        image_put_word(image, alien, layout->object_type, image_alloc(image, 512));
        assert_none(&fixture, alien); /* before and after the type of code is known */
        assert_int_not_equal(frame_at(&fixture, good, 0), SS_FRAME_NONE);
        assert_none(&fixture, alien);
        assert_none(&fixture, nameless);
        assert_none(&fixture, fileless);
        assert_none(&fixture, lineless);
        if (layout->code_qualname != SS_ABSENT) {
            uint64_t unqualified = image_code(image, "f", 1), broken = image_code(image, "f", 1);
            image_put_word(image, unqualified, layout->code_qualname, 0);
            image_put_word(image, broken, layout->code_qualname, 8);
            assert_int_not_equal(frame_at(&fixture, unqualified, 0), SS_FRAME_NONE);
            assert_none(&fixture, broken);
        }
        end(&fixture);
    }
}

static void an_address_must_be_aligned(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture, 0x030b);
    struct image *image = &fixture.image;
    uint64_t code = image_code(image, "f", 1), size = (uint64_t)image->layout->code_size + 16;
    uint64_t copy = image_alloc(image, size + 16);
    memcpy(image_at(image, copy + 4), image_at(image, code), size);
    assert_none(&fixture, copy + 4);
    memcpy(image_at(image, copy + 8), image_at(image, code), size);
    assert_int_not_equal(frame_at(&fixture, copy + 8, 0), SS_FRAME_NONE);
    end(&fixture);
}

static void a_size_that_cannot_be_is_refused(void **state)
{
    (void)state;
    for (int v = 0; v < VERSIONS; v++) {
        struct fixture fixture;
        begin(&fixture, versions[v]);
        struct image *image = &fixture.image;
        const struct ss_cpython_layout *layout = image->layout;
        bool has_units = layout->code_bytecode != SS_ABSENT;
        uint64_t most = has_units ? MAX_BYTECODE_BYTES / 2 : MAX_BYTECODE_BYTES;
        uint64_t large = image_code(image, "f", 1), largest = image_code(image, "f", 1);
        uint64_t of_large = has_units ? large : image_word(image, large, layout->code_code);
        uint64_t of_largest = has_units ? largest : image_word(image, largest, layout->code_code);
        image_put_word(image, of_large, layout->var_size, most + 1);
        image_put_word(image, of_largest, layout->var_size, most);
        assert_none(&fixture, large);
        assert_int_not_equal(frame_at(&fixture, largest, 1000), SS_FRAME_NONE);
        end(&fixture);
    }
}

static void code_of_the_interpreter_itself_is_a_shim(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture, 0x030c);
    struct image *image = &fixture.image;
    const struct ss_cpython_layout *layout = image->layout;
    uint64_t shim = image_code(image, "entry", 1), init = image_code(image, "__init__", 0);
    uint64_t zero = image_code(image, "exec", 0), same = image_code(image, "f", 3);
    image_put_word(image, shim, layout->code_filename, image_text(image, "<shim>"));
    image_put_word(image, init, layout->code_filename, image_word(image, init, layout->code_name));
    image_put_word(image, same, layout->code_filename, image_word(image, same, layout->code_name));
    assert_int_equal(frame_at(&fixture, shim, 2), SS_FRAME_SHIM);
    assert_int_equal(frame_at(&fixture, init, 100), SS_FRAME_SHIM); /* wherever it is */
    assert_int_not_equal(frame_at(&fixture, zero, 2), SS_FRAME_SHIM);
    assert_int_not_equal(frame_at(&fixture, same, 2), SS_FRAME_SHIM);
    uint64_t reads = image->reader.syscalls;
    assert_int_equal(frame_at(&fixture, shim, 2), SS_FRAME_SHIM);
    assert_int_equal(image->reader.syscalls, reads);
    end(&fixture);
}

/* --- reused addresses --- */

static void a_check_goes_round_in_parts(void **state)
{
    (void)state;
    enum { CODES = 300, PART = 130 };
    static uint64_t codes[CODES];
    struct fixture fixture;
    begin(&fixture, 0x030b);
    assert_int_equal(ss_code_cache_check(&fixture.cache, PART), 0); /* of nothing */
    for (int i = 0; i < CODES; i++) {
        codes[i] = image_code(&fixture.image, "old", 10 * i + 1);
        frame_at(&fixture, codes[i], 0);
    }
    uint64_t reads = fixture.image.reader.syscalls;
    assert_int_equal(ss_code_cache_check(&fixture.cache, PART), 0); /* 0 to 129: three reads */
    assert_int_equal(fixture.image.reader.syscalls - reads, 3);
    image_fill_code(&fixture.image, codes[5], "new", 7001);
    image_fill_code(&fixture.image, codes[131], "new", 7011);
    image_fill_code(&fixture.image, codes[259], "new", 7021);
    assert_int_equal(ss_code_cache_check(&fixture.cache, PART), 2); /* 130 to 259 */
    assert_int_equal(ss_code_cache_check(&fixture.cache, PART), 1); /* 260 to 299, 0 to 89 */
    assert_int_equal(ss_code_cache_check(&fixture.cache, 10000), 0);
    assert_int_equal(line_of(&fixture, frame_at(&fixture, codes[5], 0)), 7001);
    assert_int_equal(line_of(&fixture, frame_at(&fixture, codes[131], 0)), 7011);
    assert_int_equal(line_of(&fixture, frame_at(&fixture, codes[259], 0)), 7021);
    assert_int_equal(line_of(&fixture, frame_at(&fixture, codes[6], 0)), 61);
    assert_int_equal(fixture.cache.codes.count, CODES + 3);
    end(&fixture);
}

static void every_part_of_a_fingerprint_counts(void **state)
{
    (void)state;
    const struct ss_cpython_layout *layout = ss_cpython_layout_get(0x030b, false, false);
    const int32_t fields[] = {layout->code_name,      layout->code_qualname, layout->code_filename,
                              layout->code_linetable, layout->var_size,      layout->object_type};
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        struct fixture fixture;
        begin(&fixture, 0x030b);
        uint64_t code = image_code(&fixture.image, "f", 40);
        frame_at(&fixture, code, 0);
        size_t bytes = fixture.cache.line_bytes;
        assert_int_not_equal(bytes, 0);
        assert_int_equal(ss_code_cache_check(&fixture.cache, 10), 0);
        image_put_word(&fixture.image, code, fields[i],
                       image_word(&fixture.image, code, fields[i]) + 16);
        assert_int_equal(ss_code_cache_check(&fixture.cache, 10), 1);
        assert_int_equal(fixture.cache.line_bytes, 0);
        end(&fixture);
    }
}

/* An instruction outside of the bytecode: the address may have been reused since the last check. */
static void a_doubtful_instruction_finds_new_code_at_once(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture, 0x030b);
    struct image *image = &fixture.image;
    uint64_t code = image_code(image, "f", 40);
    uint32_t old = frame_at(&fixture, code, 0);
    assert_int_equal(frame_at(&fixture, code, UNITS), SS_FRAME_NONE);
    image_fill_code(image, code, "longer", 900);
    image_put_word(image, code, image->layout->var_size, UNITS + 1);
    uint32_t frame = frame_at(&fixture, code, UNITS);
    assert_int_equal(line_of(&fixture, frame), 901);
    assert_int_equal(line_of(&fixture, frame_at(&fixture, code, 0)), 900);
    assert_int_equal(line_of(&fixture, old), 40);
    end(&fixture);
}

/* Torn reads show such instructions often: the code itself is read ever more rarely. */
static void doubts_are_checked_more_and_more_rarely(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture, 0x030b);
    uint64_t code = image_code(&fixture.image, "f", 40);
    frame_at(&fixture, code, 0);
    for (unsigned doubt = 0; doubt < 20; doubt++) {
        uint64_t reads = fixture.image.reader.syscalls;
        assert_int_equal(frame_at(&fixture, code, UNITS + doubt), SS_FRAME_NONE);
        bool is_checked = doubt == 0 || doubt == 1 || doubt == 3 || doubt == 7 || doubt == 15;
        assert_int_equal(fixture.image.reader.syscalls - reads, is_checked);
    }
    end(&fixture);
}

/* --- facts of frames --- */

static void instructions_that_return_are_known(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture, 0x030c);
    struct image *image = &fixture.image;
    const struct ss_cpython_layout *layout = image->layout;
    const int32_t codes[] = {layout->op_return_value, layout->op_return_const,
                             layout->op_instrumented_return_value,
                             layout->op_instrumented_return_const};
    uint64_t code = image_code(image, "f", 40);
    for (int i = 0; i < 4; i++) {
        assert_int_not_equal(codes[i], SS_ABSENT);
        image_put(image, code, layout->code_bytecode + i * 2, (uint64_t)codes[i], 1);
    }
    for (int i = 0; i < 5; i++) {
        uint64_t instruction = instruction_at(image, code, i);
        frame_at(&fixture, code, i);
        assert_int_equal(ss_code_is_return(&fixture.cache, code, instruction), i < 4);
        uint64_t reads = image->reader.syscalls;
        assert_int_equal(ss_code_is_return(&fixture.cache, code, instruction), i < 4);
        assert_int_equal(image->reader.syscalls, reads);
    }
    end(&fixture);
}

static void frames_are_as_large_as_their_code_says(void **state)
{
    (void)state;
    for (int v = 0; v < VERSIONS; v++) {
        struct fixture fixture;
        begin(&fixture, versions[v]);
        const struct ss_cpython_layout *layout = fixture.image.layout;
        uint64_t code = image_code(&fixture.image, "f", 40);
        image_put(&fixture.image, code, layout->code_nlocalsplus, 3, 4);
        assert_int_equal(ss_code_frame_bytes(&fixture.cache, code), 0); /* not loaded yet */
        frame_at(&fixture, code, 0);
        assert_int_equal(ss_code_frame_bytes(&fixture.cache, code), versions[v] < 0x030b ? 0
                                                                    : versions[v] == 0x030b
                                                                        ? IMAGE_FRAME_BYTES + 3 * 8
                                                                        : IMAGE_FRAME_BYTES);
        assert_int_equal(ss_code_frame_bytes(&fixture.cache, code + 8), 0);
        end(&fixture);
    }
}

static void a_size_that_no_frame_has_is_unknown(void **state)
{
    (void)state;
    static const int32_t words[] = {-1, 0, MAX_FRAME_BYTES / 8, MAX_FRAME_BYTES / 8 + 1};
    for (int i = 0; i < 4; i++) {
        struct fixture fixture;
        begin(&fixture, 0x030c);
        uint64_t code = image_code(&fixture.image, "f", 40);
        image_put(&fixture.image, code, fixture.image.layout->code_framesize, (uint32_t)words[i],
                  4);
        frame_at(&fixture, code, 0);
        assert_int_equal(ss_code_frame_bytes(&fixture.cache, code), i == 2 ? MAX_FRAME_BYTES : 0);
        end(&fixture);
    }
}

/* Free-threaded 3.14: each thread may run a copy of the bytecode. */
static void instructions_in_copies_are_found(void **state)
{
    (void)state;
    enum { COPIES = 130 };
    struct fixture fixture;
    begin_with(&fixture, ss_cpython_layout_get(0x030e, false, true), false);
    struct image *image = &fixture.image;
    const struct ss_cpython_layout *layout = image->layout;
    assert_int_not_equal(layout->code_tlbc, SS_ABSENT);
    uint64_t code = image_code(image, "f", 40), array = image_alloc(image, 8 + COPIES * 8);
    uint64_t last = image_alloc(image, 64), second = image_alloc(image, 64);
    image_put_word(image, code, layout->code_tlbc, array);
    image_put_word(image, array, 0, COPIES);
    image_put_word(image, array, 8, instruction_at(image, code, 0));
    image_put_word(image, array, 16, second);
    image_put_word(image, array, COPIES * 8, last);
    assert_int_equal(line_of(&fixture, ss_code_frame(&fixture.cache, code, second)), 40);
    assert_int_equal(line_of(&fixture, ss_code_frame(&fixture.cache, code, second + 10)), 41);
    assert_int_equal(line_of(&fixture, ss_code_frame(&fixture.cache, code, last + 14)), 41);
    assert_int_equal(ss_code_frame(&fixture.cache, code, last + 2 * UNITS), SS_FRAME_NONE);
    assert_int_equal(ss_code_frame(&fixture.cache, code, last - 2), SS_FRAME_NONE);
    image_put_word(image, array, 0, COPIES - 1); /* that thread has ended */
    assert_int_equal(ss_code_frame(&fixture.cache, code, last + 8), SS_FRAME_NONE);
    image_put_word(image, array, 0, UINT64_MAX);
    assert_int_equal(ss_code_frame(&fixture.cache, code, second + 4), SS_FRAME_NONE);
    end(&fixture);
}

static void a_mark_is_one_frame_without_a_place(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture, 0x030c);
    struct ss_code_cache *cache = &fixture.cache;
    uint32_t id = ss_code_mark(cache, ss_strview_of("<unknown>"));
    uint32_t other = ss_code_mark(cache, ss_strview_of("<left out>"));
    assert_int_equal(ss_code_mark(cache, ss_strview_of("<unknown>")), id);
    assert_int_not_equal(id, other);
    const struct ss_code_frame *frame = &cache->frames.data[id - 1];
    const struct ss_code *code = &cache->codes.data[frame->code];
    assert_true(
        ss_strview_equal(ss_intern_get(&cache->texts, code->name), ss_strview_of("<unknown>")));
    assert_int_equal(ss_intern_get(&cache->texts, code->file).length, 0);
    assert_int_equal(frame->line, 0);
    assert_int_equal(ss_code_cache_check(cache, UINT32_MAX), 0); /* it is at no address */
    end(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_instruction_has_its_line),
        cmocka_unit_test(an_instruction_in_the_middle_of_a_unit_is_none),
        cmocka_unit_test(names_are_those_of_the_code),
        cmocka_unit_test(without_lines_none_is_read),
        cmocka_unit_test(many_codes_keep_their_frames),
        cmocka_unit_test(what_is_no_code_has_no_frame),
        cmocka_unit_test(an_address_must_be_aligned),
        cmocka_unit_test(a_size_that_cannot_be_is_refused),
        cmocka_unit_test(code_of_the_interpreter_itself_is_a_shim),
        cmocka_unit_test(a_check_goes_round_in_parts),
        cmocka_unit_test(every_part_of_a_fingerprint_counts),
        cmocka_unit_test(a_doubtful_instruction_finds_new_code_at_once),
        cmocka_unit_test(doubts_are_checked_more_and_more_rarely),
        cmocka_unit_test(instructions_that_return_are_known),
        cmocka_unit_test(frames_are_as_large_as_their_code_says),
        cmocka_unit_test(a_size_that_no_frame_has_is_unknown),
        cmocka_unit_test(instructions_in_copies_are_found),
        cmocka_unit_test(a_mark_is_one_frame_without_a_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
