/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/roofline/step_roofline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/kernels/kernel_gauges.h"
#include "analysis/kernels/kernel_metrics.h"
#include "analysis/roofline/roofline_inside.h"
#include "analysis/table/owner_cells.h"
#include "base/alloc.h"

static const struct ss_column columns[SS_STEP_ROOFLINE_COLUMNS] = {
    [SS_STEP_ROOFLINE_STEP] = {.key = "step"},
    [SS_STEP_ROOFLINE_KIND] = {.key = "kind"},
    [SS_STEP_ROOFLINE_PID] = {.key = "pid"},
    [SS_STEP_ROOFLINE_DEVICE] = {.key = "device"},
    [SS_STEP_ROOFLINE_SOURCE] = {.key = "source"},
    [SS_STEP_ROOFLINE_KERNELS] = {.key = "kernels", .unit = "kernels"},
    [SS_STEP_ROOFLINE_TIME] = {.key = "time_ns", .unit = "ns"},
    [SS_STEP_ROOFLINE_KERNEL_TIME] = {.key = "kernel_ns", .unit = "ns"},
    [SS_STEP_ROOFLINE_KNOWN] = {.key = "known_percent", .unit = "percent"},
    [SS_STEP_ROOFLINE_FLOPS] = {.key = "flops", .unit = "FLOP"},
    [SS_STEP_ROOFLINE_BYTES] = {.key = "bytes", .unit = "bytes"},
    [SS_STEP_ROOFLINE_RATE] = {.key = "flops_per_s", .unit = "FLOP/s"},
    [SS_STEP_ROOFLINE_BANDWIDTH] = {.key = "bytes_per_s", .unit = "bytes/s"},
    [SS_STEP_ROOFLINE_INTENSITY] = {.key = "flops_per_byte"},
    [SS_STEP_ROOFLINE_COMPUTE] = {.key = "compute_percent", .unit = "percent"},
    [SS_STEP_ROOFLINE_MEMORY] = {.key = "memory_percent", .unit = "percent"},
    [SS_STEP_ROOFLINE_ROOF] = {.key = "roof_percent", .unit = "percent"},
    [SS_STEP_ROOFLINE_BOUND] = {.key = "bound"},
};

struct row {
    int64_t number;
    bool is_measured;
    const struct ss_step *step; /* NULL: of counters */
    uint32_t process;
    const struct ss_device_peaks *peaks;
    uint64_t kernels, ns, kernel_ns, known_ns; /* ns of the step; 0: unknown */
    double flops, bytes;
    bool has_flops, has_bytes;
    double compute_s; /* that its FLOPs need at least */
    bool has_no_peak; /* of some of its FLOPs */
};

struct building {
    const struct ss_model *model;
    const struct ss_step_summary *training;
    struct ss_intern keys;
    struct ss_vec_of(struct row) rows; /* by key - 1, then those of counters */
};

/* --- sums of kernels -------------------------------------------------------------------------- */

static void add_flops(struct row *row, double flops, enum ss_datatype type, bool is_matrix)
{
    double peak = ss_device_peak(row->peaks, type, is_matrix);
    row->flops += flops;
    row->has_flops = true;
    row->compute_s += peak > 0 ? flops / peak : 0;
    row->has_no_peak = row->has_no_peak || (peak == 0 && flops > 0);
}

static struct row *row_of(struct building *building, const struct ss_step *step, uint32_t device,
                          const struct ss_device_peaks *peaks)
{
    uint64_t key[2] = {(uint64_t)(step - building->training->steps.data), device};
    uint32_t id = ss_intern_put(&building->keys, (const char *)key, sizeof key);
    if (id > building->rows.count) {
        ss_vec_push(&building->rows, (struct row){.number = step->number,
                                                  .step = step,
                                                  .process = step->process,
                                                  .peaks = peaks,
                                                  .ns = step->end_ns - step->begin_ns});
    }
    return &building->rows.data[id - 1];
}

static void add_kernel(struct building *building, const struct ss_roofline_building *roofline,
                       size_t index)
{
    const struct ss_device_work *work = &roofline->works->works.data[index];
    const struct ss_step *step = ss_step_at(building->training, work->process, work->begin_ns);
    struct ss_roofline_share share;
    if (step == NULL || !ss_roofline_counts(roofline, work)) {
        return;
    }
    bool is_known = ss_roofline_share_find(roofline, index, false, &share);
    struct row *row = row_of(building, step, work->device, share.peaks);
    row->kernels++;
    row->kernel_ns += share.ns;
    row->known_ns += is_known ? share.ns : 0;
    if (share.has_flops) {
        add_flops(row, share.flops, share.type, share.is_matrix);
    }
    if (share.has_bytes) {
        row->bytes += share.bytes;
        row->has_bytes = true;
    }
}

