/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of memories, and the memory columns of phases. */
#include <math.h>

#include "analysis/memory/memories.h"
#include "analysis/table/owner_cells.h"

static const char no_memory[] =
    "no memory: it is read between the steps and phases of a PyTorch training (stepscope info)";

static const struct ss_column memory_columns[SS_MEMORY_COLUMNS] = {
    [SS_MEMORY_NAME] = {.key = "name", .comparison = SS_COMPARES_KEY},
    [SS_MEMORY_PID] = {.key = "pid"},
    [SS_MEMORY_START] = {.key = "start_bytes", .unit = "bytes"},
    [SS_MEMORY_END] = {.key = "end_bytes", .unit = "bytes", .comparison = SS_COMPARES_LEVEL},
    [SS_MEMORY_PEAK] = {.key = "peak_bytes",
                        .unit = "bytes",
                        .comparison = SS_COMPARES_LEVEL,
                        .leads = true},
    [SS_MEMORY_PER_STEP] = {.key = "bytes_per_step", .unit = "bytes per step"},
    [SS_MEMORY_PEAK_PHASE] = {.key = "peak_phase"},
    [SS_MEMORY_PEAK_STEP] = {.key = "peak_step"},
    [SS_MEMORY_LIMIT] = {.key = "limit_bytes", .unit = "bytes"},
    [SS_MEMORY_LIMIT_PERCENT] = {.key = "peak_percent", .unit = "percent"},
};

enum { FEWEST_FOR_A_LINE = 3 };

/* Bytes are relative to the first value: their squares would exceed what a double can hold. */
static struct ss_cell per_step_cell(const struct ss_memory *memory)
{
    double n = 0, sum_x = 0, sum_y = 0, sum_xx = 0, sum_xy = 0;
    for (size_t i = 0; i < memory->points.count; i++) {
        const struct ss_memory_point *point = &memory->points.data[i];
        if (point->is_steady) {
            double x = point->place, y = point->bytes - memory->first;
            n++;
            sum_x += x;
            sum_y += y;
            sum_xx += x * x;
            sum_xy += x * y;
        }
    }
    double spread = n * sum_xx - sum_x * sum_x;
    if (n < FEWEST_FOR_A_LINE || !(spread > 0)) {
        return (struct ss_cell){0};
    }
    double slope = (n * sum_xy - sum_x * sum_y) / spread;
    return isfinite(slope) ? ss_cell_real(slope) : (struct ss_cell){0};
}

/* Whole bytes; absent for NAN. */
static struct ss_cell bytes_cell(double bytes)
{
    return isnan(bytes)         ? (struct ss_cell){0}
           : fabs(bytes) < 9e15 ? ss_cell_integer((int64_t)bytes)
                                : ss_cell_real(bytes);
}

static void put_name(const struct ss_memory *memory, const struct ss_model *model,
                     struct ss_cell *cells)
{
    cells[SS_MEMORY_NAME] = ss_cell_text(ss_intern_get(&model->strings, memory->name));
    cells[SS_MEMORY_PID] = ss_process_cell(model, memory->process);
}

void ss_memory_table(const struct ss_memories *memories, const struct ss_selection *selection,
                     const struct ss_step_summary *training, struct ss_table *table)
{
    const struct ss_model *model = selection->model;
    *table = (struct ss_table){.name = "memory",
                               .title = "Memory",
                               .is_of_program = true,
                               .empty_text = no_memory,
                               .columns = memory_columns,
                               .column_count = SS_MEMORY_COLUMNS};
    for (size_t i = 0; i < memories->rows.count; i++) {
        const struct ss_memory *memory = &memories->rows.data[i];
        struct ss_cell *cells = ss_table_add_row(table);
        put_name(memory, model, cells);
        cells[SS_MEMORY_START] = bytes_cell(memory->first);
        cells[SS_MEMORY_END] = bytes_cell(memory->last);
        cells[SS_MEMORY_PEAK] = bytes_cell(memory->peak);
        cells[SS_MEMORY_PER_STEP] = per_step_cell(memory);
        if (training != NULL && memory->peak_phase < training->phases.count) {
            cells[SS_MEMORY_PEAK_PHASE] =
                ss_cell_text(ss_step_phase_text(model, &training->phases.data[memory->peak_phase]));
            cells[SS_MEMORY_PEAK_STEP] = ss_cell_integer(memory->peak_step);
        }
        if (memory->limit > 0) {
            cells[SS_MEMORY_LIMIT] = bytes_cell(memory->limit);
            cells[SS_MEMORY_LIMIT_PERCENT] = ss_cell_real(100 * memory->peak / memory->limit);
        }
    }
}

