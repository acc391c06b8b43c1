/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/reading/compute_trace.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/kernels/kernel_metrics.h"
#include "analysis/kernels/launch_occupancy.h"
#include "analysis/launches/device_work.h"
#include "wire/perfetto.h"
#include "wire/proto.h"

/* The names by which the plugin finds what a gauge has; others keep the names of their metrics. */
static const struct {
    enum ss_kernel_gauge gauge;
    const char *name;
} known_counters[] = {
    {SS_GAUGE_COMPUTE, "sm__throughput.avg.pct_of_peak_sustained_elapsed"},
    {SS_GAUGE_MEMORY, "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"},
    {SS_GAUGE_L1, "l1tex__throughput.avg.pct_of_peak_sustained_active"},
    {SS_GAUGE_L2, "lts__throughput.avg.pct_of_peak_sustained_elapsed"},
    {SS_GAUGE_DRAM, "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"},
    {SS_GAUGE_NS, "gpu__time_duration.sum"},
    {SS_GAUGE_OCCUPANCY, "sm__warps_active.avg.pct_of_peak_sustained_active"},
};

enum { MOST_COUNTERS = 4096 }; /* of a device */

struct kernel {
    uint32_t range, device, stream;
    uint64_t begin_ns, end_ns;
};

struct writing {
    const struct ss_model *model;
    struct ss_sink *sink;
    struct ss_gauge_reader reader;
    struct ss_wire_buffer packet;
    struct ss_vec_of(struct kernel) kernels; /* by device, begin */
    struct ss_intern counters;               /* names; the ids are dense, from 1 */
    struct ss_intern queues, contexts;       /* of a device and its stream; of a process and one */
    uint64_t last_ns[MOST_COUNTERS]; /* by counter: time of its last value plus one; 0: none */
    uint64_t events;
    bool has_begun; /* the first packet, which clears the state */
};

/* A counter of a kernel. */
struct value {
    uint32_t counter;
    double real;
};
struct values {
    struct ss_vec_of(struct value) rows;
};

static struct ss_strview text_of(const struct writing *writing, uint32_t string)
{
    return ss_intern_get(&writing->model->strings, string);
}

/* --- packets ---------------------------------------------------------------------------------- */

static size_t begin_packet(struct writing *writing, uint64_t time_ns)
{
    writing->packet.length = 0;
    size_t begun = ss_wire_begin(&writing->packet, SS_PF_TRACE_PACKET);
    ss_wire_put_uint(&writing->packet, SS_PF_TIMESTAMP, time_ns);
    ss_wire_put_uint(&writing->packet, SS_PF_SEQUENCE_ID, 1);
    ss_wire_put_uint(&writing->packet, SS_PF_SEQUENCE_FLAGS,
                     writing->has_begun ? SS_PF_NEEDS_STATE : SS_PF_STATE_CLEARED);
    writing->has_begun = true;
    return begun;
}

static void end_packet(struct writing *writing, size_t begun)
{
    ss_wire_end(&writing->packet, begun);
    ss_sink_write(writing->sink, writing->packet.data, writing->packet.length);
}

static void put_double(struct ss_wire_buffer *buffer, uint32_t field, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    ss_wire_put_fixed64(buffer, field, bits);
}

/* --- kernels ---------------------------------------------------------------------------------- */

static bool is_timed(const struct ss_model *model, const struct ss_model_track *track)
{
    return track->input >= model->inputs.count || !model->inputs.data[track->input].is_untimed;
}

static bool is_kernel(const struct ss_selection *selection, const struct ss_model_range *range)
{
    const struct ss_model *model = selection->model;
    const struct ss_model_track *track = &model->tracks.data[range->track];
    return track->stream != 0 && selection->processes[track->process] &&
           (range->flags & SS_RANGE_OUTSIDE) == 0 &&
           model->names.data[model->paths.data[range->path].name].type == SS_EVENT_TYPE_kernel;
}

