/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/device_api.h"
#include "record/devices/device_tracks_inside.h"
#include "record/processes/context.h"
#include "record/tracks/collective_module.h"

/* CUPTI returns works of a stream in a buffer for each thread that launched them, each from the
 * oldest on: one lane for each such thread, at most. */
enum { MOST_STREAMS = 4096, MOST_LANES = 1024, MOST_NODES = 1 << 16 };

/* --- tracks ----------------------------------------------------------------------------------- */

static struct ss_device_stream *stream_of(struct ss_device_tracks *devices,
                                          const struct ss_device_work_message *work)
{
    for (size_t i = devices->streams.count; i > 0; i--) {
        struct ss_device_stream *stream = &devices->streams.data[i - 1];
        if (stream->number == work->stream && stream->context == work->context &&
            stream->device == work->device) {
            return stream;
        }
    }
    const struct ss_device_context *of = ss_device_context_of(devices, work->context, work->device);
    const struct ss_device_unit *unit = ss_device_unit_of(devices, work->device);
    if (of == NULL || unit == NULL || devices->streams.count >= MOST_STREAMS) {
        return NULL;
    }
    struct ss_record_context *context = devices->context;
    struct ss_error err = {0};
    struct ss_trace_stream record = {.ref = ++context->stream_refs,
                                     .device_ref = unit->ref,
                                     .context_ref = of->ref,
                                     .number = work->stream,
                                     .is_default = work->stream == of->null_stream};
    ss_record_context_check(context, ss_recording_stream(context->recording, &record, &err), &err);
    ss_vec_push(&devices->streams, (struct ss_device_stream){.device = work->device,
                                                             .context = work->context,
                                                             .number = work->stream,
                                                             .ref = record.ref});
    return &devices->streams.data[devices->streams.count - 1];
}

static uint32_t make_track(struct ss_device_tracks *devices, const struct ss_device_stream *stream)
{
    char name[48];
    const struct ss_device_unit *unit = ss_device_unit_of(devices, stream->device);
    if (stream->lanes.count == 0) {
        snprintf(name, sizeof name, "stream %" PRIu32, stream->number);
    } else {
        snprintf(name, sizeof name, "stream %" PRIu32 " (%zu)", stream->number,
                 stream->lanes.count + 1);
    }
    struct ss_trace_track track = {.kind = SS_TRACK_RANGES,
                                   .process_ref = ss_recorded_process_ref(devices->process),
                                   .device_ref = unit->ref,
                                   .stream_ref = stream->ref,
                                   .parent_ref = unit->group_ref,
                                   .name = ss_strview_of(name)};
    return ss_annotation_tracks_put_track(devices->tracks, &track);
}

/* A lane whose works have ended; a track takes them in the order of time. 0: there are too many. */
static uint32_t track_of(struct ss_device_tracks *devices,
                         const struct ss_device_work_message *work)
{
    struct ss_device_stream *stream = stream_of(devices, work);
    if (stream == NULL) {
        return 0;
    }
    for (size_t i = 0; i < stream->lanes.count; i++) {
        struct ss_device_lane *lane = &stream->lanes.data[i];
        if (lane->end_ns <= work->begin_ns) {
            lane->end_ns = work->end_ns;
            return lane->track_ref;
        }
    }
    if (stream->lanes.count >= MOST_LANES) {
        return 0;
    }
    struct ss_device_lane lane = {make_track(devices, stream), work->end_ns};
    ss_vec_push(&stream->lanes, lane);
    return lane.track_ref;
}

/* --- names ------------------------------------------------------------------------------------ */

/* As CUPTI numbers memories, and as readers name them. */
static const struct {
    const char *shown, *field;
} memories[] = {{"Unknown", NULL},           {"Pageable", "pageable"},     {"Pinned", "pinned"},
                {"Device", "device"},        {"Array", "array"},           {"Managed", "managed"},
                {"Device Static", "device"}, {"Managed Static", "managed"}};
