/* SPDX-License-Identifier: Apache-2.0 */
/* What a file says of the machine and the processes that were recorded, besides their events. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/secrets.h"
#include "base/strbuf.h"
#include "model/nsys/nsys_loading.h"

static uint32_t put_text(struct ss_nsys_loading *loading, struct ss_strview text)
{
    return ss_model_builder_text(loading->builder, text);
}

static void put_attribute(struct ss_nsys_loading *loading, const char *key, struct ss_strview text)
{
    struct ss_trace_attribute attribute = {.key = ss_strview_of(key), .text = text};
    if (text.length > 0) {
        ss_model_builder_attribute(loading->builder, &attribute);
    }
}

/* --- processes and threads -------------------------------------------------------------------- */

static void read_processes(struct ss_nsys_loading *loading)
{
    static const char *const columns[] = {"globalPid", "name"};
    struct ss_sqlite_rows rows;
    int64_t global;
    ss_sqlite_begin(&rows, loading->file, "PROCESSES", columns, 2);
    while (ss_nsys_next(loading, &rows)) {
        if (ss_sqlite_integer(&rows, 0, &global)) {
            uint32_t name = put_text(loading, ss_sqlite_text(&rows, 1));
            int64_t key = ss_nsys_process_key(global);
            *ss_nsys_entry(&loading->rows, SS_NSYS_PROCESS_NAME, key, 0, 0) = name;
        }
    }
    ss_sqlite_end(&rows);
}

static void read_threads(struct ss_nsys_loading *loading)
{
    static const char *const columns[] = {"globalTid", "nameId"};
    struct ss_sqlite_rows rows;
    int64_t global, name;
    ss_sqlite_begin(&rows, loading->file, "ThreadNames", columns, 2);
    while (ss_nsys_next(loading, &rows)) {
        if (ss_sqlite_integer(&rows, 0, &global) && ss_sqlite_integer(&rows, 1, &name)) {
            uint32_t text = put_text(loading, ss_nsys_string(&loading->names, name));
            *ss_nsys_entry(&loading->rows, SS_NSYS_THREAD_NAME, global, 0, 0) = text;
        }
    }
    ss_sqlite_end(&rows);
}

static void read_ranks(struct ss_nsys_loading *loading)
{
    static const char *const columns[] = {"globalTid", "rank"};
    struct ss_sqlite_rows rows;
    int64_t global, rank;
    ss_sqlite_begin(&rows, loading->file, "MPI_RANKS", columns, 2);
    while (ss_nsys_next(loading, &rows)) {
        if (ss_sqlite_integer(&rows, 0, &global) && ss_sqlite_integer(&rows, 1, &rank) &&
            rank >= 0 && rank < INT32_MAX) {
            int64_t key = ss_nsys_process_key(global);
            *ss_nsys_entry(&loading->rows, SS_NSYS_RANK, key, 0, 0) = (uint32_t)rank + 1;
        }
    }
    ss_sqlite_end(&rows);
}

/* --- devices ---------------------------------------------------------------------------------- */

static uint32_t number_in(const struct ss_sqlite_rows *rows, int column)
{
    int64_t number;
    bool is = ss_sqlite_integer(rows, column, &number) && number > 0 && number <= INT32_MAX;
    return is ? (uint32_t)number : 0;
}

/* "GPU-5c9a5380-…", as the driver writes it. */
static uint32_t uuid_in(struct ss_nsys_loading *loading, struct ss_sqlite_rows *rows, int column)
{
    struct ss_strview uuid = ss_sqlite_text(rows, column);
    struct ss_strbuf text;
    bool has_prefix = uuid.length > 4 && memcmp(uuid.data, "GPU-", 4) == 0;
    if (uuid.length == 0) {
        return 0;
    }
    ss_strbuf_init(&text, 256);
    ss_strbuf_append_text(&text, has_prefix ? "" : "GPU-");
    ss_strbuf_append_view(&text, uuid);
    uint32_t string = put_text(loading, (struct ss_strview){text.data, text.length});
    ss_strbuf_fini(&text);
    return string;
}

