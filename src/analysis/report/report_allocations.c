/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of an overview, from the events of allocators: how it rose, and what was alive at its
 * peak. */
#include <inttypes.h>

#include "analysis/memory/allocation_tables.h"
#include "analysis/report/report_parts.h"

enum { MOST_POOLS = 8, SERIES_VALUES = 144, TOP_ROWS = 6 };

/* "train.py:41 main" */
static void add_line(const struct ss_allocations *allocations, uint32_t number,
                     struct ss_sentence *out)
{
    const struct ss_allocation_line *line = &allocations->lines.data[number];
    ss_sentence_add_name(out, ss_allocation_short_file(line));
    if (line->line > 0) {
        ss_sentence_add(out, ":");
        ss_sentence_add_number(out, line->line);
    }
    ss_sentence_add(out, line->function.length > 0 ? " " : "");
    ss_sentence_add_name(out, line->function);
}

/* " in backward of step 3" */
static void add_place(const struct ss_allocation_pool *pool, const struct ss_step_summary *training,
                      struct ss_sentence *out)
{
    const struct ss_allocation_point *peak = ss_allocation_pool_peak(pool);
    const struct ss_step *step = ss_step_at(training, pool->process, peak->time_ns);
    const char *phase = ss_allocation_phase_text((enum ss_allocation_phase)pool->peak_code.phase);
    if (phase[0] != '\0') {
        ss_sentence_add(out, " in ");
        ss_sentence_add(out, phase);
    }
    if (step != NULL) {
        ss_sentence_add(out, phase[0] != '\0' ? " of step " : " in step ");
        ss_sentence_add_number(out, step->number);
    }
}

/* "; 11.9 GiB reserved, 48 % of it not in use, the largest free block 1.2 GiB" */
static void add_reserved(const struct ss_allocation_pool *pool, struct ss_sentence *out)
{
    const struct ss_allocation_point *peak = ss_allocation_pool_peak(pool);
    if (peak->reserved == 0) {
        return;
    }
    uint64_t unused = peak->reserved > peak->allocated ? peak->reserved - peak->allocated : 0;
    ss_sentence_add(out, "; ");
    ss_sentence_add_bytes(out, (double)peak->reserved);
    ss_sentence_add(out, " reserved, ");
    ss_sentence_add_percent(out, 100 * (double)unused / (double)peak->reserved, 1);
    ss_sentence_add(out, " of it not in use");
    if (pool->has_segments && pool->free_blocks > 0) {
        ss_sentence_add(out, ", the largest free block ");
        ss_sentence_add_bytes(out, (double)pool->largest_free_bytes);
    }
}

static void add_requests(const struct ss_allocation_pool *pool, struct ss_sentence *out)
{
    if (pool->requests_in_steps > 0) {
        ss_sentence_add(out, "; ");
        ss_sentence_add_count(out, pool->requests_in_steps);
        ss_sentence_add(out, " request");
        ss_sentence_add_plural(out, pool->requests_in_steps);
        ss_sentence_add(out, " to the device within steps");
    }
    if (pool->retries > 0) {
        ss_sentence_add(out, "; the cache was given back to make room ");
        ss_sentence_add_count(out, pool->retries);
        ss_sentence_add(out, " time");
        ss_sentence_add_plural(out, pool->retries);
    }
}

static void add_pool(const struct ss_allocations *allocations,
                     const struct ss_allocation_pool *pool, const struct ss_step_summary *training,
                     struct ss_document *document)
{
    struct ss_sentence *out = ss_document_add_item(document, SS_NOTE_FACT);
    ss_sentence_add_name(out, ss_allocation_pool_name(allocations, pool, &document->arena));
    if (!ss_allocation_pool_has_history(pool)) {
        ss_sentence_add(out, ": ");
        ss_sentence_add_bytes(out, (double)ss_allocation_pool_peak(pool)->allocated);
        ss_sentence_add(out, " allocated when the snapshot was taken; the peak is unknown, because "
                             "the snapshot has no history "
                             "(torch.cuda.memory._record_memory_history())");
        add_reserved(pool, out);
        return;
    }
    ss_sentence_add(out, ": at most ");
    ss_sentence_add_bytes(out, (double)ss_allocation_pool_peak(pool)->allocated);
    ss_sentence_add(out, pool->is_whole ? " allocated"
                                        : " allocated, beside what was allocated before the "
                                          "recording,");
    add_place(pool, training, out);
    add_reserved(pool, out);
    add_requests(pool, out);
}

static void add_failure(const struct ss_allocations *allocations,
                        const struct ss_allocation_pool *pool,
                        const struct ss_allocation_failure *failure, struct ss_document *document)
{
    struct ss_sentence *out = ss_document_add_item(document, SS_NOTE_WARNING);
    ss_sentence_add(out, "out of memory on ");
    ss_sentence_add_name(out, ss_allocation_pool_name(allocations, pool, &document->arena));
    ss_sentence_add(out, ": ");
    ss_sentence_add_bytes(out, (double)failure->requested_bytes);
    ss_sentence_add(out, " requested");
    if (failure->code.line != 0) {
        ss_sentence_add(out, " at ");
        add_line(allocations, failure->code.line, out);
    }
    ss_sentence_add(out, " with ");
    ss_sentence_add_bytes(out, (double)failure->allocated);
    ss_sentence_add(out, " allocated, ");
    ss_sentence_add_bytes(out, (double)failure->reserved);
    ss_sentence_add(out, " reserved and ");
    ss_sentence_add_bytes(out, (double)failure->device_free_bytes);
    ss_sentence_add(out, " free on the device");
}

