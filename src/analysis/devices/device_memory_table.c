/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of the memory that programs take from devices. */
#include "analysis/devices/device_memory.h"
#include "analysis/table/owner_cells.h"

static const struct ss_column columns[SS_DEVICE_MEMORY_COLUMNS] = {
    [SS_DEVICE_MEMORY_DEVICE] = {.key = "device", .comparison = SS_COMPARES_KEY},
    [SS_DEVICE_MEMORY_PID] = {.key = "pid"},
    [SS_DEVICE_MEMORY_RANK] = {.key = "rank", .comparison = SS_COMPARES_KEY},
    [SS_DEVICE_MEMORY_KIND] = {.key = "memory", .comparison = SS_COMPARES_KEY},
    [SS_DEVICE_MEMORY_POOLED] = {.key = "from", .comparison = SS_COMPARES_KEY},
    [SS_DEVICE_MEMORY_ALLOCATIONS] = {.key = "allocations", .unit = "instances"},
    [SS_DEVICE_MEMORY_RELEASES] = {.key = "releases", .unit = "instances"},
    [SS_DEVICE_MEMORY_ALLOCATED] = {.key = "allocated_bytes", .unit = "bytes"},
    [SS_DEVICE_MEMORY_PEAK] = {.key = "peak_bytes",
                               .unit = "bytes",
                               .comparison = SS_COMPARES_LEVEL,
                               .leads = true},
    [SS_DEVICE_MEMORY_PEAK_STEP] = {.key = "peak_step"},
    [SS_DEVICE_MEMORY_END] = {.key = "end_bytes", .unit = "bytes", .comparison = SS_COMPARES_LEVEL},
    [SS_DEVICE_MEMORY_KEPT] = {.key = "never_released", .unit = "instances"},
    [SS_DEVICE_MEMORY_KEPT_BYTES] = {.key = "kept_bytes", .unit = "bytes"},
    [SS_DEVICE_MEMORY_STEP_ALLOCATIONS] = {.key = "allocations_per_step", .unit = "instances"},
    [SS_DEVICE_MEMORY_STEP_BYTES] = {.key = "allocated_per_step", .unit = "bytes"},
    [SS_DEVICE_MEMORY_POOL_PEAK] = {.key = "pool_peak_bytes", .unit = "bytes"},
};

static const struct ss_column step_columns[SS_DEVICE_MEMORY_STEP_COLUMNS] = {
    [SS_DEVICE_MEMORY_STEP_DEVICE] = {.key = "device"},
    [SS_DEVICE_MEMORY_STEP_PID] = {.key = "pid"},
    [SS_DEVICE_MEMORY_STEP_NUMBER] = {.key = "step"},
    [SS_DEVICE_MEMORY_STEP_COUNT] = {.key = "allocations", .unit = "instances"},
    [SS_DEVICE_MEMORY_STEP_RELEASES] = {.key = "releases", .unit = "instances"},
    [SS_DEVICE_MEMORY_STEP_ALLOCATED] = {.key = "allocated_bytes", .unit = "bytes"},
    [SS_DEVICE_MEMORY_STEP_PEAK] = {.key = "peak_bytes", .unit = "bytes", .leads = true},
    [SS_DEVICE_MEMORY_STEP_END] = {.key = "end_bytes", .unit = "bytes"},
};

static struct ss_cell count_cell(uint64_t count)
{
    return ss_cell_integer(count < INT64_MAX ? (int64_t)count : INT64_MAX);
}

static void put_owner(const struct ss_model *model, uint32_t process_number, uint32_t device,
                      struct ss_cell *cells)
{
    int32_t number = model->devices.data[device].number;
    if (device != 0 && number >= 0) {
        cells[SS_DEVICE_MEMORY_DEVICE] = ss_cell_integer(number);
    }
    cells[SS_DEVICE_MEMORY_PID] = ss_process_cell(model, process_number);
}

static uint64_t steady_steps(const struct ss_step_summary *training, uint32_t process)
{
    uint64_t steps = 0;
    for (size_t i = 0; training != NULL && i < training->steps.count; i++) {
        const struct ss_step *step = &training->steps.data[i];
        steps += step->process == process && step->kind == SS_STEP_STEADY;
    }
    return steps;
}

static void put_peak(const struct ss_held_memory_kind *kind, const struct ss_step_summary *training,
                     struct ss_cell *cells)
{
    const struct ss_step *step = training != NULL && training->steps.count > 0
                                     ? ss_step_at(training, kind->process, kind->peak_ns)
                                     : NULL;
    cells[SS_DEVICE_MEMORY_PEAK] = count_cell(kind->peak_bytes);
    if (kind->peak_bytes > 0 && step != NULL) {
        cells[SS_DEVICE_MEMORY_PEAK_STEP] = ss_cell_integer(step->number);
    }
}

