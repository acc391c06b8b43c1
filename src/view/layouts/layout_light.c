/* SPDX-License-Identifier: Apache-2.0 */
/* The layouts of the speed of light and of occupancy: figures first, the kernel's name last. */
#include "analysis/kernels/kernel_occupancy.h"
#include "analysis/kernels/speed_of_light.h"
#include "view/layouts/report_tables.h"

static void put_percent(struct ss_text_table *text, size_t column, const struct ss_cell *cell,
                        const char *colour)
{
    if (cell->type == SS_CELL_REAL) {
        ss_text_table_putf(text, column, colour, "%.1f%%", cell->real);
    }
}

static void put_text(struct ss_text_table *text, size_t column, const struct ss_cell *cell)
{
    if (cell->type == SS_CELL_TEXT) {
        ss_text_table_put(text, column, cell->text, NULL);
    }
}

static bool has_any(const struct ss_table *table, size_t column)
{
    bool found = false;
    for (size_t row = 0; row < table->row_count && !found; row++) {
        found = ss_table_cell(table, row, column)->type != SS_CELL_ABSENT;
    }
    return found;
}

/* --- speed of light --------------------------------------------------------------------------- */

enum {
    LIGHT_SHARE,
    LIGHT_TOTAL,
    LIGHT_INSTANCES,
    LIGHT_COMPUTE,
    LIGHT_MEMORY,
    LIGHT_L1,
    LIGHT_L2,
    LIGHT_DRAM,
    LIGHT_LIMITER,
    LIGHT_NAME,
    LIGHT_COLUMNS
};

void ss_report_fill_light(const struct ss_block *block, struct ss_text_table *text)
{
    static const struct ss_text_column columns[LIGHT_COLUMNS] = {
        [LIGHT_SHARE] = {.title = "time", .right = true},
        [LIGHT_TOTAL] = {.title = "total", .right = true},
        [LIGHT_INSTANCES] = {.title = "launches", .short_title = "n", .right = true},
        [LIGHT_COMPUTE] = {.title = "compute", .right = true},
        [LIGHT_MEMORY] = {.title = "memory", .right = true},
        [LIGHT_L1] = {.title = "L1", .right = true},
        [LIGHT_L2] = {.title = "L2", .right = true},
        [LIGHT_DRAM] = {.title = "DRAM", .right = true},
        [LIGHT_LIMITER] = {.title = "limited by"},
        [LIGHT_NAME] = {.title = "kernel", .least = 16}};
    const struct ss_table *table = &block->table.data;
    ss_text_table_init(text, columns, LIGHT_COLUMNS);
    for (size_t i = 0; i < table->row_count; i++) {
        const struct ss_cell *cells = ss_table_cell(table, i, 0);
        ss_text_table_add_row(text, NULL);
        put_percent(text, LIGHT_SHARE, &cells[SS_LIGHT_PERCENT],
                    ss_report_share_colour(cells[SS_LIGHT_PERCENT].real));
        ss_report_put_duration(text, LIGHT_TOTAL, &cells[SS_LIGHT_TIME]);
        ss_report_put_count(text, LIGHT_INSTANCES, &cells[SS_LIGHT_INSTANCES]);
        for (size_t c = 0; c < 5; c++) {
            put_percent(text, LIGHT_COMPUTE + c, &cells[SS_LIGHT_COMPUTE + c], NULL);
        }
        put_text(text, LIGHT_LIMITER, &cells[SS_LIGHT_LIMITER]);
        put_text(text, LIGHT_NAME, &cells[SS_LIGHT_SHORT]);
    }
}

/* --- occupancy -------------------------------------------------------------------------------- */

enum {
    OCCUPANCY_SHARE,
    OCCUPANCY_TOTAL,
    OCCUPANCY_INSTANCES,
    OCCUPANCY_THEORETICAL,
    OCCUPANCY_ACHIEVED,
    OCCUPANCY_LIMITER,
    OCCUPANCY_THREADS,
    OCCUPANCY_REGISTERS,
    OCCUPANCY_SHARED,
    OCCUPANCY_WAVES,
    OCCUPANCY_NAME,
    OCCUPANCY_COLUMNS
};

static void put_occupancy(struct ss_text_table *text, const struct ss_cell *cells)
{
    ss_text_table_add_row(text, NULL);
    put_percent(text, OCCUPANCY_SHARE, &cells[SS_OCCUPANCY_PERCENT],
                ss_report_share_colour(cells[SS_OCCUPANCY_PERCENT].real));
    ss_report_put_duration(text, OCCUPANCY_TOTAL, &cells[SS_OCCUPANCY_TIME]);
    ss_report_put_count(text, OCCUPANCY_INSTANCES, &cells[SS_OCCUPANCY_INSTANCES]);
    put_percent(text, OCCUPANCY_THEORETICAL, &cells[SS_OCCUPANCY_THEORETICAL], NULL);
    put_percent(text, OCCUPANCY_ACHIEVED, &cells[SS_OCCUPANCY_ACHIEVED], NULL);
    put_text(text, OCCUPANCY_LIMITER, &cells[SS_OCCUPANCY_LIMITER]);
    ss_report_put_count(text, OCCUPANCY_THREADS, &cells[SS_OCCUPANCY_THREADS]);
    ss_report_put_count(text, OCCUPANCY_REGISTERS, &cells[SS_OCCUPANCY_REGISTERS]);
    ss_report_put_bytes(text, OCCUPANCY_SHARED, &cells[SS_OCCUPANCY_SHARED], false);
    if (cells[SS_OCCUPANCY_WAVES].type == SS_CELL_REAL) {
        ss_text_table_putf(text, OCCUPANCY_WAVES, NULL, "%.3g", cells[SS_OCCUPANCY_WAVES].real);
    }
    put_text(text, OCCUPANCY_NAME, &cells[SS_OCCUPANCY_SHORT]);
}

void ss_report_fill_occupancy(const struct ss_block *block, struct ss_text_table *text)
{
    const struct ss_table *table = &block->table.data;
    bool has_achieved = has_any(table, SS_OCCUPANCY_ACHIEVED);
    bool has_waves = has_any(table, SS_OCCUPANCY_WAVES);
    const struct ss_text_column columns[OCCUPANCY_COLUMNS] = {
        [OCCUPANCY_SHARE] = {.title = "time", .right = true},
        [OCCUPANCY_TOTAL] = {.title = "total", .right = true},
        [OCCUPANCY_INSTANCES] = {.title = "launches", .short_title = "n", .right = true},
        [OCCUPANCY_THEORETICAL] = {.title = "theoretical", .short_title = "theory", .right = true},
        [OCCUPANCY_ACHIEVED] = {.title = has_achieved ? "achieved" : "", .right = true},
        [OCCUPANCY_LIMITER] = {.title = "limited by"},
        [OCCUPANCY_THREADS] = {.title = "block", .right = true},
        [OCCUPANCY_REGISTERS] = {.title = "registers", .short_title = "regs", .right = true},
        [OCCUPANCY_SHARED] = {.title = "shared", .right = true},
        [OCCUPANCY_WAVES] = {.title = has_waves ? "waves" : "", .right = true},
        [OCCUPANCY_NAME] = {.title = "kernel", .least = 16}};
    ss_text_table_init(text, columns, OCCUPANCY_COLUMNS);
    for (size_t i = 0; i < table->row_count; i++) {
        put_occupancy(text, ss_table_cell(table, i, 0));
    }
}
