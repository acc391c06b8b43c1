/* SPDX-License-Identifier: Apache-2.0 */
/* The layout of runs of different size. */
#include <inttypes.h>
#include <math.h>

#include "analysis/report/scaling.h"
#include "view/layouts/report_tables.h"
#include "view/output/text_cell.h"

enum { RANKS, NODES, DEVICES, RUNS, STEP, SAMPLES, SPEED_UP, EFFICIENCY, EXPOSED, ENERGY, COLUMNS };

static void put_integer(struct ss_text_table *text, size_t column, const struct ss_cell *cell)
{
    if (cell->type == SS_CELL_INTEGER) {
        ss_text_table_putf(text, column, NULL, "%" PRId64, cell->integer);
    }
}

/* "38.4 ms ±0.21 ms": the error is the cell behind. */
static void put_step(struct ss_text_table *text, const struct ss_cell *cells)
{
    struct ss_strbuf cell;
    if (cells[0].type != SS_CELL_REAL) {
        return;
    }
    ss_strbuf_init(&cell, 256);
    ss_text_append_duration(&cell, (uint64_t)llround(cells[0].real));
    if (cells[1].type == SS_CELL_REAL) {
        ss_strbuf_append_text(&cell, " \xc2\xb1");
        ss_text_append_duration(&cell, (uint64_t)llround(cells[1].real));
    }
    ss_text_table_put(text, STEP, (struct ss_strview){cell.data, cell.length}, NULL);
    ss_strbuf_fini(&cell);
}

static void put_real(struct ss_text_table *text, size_t column, const struct ss_cell *cells,
                     int decimals, const char *unit)
{
    if (cells[0].type == SS_CELL_REAL && cells[1].type == SS_CELL_REAL) {
        ss_text_table_putf(text, column, NULL, "%.*f%s \xc2\xb1%.*f", decimals, cells[0].real, unit,
                           decimals, cells[1].real);
    } else if (cells[0].type == SS_CELL_REAL) {
        ss_text_table_putf(text, column, NULL, "%.*f%s", decimals, cells[0].real, unit);
    }
}

void ss_report_fill_scaling(const struct ss_block *block, struct ss_text_table *text)
{
    const struct ss_table *table = &block->table.data;
    static const struct ss_text_column columns[COLUMNS] = {
        [RANKS] = {.title = "ranks", .right = true},
        [NODES] = {.title = "nodes", .right = true},
        [DEVICES] = {.title = "devices", .right = true},
        [RUNS] = {.title = "runs", .right = true},
        [STEP] = {.title = "step", .right = true},
        [SAMPLES] = {.title = "samples/s", .right = true},
        [SPEED_UP] = {.title = "speed-up", .right = true},
        [EFFICIENCY] = {.title = "efficiency", .right = true},
        [EXPOSED] = {.title = "exposed comm.", .right = true},
        [ENERGY] = {.title = "energy (Wh)", .right = true}};
    ss_text_table_init(text, columns, COLUMNS);
    for (size_t row = 0; row < table->row_count; row++) {
        const struct ss_cell *cells = ss_table_cell(table, row, 0);
        ss_text_table_add_row(text, NULL);
        put_integer(text, RANKS, &cells[SS_SCALING_RANKS]);
        put_integer(text, NODES, &cells[SS_SCALING_NODES]);
        put_integer(text, DEVICES, &cells[SS_SCALING_DEVICES]);
        put_integer(text, RUNS, &cells[SS_SCALING_RUNS]);
        put_step(text, &cells[SS_SCALING_STEP]);
        put_real(text, SAMPLES, &cells[SS_SCALING_SAMPLES], 1, "");
        put_real(text, SPEED_UP, &cells[SS_SCALING_SPEED_UP], 2, "");
        put_real(text, EFFICIENCY, &cells[SS_SCALING_EFFICIENCY], 1, "%");
        put_real(text, EXPOSED, &cells[SS_SCALING_EXPOSED], 1, "%");
        put_real(text, ENERGY, &cells[SS_SCALING_ENERGY], 3, "");
    }
}
