/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/roofline/roofline.h"
#include "base/alloc.h"
#include "view/pictures/roofline_svg.h"

/* A row of a device of 100 TFLOP/s and 1 TB/s: its ridge is at 100 FLOPs per byte. */
struct made {
    const char *name;
    double rate, intensity, percent; /* 0: absent */
    const char *note;
};

static void fill(struct ss_table *table, const struct made *rows, size_t count)
{
    static const struct ss_column columns[SS_ROOFLINE_COLUMNS] = {{.key = "name"}};
    *table = (struct ss_table){
        .title = "Roofline", .columns = columns, .column_count = SS_ROOFLINE_COLUMNS};
    for (size_t i = 0; i < count; i++) {
        struct ss_cell *cells = ss_table_add_row(table);
        cells[SS_ROOFLINE_NAME] = ss_cell_text(ss_strview_of(rows[i].name));
        cells[SS_ROOFLINE_FAMILY] = ss_cell_text(ss_strview_of("matrix product"));
        cells[SS_ROOFLINE_SOURCE] = ss_cell_text(ss_strview_of("no formula"));
        cells[SS_ROOFLINE_TIME] = ss_cell_integer(1000);
        cells[SS_ROOFLINE_PERCENT] = ss_cell_real(rows[i].percent);
        if (rows[i].rate == 0) {
            continue;
        }
        cells[SS_ROOFLINE_TYPE] = ss_cell_text(ss_strview_of("bf16"));
        cells[SS_ROOFLINE_UNITS] = ss_cell_text(ss_strview_of("matrix"));
        cells[SS_ROOFLINE_DEVICE] = ss_cell_text(ss_strview_of("D1"));
        cells[SS_ROOFLINE_FLOPS] = ss_cell_real(1e9);
        cells[SS_ROOFLINE_RATE] = ss_cell_real(rows[i].rate);
        cells[SS_ROOFLINE_INTENSITY] = ss_cell_real(rows[i].intensity);
        cells[SS_ROOFLINE_PEAK] = ss_cell_real(100e12);
        cells[SS_ROOFLINE_PEAK_BANDWIDTH] = ss_cell_real(1e12);
        cells[SS_ROOFLINE_ROOF_PERCENT] = ss_cell_real(50);
        cells[SS_ROOFLINE_BOUND] = ss_cell_text(ss_strview_of("memory"));
        if (rows[i].note != NULL) {
            cells[SS_ROOFLINE_NOTE] = ss_cell_text(ss_strview_of(rows[i].note));
        }
    }
}

/* NULL: it failed. The caller frees it. */
static char *draw(const struct made *rows, size_t count)
{
    struct ss_table families, kernels;
    struct ss_sink sink;
    struct ss_error err = {0};
    fill(&families, rows, count);
    fill(&kernels, rows, count);
    ss_sink_open_memory(&sink, 1 << 20);
    enum ss_status status = ss_view_roofline(&families, &kernels, &sink, &err);
    char *svg = status == SS_OK ? ss_strdup(sink.buffer.data) : NULL;
    assert_true(status == SS_OK || strlen(err.message) > 0);
    ss_sink_abandon(&sink);
    ss_table_fini(&families);
    ss_table_fini(&kernels);
    return svg;
}

static size_t count_of(const char *text, const char *part)
{
    size_t count = 0;
    for (; (text = strstr(text, part)) != NULL; text += strlen(part)) {
        count++;
    }
    return count;
}

static void rows_have_places_by_rate_and_intensity(void **state)
{
    (void)state;
    static const struct made rows[] = {{"a", 1e12, 1, 50, NULL}, {"b", 10e12, 1000, 20, NULL}};
    char *svg = draw(rows, 2);
    assert_non_null(svg);
    /* The axes: 1 to 1000 FLOPs per byte, 1 to 100 TFLOP/s; in both corners of the frame a row. */
    assert_int_equal(count_of(svg, "cx=\"88.0\" cy=\"610.0\""), 2);
    assert_int_equal(count_of(svg, "cx=\"800.0\" cy=\"361.0\""), 2);
    /* From the lower left to the ridge at 100 FLOPs per byte, and on at the peak. */
    assert_non_null(strstr(svg, "class=\"roof\" d=\"M88.0 610.0L562.7 112.0H800\""));
    assert_non_null(strstr(svg, "bf16 matrix: 100 TFLOP/s"));
    assert_non_null(strstr(svg, "1000 GB/s</text>"));
    assert_null(strstr(svg, "<script"));
    ss_free(svg);
}

