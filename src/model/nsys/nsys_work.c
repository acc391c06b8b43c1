/* SPDX-License-Identifier: Apache-2.0 */
/* The work of devices. Copies, memsets and waits have the names that PyTorch's profiler gives them,
 * so that files of both tools compare. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "model/nsys/nsys_loading.h"
#include "model/nsys/nsys_words.h"

/* The columns that all tables of work have, in this order. */
#define COMMON_COLUMNS                                                                             \
    "start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid",             \
        "graphNodeId", "graphId"
enum {
    DEVICE = 2,
    CONTEXT,
    STREAM,
    CORRELATION,
    PROCESS,
    GRAPH_NODE,
    GRAPH,
    FIRST_OWN /* column of a table */
};

/* Keys of cached names. */
enum { COPY_NAME = SS_NSYS_NAME_KINDS + 1, MEMSET_NAME, WAIT_NAME, GRAPH_NAME };

struct work {
    struct ss_nsys_loading *loading;
    struct ss_sqlite_rows rows;
    struct ss_builder_range range;
    struct ss_nsys_fields fields;
    uint32_t context; /* index */
    uint32_t stream;  /* index */
};

/* Reads what all work has. False: the row is skipped. */
static bool read_work(struct work *work)
{
    struct ss_nsys_loading *loading = work->loading;
    struct ss_nsys_rows *rows = &loading->rows;
    int64_t device = 0, context = 0, stream;
    bool has_end;
    if (!ss_sqlite_integer(&work->rows, STREAM, &stream) || stream < 0) {
        ss_nsys_skip(loading, "work without a stream");
        return false;
    }
    if (!ss_nsys_span(loading, &work->rows, &work->range, &has_end)) {
        return false;
    }
    ss_sqlite_integer(&work->rows, DEVICE, &device);
    ss_sqlite_integer(&work->rows, CONTEXT, &context);
    int64_t process = ss_nsys_process_in(loading, &work->rows, PROCESS);
    work->fields.count = 0;
    work->context = ss_nsys_context(rows, process, context, device);
    work->stream = ss_nsys_stream(rows, process, work->context, stream);
    ss_nsys_add_natural(&work->fields, SS_EVENT_FIELD_context,
                        rows->contexts.data[work->context].row);
    ss_nsys_add_column(&work->fields, SS_EVENT_FIELD_graph, &work->rows, GRAPH);
    ss_nsys_add_column(&work->fields, SS_EVENT_FIELD_graph_node, &work->rows, GRAPH_NODE);
    return true;
}

static void put_work(struct work *work, uint32_t track, uint32_t name)
{
    work->range.track = track;
    work->range.name = name;
    work->range.fields = work->fields.values;
    work->range.field_count = work->fields.count;
    ss_model_builder_range(work->loading->builder, &work->range);
}

/* Of work whose payload is its correlation. */
static void set_correlation(struct work *work)
{
    int64_t number;
    if (ss_sqlite_integer(&work->rows, CORRELATION, &number) && number >= 0) {
        work->range.payload = (struct ss_trace_value){SS_VALUE_UINT, {.natural = (uint64_t)number}};
    }
}

/* Of work whose payload is its size. */
static void set_bytes(struct work *work, int column)
{
    int64_t bytes;
    ss_nsys_add_column(&work->fields, SS_EVENT_FIELD_correlation, &work->rows, CORRELATION);
    if (ss_sqlite_integer(&work->rows, column, &bytes) && bytes >= 0) {
        work->range.payload = (struct ss_trace_value){SS_VALUE_INT, {.integer = bytes}};
    }
}

/* A row that is made once for each number. */
static uint32_t own_name(struct work *work, int64_t number, uint32_t key, const char *text,
                         const char *category, enum ss_event_type type)
{
    struct ss_trace_name name = {
        .text = ss_strview_of(text), .category = ss_strview_of(category), .type = type};
    uint32_t row = ss_nsys_put_name(&work->loading->rows, &name);
    ss_nsys_names_cache(&work->loading->names, number, key, row);
    return row;
}

/* --- kernels ---------------------------------------------------------------------------------- */

static uint32_t kernel_name(struct work *work)
{
    enum { FULL_NAME = FIRST_OWN, SHORT_NAME };
    int64_t number;
    uint32_t name = 0;
    for (int column = FULL_NAME; column <= SHORT_NAME && name == 0; column++) {
        if (ss_sqlite_integer(&work->rows, column, &number)) {
            name = ss_nsys_name(&work->loading->names, SS_NSYS_KERNEL_NAME, number);
        }
    }
    return name != 0 ? name
                     : own_name(work, 0, SS_NSYS_KERNEL_NAME + 1, "<unknown>", "kernel",
                                SS_EVENT_TYPE_kernel);
}

