/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include <stdio.h>

#include "svg_text.h"
#include "view/pictures/heatmap_svg.h"

enum { MOST_CELLS = 1 << 12, RECTS_OF_LEGEND = 40 };

static const double LOW_NS = 1e6, HIGH_NS = 5e6;

struct fixture {
    struct ss_rank_heat heat;
    int64_t ranks[MOST_CELLS], steps[MOST_CELLS];
    double own_ns[MOST_CELLS];
};

/* All cells are cold; ranks count from 5, steps from 10. */
static void fill(struct fixture *fixture, size_t ranks, size_t steps)
{
    assert_true(ranks * steps <= MOST_CELLS);
    fixture->heat = (struct ss_rank_heat){.ranks = ranks,
                                          .steps = steps,
                                          .rank_numbers = fixture->ranks,
                                          .step_numbers = fixture->steps,
                                          .own_ns = fixture->own_ns,
                                          .low_ns = LOW_NS,
                                          .high_ns = HIGH_NS};
    for (size_t i = 0; i < MOST_CELLS; i++) {
        fixture->ranks[i] = 5 + (int64_t)i;
        fixture->steps[i] = 10 + (int64_t)i;
        fixture->own_ns[i] = LOW_NS;
    }
}

static char *draw(const struct fixture *fixture)
{
    struct ss_sink sink;
    struct ss_error err;
    ss_sink_open_memory(&sink, 1 << 24);
    assert_int_equal(ss_view_heatmap(&fixture->heat, &sink, &err), SS_OK);
    char *svg = svg_take(&sink);
    svg_is_whole(svg);
    return svg;
}

static size_t cells_of(const char *svg)
{
    return svg_count(svg, " of its own</title></rect>");
}

static void cells_have_the_place_of_their_rank_and_step(void **state)
{
    (void)state;
    static struct fixture fixture;
    fill(&fixture, 3, 4);
    fixture.own_ns[1 * 4 + 2] = HIGH_NS;
    fixture.own_ns[2 * 4 + 0] = (LOW_NS + HIGH_NS) / 2;
    fixture.own_ns[2 * 4 + 3] = -1; /* not recorded */
    char *svg = draw(&fixture);
    assert_int_equal(cells_of(svg), 11);
    assert_int_equal(svg_count(svg, "<rect"), 1 + 11 + RECTS_OF_LEGEND);
    svg_has(svg, "<rect x=\"76.0\" y=\"66\" width=\"26.0\" height=\"18\" fill=\"#1c2c5c\"><title>"
                 "rank 5, step 10: 1.00 ms of its own");
    svg_has(svg, "<rect x=\"128.0\" y=\"84\" width=\"26.0\" height=\"18\" fill=\"#ce3428\"><title>"
                 "rank 6, step 12: 5.00 ms of its own");
    svg_has(svg, "<rect x=\"76.0\" y=\"102\" width=\"26.0\" height=\"18\" fill=\"#5ba970\"><title>"
                 "rank 7, step 10: 3.00 ms of its own");
    svg_has(svg, "width=\"740\" height=\"186\"");
    ss_free(svg);
}

static void rows_columns_and_colours_have_their_texts(void **state)
{
    (void)state;
    static struct fixture fixture;
    fill(&fixture, 3, 4);
    char *svg = draw(&fixture);
    svg_has(svg, "<text x=\"68\" y=\"79\" text-anchor=\"end\">rank 5</text>");
    svg_has(svg, "<text x=\"68\" y=\"97\" text-anchor=\"end\">6</text>");
    svg_has(svg, "<text x=\"68\" y=\"115\" text-anchor=\"end\">7</text>");
    svg_has(svg, "<text x=\"89.0\" y=\"138\" text-anchor=\"middle\">step 10</text>");
    svg_has(svg, "<text x=\"115.0\" y=\"138\" text-anchor=\"middle\">11</text>");
    svg_has(svg, "<text x=\"167.0\" y=\"138\" text-anchor=\"middle\">13</text>");
    /* From the coldest to the hottest. */
    svg_has(svg, "<rect x=\"76\" y=\"156\" width=\"6\" height=\"12\" fill=\"#1c2c5c\"/>");
    svg_has(svg, "<rect x=\"310\" y=\"156\" width=\"6\" height=\"12\" fill=\"#ce3428\"/>");
    svg_has(svg, "<text x=\"326\" y=\"167\">1.00 ms to 5.00 ms</text>");
    ss_free(svg);
}

