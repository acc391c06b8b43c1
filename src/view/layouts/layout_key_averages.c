/* SPDX-License-Identifier: Apache-2.0 */
/* Operators in the table of torch.profiler: layout and number formats are its own, for programs
 * that parse it. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "analysis/operators/operators.h"
#include "view/layouts/report_tables.h"
#include "view/output/text_cell.h"

enum {
    KEY_WIDTH = 12,
    MIN_NAME = 8,
    MAX_NAME = 55,
    MAX_SHAPES = 80,
    KEY_GAP = 2,
    MAX_TIME_TEXT = 64
};

/* "1.234s", "5.678ms", "9.000us" */
static void print_time(FILE *out, double us, const char *end)
{
    char text[MAX_TIME_TEXT];
    snprintf(text, sizeof text,
             us >= 1e6   ? "%.3fs"
             : us >= 1e3 ? "%.3fms"
                         : "%.3fus",
             us >= 1e6   ? us / 1e6
             : us >= 1e3 ? us / 1e3
                         : us);
    fprintf(out, "%*s%s", KEY_WIDTH, text, end);
}

/* The columns and their widths, in torch's order. */
struct key_layout {
    enum ss_key_averages_column columns[SS_KEY_COLUMNS];
    size_t widths[SS_KEY_COLUMNS];
    size_t count;
    double flops_unit;
    const char *flops_title;
};

static void print_rule(FILE *out, const struct key_layout *layout)
{
    static const char dashes[] =
        "--------------------------------------------------------------------------------";
    _Static_assert(sizeof dashes > MAX_SHAPES, "as wide as any column");
    for (size_t i = 0; i < layout->count; i++) {
        fprintf(out, "%.*s  ", (int)layout->widths[i], dashes);
    }
    fprintf(out, "\n");
}

/* Right-aligned; cuts the end of a wide name, as torch does. */
static void print_name(FILE *out, struct ss_strview name, size_t width)
{
    struct ss_strbuf clean;
    ss_strbuf_init(&clean, 1 << 16);
    ss_text_append_clean(&clean, name);
    bool cut = ss_text_width(clean.data) >= width - 3 && width == MAX_NAME;
    struct ss_strbuf shown;
    ss_strbuf_init(&shown, 1 << 16);
    if (cut) {
        ss_strbuf_append_text(&clean, "...."); /* forces a cut */
        ss_text_append_cut_end(&shown, clean.data, width - 3 + 1);
        shown.length -= strlen("…");
        shown.data[shown.length] = '\0';
        ss_strbuf_append_text(&shown, "...");
    } else {
        ss_strbuf_append_text(&shown, clean.data);
    }
    size_t used = ss_text_width(shown.data);
    fprintf(out, "%*s%s", (int)(used < width ? width - used : 0), "", shown.data);
    ss_strbuf_fini(&shown);
    ss_strbuf_fini(&clean);
}

static size_t name_width_of(const struct ss_table *table)
{
    size_t widest = MIN_NAME;
    for (size_t row = 0; row < table->row_count; row++) {
        size_t width = ss_table_cell(table, row, SS_KEY_NAME)->text.length + 4;
        widest = width > widest ? width : widest;
    }
    return widest < MAX_NAME ? widest : MAX_NAME;
}

static bool has_column(const struct ss_table *table, size_t column)
{
    for (size_t row = 0; column < table->column_count && row < table->row_count; row++) {
        if (ss_table_cell(table, row, column)->type != SS_CELL_ABSENT) {
            return true;
        }
    }
    return false;
}

static size_t shapes_width_of(const struct ss_table *table)
{
    size_t widest = MIN_NAME;
    for (size_t row = 0; row < table->row_count; row++) {
        size_t width = ss_table_cell(table, row, SS_KEY_SHAPES)->text.length + 4;
        widest = width > widest ? width : widest;
    }
    return widest < MAX_SHAPES ? widest : MAX_SHAPES;
}

/* By the smallest number above 0, as torch does. */
static void choose_flops_unit(const struct ss_table *table, struct key_layout *layout)
{
    static const char *const titles[] = {"Total FLOPs",  "Total KFLOPs", "Total MFLOPs",
                                         "Total GFLOPs", "Total TFLOPs", "Total PFLOPs"};
    double least = INFINITY;
    for (size_t row = 0; row < table->row_count; row++) {
        double flops = (double)ss_table_cell(table, row, SS_KEY_FLOPS)->integer;
        least = flops > 0 && flops < least ? flops : least;
    }
    size_t unit = 0;
    layout->flops_unit = 1;
    while (isfinite(least) && least >= 1000 && unit + 1 < sizeof titles / sizeof *titles) {
        least /= 1000;
        layout->flops_unit *= 1000;
        unit++;
    }
    layout->flops_title = titles[unit];
}

static void lay_out(const struct ss_table *table, struct key_layout *layout)
{
    static const enum ss_key_averages_column order[] = {
        SS_KEY_NAME,         SS_KEY_SELF_PERCENT,
        SS_KEY_SELF,         SS_KEY_TOTAL_PERCENT,
        SS_KEY_TOTAL,        SS_KEY_MEAN,
        SS_KEY_SELF_DEVICE,  SS_KEY_SELF_DEVICE_PERCENT,
        SS_KEY_DEVICE_TOTAL, SS_KEY_DEVICE_MEAN,
        SS_KEY_CPU_BYTES,    SS_KEY_SELF_CPU_BYTES,
        SS_KEY_DEVICE_BYTES, SS_KEY_SELF_DEVICE_BYTES,
        SS_KEY_COUNT,        SS_KEY_SHAPES,
        SS_KEY_FLOPS};
    *layout = (struct key_layout){.count = 0};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        if (order[i] > SS_KEY_COUNT && !has_column(table, order[i])) {
            continue;
        }
        layout->columns[layout->count] = order[i];
        layout->widths[layout->count++] = order[i] == SS_KEY_NAME     ? name_width_of(table)
                                          : order[i] == SS_KEY_SHAPES ? shapes_width_of(table)
                                                                      : KEY_WIDTH;
    }
    if (has_column(table, SS_KEY_FLOPS)) {
        choose_flops_unit(table, layout);
    }
}

