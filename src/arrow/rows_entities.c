/* SPDX-License-Identifier: Apache-2.0 */
/* Files, processes, threads, hosts, devices and what belongs to them. */
#include <inttypes.h>
#include <string.h>

#include "arrow/rows_inside.h"
#include "base/strbuf.h"

#define NEW_COLUMNS(name, kinds) ss_columns_new(name, kinds, sizeof(kinds) / sizeof *(kinds))

/* Absent for 0: unknown. */
static void put_known(struct ss_columns *columns, size_t column, uint64_t value)
{
    if (value != 0) {
        ss_columns_put_natural(columns, column, value);
    }
}

static void put_if(struct ss_columns *columns, size_t column, bool has, int64_t value)
{
    if (has) {
        ss_columns_put_integer(columns, column, value);
    }
}

/* --- files ------------------------------------------------------------------------------------ */

enum input_column {
    INPUT_PATH,
    INPUT_KIND,
    INPUT_TOOL,
    INPUT_RATE,
    INPUT_SAMPLES,
    INPUT_LINES,
    INPUT_SKIPPED_LINES,
    INPUT_UNIX_OFFSET
};

static const struct ss_column_kind input_columns[] = {{"path", NULL, SS_COLUMN_WORDS},
                                                      {"kind", NULL, SS_COLUMN_WORDS},
                                                      {"tool", NULL, SS_COLUMN_WORDS},
                                                      {"rate_hz", "Hz", SS_COLUMN_FLOAT64},
                                                      {"samples", "samples", SS_COLUMN_INT64},
                                                      {"lines", "lines", SS_COLUMN_INT64},
                                                      {"skipped_lines", "lines", SS_COLUMN_INT64},
                                                      {"unix_offset_ns", "ns", SS_COLUMN_INT64}};

struct ss_columns *ss_rows_of_inputs(const struct ss_selection *selection)
{
    static const char *const kinds[] = {
        [SS_INPUT_TRACE] = "trace", [SS_INPUT_RAW] = "raw", [SS_INPUT_IMPORT] = "import"};
    const struct ss_model *model = selection->model;
    struct ss_columns *columns = NEW_COLUMNS("inputs", input_columns);
    for (size_t i = 0; i < model->inputs.count; i++) {
        const struct ss_model_input *input = &model->inputs.data[i];
        bool is_raw = input->kind == SS_INPUT_RAW;
        int64_t shift_ns = model->clock_domains.data[input->clock_domain].shift_ns;
        ss_columns_add_row(columns);
        ss_rows_put_string(columns, INPUT_PATH, model, input->path);
        SS_ROWS_PUT_NAME(columns, INPUT_KIND, kinds, input->kind);
        ss_rows_put_string(columns, INPUT_TOOL, model, input->tool);
        if (input->rate_hz > 0) {
            ss_columns_put_real(columns, INPUT_RATE, input->rate_hz);
        }
        ss_columns_put_natural(columns, INPUT_SAMPLES, input->samples);
        if (is_raw) {
            ss_columns_put_natural(columns, INPUT_LINES, input->lines);
            ss_columns_put_natural(columns, INPUT_SKIPPED_LINES, input->skipped_lines);
        }
        /* Wraps where a hostile file has such times. */
        int64_t offset_ns = (int64_t)((uint64_t)input->wall_offset_ns - (uint64_t)shift_ns);
        put_if(columns, INPUT_UNIX_OFFSET, input->has_clock, offset_ns);
    }
    ss_columns_finish(columns);
    return columns;
}

/* --- processes and threads -------------------------------------------------------------------- */

enum process_column {
    PROCESS_ID,
    PROCESS_PARENT,
    PROCESS_PID,
    PROCESS_PARENT_PID,
    PROCESS_NAME,
    PROCESS_LABEL,
    PROCESS_CMDLINE,
    PROCESS_EXECUTABLE,
    PROCESS_RUNTIME,
    PROCESS_ROLE,
    PROCESS_RANK,
    PROCESS_LOCAL_RANK,
    PROCESS_NODE,
    PROCESS_WORLD_SIZE,
    PROCESS_HOST,
    PROCESS_FIRST_SEEN,
    PROCESS_START_TIME,
    PROCESS_EXIT_STATUS,
    PROCESS_INPUT
};