static int compare_kernels(const void *left, const void *right)
{
    const struct kernel *a = left, *b = right;
    if (a->device != b->device) {
        return a->device < b->device ? -1 : 1;
    }
    if (a->begin_ns != b->begin_ns) {
        return a->begin_ns < b->begin_ns ? -1 : 1;
    }
    return a->range < b->range ? -1 : a->range > b->range;
}

/* Kernels of files without times stand for themselves only where all are of such files. */
static void find_kernels(struct writing *writing, const struct ss_selection *selection)
{
    const struct ss_model *model = writing->model;
    bool has_timed = false;
    for (size_t i = 0; i < model->ranges.count && !has_timed; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        has_timed =
            is_kernel(selection, range) && is_timed(model, &model->tracks.data[range->track]);
    }
    for (size_t i = 0; i < model->ranges.count; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        const struct ss_model_track *track = &model->tracks.data[range->track];
        if (is_kernel(selection, range) && (!has_timed || is_timed(model, track))) {
            ss_vec_push(&writing->kernels, (struct kernel){.range = (uint32_t)i,
                                                           .device = track->device,
                                                           .stream = track->stream,
                                                           .begin_ns = range->begin_ns,
                                                           .end_ns = range->end_ns});
        }
    }
    if (writing->kernels.count > 1) {
        qsort(writing->kernels.data, writing->kernels.count, sizeof *writing->kernels.data,
              compare_kernels);
    }
}

/* --- interned: streams, contexts, the stage of kernels ---------------------------------------- */

enum { KERNEL_STAGE = 1, FIRST_QUEUE = 2 };

static void put_specification(struct ss_wire_buffer *packet, uint64_t iid, const char *name)
{
    size_t begun = ss_wire_begin(packet, SS_PF_GPU_SPECIFICATIONS);
    ss_wire_put_uint(packet, SS_PF_IID, iid);
    ss_wire_put_text(packet, SS_PF_GPU_SPECIFICATION_NAME, name);
    if (iid == KERNEL_STAGE) {
        ss_wire_put_uint(packet, SS_PF_GPU_SPECIFICATION_CATEGORY, SS_PF_GPU_COMPUTE);
    }
    ss_wire_end(packet, begun);
}

static void put_context(struct ss_wire_buffer *packet, uint64_t iid, int32_t pid)
{
    size_t begun = ss_wire_begin(packet, SS_PF_GRAPHICS_CONTEXTS);
    ss_wire_put_uint(packet, SS_PF_IID, iid);
    ss_wire_put_uint(packet, SS_PF_GRAPHICS_CONTEXT_PID, (uint64_t)(int64_t)pid);
    ss_wire_put_uint(packet, SS_PF_GRAPHICS_CONTEXT_API, SS_PF_GPU_CUDA);
    ss_wire_end(packet, begun);
}

/* What of these a kernel is the first to have, into its packet. */
static void put_interned(struct writing *writing, const struct kernel *kernel, uint32_t *queue,
                         uint32_t *context)
{
    const struct ss_model *model = writing->model;
    struct ss_wire_buffer *packet = &writing->packet;
    uint32_t process = model->tracks.data[model->ranges.data[kernel->range].track].process;
    uint32_t keys[2] = {kernel->device, kernel->stream};
    uint32_t queues = writing->queues.count, contexts = writing->contexts.count;
    *queue = ss_intern_put(&writing->queues, (const char *)keys, sizeof keys) + FIRST_QUEUE - 1;
    *context = ss_intern_put(&writing->contexts, (const char *)&process, sizeof process);
    bool is_new_queue = writing->queues.count > queues;
    bool is_new_context = writing->contexts.count > contexts;
    if (!is_new_queue && !is_new_context && writing->events > 0) {
        return;
    }
    size_t begun = ss_wire_begin(packet, SS_PF_INTERNED_DATA);
    if (writing->events == 0) {
        put_specification(packet, KERNEL_STAGE, "kernel");
    }
    if (is_new_queue) {
        char name[48];
        snprintf(name, sizeof name, "stream %" PRIu64, model->streams.data[kernel->stream].number);
        put_specification(packet, *queue, name);
    }
    if (is_new_context) {
        put_context(packet, *context, model->processes.data[process].pid);
    }
    ss_wire_end(packet, begun);
}

