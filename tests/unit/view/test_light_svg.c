/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include "analysis/kernels/kernel_occupancy.h"
#include "analysis/kernels/speed_of_light.h"
#include "svg_text.h"
#include "view/pictures/light_svg.h"

static struct ss_cell text_cell(const char *text)
{
    return ss_cell_text(ss_strview_of(text));
}

static void begin_light(struct ss_table *table)
{
    static const struct ss_column columns[SS_LIGHT_COLUMNS] = {{.key = "kernel"}};
    *table = (struct ss_table){.title = "Speed of light",
                               .empty_text = "no counters",
                               .columns = columns,
                               .column_count = SS_LIGHT_COLUMNS};
}

/* A kernel that computes at 91 % and has no figure of DRAM. */
static void add_light(struct ss_table *table, const char *name, double compute)
{
    struct ss_cell *cells = ss_table_add_row(table);
    cells[SS_LIGHT_KERNEL] = text_cell("void gemm<float>(float*)");
    cells[SS_LIGHT_SHORT] = text_cell(name);
    cells[SS_LIGHT_PERCENT] = ss_cell_real(61.84);
    cells[SS_LIGHT_COMPUTE] = ss_cell_real(compute);
    cells[SS_LIGHT_MEMORY] = ss_cell_real(40);
    cells[SS_LIGHT_L1] = ss_cell_real(0);
    cells[SS_LIGHT_L2] = ss_cell_real(250);
}

static char *draw(const struct ss_table *table,
                  enum ss_status (*view)(const struct ss_table *table, struct ss_sink *sink,
                                         struct ss_error *err))
{
    struct ss_sink sink;
    struct ss_error err;
    ss_sink_open_memory(&sink, 1 << 20);
    assert_int_equal(view(table, &sink, &err), SS_OK);
    char *svg = svg_take(&sink);
    svg_is_whole(svg);
    return svg;
}

static void bars_are_as_long_as_their_figures(void **state)
{
    (void)state;
    struct ss_table table;
    begin_light(&table);
    add_light(&table, "gemm", 91);
    char *svg = draw(&table, ss_view_light);
    /* 0 % is at 110 and 100 % at 720; the first bar is 20 below the kernel's begin. */
    svg_has(svg, "<text class=\"name\" x=\"24.0\" y=\"109.0\">gemm</text>");
    svg_has(svg, "<text class=\"tick end\" x=\"102.0\" y=\"125.0\">compute</text>\n"
                 "<rect class=\"back\" x=\"110\" y=\"116\" width=\"610\" height=\"10\"/>\n"
                 "<rect x=\"110\" y=\"116\" width=\"555.1\" height=\"10\" fill=\"#2f6fb5\"/>\n"
                 "<text class=\"tick\" x=\"669.1\" y=\"125.0\">91.0 %</text>");
    svg_has(svg, "<rect x=\"110\" y=\"129\" width=\"244.0\" height=\"10\" fill=\"#1f9e89\"/>");
    svg_has(svg, "<rect x=\"110\" y=\"142\" width=\"0.0\" height=\"10\" fill=\"#8fc9a5\"/>");
    /* More than all is all; its text stands within. */
    svg_has(svg, "<rect x=\"110\" y=\"155\" width=\"610.0\" height=\"10\" fill=\"#8fc9a5\"/>\n"
                 "<text class=\"tick end\" x=\"716.0\" y=\"164.0\">250.0 %</text>");
    svg_has(svg, "<text class=\"tick end\" x=\"102.0\" y=\"177.0\">DRAM</text>\n"
                 "<rect class=\"back\" x=\"110\" y=\"168\" width=\"610\" height=\"10\"/>\n"
                 "<text class=\"tick\" x=\"114.0\" y=\"177.0\">unknown</text>");
    ss_free(svg);
    ss_table_fini(&table);
}

static void a_text_that_does_not_fit_beside_its_bar_stands_in_it(void **state)
{
    (void)state;
    static const struct {
        double percent;
        const char *text;
    } cases[] = {{92.1, "<text class=\"tick\" x=\"675.8\" y=\"125.0\">92.1 %</text>"},
                 {92.2, "<text class=\"over end\" x=\"716.0\" y=\"125.0\">92.2 %</text>"}};
    for (size_t i = 0; i < 2; i++) {
        struct ss_table table;
        begin_light(&table);
        add_light(&table, "gemm", cases[i].percent);
        char *svg = draw(&table, ss_view_light);
        svg_has(svg, cases[i].text);
        ss_free(svg);
        ss_table_fini(&table);
    }
}

