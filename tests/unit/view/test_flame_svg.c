/* SPDX-License-Identifier: Apache-2.0 */
#include "folded_input.h"

#include <jansson.h>

#include "view/flame/flame_svg.h"

static char *draw(const struct folded_input *now, const struct folded_input *base,
                  struct ss_flame_options options, size_t *length)
{
    struct ss_sink sink;
    struct ss_error err = {0};
    ss_sink_open_memory(&sink, 4 << 20);
    options.size = sizeof options;
    if (ss_view_flame(&now->selection, base != NULL ? &base->selection : NULL, &options, &sink,
                      &err) != SS_OK) {
        fail_msg("%s", err.message);
    }
    assert_false(ss_sink_failed(&sink));
    char *svg = ss_strdup(sink.buffer.data);
    *length = sink.buffer.length;
    assert_int_equal(strlen(svg), *length);
    ss_sink_abandon(&sink);
    return svg;
}

static json_t *data_of(const char *svg)
{
    const char *from = strstr(svg, "<metadata>"), *to = strstr(svg, "</metadata>");
    assert_non_null(from);
    assert_non_null(to);
    json_error_t error;
    json_t *data = json_loadb(from + 10, (size_t)(to - from - 10), 0, &error);
    if (data == NULL) {
        fail_msg("the data are no JSON: %s", error.text);
    }
    return data;
}

/* Nothing that a name holds becomes markup: outside of script and style only known tags. */
static void check_markup(const char *svg)
{
    static const char *const known[] = {"svg",  "title", "desc", "style",    "rect",   "g",
                                        "text", "tspan", "path", "metadata", "script", "![CDATA["};
    for (const char *at = svg; (at = strchr(at, '<')) != NULL; at++) {
        if (strncmp(at, "<script>", 8) == 0) {
            at = strstr(at, "]]></script>");
            assert_non_null(at);
        }
        const char *name = at + 1 + (at[1] == '/' || at[1] == ']');
        bool ok = strncmp(at, "]]>", 3) == 0;
        for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
            ok = ok || strncmp(name, known[i], strlen(known[i])) == 0;
        }
        if (!ok) {
            fail_msg("markup from a name: %.40s", at);
        }
    }
}

static void test_names_stay_text(void **state)
{
    (void)state;
    struct folded_input input;
    folded_text(&input, "</svg><script>alert(1)</script> (a\"b'.py:1);]]>& (c.py:1) 3\n"
                        "</metadata><b> (x.py:2);\xff\xfe (x.py:3) 2\n");
    size_t length;
    char *svg = draw(&input, NULL, (struct ss_flame_options){.title = "<T> & \"t\"\n"}, &length);
    check_markup(svg);
    assert_non_null(strstr(svg, "&#60;/svg&#62;&#60;script&#62;"));
    json_t *data = data_of(svg);
    json_t *texts = json_object_get(data, "texts");
    bool found = false;
    for (size_t i = 0; i < json_array_size(texts); i++) {
        found = found || strcmp(json_string_value(json_array_get(texts, i)),
                                "</svg><script>alert(1)</script>") == 0;
    }
    assert_true(found);
    assert_string_equal(json_string_value(json_object_get(data, "title")), "<T> & \"t\"\\x0a");
    json_decref(data);
    ss_free(svg);
    folded_fini(&input);
}

static void test_small_whatever_the_input(void **state)
{
    (void)state;
    /* Long names in many boxes: the number of boxes alone does not bound the bytes. */
    struct ss_strbuf text;
    ss_strbuf_init(&text, 256 << 20);
    for (int i = 0; i < 6000; i++) {
        ss_strbuf_append_text(&text, "main (m.py:1);");
        for (int k = 0; k < 700; k++) {
            ss_strbuf_append_char(&text, (char)('a' + (i + k) % 26));
        }
        ss_strbuf_append_format(&text, "%d (m.py:%d) 1\n", i, i);
    }
    struct folded_input input;
    folded_text(&input, text.data);
    size_t length;
    char *svg = draw(&input, NULL, (struct ss_flame_options){.minimum_px = 0.001}, &length);
    assert_in_range(length, 30000, SS_FLAME_MAX_BYTES);
    assert_non_null(strstr(svg, "to keep the file below 1 MB"));
    json_t *data = data_of(svg);
    assert_true(json_number_value(json_object_get(data, "foldedShare")) > 0);
    json_decref(data);
    ss_free(svg);
    folded_fini(&input);
    ss_strbuf_fini(&text);
}

