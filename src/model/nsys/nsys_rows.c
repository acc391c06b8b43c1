/* SPDX-License-Identifier: Apache-2.0 */
#include "model/nsys/nsys_rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

/* Contexts and events without a stream state this number. */
static const int64_t no_stream = UINT32_MAX;

struct key {
    int64_t table, numbers[3];
};

void ss_nsys_rows_init(struct ss_nsys_rows *rows, struct ss_model_builder *builder)
{
    *rows = (struct ss_nsys_rows){.builder = builder, .first_process = -1};
    ss_intern_init(&rows->keys);
}

void ss_nsys_rows_fini(struct ss_nsys_rows *rows)
{
    ss_intern_fini(&rows->keys);
    ss_vec_fini(&rows->entries);
    ss_vec_fini(&rows->threads);
    ss_vec_fini(&rows->gpus);
    ss_vec_fini(&rows->contexts);
    ss_vec_fini(&rows->streams);
    ss_vec_fini(&rows->stream_facts);
}

uint32_t *ss_nsys_entry(struct ss_nsys_rows *rows, enum ss_nsys_table table, int64_t a, int64_t b,
                        int64_t c)
{
    struct key key = {table, {a, b, c}};
    uint32_t id = ss_intern_put(&rows->keys, (const char *)&key, sizeof key);
    if (id >= rows->entries.count) {
        ss_vec_resize(&rows->entries, (size_t)id + 1);
    }
    return &rows->entries.data[id];
}

static struct ss_strview string_of(const struct ss_nsys_rows *rows, uint32_t string)
{
    return ss_intern_get(&ss_model_builder_model(rows->builder)->strings, string);
}

uint32_t ss_nsys_put_name(struct ss_nsys_rows *rows, const struct ss_trace_name *name)
{
    int64_t text = ss_model_builder_text(rows->builder, name->text);
    int64_t category = ss_model_builder_text(rows->builder, name->category);
    int64_t style = (int64_t)name->colour << 8 | name->type;
    uint32_t *known = ss_nsys_entry(rows, SS_NSYS_NAME, text, category, style);
    if (*known == 0) {
        *known = ss_model_builder_name(rows->builder, name);
    }
    return *known;
}

/* --- processes and threads -------------------------------------------------------------------- */

/* Reports of older versions do not name processes; their main threads have a name. */
static struct ss_strview process_name(struct ss_nsys_rows *rows, int64_t key)
{
    uint32_t name = *ss_nsys_entry(rows, SS_NSYS_PROCESS_NAME, key, 0, 0);
    if (name == 0) {
        int64_t main_thread = (int64_t)((uint64_t)key << 24 | (uint64_t)ss_nsys_pid(key));
        name = *ss_nsys_entry(rows, SS_NSYS_THREAD_NAME, main_thread, 0, 0);
    }
    return string_of(rows, name);
}

uint32_t ss_nsys_process(struct ss_nsys_rows *rows, int64_t key)
{
    uint32_t known = *ss_nsys_entry(rows, SS_NSYS_PROCESS, key, 0, 0);
    if (known == 0) {
        uint32_t rank = *ss_nsys_entry(rows, SS_NSYS_RANK, key, 0, 0);
        struct ss_trace_process row = {.pid = key == -1 ? -1 : ss_nsys_pid(key),
                                       .parent_pid = -1,
                                       .name = process_name(rows, key),
                                       .has_rank = rank != 0,
                                       .rank = rank != 0 ? rank - 1 : 0};
        known = ss_model_builder_process(rows->builder, 0, &row);
        *ss_nsys_entry(rows, SS_NSYS_PROCESS, key, 0, 0) = known;
    }
    return known;
}

uint32_t ss_nsys_thread(struct ss_nsys_rows *rows, int64_t global_tid)
{
    uint32_t known = *ss_nsys_entry(rows, SS_NSYS_THREAD, global_tid, 0, 0);
    if (known == 0) {
        int64_t key = ss_nsys_process_key(global_tid);
        int32_t tid = (int32_t)(global_tid & 0xffffff);
        struct ss_nsys_thread thread = {.process = ss_nsys_process(rows, key)};
        uint32_t name = *ss_nsys_entry(rows, SS_NSYS_THREAD_NAME, global_tid, 0, 0);
        struct ss_trace_thread row = {.process_ref = thread.process,
                                      .tid = tid,
                                      .is_main = tid == ss_nsys_pid(key),
                                      .name = string_of(rows, name)};
        thread.row = ss_model_builder_thread(rows->builder, 0, &row);
        ss_vec_push(&rows->threads, thread);
        known = (uint32_t)rows->threads.count;
        *ss_nsys_entry(rows, SS_NSYS_THREAD, global_tid, 0, 0) = known;
    }
    return known - 1;
}

