/* SPDX-License-Identifier: Apache-2.0 */
#include "folded_input.h"

#include <stdio.h>

#include "base/utf8.h"
#include "view/export/folded.h"

static char *export_text(const struct folded_input *input, struct ss_folded_options options)
{
    struct ss_sink sink;
    struct ss_error err = {0};
    ss_sink_open_memory(&sink, 1 << 20);
    options.size = sizeof options;
    if (ss_view_folded(&input->selection, &options, &sink, &err) != SS_OK) {
        fail_msg("%s", err.message);
    }
    assert_false(ss_sink_failed(&sink));
    char *text = ss_strdup(sink.buffer.data);
    ss_sink_abandon(&sink);
    return text;
}

static void check_round_trip(const char *text, struct ss_folded_options options)
{
    struct folded_input input;
    folded_text(&input, text);
    char *out = export_text(&input, options);
    assert_string_equal(out, text);
    ss_free(out);
    folded_fini(&input);
}

static void test_round_trip(void **state)
{
    (void)state;
    check_round_trip("main (m.py:1);a b (x (1)/é.py:2) 5\nmain (m.py:1) 2\nbare;f (x.py) 1\n",
                     (struct ss_folded_options){0});
    check_round_trip("process 1:\"py a;b\";thread (7): T;f (a.py:1) 2\n"
                     "process 1:\"py a;b\";process 2:\"py b\";thread (8): U;f (a.py:1) 3\n",
                     (struct ss_folded_options){.threads = true});
}

static void test_options(void **state)
{
    (void)state;
    struct folded_input input;
    folded_text(&input, "process 5:\"py\";thread (7): T;f (a.py:1) 2\n"
                        "process 5:\"py\";thread (8): U;f (a.py:9) 3\n");
    char *out = export_text(&input, (struct ss_folded_options){.style = {.no_lines = true}});
    assert_string_equal(out, "f (a.py) 5\n");
    ss_free(out);
    out = export_text(&input, (struct ss_folded_options){.processes = true});
    assert_string_equal(out, "process 5:\"py\";f (a.py:1) 2\nprocess 5:\"py\";f (a.py:9) 3\n");
    ss_free(out);
    folded_fini(&input);
}

/* Frames as a hostile program may name them. */
static void test_names_cannot_break_lines(void **state)
{
    (void)state;
    static const char name[] = "a;b\nc\x01\xff</x>\x7f\xc2\x85\xe2\x80\xae 1";
    struct folded_input input;
    ss_model_init(&input.model);
    struct ss_model_frame frame = {.name =
                                       ss_intern_put(&input.model.strings, name, sizeof name - 1),
                                   .file = ss_intern_put_text(&input.model.strings, "x\n;y.py"),
                                   .line = 3};
    uint32_t stack = ss_model_stack_id(&input.model, 0, ss_model_frame_id(&input.model, &frame));
    stack = ss_model_stack_id(&input.model, stack, ss_model_frame_id(&input.model, &frame));
    ss_model_add_total(&input.model,
                       &(struct ss_model_total){
                           .stack = stack, .state = SS_STATE_ON_CPU, .samples = 4, .records = 4});
    select_all(&input);
    char *out = export_text(&input, (struct ss_folded_options){0});
    const char *one =
        "a:b\\x0ac\\x01\xef\xbf\xbd</x>\\x7f\xef\xbf\xbd\xef\xbf\xbd 1 (x\\x0a:y.py:3)";
    char expected[256];
    snprintf(expected, sizeof expected, "%s;%s 4\n", one, one);
    assert_string_equal(out, expected);
    assert_true(ss_utf8_valid(out, strlen(out)));
    ss_free(out);
    folded_fini(&input);
}

static void test_clean_keeps_characters_whole(void **state)
{
    (void)state;
    struct ss_strbuf out;
    ss_strbuf_init(&out, 10000);
    char text[1000];
    for (int i = 0; i < 999; i += 3) {
        memcpy(text + i, "€", 3);
    }
    for (size_t limit = 10; limit < 60; limit++) {
        ss_strbuf_clear(&out);
        ss_frame_append_clean(&out, (struct ss_strview){text, 999}, "", limit);
        assert_true(ss_utf8_valid(out.data, out.length));
        assert_null(strstr(out.data, "\xef\xbf\xbd"));
        assert_in_range(out.length, limit - 5, limit + 6);
    }
    ss_strbuf_fini(&out);
}

static void test_nothing_to_write(void **state)
{
    (void)state;
    struct folded_input input;
    folded_text(&input, "f (a.py:1) 2\n");
    ss_selection_fini(&input.selection);
    struct ss_error err = {0};
    struct ss_selection_options gil = {.size = sizeof gil, .match = "nothing"};
    assert_int_equal(ss_selection_init(&input.selection, &input.model, &gil, &err), SS_OK);
    struct ss_sink sink;
    ss_sink_open_memory(&sink, 1000);
    struct ss_folded_options options = {.size = sizeof options};
    assert_int_equal(ss_view_folded(&input.selection, &options, &sink, &err), SS_E_EMPTY);
    assert_non_null(strstr(err.message, "2 filtered"));
    ss_sink_abandon(&sink);
    folded_fini(&input);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_options),
        cmocka_unit_test(test_names_cannot_break_lines),
        cmocka_unit_test(test_clean_keeps_characters_whole),
        cmocka_unit_test(test_nothing_to_write),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