/* Blocks and warps for each multiprocessor, as far as the file says how many there are. */
static void add_shares(struct work *work, int grid, int block)
{
    struct ss_nsys_rows *rows = &work->loading->rows;
    const struct ss_nsys_gpu *gpu = ss_nsys_gpu(rows, rows->contexts.data[work->context].gpu);
    double blocks = 1, threads = 1, number;
    if (gpu == NULL || gpu->multiprocessors == 0) {
        return;
    }
    for (int i = 0; i < 3; i++) {
        blocks *= ss_sqlite_real(&work->rows, grid + i, &number) ? number : 0;
        threads *= ss_sqlite_real(&work->rows, block + i, &number) ? number : 0;
    }
    if (blocks > 0 && threads > 0) {
        double per_unit = blocks / gpu->multiprocessors;
        ss_nsys_add_real(&work->fields, SS_EVENT_FIELD_blocks_per_sm, per_unit);
        if (gpu->warp_threads > 0) {
            ss_nsys_add_real(&work->fields, SS_EVENT_FIELD_warps_per_sm,
                             per_unit * threads / gpu->warp_threads);
        }
    }
}

static void load_kernels(struct work *work)
{
    static const char *const columns[] = {COMMON_COLUMNS,
                                          "demangledName",
                                          "shortName",
                                          "registersPerThread",
                                          "gridX",
                                          "gridY",
                                          "gridZ",
                                          "blockX",
                                          "blockY",
                                          "blockZ",
                                          "staticSharedMemory",
                                          "dynamicSharedMemory"};
    static const uint32_t fields[] = {SS_EVENT_FIELD_registers,
                                      SS_EVENT_FIELD_grid_x,
                                      SS_EVENT_FIELD_grid_y,
                                      SS_EVENT_FIELD_grid_z,
                                      SS_EVENT_FIELD_block_x,
                                      SS_EVENT_FIELD_block_y,
                                      SS_EVENT_FIELD_block_z,
                                      SS_EVENT_FIELD_static_shared_bytes,
                                      SS_EVENT_FIELD_dynamic_shared_bytes};
    enum { REGISTERS = FIRST_OWN + 2, GRID, BLOCK = GRID + 3 };
    ss_sqlite_begin(&work->rows, work->loading->file, "CUPTI_ACTIVITY_KIND_KERNEL", columns,
                    sizeof columns / sizeof *columns);
    while (ss_nsys_next(work->loading, &work->rows)) {
        if (!read_work(work)) {
            continue;
        }
        for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
            ss_nsys_add_column(&work->fields, fields[i], &work->rows, REGISTERS + (int)i);
        }
        add_shares(work, GRID, BLOCK);
        set_correlation(work);
        uint32_t name = kernel_name(work);
        put_work(work, ss_nsys_stream_track(&work->loading->rows, work->stream), name);
    }
    ss_sqlite_end(&work->rows);
}

/* Recorded with one event for each launch of a graph: its kernels and copies have no launches of
 * their own, so that the graph stands for them. */
static void load_graphs(struct work *work)
{
    static const char *const columns[] = {COMMON_COLUMNS};
    ss_sqlite_begin(&work->rows, work->loading->file, "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", columns,
                    sizeof columns / sizeof *columns);
    while (ss_nsys_next(work->loading, &work->rows)) {
        int64_t graph = 0;
        if (!read_work(work)) {
            continue;
        }
        ss_sqlite_integer(&work->rows, GRAPH, &graph);
        set_correlation(work);
        uint32_t name = ss_nsys_names_cached(&work->loading->names, graph, GRAPH_NAME);
        if (name == 0) {
            char text[64];
            snprintf(text, sizeof text, "CUDA graph %" PRId64, graph);
            name = own_name(work, graph, GRAPH_NAME, text, "kernel", SS_EVENT_TYPE_kernel);
        }
        put_work(work, ss_nsys_stream_track(&work->loading->rows, work->stream), name);
    }
    ss_sqlite_end(&work->rows);
}

/* --- copies ----------------------------------------------------------------------------------- */

static uint32_t copy_name(struct work *work, const struct ss_nsys_words *words,
                          const struct ss_nsys_copy *copy)
{
    uint32_t name = ss_nsys_names_cached(&work->loading->names, copy->key, COPY_NAME);
    if (name == 0) {
        char text[256];
        ss_nsys_copy_name(words, copy, text, sizeof text);
        name = own_name(work, copy->key, COPY_NAME, text, "copy", SS_EVENT_TYPE_copy);
    }
    return name;
}