static void every_decade_has_a_line_and_a_number(void **state)
{
    (void)state;
    static const struct made rows[] = {{"a", 1e12, 1, 50, NULL}, {"b", 10e12, 10, 20, NULL}};
    char *svg = draw(rows, 2);
    /* To the ridge at 100 FLOPs per byte and one decade more; to the peak. */
    static const struct {
        const char *x, *number;
    } columns[] = {{"88.0", "1"}, {"325.3", "10"}, {"562.7", "100"}, {"800.0", "1000"}};
    static const struct {
        const char *y, *text_y, *number;
    } lines[] = {{"610.0", "614.0", "1 TFLOP/s"},
                 {"361.0", "365.0", "10 TFLOP/s"},
                 {"112.0", "116.0", "100 TFLOP/s"}};
    char part[160];
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        snprintf(part, sizeof part,
                 "d=\"M%s 112V610\"/>\n<text class=\"tick\" x=\"%s\" y=\"628\" "
                 "text-anchor=\"middle\">%s</text>",
                 columns[i].x, columns[i].x, columns[i].number);
        assert_non_null(strstr(svg, part));
    }
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        snprintf(part, sizeof part,
                 "d=\"M88 %sH800\"/>\n<text class=\"tick\" x=\"80\" y=\"%s\" "
                 "text-anchor=\"end\">%s</text>",
                 lines[i].y, lines[i].text_y, lines[i].number);
        assert_non_null(strstr(svg, part));
    }
    assert_int_equal(count_of(svg, "class=\"grid\" d="), 4 + 3);
    ss_free(svg);
}

static void names_are_text(void **state)
{
    (void)state;
    static const struct made rows[] = {
        {"</title><script>\x01\xff\"&'", 1e12, 10, 100, "above the peak"}};
    char *svg = draw(rows, 1);
    assert_null(strstr(svg, "<script"));
    assert_null(strchr(svg, '\x01'));
    assert_non_null(strstr(svg, "&#60;/title&#62;&#60;script&#62;\xef\xbf\xbd\xef\xbf\xbd"
                                "&#34;&#38;&#39;"));
    assert_int_equal(count_of(svg, "class=\"above\""), 2);
    assert_int_equal(count_of(svg, "<circle"), count_of(svg, "</circle>") + 1); /* the legend's */
    ss_free(svg);
}

static void rows_without_flops_are_in_the_legend_only(void **state)
{
    (void)state;
    static const struct made rows[] = {
        {"a", 1e12, 10, 60, NULL}, {"b", 0, 0, 30, NULL}, {"c", 0, 0, 0.01, NULL}};
    char *svg = draw(rows, 3);
    assert_int_equal(count_of(svg, "</circle>"), 2);
    assert_non_null(strstr(svg, ">30.0 % b</text>"));
    assert_non_null(strstr(svg, ">no formula</text>"));
    assert_null(strstr(svg, " c</text>")); /* too small */
    ss_free(svg);
    assert_null(draw(&rows[1], 2)); /* nothing to draw */
    assert_null(draw(rows, 0));
}

static void extreme_figures_stay_within_the_frame(void **state)
{
    (void)state;
    static const struct made rows[] = {{"a", 1e300, 1e-300, 60, NULL},
                                       {"b", 1e-300, 1e300, 30, NULL}};
    char *svg = draw(rows, 2);
    assert_non_null(svg);
    assert_null(strstr(svg, "nan"));
    assert_null(strstr(svg, "inf"));
    assert_true(strlen(svg) < 20000);
    ss_free(svg);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_have_places_by_rate_and_intensity),
        cmocka_unit_test(every_decade_has_a_line_and_a_number),
        cmocka_unit_test(names_are_text),
        cmocka_unit_test(rows_without_flops_are_in_the_legend_only),
        cmocka_unit_test(extreme_figures_stay_within_the_frame),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