/* --- what a launch says ----------------------------------------------------------------------- */

static void put_extra(struct ss_wire_buffer *packet, const char *name, struct ss_strview text)
{
    size_t begun = ss_wire_begin(packet, SS_PF_GPU_STAGE_EXTRA);
    ss_wire_put_text(packet, SS_PF_GPU_EXTRA_NAME, name);
    ss_wire_put_view(packet, SS_PF_GPU_EXTRA_VALUE, text);
    ss_wire_end(packet, begun);
}

static void put_number(struct ss_wire_buffer *packet, const char *name, double value)
{
    char text[48];
    snprintf(text, sizeof text, "%.10g", value);
    put_extra(packet, name, ss_strview_of(text));
}

/* The axes, and their product, which it returns; unknown ones are left out. */
static double put_size(struct writing *writing, const struct ss_model_range *range,
                       const char *what, enum ss_event_field_id first, double whole)
{
    double product = 1;
    char name[48];
    for (int axis = 0; axis < 3; axis++) {
        int64_t number = 0;
        bool is_known =
            ss_event_number(writing->model, range, (uint32_t)first + (uint32_t)axis, &number) &&
            number > 0;
        product *= (double)(is_known ? number : 0);
        if (is_known) {
            snprintf(name, sizeof name, "launch__%s_size_%c", what, 'x' + axis);
            put_number(&writing->packet, name, (double)number);
        }
    }
    product = product > 0 ? product : whole;
    if (product > 0) {
        snprintf(name, sizeof name, "launch__%s_size", what);
        put_number(&writing->packet, name, product);
    }
    return product;
}

static void put_occupancy(struct ss_wire_buffer *packet,
                          const struct ss_launch_occupancy *occupancy)
{
    const struct {
        const char *name;
        double value;
    } limits[] = {{"launch__occupancy_limit_registers", occupancy->limits.by_registers},
                  {"launch__occupancy_limit_shared_mem", occupancy->limits.by_shared},
                  {"launch__occupancy_limit_warps", occupancy->limits.by_warps},
                  {"launch__occupancy_limit_blocks", occupancy->limits.by_blocks},
                  {"launch__occupancy_limit_barriers", occupancy->limits.by_barriers},
                  {"launch__registers_per_thread", (double)occupancy->needs.registers}};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        if (limits[i].value > 0) {
            put_number(packet, limits[i].name, limits[i].value);
        }
    }
    if (occupancy->theoretical >= 0) {
        put_number(packet, "sm__maximum_warps_per_active_cycle_pct", occupancy->theoretical);
    }
    if (occupancy->theoretical >= 0 && occupancy->device != NULL) {
        put_number(packet, "sm__maximum_warps_avg_per_active_cycle",
                   occupancy->theoretical / 100 * occupancy->device->warps);
    }
    if (occupancy->waves >= 0) {
        put_number(packet, "launch__waves_per_multiprocessor", occupancy->waves);
    }
}

static double shared_of(const struct ss_model *model, const struct ss_model_range *range,
                        const struct ss_gauges *gauges, enum ss_kernel_gauge gauge,
                        enum ss_event_field_id field)
{
    int64_t number = 0;
    bool has_field = ss_event_number(model, range, (uint32_t)field, &number) && number > 0;
    return gauges->has[gauge] ? gauges->value[gauge] : has_field ? (double)number : 0;
}

