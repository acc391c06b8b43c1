/* SPDX-License-Identifier: Apache-2.0 */
/* The layouts of workers that load data, and of the loaders' waits for it. */
#include <inttypes.h>
#include <string.h>

#include "analysis/loading/loader_workers.h"
#include "view/layouts/report_tables.h"
#include "view/output/text_cell.h"
#include "view/output/text_table.h"

enum shown_as { AS_TEXT, AS_NUMBER, AS_REAL, AS_PERCENT, AS_DURATION };

struct shown_column {
    size_t column; /* of the table */
    enum shown_as as;
    struct ss_text_column text;
};

static const struct shown_column worker_columns[] = {
    {SS_WORKER_PID, AS_NUMBER, {.title = "pid", .right = true}},
    {SS_WORKER_PROCESS, AS_TEXT, {.title = "process", .least = 6, .drops = true}},
    {SS_WORKER_NUMBER, AS_NUMBER, {.title = "worker", .right = true}},
    {SS_WORKER_BATCHES, AS_NUMBER, {.title = "batches", .right = true}},
    {SS_WORKER_SAMPLES, AS_NUMBER, {.title = "samples", .right = true}},
    {SS_WORKER_BUSY_PERCENT, AS_PERCENT, {.title = "busy", .right = true}},
    {SS_WORKER_WAITING, AS_DURATION, {.title = "waiting", .right = true}},
    {SS_WORKER_BATCH_MEAN, AS_DURATION, {.title = "batch", .right = true}},
    {SS_WORKER_BATCH_P50, AS_DURATION, {.title = "p50", .right = true}},
    {SS_WORKER_BATCH_P95, AS_DURATION, {.title = "p95", .right = true}},
    {SS_WORKER_SAMPLE_MEAN, AS_DURATION, {.title = "sample", .right = true}},
    {SS_WORKER_SAMPLE_P50, AS_DURATION, {.title = "p50", .right = true}},
    {SS_WORKER_SAMPLE_P95, AS_DURATION, {.title = "p95", .right = true}},
    {SS_WORKER_COLLATE_MEAN, AS_DURATION, {.title = "collate", .right = true}},
    {SS_WORKER_COLLATE_PERCENT, AS_PERCENT, {.title = "of batch", .right = true}},
};

static const struct shown_column loader_columns[] = {
    {SS_LOADER_PID, AS_NUMBER, {.title = "pid", .right = true}},
    {SS_LOADER_PROCESS, AS_TEXT, {.title = "process", .least = 6, .drops = true}},
    {SS_LOADER_WORKERS, AS_NUMBER, {.title = "workers", .right = true}},
    {SS_LOADER_NEEDED, AS_NUMBER, {.title = "needed", .right = true}},
    {SS_LOADER_BATCH_SIZE, AS_NUMBER, {.title = "batch size", .right = true}},
    {SS_LOADER_PREFETCH, AS_NUMBER, {.title = "prefetch", .right = true}},
    {SS_LOADER_WAIT_PERCENT, AS_PERCENT, {.title = "waits", .right = true}},
    {SS_LOADER_WAIT_MEAN, AS_DURATION, {.title = "per step", .right = true}},
    {SS_LOADER_WAIT_P50, AS_DURATION, {.title = "p50", .right = true}},
    {SS_LOADER_WAIT_P95, AS_DURATION, {.title = "p95", .right = true}},
    {SS_LOADER_WAIT_MAX, AS_DURATION, {.title = "max", .right = true}},
    {SS_LOADER_EMPTY_PERCENT, AS_PERCENT, {.title = "none ready", .right = true}},
    {SS_LOADER_READY_MEAN, AS_REAL, {.title = "ready", .right = true}},
    {SS_LOADER_READY_P50, AS_NUMBER, {.title = "p50", .right = true}},
    {SS_LOADER_READY_P95, AS_NUMBER, {.title = "p95", .right = true}},
    {SS_LOADER_READY_MAX, AS_NUMBER, {.title = "max", .right = true}},
    {SS_LOADER_COPY_MEAN,
     AS_DURATION,
     {.title = "to device", .right = true}}, /* last: may be omitted */
};
enum {
    WORKER_COUNT = sizeof worker_columns / sizeof *worker_columns,
    LOADER_COUNT = sizeof loader_columns / sizeof *loader_columns,
    MAX_COLUMNS = (int)LOADER_COUNT > (int)WORKER_COUNT ? (int)LOADER_COUNT : (int)WORKER_COUNT
};

static void put(struct ss_text_table *text, size_t column, enum shown_as as,
                const struct ss_cell *cell)
{
    struct ss_strbuf shown;
    ss_strbuf_init(&shown, 4096);
    if (cell->type == SS_CELL_TEXT) {
        ss_text_append_clean(&shown, cell->text);
    } else if (cell->type == SS_CELL_REAL) {
        ss_strbuf_append_format(&shown, as == AS_PERCENT ? "%.1f%%" : "%.1f", cell->real);
    } else if (cell->type == SS_CELL_INTEGER && as == AS_DURATION) {
        ss_text_append_duration(&shown, (uint64_t)cell->integer);
    } else if (cell->type == SS_CELL_INTEGER) {
        ss_strbuf_append_format(&shown, "%" PRId64, cell->integer);
    }
    ss_text_table_put(text, column, (struct ss_strview){shown.data, shown.length}, NULL);
    ss_strbuf_fini(&shown);
}

static void fill(const struct ss_table *table, const struct shown_column *shown, size_t count,
                 struct ss_text_table *text)
{
    struct ss_text_column columns[MAX_COLUMNS];
    for (size_t c = 0; c < count; c++) {
        columns[c] = shown[c].text;
    }
    ss_text_table_init(text, columns, count);
    for (size_t row = 0; row < table->row_count; row++) {
        const struct ss_cell *cells = ss_table_cell(table, row, 0);
        ss_text_table_add_row(text, NULL);
        for (size_t c = 0; c < count; c++) {
            bool is_itself = shown == worker_columns && shown[c].column == SS_WORKER_NUMBER &&
                             cells[SS_WORKER_NUMBER].type == SS_CELL_ABSENT;
            struct ss_cell itself = ss_cell_text(ss_strview_of("itself"));
            put(text, c, shown[c].as, is_itself ? &itself : &cells[shown[c].column]);
        }
    }
}

void ss_report_fill_workers(const struct ss_block *block, struct ss_text_table *text)
{
    fill(&block->table.data, worker_columns, WORKER_COUNT, text);
}

void ss_report_fill_loaders(const struct ss_block *block, struct ss_text_table *text)
{
    const struct ss_table *table = &block->table.data;
    bool copies = ss_table_has_any(table, SS_LOADER_COPY_MEAN);
    fill(table, loader_columns, LOADER_COUNT - !copies, text);
}
