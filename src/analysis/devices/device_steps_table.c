/* SPDX-License-Identifier: Apache-2.0 */
/* The table of steps on their devices. */
#include "analysis/devices/device_steps.h"
#include "analysis/table/owner_cells.h"

static const struct ss_column columns[SS_DEVICE_STEP_COLUMNS] = {
    [SS_DEVICE_STEP_PID] = {.key = "pid"},
    [SS_DEVICE_STEP_RANK] = {.key = "rank", .comparison = SS_COMPARES_KEY},
    [SS_DEVICE_STEP_DEVICE] = {.key = "device", .comparison = SS_COMPARES_KEY},
    [SS_DEVICE_STEP_NUMBER] = {.key = "step"},
    [SS_DEVICE_STEP_KIND] = {.key = "kind", .comparison = SS_COMPARES_STEP_KIND},
    [SS_DEVICE_STEP_DURATION] = {.key = "duration_ns", .unit = "ns"},
    [SS_DEVICE_STEP_WORK] = {.key = "device_work"},
    [SS_DEVICE_STEP_COMPUTE] = {.key = "compute_ns", .unit = "ns", .comparison = SS_COMPARES_LEVEL},
    [SS_DEVICE_STEP_COMMUNICATION] = {.key = "exposed_communication_ns",
                                      .unit = "ns",
                                      .comparison = SS_COMPARES_LEVEL},
    [SS_DEVICE_STEP_COPY] = {.key = "exposed_copy_ns",
                             .unit = "ns",
                             .comparison = SS_COMPARES_LEVEL},
    [SS_DEVICE_STEP_IDLE] = {.key = "idle_ns",
                             .unit = "ns",
                             .comparison = SS_COMPARES_LEVEL,
                             .leads = true},
    [SS_DEVICE_STEP_OVERLAP] = {.key = "overlap_percent", .unit = "percent"},
    [SS_DEVICE_STEP_INPUT] = {.key = "idle_input_ns", .unit = "ns"},
    [SS_DEVICE_STEP_WAIT] = {.key = "idle_wait_ns", .unit = "ns"},
    [SS_DEVICE_STEP_HOST] = {.key = "idle_host_ns", .unit = "ns"},
    [SS_DEVICE_STEP_DEPENDENCY] = {.key = "idle_dependency_ns", .unit = "ns"},
    [SS_DEVICE_STEP_GRAPH] = {.key = "idle_graph_ns", .unit = "ns"},
    [SS_DEVICE_STEP_LATENCY] = {.key = "idle_latency_ns", .unit = "ns"},
    [SS_DEVICE_STEP_UNKNOWN] = {.key = "idle_unknown_ns", .unit = "ns"},
    [SS_DEVICE_STEP_LAUNCHES] = {.key = "launched", .unit = "instances"},
    [SS_DEVICE_STEP_LAUNCHED] = {.key = "launched_ns", .unit = "ns"},
    [SS_DEVICE_STEP_LATE] = {.key = "after_step_ns", .unit = "ns"},
    [SS_DEVICE_STEP_DELAY] = {.key = "launch_delay_ns", .unit = "ns"},
    [SS_DEVICE_STEP_QUEUED] = {.key = "queued_avg", .unit = "works"},
    [SS_DEVICE_STEP_MOST_QUEUED] = {.key = "queued_max", .unit = "works"},
    [SS_DEVICE_STEP_LOST] = {.key = "launches_without_kernel", .unit = "instances"},
};

static void put_owner(const struct ss_model *model, const struct ss_device_part *part,
                      struct ss_cell *cells)
{
    const struct ss_model_process *process = &model->processes.data[part->process];
    cells[SS_DEVICE_STEP_PID] = ss_process_cell(model, part->process);
    if (process->has_rank) {
        cells[SS_DEVICE_STEP_RANK] = ss_cell_integer(process->rank);
    }
    if (part->device != 0) {
        cells[SS_DEVICE_STEP_DEVICE] = ss_cell_integer(model->devices.data[part->device].number);
    }
}

/* What is known of a step whatever was recorded of its device. */
static void put_step(const struct ss_step_summary *training, const struct ss_step *step,
                     struct ss_cell *cells)
{
    cells[SS_DEVICE_STEP_NUMBER] = ss_cell_integer(step->number);
    cells[SS_DEVICE_STEP_KIND] = ss_cell_text(ss_strview_of(ss_step_kind_name(step->kind)));
    cells[SS_DEVICE_STEP_DURATION] = ss_cell_integer((int64_t)(step->end_ns - step->begin_ns));
    cells[SS_DEVICE_STEP_WORK] =
        ss_cell_text(ss_strview_of(step->lacks_kernels ? "unknown" : "recorded"));
    cells[SS_DEVICE_STEP_LOST] = ss_cell_integer((int64_t)ss_lost_kernels_count(
        &training->lost, step->process, step->begin_ns, step->end_ns));
}