static void read_gpus(struct ss_nsys_loading *loading)
{
    enum { ID, NAME, BUS, MEMORY, UNITS, UUID, DEVICE, WARP };
    static const char *const columns[] = {"id",      "name", "busLocation", "totalMemory",
                                          "smCount", "uuid", "cuDevice",    "threadsPerWarp"};
    struct ss_nsys_rows *rows_of = &loading->rows;
    struct ss_sqlite_rows rows;
    ss_sqlite_begin(&rows, loading->file, "TARGET_INFO_GPU", columns, 8);
    while (ss_nsys_next(loading, &rows)) {
        int64_t id, memory = 0, device;
        if (!ss_sqlite_integer(&rows, ID, &id)) {
            continue;
        }
        ss_sqlite_integer(&rows, MEMORY, &memory);
        struct ss_nsys_gpu gpu = {.name = put_text(loading, ss_sqlite_text(&rows, NAME)),
                                  .uuid = uuid_in(loading, &rows, UUID),
                                  .pci_address = put_text(loading, ss_sqlite_text(&rows, BUS)),
                                  .memory_bytes = memory > 0 ? (uint64_t)memory : 0,
                                  .multiprocessors = number_in(&rows, UNITS),
                                  .warp_threads = number_in(&rows, WARP)};
        ss_vec_push(&rows_of->gpus, gpu);
        *ss_nsys_entry(rows_of, SS_NSYS_GPU, id, 0, 0) = (uint32_t)rows_of->gpus.count;
        if (ss_sqlite_integer(&rows, DEVICE, &device) && id >= 0 && id < INT32_MAX) {
            *ss_nsys_entry(rows_of, SS_NSYS_GPU_OF_NUMBER, device, 0, 0) = (uint32_t)id + 1;
        }
    }
    ss_sqlite_end(&rows);
}

/* A process may see only some GPUs, and number them from 0. */
static void read_device_numbers(struct ss_nsys_loading *loading)
{
    static const char *const columns[] = {"gpuId", "cudaId", "pid"};
    struct ss_sqlite_rows rows;
    int64_t gpu, device, pid;
    ss_sqlite_begin(&rows, loading->file, "TARGET_INFO_CUDA_DEVICE", columns, 3);
    while (ss_nsys_next(loading, &rows)) {
        if (ss_sqlite_integer(&rows, 0, &gpu) && ss_sqlite_integer(&rows, 1, &device) &&
            ss_sqlite_integer(&rows, 2, &pid) && gpu >= 0 && gpu < INT32_MAX) {
            *ss_nsys_entry(&loading->rows, SS_NSYS_GPU_OF_DEVICE, pid, device, 0) =
                (uint32_t)gpu + 1;
        }
    }
    ss_sqlite_end(&rows);
}

/* --- streams ---------------------------------------------------------------------------------- */

static struct ss_nsys_stream_facts *facts_of(struct ss_nsys_loading *loading, int64_t pid,
                                             int64_t context, int64_t stream)
{
    struct ss_nsys_rows *rows = &loading->rows;
    uint32_t known = *ss_nsys_entry(rows, SS_NSYS_STREAM_FACTS, pid, context, stream);
    if (known == 0) {
        ss_vec_push_zero(&rows->stream_facts);
        known = (uint32_t)rows->stream_facts.count;
        *ss_nsys_entry(rows, SS_NSYS_STREAM_FACTS, pid, context, stream) = known;
    }
    return &rows->stream_facts.data[known - 1];
}