static void load_copies(struct work *work, const struct ss_nsys_words *words)
{
    static const char *const columns[] = {COMMON_COLUMNS, "bytes", "copyKind", "srcKind",
                                          "dstKind"};
    enum { BYTES = FIRST_OWN, KIND, FROM, TO };
    ss_sqlite_begin(&work->rows, work->loading->file, "CUPTI_ACTIVITY_KIND_MEMCPY", columns,
                    sizeof columns / sizeof *columns);
    while (ss_nsys_next(work->loading, &work->rows)) {
        int64_t kind = -1, from = -1, to = -1;
        if (!read_work(work)) {
            continue;
        }
        ss_sqlite_integer(&work->rows, KIND, &kind);
        ss_sqlite_integer(&work->rows, FROM, &from);
        ss_sqlite_integer(&work->rows, TO, &to);
        struct ss_nsys_copy copy = ss_nsys_copy_of(words, kind, from, to);
        set_bytes(work, BYTES);
        ss_nsys_add_text(&work->fields, SS_EVENT_FIELD_from_memory, ss_strview_of(copy.from));
        ss_nsys_add_text(&work->fields, SS_EVENT_FIELD_to_memory, ss_strview_of(copy.to));
        uint32_t name = copy_name(work, words, &copy);
        put_work(work, ss_nsys_stream_track(&work->loading->rows, work->stream), name);
    }
    ss_sqlite_end(&work->rows);
}

static void load_memsets(struct work *work, const struct ss_nsys_words *words)
{
    static const char *const columns[] = {COMMON_COLUMNS, "bytes", "memKind"};
    enum { BYTES = FIRST_OWN, KIND };
    ss_sqlite_begin(&work->rows, work->loading->file, "CUPTI_ACTIVITY_KIND_MEMSET", columns,
                    sizeof columns / sizeof *columns);
    while (ss_nsys_next(work->loading, &work->rows)) {
        int64_t kind = -1;
        if (!read_work(work)) {
            continue;
        }
        ss_sqlite_integer(&work->rows, KIND, &kind);
        set_bytes(work, BYTES);
        ss_nsys_add_text(&work->fields, SS_EVENT_FIELD_to_memory,
                         ss_strview_of(ss_nsys_memory(words, kind)));
        uint32_t name = ss_nsys_names_cached(&work->loading->names, kind, MEMSET_NAME);
        if (name == 0) {
            char text[128];
            snprintf(text, sizeof text, "Memset (%s)", ss_nsys_memory_label(words, kind));
            name = own_name(work, kind, MEMSET_NAME, text, "memset", SS_EVENT_TYPE_memset);
        }
        put_work(work, ss_nsys_stream_track(&work->loading->rows, work->stream), name);
    }
    ss_sqlite_end(&work->rows);
}

/* --- waits ------------------------------------------------------------------------------------ */

/* Waits for a whole context, or for an event, have no stream. Their device is stated wrongly in
 * files of several devices; that of their context is right, which is known from its work. */
static void load_waits(struct work *work)
{
    static const char *const columns[] = {COMMON_COLUMNS, "syncType"};
    static const char *const names[] = {"Sync", "Event Sync", "Stream Wait Event", "Stream Sync",
                                        "Context Sync"};
    enum { KIND = FIRST_OWN };
    ss_sqlite_begin(&work->rows, work->loading->file, "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
                    columns, sizeof columns / sizeof *columns);
    while (ss_nsys_next(work->loading, &work->rows)) {
        int64_t kind = 0;
        if (!read_work(work)) {
            continue;
        }
        ss_sqlite_integer(&work->rows, KIND, &kind);
        kind = kind >= 0 && kind < (int64_t)(sizeof names / sizeof *names) ? kind : 0;
        set_correlation(work);
        uint32_t stream = work->loading->rows.streams.data[work->stream].row;
        if (stream != 0) {
            ss_nsys_add_natural(&work->fields, SS_EVENT_FIELD_stream, stream);
        }
        uint32_t name = ss_nsys_names_cached(&work->loading->names, kind, WAIT_NAME);
        if (name == 0) {
            name = own_name(work, kind, WAIT_NAME, names[kind], "synchronisation",
                            SS_EVENT_TYPE_synchronisation);
        }
        put_work(work, ss_nsys_wait_track(&work->loading->rows, work->stream), name);
    }
    ss_sqlite_end(&work->rows);
}

void ss_nsys_load_work(struct ss_nsys_loading *loading)
{
    struct work work = {.loading = loading};
    struct ss_nsys_words words;
    ss_nsys_words_init(&words, loading->file);
    load_kernels(&work);
    load_graphs(&work);
    load_copies(&work, &words);
    load_memsets(&work, &words);
    load_waits(&work);
}
