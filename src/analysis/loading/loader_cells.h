/* SPDX-License-Identifier: Apache-2.0 */
/* Cells of the tables on loading. Private to loader_workers.c and loaders.c. */
#ifndef SS_ANALYSIS_LOADING_LOADER_CELLS_H
#define SS_ANALYSIS_LOADING_LOADER_CELLS_H

#include "analysis/table/distribution.h"
#include "analysis/table/table.h"
#include "model/core/model.h"

#define SS_NO_BATCHES "no batches: no DataLoader of PyTorch was used while it was recorded"

/* The part of [begin, end) within [from, to). */
static inline uint64_t ss_loader_overlap_ns(uint64_t from_ns, uint64_t to_ns, uint64_t begin_ns,
                                            uint64_t end_ns)
{
    begin_ns = begin_ns > from_ns ? begin_ns : from_ns;
    end_ns = end_ns < to_ns ? end_ns : to_ns;
    return end_ns > begin_ns ? end_ns - begin_ns : 0;
}

static inline struct ss_cell ss_loader_ns_cell(uint64_t ns)
{
    return ss_cell_integer(ns < INT64_MAX ? (int64_t)ns : INT64_MAX);
}

static inline struct ss_cell ss_loader_percent_cell(uint64_t part, uint64_t whole)
{
    return whole > 0 ? ss_cell_real(100 * (double)part / (double)whole) : (struct ss_cell){0};
}

static inline void ss_loader_put_process(const struct ss_model *model, uint32_t process,
                                         struct ss_cell cells[2])
{
    const struct ss_model_process *row = &model->processes.data[process];
    cells[0] = row->pid >= 0 ? ss_cell_integer(row->pid) : (struct ss_cell){0};
    if (row->name != 0) {
        cells[1] = ss_cell_text(ss_intern_get(&model->strings, row->name));
    }
}

/* p50 and p95; sorts the values. */
static inline void ss_loader_put_percentiles(uint64_t *values, size_t count,
                                             struct ss_cell cells[2])
{
    ss_sort_u64(values, count);
    cells[0] = ss_loader_ns_cell(ss_percentile_u64(values, count, 50));
    cells[1] = ss_loader_ns_cell(ss_percentile_u64(values, count, 95));
}

#endif