static const struct ss_column_kind process_columns[] = {
    {"process_id", NULL, SS_COLUMN_INT32},
    {"parent_id", NULL, SS_COLUMN_INT32},
    {"pid", NULL, SS_COLUMN_INT32},
    {"parent_pid", NULL, SS_COLUMN_INT32},
    {"name", NULL, SS_COLUMN_WORDS},
    {"label", NULL, SS_COLUMN_WORDS},
    {"cmdline", NULL, SS_COLUMN_WORDS},
    {"executable", NULL, SS_COLUMN_WORDS},
    {"runtime", NULL, SS_COLUMN_WORDS},
    {"role", NULL, SS_COLUMN_WORDS},
    {"rank", NULL, SS_COLUMN_INT64},
    {"local_rank", NULL, SS_COLUMN_INT64},
    {"node", NULL, SS_COLUMN_INT64},
    {"world_size", "ranks", SS_COLUMN_INT64},
    {"host_id", NULL, SS_COLUMN_INT32},
    {"first_seen_ns", "ns", SS_COLUMN_INT64},
    {"start_time", "ticks since the boot", SS_COLUMN_INT64},
    {"exit_status", NULL, SS_COLUMN_INT32},
    {"path", NULL, SS_COLUMN_WORDS}};

/* The columns of its place among the ranks. */
static void put_ranks(struct ss_columns *columns, const struct ss_model_process *process)
{
    static const char *const roles[SS_PROCESS_ROLE_COUNT] = {
        [SS_PROCESS_ROLE_TRAINS] = "trains",
        [SS_PROCESS_ROLE_LOADS_DATA] = "loads data",
        [SS_PROCESS_ROLE_LAUNCHES] = "launches"};
    SS_ROWS_PUT_NAME(columns, PROCESS_ROLE, roles, process->role);
    put_if(columns, PROCESS_RANK, process->has_rank, process->rank);
    put_if(columns, PROCESS_LOCAL_RANK, process->has_local_rank, process->local_rank);
    put_if(columns, PROCESS_NODE, process->has_node, process->node);
    put_known(columns, PROCESS_WORLD_SIZE, process->world_size);
}

static void put_process(struct ss_columns *columns, const struct ss_model *model, uint32_t id)
{
    const struct ss_model_process *process = &model->processes.data[id];
    ss_columns_add_row(columns);
    ss_rows_put_id(columns, PROCESS_ID, id);
    ss_rows_put_id(columns, PROCESS_PARENT, process->parent);
    put_if(columns, PROCESS_PID, process->pid >= 0, process->pid);
    put_if(columns, PROCESS_PARENT_PID, process->parent_pid > 0, process->parent_pid);
    ss_rows_put_string(columns, PROCESS_NAME, model, process->name);
    ss_rows_put_string(columns, PROCESS_LABEL, model, process->label);
    ss_rows_put_string(columns, PROCESS_CMDLINE, model, process->cmdline);
    ss_rows_put_string(columns, PROCESS_EXECUTABLE, model, process->executable);
    ss_rows_put_string(columns, PROCESS_RUNTIME, model, process->runtime);
    put_ranks(columns, process);
    ss_rows_put_id(columns, PROCESS_HOST, process->host);
    put_known(columns, PROCESS_FIRST_SEEN, process->first_seen_ns);
    put_known(columns, PROCESS_START_TIME, process->start_time_ticks);
    put_if(columns, PROCESS_EXIT_STATUS, process->has_exit_status, process->exit_status);
    ss_rows_put_string(columns, PROCESS_INPUT, model, model->inputs.data[process->input].path);
}

struct ss_columns *ss_rows_of_processes(const struct ss_selection *selection)
{
    struct ss_columns *columns = NEW_COLUMNS("processes", process_columns);
    for (uint32_t i = 1; i < selection->model->processes.count; i++) {
        if (selection->processes[i]) {
            put_process(columns, selection->model, i);
        }
    }
    ss_columns_finish(columns);
    return columns;
}

enum thread_column { THREAD_ID, THREAD_PROCESS, THREAD_PID, THREAD_TID, THREAD_NAME, THREAD_MAIN };

static const struct ss_column_kind thread_columns[] = {
    {"thread_id", NULL, SS_COLUMN_INT32}, {"process_id", NULL, SS_COLUMN_INT32},
    {"pid", NULL, SS_COLUMN_INT32},       {"tid", NULL, SS_COLUMN_INT64},
    {"name", NULL, SS_COLUMN_WORDS},      {"is_main", NULL, SS_COLUMN_BOOLEAN}};