/* `fact` of the subtitle says so. */
static bool says(json_t *data, const char *words)
{
    json_t *facts = json_object_get(data, "facts");
    for (size_t i = 0; i < json_array_size(facts); i++) {
        if (strstr(json_string_value(json_array_get(facts, i)), words) != NULL) {
            return true;
        }
    }
    return false;
}

static void test_it_explains_itself(void **state)
{
    (void)state;
    struct folded_input input;
    folded_text(&input, "main (m.py:1);hot (m.py:2) 999999\nmain (m.py:1);rare (m.py:3) 1\n");
    size_t length;
    char *svg = draw(&input, NULL, (struct ss_flame_options){0}, &length);
    json_t *data = data_of(svg);
    assert_true(says(data, "1,000,000 samples"));
    assert_true(says(data, "test.raw"));
    assert_true(says(data, "1 frame narrower than 0.1 px"));
    assert_true(says(data, "what a function called is below it"));
    assert_false(says(data, "raised"));
    json_decref(data);
    ss_free(svg);
    svg = draw(&input, NULL, (struct ss_flame_options){.inverted = true, .reverse = true}, &length);
    data = data_of(svg);
    assert_true(says(data, "above it its callers"));
    json_decref(data);
    ss_free(svg);
    folded_fini(&input);
}

static int count_of(const char *text, const char *part)
{
    int count = 0;
    for (; (text = strstr(text, part)) != NULL; text++) {
        count++;
    }
    return count;
}

/* Only what stands out of the noise has a colour. */
static void test_difference_colours(void **state)
{
    (void)state;
    struct folded_input now, base;
    folded_text(&now, "main (m.py:1);up (m.py:2) 900\nmain (m.py:1);same (m.py:3) 500\n"
                      "main (m.py:1);down (m.py:4) 100\n");
    folded_text(&base, "main (m.py:1);up (m.py:2) 100\nmain (m.py:1);same (m.py:3) 510\n"
                       "main (m.py:1);down (m.py:4) 890\n");
    size_t length;
    char *svg = draw(&now, &base, (struct ss_flame_options){0}, &length);
    const char *boxes = strstr(svg, "<g class=\"boxes\">");
    assert_int_equal(count_of(boxes, "<path class=\"i5\""), 1);
    assert_int_equal(count_of(boxes, "<path class=\"d5\""), 1);
    assert_int_equal(count_of(boxes, "<path class=\"i0\""), 1);
    json_t *data = data_of(svg);
    assert_true(json_is_true(json_object_get(data, "diff")));
    assert_true(says(data, "Against test.raw (1,500 samples)"));
    json_decref(data);
    ss_free(svg);
    folded_fini(&now);
    folded_fini(&base);
}

static void test_same_colours_every_time(void **state)
{
    (void)state;
    struct folded_input one, other;
    folded_text(&one, "f (torch/nn/x.py:1) 5\n");
    folded_text(&other, "g (z.py:1);f (torch/nn/x.py:1) 5\nh (numpy/a.py:1) 1\n");
    ss_flame_class classes[2] = {0, 1}; /* differ until both are found */
    const struct folded_input *inputs[2] = {&one, &other};
    for (int i = 0; i < 2; i++) {
        struct ss_flame_tree tree;
        struct ss_flame_tree_options options = {.size = sizeof options};
        ss_flame_tree_init(&tree, &inputs[i]->selection, NULL, &options);
        for (size_t l = 0; l < tree.labels.count; l++) {
            if (strcmp(ss_intern_text(&tree.strings, tree.labels.data[l].name), "f") == 0) {
                classes[i] = ss_flame_class_of(&tree, &tree.labels.data[l], SS_FLAME_BY_MODULE);
            }
        }
        ss_flame_tree_fini(&tree);
    }
    assert_int_equal(classes[0], classes[1]);
    for (ss_flame_class class = 0; class < 200; class ++) {
        struct ss_flame_paint paint;
        ss_flame_paint_of(class, &paint);
        assert_int_equal(strlen(paint.light), 7);
        assert_int_equal(strspn(paint.light + 1, "0123456789abcdef"), 6);
        assert_int_equal(strspn(paint.dark + 1, "0123456789abcdef"), 6);
    }
    folded_fini(&one);
    folded_fini(&other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_stay_text),
        cmocka_unit_test(test_small_whatever_the_input),
        cmocka_unit_test(test_it_explains_itself),
        cmocka_unit_test(test_difference_colours),
        cmocka_unit_test(test_same_colours_every_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
