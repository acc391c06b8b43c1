/* SPDX-License-Identifier: Apache-2.0 */
#include "view/export/chrome.h"

#include <inttypes.h>
#include <string.h>

#include "analysis/report/trust.h"
#include "base/alloc.h"
#include "base/version.h"
#include "view/export/chrome_build.h"
#include "view/output/json_text.h"
#include "view/output/pair_ids.h"
#include "view/output/shown.h"

static const char *category_of(const struct ss_model_frame *frame)
{
    switch (frame->origin) {
    case SS_ORIGIN_STDLIB:
        return "stdlib";
    case SS_ORIGIN_PACKAGE:
        return "package";
    case SS_ORIGIN_NATIVE:
        return "native";
    case SS_ORIGIN_DEVICE:
        return "device";
    default:
        return "user";
    }
}

void ss_chrome_begin_event(struct ss_chrome_writing *writing)
{
    ss_sink_text(writing->sink, writing->any_event ? ",\n{" : "\n{");
    writing->any_event = true;
}

enum { HOST_NAME_BYTES = 8192 };

/* ---- names ----------------------------------------------------------------------------- */

void ss_chrome_metadata(struct ss_chrome_writing *writing, const char *what, const char *key,
                        int64_t pid, int64_t tid, struct ss_strview text)
{
    ss_chrome_begin_event(writing);
    ss_sink_format(writing->sink,
                   "\"ph\":\"M\",\"name\":\"%s\",\"pid\":%" PRId64 ",\"tid\":%" PRId64
                   ",\"ts\":0,\"args\":{\"%s\":",
                   what, pid, tid, key);
    ss_json_write_plain(writing->sink, text);
    ss_sink_text(writing->sink, "}}");
}

static void number_processes(struct ss_chrome_writing *writing)
{
    const struct ss_model *model = writing->selection->model;
    struct ss_pair_ids used_pids = {0};
    for (uint32_t i = 0; i < model->processes.count; i++) {
        int32_t pid = model->processes.data[i].pid;
        uint32_t *uses = pid > 0 ? ss_pair_ids_at(&used_pids, (uint32_t)pid) : NULL;
        bool has_own_pid = uses != NULL && *uses == 0;
        if (has_own_pid) {
            *uses = 1;
        }
        writing->pid_of_process[i] = has_own_pid ? pid : FIRST_SYNTHETIC_ID + (int64_t)i;
    }
    for (size_t i = 0; i < model->inputs.count; i++) {
        size_t host = model->processes.count + i;
        writing->pid_of_process[host] = FIRST_SYNTHETIC_ID + (int64_t)host;
    }
    ss_pair_ids_fini(&used_pids);
}

uint32_t ss_chrome_owner(const struct ss_chrome_writing *writing, uint32_t track)
{
    const struct ss_model *model = writing->selection->model;
    const struct ss_model_track *row = &model->tracks.data[track];
    uint32_t host = row->input > 0 ? (uint32_t)model->processes.count + row->input : 0;
    return row->process != 0 ? row->process : host;
}

/* With several inputs, the name contains the input's file. */
static void name_host(struct ss_chrome_writing *writing, uint32_t input, int64_t pid)
{
    const struct ss_model *model = writing->selection->model;
    struct ss_strbuf name;
    ss_strbuf_init(&name, HOST_NAME_BYTES);
    ss_strbuf_append_text(&name, "host");
    if (model->inputs.count > 1) {
        const char *path = ss_model_text(model, model->inputs.data[input].path);
        const char *slash = strrchr(path, '/');
        ss_strbuf_append_format(&name, " of %s", slash != NULL ? slash + 1 : path);
    }
    ss_chrome_metadata(writing, "process_name", "name", pid, pid,
                       (struct ss_strview){name.data, name.length});
    ss_strbuf_fini(&name);
}

/* Perfetto shows no labels of processes: "rank 0: " begins the name. The importer takes it off. */
static void name_program(struct ss_chrome_writing *writing, const struct ss_model_process *row,
                         int64_t pid)
{
    const struct ss_model *model = writing->selection->model;
    uint32_t known = row->cmdline != 0 ? row->cmdline : row->name;
    struct ss_strbuf name;
    ss_strbuf_init(&name, SIZE_MAX);
    if (row->label != 0) {
        ss_strbuf_append_view(&name, ss_intern_get(&model->strings, row->label));
        ss_strbuf_append_text(&name, known != 0 ? ": " : "");
    }
    ss_strbuf_append_view(&name, ss_intern_get(&model->strings, known));
    if (name.length > 0) {
        ss_chrome_metadata(writing, "process_name", "name", pid, pid,
                           (struct ss_strview){name.data, name.length});
    }
    ss_strbuf_fini(&name);
}