uint32_t ss_nsys_thread_track(struct ss_nsys_rows *rows, uint32_t thread, enum ss_track_kind kind,
                              struct ss_strview name)
{
    uint32_t string = ss_model_builder_text(rows->builder, name);
    uint32_t *known = ss_nsys_entry(rows, SS_NSYS_THREAD_TRACK, thread, string, kind);
    if (*known == 0) {
        struct ss_trace_track row = {.kind = kind,
                                     .process_ref = rows->threads.data[thread].process,
                                     .thread_ref = rows->threads.data[thread].row,
                                     .name = name};
        *known = ss_model_builder_track(rows->builder, 0, &row);
    }
    return *known;
}

uint32_t ss_nsys_process_track(struct ss_nsys_rows *rows, uint32_t process_row,
                               struct ss_strview name)
{
    uint32_t string = ss_model_builder_text(rows->builder, name);
    uint32_t *known = ss_nsys_entry(rows, SS_NSYS_PROCESS_TRACK, process_row, string, 0);
    if (*known == 0) {
        struct ss_trace_track row = {
            .kind = SS_TRACK_RANGES, .process_ref = process_row, .name = name};
        *known = ss_model_builder_track(rows->builder, 0, &row);
    }
    return *known;
}

/* --- devices ---------------------------------------------------------------------------------- */

int64_t ss_nsys_gpu_of(struct ss_nsys_rows *rows, int64_t process_key, int64_t device)
{
    uint32_t gpu = *ss_nsys_entry(rows, SS_NSYS_GPU_OF_DEVICE, ss_nsys_pid(process_key), device, 0);
    gpu = gpu != 0 ? gpu : *ss_nsys_entry(rows, SS_NSYS_GPU_OF_NUMBER, device, 0, 0);
    return gpu != 0 ? (int64_t)gpu - 1 : device;
}

const struct ss_nsys_gpu *ss_nsys_gpu(struct ss_nsys_rows *rows, int64_t gpu)
{
    uint32_t index = *ss_nsys_entry(rows, SS_NSYS_GPU, gpu, 0, 0);
    return index != 0 ? &rows->gpus.data[index - 1] : NULL;
}

uint32_t ss_nsys_device(struct ss_nsys_rows *rows, int64_t gpu)
{
    uint32_t known = *ss_nsys_entry(rows, SS_NSYS_DEVICE, gpu, 0, 0);
    if (known == 0) {
        const struct ss_nsys_gpu *facts = ss_nsys_gpu(rows, gpu);
        bool is_number = gpu >= 0 && gpu < INT32_MAX;
        struct ss_trace_device row = {.kind = SS_DEVICE_GPU,
                                      .number = is_number ? (uint32_t)gpu + 1 : 0};
        if (facts != NULL) {
            row.model = string_of(rows, facts->name);
            row.uuid = string_of(rows, facts->uuid);
            row.pci_address = string_of(rows, facts->pci_address);
            row.memory_bytes = facts->memory_bytes;
        }
        known = ss_model_builder_device(rows->builder, 0, &row);
        *ss_nsys_entry(rows, SS_NSYS_DEVICE, gpu, 0, 0) = known;
    }
    return known;
}

uint32_t ss_nsys_device_group(struct ss_nsys_rows *rows, uint32_t process_row, uint32_t device)
{
    uint32_t *known = ss_nsys_entry(rows, SS_NSYS_GROUP, process_row, device, 0);
    if (*known == 0) {
        char name[32];
        int32_t number = ss_model_builder_model(rows->builder)->devices.data[device].number;
        snprintf(name, sizeof name, "GPU %" PRId32, number);
        struct ss_trace_track row = {.kind = SS_TRACK_GROUP,
                                     .process_ref = process_row,
                                     .device_ref = device,
                                     .name = ss_strview_of(number >= 0 ? name : "GPU")};
        *known = ss_model_builder_track(rows->builder, 0, &row);
    }
    return *known;
}

