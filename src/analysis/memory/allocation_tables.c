/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/memory/allocation_tables.h"

#include "analysis/table/owner_cells.h"
#include "base/search.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char no_allocations[] =
    "no allocations: record with torch.profiler's profile_memory=True, or take a snapshot "
    "(docs/memory.md)";

struct ss_strview ss_allocation_pool_name(const struct ss_allocations *allocations,
                                          const struct ss_allocation_pool *pool,
                                          struct ss_arena *arena)
{
    char text[32];
    int32_t number = allocations->selection->model->devices.data[pool->device].number;
    if (pool->device == 0 || number < 0) {
        return ss_strview_of(pool->device == 0 ? "host" : "device");
    }
    snprintf(text, sizeof text, "GPU %" PRId32, number);
    return ss_strview_of(ss_arena_strndup(arena, text, strlen(text)));
}

struct ss_strview ss_allocation_short_file(const struct ss_allocation_line *line)
{
    struct ss_strview file = line->file, module = file;
    if (ss_module_of_path(file, ss_origin_of_short_path(file), &module) || file.length == 0 ||
        file.data[0] != '/') {
        return module;
    }
    const char *slash = memrchr(file.data, '/', file.length);
    return (struct ss_strview){slash + 1, (size_t)(file.data + file.length - slash - 1)};
}

static struct ss_cell bytes_cell(uint64_t bytes)
{
    return ss_cell_integer(bytes <= INT64_MAX ? (int64_t)bytes : INT64_MAX);
}

static void put_owner(const struct ss_allocations *allocations,
                      const struct ss_allocation_pool *pool, struct ss_table *table,
                      struct ss_cell *cells)
{
    cells[0] = ss_cell_text(ss_allocation_pool_name(allocations, pool, &table->texts));
    cells[1] = ss_process_cell(allocations->selection->model, pool->process);
}

/* --- pools ------------------------------------------------------------------------------------ */

static const struct ss_column pool_columns[SS_POOL_COLUMNS] = {
    [SS_POOL_DEVICE] = {.key = "device", .comparison = SS_COMPARES_KEY},
    [SS_POOL_PID] = {.key = "pid"},
    [SS_POOL_PEAK] = {.key = "peak_bytes", .unit = "bytes", .comparison = SS_COMPARES_LEVEL},
    [SS_POOL_PEAK_TIME] = {.key = "peak_at_ns", .unit = "ns"},
    [SS_POOL_PEAK_STEP] = {.key = "peak_step"},
    [SS_POOL_PEAK_PHASE] = {.key = "peak_phase"},
    [SS_POOL_RESERVED] = {.key = "reserved_bytes",
                          .unit = "bytes",
                          .comparison = SS_COMPARES_LEVEL},
    [SS_POOL_UNUSED] = {.key = "unused_bytes", .unit = "bytes", .comparison = SS_COMPARES_LEVEL},
    [SS_POOL_UNUSED_PERCENT] = {.key = "unused_share_percent", .unit = "percent"},
    [SS_POOL_LARGEST_FREE] = {.key = "largest_free_bytes",
                              .unit = "bytes",
                              .comparison = SS_COMPARES_LEVEL},
    [SS_POOL_FREE_BLOCKS] = {.key = "free_blocks",
                             .unit = "blocks",
                             .comparison = SS_COMPARES_LEVEL},
    [SS_POOL_RESERVED_PEAK] = {.key = "most_reserved_bytes",
                               .unit = "bytes",
                               .comparison = SS_COMPARES_LEVEL},
    [SS_POOL_ALLOCATIONS] = {.key = "allocations",
                             .unit = "allocations",
                             .comparison = SS_COMPARES_SUM},
    [SS_POOL_ALLOCATED] = {.key = "allocated_bytes",
                           .unit = "bytes",
                           .comparison = SS_COMPARES_SUM},
    [SS_POOL_REQUESTS] = {.key = "device_requests", .unit = "calls", .comparison = SS_COMPARES_SUM},
    [SS_POOL_REQUESTS_IN_STEPS] = {.key = "requests_in_steps",
                                   .unit = "calls",
                                   .comparison = SS_COMPARES_SUM},
    [SS_POOL_RETRIES] = {.key = "retries", .unit = "calls", .comparison = SS_COMPARES_SUM},
    [SS_POOL_FAILURES] = {.key = "out_of_memory",
                          .unit = "allocations",
                          .comparison = SS_COMPARES_SUM},
};

