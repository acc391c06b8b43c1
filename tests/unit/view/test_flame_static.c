/* SPDX-License-Identifier: Apache-2.0 */
/* What a flame graph shows without script. */
#include "folded_input.h"

#include "svg_text.h"
#include "view/flame/flame_svg.h"

/* One sample is one px wide: 1000 samples between margins of 12. */
enum { WIDTH = 1024 };

static const char *const stacks = "main (m.py:1);hot (a/long/folder/of/files/hot.py:2) 750\n"
                                  "main (m.py:1);a_function_with_quite_a_long_name (m.py:3) 240\n"
                                  "main (m.py:1);tiny (torch/x.py:4) 10\n";

static char *draw_text(const char *text, struct ss_flame_options options)
{
    struct folded_input input;
    struct ss_sink sink;
    struct ss_error err = {0};
    folded_text(&input, text);
    ss_sink_open_memory(&sink, 4 << 20);
    options.size = sizeof options;
    if (ss_view_flame(&input.selection, NULL, &options, &sink, &err) != SS_OK) {
        fail_msg("%s", err.message);
    }
    char *svg = svg_take(&sink);
    folded_fini(&input);
    return svg;
}

static char *draw(struct ss_flame_options options)
{
    options.width_px = WIDTH;
    options.title = options.title != NULL ? options.title : "A title";
    return draw_text(stacks, options);
}

static void boxes_are_as_wide_as_their_samples(void **state)
{
    (void)state;
    char *svg = draw((struct ss_flame_options){0});
    svg_has(svg, "width=\"1024\" height=\"161\" viewBox=\"0 0 1024 161\"");
    svg_has(svg, "d=\"M12.0 95h999.5v17h-999.5z\"/>"); /* all */
    svg_has(svg, "d=\"M12.0 113h999.5v17h-999.5z\"/>");
    svg_has(svg, "d=\"M12.0 131h749.5v17h-749.5z\"/>");
    svg_has(svg, "d=\"M762.0 131h239.5v17h-239.5z\"/>");
    svg_has(svg, "d=\"M1002.0 131h9.5v17h-9.5z\"/>");
    const char *boxes = strstr(svg, "<g class=\"boxes\">");
    assert_int_equal(svg_count(boxes, "<path class="), 5);
    ss_free(svg);
}

static void inverted_the_outermost_is_at_the_bottom(void **state)
{
    (void)state;
    char *svg = draw((struct ss_flame_options){.inverted = true});
    svg_has(svg, "d=\"M12.0 131h999.5v17h-999.5z\"/>");
    svg_has(svg, "d=\"M12.0 95h749.5v17h-749.5z\"/>");
    svg_has(svg, "<text x=\"16.0\" y=\"144\">all</text>");
    ss_free(svg);
}

static void boxes_have_names_as_far_as_they_fit(void **state)
{
    (void)state;
    char *svg = draw((struct ss_flame_options){0});
    svg_has(svg, "<text x=\"16.0\" y=\"108\">all</text>");
    svg_has(svg, "<text x=\"16.0\" y=\"126\">main <tspan class=\"x\">m.py:1</tspan></text>");
    svg_has(svg, "<text x=\"16.0\" y=\"144\">hot <tspan class=\"x\">a/long/folder/of/files/"
                 "hot.py:2</tspan></text>");
    svg_has(svg, "<text x=\"766.0\" y=\"144\">a_function_with_quite_a_long_na…</text>");
    assert_int_equal(svg_count(strstr(svg, "<g class=\"boxes\">"), "<text"), 4); /* not "tiny" */
    ss_free(svg);
}