/* --- counters of steps ------------------------------------------------------------------------ */

/* FLOPs of an instruction of a thread, by number format; those of 16-bit floats are on pairs. */
static const struct operation {
    const char *metric; /* or how it begins ('*') */
    enum ss_datatype type;
    bool is_matrix;
    double factor;
} operations[] = {
    {"sm__sass_thread_inst_executed_op_fadd_pred_on.sum", SS_DATATYPE_FP32, false, 1},
    {"sm__sass_thread_inst_executed_op_fmul_pred_on.sum", SS_DATATYPE_FP32, false, 1},
    {"sm__sass_thread_inst_executed_op_ffma_pred_on.sum", SS_DATATYPE_FP32, false, 2},
    {"sm__sass_thread_inst_executed_op_dadd_pred_on.sum", SS_DATATYPE_FP64, false, 1},
    {"sm__sass_thread_inst_executed_op_dmul_pred_on.sum", SS_DATATYPE_FP64, false, 1},
    {"sm__sass_thread_inst_executed_op_dfma_pred_on.sum", SS_DATATYPE_FP64, false, 2},
    {"sm__sass_thread_inst_executed_op_hadd_pred_on.sum", SS_DATATYPE_FP16, false, 2},
    {"sm__sass_thread_inst_executed_op_hmul_pred_on.sum", SS_DATATYPE_FP16, false, 2},
    {"sm__sass_thread_inst_executed_op_hfma_pred_on.sum", SS_DATATYPE_FP16, false, 4},
    {"sm__ops_path_tensor_src_bf16*", SS_DATATYPE_BF16, true, 1},
    {"sm__ops_path_tensor_src_fp16*", SS_DATATYPE_FP16, true, 1},
    {"sm__ops_path_tensor_src_tf32*", SS_DATATYPE_TF32, true, 1},
    {"sm__ops_path_tensor_src_fp64*", SS_DATATYPE_FP64, true, 1},
    {"sm__ops_path_tensor_src_int8*", SS_DATATYPE_INT8, true, 1},
    {"sm__ops_path_tensor_src_fp8*", SS_DATATYPE_FP8, true, 1},
    {"sm__ops_path_tensor_src_fp4_fp6_fp8*", SS_DATATYPE_FP8, true, 1},
};

static bool is_named(const struct operation *operation, struct ss_strview name)
{
    static const char sum[] = ".sum"; /* not the peak that the device sustains */
    size_t length = strlen(operation->metric), tail = sizeof sum - 1;
    if (operation->metric[length - 1] != '*') {
        return ss_strview_equal(name, (struct ss_strview){operation->metric, length});
    }
    return name.length >= length - 1 + tail &&
           memcmp(name.data, operation->metric, length - 1) == 0 &&
           memcmp(name.data + name.length - tail, sum, tail) == 0;
}

/* Without those of the units for matrix products, the FLOPs are not all. */
static void add_operations(const struct ss_model *model, const struct ss_model_range *range,
                           struct row *row)
{
    bool has_matrix = false;
    size_t at = ss_kernel_first_metric(model, range->payload);
    for (; at < model->metrics.count && model->metrics.data[at].payload == range->payload; at++) {
        const struct ss_model_metric *metric = &model->metrics.data[at];
        struct ss_strview name =
            ss_intern_get(&model->strings, model->metric_kinds.data[metric->kind].name);
        for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
            if (!metric->is_text && isfinite(metric->real) && metric->real >= 0 &&
                is_named(&operations[i], name)) {
                add_flops(row, metric->real * operations[i].factor, operations[i].type,
                          operations[i].is_matrix);
                has_matrix = has_matrix || operations[i].is_matrix;
                break;
            }
        }
    }
    row->has_flops = row->has_flops && has_matrix;
}

static void add_bytes(const struct ss_gauges *gauges, struct row *row)
{
    bool has_parts = gauges->has[SS_GAUGE_DRAM_READ] && gauges->has[SS_GAUGE_DRAM_WRITTEN];
    row->has_bytes = gauges->has[SS_GAUGE_DRAM_BYTES] || has_parts;
    row->bytes = gauges->has[SS_GAUGE_DRAM_BYTES]
                     ? gauges->value[SS_GAUGE_DRAM_BYTES]
                     : gauges->value[SS_GAUGE_DRAM_READ] + gauges->value[SS_GAUGE_DRAM_WRITTEN];
}