static void put_reserved(const struct ss_allocation_pool *pool,
                         const struct ss_allocation_point *peak, struct ss_cell *cells)
{
    if (peak->reserved > 0) {
        uint64_t unused = peak->reserved > peak->allocated ? peak->reserved - peak->allocated : 0;
        cells[SS_POOL_RESERVED] = bytes_cell(peak->reserved);
        cells[SS_POOL_UNUSED] = bytes_cell(unused);
        cells[SS_POOL_UNUSED_PERCENT] = ss_cell_real(100 * (double)unused / (double)peak->reserved);
    }
    if (pool->reserved_peak > 0) {
        cells[SS_POOL_RESERVED_PEAK] = bytes_cell(pool->reserved_peak);
    }
    if (pool->has_segments) {
        cells[SS_POOL_LARGEST_FREE] = bytes_cell(pool->largest_free_bytes);
        cells[SS_POOL_FREE_BLOCKS] = ss_cell_integer((int64_t)pool->free_blocks);
    }
}

static void put_peak(const struct ss_allocations *allocations,
                     const struct ss_allocation_pool *pool, const struct ss_step_summary *training,
                     struct ss_cell *cells)
{
    const struct ss_model *model = allocations->selection->model;
    const struct ss_allocation_point *peak = ss_allocation_pool_peak(pool);
    uint64_t first_ns =
        model->inputs.data[model->processes.data[pool->process].input].summary.first_event_ns;
    const struct ss_step *step =
        training != NULL ? ss_step_at(training, pool->process, peak->time_ns) : NULL;
    const char *phase = ss_allocation_phase_text((enum ss_allocation_phase)pool->peak_code.phase);
    cells[SS_POOL_PEAK] = bytes_cell(peak->allocated);
    if (first_ns != 0 && peak->time_ns >= first_ns) {
        cells[SS_POOL_PEAK_TIME] = bytes_cell(peak->time_ns - first_ns);
    }
    if (step != NULL) {
        cells[SS_POOL_PEAK_STEP] = ss_cell_integer(step->number);
    }
    if (phase[0] != '\0') {
        cells[SS_POOL_PEAK_PHASE] = ss_cell_text(ss_strview_of(phase));
    }
    put_reserved(pool, peak, cells);
}

/* What a reader of the figures must know about the pools. */
static void add_notes(const struct ss_allocations *allocations, struct ss_table *table)
{
    bool is_whole = true, has_addresses = true, is_paired = true;
    for (size_t i = 0; i < allocations->pools.count; i++) {
        const struct ss_allocation_pool *pool = &allocations->pools.data[i];
        is_whole = is_whole && pool->is_whole;
        has_addresses = has_addresses && pool->has_addresses;
        is_paired = is_paired && pool->unpaired == 0;
    }
    if (!is_whole) {
        ss_sentence_add(
            ss_table_add_note(table, SS_NOTE_WARNING),
            "without totals: memory that was allocated before the recording, or the requested "
            "time, and not freed in it is missing");
    }
    if (!has_addresses) {
        ss_sentence_add(ss_table_add_note(table, SS_NOTE_WARNING),
                        "the recording has no addresses: which code allocated what is alive is "
                        "unknown");
    }
    if (!is_paired) {
        ss_sentence_add(ss_table_add_note(table, SS_NOTE_WARNING),
                        "addresses were allocated again without being freed: events are missing");
    }
}