struct ss_columns *ss_rows_of_threads(const struct ss_selection *selection)
{
    const struct ss_model *model = selection->model;
    struct ss_columns *columns = NEW_COLUMNS("threads", thread_columns);
    for (uint32_t i = 1; i < model->threads.count; i++) {
        const struct ss_model_thread *thread = &model->threads.data[i];
        int32_t pid = model->processes.data[thread->process].pid;
        if (selection->threads[i]) {
            ss_columns_add_row(columns);
            ss_rows_put_id(columns, THREAD_ID, i);
            ss_rows_put_id(columns, THREAD_PROCESS, thread->process);
            put_if(columns, THREAD_PID, thread->process != 0 && pid >= 0, pid);
            put_if(columns, THREAD_TID, thread->tid >= 0, thread->tid);
            ss_rows_put_string(columns, THREAD_NAME, model, thread->name);
            ss_columns_put_boolean(columns, THREAD_MAIN, thread->is_main);
        }
    }
    ss_columns_finish(columns);
    return columns;
}

/* --- hosts and devices ------------------------------------------------------------------------ */

enum host_column { HOST_ID, HOST_NAME, HOST_BOOT, HOST_TIME_NAMESPACE };

static const struct ss_column_kind host_columns[] = {{"host_id", NULL, SS_COLUMN_INT32},
                                                     {"name", NULL, SS_COLUMN_WORDS},
                                                     {"boot_id", NULL, SS_COLUMN_WORDS},
                                                     {"time_namespace", NULL, SS_COLUMN_INT64}};

struct ss_columns *ss_rows_of_hosts(const struct ss_selection *selection)
{
    const struct ss_model *model = selection->model;
    struct ss_columns *columns = NEW_COLUMNS("hosts", host_columns);
    for (uint32_t i = 1; i < model->hosts.count; i++) {
        const struct ss_model_host *host = &model->hosts.data[i];
        ss_columns_add_row(columns);
        ss_rows_put_id(columns, HOST_ID, i);
        ss_rows_put_string(columns, HOST_NAME, model, host->name);
        ss_rows_put_string(columns, HOST_BOOT, model, host->boot);
        put_known(columns, HOST_TIME_NAMESPACE, host->time_namespace);
    }
    ss_columns_finish(columns);
    return columns;
}

enum device_column {
    DEVICE_ID,
    DEVICE_KIND,
    DEVICE_NUMBER,
    DEVICE_MODEL,
    DEVICE_UUID,
    DEVICE_PCI,
    DEVICE_MEMORY
};

static const struct ss_column_kind device_columns[] = {
    {"device_id", NULL, SS_COLUMN_INT32},      {"kind", NULL, SS_COLUMN_WORDS},
    {"number", NULL, SS_COLUMN_INT32},         {"model", NULL, SS_COLUMN_WORDS},
    {"uuid", NULL, SS_COLUMN_WORDS},           {"pci_address", NULL, SS_COLUMN_WORDS},
    {"memory_bytes", "bytes", SS_COLUMN_INT64}};

struct ss_columns *ss_rows_of_devices(const struct ss_selection *selection)
{
    static const char *const kinds[SS_DEVICE_KIND_COUNT] = {"other", "gpu"};
    const struct ss_model *model = selection->model;
    struct ss_columns *columns = NEW_COLUMNS("devices", device_columns);
    for (uint32_t i = 1; i < model->devices.count; i++) {
        const struct ss_model_device *device = &model->devices.data[i];
        ss_columns_add_row(columns);
        ss_rows_put_id(columns, DEVICE_ID, i);
        SS_ROWS_PUT_NAME(columns, DEVICE_KIND, kinds, device->kind);
        put_if(columns, DEVICE_NUMBER, device->number >= 0, device->number);
        ss_rows_put_string(columns, DEVICE_MODEL, model, device->model);
        ss_rows_put_string(columns, DEVICE_UUID, model, device->uuid);
        ss_rows_put_string(columns, DEVICE_PCI, model, device->pci_address);
        put_known(columns, DEVICE_MEMORY, device->memory_bytes);
    }
    ss_columns_finish(columns);
    return columns;
}