static void write_sort_index(struct ss_chrome_writing *writing, int64_t pid, uint32_t index)
{
    ss_chrome_begin_event(writing);
    ss_sink_format(writing->sink,
                   "\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":%" PRId64
                   ",\"tid\":%" PRId64 ",\"ts\":0,\"args\":{\"sort_index\":%" PRIu32 "}}",
                   pid, pid, index);
}

void ss_chrome_name_process(struct ss_chrome_writing *writing, uint32_t process)
{
    if (writing->process_named[process]) {
        return;
    }
    writing->process_named[process] = true;
    const struct ss_model *model = writing->selection->model;
    if (process == 0 || process >= model->processes.count) {
        uint32_t input = process > 0 ? process - (uint32_t)model->processes.count : 0;
        name_host(writing, input, writing->pid_of_process[process]);
        return;
    }
    const struct ss_model_process *row = &model->processes.data[process];
    int64_t pid = writing->pid_of_process[process];
    name_program(writing, row, pid);
    if (row->has_rank) {
        write_sort_index(writing, pid, row->rank);
    }
    if (row->label != 0) {
        ss_chrome_metadata(writing, "process_labels", "labels", pid, pid,
                           ss_intern_get(&model->strings, row->label));
    }
}

/* ---- events ---------------------------------------------------------------------------- */

static void write_begin(struct ss_chrome_writing *writing, uint32_t frame, int64_t pid, int64_t tid,
                        uint64_t time_ns)
{
    const struct ss_model *model = writing->selection->model;
    const struct ss_model_frame *row = &model->frames.data[frame];
    struct ss_strview file = ss_frame_file(model, row, &writing->options->style);
    int32_t line = ss_frame_line(row, &writing->options->style);
    uint32_t name = row->function != 0 ? row->function : row->name;
    ss_chrome_begin_event(writing);
    ss_sink_format(writing->sink,
                   "\"ph\":\"B\",\"pid\":%" PRId64 ",\"tid\":%" PRId64 ",\"ts\":", pid, tid);
    ss_json_write_us(writing->sink, time_ns);
    ss_sink_format(writing->sink, ",\"cat\":\"%s\",\"name\":", category_of(row));
    ss_json_write_plain(writing->sink, ss_intern_get(&model->strings, name));
    if (file.length > 0) {
        ss_sink_text(writing->sink, ",\"args\":{\"file\":");
        ss_json_write_plain(writing->sink, file);
        if (line > 0) {
            ss_sink_format(writing->sink, ",\"line\":%" PRId32, line);
        }
        ss_sink_text(writing->sink, "}");
    }
    ss_sink_text(writing->sink, "}");
}

static void close_to_depth(struct ss_chrome_writing *writing, size_t depth, int64_t pid,
                           int64_t tid, uint64_t time_ns)
{
    while (writing->open.count > depth) {
        writing->open.count--;
        ss_chrome_begin_event(writing);
        ss_sink_format(writing->sink,
                       "\"ph\":\"E\",\"pid\":%" PRId64 ",\"tid\":%" PRId64 ",\"ts\":", pid, tid);
        ss_json_write_us(writing->sink, time_ns);
        ss_sink_text(writing->sink, "}");
    }
}

/* Samples cannot distinguish calls of one function: they count as one call, whose line advances. */
static bool same_call(const struct ss_model *model, uint32_t a, uint32_t b)
{
    const struct ss_model_frame *left = &model->frames.data[a], *right = &model->frames.data[b];
    return a == b || (left->function == right->function && left->name == right->name &&
                      left->file == right->file && left->first_line == right->first_line);
}

static void write_span(struct ss_chrome_writing *writing, const struct ss_span *span, int64_t pid,
                       int64_t tid)
{
    const struct ss_model *model = writing->selection->model;
    ss_vec_clear(&writing->path);
    for (uint32_t stack = span->stack; stack != 0; stack = model->stacks.data[stack].parent) {
        ss_vec_push(&writing->path, model->stacks.data[stack].frame);
    }
    size_t depth = writing->path.count, shared = 0;
    while (shared < depth && shared < writing->open.count &&
           same_call(model, writing->open.data[shared], writing->path.data[depth - 1 - shared])) {
        shared++;
    }
    close_to_depth(writing, shared, pid, tid, span->start_ns);
    for (; shared < depth; shared++) {
        uint32_t frame = writing->path.data[depth - 1 - shared];
        write_begin(writing, frame, pid, tid, span->start_ns);
        ss_vec_push(&writing->open, frame);
    }
}