enum { MEMORIES = sizeof memories / sizeof *memories };

static const char *const directions[] = {"",     "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
                                         "AtoD", "DtoA", "DtoD", "HtoH", "PtoP"};
enum { DIRECTIONS = sizeof directions / sizeof *directions };

static uint8_t memory_of(uint8_t number)
{
    return number < MEMORIES ? number : 0;
}

const char *ss_device_memory_shown(uint8_t number)
{
    return memories[memory_of(number)].shown;
}

const char *ss_device_memory_field(uint8_t number)
{
    return memories[memory_of(number)].field;
}

bool ss_device_memory_is_device(uint8_t number)
{
    const char *field = ss_device_memory_field(number);
    return field != NULL && (strcmp(field, "device") == 0 || strcmp(field, "array") == 0);
}

static uint32_t kernel_name(struct ss_device_tracks *devices, uint32_t number)
{
    struct ss_device_name *text = &devices->texts.data[number < devices->texts.count ? number : 0];
    if (text->kernel == 0) {
        struct ss_strview shown = ss_device_text_of(devices, number);
        text->kernel = ss_annotation_tracks_put_name(
            devices->tracks, shown.length > 0 ? shown : ss_strview_of("<unknown kernel>"),
            ss_strview_of("kernel"), SS_EVENT_TYPE_kernel);
    }
    return text->kernel;
}

static uint32_t name_of(struct ss_device_tracks *devices, const struct ss_device_work_message *work)
{
    char name[96];
    switch (work->work) {
    case SS_DEVICE_COPY:
        snprintf(name, sizeof name, "Memcpy %s (%s -> %s)",
                 work->direction < DIRECTIONS ? directions[work->direction] : "",
                 memories[memory_of(work->from)].shown, memories[memory_of(work->to)].shown);
        return ss_annotation_tracks_put_name(devices->tracks, ss_strview_of(name),
                                             ss_strview_of("memcpy"), SS_EVENT_TYPE_copy);
    case SS_DEVICE_MEMSET:
        snprintf(name, sizeof name, "Memset (%s)", memories[memory_of(work->to)].shown);
        return ss_annotation_tracks_put_name(devices->tracks, ss_strview_of(name),
                                             ss_strview_of("memset"), SS_EVENT_TYPE_memset);
    case SS_DEVICE_GRAPH:
        snprintf(name, sizeof name, "CUDA graph %" PRIu32, work->graph);
        return ss_annotation_tracks_put_name(devices->tracks, ss_strview_of(name),
                                             ss_strview_of("kernel"), SS_EVENT_TYPE_kernel);
    default:
        return kernel_name(devices, work->name);
    }
}

/* --- fields ----------------------------------------------------------------------------------- */

static void add_memory(struct ss_device_fields *fields, uint32_t field, uint8_t number)
{
    const char *text = memories[memory_of(number)].field;
    if (text != NULL) {
        ss_device_add_text(fields, field, ss_strview_of(text));
    }
}

