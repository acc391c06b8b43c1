/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include <string.h>

#include "unwind/cpython_layout.h"

enum { WORDS = SS_DEBUG_OFFSETS_BYTES / 8 };

/* As the free-threading flag and the version stand in every interpreter; the rest as measured. */
struct published {
    uint64_t words[WORDS];
};

static void begin(struct published *published, uint32_t version_hex)
{
    memset(published, 0, sizeof *published);
    memcpy(published->words, "xdebugpy", 8);
    published->words[1] = version_hex;
}

/* The words of 3.13.0 that the walk uses. */
static void fill_3_13(struct published *published)
{
    static const struct {
        int word, value;
    } known[] = {{3, 283320}, {5, 632},  {6, 194968}, {7, 7272}, {8, 7264}, {9, 7344}, {11, 7656},
                 {14, 16},    {19, 304}, {21, 8},     {22, 16},  {23, 72},  {24, 152}, {25, 160},
                 {26, 232},   {28, 80},  {29, 8},     {30, 0},   {31, 56},  {32, 72},  {33, 70},
                 {34, 208},   {35, 112}, {36, 120},   {37, 128}, {38, 136}, {39, 68},  {43, 200},
                 {45, 8},     {47, 24},  {49, 168},   {57, 32},  {58, 40},  {62, 16},  {63, 24},
                 {65, 16},    {66, 32},  {68, 32},    {69, 16},  {70, 40}};
    begin(published, 0x030d00f0);
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        published->words[known[i].word] = (uint64_t)known[i].value;
    }
}

static enum ss_status parse(const struct published *published, struct ss_cpython_layout *layout)
{
    uint32_t version_hex;
    struct ss_error err;
    return ss_debug_offsets_parse(published->words, sizeof published->words, layout, &version_hex,
                                  &err);
}

static void what_3_13_publishes_is_its_measured_table(void **state)
{
    (void)state;
    struct published published;
    struct ss_cpython_layout layout;
    fill_3_13(&published);
    assert_int_equal(parse(&published, &layout), SS_OK);
    const struct ss_cpython_layout *table = ss_cpython_layout_get(0x030d, false, false);
    assert_int_equal(layout.version, table->version);
#define SS_FIELD(name)                                                                             \
    if (strcmp(#name, "interp_threads_head") != 0 && strcmp(#name, "interp_gil") != 0) {           \
        assert_int_equal(layout.name, table->name);                                                \
    }
#include "unwind/cpython_fields.def"
#undef SS_FIELD
}

static void bytes_without_the_cookie_are_refused(void **state)
{
    (void)state;
    struct published published;
    struct ss_cpython_layout layout;
    fill_3_13(&published);
    published.words[0] = 0;
    assert_false(ss_debug_offsets_present(published.words, sizeof published.words));
    assert_int_equal(parse(&published, &layout), SS_E_UNSUPPORTED);
    assert_false(ss_debug_offsets_present("xdebugpy", 8));
}

static void a_newer_minor_is_tried_with_the_newest_shape(void **state)
{
    (void)state;
    struct published published;
    struct ss_cpython_layout layout;
    fill_3_13(&published);
    published.words[1] = 0x030f00f0; /* 3.15, of which only the shape of 3.14 is known */
    assert_int_equal(parse(&published, &layout), SS_E_UNSUPPORTED); /* it does not fit this */
    published.words[1] = 0x030c00f0;
    assert_int_equal(parse(&published, &layout), SS_E_UNSUPPORTED);
}

/* Every word in turn is made huge, and then a little too big: no buffer may be left behind. */
static void values_out_of_bounds_are_refused_or_harmless(void **state)
{
    (void)state;
    static const uint64_t values[] = {UINT64_MAX, 1 << 23, 4096, 600, 130};
    for (int word = 3; word < WORDS; word++) {
        for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
            struct published published;
            struct ss_cpython_layout layout;
            fill_3_13(&published);
            published.words[word] = values[i];
            if (parse(&published, &layout) != SS_OK) {
                continue;
            }
            assert_in_range(layout.frame_size, 8, SS_FRAME_MAX_BYTES);
            assert_in_range(layout.frame_code, 0, layout.frame_size - 8);
            assert_in_range(layout.frame_instr, 0, layout.frame_size - 8);
            assert_in_range(layout.frame_previous, 0, layout.frame_size - 8);
            assert_in_range(layout.code_size, 8, SS_CODE_MAX_BYTES);
            assert_in_range(layout.code_name, 0, layout.code_size - 8);
            assert_in_range(layout.tstate_size, 8, SS_TSTATE_MAX_BYTES);
            assert_in_range(layout.tstate_datastack_chunk, 0, layout.tstate_size - 8);
            assert_in_range(layout.unicode_ascii_data, 0, 128);
            assert_in_range(layout.bytes_data, 0, 128);
            assert_in_range(layout.var_size, 0, 128);
        }
    }
}

static void a_cut_struct_is_refused(void **state)
{
    (void)state;
    struct published published;
    struct ss_cpython_layout layout;
    uint32_t version_hex;
    fill_3_13(&published);
    for (size_t words = 0; words < 71; words++) {
        assert_int_equal(
            ss_debug_offsets_parse(published.words, words * 8, &layout, &version_hex, NULL),
            SS_E_UNSUPPORTED);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_3_13_publishes_is_its_measured_table),
        cmocka_unit_test(bytes_without_the_cookie_are_refused),
        cmocka_unit_test(a_newer_minor_is_tried_with_the_newest_shape),
        cmocka_unit_test(values_out_of_bounds_are_refused_or_harmless),
        cmocka_unit_test(a_cut_struct_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
