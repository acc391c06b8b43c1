/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/kernels/kernel_counters.h"

#include <math.h>

#include "analysis/kernels/kernel_metrics.h"
#include "base/alloc.h"

enum quantity { OF_FLOPS, OF_MATRIX_FLOPS, OF_BYTES, OF_PARTS, OF_RATE, OF_DEVICE };

/* Metrics by name, or by how it begins ('*'). Instructions count for each thread; those of 16-bit
 * floats work on two numbers at once. */
static const struct metric {
    const char *name, *unit; /* NULL: any */
    enum quantity quantity;
    double factor;
} metrics[] = {
    {"dram__bytes.sum", "byte", OF_BYTES, 1},
    {"dram__bytes_read.sum", "byte", OF_PARTS, 1},
    {"dram__bytes_write.sum", "byte", OF_PARTS, 1},
    {"dram__bytes_op_read.sum", "byte", OF_PARTS, 1},
    {"dram__bytes_op_write.sum", "byte", OF_PARTS, 1},
    {"Memory Throughput", "byte/s", OF_RATE, 1},
    {"sm__sass_thread_inst_executed_op_fadd_pred_on.sum", NULL, OF_FLOPS, 1},
    {"sm__sass_thread_inst_executed_op_fmul_pred_on.sum", NULL, OF_FLOPS, 1},
    {"sm__sass_thread_inst_executed_op_ffma_pred_on.sum", NULL, OF_FLOPS, 2},
    {"sm__sass_thread_inst_executed_op_dadd_pred_on.sum", NULL, OF_FLOPS, 1},
    {"sm__sass_thread_inst_executed_op_dmul_pred_on.sum", NULL, OF_FLOPS, 1},
    {"sm__sass_thread_inst_executed_op_dfma_pred_on.sum", NULL, OF_FLOPS, 2},
    {"sm__sass_thread_inst_executed_op_hadd_pred_on.sum", NULL, OF_FLOPS, 2},
    {"sm__sass_thread_inst_executed_op_hmul_pred_on.sum", NULL, OF_FLOPS, 2},
    {"sm__sass_thread_inst_executed_op_hfma_pred_on.sum", NULL, OF_FLOPS, 4},
    {"sm__ops_path_tensor_src_*", NULL, OF_MATRIX_FLOPS, 1},
    {"device__attribute_display_name", NULL, OF_DEVICE, 1},
};

/* What was measured of one launch. */
struct launch {
    double flops, bytes, parts, rate;
    bool has_flops, has_matrix_flops, has_bytes, has_parts, has_rate;
    uint32_t device; /* string */
};

static bool is_named(const struct metric *metric, struct ss_strview name, struct ss_strview unit)
{
    size_t length = strlen(metric->name);
    if (metric->unit != NULL && !ss_strview_equal(unit, ss_strview_of(metric->unit))) {
        return false;
    }
    if (metric->name[length - 1] == '*') {
        static const char sum[] = ".sum"; /* not the peak that the device sustains */
        size_t tail = sizeof sum - 1;
        return name.length >= length - 1 + tail &&
               memcmp(name.data, metric->name, length - 1) == 0 &&
               memcmp(name.data + name.length - tail, sum, tail) == 0;
    }
    return ss_strview_equal(name, (struct ss_strview){metric->name, length});
}

/* By kind of metric: index into `metrics` plus one; 0: of no use here. The caller frees it. */
static uint8_t *find_kinds(const struct ss_model *model)
{
    uint8_t *kinds = ss_alloc_zero(model->metric_kinds.count + 1, sizeof *kinds);
    for (size_t i = 1; i < model->metric_kinds.count; i++) {
        const struct ss_model_metric_kind *kind = &model->metric_kinds.data[i];
        for (size_t m = 0; m < sizeof metrics / sizeof *metrics && kinds[i] == 0; m++) {
            if (is_named(&metrics[m], ss_intern_get(&model->strings, kind->name),
                         ss_intern_get(&model->strings, kind->unit))) {
                kinds[i] = (uint8_t)(m + 1);
            }
        }
    }
    return kinds;
}

