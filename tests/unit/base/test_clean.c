/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/clean.h"
#include "base/terminal.h"
#include "base/utf8.h"

#define BAD "\xef\xbf\xbd"

/* The text in pieces of every size. */
static void check(const char *text, size_t length, const char *expected)
{
    for (size_t piece = 1; piece <= length; piece++) {
        struct ss_clean clean = {.held_count = 0};
        struct ss_strbuf out;
        ss_strbuf_init(&out, 4096);
        for (size_t at = 0; at < length; at += piece) {
            size_t left = length - at;
            ss_clean_append(&clean, &out, text + at, left < piece ? left : piece);
        }
        assert_string_equal(out.data, expected);
        ss_strbuf_fini(&out);
    }
}

static void check_text(const char *text, const char *expected)
{
    check(text, strlen(text), expected);
}

static void test_plain_text_passes(void **state)
{
    (void)state;
    check_text("step 1\tloss\n", "step 1\tloss\n");
    check_text("a,b\r\nc\n", "a,b\r\nc\n");
    check_text("Größe ≤ 3 µs 🔥 日本 ", "Größe ≤ 3 µs 🔥 日本 ");
}

static void test_what_a_terminal_obeys_does_not(void **state)
{
    (void)state;
    check_text("a\033[2Jb", "a" BAD "[2Jb");
    check_text("\033]0;owned\a.", BAD "]0;owned" BAD ".");
    check_text("over\rwritten", "over" BAD "written");
    check_text("\xc2\x9b"
               "31m",
               BAD "31m"); /* CSI in one character */
    check_text("\x9b"
               "31m",
               BAD "31m"); /* the same in a terminal of 8 bits */
    check_text("\xe2\x80\xae"
               "gpj.exe",
               BAD "gpj.exe");
    check_text("\xf3\xa0\x81\x81.", BAD "."); /* a tag */
    check_text("\xef\xbf\xbe.\x7f.", BAD "." BAD ".");
    check("a\0b", 3, "a" BAD "b");
}

static void test_invalid_bytes(void **state)
{
    (void)state;
    check_text("\xff.\xc0\xaf.\xed\xa0\x80.", BAD "." BAD BAD "." BAD BAD BAD ".");
    check_text("\xe2\x82.\xf0\x9f\x94.", BAD BAD "." BAD BAD BAD ".");
    check_text("\xe2\033[1m.", BAD BAD "[1m.");
}

static void test_own_sequences_pass(void **state)
{
    (void)state;
    char text[128];
    snprintf(text, sizeof text, "%sbold%s %s[2K", SS_BOLD, SS_OFF, ss_escape());
    check_text(text, "\033[1mbold\033[0m \033[2K");
    assert_int_equal(strlen(ss_escape()), 17);
    /* Another number is not ours. */
    snprintf(text, sizeof text, "%s.", ss_escape());
    text[16] = text[16] == '0' ? '1' : '0';
    char expected[sizeof text + sizeof BAD];
    snprintf(expected, sizeof expected, BAD "%s", text + 1);
    check_text(text, expected);
}

static void test_names_hold_nothing_of_ours(void **state)
{
    (void)state;
    struct ss_strbuf out;
    ss_strbuf_init(&out, 4096);
    ss_clean_append_name(&out, ss_strview_of(SS_BOLD));
    assert_null(strchr(out.data, '\033'));
    ss_strbuf_clear(&out);
    ss_clean_append_name(&out, ss_strview_of("a\n\tb\r\n\xe2\x82"));
    assert_string_equal(out.data, "a\n\tb" BAD "\n" BAD BAD);
    ss_strbuf_fini(&out);
}

/* Every character: what passes is valid, and not harmful. */
static void test_every_character(void **state)
{
    (void)state;
    unsigned passed = 0;
    for (uint32_t c = 0x80; c <= 0x10ffff; c++) {
        char text[5] = {0};
        if (c < 0x800) {
            text[0] = (char)(0xc0 | c >> 6);
        } else if (c < 0x10000) {
            text[0] = (char)(0xe0 | c >> 12);
            text[1] = (char)(0x80 | (c >> 6 & 0x3f));
        } else {
            text[0] = (char)(0xf0 | c >> 18);
            text[1] = (char)(0x80 | (c >> 12 & 0x3f));
            text[2] = (char)(0x80 | (c >> 6 & 0x3f));
        }
        text[strlen(text)] = (char)(0x80 | (c & 0x3f));
        bool is_surrogate = c >= 0xd800 && c <= 0xdfff;
        assert_int_equal(ss_utf8_length(text, strlen(text)) > 0, !is_surrogate);
        if (is_surrogate) {
            continue;
        }
        struct ss_clean clean = {.held_count = 0};
        struct ss_strbuf out;
        ss_strbuf_init(&out, 16);
        ss_clean_append(&clean, &out, text, strlen(text));
        assert_string_equal(out.data, ss_clean_is_harmful(c) ? BAD : text);
        passed += !ss_clean_is_harmful(c);
        ss_strbuf_fini(&out);
    }
    assert_true(passed > 1100000 - 2048 - 5000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain_text_passes),
        cmocka_unit_test(test_what_a_terminal_obeys_does_not),
        cmocka_unit_test(test_invalid_bytes),
        cmocka_unit_test(test_own_sequences_pass),
        cmocka_unit_test(test_names_hold_nothing_of_ours),
        cmocka_unit_test(test_every_character),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