/* The highest value in each part of the time; without times, of each part of the events. */
static void add_series(const struct ss_allocation_pool *pool, struct ss_document *document)
{
    const struct ss_allocation_point *points = pool->points.data;
    size_t count = pool->points.count, at = 0;
    uint64_t begin_ns = points[0].time_ns, whole_ns = points[count - 1].time_ns - begin_ns;
    struct ss_block *block = ss_document_join(document, SS_BLOCK_SERIES);
    block->series.label = whole_ns > 0 ? "allocated, over time" : "allocated, event by event";
    block->series.unit = "bytes";
    block->series.top = (double)ss_allocation_pool_peak(pool)->allocated;
    for (size_t i = 1; i <= SERIES_VALUES; i++) {
        double share = (double)i / SERIES_VALUES;
        uint64_t most = points[at].allocated;
        while (at + 1 < count &&
               (i == SERIES_VALUES || (whole_ns > 0 ? (double)(points[at + 1].time_ns - begin_ns) <
                                                          share * (double)whole_ns
                                                    : (double)(at + 1) < share * (double)count))) {
            at++;
            most = points[at].allocated > most ? points[at].allocated : most;
        }
        ss_vec_push(&block->series.values, (double)most);
    }
}

static void add_table(const struct ss_allocations *allocations,
                      const struct ss_step_summary *training,
                      const struct ss_allocation_options *options, struct ss_document *document)
{
    struct ss_table table;
    ss_allocations_table(allocations, training, options, &table);
    if (table.row_count == 0) {
        ss_table_fini(&table);
        return;
    }
    struct ss_block *block = ss_document_add(document, SS_BLOCK_TABLE);
    block->table.title = table.title;
    block->table.data = table;
    if (options->grouping == 0) { /* the second table would repeat them */
        ss_report_add_table_notes(&table, document);
    }
    if (table.hidden_rows > 0) {
        struct ss_sentence *out = ss_document_add_note(document, SS_NOTE_ASIDE);
        ss_sentence_add_count(out, table.hidden_rows);
        ss_sentence_add(out, " row");
        ss_sentence_add_plural(out, table.hidden_rows);
        ss_sentence_add(out, " not shown: --by allocation");
    }
}

/* By line where the code is known, else by operator. */
static unsigned detail_of(const struct ss_allocations *allocations,
                          const struct ss_allocation_pool *pool)
{
    bool has_operators = false;
    for (size_t i = pool->first; i < pool->end; i++) {
        const struct ss_allocation *row = &allocations->rows.data[i];
        if (row->code.line != 0) {
            return SS_ALLOCATIONS_BY_LINE;
        }
        has_operators = has_operators || row->code.operator_name != 0;
    }
    return has_operators ? SS_ALLOCATIONS_BY_OPERATOR : 0;
}

static void add_tables(const struct ss_allocations *allocations,
                       const struct ss_allocation_pool *pool,
                       const struct ss_step_summary *training, struct ss_document *document)
{
    struct ss_allocation_options options = {
        .only_peak = true, .only = pool, .max_rows = SS_ALLOCATION_CATEGORIES};
    add_table(allocations, training, &options, document);
    options.grouping = detail_of(allocations, pool);
    options.max_rows = TOP_ROWS;
    if (options.grouping != 0 && pool->has_addresses) {
        options.grouping |= SS_ALLOCATIONS_BY_CATEGORY;
        add_table(allocations, training, &options, document);
    }
}

void ss_report_add_allocations(const struct ss_report_parts *parts, struct ss_document *document)
{
    struct ss_allocations allocations;
    if (!parts->is_overview || !ss_model_has_allocations(parts->selection->model)) {
        return;
    }
    ss_allocations_init(&allocations, parts->selection, &parts->training);
    if (allocations.pools.count > 0) {
        const struct ss_allocation_pool *first = &allocations.pools.data[0];
        ss_document_add(document, SS_BLOCK_HEADING)->heading = "Allocated memory";
        for (size_t i = 0; i < allocations.pools.count && i < MOST_POOLS; i++) {
            const struct ss_allocation_pool *pool = &allocations.pools.data[i];
            if (i == 0 || pool->device != 0) { /* beside devices, the host matters little */
                add_pool(&allocations, pool, &parts->training, document);
            }
            for (size_t f = 0; f < pool->failures.count && f < MOST_POOLS; f++) {
                add_failure(&allocations, pool, &pool->failures.data[f], document);
            }
        }
        if (first->points.count > 1 && ss_allocation_pool_peak(first)->allocated > 0) {
            add_series(first, document);
        }
        add_tables(&allocations, first, &parts->training, document);
    }
    ss_allocations_fini(&allocations);
}