static void put_kind(const struct ss_held_memory_kind *kind, const struct ss_model *model,
                     const struct ss_step_summary *training, struct ss_table *table)
{
    const struct ss_model_process *process = &model->processes.data[kind->process];
    uint64_t steps = steady_steps(training, kind->process);
    struct ss_cell *cells = ss_table_add_row(table);
    put_owner(model, kind->process, kind->device, cells);
    if (process->has_rank) {
        cells[SS_DEVICE_MEMORY_RANK] = ss_cell_integer(process->rank);
    }
    cells[SS_DEVICE_MEMORY_KIND] = ss_cell_text(ss_intern_get(&model->strings, kind->memory));
    cells[SS_DEVICE_MEMORY_POOLED] =
        ss_cell_text(ss_strview_of(kind->is_pooled ? "pool" : "device"));
    cells[SS_DEVICE_MEMORY_ALLOCATIONS] = count_cell(kind->allocations);
    cells[SS_DEVICE_MEMORY_RELEASES] = count_cell(kind->releases);
    cells[SS_DEVICE_MEMORY_ALLOCATED] = count_cell(kind->allocated_bytes);
    put_peak(kind, training, cells);
    cells[SS_DEVICE_MEMORY_END] = count_cell(kind->held_bytes);
    cells[SS_DEVICE_MEMORY_KEPT] = count_cell(kind->kept);
    cells[SS_DEVICE_MEMORY_KEPT_BYTES] = count_cell(kind->kept_bytes);
    if (steps > 0) {
        cells[SS_DEVICE_MEMORY_STEP_ALLOCATIONS] =
            ss_cell_real((double)kind->in_steps / (double)steps);
        cells[SS_DEVICE_MEMORY_STEP_BYTES] =
            ss_cell_real((double)kind->in_steps_bytes / (double)steps);
    }
    if (kind->pool_peak_bytes > 0) {
        cells[SS_DEVICE_MEMORY_POOL_PEAK] = count_cell(kind->pool_peak_bytes);
    }
}

static void put_step(const struct ss_held_memory_step *step, const struct ss_model *model,
                     struct ss_table *table)
{
    struct ss_cell *cells = ss_table_add_row(table);
    put_owner(model, step->process, step->device, cells);
    cells[SS_DEVICE_MEMORY_STEP_NUMBER] = ss_cell_integer(step->number);
    cells[SS_DEVICE_MEMORY_STEP_COUNT] = count_cell(step->allocations);
    cells[SS_DEVICE_MEMORY_STEP_RELEASES] = count_cell(step->releases);
    cells[SS_DEVICE_MEMORY_STEP_ALLOCATED] = count_cell(step->allocated_bytes);
    cells[SS_DEVICE_MEMORY_STEP_PEAK] = count_cell(step->peak_bytes);
    cells[SS_DEVICE_MEMORY_STEP_END] = count_cell(step->end_bytes);
}

static void build_steps(const struct ss_held_memories *memories, const struct ss_model *model,
                        uint64_t max_rows, struct ss_table *table)
{
    *table = (struct ss_table){.name = "device-memory-step",
                               .title = "Device memory over time, by step",
                               .columns = step_columns,
                               .column_count = SS_DEVICE_MEMORY_STEP_COLUMNS};
    for (size_t i = 0; i < memories->steps.count; i++) {
        if (max_rows != 0 && i >= max_rows) {
            table->hidden_rows = memories->steps.count - i;
            break;
        }
        put_step(&memories->steps.data[i], model, table);
    }
}

size_t ss_device_memory_tables(const struct ss_selection *selection,
                               const struct ss_step_summary *training, uint64_t max_rows,
                               struct ss_table *tables)
{
    struct ss_held_memories memories;
    ss_held_memories_init(&memories, selection, training);
    tables[0] = (struct ss_table){
        .name = "device-memory",
        .title = "Device memory taken and given back",
        .empty_text = "no allocations of a device's memory were recorded: stepscope record --gpu "
                      "full records them",
        .columns = columns,
        .column_count = SS_DEVICE_MEMORY_COLUMNS};
    for (size_t i = 0; i < memories.kinds.count; i++) {
        put_kind(&memories.kinds.data[i], selection->model, training, &tables[0]);
    }
    size_t made = 1;
    if (memories.steps.count > 0) {
        build_steps(&memories, selection->model, max_rows, &tables[made++]);
    }
    ss_held_memories_fini(&memories);
    return made;
}