static void read_streams(struct ss_nsys_loading *loading)
{
    enum { DEFAULT_STREAM = 1, NULL_STREAM = 3 /* of ENUM_CUPTI_STREAM_TYPE */ };
    static const char *const columns[] = {"processId", "contextId", "streamId", "priority", "flag"};
    static const char *const named[] = {"processId", "contextId", "streamId", "name"};
    struct ss_sqlite_rows rows;
    int64_t pid, context, stream;
    ss_sqlite_begin(&rows, loading->file, "TARGET_INFO_CUDA_STREAM", columns, 5);
    while (ss_nsys_next(loading, &rows)) {
        int64_t priority = 0, flag = 0;
        if (ss_sqlite_integer(&rows, 0, &pid) && ss_sqlite_integer(&rows, 1, &context) &&
            ss_sqlite_integer(&rows, 2, &stream)) {
            struct ss_nsys_stream_facts *facts = facts_of(loading, pid, context, stream);
            ss_sqlite_integer(&rows, 3, &priority);
            ss_sqlite_integer(&rows, 4, &flag);
            facts->priority = (int32_t)priority;
            facts->is_default = flag == NULL_STREAM;
        }
    }
    ss_sqlite_end(&rows);
    ss_sqlite_begin(&rows, loading->file, "TARGET_INFO_NVTX_CUDA_STREAM", named, 4);
    while (ss_nsys_next(loading, &rows)) {
        if (ss_sqlite_integer(&rows, 0, &pid) && ss_sqlite_integer(&rows, 1, &context) &&
            ss_sqlite_integer(&rows, 2, &stream)) {
            uint32_t name = put_text(loading, ss_sqlite_text(&rows, 3));
            facts_of(loading, pid, context, stream)->name = name;
        }
    }
    ss_sqlite_end(&rows);
}

static void read_contexts(struct ss_nsys_loading *loading)
{
    static const char *const columns[] = {"processId", "contextId", "nullStreamId"};
    struct ss_sqlite_rows rows;
    int64_t pid, context, stream;
    ss_sqlite_begin(&rows, loading->file, "TARGET_INFO_CUDA_CONTEXT_INFO", columns, 3);
    while (ss_nsys_next(loading, &rows)) {
        if (ss_sqlite_integer(&rows, 0, &pid) && ss_sqlite_integer(&rows, 1, &context) &&
            ss_sqlite_integer(&rows, 2, &stream) && stream >= 0 && stream < UINT32_MAX) {
            *ss_nsys_entry(&loading->rows, SS_NSYS_NULL_STREAM, pid, context, 0) =
                (uint32_t)stream + 1;
        }
    }
    ss_sqlite_end(&rows);
}

/* --- clocks ----------------------------------------------------------------------------------- */

/* Times count from the start of the session; without its date, times count from the start of
 * the system's clock, so that what began before the session has a time. */
static void read_clock(struct ss_nsys_loading *loading)
{
    static const char *const columns[] = {"utcEpochNs"};
    static const char *const details[] = {"startTime", "duration"};
    struct ss_sqlite_rows rows;
    int64_t number;
    loading->duration_ns = -1;
    ss_sqlite_begin(&rows, loading->file, "ANALYSIS_DETAILS", details, 2);
    if (ss_nsys_next(loading, &rows)) {
        loading->base_ns = ss_sqlite_integer(&rows, 0, &number) && number > 0 ? number : 0;
        loading->duration_ns = ss_sqlite_integer(&rows, 1, &number) && number > 0 ? number : -1;
    }
    ss_sqlite_end(&rows);
    ss_sqlite_begin(&rows, loading->file, "TARGET_INFO_SESSION_START_TIME", columns, 1);
    if (ss_nsys_next(loading, &rows) && ss_sqlite_integer(&rows, 0, &number) && number > 0) {
        loading->base_ns = number;
        loading->is_wall = true;
        ss_model_builder_wall_clock(loading->builder, 0);
    }
    ss_sqlite_end(&rows);
}

/* --- how it was recorded ---------------------------------------------------------------------- */

static bool begins_with(struct ss_strview text, const char *prefix)
{
    size_t length = strlen(prefix);
    return text.length >= length && memcmp(text.data, prefix, length) == 0;
}