uint32_t ss_nsys_context(struct ss_nsys_rows *rows, int64_t process_key, int64_t number,
                         int64_t device)
{
    uint32_t known = *ss_nsys_entry(rows, SS_NSYS_CONTEXT, process_key, number, 0);
    if (known == 0) {
        struct ss_nsys_context context = {.process = ss_nsys_process(rows, process_key),
                                          .gpu = ss_nsys_gpu_of(rows, process_key, device),
                                          .number = number};
        context.device = ss_nsys_device(rows, context.gpu);
        struct ss_trace_context row = {.process_ref = context.process,
                                       .device_ref = context.device,
                                       .number = (uint64_t)number};
        context.row = ss_model_builder_context(rows->builder, 0, &row);
        ss_vec_push(&rows->contexts, context);
        known = (uint32_t)rows->contexts.count;
        *ss_nsys_entry(rows, SS_NSYS_CONTEXT, process_key, number, 0) = known;
    }
    return known - 1;
}

/* --- streams ---------------------------------------------------------------------------------- */

static void set_facts(struct ss_nsys_rows *rows, int64_t process_key, int64_t context,
                      struct ss_trace_stream *row)
{
    int64_t pid = ss_nsys_pid(process_key), number = (int64_t)row->number;
    uint32_t index = *ss_nsys_entry(rows, SS_NSYS_STREAM_FACTS, pid, context, number);
    uint32_t null_stream = *ss_nsys_entry(rows, SS_NSYS_NULL_STREAM, pid, context, 0);
    row->is_default = null_stream != 0 && (int64_t)null_stream - 1 == number;
    if (index != 0) {
        const struct ss_nsys_stream_facts *facts = &rows->stream_facts.data[index - 1];
        row->priority = facts->priority;
        row->name = string_of(rows, facts->name);
        row->is_default = row->is_default || facts->is_default;
    }
}

uint32_t ss_nsys_stream(struct ss_nsys_rows *rows, int64_t process_key, uint32_t context,
                        int64_t number)
{
    const struct ss_nsys_context *of = &rows->contexts.data[context];
    uint32_t known = *ss_nsys_entry(rows, SS_NSYS_STREAM, process_key, of->number, number);
    if (known == 0) {
        struct ss_nsys_stream stream = {.context = context, .number = number};
        struct ss_trace_stream row = {.device_ref = of->device,
                                      .context_ref = of->row,
                                      .number = (uint64_t)number,
                                      .name = {"", 0}};
        if (number != no_stream) {
            set_facts(rows, process_key, of->number, &row);
            stream.row = ss_model_builder_stream(rows->builder, 0, &row);
        }
        ss_vec_push(&rows->streams, stream);
        known = (uint32_t)rows->streams.count;
        *ss_nsys_entry(rows, SS_NSYS_STREAM, process_key, of->number, number) = known;
    }
    return known - 1;
}

static uint32_t add_track(struct ss_nsys_rows *rows, const struct ss_nsys_stream *stream,
                          const char *name, uint32_t stream_ref)
{
    const struct ss_nsys_context *context = &rows->contexts.data[stream->context];
    struct ss_trace_track row = {.kind = SS_TRACK_RANGES,
                                 .process_ref = context->process,
                                 .device_ref = context->device,
                                 .stream_ref = stream_ref,
                                 .parent_ref =
                                     ss_nsys_device_group(rows, context->process, context->device),
                                 .name = ss_strview_of(name)};
    return ss_model_builder_track(rows->builder, 0, &row);
}

uint32_t ss_nsys_stream_track(struct ss_nsys_rows *rows, uint32_t index)
{
    struct ss_nsys_stream *stream = &rows->streams.data[index];
    if (stream->track == 0) {
        char name[64];
        snprintf(name, sizeof name, "stream %" PRId64, stream->number);
        stream->track = add_track(rows, stream, name, stream->row);
    }
    return stream->track;
}

uint32_t ss_nsys_wait_track(struct ss_nsys_rows *rows, uint32_t index)
{
    struct ss_nsys_stream *stream = &rows->streams.data[index];
    if (stream->wait_track == 0) {
        char name[64];
        bool is_of_context = stream->number == no_stream;
        snprintf(name, sizeof name, "%s %" PRId64 " synchronisations",
                 is_of_context ? "context" : "stream",
                 is_of_context ? rows->contexts.data[stream->context].number : stream->number);
        stream->wait_track = add_track(rows, stream, name, 0);
    }
    return stream->wait_track;
}