static void beside_the_bars_stands_what_limits_the_kernel(void **state)
{
    (void)state;
    struct ss_table table;
    begin_light(&table);
    add_light(&table, "gemm", 91);
    add_light(&table, "<copy>", -5);
    table.cells.data[0 * table.column_count + SS_LIGHT_LIMITER] = text_cell("compute");
    table.cells.data[0 * table.column_count + SS_LIGHT_SENTENCE] =
        text_cell("91 % of the peak & more");
    table.hidden_rows = 7;
    char *svg = draw(&table, ss_view_light);
    svg_has(svg, "<text class=\"side\" x=\"736.0\" y=\"126.0\">61.8 % of the time</text>\n"
                 "<text class=\"side\" x=\"736.0\" y=\"141.0\">limited by compute</text>");
    svg_has(svg, "<g><title>void gemm&#60;float&#62;(float*): 91 % of the peak &#38; more</title>");
    /* The second kernel: 20 + 5 bars of 13 + 16 below the first. */
    svg_has(svg, "<g><title>void gemm&#60;float&#62;(float*)</title>\n"
                 "<text class=\"name\" x=\"24.0\" y=\"210.0\">&#60;copy&#62;</text>");
    svg_has(svg, "<text class=\"side\" x=\"736.0\" y=\"242.0\">limiter unknown</text>");
    svg_has(svg, "<rect x=\"110\" y=\"217\" width=\"0.0\" height=\"10\" fill=\"#2f6fb5\"/>");
    svg_has(svg, "<text class=\"note\" x=\"24.0\" y=\"312.0\">7 more with less time</text>");
    ss_free(svg);
    ss_table_fini(&table);
}

static void the_frame_reaches_below_the_last_kernel(void **state)
{
    (void)state;
    struct ss_table table;
    begin_light(&table);
    add_light(&table, "gemm", 91);
    char *svg = draw(&table, ss_view_light);
    svg_has(svg, "viewBox=\"0 0 1000 231\" width=\"1000\" height=\"231\"");
    svg_has(svg, "<text class=\"title\" x=\"24.0\" y=\"32.0\">Speed of light</text>\n"
                 "<text class=\"note\" x=\"24.0\" y=\"54.0\">From 80 % on a unit limits");
    assert_int_equal(svg_count(svg, "class=\"grid\""), 6);
    svg_has(svg, "<path class=\"grid\" d=\"M110.0 88V197\"/>\n"
                 "<text class=\"tick middle\" x=\"110.0\" y=\"82.0\">0 %</text>");
    svg_has(svg, "<path class=\"grid\" d=\"M232.0 88V197\"/>\n"
                 "<text class=\"tick middle\" x=\"232.0\" y=\"82.0\">20 %</text>");
    svg_has(svg, "<text class=\"tick middle\" x=\"720.0\" y=\"82.0\">100 %</text>");
    svg_has(svg, "<path class=\"mark\" d=\"M476.0 88V197\"/>\n"
                 "<path class=\"mark\" d=\"M598.0 88V197\"/>");
    assert_int_equal(svg_count(svg, "class=\"mark\""), 2);
    svg_lacks(svg, "more with less time");
    ss_free(svg);
    ss_table_fini(&table);
}

static void occupancy_has_two_bars(void **state)
{
    (void)state;
    static const struct ss_column columns[SS_OCCUPANCY_COLUMNS] = {{.key = "kernel"}};
    struct ss_table table = {
        .title = "Occupancy", .columns = columns, .column_count = SS_OCCUPANCY_COLUMNS};
    for (int i = 0; i < 2; i++) {
        struct ss_cell *cells = ss_table_add_row(&table);
        cells[SS_OCCUPANCY_KERNEL] = text_cell("softmax(float*)");
        cells[SS_OCCUPANCY_SHORT] = text_cell("softmax");
        cells[SS_OCCUPANCY_PERCENT] = ss_cell_real(12);
        cells[SS_OCCUPANCY_THEORETICAL] = ss_cell_real(50);
        cells[SS_OCCUPANCY_ACHIEVED] = ss_cell_real(25);
    }
    table.cells.data[1 * table.column_count + SS_OCCUPANCY_LIMITER] = text_cell("registers");
    char *svg = draw(&table, ss_view_occupancy);
    svg_has(svg, "viewBox=\"0 0 1000 254\"");
    svg_has(svg, "<rect x=\"110\" y=\"116\" width=\"305.0\" height=\"10\" fill=\"#c9d6e6\"/>");
    svg_has(svg, "<rect x=\"110\" y=\"129\" width=\"152.5\" height=\"10\" fill=\"#2f6fb5\"/>");
    svg_has(svg, "y=\"141.0\">not limited by its needs</text>");
    svg_has(svg, "y=\"203.0\">limited by registers</text>");
    svg_has(svg, "Resident warps of a multiprocessor");
    svg_lacks(svg, "class=\"mark\" d=");
    ss_free(svg);
    ss_table_fini(&table);
}

static void without_rows_the_error_says_why(void **state)
{
    (void)state;
    struct ss_table table;
    struct ss_sink sink;
    struct ss_error err = {0};
    begin_light(&table);
    ss_sink_open_memory(&sink, 1 << 10);
    assert_int_equal(ss_view_light(&table, &sink, &err), SS_E_EMPTY);
    assert_string_equal(err.message, "no speed of light to draw: no counters");
    assert_int_equal(ss_view_occupancy(&table, &sink, &err), SS_E_EMPTY);
    assert_string_equal(err.message, "no occupancy to draw: no counters");
    ss_sink_abandon(&sink);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bars_are_as_long_as_their_figures),
        cmocka_unit_test(a_text_that_does_not_fit_beside_its_bar_stands_in_it),
        cmocka_unit_test(beside_the_bars_stands_what_limits_the_kernel),
        cmocka_unit_test(the_frame_reaches_below_the_last_kernel),
        cmocka_unit_test(occupancy_has_two_bars),
        cmocka_unit_test(without_rows_the_error_says_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