static void add_fields(struct ss_device_tracks *devices, struct ss_device_fields *fields,
                       const struct ss_device_work_message *work)
{
    static const uint32_t grid[] = {SS_EVENT_FIELD_grid_x, SS_EVENT_FIELD_grid_y,
                                    SS_EVENT_FIELD_grid_z};
    static const uint32_t block[] = {SS_EVENT_FIELD_block_x, SS_EVENT_FIELD_block_y,
                                     SS_EVENT_FIELD_block_z};
    const struct ss_device_context *of = ss_device_context_of(devices, work->context, work->device);
    ss_device_add_number(fields, SS_EVENT_FIELD_correlation, work->correlation);
    ss_device_add_number(fields, SS_EVENT_FIELD_context, of != NULL ? of->ref : 0);
    ss_device_add_number(fields, SS_EVENT_FIELD_graph, work->graph);
    ss_device_add_number(fields, SS_EVENT_FIELD_graph_node, work->graph_node);
    ss_device_add_number(fields, SS_EVENT_FIELD_bytes, work->bytes);
    ss_device_add_number(fields, SS_EVENT_FIELD_external_id,
                         ss_device_external_of(devices, work->correlation));
    if (work->work == SS_DEVICE_KERNEL) {
        for (int axis = 0; axis < 3; axis++) {
            ss_device_add_number(fields, grid[axis], work->grid[axis]);
            ss_device_add_number(fields, block[axis], work->block[axis]);
        }
        ss_device_add_number(fields, SS_EVENT_FIELD_registers, work->registers);
        ss_device_add_number(fields, SS_EVENT_FIELD_static_shared_bytes, work->static_shared);
        ss_device_add_number(fields, SS_EVENT_FIELD_dynamic_shared_bytes, work->dynamic_shared);
        ss_device_add_number(fields, SS_EVENT_FIELD_scratch_bytes, work->scratch);
    } else if (work->work == SS_DEVICE_COPY) {
        add_memory(fields, SS_EVENT_FIELD_from_memory, work->from);
        add_memory(fields, SS_EVENT_FIELD_to_memory, work->to);
    } else if (work->work == SS_DEVICE_MEMSET) {
        add_memory(fields, SS_EVENT_FIELD_to_memory, work->to);
    }
}

static void add_signed(struct ss_device_fields *fields, uint32_t field, int64_t number)
{
    if (number >= 0 && fields->count < SS_MAX_EVENT_FIELDS) {
        bool is_signed = ss_event_fields[field].type == SS_VALUE_INT;
        struct ss_trace_value value = {.type = is_signed ? SS_VALUE_INT : SS_VALUE_UINT};
        value.integer = number;
        fields->values[fields->count++] = (struct ss_event_value){field, value};
    }
}

/* Of a kernel of NCCL. */
static void add_collective(struct ss_device_tracks *devices, struct ss_device_fields *fields,
                           const struct ss_device_collective *collective)
{
    const struct ss_device_collective_message *first = &collective->first;
    struct ss_trace_group group = {.kind = SS_GROUP_NCCL,
                                   .name = ss_device_text_of(devices, first->group),
                                   .size = first->size};
    if (group.name.length > 0) {
        ss_device_add_number(fields, SS_EVENT_FIELD_group,
                             ss_annotation_tracks_put_group(devices->tracks, &group));
        add_signed(fields, SS_EVENT_FIELD_sequence, first->sequence);
    }
    ss_device_add_text(fields, SS_EVENT_FIELD_collective,
                       ss_nccl_collective(ss_device_text_of(devices, first->function)));
    ss_device_add_text(fields, SS_EVENT_FIELD_datatype,
                       ss_device_text_of(devices, first->datatype));
    ss_device_add_text(fields, SS_EVENT_FIELD_algorithm,
                       ss_device_text_of(devices, first->algorithm));
    ss_device_add_text(fields, SS_EVENT_FIELD_protocol,
                       ss_device_text_of(devices, first->protocol));
    ss_device_add_text(fields, SS_EVENT_FIELD_reduction, ss_nccl_reduction(first->reduction));
    if (fields->count + SS_COLLECTIVE_MODULE_FIELDS <= SS_MAX_EVENT_FIELDS) {
        fields->count += ss_collective_module_put(ss_device_text_of(devices, first->module),
                                                  &fields->values[fields->count]);
    }
    add_signed(fields, SS_EVENT_FIELD_bytes, collective->bytes);
    add_signed(fields, SS_EVENT_FIELD_root, first->root);
}

/* An operation belongs to the last launch of the thread on which NCCL describes it. Where NCCL
 * launches by a function that is not observed, that is a launch of the program: its kernel has
 * another name. */