/* "256 B", "1.50 KB": torch's units are powers of 1024. */
static void print_memory_cell(FILE *out, int64_t bytes)
{
    static const char *const units[] = {"B", "KB", "MB", "GB"};
    char text[MAX_TIME_TEXT];
    double shown = (double)bytes;
    size_t unit = 0;
    while (fabs(shown) >= 1024 && unit + 1 < sizeof units / sizeof *units) {
        shown /= 1024;
        unit++;
    }
    snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.2f %s", shown, units[unit]);
    fprintf(out, "%*s", KEY_WIDTH, text);
}

static void print_key_cell(const struct key_layout *layout, size_t at, const struct ss_cell *cell,
                           FILE *out)
{
    char text[MAX_TIME_TEXT] = "--";
    switch (layout->columns[at]) {
    case SS_KEY_NAME:
        print_name(out, cell->text, layout->widths[at]);
        break;
    case SS_KEY_SELF_PERCENT:
    case SS_KEY_TOTAL_PERCENT:
    case SS_KEY_SELF_DEVICE_PERCENT:
        fprintf(out, "%*.2f%%", KEY_WIDTH - 1, cell->real);
        break;
    case SS_KEY_SELF:
    case SS_KEY_TOTAL:
    case SS_KEY_MEAN:
    case SS_KEY_SELF_DEVICE:
    case SS_KEY_DEVICE_TOTAL:
    case SS_KEY_DEVICE_MEAN:
        print_time(out, cell->real, "");
        break;
    case SS_KEY_COUNT:
        fprintf(out, "%*" PRId64, KEY_WIDTH, cell->integer);
        break;
    case SS_KEY_SHAPES:
        fprintf(out, "%*.*s", (int)layout->widths[at], (int)layout->widths[at],
                cell->type == SS_CELL_TEXT ? cell->text.data : "[]");
        break;
    case SS_KEY_FLOPS:
        if (cell->integer > 0) {
            snprintf(text, sizeof text, "%8.3f", (double)cell->integer / layout->flops_unit);
        }
        fprintf(out, "%*s", KEY_WIDTH, text);
        break;
    default:
        print_memory_cell(out, cell->integer);
        break;
    }
    fprintf(out, "  ");
}

static void print_key_titles(const struct key_layout *layout, FILE *out)
{
    static const char *const titles[SS_KEY_COLUMNS] = {[SS_KEY_NAME] = "Name",
                                                       [SS_KEY_SELF_PERCENT] = "Self CPU %",
                                                       [SS_KEY_SELF] = "Self CPU",
                                                       [SS_KEY_TOTAL_PERCENT] = "CPU total %",
                                                       [SS_KEY_TOTAL] = "CPU total",
                                                       [SS_KEY_MEAN] = "CPU time avg",
                                                       [SS_KEY_COUNT] = "# of Calls",
                                                       [SS_KEY_CPU_BYTES] = "CPU Mem",
                                                       [SS_KEY_SELF_CPU_BYTES] = "Self CPU Mem",
                                                       [SS_KEY_DEVICE_BYTES] = "CUDA Mem",
                                                       [SS_KEY_SELF_DEVICE_BYTES] = "Self CUDA Mem",
                                                       [SS_KEY_SHAPES] = "Input Shapes",
                                                       [SS_KEY_SELF_DEVICE] = "Self CUDA",
                                                       [SS_KEY_SELF_DEVICE_PERCENT] = "Self CUDA %",
                                                       [SS_KEY_DEVICE_TOTAL] = "CUDA total",
                                                       [SS_KEY_DEVICE_MEAN] = "CUDA time avg"};
    for (size_t i = 0; i < layout->count; i++) {
        const char *title = titles[layout->columns[i]];
        title = title != NULL ? title : layout->flops_title;
        fprintf(out, "%*s  ", (int)layout->widths[i], title);
    }
    fprintf(out, "\n");
}

static void print_sum(const char *device, uint64_t ns, FILE *out)
{
    double us = (double)ns / 1000;
    fprintf(out,
            us >= 1e6   ? "Self %s time total: %.3fs\n"
            : us >= 1e3 ? "Self %s time total: %.3fms\n"
                        : "Self %s time total: %.3fus\n",
            device,
            us >= 1e6   ? us / 1e6
            : us >= 1e3 ? us / 1e3
                        : us);
}

void ss_report_print_key_averages(const struct ss_table *table, const struct ss_report_style *style,
                                  FILE *out)
{
    (void)style;
    struct key_layout layout;
    lay_out(table, &layout);
    print_rule(out, &layout);
    print_key_titles(&layout, out);
    print_rule(out, &layout);
    for (size_t row = 0; row < table->row_count; row++) {
        const struct ss_cell *cells = ss_table_cell(table, row, 0);
        for (size_t i = 0; i < layout.count; i++) {
            print_key_cell(&layout, i, &cells[layout.columns[i]], out);
        }
        fprintf(out, "\n");
    }
    print_rule(out, &layout);
    print_sum("CPU", table->whole_ns, out);
    if (table->device_ns > 0) {
        print_sum("CUDA", table->device_ns, out);
    }
}
