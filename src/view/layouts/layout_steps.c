/* SPDX-License-Identifier: Apache-2.0 */
/* The layouts of steps and phases. */
#include <inttypes.h>
#include <string.h>

#include "analysis/steps/steps.h"
#include "analysis/table/uncertainty.h"
#include "view/layouts/report_tables.h"
#include "view/output/text_cell.h"

enum { MAX_TEXT_BYTES = 1 << 16 };

/* With too few samples, shows no line. */
static void put_line_cells(struct ss_text_table *text, size_t column, const struct ss_cell *cells)
{
    if (cells[SS_PHASE_LINE_PERCENT].type != SS_CELL_REAL ||
        cells[SS_PHASE_SAMPLES].integer < SS_MIN_CLAIM_SAMPLES) {
        return;
    }
    struct ss_strview path = cells[SS_PHASE_LINE_PATH].text;
    struct ss_strview function = cells[SS_PHASE_LINE_FUNCTION].text;
    ss_text_table_putf(text, column, NULL, "%.0f%% of %" PRId64, cells[SS_PHASE_LINE_PERCENT].real,
                       cells[SS_PHASE_SAMPLES].integer);
    if (cells[SS_PHASE_LINE].type == SS_CELL_INTEGER) {
        ss_text_table_putf(text, column + 1, "cyan", "%.*s:%" PRId64 " %.*s", (int)path.length,
                           path.data, cells[SS_PHASE_LINE].integer, (int)function.length,
                           function.data);
    } else {
        ss_text_table_putf(text, column + 1, "cyan", "%.*s %.*s", (int)path.length, path.data,
                           (int)function.length, function.data);
    }
}

/* The columns of phases after those of the table. */
enum {
    DEVICE_SHARE = SS_PHASE_STEPS + 1,
    DEVICE_STEP,
    DEVICE_WORKS,
    LINE_SHARE,
    LINE,
    AT_END,
    CHANGE,
    PEAK,
    PHASE_COLUMNS
};

static void put_phase(struct ss_text_table *text, const struct ss_cell *cells, bool has_works)
{
    ss_text_table_add_row(text, NULL);
    ss_text_table_put(text, SS_PHASE_NAME, cells[SS_PHASE_NAME].text, NULL);
    ss_text_table_putf(text, SS_PHASE_PERCENT, NULL, "%.1f%%", cells[SS_PHASE_PERCENT].real);
    for (size_t c = SS_PHASE_TOTAL; c <= SS_PHASE_MAX; c++) {
        ss_report_put_duration(text, c, &cells[c]);
    }
    ss_text_table_putf(text, SS_PHASE_STEPS, NULL, "%" PRId64, cells[SS_PHASE_STEPS].integer);
    if (has_works) {
        ss_text_table_putf(text, DEVICE_SHARE, NULL, "%.1f%%", cells[SS_PHASE_DEVICE_PERCENT].real);
        ss_report_put_duration(text, DEVICE_STEP, &cells[SS_PHASE_DEVICE_STEP]);
        ss_text_table_putf(text, DEVICE_WORKS, NULL, "%.4g",
                           cells[SS_PHASE_DEVICE_STEP_WORKS].real);
    }
    put_line_cells(text, LINE_SHARE, cells);
}

void ss_report_fill_phases(const struct ss_block *block, struct ss_text_table *text)
{
    const struct ss_table *table = &block->table.data;
    bool works =
        table->column_count > SS_PHASE_COLUMNS && ss_table_has_any(table, SS_PHASE_DEVICE_TOTAL);
    const struct ss_text_column columns[PHASE_COLUMNS] = {
        [SS_PHASE_NAME] = {.title = "phase", .least = 12},
        [SS_PHASE_PERCENT] = {.title = "share", .right = true},
        [SS_PHASE_TOTAL] = {.title = "total", .right = true},
        [SS_PHASE_MEAN] = {.title = "per step", .right = true},
        [SS_PHASE_P50] = {.title = "p50", .right = true, .drops = works},
        [SS_PHASE_P95] = {.title = "p95", .right = true, .drops = works},
        [SS_PHASE_MAX] = {.title = "max", .right = true, .drops = works},
        [SS_PHASE_STEPS] = {.title = "in steps", .right = true},
        [DEVICE_SHARE] = {.title = works ? "of device" : "", .right = true},
        [DEVICE_STEP] = {.title = works ? "launched per step" : "",
                         .short_title = works ? "launched" : NULL,
                         .right = true},
        [DEVICE_WORKS] = {.title = works ? "works" : "", .right = true},
        [LINE_SHARE] = {.title = "samples", .right = true},
        [LINE] = {.title = "hottest line", .least = 16},
        [AT_END] = {.title = "memory at its end", .short_title = "memory", .right = true},
        [CHANGE] = {.title = "change", .right = true},
        [PEAK] = {.title = "peak", .right = true}};
    size_t memory =
        ss_table_cell(table, 0, SS_PHASE_MEMORY)->type == SS_CELL_TEXT ? PHASE_COLUMNS : AT_END;
    ss_text_table_init(text, columns, memory);
    for (size_t row = 0; row < table->row_count; row++) {
        const struct ss_cell *cells = ss_table_cell(table, row, 0);
        put_phase(text, cells, works);
        for (size_t c = AT_END; c < memory; c++) {
            ss_report_put_bytes(text, c, &cells[SS_PHASE_MEMORY_END + (c - AT_END)], c == CHANGE);
        }
    }
}

/* "data_ns" → "data". */
static const char *title_of(const char *key, struct ss_arena *arena)
{
    size_t length = strlen(key);
    bool has_unit = length > 3 && strcmp(key + length - 3, "_ns") == 0;
    struct ss_strbuf clean;
    ss_strbuf_init(&clean, MAX_TEXT_BYTES);
    ss_text_append_clean(&clean, (struct ss_strview){key, has_unit ? length - 3 : length});
    const char *title = ss_arena_strndup(arena, clean.data, clean.length);
    ss_strbuf_fini(&clean);
    return title;
}

void ss_report_fill_steps(const struct ss_block *block, struct ss_text_table *text)
{
    const struct ss_table *table = &block->table.data;
    ss_text_table_init_blank(text, table->column_count);
    for (size_t c = 0; c < table->column_count; c++) {
        bool is_text = c == SS_STEP_PROCESS || c == SS_STEP_KIND;
        text->columns[c] =
            (struct ss_text_column){.title = title_of(table->columns[c].key, &text->arena),
                                    .right = !is_text,
                                    .least = c == SS_STEP_PROCESS ? 6 : 0};
    }
    for (size_t row = 0; row < table->row_count; row++) {
        const struct ss_cell *cells = ss_table_cell(table, row, 0);
        bool is_steady = ss_strview_equal(cells[SS_STEP_KIND].text, ss_strview_of("steady"));
        ss_text_table_add_row(text, is_steady ? NULL : "darkgray");
        ss_report_put_id(text, SS_STEP_PID, NULL, &cells[SS_STEP_PID]);
        ss_text_table_putf(text, SS_STEP_NUMBER, NULL, "%" PRId64, cells[SS_STEP_NUMBER].integer);
        if (cells[SS_STEP_PROCESS].type == SS_CELL_TEXT) {
            ss_text_table_put(text, SS_STEP_PROCESS, cells[SS_STEP_PROCESS].text, NULL);
        }
        if (!is_steady) {
            ss_text_table_put(text, SS_STEP_KIND, cells[SS_STEP_KIND].text, NULL);
        }
        for (size_t c = SS_STEP_BEGIN; c < table->column_count; c++) {
            ss_report_put_duration(text, c, &cells[c]);
        }
    }
}
