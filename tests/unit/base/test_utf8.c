/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include <string.h>

#include "base/utf8.h"

struct character {
    const char *bytes;
    bool is_valid;
};

static const struct character characters[] = {
    {"a", true},
    {"\x7f", true},
    {"\xc2\x80", true},
    {"\xdf\xbf", true},
    {"\xe0\xa0\x80", true},
    {"\xed\x9f\xbf", true},
    {"\xef\xbf\xbf", true},
    {"\xf0\x90\x80\x80", true},
    {"\xf4\x8f\xbf\xbf", true},
    {"\x80", false},             /* continues nothing */
    {"\xc1\xbf", false},         /* overlong */
    {"\xc3", false},             /* cut */
    {"\xc3(", false},            /* not continued */
    {"\xe0\x9f\xbf", false},     /* overlong */
    {"\xe2\x82", false},         /* cut */
    {"\xed\xa0\x80", false},     /* a surrogate */
    {"\xf0\x8f\xbf\xbf", false}, /* overlong */
    {"\xf4\x90\x80\x80", false}, /* beyond the last */
    {"\xf0\x9f\x98", false},     /* cut */
    {"\xff", false},
};
enum { CHARACTERS = sizeof characters / sizeof characters[0] };

static void lengths_identify_valid_characters(void **state)
{
    (void)state;
    for (size_t i = 0; i < CHARACTERS; i++) {
        size_t length = strlen(characters[i].bytes);
        assert_int_equal(ss_utf8_length(characters[i].bytes, length),
                         characters[i].is_valid ? length : 0);
    }
    assert_int_equal(ss_utf8_length("", 0), 0);
}

/* At every offset of a text: texts are scanned by words first. */
static void a_bad_character_is_found_wherever_it_is(void **state)
{
    (void)state;
    for (size_t i = 0; i < CHARACTERS; i++) {
        for (size_t before = 0; before < 20; before++) {
            for (size_t behind = 0; behind < 20; behind++) {
                char text[64];
                size_t length = strlen(characters[i].bytes);
                memset(text, 'x', sizeof text);
                memcpy(text + before, characters[i].bytes, length);
                assert_int_equal(ss_utf8_valid(text, before + length + behind),
                                 characters[i].is_valid);
            }
        }
    }
    assert_true(ss_utf8_valid("", 0));
}

static void what_is_bad_becomes_the_replacement_character(void **state)
{
    (void)state;
    struct ss_strbuf out;
    ss_strbuf_init(&out, 100);
    ss_utf8_append_valid(&out, "a\xc3(\xe2\x82\xac\xff", 7);
    assert_string_equal(out.data, "a\xef\xbf\xbd(\xe2\x82\xac\xef\xbf\xbd");
    ss_strbuf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lengths_identify_valid_characters),
        cmocka_unit_test(a_bad_character_is_found_wherever_it_is),
        cmocka_unit_test(what_is_bad_becomes_the_replacement_character),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