static void put_work(const struct ss_step *step, const struct ss_device_step *row,
                     struct ss_cell *cells)
{
    for (size_t i = 0; i < SS_WORK_CLASSES; i++) {
        cells[SS_DEVICE_STEP_COMPUTE + i] = ss_cell_integer((int64_t)row->times.class_ns[i]);
    }
    cells[SS_DEVICE_STEP_IDLE] = ss_cell_integer((int64_t)row->times.idle_ns);
    if (row->times.communication_ns > 0) {
        cells[SS_DEVICE_STEP_OVERLAP] =
            ss_cell_real(100 * (double)row->times.overlap_ns / (double)row->times.communication_ns);
    }
    for (size_t i = 0; i < SS_GAP_CAUSES; i++) {
        cells[SS_DEVICE_STEP_INPUT + i] = ss_cell_integer((int64_t)row->gap_ns[i]);
    }
    cells[SS_DEVICE_STEP_LAUNCHES] = ss_cell_integer((int64_t)row->launches);
    cells[SS_DEVICE_STEP_LAUNCHED] = ss_cell_integer((int64_t)row->launched_ns);
    cells[SS_DEVICE_STEP_LATE] = ss_cell_integer((int64_t)row->late_ns);
    if (row->launches > 0) {
        cells[SS_DEVICE_STEP_DELAY] = ss_cell_integer((int64_t)(row->delay_ns / row->launches));
    }
    if (step->end_ns > step->begin_ns) {
        cells[SS_DEVICE_STEP_QUEUED] =
            ss_cell_real(row->queued.sum / (double)(step->end_ns - step->begin_ns));
        cells[SS_DEVICE_STEP_MOST_QUEUED] = ss_cell_integer((int64_t)row->queued.most);
    }
}

/* NULL: a row more than there is room for. */
static struct ss_cell *add_row(struct ss_table *table, uint64_t max_rows)
{
    if (max_rows != 0 && table->row_count >= max_rows) {
        table->hidden_rows++;
        return NULL;
    }
    return ss_table_add_row(table);
}

/* A row for each device of the process; one without a device if none has any work. */
static void add_unknown(const struct ss_model *model, const struct ss_device_works *works,
                        const struct ss_step_summary *training, const struct ss_step *step,
                        uint64_t max_rows, struct ss_table *table)
{
    const struct ss_device_part none = {.process = step->process};
    bool has_part = false;
    for (size_t i = 0; i <= works->parts.count; i++) {
        bool is_last = i == works->parts.count;
        const struct ss_device_part *part = is_last ? &none : &works->parts.data[i];
        if (part->process != step->process || (is_last && has_part)) {
            continue;
        }
        struct ss_cell *cells = add_row(table, max_rows);
        has_part = true;
        if (cells != NULL) {
            put_owner(model, part, cells);
            put_step(training, step, cells);
        }
    }
}

static void add_rows(const struct ss_model *model, const struct ss_device_summary *summary,
                     const struct ss_step_summary *training, uint64_t max_rows,
                     struct ss_table *table)
{
    size_t at = 0;
    for (size_t i = 0; i < training->steps.count; i++) {
        const struct ss_step *step = &training->steps.data[i];
        if (step->lacks_kernels) {
            add_unknown(model, summary->works, training, step, max_rows, table);
        }
        for (; at < summary->steps.count && summary->steps.data[at].step == i; at++) {
            const struct ss_device_step *row = &summary->steps.data[at];
            struct ss_cell *cells = add_row(table, max_rows);
            if (cells != NULL) {
                put_owner(model, &summary->works->parts.data[row->part], cells);
                put_step(training, step, cells);
                put_work(step, row, cells);
            }
        }
    }
}

void ss_device_steps_table(const struct ss_selection *selection,
                           const struct ss_step_summary *training, uint64_t max_rows,
                           struct ss_table *table)
{
    struct ss_device_summary summary;
    *table = (struct ss_table){.name = "device-step",
                               .title = "Steps on the device",
                               .empty_text = "no step with work of a device was recorded",
                               .columns = columns,
                               .column_count = SS_DEVICE_STEP_COLUMNS};
    ss_device_summary_init(&summary, selection, training);
    ss_device_summary_find_queues(&summary, selection->model, training);
    add_rows(selection->model, &summary, training, max_rows, table);
    ss_device_summary_fini(&summary);
}
