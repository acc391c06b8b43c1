/* SPDX-License-Identifier: Apache-2.0 */
/* Floating-point operations in the text report. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "analysis/flops.h"
#include "base/terminal.h"
#include "view/report_tables.h"
#include "view/text_cell.h"

enum {
    SHOW_COUNT,
    SHOW_SHARE,
    SHOW_BAR,
    SHOW_CALLS,
    SHOW_TIME,
    SHOW_RATE,
    SHOW_NAME,
    SHOW_COLUMNS
};
enum { TEXT_BYTES = 64 };

/* "1.23 TFLOP" */
static void format_flops(double flops, const char *unit, char text[TEXT_BYTES])
{
    static const char *const prefixes[] = {"", "k", "M", "G", "T", "P", "E"};
    size_t i = 0;
    while (flops >= 999.5 && i + 1 < sizeof prefixes / sizeof *prefixes) {
        flops /= 1000;
        i++;
    }
    int decimals = i == 0 || flops >= 99.5 ? 0 : flops >= 9.95 ? 1 : 2;
    snprintf(text, TEXT_BYTES, "%.*f %s%s", decimals, flops, prefixes[i], unit);
}

static void put_row(struct ss_text_table *table, const struct ss_cell *cells)
{
    char text[TEXT_BYTES];
    double calls = cells[SS_FLOPS_CALLS].real, percent = cells[SS_FLOPS_PERCENT].real;
    ss_text_table_add_row(table, NULL);
    format_flops(cells[SS_FLOPS_COUNT].real, "FLOP", text);
    ss_text_table_putf(table, SHOW_COUNT, NULL, "%s", text);
    ss_text_table_putf(table, SHOW_SHARE, NULL, "%.1f%%", percent);
    ss_report_put_bar(table, SHOW_BAR, percent, NULL);
    ss_text_table_putf(table, SHOW_CALLS, NULL, "%.*f", calls == floor(calls) ? 0 : 1, calls);
    if (cells[SS_FLOPS_TIME].type == SS_CELL_INTEGER) {
        ss_report_put_duration(table, SHOW_TIME, &cells[SS_FLOPS_TIME]);
        format_flops(cells[SS_FLOPS_RATE].real, "FLOP/s", text);
        ss_text_table_putf(table, SHOW_RATE, NULL, "%s", text);
    }
    bool has_name = cells[SS_FLOPS_NAME].type == SS_CELL_TEXT;
    ss_text_table_put(table, SHOW_NAME,
                      has_name ? cells[SS_FLOPS_NAME].text : ss_strview_of("(step)"), NULL);
}

/* "… 12 % of 3.2 TFLOP/s (…)"; more than 100 % is not a valid measurement. */
static void print_peak(const struct ss_cell *cells, FILE *out)
{
    char text[TEXT_BYTES];
    if (cells[SS_FLOPS_PEAK].type != SS_CELL_REAL) {
        fprintf(out, "The peak of this device is not known, and so neither is the utilisation.\n");
        return;
    }
    double percent = cells[SS_FLOPS_PEAK_PERCENT].real;
    format_flops(cells[SS_FLOPS_PEAK].real, "FLOP/s", text);
    fprintf(out, "Model FLOPs utilisation %.3g %% of %s (%.*s).\n", percent, text,
            (int)cells[SS_FLOPS_PEAK_OF].text.length, cells[SS_FLOPS_PEAK_OF].text.data);
    if (percent > 100) {
        fprintf(out, "! More than the device's peak: the peak is not that of this device or number "
                     "format, or steps differ from those counted.\n");
    }
}

enum ss_status ss_report_text_flops(const struct ss_table *table,
                                    const struct ss_report_style *style, FILE *out,
                                    struct ss_error *err)
{
    static const struct ss_text_column columns[SHOW_COLUMNS] = {
        [SHOW_COUNT] = {.title = "per step", .right = true},
        [SHOW_SHARE] = {.title = "", .right = true},
        [SHOW_BAR] = {.title = "", .drops = true},
        [SHOW_CALLS] = {.title = "calls", .right = true},
        [SHOW_TIME] = {.title = "time", .right = true},
        [SHOW_RATE] = {.title = "rate", .right = true},
        [SHOW_NAME] = {.title = "operator, module", .least = 16}};
    struct ss_text_table text;
    const struct ss_cell *step = ss_table_cell(table, 0, 0);
    fprintf(out,
            "Matrix products, convolutions and attention, counted in %" PRId64
            " steps, backward as it ran; modules with their backward.\n",
            step[SS_FLOPS_STEPS].integer);
    print_peak(step, out);
    ss_text_table_init(&text, columns, SHOW_COLUMNS);
    for (size_t row = 0; row < table->row_count; row++) {
        put_row(&text, ss_table_cell(table, row, 0));
    }
    enum ss_status status = ss_text_table_print(&text, out, style->width, style->colour, err);
    ss_text_table_fini(&text);
    return status;
}

static void print_title(const char *title, const struct ss_report_style *style, FILE *out)
{
    fprintf(out, "%s%s%s\n", style->colour ? SS_BOLD : "", title, style->colour ? SS_OFF : "");
}

static void print_figures(const struct ss_flops_figures *figures,
                          const struct ss_report_style *style, FILE *out)
{
    char flops[TEXT_BYTES], rate[TEXT_BYTES], peak[TEXT_BYTES];
    struct ss_strbuf text;
    ss_strbuf_init(&text, 4096);
    format_flops(figures->flops, "FLOP", flops);
    format_flops(ss_flops_rate(figures), "FLOP/s", rate);
    ss_strbuf_append_format(&text, "about %s a step, %s%s", flops, rate,
                            figures->is_gpu ? " by the host's steps" : "");
    if (figures->peak.flops_per_s > 0) {
        double percent = 100 * ss_flops_rate(figures) / figures->peak.flops_per_s;
        format_flops(figures->peak.flops_per_s, "FLOP/s", peak);
        ss_strbuf_append_format(&text, ": %.3g %% of %s (%s)%s", percent, peak, figures->peak.of,
                                percent > 100 ? ", which is impossible" : "");
    }
    ss_strbuf_append_text(&text, "; by operator and module: --by flops");
    ss_report_print_wrapped(text.data, "", "  ", style, out);
    fputc('\n', out);
    ss_strbuf_fini(&text);
}

void ss_report_text_flops_summary(const struct ss_training_facts *facts,
                                  const struct ss_report_style *style, FILE *out)
{
    const char *source = facts->operator_source;
    if (facts->flops.steps > 0) {
        print_title("Matrix products, convolutions and attention", style, out);
        print_figures(&facts->flops, style, out);
    }
    if (source != NULL && source[0] != '\0' && strcmp(source, "callback") != 0 &&
        strcmp(source, "off") != 0) {
        bool is_itt = strncmp(source, "ITT", 3) == 0;
        print_title(is_itt ? "Operators were recorded through a fallback"
                           : "Operators were not recorded",
                    style, out);
        ss_report_print_wrapped(source, "", "  ", style, out);
        fputc('\n', out);
    }
}
