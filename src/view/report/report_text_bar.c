/* SPDX-License-Identifier: Apache-2.0 */
/* Bars, series and heat maps in the text report. */
#include <inttypes.h>

#include "base/alloc.h"
#include "base/terminal.h"
#include "view/output/text_cell.h"
#include "view/report/report_text_parts.h"

enum { BAR_COLUMNS = 72, MIN_BAR_COLUMNS = 24, MAX_TEXT_BYTES = 1 << 16 };

/* Terminal colour numbers by role; the rest is grey. */
static const int colours[SS_SHARE_ROLES] = {1, 4, 5, 6, 2, 3};

/* The columns of a bar, when the line needs `reserved` others. */
static size_t columns_beside(const struct ss_report_style *style, size_t reserved)
{
    return style->width == 0 || style->width > BAR_COLUMNS + reserved ? BAR_COLUMNS
           : style->width > MIN_BAR_COLUMNS + reserved                ? style->width - reserved
                                                                      : MIN_BAR_COLUMNS;
}

/* The columns of each share, by largest remainder, so that they add up to `columns`. */
static size_t *share_out(const struct ss_block *block, size_t columns)
{
    size_t count = block->bar.count, assigned = 0;
    size_t *widths = ss_alloc_zero(count, sizeof *widths);
    double *remainders = ss_alloc_zero(count, sizeof *remainders);
    for (size_t i = 0; i < count; i++) {
        double exact = block->bar.data[i].percent * (double)columns / 100;
        widths[i] = (size_t)exact;
        remainders[i] = exact - (double)widths[i];
        assigned += widths[i];
    }
    while (assigned < columns && count > 0) {
        size_t most = 0;
        for (size_t i = 1; i < count; i++) {
            most = remainders[i] > remainders[most] ? i : most;
        }
        widths[most]++;
        remainders[most] = -1;
        assigned++;
    }
    ss_free(remainders);
    return widths;
}

/* A part of the bar, with its name if that fits. */
static void append_part(const struct ss_bar_share *share, size_t width, bool colour,
                        struct ss_strbuf *out)
{
    struct ss_strbuf name, shown;
    ss_strbuf_init(&name, MAX_TEXT_BYTES);
    ss_strbuf_init(&shown, MAX_TEXT_BYTES);
    ss_text_append_clean(&name, share->name);
    if (width > 2) {
        ss_text_append_cut_end(&shown, name.data, width - 2);
    }
    if (colour) {
        int code = share->role >= 0 ? 40 + colours[share->role] : 100;
        ss_strbuf_append_format(out, "%s[%d;97m", ss_escape(), code);
    }
    size_t used = 0;
    if (width > 2) {
        ss_strbuf_append_format(out, "%s%s", colour ? " " : "▕", shown.data);
        used = 1 + ss_text_width(shown.data);
    } else if (!colour && width > 0) {
        ss_strbuf_append_text(out, "▕");
        used = 1;
    }
    for (; used < width; used++) {
        ss_strbuf_append_text(out, colour ? " " : "░");
    }
    ss_strbuf_append_text(out, colour ? SS_OFF : "");
    ss_strbuf_fini(&shown);
    ss_strbuf_fini(&name);
}

void ss_report_text_bar(const struct ss_block *block, const struct ss_report_style *style,
                        FILE *out)
{
    struct ss_strbuf text;
    ss_strbuf_init(&text, MAX_TEXT_BYTES);
    size_t *widths = share_out(block, columns_beside(style, 3));
    for (size_t i = 0; i < block->bar.count; i++) {
        append_part(&block->bar.data[i], widths[i], style->colour, &text);
    }
    fprintf(out, "  %s%s\n", text.data, style->colour ? "" : "▏");
    ss_free(widths);
    ss_strbuf_fini(&text);
}