static void write_thread(struct ss_chrome_writing *writing, uint32_t thread)
{
    const struct ss_model *model = writing->selection->model;
    const struct ss_model_thread *row = &model->threads.data[thread];
    ss_spans_of_thread(&writing->spans, thread, &writing->list);
    if (writing->list.count == 0) {
        return;
    }
    int64_t pid = writing->pid_of_process[row->process];
    int64_t tid = row->tid > 0 ? row->tid : FIRST_SYNTHETIC_ID + (int64_t)thread;
    ss_chrome_name_process(writing, row->process);
    if (row->name != 0) {
        ss_chrome_metadata(writing, "thread_name", "name", pid, tid,
                           ss_intern_get(&model->strings, row->name));
    }
    uint64_t end_ns = 0;
    for (size_t i = 0; i < writing->list.count && !ss_sink_failed(writing->sink); i++) {
        const struct ss_span *span = &writing->list.data[i];
        if (span->start_ns != end_ns) {
            close_to_depth(writing, 0, pid, tid, end_ns);
        }
        write_span(writing, span, pid, tid);
        end_ns = span->end_ns;
    }
    close_to_depth(writing, 0, pid, tid, end_ns);
}

static void write_head(struct ss_chrome_writing *writing)
{
    struct ss_trust trust;
    ss_trust_init(&trust, writing->selection);
    ss_sink_text(writing->sink, "{\"displayTimeUnit\":\"ms\",\n\"otherData\":{\"exporter\":"
                                "\"stepscope " SS_VERSION "\",\"command\":");
    ss_json_write_plain(writing->sink, ss_strview_of(trust.all.command));
    ss_sink_text(writing->sink, ",\"hostname\":");
    ss_json_write_plain(writing->sink, ss_strview_of(trust.all.hostname));
    ss_sink_format(writing->sink,
                   ",\"start_unix_ns\":\"%" PRId64 "\",\"rate_hz\":\"%g\",\"first_sample_"
                   "monotonic_ns\":\"%" PRIu64 "\"},\n\"traceEvents\":[",
                   trust.all.start_unix_ns, trust.all.requested_hz, writing->spans.base_ns[0]);
    ss_trust_fini(&trust);
}

static enum ss_status check_times(const struct ss_model *model, struct ss_error *err)
{
    for (size_t i = 0; i < model->inputs.count; i++) {
        if (model->inputs.data[i].is_untimed) {
            return ss_fail(err, SS_E_UNSUPPORTED,
                           "%s has no times, which Chrome trace events need; raw files can become "
                           "speedscope and flamegraph",
                           ss_model_text(model, model->inputs.data[i].path));
        }
    }
    return SS_OK;
}

enum ss_status ss_view_chrome(const struct ss_selection *selection,
                              const struct ss_chrome_options *options, struct ss_sink *sink,
                              struct ss_error *err)
{
    const struct ss_model *model = selection->model;
    SS_TRY(check_times(model, err));
    if (selection->shown == 0 && !ss_chrome_has_tracks(selection)) {
        return ss_fail_no_samples(selection, err);
    }
    size_t owners = model->processes.count + model->inputs.count + 1;
    struct ss_chrome_writing writing = {.selection = selection,
                                        .options = options,
                                        .sink = sink,
                                        .pid_of_process = ss_alloc_zero(owners, sizeof(int64_t)),
                                        .process_named = ss_alloc_zero(owners, sizeof(bool))};
    ss_spans_init(&writing.spans, selection);
    number_processes(&writing);
    write_head(&writing);
    for (uint32_t thread = 0; thread < model->threads.count && !ss_sink_failed(sink); thread++) {
        write_thread(&writing, thread);
    }
    ss_chrome_write_tracks(&writing);
    ss_sink_text(sink, "]}\n");
    ss_spans_fini(&writing.spans);
    ss_free(writing.pid_of_process);
    ss_free(writing.process_named);
    ss_vec_fini(&writing.list);
    ss_vec_fini(&writing.open);
    ss_vec_fini(&writing.path);
    return SS_OK;
}