static bool is_of_nccl(const struct ss_device_tracks *devices,
                       const struct ss_device_work_message *work)
{
    struct ss_strview name = ss_device_text_of(devices, work->name);
    return work->work == SS_DEVICE_KERNEL &&
           memmem(name.data, name.length, "nccl", strlen("nccl")) != NULL;
}

/* --- nodes of graphs -------------------------------------------------------------------------- */

static struct ss_device_node *find_node(const struct ss_device_tracks *devices, uint64_t number)
{
    struct ss_device_node *node = NULL;
    HASH_FIND(hh, devices->nodes, &number, sizeof number, node);
    return node;
}

void ss_device_on_node(void *context, const struct ss_device_node_message *message)
{
    struct ss_device_tracks *devices = context;
    if (find_node(devices, message->node) != NULL || HASH_COUNT(devices->nodes) >= MOST_NODES) {
        return;
    }
    struct ss_device_node *node = ss_alloc_zero(1, sizeof *node);
    node->node = message->node;
    node->stack = message->stack;
    HASH_ADD(hh, devices->nodes, node, sizeof node->node, node);
}

void ss_device_free_nodes(struct ss_device_tracks *devices)
{
    struct ss_device_node *node, *next;
    HASH_ITER(hh, devices->nodes, node, next)
    {
        HASH_DEL(devices->nodes, node);
        ss_free(node);
    }
}

/* The launch of the graph has the frames of the replay. */
static void add_place(struct ss_device_tracks *devices, struct ss_device_fields *fields,
                      const struct ss_device_work_message *work)
{
    const struct ss_device_node *node =
        work->graph_node != 0 ? find_node(devices, work->graph_node) : NULL;
    if (node != NULL) {
        ss_device_add_text(fields, SS_EVENT_FIELD_stack, ss_device_stack_of(devices, node->stack));
    }
}

/* --- works ------------------------------------------------------------------------------------ */

static void count(struct ss_device_totals *totals, const struct ss_device_work_message *work)
{
    totals->kernels += work->work == SS_DEVICE_KERNEL || work->work == SS_DEVICE_GRAPH;
    totals->copies += work->work == SS_DEVICE_COPY;
    totals->memsets += work->work == SS_DEVICE_MEMSET;
}

void ss_device_write_kernel(struct ss_device_tracks *devices,
                            const struct ss_device_work_message *work,
                            struct ss_device_fields *fields)
{
    uint32_t track = track_of(devices, work);
    if (track == 0) {
        devices->totals.unplaced++;
        return;
    }
    count(&devices->totals, work);
    add_fields(devices, fields, work);
    ss_device_write_range(devices, work->begin_ns, track, name_of(devices, work), work->begin_ns,
                          work->end_ns, fields->values, fields->count);
}

void ss_device_on_work(void *context, const struct ss_device_work_message *work)
{
    struct ss_device_tracks *devices = context;
    struct ss_device_fields fields = {.count = 0};
    struct ss_device_work_message within = *work;
    within.end_ns = ss_device_within(devices, within.end_ns);
    within.begin_ns = within.begin_ns < within.end_ns ? within.begin_ns : within.end_ns;
    const struct ss_device_collective *collective;
    uint64_t launched_ns;
    bool is_placed =
        ss_device_found_work(devices, work->correlation, work->begin_ns, &launched_ns, &collective);
    uint32_t track = track_of(devices, &within);
    if (track == 0) {
        devices->totals.unplaced++;
        return;
    }
    count(&devices->totals, work);
    devices->totals.unplaced_kernels += !is_placed && work->work == SS_DEVICE_KERNEL;
    add_fields(devices, &fields, &within);
    add_place(devices, &fields, &within);
    if (collective != NULL && is_of_nccl(devices, work)) {
        add_collective(devices, &fields, collective);
    }
    ss_device_write(devices, launched_ns, track, name_of(devices, &within), within.begin_ns,
                    within.end_ns, &fields);
}