enum context_column { CONTEXT_ID, CONTEXT_PROCESS, CONTEXT_DEVICE, CONTEXT_NUMBER };

static const struct ss_column_kind context_columns[] = {{"context_id", NULL, SS_COLUMN_INT32},
                                                        {"process_id", NULL, SS_COLUMN_INT32},
                                                        {"device_id", NULL, SS_COLUMN_INT32},
                                                        {"number", NULL, SS_COLUMN_INT64}};

struct ss_columns *ss_rows_of_contexts(const struct ss_selection *selection)
{
    const struct ss_model *model = selection->model;
    struct ss_columns *columns = NEW_COLUMNS("contexts", context_columns);
    for (uint32_t i = 1; i < model->contexts.count; i++) {
        const struct ss_model_context *context = &model->contexts.data[i];
        if (selection->processes[context->process]) {
            ss_columns_add_row(columns);
            ss_rows_put_id(columns, CONTEXT_ID, i);
            ss_rows_put_id(columns, CONTEXT_PROCESS, context->process);
            ss_rows_put_id(columns, CONTEXT_DEVICE, context->device);
            ss_columns_put_integer(columns, CONTEXT_NUMBER,
                                   (int64_t)context->number); /* its 64 bits */
        }
    }
    ss_columns_finish(columns);
    return columns;
}

enum stream_column {
    STREAM_ID,
    STREAM_DEVICE,
    STREAM_CONTEXT,
    STREAM_NUMBER,
    STREAM_NAME,
    STREAM_PRIORITY,
    STREAM_DEFAULT
};

static const struct ss_column_kind stream_columns[] = {
    {"stream_id", NULL, SS_COLUMN_INT32},   {"device_id", NULL, SS_COLUMN_INT32},
    {"context_id", NULL, SS_COLUMN_INT32},  {"number", NULL, SS_COLUMN_INT64},
    {"name", NULL, SS_COLUMN_WORDS},        {"priority", NULL, SS_COLUMN_INT32},
    {"is_default", NULL, SS_COLUMN_BOOLEAN}};

struct ss_columns *ss_rows_of_streams(const struct ss_selection *selection)
{
    const struct ss_model *model = selection->model;
    struct ss_columns *columns = NEW_COLUMNS("streams", stream_columns);
    for (uint32_t i = 1; i < model->streams.count; i++) {
        const struct ss_model_stream *stream = &model->streams.data[i];
        ss_columns_add_row(columns);
        ss_rows_put_id(columns, STREAM_ID, i);
        ss_rows_put_id(columns, STREAM_DEVICE, stream->device);
        ss_rows_put_id(columns, STREAM_CONTEXT, stream->context);
        ss_columns_put_integer(columns, STREAM_NUMBER, (int64_t)stream->number); /* its 64 bits */
        ss_rows_put_string(columns, STREAM_NAME, model, stream->name);
        ss_columns_put_integer(columns, STREAM_PRIORITY, stream->priority);
        ss_columns_put_boolean(columns, STREAM_DEFAULT, stream->is_default);
    }
    ss_columns_finish(columns);
    return columns;
}

/* --- communication groups --------------------------------------------------------------------- */

enum { MAX_RANKS_TEXT = 64 * 1024 };
enum group_column { GROUP_ID, GROUP_KIND, GROUP_NUMBER, GROUP_NAME, GROUP_SIZE, GROUP_RANKS };

static const struct ss_column_kind group_columns[] = {
    {"group_id", NULL, SS_COLUMN_INT32}, {"kind", NULL, SS_COLUMN_WORDS},
    {"number", NULL, SS_COLUMN_INT64},   {"name", NULL, SS_COLUMN_WORDS},
    {"size", "ranks", SS_COLUMN_INT64},  {"ranks", NULL, SS_COLUMN_TEXT}};

