/* SPDX-License-Identifier: Apache-2.0 */
/* The layouts of memory. */
#include <inttypes.h>

#include "analysis/memory/memories.h"
#include "view/layouts/report_tables.h"

void ss_report_fill_memories(const struct ss_block *block, struct ss_text_table *text)
{
    const struct ss_table *table = &block->table.data;
    static const struct ss_text_column columns[SS_MEMORY_COLUMNS] = {
        [SS_MEMORY_NAME] = {.title = "memory", .least = 8},
        [SS_MEMORY_PID] = {.title = "pid", .right = true},
        [SS_MEMORY_START] = {.title = "start", .right = true},
        [SS_MEMORY_END] = {.title = "end", .right = true},
        [SS_MEMORY_PEAK] = {.title = "peak", .right = true},
        [SS_MEMORY_PER_STEP] = {.title = "growth per step", .right = true},
        [SS_MEMORY_PEAK_PHASE] = {.title = "peak made by", .least = 8},
        [SS_MEMORY_PEAK_STEP] = {.title = "of step", .right = true},
        [SS_MEMORY_LIMIT] = {.title = "limit", .right = true},
        [SS_MEMORY_LIMIT_PERCENT] = {.title = "peak of it", .right = true}};
    ss_text_table_init(text, columns, SS_MEMORY_COLUMNS);
    for (size_t row = 0; row < table->row_count; row++) {
        const struct ss_cell *cells = ss_table_cell(table, row, 0);
        ss_text_table_add_row(text, NULL);
        ss_text_table_put(text, SS_MEMORY_NAME, cells[SS_MEMORY_NAME].text, NULL);
        ss_report_put_id(text, SS_MEMORY_PID, "cyan", &cells[SS_MEMORY_PID]);
        for (size_t c = SS_MEMORY_START; c <= SS_MEMORY_PER_STEP; c++) {
            ss_report_put_bytes(text, c, &cells[c], c == SS_MEMORY_PER_STEP);
        }
        if (cells[SS_MEMORY_PEAK_PHASE].type == SS_CELL_TEXT) {
            ss_text_table_put(text, SS_MEMORY_PEAK_PHASE, cells[SS_MEMORY_PEAK_PHASE].text, NULL);
            ss_text_table_putf(text, SS_MEMORY_PEAK_STEP, NULL, "%" PRId64,
                               cells[SS_MEMORY_PEAK_STEP].integer);
        }
        ss_report_put_bytes(text, SS_MEMORY_LIMIT, &cells[SS_MEMORY_LIMIT], false);
        if (cells[SS_MEMORY_LIMIT_PERCENT].type == SS_CELL_REAL) {
            ss_text_table_putf(text, SS_MEMORY_LIMIT_PERCENT, NULL, "%.1f%%",
                               cells[SS_MEMORY_LIMIT_PERCENT].real);
        }
    }
}

/* Memory and process have columns unless there is a single one. Omits the mean of the peaks, which
 * CSV and JSON have: where no phase exceeds an earlier peak, it is a mean of sampled values. */
void ss_report_fill_memory_phases(const struct ss_block *block, struct ss_text_table *text)
{
    const struct ss_table *table = &block->table.data;
    bool is_single = block->table.has_one_owner;
    static const struct ss_text_column columns[SS_MEMORY_PHASE_PEAK + 1] = {
        [SS_MEMORY_PHASE_NAME] = {.title = "memory", .least = 8},
        [SS_MEMORY_PHASE_PID] = {.title = "pid", .right = true},
        [SS_MEMORY_PHASE] = {.title = "phase", .least = 12},
        [SS_MEMORY_PHASE_STEPS] = {.title = "steps", .right = true},
        [SS_MEMORY_PHASE_END] = {.title = "at its end", .right = true},
        [SS_MEMORY_PHASE_END_MAX] = {.title = "most", .right = true},
        [SS_MEMORY_PHASE_CHANGE] = {.title = "change", .right = true},
        [SS_MEMORY_PHASE_CHANGE_MAX] = {.title = "most", .right = true},
        [SS_MEMORY_PHASE_PEAK] = {.title = "peak", .right = true}};
    size_t first = is_single ? SS_MEMORY_PHASE : 0;
    ss_text_table_init(text, columns + first, SS_MEMORY_PHASE_PEAK + 1 - first);
    for (size_t row = 0; row < table->row_count; row++) {
        const struct ss_cell *cells = ss_table_cell(table, row, 0);
        ss_text_table_add_row(text, NULL);
        if (!is_single) {
            ss_text_table_put(text, SS_MEMORY_PHASE_NAME, cells[SS_MEMORY_PHASE_NAME].text, NULL);
            ss_report_put_id(text, SS_MEMORY_PHASE_PID, "cyan", &cells[SS_MEMORY_PHASE_PID]);
        }
        ss_text_table_put(text, SS_MEMORY_PHASE - first, cells[SS_MEMORY_PHASE].text, NULL);
        ss_text_table_putf(text, SS_MEMORY_PHASE_STEPS - first, NULL, "%" PRId64,
                           cells[SS_MEMORY_PHASE_STEPS].integer);
        for (size_t c = SS_MEMORY_PHASE_END; c < SS_MEMORY_PHASE_PEAK; c++) {
            ss_report_put_bytes(text, c - first, &cells[c],
                                c == SS_MEMORY_PHASE_CHANGE || c == SS_MEMORY_PHASE_CHANGE_MAX);
        }
        ss_report_put_bytes(text, SS_MEMORY_PHASE_PEAK - first, &cells[SS_MEMORY_PHASE_PEAK_MAX],
                            false);
    }
}
