/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges of threads that have a function as their name: calls of CUDA's runtime and driver, of the
 * operating system and of libraries. */
#include "base/shared_names.h"
#include "model/core/domains.h"
#include "model/nsys/nsys_loading.h"

enum { THREAD = 2, NAME, CORRELATION, BYTES, ROOT, PEER };

struct source {
    const char *table, *name_column;
    const char *track; /* domain of the ranges */
    enum ss_nsys_name_kind kind;
};

static const struct source cuda_calls = {"CUPTI_ACTIVITY_KIND_RUNTIME", "nameId",
                                         ss_domain_cuda_calls, SS_NSYS_CALL_NAME};

static const struct source other_calls[] = {
    {"CUBLAS_EVENTS", "nameId", "cuBLAS", SS_NSYS_LIBRARY_NAME},
    {"CUDNN_EVENTS", "nameId", "cuDNN", SS_NSYS_LIBRARY_NAME},
    {"MPI_COLLECTIVES_EVENTS", "textId", "MPI", SS_NSYS_COLLECTIVE_NAME},
    {"MPI_P2P_EVENTS", "textId", "MPI", SS_NSYS_COLLECTIVE_NAME},
    {"MPI_START_WAIT_EVENTS", "textId", "MPI", SS_NSYS_LIBRARY_NAME},
    {"MPI_OTHER_EVENTS", "textId", "MPI", SS_NSYS_LIBRARY_NAME},
    {"OSRT_API", "nameId", SS_DOMAIN_SYSTEM_CALLS, SS_NSYS_LIBRARY_NAME},
    {"PROFILER_OVERHEAD", "nameId", SS_DOMAIN_OVERHEAD, SS_NSYS_LIBRARY_NAME},
    {"CUPTI_ACTIVITY_KIND_OVERHEAD", "nameId", SS_DOMAIN_OVERHEAD, SS_NSYS_LIBRARY_NAME},
};

static void set_payload(const struct source *source, const struct ss_sqlite_rows *rows,
                        struct ss_builder_range *range)
{
    int64_t number;
    if (source->kind == SS_NSYS_CALL_NAME) {
        if (ss_sqlite_integer(rows, CORRELATION, &number) && number >= 0) {
            range->payload = (struct ss_trace_value){SS_VALUE_UINT, {.natural = (uint64_t)number}};
        }
    } else if (source->kind == SS_NSYS_COLLECTIVE_NAME) {
        if (ss_sqlite_integer(rows, BYTES, &number) && number >= 0) {
            range->payload = (struct ss_trace_value){SS_VALUE_INT, {.integer = number}};
        }
    }
}

static uint32_t track_of(struct ss_nsys_loading *loading, const struct source *source,
                         uint32_t thread)
{
    /* Within the operators that make the calls, where a thread has operators. */
    bool is_within =
        source->kind == SS_NSYS_CALL_NAME && loading->rows.threads.data[thread].has_operators;
    return ss_nsys_thread_track(&loading->rows, thread, SS_TRACK_RANGES,
                                ss_strview_of(is_within ? ss_domain_torch : source->track));
}

static uint32_t name_of(struct ss_nsys_loading *loading, const struct source *source,
                        const struct ss_sqlite_rows *rows)
{
    int64_t number;
    uint32_t name = ss_sqlite_integer(rows, NAME, &number)
                        ? ss_nsys_name(&loading->names, source->kind, number)
                        : 0;
    return name != 0
               ? name
               : ss_nsys_put_name(&loading->rows,
                                  &(struct ss_trace_name){
                                      .text = ss_strview_of("<unknown>"),
                                      .category = ss_strview_of(
                                          source->kind == SS_NSYS_CALL_NAME ? "runtime" : "")});
}

static void add_call(struct ss_nsys_loading *loading, const struct source *source,
                     const struct ss_sqlite_rows *rows)
{
    struct ss_builder_range range;
    struct ss_nsys_fields fields = {.count = 0};
    int64_t global_tid;
    bool has_end;
    if (!ss_sqlite_integer(rows, THREAD, &global_tid)) {
        ss_nsys_skip(loading, "a call without a thread");
        return;
    }
    if (!ss_nsys_span(loading, rows, &range, &has_end)) {
        return;
    }
    uint32_t thread = ss_nsys_thread(&loading->rows, global_tid);
    if (source == &cuda_calls && loading->rows.first_process == -1) {
        loading->rows.first_process = ss_nsys_process_key(global_tid);
    }
    if (source->kind == SS_NSYS_COLLECTIVE_NAME) {
        ss_nsys_add_column(&fields, SS_EVENT_FIELD_root, rows, ROOT);
        ss_nsys_add_column(&fields, SS_EVENT_FIELD_peer, rows, PEER);
    }
    set_payload(source, rows, &range);
    range.fields = fields.values;
    range.field_count = fields.count;
    range.track = track_of(loading, source, thread);
    range.name = name_of(loading, source, rows);
    ss_model_builder_range(loading->builder, &range);
}

static void load(struct ss_nsys_loading *loading, const struct source *source)
{
    const char *const columns[] = {"start",         "end",  "globalTid", source->name_column,
                                   "correlationId", "size", "rootRank",  "remoteRank"};
    struct ss_sqlite_rows rows;
    ss_sqlite_begin(&rows, loading->file, source->table, columns, sizeof columns / sizeof *columns);
    while (ss_nsys_next(loading, &rows)) {
        add_call(loading, source, &rows);
    }
    ss_sqlite_end(&rows);
}

void ss_nsys_load_calls(struct ss_nsys_loading *loading)
{
    load(loading, &cuda_calls);
    for (size_t i = 0; i < sizeof other_calls / sizeof *other_calls; i++) {
        load(loading, &other_calls[i]);
    }
}