/* Arguments of the command are separate rows, in order. Passwords among them are masked. */
static void add_argument(struct ss_strbuf *command, struct ss_strview text)
{
    ss_strbuf_append_view(command, text);
    ss_strbuf_append_char(command, '\0');
}

static void put_command(struct ss_nsys_loading *loading, const struct ss_strbuf *command)
{
    struct ss_strbuf masked;
    ss_strbuf_init(&masked, 1 << 16);
    ss_secrets_append_masked(&masked, command->data, command->length);
    put_attribute(loading, "command", (struct ss_strview){masked.data, masked.length});
    ss_strbuf_fini(&masked);
}

/* The period of a sample is a time only with a timer as its trigger. */
static void put_rate(struct ss_nsys_loading *loading, int64_t period_ns)
{
    struct ss_strbuf text;
    if (period_ns <= 0) {
        return;
    }
    ss_strbuf_init(&text, 64);
    ss_strbuf_append_format(&text, "%.6g", 1e9 / (double)period_ns);
    put_attribute(loading, "rate_hz", (struct ss_strview){text.data, text.length});
    ss_strbuf_fini(&text);
}

static void read_capture(struct ss_nsys_loading *loading)
{
    static const char *const columns[] = {"name", "value"};
    struct ss_sqlite_rows rows;
    struct ss_strbuf command;
    int64_t period_ns = 0;
    bool has_timer = false;
    ss_strbuf_init(&command, 1 << 16);
    ss_sqlite_begin(&rows, loading->file, "META_DATA_CAPTURE", columns, 2);
    while (ss_nsys_next(loading, &rows)) {
        struct ss_strview name = ss_sqlite_text(&rows, 0), value = ss_sqlite_text(&rows, 1);
        if (begins_with(name, "PROCESS_0:COMMAND") || begins_with(name, "PROCESS_0:ARGUMENT_")) {
            add_argument(&command, value);
        } else if (ss_strview_equal(name, ss_strview_of("PROCESS_0:ENVIRONMENT_VARIABLE"))) {
            ss_nsys_ranks_read(&loading->ranks, value);
        } else if (ss_strview_equal(name, ss_strview_of("LINUX_PERF_OPTIONS:SAMPLING_PERIOD"))) {
            char digits[24] = "";
            memcpy(digits, value.data, value.length < sizeof digits ? value.length : 0);
            period_ns = strtoll(digits, NULL, 10);
        } else if (ss_strview_equal(name,
                                    ss_strview_of("LINUX_PERF_OPTIONS:CPU_IP_TRIGGER_TYPE"))) {
            has_timer = ss_strview_equal(value, ss_strview_of("Software"));
        }
    }
    ss_sqlite_end(&rows);
    put_command(loading, &command);
    put_rate(loading, has_timer ? period_ns : 0);
    ss_strbuf_fini(&command);
}

static void read_system(struct ss_nsys_loading *loading)
{
    static const struct {
        const char *name, *key;
    } known[] = {{"Hostname", "hostname"},
                 {"CpuDescription", "cpu"},
                 {"NvDriverVersion", "gpu_driver"},
                 {"OsDescription", "system"}};
    static const char *const columns[] = {"name", "value"};
    struct ss_sqlite_rows rows;
    ss_sqlite_begin(&rows, loading->file, "TARGET_INFO_SYSTEM_ENV", columns, 2);
    while (ss_nsys_next(loading, &rows)) {
        struct ss_strview name = ss_sqlite_text(&rows, 0);
        for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
            if (ss_strview_equal(name, ss_strview_of(known[i].name))) {
                put_attribute(loading, known[i].key, ss_sqlite_text(&rows, 1));
            }
        }
    }
    ss_sqlite_end(&rows);
}

void ss_nsys_load_target(struct ss_nsys_loading *loading)
{
    read_clock(loading);
    read_capture(loading);
    read_system(loading);
    read_processes(loading);
    read_threads(loading);
    read_ranks(loading);
    read_gpus(loading);
    read_device_numbers(loading);
    read_streams(loading);
    read_contexts(loading);
}
