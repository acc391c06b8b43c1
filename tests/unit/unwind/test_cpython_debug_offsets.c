/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include "../../fakes/cpython_published.h"

struct published {
    uint64_t words[PUBLISHED_WORDS];
};

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
    published_fill_3_13(published.words);
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
    published_fill_3_13(published.words);
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
    published_fill_3_13(published.words);
    published.words[1] = 0x031000f0; /* 3.16, of which only the shape of 3.15 is known */
    assert_int_equal(parse(&published, &layout), SS_E_UNSUPPORTED); /* it does not fit this */
    published.words[1] = 0x030c00f0;
    assert_int_equal(parse(&published, &layout), SS_E_UNSUPPORTED);
}

/* Every word in turn is made huge, then a little too big: no buffer may be left behind. */
static void values_out_of_bounds_are_refused_or_harmless(void **state)
{
    (void)state;
    static const uint64_t values[] = {UINT64_MAX, 1 << 23, 4096, 600, 130, 69};
    for (int word = 3; word < PUBLISHED_WORDS; word++) {
        for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
            struct published published;
            struct ss_cpython_layout layout;
            published_fill_3_13(published.words);
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
    published_fill_3_13(published.words);
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