void ss_allocation_pools_table(const struct ss_allocations *allocations,
                               const struct ss_step_summary *training, struct ss_table *table)
{
    *table = (struct ss_table){.name = "allocator",
                               .title = "Allocated memory",
                               .empty_text = no_allocations,
                               .is_of_program = true,
                               .columns = pool_columns,
                               .column_count = SS_POOL_COLUMNS};
    for (size_t i = 0; i < allocations->pools.count; i++) {
        const struct ss_allocation_pool *pool = &allocations->pools.data[i];
        struct ss_cell *cells = ss_table_add_row(table);
        put_owner(allocations, pool, table, cells);
        put_peak(allocations, pool, training, cells);
        cells[SS_POOL_ALLOCATIONS] = ss_cell_integer((int64_t)pool->allocations);
        cells[SS_POOL_ALLOCATED] = bytes_cell(pool->allocated_bytes);
        if (pool->device != 0) {
            cells[SS_POOL_REQUESTS] = ss_cell_integer((int64_t)pool->requests);
            cells[SS_POOL_REQUESTS_IN_STEPS] = ss_cell_integer((int64_t)pool->requests_in_steps);
            cells[SS_POOL_RETRIES] = ss_cell_integer((int64_t)pool->retries);
            cells[SS_POOL_FAILURES] = ss_cell_integer((int64_t)pool->failures.count);
        }
    }
    if (table->row_count > 0) {
        add_notes(allocations, table);
    }
}

/* --- steps ------------------------------------------------------------------------------------ */

static const struct ss_column step_columns[SS_POOL_STEP_COLUMNS] = {
    [SS_POOL_STEP_DEVICE] = {.key = "device"},
    [SS_POOL_STEP_PID] = {.key = "pid"},
    [SS_POOL_STEP] = {.key = "step"},
    [SS_POOL_STEP_PEAK] = {.key = "peak_bytes", .unit = "bytes"},
    [SS_POOL_STEP_TIME] = {.key = "peak_after_ns", .unit = "ns"},
    [SS_POOL_STEP_RESERVED] = {.key = "reserved_bytes", .unit = "bytes"},
    [SS_POOL_STEP_BEGIN] = {.key = "begin_bytes", .unit = "bytes"},
    [SS_POOL_STEP_END] = {.key = "end_bytes", .unit = "bytes"},
};

/* The last point at or before the time, else the first. */
static const struct ss_allocation_point *point_at(const struct ss_allocation_pool *pool,
                                                  uint64_t time_ns)
{
    size_t low = ss_search(i, 0, pool->points.count, pool->points.data[i].time_ns <= time_ns);
    return &pool->points.data[low > 0 ? low - 1 : 0];
}

static void add_step(const struct ss_allocations *allocations,
                     const struct ss_allocation_pool *pool, const struct ss_step *step,
                     struct ss_table *table)
{
    const struct ss_allocation_point *peak =
        ss_allocation_pool_peak_in(pool, step->begin_ns, step->end_ns);
    if (peak == NULL) {
        return; /* it ends before the first event */
    }
    struct ss_cell *cells = ss_table_add_row(table);
    put_owner(allocations, pool, table, cells);
    cells[SS_POOL_STEP] = ss_cell_integer(step->number);
    cells[SS_POOL_STEP_PEAK] = bytes_cell(peak->allocated);
    cells[SS_POOL_STEP_TIME] =
        bytes_cell(peak->time_ns > step->begin_ns ? peak->time_ns - step->begin_ns : 0);
    if (peak->reserved > 0) {
        cells[SS_POOL_STEP_RESERVED] = bytes_cell(peak->reserved);
    }
    cells[SS_POOL_STEP_BEGIN] = bytes_cell(point_at(pool, step->begin_ns)->allocated);
    cells[SS_POOL_STEP_END] = bytes_cell(point_at(pool, step->end_ns)->allocated);
}

void ss_allocation_steps_table(const struct ss_allocations *allocations,
                               const struct ss_step_summary *training, uint64_t max_rows,
                               struct ss_table *table)
{
    *table = (struct ss_table){.name = "memory-step",
                               .title = "Allocated memory, step by step",
                               .empty_text = "no steps with allocations",
                               .is_of_program = true,
                               .columns = step_columns,
                               .column_count = SS_POOL_STEP_COLUMNS};
    for (size_t i = 0; i < allocations->pools.count; i++) {
        const struct ss_allocation_pool *pool = &allocations->pools.data[i];
        for (size_t s = 0; training != NULL && s < training->steps.count; s++) {
            const struct ss_step *step = &training->steps.data[s];
            if (step->process != pool->process) {
                continue;
            }
            if (max_rows != 0 && table->row_count >= max_rows) {
                table->hidden_rows++;
            } else {
                add_step(allocations, pool, step, table);
            }
        }
    }
}