static void add_counted(struct building *building, const struct ss_gauge_reader *reader,
                        const struct ss_model_range *range)
{
    const struct ss_model *model = building->model;
    const struct ss_model_track *track = &model->tracks.data[range->track];
    const struct ss_model_device *device = &model->devices.data[track->device];
    struct ss_gauges gauges;
    int64_t number = -1;
    if (!ss_gauges_read(reader, range, &gauges)) {
        return;
    }
    double ns = gauges.value[SS_GAUGE_NS];
    struct row row = {
        .number = ss_event_number(model, range, SS_EVENT_FIELD_step, &number) ? number : -1,
        .is_measured = true,
        .process = track->process,
        .peaks =
            ss_device_peaks_of(ss_intern_get(&model->strings, device->model), device->memory_bytes),
        .ns = ns > 0 && ns < 1e15 ? (uint64_t)llround(ns) : 0};
    add_operations(model, range, &row);
    add_bytes(&gauges, &row);
    if (row.has_flops || row.has_bytes) {
        ss_vec_push(&building->rows, row);
    }
}

/* Ranges of a device with metrics, on no stream. */
static void add_all_counted(struct building *building, const struct ss_selection *selection)
{
    const struct ss_model *model = building->model;
    struct ss_gauge_reader reader;
    ss_gauge_reader_init(&reader, model);
    for (size_t i = 0; i < model->ranges.count && model->metrics.count > 0; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        const struct ss_model_track *track = &model->tracks.data[range->track];
        if (track->device != 0 && track->stream == 0 && range->payload != 0 &&
            selection->processes[track->process] && (range->flags & SS_RANGE_OUTSIDE) == 0) {
            add_counted(building, &reader, range);
        }
    }
    ss_gauge_reader_fini(&reader);
}

/* --- the table -------------------------------------------------------------------------------- */

static int compare_rows(const void *left, const void *right)
{
    const struct row *a = left, *b = right;
    if (a->process != b->process) {
        return a->process < b->process ? -1 : 1;
    }
    if (a->number != b->number) {
        return a->number < b->number ? -1 : 1;
    }
    return a->is_measured - b->is_measured;
}

static double compute_percent(const struct row *row)
{
    return row->has_flops && !row->has_no_peak && row->peaks != NULL && row->ns > 0
               ? 100 * row->compute_s / ((double)row->ns / 1e9)
               : -1;
}

static double memory_percent(const struct row *row)
{
    double bandwidth = ss_device_bandwidth(row->peaks);
    return row->has_bytes && bandwidth > 0 && row->ns > 0
               ? 100 * row->bytes / bandwidth / ((double)row->ns / 1e9)
               : -1;
}

static void put_shares(const struct row *row, struct ss_cell *cells)
{
    double compute = compute_percent(row), memory = memory_percent(row);
    if (compute >= 0) {
        cells[SS_STEP_ROOFLINE_COMPUTE] = ss_cell_real(compute);
    }
    if (memory >= 0) {
        cells[SS_STEP_ROOFLINE_MEMORY] = ss_cell_real(memory);
    }
    if (compute >= 0 && memory >= 0) {
        cells[SS_STEP_ROOFLINE_ROOF] = ss_cell_real(fmax(compute, memory));
        cells[SS_STEP_ROOFLINE_BOUND] =
            ss_cell_text(ss_strview_of(compute > memory ? "compute" : "memory"));
    }
}

static void put_work(const struct row *row, struct ss_cell *cells)
{
    double s = (double)row->ns / 1e9;
    if (row->has_flops) {
        cells[SS_STEP_ROOFLINE_FLOPS] = ss_cell_real(row->flops);
    }
    if (row->has_bytes) {
        cells[SS_STEP_ROOFLINE_BYTES] = ss_cell_real(row->bytes);
    }
    if (row->has_flops && s > 0) {
        cells[SS_STEP_ROOFLINE_RATE] = ss_cell_real(row->flops / s);
    }
    if (row->has_bytes && s > 0) {
        cells[SS_STEP_ROOFLINE_BANDWIDTH] = ss_cell_real(row->bytes / s);
    }
    if (row->has_flops && row->has_bytes && row->bytes > 0) {
        cells[SS_STEP_ROOFLINE_INTENSITY] = ss_cell_real(row->flops / row->bytes);
    }
}

