/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include <string.h>

#include "../../fakes/cpython_image.h"
#include "unwind/cpython_text.h"

static uint8_t memory[IMAGE_BYTES];

/* A str object of `kind` bytes a character. */
static uint64_t make_text(struct image *image, unsigned kind, const void *characters, size_t count)
{
    const struct ss_cpython_layout *layout = image->layout;
    size_t offset = (size_t)layout->unicode_compact_data;
    uint64_t address = image_alloc(image, offset + count * kind);
    uint32_t word = kind << layout->unicode_kind_shift | 1U << layout->unicode_compact_shift;
    image_put_word(image, address, layout->unicode_length, count);
    image_put(image, address, layout->unicode_state, word, 4);
    memcpy(image_at(image, address + offset), characters, count * kind);
    return address;
}

static void assert_text(struct image *image, uint64_t address, size_t maximum, const char *wanted)
{
    struct ss_strbuf text;
    ss_strbuf_init(&text, 1 << 16);
    assert_true(ss_cpython_text(&image->reader, image->layout, address, maximum, &text));
    assert_string_equal(text.data, wanted);
    ss_strbuf_fini(&text);
}

static void every_kind_becomes_utf8(void **state)
{
    (void)state;
    for (uint16_t version = 0x0308; version <= 0x030e; version++) {
        struct image image;
        image_build(&image, ss_cpython_layout_get(version, false, false), memory);
        static const uint16_t two[] = {'a', 0x444, 0x65e5, 0xd800};
        static const uint32_t four[] = {0x10400, 0x110000, 'z'};
        assert_text(&image, image_text(&image, "plain"), 100, "plain");
        assert_text(&image, image_text(&image, ""), 100, "");
        assert_text(&image, make_text(&image, 1, "gr\xf6\xdf", 4), 100, "größ");
        assert_text(&image, make_text(&image, 2, two, 4), 100, "aф日\xef\xbf\xbd");
        assert_text(&image, make_text(&image, 4, four, 3), 100, "\xf0\x90\x90\x80\xef\xbf\xbdz");
    }
}

/* The first and the last character of each length in UTF-8, and of the surrogates. */
static void every_length_of_utf8_has_its_bounds(void **state)
{
    (void)state;
    static const struct {
        uint32_t character;
        const char *text;
    } cases[] = {
        {0x7f, "\x7f"},
        {0x80, "\xc2\x80"},
        {0x7ff, "\xdf\xbf"},
        {0x800, "\xe0\xa0\x80"},
        {0xd7ff, "\xed\x9f\xbf"},
        {0xd800, "\xef\xbf\xbd"},
        {0xdfff, "\xef\xbf\xbd"},
        {0xe000, "\xee\x80\x80"},
        {0xffff, "\xef\xbf\xbf"},
        {0x10000, "\xf0\x90\x80\x80"},
        {0x10ffff, "\xf4\x8f\xbf\xbf"},
    };
    struct image image;
    image_build(&image, ss_cpython_layout_get(0x030b, false, false), memory);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_text(&image, make_text(&image, 4, &cases[i].character, 1), 100, cases[i].text);
    }
}

static void long_text_is_cut_and_takes_several_reads(void **state)
{
    (void)state;
    struct image image;
    static char text[20001];
    image_build(&image, ss_cpython_layout_get(0x030b, false, false), memory);
    memset(text, 'x', sizeof text - 1);
    uint64_t address = image_text(&image, text);
    assert_text(&image, address, sizeof text, text);
    text[9000] = '\0';
    assert_text(&image, address, 9000, text);
}

static void what_is_no_text_is_refused(void **state)
{
    (void)state;
    struct image image;
    struct ss_strbuf text;
    ss_strbuf_init(&text, 1000);
    image_build(&image, ss_cpython_layout_get(0x030b, false, false), memory);
    const struct ss_cpython_layout *layout = image.layout;
    uint64_t negative = image_text(&image, "abc"), kindless = image_text(&image, "abc");
    uint64_t spread = image_text(&image, "abc"), endless = image_text(&image, "abc");
    image_put_word(&image, negative, layout->unicode_length, UINT64_MAX);
    image_put(&image, kindless, layout->unicode_state, 3U << layout->unicode_kind_shift, 4);
    image_put(&image, spread, layout->unicode_state, 1U << layout->unicode_kind_shift, 4);
    image_put_word(&image, endless, layout->unicode_length, INT64_MAX);
    assert_false(ss_cpython_text(&image.reader, layout, 0, 10, &text));
    assert_false(ss_cpython_text(&image.reader, layout, 8, 10, &text));
    assert_false(ss_cpython_text(&image.reader, layout, negative, 10, &text));
    assert_false(ss_cpython_text(&image.reader, layout, kindless, 10, &text));
    assert_false(ss_cpython_text(&image.reader, layout, spread, 10, &text));
    /* A length that reaches beyond what is mapped. */
    assert_false(ss_cpython_text(&image.reader, layout, endless, 1 << 20, &text));
    ss_strbuf_fini(&text);
}

static void bytes_have_a_maximum(void **state)
{
    (void)state;
    struct image image;
    struct ss_strbuf content;
    char long_bytes[3000];
    ss_strbuf_init(&content, 10000);
    memset(long_bytes, 7, sizeof long_bytes);
    image_build(&image, ss_cpython_layout_get(0x030a, false, false), memory);
    uint64_t address = image_bytes(&image, long_bytes, sizeof long_bytes);
    assert_true(ss_cpython_bytes(&image.reader, image.layout, address, 3000, &content));
    assert_int_equal(content.length, sizeof long_bytes);
    assert_memory_equal(content.data, long_bytes, sizeof long_bytes);
    assert_false(ss_cpython_bytes(&image.reader, image.layout, address, 2999, &content));
    assert_false(ss_cpython_bytes(&image.reader, image.layout, 16, 100, &content));
    ss_strbuf_fini(&content);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_becomes_utf8),
        cmocka_unit_test(every_length_of_utf8_has_its_bounds),
        cmocka_unit_test(long_text_is_cut_and_takes_several_reads),
        cmocka_unit_test(what_is_no_text_is_refused),
        cmocka_unit_test(bytes_have_a_maximum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