/* "0-7, 16-30/2": every rank, then every second one. */
static void put_ranks_text(struct ss_columns *columns, const struct ss_model *model,
                           const struct ss_model_group *group)
{
    struct ss_strbuf text;
    ss_strbuf_init(&text, MAX_RANKS_TEXT);
    for (uint32_t i = 0; i < group->run_count && !text.overflow; i++) {
        const struct ss_rank_run *run = &model->rank_runs.data[group->first_run + i];
        uint64_t last = run->first + (uint64_t)(run->count - 1) * run->stride;
        ss_strbuf_append_format(&text, "%s%" PRIu32, i > 0 ? ", " : "", run->first);
        if (run->count > 1) {
            ss_strbuf_append_format(&text, "-%" PRIu64, last);
        }
        if (run->count > 1 && run->stride != 1) {
            ss_strbuf_append_format(&text, "/%" PRIu32, run->stride);
        }
    }
    ss_columns_put_text(columns, GROUP_RANKS, (struct ss_strview){text.data, text.length});
    ss_strbuf_fini(&text);
}

struct ss_columns *ss_rows_of_groups(const struct ss_selection *selection)
{
    static const char *const kinds[SS_GROUP_KIND_COUNT] = {"other", "NCCL", "MPI", "Gloo"};
    const struct ss_model *model = selection->model;
    struct ss_columns *columns = NEW_COLUMNS("groups", group_columns);
    for (uint32_t i = 1; i < model->groups.count; i++) {
        const struct ss_model_group *group = &model->groups.data[i];
        ss_columns_add_row(columns);
        ss_rows_put_id(columns, GROUP_ID, i);
        SS_ROWS_PUT_NAME(columns, GROUP_KIND, kinds, group->kind);
        ss_columns_put_integer(columns, GROUP_NUMBER, (int64_t)group->number); /* its 64 bits */
        ss_rows_put_string(columns, GROUP_NAME, model, group->name);
        put_known(columns, GROUP_SIZE, group->size);
        if (group->run_count > 0) {
            put_ranks_text(columns, model, group);
        }
    }
    ss_columns_finish(columns);
    return columns;
}

/* --- tracks ----------------------------------------------------------------------------------- */

enum track_column {
    TRACK_ID,
    TRACK_KIND,
    TRACK_NAME,
    TRACK_UNIT,
    TRACK_PARENT,
    TRACK_OWNER,
    TRACK_DEVICE = TRACK_OWNER + SS_OWNER_COLUMN_COUNT,
    TRACK_STREAM
};

static const struct ss_column_kind track_columns[] = {
    {"track_id", NULL, SS_COLUMN_INT32},  {"kind", NULL, SS_COLUMN_WORDS},
    {"name", NULL, SS_COLUMN_WORDS},      {"unit", NULL, SS_COLUMN_WORDS},
    {"parent_id", NULL, SS_COLUMN_INT32}, SS_OWNER_COLUMNS,
    {"device_id", NULL, SS_COLUMN_INT32}, {"stream_id", NULL, SS_COLUMN_INT32}};

static void put_track(struct ss_columns *columns, const struct ss_model *model, uint32_t id)
{
    static const char *const kinds[SS_TRACK_KIND_COUNT] = {
        [SS_TRACK_RANGES] = "ranges", [SS_TRACK_ASYNC] = "async",   [SS_TRACK_COUNTER] = "counter",
        [SS_TRACK_STEPS] = "steps",   [SS_TRACK_PHASES] = "phases", [SS_TRACK_GROUP] = "group"};
    const struct ss_model_track *track = &model->tracks.data[id];
    ss_columns_add_row(columns);
    ss_rows_put_id(columns, TRACK_ID, id);
    SS_ROWS_PUT_NAME(columns, TRACK_KIND, kinds, track->kind);
    ss_rows_put_string(columns, TRACK_NAME, model, track->name);
    ss_rows_put_string(columns, TRACK_UNIT, model, track->unit);
    ss_rows_put_id(columns, TRACK_PARENT, track->parent);
    ss_rows_put_owner(columns, TRACK_OWNER, model, track->process, track->thread);
    ss_rows_put_id(columns, TRACK_DEVICE, track->device);
    ss_rows_put_id(columns, TRACK_STREAM, track->stream);
}

struct ss_columns *ss_rows_of_tracks(const struct ss_selection *selection)
{
    const struct ss_model *model = selection->model;
    struct ss_columns *columns = NEW_COLUMNS("tracks", track_columns);
    for (uint32_t i = 1; i < model->tracks.count; i++) {
        const struct ss_model_track *track = &model->tracks.data[i];
        if (track->thread != 0 ? selection->threads[track->thread]
                               : selection->processes[track->process]) {
            put_track(columns, model, i);
        }
    }
    ss_columns_finish(columns);
    return columns;
}