static void add_metric(struct launch *launch, const struct metric *metric,
                       const struct ss_model_metric *row)
{
    if (row->is_text || !isfinite(row->real) || row->real < 0) {
        launch->device = row->is_text && metric->quantity == OF_DEVICE ? row->text : launch->device;
        return;
    }
    double amount = row->real * metric->factor;
    switch (metric->quantity) {
    case OF_FLOPS:
        launch->flops += amount;
        launch->has_flops = true;
        break;
    case OF_MATRIX_FLOPS:
        launch->flops += amount;
        launch->has_flops = launch->has_matrix_flops = true;
        break;
    case OF_BYTES:
        launch->bytes = amount;
        launch->has_bytes = true;
        break;
    case OF_PARTS:
        launch->parts += amount;
        launch->has_parts = true;
        break;
    case OF_RATE:
        launch->rate = amount;
        launch->has_rate = true;
        break;
    case OF_DEVICE:
        break;
    }
}

/* Bytes as one metric, as two, or as a rate over the duration. */
static void end_launch(struct launch *launch, uint64_t ns)
{
    if (!launch->has_bytes && (launch->has_parts || launch->has_rate)) {
        launch->bytes = launch->has_parts ? launch->parts : launch->rate * (double)ns / 1e9;
        launch->has_bytes = true;
    }
}

static struct ss_kernel_counter *counter_of(struct ss_kernel_counters *counters, uint32_t text)
{
    uint32_t *known = &counters->counter_of[text];
    if (*known == 0) {
        ss_vec_push_zero(&counters->counters);
        *known = (uint32_t)counters->counters.count;
        counters->counters.data[*known - 1].has_matrix_flops = true;
    }
    return &counters->counters.data[*known - 1];
}

/* Sums until the end. */
static void add_range(struct ss_kernel_counters *counters, const uint8_t *kinds,
                      const struct ss_model_range *range)
{
    const struct ss_model *model = counters->model;
    struct launch launch = {0};
    size_t at = ss_kernel_first_metric(model, range->payload);
    for (; at < model->metrics.count && model->metrics.data[at].payload == range->payload; at++) {
        uint8_t kind = kinds[model->metrics.data[at].kind];
        if (kind != 0) {
            add_metric(&launch, &metrics[kind - 1], &model->metrics.data[at]);
        }
    }
    end_launch(&launch, range->end_ns - range->begin_ns);
    uint32_t device = model->tracks.data[range->track].device;
    counters->devices[device] = launch.device != 0 ? launch.device : counters->devices[device];
    if (!launch.has_flops && !launch.has_bytes) {
        return;
    }
    struct ss_kernel_counter *counter =
        counter_of(counters, model->names.data[model->paths.data[range->path].name].text);
    counter->flop_launches += launch.has_flops;
    counter->byte_launches += launch.has_bytes;
    counter->flops += launch.flops;
    counter->bytes += launch.bytes;
    counter->has_matrix_flops =
        counter->has_matrix_flops && (launch.has_matrix_flops || !launch.has_flops);
}

void ss_kernel_counters_init(struct ss_kernel_counters *counters,
                             const struct ss_selection *selection)
{
    const struct ss_model *model = selection->model;
    *counters = (struct ss_kernel_counters){.model = model};
    if (model->metrics.count == 0) {
        return;
    }
    counters->counter_of =
        ss_alloc_zero((size_t)model->strings.count + 1, sizeof *counters->counter_of);
    counters->devices = ss_alloc_zero(model->devices.count + 1, sizeof *counters->devices);
    uint8_t *kinds = find_kinds(model);
    for (size_t i = 0; i < model->ranges.count; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        const struct ss_model_track *track = &model->tracks.data[range->track];
        if (track->stream != 0 && range->payload != 0 && selection->processes[track->process]) {
            add_range(counters, kinds, range);
        }
    }
    for (size_t i = 0; i < counters->counters.count; i++) {
        struct ss_kernel_counter *counter = &counters->counters.data[i];
        counter->flops /= counter->flop_launches > 0 ? (double)counter->flop_launches : 1;
        counter->bytes /= counter->byte_launches > 0 ? (double)counter->byte_launches : 1;
    }
    ss_free(kinds);
}

void ss_kernel_counters_fini(struct ss_kernel_counters *counters)
{
    ss_vec_fini(&counters->counters);
    ss_free(counters->counter_of);
    ss_free(counters->devices);
}

const struct ss_kernel_counter *ss_kernel_counter_of(const struct ss_kernel_counters *counters,
                                                     uint32_t name)
{
    if (counters->counter_of == NULL) {
        return NULL;
    }
    uint32_t known = counters->counter_of[counters->model->names.data[name].text];
    return known != 0 ? &counters->counters.data[known - 1] : NULL;
}