/* 200 samples have room for 26 columns. */
static void folders_are_left_out_before_the_file(void **state)
{
    (void)state;
    static const struct {
        const char *frame, *text;
    } cases[] = {
        {"f (aaaaaaaaaaaaaa/file.py:1)", ">f <tspan class=\"x\">aaaaaaaaaaaaaa/file.py:1</tspan>"},
        {"f (aaaaaaaaaaaaaaa/file.py:1)", ">f <tspan class=\"x\">file.py:1</tspan></text>"},
        {"f_of_fifteen_ch (/d/file.py:1)", ">f_of_fifteen_ch <tspan class=\"x\">file.py:1</tspan>"},
        {"f_of_sixteen_col (/d/file.py:10)", ">f_of_sixteen_col</text>"},
        {"exactly_twenty_six_columns (f.py:1)", ">exactly_twenty_six_columns</text>"},
        {"exactly_twenty_seven_column (f.py:1)", ">exactly_twenty_seven_colu…</text>"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[256];
        snprintf(text, sizeof text, "%s 200\nother (z.py:1) 800\n", cases[i].frame);
        char *svg = draw_text(text, (struct ss_flame_options){.width_px = WIDTH});
        svg_has(svg, cases[i].text);
        ss_free(svg);
    }
}

/* A wide character takes two columns, and none is cut in the middle. */
static void wide_characters_take_two_columns(void **state)
{
    (void)state;
    char *svg = draw_text(
        "日日日日日日日日日日日日日 (f.py:1) 200\n日日日日日日日日日日日日日日 (f.py:1) 200\n"
        "z (z.py:1) 600\n",
        (struct ss_flame_options){.width_px = WIDTH});
    svg_has(svg, ">日日日日日日日日日日日日日</text>");
    svg_has(svg, ">日日日日日日日日日日日日…</text>");
    ss_free(svg);
}

static void the_head_has_title_facts_and_legend(void **state)
{
    (void)state;
    char *svg = draw((struct ss_flame_options){0});
    svg_has(svg, "<text class=\"title\" x=\"12\" y=\"32\">A title</text>");
    svg_has(svg, "<text x=\"12\" y=\"59\">test.raw: folded stacks · 1,000 samples · A box");
    svg_has(svg, "<rect class=\"u6\" x=\"12\" y=\"71\" width=\"11\" height=\"11\"/>"
                 "<text x=\"28\" y=\"81\">your code: a <tspan class=\"x\">75.0 %</tspan></text>");
    /* 16 + 12 columns + 8 columns + 18 further right. */
    svg_has(svg, "<rect class=\"u1\" x=\"174\" y=\"71\" width=\"11\" height=\"11\"/>"
                 "<text x=\"190\" y=\"81\">your code: m <tspan class=\"x\">24.0 %</tspan></text>");
    svg_has(svg, "x=\"336\" y=\"71\" width=\"11\" height=\"11\"/>"
                 "<text x=\"352\" y=\"81\">torch <tspan class=\"x\">1.0 %</tspan></text>");
    ss_free(svg);
}

static void a_narrow_head_has_more_lines(void **state)
{
    (void)state;
    char *svg = draw_text(stacks, (struct ss_flame_options){.width_px = 300,
                                                            .title = "1234567890"
                                                                     "12345678901"
                                                                     "234567890"});
    /* 276 px: 27 columns of the title, 43 of facts, one entry of the legend. */
    svg_has(svg, "y=\"32\">12345678901234567890123456…</text>");
    svg_has(svg, "<text x=\"12\" y=\"59\">test.raw: folded stacks · 1,000 samples</text>\n"
                 "<text x=\"12\" y=\"76\">A box&#39;s width is its share of the samp");
    svg_has(svg,
            "x=\"12\" y=\"88\" width=\"11\" height=\"11\"/><text x=\"28\" y=\"98\">your code: a");
    svg_has(svg,
            "x=\"12\" y=\"108\" width=\"11\" height=\"11\"/><text x=\"28\" y=\"118\">your code: m");
    svg_has(svg, "x=\"12\" y=\"128\" width=\"11\" height=\"11\"/>");
    svg_has(svg, "width=\"300\" height=\"218\"");
    svg_has(svg, "d=\"M12.0 152h275.5v17h-275.5z\"/>");
    ss_free(svg);
}

static void what_is_narrower_than_half_a_px_is_not_drawn(void **state)
{
    (void)state;
    char *svg = draw_text("wide (a.py:1) 9998\nthin (torch/b.py:1) 2\n",
                          (struct ss_flame_options){.width_px = WIDTH, .minimum_px = 0.01});
    const char *boxes = strstr(svg, "<g class=\"boxes\">");
    assert_int_equal(svg_count(boxes, "v17"), 2);
    ss_free(svg);
    svg = draw_text("wide (a.py:1) 999\nthin (torch/b.py:1) 1\n",
                    (struct ss_flame_options){.width_px = WIDTH});
    svg_has(svg, "M1011.0 113h1.0v17h-1.0z"); /* too narrow for a gap */
    ss_free(svg);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(boxes_are_as_wide_as_their_samples),
        cmocka_unit_test(inverted_the_outermost_is_at_the_bottom),
        cmocka_unit_test(boxes_have_names_as_far_as_they_fit),
        cmocka_unit_test(folders_are_left_out_before_the_file),
        cmocka_unit_test(wide_characters_take_two_columns),
        cmocka_unit_test(the_head_has_title_facts_and_legend),
        cmocka_unit_test(a_narrow_head_has_more_lines),
        cmocka_unit_test(what_is_narrower_than_half_a_px_is_not_drawn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