static void put_launch(struct writing *writing, const struct ss_model_range *range,
                       const struct ss_gauges *gauges, struct ss_strview name)
{
    const struct ss_model *model = writing->model;
    const struct ss_model_track *track = &model->tracks.data[range->track];
    const struct ss_model_process *process = &model->processes.data[track->process];
    struct ss_wire_buffer *packet = &writing->packet;
    struct ss_launch_occupancy occupancy;
    ss_launch_occupancy_find(model, range, gauges, &occupancy);
    put_extra(packet, "kernel_name", name);
    put_extra(packet, "kernel_demangled_name", name);
    if (process->name != 0) {
        put_extra(packet, "process_name", text_of(writing, process->name));
    }
    put_number(packet, "process_id", process->pid);
    if (occupancy.device != NULL) {
        put_extra(packet, "arch", ss_strview_of(occupancy.device->capability));
    }
    double blocks =
        put_size(writing, range, "grid", SS_EVENT_FIELD_grid_x, gauges->value[SS_GAUGE_GRID]);
    double threads =
        put_size(writing, range, "block", SS_EVENT_FIELD_block_x, gauges->value[SS_GAUGE_BLOCK]);
    if (blocks > 0 && threads > 0) {
        put_number(packet, "launch__thread_count", blocks * threads);
    }
    put_occupancy(packet, &occupancy);
    if (occupancy.needs.registers > 0) {
        put_number(packet, "launch__shared_mem_per_block_static",
                   shared_of(model, range, gauges, SS_GAUGE_STATIC_SHARED,
                             SS_EVENT_FIELD_static_shared_bytes));
        put_number(packet, "launch__shared_mem_per_block_dynamic",
                   shared_of(model, range, gauges, SS_GAUGE_DYNAMIC_SHARED,
                             SS_EVENT_FIELD_dynamic_shared_bytes));
    }
}

static uint32_t gpu_of(const struct ss_model *model, uint32_t device)
{
    int32_t number = model->devices.data[device].number;
    return number >= 0 ? (uint32_t)number : 0;
}

/* A kernel of no length has no place for its counters. */
static uint64_t length_of(const struct kernel *kernel)
{
    return kernel->end_ns > kernel->begin_ns ? kernel->end_ns - kernel->begin_ns : 1;
}

static void write_stage(struct writing *writing, const struct kernel *kernel,
                        const struct ss_gauges *gauges)
{
    const struct ss_model *model = writing->model;
    const struct ss_model_range *range = &model->ranges.data[kernel->range];
    struct ss_strview name =
        text_of(writing, model->names.data[model->paths.data[range->path].name].text);
    struct ss_wire_buffer *packet = &writing->packet;
    uint32_t queue = 0, context = 0;
    size_t begun = begin_packet(writing, kernel->begin_ns);
    put_interned(writing, kernel, &queue, &context);
    size_t stage = ss_wire_begin(packet, SS_PF_GPU_STAGES);
    ss_wire_put_uint(packet, SS_PF_GPU_STAGE_EVENT_ID, ++writing->events);
    ss_wire_put_uint(packet, SS_PF_GPU_STAGE_DURATION, length_of(kernel));
    ss_wire_put_uint(packet, SS_PF_GPU_STAGE_CONTEXT, context);
    put_launch(writing, range, gauges, name);
    ss_wire_put_uint(packet, SS_PF_GPU_STAGE_GPU, gpu_of(model, kernel->device));
    ss_wire_put_uint(packet, SS_PF_GPU_STAGE_QUEUE, queue);
    ss_wire_put_uint(packet, SS_PF_GPU_STAGE_STAGE, KERNEL_STAGE);
    ss_wire_put_view(packet, SS_PF_GPU_STAGE_NAME, name);
    ss_wire_end(packet, stage);
    end_packet(writing, begun);
}

/* --- counters --------------------------------------------------------------------------------- */

/* Metrics of Nsight Compute and CUPTI have "__" in their names; titles of the page "details" not.
 */