static void rows_are_lower_where_there_are_more(void **state)
{
    (void)state;
    static const struct {
        size_t ranks;
        const char *height;
    } cases[] = {
        {32, "height=\"18\""}, {33, "height=\"6\""}, {128, "height=\"6\""}, {129, "height=\"2\""}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        static struct fixture fixture;
        fill(&fixture, cases[i].ranks, 1);
        char *svg = draw(&fixture);
        assert_int_equal(svg_count(svg, cases[i].height), cases[i].ranks);
        ss_free(svg);
    }
}

static void many_ranks_share_rows_and_the_hottest_counts(void **state)
{
    (void)state;
    static struct fixture fixture;
    fill(&fixture, 1024, 2);
    fixture.own_ns[1 * 2 + 0] = HIGH_NS;    /* the second rank of the first row */
    fixture.own_ns[1023 * 2 + 1] = HIGH_NS; /* the last one of the last row */
    char *svg = draw(&fixture);
    assert_int_equal(cells_of(svg), 2 * 512);
    svg_has(svg, "<rect x=\"76.0\" y=\"66\" width=\"26.0\" height=\"2\" fill=\"#ce3428\"><title>"
                 "rank 5, step 10: 5.00 ms");
    svg_has(svg, "<rect x=\"102.0\" y=\"1088\" width=\"26.0\" height=\"2\" fill=\"#ce3428\"><title>"
                 "rank 1027, step 11: 5.00 ms");
    assert_int_equal(svg_count(svg, "fill=\"#ce3428\"><title>"), 2);
    assert_int_equal(svg_count(svg, "text-anchor=\"end\""), 32);
    svg_has(svg, "<text x=\"68\" y=\"103\" text-anchor=\"end\">37</text>"); /* the row of rank 37 */
    ss_free(svg);
}

static void many_steps_share_columns(void **state)
{
    (void)state;
    static struct fixture fixture;
    fill(&fixture, 1, 2080);
    fixture.own_ns[2079] = HIGH_NS;
    char *svg = draw(&fixture);
    assert_int_equal(cells_of(svg), 1040);
    svg_has(svg, "width=\"1140\" height=\"150\"");
    svg_has(svg, "<rect x=\"1115.0\" y=\"66\" width=\"1.0\" height=\"18\" fill=\"#ce3428\"><title>"
                 "rank 5, step 2088: 5.00 ms");
    assert_int_equal(svg_count(svg, "text-anchor=\"middle\""), 12);
    svg_has(svg, "<text x=\"163.5\" y=\"102\" text-anchor=\"middle\">184</text>");
    ss_free(svg);
}

static void cells_fill_the_width_if_they_are_many(void **state)
{
    (void)state;
    static struct fixture fixture;
    fill(&fixture, 1, 80);
    char *svg = draw(&fixture);
    svg_has(svg, "<rect x=\"89.0\" y=\"66\" width=\"13.0\"");
    assert_int_equal(svg_count(svg, "text-anchor=\"middle\""), 12); /* every seventh */
    ss_free(svg);
}

static void without_steps_there_is_no_picture(void **state)
{
    (void)state;
    static struct fixture fixture;
    for (size_t ranks = 0; ranks < 2; ranks++) {
        struct ss_sink sink;
        struct ss_error err = {0};
        fill(&fixture, ranks, 1 - ranks);
        ss_sink_open_memory(&sink, 1 << 10);
        assert_int_equal(ss_view_heatmap(&fixture.heat, &sink, &err), SS_E_EMPTY);
        assert_non_null(strstr(err.message, "no process has whole steps"));
        assert_int_equal(sink.buffer.length, 0);
        ss_sink_abandon(&sink);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cells_have_the_place_of_their_rank_and_step),
        cmocka_unit_test(rows_columns_and_colours_have_their_texts),
        cmocka_unit_test(rows_are_lower_where_there_are_more),
        cmocka_unit_test(many_ranks_share_rows_and_the_hottest_counts),
        cmocka_unit_test(many_steps_share_columns),
        cmocka_unit_test(cells_fill_the_width_if_they_are_many),
        cmocka_unit_test(without_steps_there_is_no_picture),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