static const struct ss_column phase_columns[SS_MEMORY_PHASE_COLUMNS] = {
    [SS_MEMORY_PHASE_NAME] = {.key = "name", .comparison = SS_COMPARES_KEY},
    [SS_MEMORY_PHASE_PID] = {.key = "pid"},
    [SS_MEMORY_PHASE] = {.key = "phase", .comparison = SS_COMPARES_KEY},
    [SS_MEMORY_PHASE_STEPS] = {.key = "steps"},
    [SS_MEMORY_PHASE_END] = {.key = "end_mean_bytes", .unit = "bytes"},
    [SS_MEMORY_PHASE_END_MAX] = {.key = "end_max_bytes", .unit = "bytes"},
    [SS_MEMORY_PHASE_CHANGE] = {.key = "change_mean_bytes",
                                .unit = "bytes",
                                .comparison = SS_COMPARES_LEVEL},
    [SS_MEMORY_PHASE_CHANGE_MAX] = {.key = "change_max_bytes", .unit = "bytes"},
    [SS_MEMORY_PHASE_PEAK] = {.key = "peak_mean_bytes",
                              .unit = "bytes",
                              .comparison = SS_COMPARES_LEVEL,
                              .leads = true},
    [SS_MEMORY_PHASE_PEAK_MAX] = {.key = "peak_max_bytes", .unit = "bytes"},
};

static void add_phase(const struct ss_memory *memory, const struct ss_model *model,
                      const struct ss_step_phase *phase, const struct ss_memory_phase *figures,
                      struct ss_table *table)
{
    struct ss_cell *cells = ss_table_add_row(table);
    put_name(memory, model, cells);
    cells[SS_MEMORY_PHASE] = ss_cell_text(ss_step_phase_text(model, phase));
    cells[SS_MEMORY_PHASE_STEPS] = ss_cell_integer((int64_t)figures->steps);
    cells[SS_MEMORY_PHASE_END] = bytes_cell(figures->end_mean);
    cells[SS_MEMORY_PHASE_END_MAX] = bytes_cell(figures->end_max);
    cells[SS_MEMORY_PHASE_CHANGE] = bytes_cell(figures->change_mean);
    cells[SS_MEMORY_PHASE_CHANGE_MAX] = bytes_cell(figures->change_max);
    cells[SS_MEMORY_PHASE_PEAK] = bytes_cell(figures->peak_mean);
    cells[SS_MEMORY_PHASE_PEAK_MAX] = bytes_cell(figures->peak_max);
}

void ss_memory_phases_table(const struct ss_memories *memories, const struct ss_memory *only,
                            const struct ss_selection *selection,
                            const struct ss_step_summary *training, struct ss_table *table)
{
    *table = (struct ss_table){.name = "memory-phase",
                               .title = "Memory by phase",
                               .is_of_program = true,
                               .empty_text = no_memory,
                               .columns = phase_columns,
                               .column_count = SS_MEMORY_PHASE_COLUMNS};
    for (size_t i = 0; training != NULL && i < memories->rows.count; i++) {
        const struct ss_memory *memory = &memories->rows.data[i];
        if (memory->steps_read == 0 || (only != NULL && memory != only)) {
            continue;
        }
        table->steps += memory->steps;
        table->steps_recorded += memory->steps_read;
        for (size_t p = 0; p < training->phases.count; p++) {
            if (memory->phases[p].steps > 0) {
                add_phase(memory, selection->model, &training->phases.data[p], &memory->phases[p],
                          table);
            }
        }
    }
    if (table->steps_recorded < table->steps) {
        struct ss_sentence *note = ss_table_add_note(table, SS_NOTE_ASIDE);
        ss_sentence_add(note, "memory was read in the phases of ");
        ss_sentence_add_number(note, (int64_t)table->steps_recorded);
        ss_sentence_add(note, " of ");
        ss_sentence_add_number(note, (int64_t)table->steps);
        ss_sentence_add(note, " steps, to cost little");
    }
}

void ss_memory_put_phases(const struct ss_memories *memories, const struct ss_selection *selection,
                          struct ss_table *phases)
{
    const struct ss_memory *chosen = ss_memories_main(memories);
    for (size_t p = 0; chosen != NULL && p < phases->row_count; p++) {
        struct ss_cell *cells = phases->cells.data + p * phases->column_count;
        double end = 0, change = 0, peak = 0, count = 0;
        for (size_t i = 0; i < memories->rows.count; i++) {
            const struct ss_memory *memory = &memories->rows.data[i];
            const struct ss_memory_phase *figures = &memory->phases[p];
            if (memory->name == chosen->name && figures->steps > 0) {
                peak = fmax(peak, figures->peak_max);
                if (!isnan(figures->end_mean)) {
                    end += figures->end_mean;
                    change += figures->change_mean;
                    count++;
                }
            }
        }
        if (count > 0) {
            cells[SS_PHASE_MEMORY] =
                ss_cell_text(ss_intern_get(&selection->model->strings, chosen->name));
            cells[SS_PHASE_MEMORY_END] = bytes_cell(end / count);
            cells[SS_PHASE_MEMORY_CHANGE] = bytes_cell(change / count);
            cells[SS_PHASE_MEMORY_PEAK] = bytes_cell(peak);
        }
    }
}