static bool is_metric(struct ss_strview name)
{
    return memmem(name.data, name.length, "__", 2) != NULL &&
           memchr(name.data, ' ', name.length) == NULL;
}

static void add_value(struct writing *writing, struct values *values, struct ss_strview name,
                      double real)
{
    uint32_t counter = ss_intern_put(&writing->counters, name.data, name.length);
    bool has_room = counter < MOST_COUNTERS;
    for (size_t i = 0; i < values->rows.count; i++) {
        if (values->rows.data[i].counter == counter) {
            return;
        }
    }
    if (has_room) {
        ss_vec_push(&values->rows, (struct value){counter, real});
    }
}

static void find_values(struct writing *writing, const struct kernel *kernel,
                        const struct ss_gauges *gauges, struct values *values)
{
    const struct ss_model *model = writing->model;
    uint32_t payload = model->ranges.data[kernel->range].payload;
    values->rows.count = 0;
    for (size_t i = 0; i < sizeof known_counters / sizeof *known_counters; i++) {
        if (gauges->has[known_counters[i].gauge]) {
            add_value(writing, values, ss_strview_of(known_counters[i].name),
                      gauges->value[known_counters[i].gauge]);
        }
    }
    size_t at = ss_kernel_first_metric(model, payload);
    for (; at < model->metrics.count && model->metrics.data[at].payload == payload; at++) {
        const struct ss_model_metric *metric = &model->metrics.data[at];
        struct ss_strview name = text_of(writing, model->metric_kinds.data[metric->kind].name);
        if (!metric->is_text && isfinite(metric->real) && is_metric(name)) {
            add_value(writing, values, name, metric->real);
        }
    }
}

/* Counters have numbers of their own on each device. */
static uint32_t number_of(const struct kernel *kernel, uint32_t counter)
{
    return kernel->device * MOST_COUNTERS + counter;
}

static void put_spec(struct writing *writing, const struct kernel *kernel, uint32_t counter)
{
    struct ss_wire_buffer *packet = &writing->packet;
    size_t spec = ss_wire_begin(packet, SS_PF_GPU_DESCRIPTOR_SPECS);
    ss_wire_put_uint(packet, SS_PF_GPU_SPEC_ID, number_of(kernel, counter));
    ss_wire_put_view(packet, SS_PF_GPU_SPEC_NAME, ss_intern_get(&writing->counters, counter));
    ss_wire_put_uint(packet, SS_PF_GPU_SPEC_GROUPS, SS_PF_GPU_GROUP_COMPUTE);
    ss_wire_put_uint(packet, SS_PF_GPU_SPEC_DIRECTION, SS_PF_GPU_BACKWARDS);
    ss_wire_end(packet, spec);
}

/* All counters of a device, before any of its values. */
static void write_descriptor(struct writing *writing, size_t first, size_t end,
                             struct values *values)
{
    const struct kernel *kernel = &writing->kernels.data[first];
    bool has[MOST_COUNTERS] = {false};
    size_t begun = begin_packet(writing, kernel->begin_ns);
    size_t event = ss_wire_begin(&writing->packet, SS_PF_GPU_COUNTERS);
    size_t descriptor = ss_wire_begin(&writing->packet, SS_PF_GPU_COUNTER_DESCRIPTOR);
    for (size_t i = first; i < end; i++) {
        struct ss_gauges gauges;
        ss_gauges_read(&writing->reader,
                       &writing->model->ranges.data[writing->kernels.data[i].range], &gauges);
        find_values(writing, &writing->kernels.data[i], &gauges, values);
        for (size_t v = 0; v < values->rows.count; v++) {
            uint32_t counter = values->rows.data[v].counter;
            if (!has[counter]) {
                has[counter] = true;
                put_spec(writing, kernel, counter);
            }
        }
    }
    ss_wire_end(&writing->packet, descriptor);
    ss_wire_put_uint(&writing->packet, SS_PF_GPU_COUNTER_GPU,
                     gpu_of(writing->model, kernel->device));
    ss_wire_end(&writing->packet, event);
    end_packet(writing, begun);
}