static void put_row(const struct building *building, const struct row *row, struct ss_table *table)
{
    struct ss_cell *cells = ss_table_add_row(table);
    if (row->number >= 0) {
        cells[SS_STEP_ROOFLINE_STEP] = ss_cell_integer(row->number);
    }
    cells[SS_STEP_ROOFLINE_PID] = ss_process_cell(building->model, row->process);
    if (row->peaks != NULL) {
        cells[SS_STEP_ROOFLINE_DEVICE] = ss_cell_text(ss_strview_of(row->peaks->name));
    }
    cells[SS_STEP_ROOFLINE_SOURCE] =
        ss_cell_text(ss_strview_of(row->is_measured ? "measured" : "sum of kernels"));
    if (row->ns > 0) {
        cells[SS_STEP_ROOFLINE_TIME] = ss_cell_integer((int64_t)row->ns);
    }
    if (!row->is_measured) {
        cells[SS_STEP_ROOFLINE_KIND] =
            ss_cell_text(ss_strview_of(ss_step_kind_name(row->step->kind)));
        cells[SS_STEP_ROOFLINE_KERNELS] = ss_cell_integer((int64_t)row->kernels);
        cells[SS_STEP_ROOFLINE_KERNEL_TIME] = ss_cell_integer((int64_t)row->kernel_ns);
        cells[SS_STEP_ROOFLINE_KNOWN] = ss_cell_real(
            row->kernel_ns > 0 ? 100 * (double)row->known_ns / (double)row->kernel_ns : 0);
    }
    put_work(row, cells);
    put_shares(row, cells);
}

/* "The mean of 5 steady-state steps on a device: 1.2 TFLOP, 3 GB; 12 % of compute, 30 % of memory."
 */
static void add_mean(const struct building *building, struct ss_table *table)
{
    double flops = 0, bytes = 0, compute = 0, memory = 0;
    size_t steps = 0, shares = 0;
    for (size_t i = 0; i < building->rows.count; i++) {
        const struct row *row = &building->rows.data[i];
        bool is_steady = row->is_measured || row->step->kind == SS_STEP_STEADY;
        if (is_steady && row->has_flops && row->has_bytes) {
            bool has_shares = compute_percent(row) >= 0 && memory_percent(row) >= 0;
            steps++;
            shares += has_shares;
            flops += row->flops;
            bytes += row->bytes;
            compute += has_shares ? compute_percent(row) : 0;
            memory += has_shares ? memory_percent(row) : 0;
        }
    }
    if (steps == 0) {
        return;
    }
    struct ss_sentence *text = ss_table_add_intro(table, SS_NOTE_FACT);
    ss_sentence_add(text, "A steady-state step, on average: ");
    ss_sentence_add_flops(text, flops / (double)steps);
    ss_sentence_add(text, " and ");
    ss_sentence_add_bytes(text, bytes / (double)steps);
    if (shares > 0) {
        ss_sentence_add(text, " of memory, ");
        ss_sentence_add_percent(text, compute / (double)shares, 1);
        ss_sentence_add(text, " of what the device computes in that time, and ");
        ss_sentence_add_percent(text, memory / (double)shares, 1);
        ss_sentence_add(text, " of what its memory moves");
    }
    ss_sentence_add(text, ".");
}

static void fill(struct building *building, uint64_t max_rows, struct ss_table *table)
{
    if (building->rows.count > 1) {
        qsort(building->rows.data, building->rows.count, sizeof *building->rows.data, compare_rows);
    }
    for (size_t i = 0; i < building->rows.count; i++) {
        if (max_rows != 0 && i >= max_rows) {
            table->hidden_rows++;
        } else {
            put_row(building, &building->rows.data[i], table);
        }
    }
    if (table->row_count > 0) {
        ss_sentence_add(ss_table_add_intro(table, SS_NOTE_FACT),
                        "FLOPs and bytes of the kernels that ran in a step, over its whole time: "
                        "measured by counters, or estimated from shapes.");
        add_mean(building, table);
    }
}

/* Steps of whose kernels nothing is known say nothing. */
static void drop_unknown(struct building *building)
{
    size_t kept = 0;
    for (size_t i = 0; i < building->rows.count; i++) {
        const struct row *row = &building->rows.data[i];
        if (row->has_flops || row->has_bytes) {
            building->rows.data[kept++] = *row;
        }
    }
    building->rows.count = kept;
}

void ss_step_roofline_table(const struct ss_selection *selection,
                            const struct ss_step_summary *training, uint64_t max_rows,
                            struct ss_table *table)
{
    struct building building = {.model = selection->model, .training = training};
    const struct ss_roofline_building *roofline = ss_selection_roofline(selection);
    *table = (struct ss_table){.name = "step-roofline",
                               .title = "Roofline of steps",
                               .empty_text = "no step with kernels whose FLOPs or bytes are known: "
                                             "torch.profiler records shapes with "
                                             "record_shapes=True; counters of steps come from "
                                             "record --counters",
                               .columns = columns,
                               .column_count = SS_STEP_ROOFLINE_COLUMNS};
    ss_intern_init(&building.keys);
    for (size_t i = 0; i < roofline->works->works.count && training->steps.count > 0; i++) {
        add_kernel(&building, roofline, i);
    }
    drop_unknown(&building);
    add_all_counted(&building, selection);
    fill(&building, max_rows, table);
    ss_vec_fini(&building.rows);
    ss_intern_fini(&building.keys);
}