void ss_report_append_series(const struct ss_block *block, size_t max_columns,
                             struct ss_strbuf *out)
{
    static const char *const blocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    size_t count = block->series.values.count;
    size_t columns = count < max_columns ? count : max_columns;
    double top = block->series.top;
    for (size_t c = 0; c < columns; c++) {
        double most = 0;
        for (size_t i = c * count / columns; i < (c + 1) * count / columns; i++) {
            double value = block->series.values.data[i];
            most = value > most ? value : most;
        }
        most = most < top ? most : top;
        ss_strbuf_append_text(out, blocks[(size_t)(most * 7.999 / top)]);
    }
}

void ss_report_text_series(const struct ss_block *block, const struct ss_report_style *style,
                           FILE *out)
{
    struct ss_strbuf text;
    ss_strbuf_init(&text, MAX_TEXT_BYTES);
    size_t reserved = 2 + ss_text_width(block->series.label) + 2;
    ss_report_append_series(block, columns_beside(style, reserved), &text);
    fprintf(out, "  %s  %s%s%s\n", text.data, style->colour ? SS_DIM : "", block->series.label,
            style->colour ? SS_OFF : "");
    ss_strbuf_fini(&text);
}

/* --- heat ------------------------------------------------------------------------------------- */

/* Of a terminal's 256 colours, from cold to hot. */
static const int heat_colours[] = {17, 18, 24, 30, 71, 142, 178, 208, 202, 196};
enum { HEAT_COLOURS = sizeof heat_colours / sizeof *heat_colours };

/* From 0 to 1; negative: no step there has a value. Of several steps the hottest counts. */
static double heat_of(const struct ss_block *block, size_t row, size_t from, size_t to)
{
    double low = block->heat.low, high = block->heat.high, most = -1;
    for (size_t i = from; i < to; i++) {
        double value = block->heat.values.data[row * block->heat.columns + i];
        most = value > most ? value : most;
    }
    if (most < 0) {
        return -1;
    }
    double share = high > low ? (most - low) / (high - low) : 0;
    return share < 0 ? 0 : share > 1 ? 1 : share;
}

void ss_report_append_heat(const struct ss_block *block, size_t row, size_t max_columns,
                           bool colour, struct ss_strbuf *out)
{
    static const char *const blocks[] = {"·", "░", "▒", "▓", "█"};
    size_t count = block->heat.columns, columns = count < max_columns ? count : max_columns;
    for (size_t c = 0; c < columns; c++) {
        double heat = heat_of(block, row, c * count / columns, (c + 1) * count / columns);
        if (heat < 0) {
            ss_strbuf_append_text(out, " ");
        } else if (colour) {
            ss_strbuf_append_format(out, "%s[48;5;%dm ", ss_escape(),
                                    heat_colours[(size_t)(heat * (HEAT_COLOURS - 0.001))]);
        } else {
            ss_strbuf_append_text(out, blocks[(size_t)(heat * 4.999)]);
        }
    }
    ss_strbuf_append_text(out, colour ? SS_OFF : "");
}

void ss_report_text_heat(const struct ss_block *block, const struct ss_report_style *style,
                         FILE *out)
{
    struct ss_strbuf text;
    ss_strbuf_init(&text, MAX_TEXT_BYTES);
    for (size_t r = 0; r < block->heat.rows.count; r++) {
        ss_strbuf_clear(&text);
        ss_report_append_heat(block, r, columns_beside(style, 8), style->colour, &text);
        if (block->heat.rows.data[r] >= 0) {
            fprintf(out, "  %4" PRId64 " %s\n", block->heat.rows.data[r], text.data);
        } else {
            fprintf(out, "     ? %s\n", text.data);
        }
    }
    ss_strbuf_clear(&text);
    ss_text_append_duration(&text, (uint64_t)block->heat.low);
    ss_strbuf_append_text(&text, style->colour ? " (dark) to " : " (·) to ");
    ss_text_append_duration(&text, (uint64_t)block->heat.high);
    ss_strbuf_append_text(&text, style->colour ? " (red)" : " (█)");
    fprintf(out, "  %s%s, %s%s\n", style->colour ? SS_DIM : "", block->heat.label, text.data,
            style->colour ? SS_OFF : "");
    ss_strbuf_fini(&text);
}