/* Perfetto takes a value as that of the time since the last one: it stands at the end of its
 * kernel, and 0 at the start, unless the counter's last value is there. */
static void write_values(struct writing *writing, const struct kernel *kernel,
                         const struct values *values, bool is_end)
{
    uint64_t time_ns = kernel->begin_ns + (is_end ? length_of(kernel) : 0);
    size_t begun = begin_packet(writing, time_ns);
    size_t event = ss_wire_begin(&writing->packet, SS_PF_GPU_COUNTERS);
    for (size_t v = 0; v < values->rows.count; v++) {
        const struct value *value = &values->rows.data[v];
        uint64_t *last = &writing->last_ns[value->counter];
        if (is_end || *last != time_ns + 1) {
            size_t counter = ss_wire_begin(&writing->packet, SS_PF_GPU_COUNTER_VALUES);
            ss_wire_put_uint(&writing->packet, SS_PF_GPU_COUNTER_ID,
                             number_of(kernel, value->counter));
            put_double(&writing->packet, SS_PF_GPU_COUNTER_DOUBLE, is_end ? value->real : 0);
            ss_wire_end(&writing->packet, counter);
            *last = time_ns + 1;
        }
    }
    ss_wire_put_uint(&writing->packet, SS_PF_GPU_COUNTER_GPU,
                     gpu_of(writing->model, kernel->device));
    ss_wire_end(&writing->packet, event);
    end_packet(writing, begun);
}

/* --- a device --------------------------------------------------------------------------------- */

/* A device counts one kernel after the other: of those that overlap, the first has its counters. */
static void write_device(struct writing *writing, size_t first, size_t end, struct values *values)
{
    uint64_t counted_ns = 0; /* the latest end of a kernel with counters */
    write_descriptor(writing, first, end, values);
    memset(writing->last_ns, 0, sizeof writing->last_ns);
    for (size_t i = first; i < end && !ss_sink_failed(writing->sink); i++) {
        const struct kernel *kernel = &writing->kernels.data[i];
        struct ss_gauges gauges;
        ss_gauges_read(&writing->reader, &writing->model->ranges.data[kernel->range], &gauges);
        find_values(writing, kernel, &gauges, values);
        write_stage(writing, kernel, &gauges);
        if (values->rows.count > 0 && kernel->begin_ns >= counted_ns) {
            write_values(writing, kernel, values, false);
            write_values(writing, kernel, values, true);
            counted_ns = kernel->begin_ns + length_of(kernel);
        }
    }
}

enum ss_status ss_compute_trace_write(const struct ss_selection *selection, struct ss_sink *sink,
                                      struct ss_error *err)
{
    struct writing writing = {.model = selection->model, .sink = sink};
    struct values values = {0};
    enum ss_status status = SS_OK;
    ss_gauge_reader_init(&writing.reader, selection->model);
    ss_intern_init(&writing.counters);
    ss_intern_init(&writing.queues);
    ss_intern_init(&writing.contexts);
    find_kernels(&writing, selection);
    if (writing.kernels.count == 0) {
        status = ss_fail(err, SS_E_EMPTY, "no kernel of a device was recorded");
    }
    for (size_t first = 0, end = 0; first < writing.kernels.count; first = end) {
        while (end < writing.kernels.count &&
               writing.kernels.data[end].device == writing.kernels.data[first].device) {
            end++;
        }
        write_device(&writing, first, end, &values);
    }
    ss_vec_fini(&values.rows);
    ss_vec_fini(&writing.kernels);
    ss_wire_fini(&writing.packet);
    ss_intern_fini(&writing.counters);
    ss_intern_fini(&writing.queues);
    ss_intern_fini(&writing.contexts);
    ss_gauge_reader_fini(&writing.reader);
    return status;
}
