/* SPDX-License-Identifier: Apache-2.0 */
/* Line times: a block per function, with the columns of line_profiler. */
#include <inttypes.h>
#include <stdio.h>

#include "analysis/samples/line_times.h"
#include "base/terminal.h"
#include "view/layouts/report_tables.h"
#include "view/output/text_cell.h"

enum { FIGURES_WIDTH = 49, MIN_WIDTH = 12, MAX_TEXT_BYTES = 1 << 16 };

static void print_head(const struct ss_table *table, size_t row,
                       const struct ss_report_style *style, FILE *out)
{
    const struct ss_cell *cells = ss_table_cell(table, row, 0);
    struct ss_strbuf text, duration;
    ss_strbuf_init(&text, MAX_TEXT_BYTES);
    ss_strbuf_init(&duration, 64);
    ss_text_append_clean(&text, cells[SS_LINE_TIME_FUNCTION].text);
    fprintf(out, "%s%s%s%s", row > 0 ? "\n" : "", style->colour ? SS_BOLD : "", text.data,
            style->colour ? SS_OFF : "");
    if (cells[SS_LINE_TIME_PATH].type == SS_CELL_TEXT) {
        ss_strbuf_clear(&text);
        ss_text_append_clean(&text, cells[SS_LINE_TIME_PATH].text);
        fprintf(out, " (%s:%" PRId64 ")", text.data, cells[SS_LINE_TIME_FIRST_LINE].integer);
    }
    ss_text_append_duration(&duration, (uint64_t)cells[SS_LINE_TIME_FUNCTION_TOTAL].integer);
    fprintf(out, " · %s\n", duration.data);
    fprintf(out, "%6s %10s %10s %10s %7s  %s\n", "Line #", "Hits", "Time", "Per Hit", "% Time",
            "Line Contents");
    ss_strbuf_fini(&text);
    ss_strbuf_fini(&duration);
}

/* Right-aligned in ten columns, not bytes: "µ" has two bytes. */
static void print_duration(const struct ss_cell *cell, FILE *out)
{
    struct ss_strbuf text;
    ss_strbuf_init(&text, 64);
    if (cell->type != SS_CELL_ABSENT) {
        ss_text_append_duration(&text, cell->type == SS_CELL_REAL ? (uint64_t)(cell->real + 0.5)
                                                                  : (uint64_t)cell->integer);
    }
    const char *shown = text.length > 0 ? text.data : "";
    int width = (int)ss_text_width(shown);
    fprintf(out, " %*s%s", width < 10 ? 10 - width : 0, "", shown);
    ss_strbuf_fini(&text);
}

static void print_contents(const struct ss_cell *cell, const struct ss_report_style *style,
                           FILE *out)
{
    struct ss_strbuf clean, cut;
    if (cell->type != SS_CELL_TEXT || cell->text.length == 0) {
        return;
    }
    ss_strbuf_init(&clean, MAX_TEXT_BYTES);
    ss_strbuf_init(&cut, MAX_TEXT_BYTES);
    ss_text_append_clean(&clean, cell->text);
    if (style->width > 0) {
        bool fits = style->width >= FIGURES_WIDTH + MIN_WIDTH;
        ss_text_append_cut_end(&cut, clean.data,
                               fits ? style->width - FIGURES_WIDTH : (size_t)MIN_WIDTH);
    } else {
        ss_strbuf_append(&cut, clean.data, clean.length);
    }
    fprintf(out, "  %s", cut.data);
    ss_strbuf_fini(&clean);
    ss_strbuf_fini(&cut);
}

static void print_line(const struct ss_cell *cells, const struct ss_report_style *style, FILE *out)
{
    bool ran = cells[SS_LINE_TIME_HITS].type == SS_CELL_INTEGER;
    double percent = ran ? cells[SS_LINE_TIME_PERCENT].real : 0;
    const char *colour = !style->colour  ? ""
                         : !ran          ? SS_DIM
                         : percent >= 25 ? ss_style(SS_STYLE_BRIGHT_RED)
                         : percent >= 10 ? ss_style(SS_STYLE_YELLOW)
                                         : "";
    fprintf(out, "%s%6" PRId64, colour, cells[SS_LINE_TIME_LINE].integer);
    if (ran) {
        fprintf(out, " %10" PRId64, cells[SS_LINE_TIME_HITS].integer);
        print_duration(&cells[SS_LINE_TIME_TOTAL], out);
        print_duration(&cells[SS_LINE_TIME_PER_HIT], out);
        fprintf(out, " %7.1f", percent);
    } else if (cells[SS_LINE_TIME_CONTENTS].type == SS_CELL_TEXT &&
               cells[SS_LINE_TIME_CONTENTS].text.length > 0) {
        fprintf(out, " %10s %10s %10s %7s", "", "", "", "");
    }
    print_contents(&cells[SS_LINE_TIME_CONTENTS], style, out);
    fprintf(out, "%s\n", colour[0] != '\0' ? SS_OFF : "");
}

void ss_report_print_lines(const struct ss_table *table, const struct ss_report_style *style,
                           FILE *out)
{
    for (size_t row = 0; row < table->row_count; row++) {
        const struct ss_cell *cells = ss_table_cell(table, row, 0);
        if (cells[SS_LINE_TIME_FUNCTION_TOTAL].type == SS_CELL_INTEGER) {
            print_head(table, row, style, out);
        }
        print_line(cells, style, out);
    }
}
