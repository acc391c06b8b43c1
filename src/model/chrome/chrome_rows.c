/* SPDX-License-Identifier: Apache-2.0 */
/* Processes, threads, devices and streams of a file, and their tracks. */
#include "model/chrome/chrome_rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/shared_names.h"
#include "model/core/domains.h"

enum { MOST_TEXT_BYTES = 1 << 20, FIRST_UNKNOWN_TID = INT32_MAX, MOST_GROUPS = 4096 };

enum table { OF_PROCESS, OF_THREAD, OF_DEVICE, OF_STREAM, OF_CONTEXT, OF_COUNTER };

/* The key of a row: ids that are not numbers are texts. */
struct key {
    enum table table;
    uint32_t texts[2];
    int64_t numbers[2];
};

void ss_chrome_rows_init(struct ss_chrome_rows *rows, struct ss_model_builder *builder)
{
    *rows = (struct ss_chrome_rows){.builder = builder, .rank = -1, .world_size = -1};
    ss_intern_init(&rows->keys);
    ss_intern_init(&rows->categories);
    ss_intern_init(&rows->texts);
    ss_strbuf_init(&rows->text, MOST_TEXT_BYTES);
    ss_strbuf_init(&rows->stack, MOST_TEXT_BYTES);
}

void ss_chrome_rows_fini(struct ss_chrome_rows *rows)
{
    for (size_t i = 0; i < rows->processes.count; i++) {
        ss_free(rows->processes.data[i].name);
        ss_free(rows->processes.data[i].labels);
    }
    for (size_t i = 0; i < rows->threads.count; i++) {
        ss_free(rows->threads.data[i].name);
        ss_vec_fini(&rows->threads.data[i].open_tracks);
    }
    for (size_t i = 0; i < rows->devices.count; i++) {
        ss_free(rows->devices.data[i].model);
    }
    for (size_t i = 0; i < SS_CHROME_KINDS; i++) {
        ss_vec_fini(&rows->names[i]);
    }
    ss_vec_fini(&rows->processes);
    ss_vec_fini(&rows->threads);
    ss_vec_fini(&rows->devices);
    ss_vec_fini(&rows->streams);
    ss_vec_fini(&rows->groups);
    ss_vec_fini(&rows->by_key);
    ss_vec_fini(&rows->kinds);
    ss_intern_fini(&rows->keys);
    ss_intern_fini(&rows->categories);
    ss_intern_fini(&rows->texts);
    ss_strbuf_fini(&rows->text);
    ss_strbuf_fini(&rows->stack);
}

struct ss_strview ss_chrome_unescaped(struct ss_chrome_rows *rows, struct ss_json_text text)
{
    if (!text.has_escapes) {
        return text.raw;
    }
    ss_strbuf_clear(&rows->text);
    ss_json_unescape(text, &rows->text);
    return (struct ss_strview){rows->text.data, rows->text.length};
}

/* --- keys ------------------------------------------------------------------------------------- */

static void put_id(struct ss_chrome_rows *rows, struct key *key, int at,
                   const struct ss_chrome_id *id)
{
    if (id->is_number) {
        key->numbers[at] = id->number;
    } else { /* plus one: the empty text is an id, too */
        key->texts[at] = 1 + ss_intern_put(&rows->texts, id->text.raw.data, id->text.raw.length);
    }
}

/* The entry of by_key; 0: the row is new. */
static uint32_t *find(struct ss_chrome_rows *rows, const struct key *key)
{
    uint32_t id = ss_intern_put(&rows->keys, (const char *)key, sizeof *key);
    if (id >= rows->by_key.count) {
        ss_vec_resize(&rows->by_key, (size_t)id + 1);
    }
    return &rows->by_key.data[id];
}

uint32_t ss_chrome_process(struct ss_chrome_rows *rows, const struct ss_chrome_id *pid)
{
    struct key key;
    memset(&key, 0, sizeof key);
    key.table = OF_PROCESS;
    put_id(rows, &key, 0, pid);
    uint32_t *known = find(rows, &key);
    if (*known == 0) {
        bool is_pid = pid->is_number && pid->number >= 0 && pid->number <= INT32_MAX;
        struct ss_chrome_process process = {.pid = is_pid ? pid->number : -1};
        if (!pid->is_number && pid->text.raw.length > 0) {
            struct ss_strview text = ss_chrome_unescaped(rows, pid->text);
            process.name = ss_strndup(text.data, text.length);
        }
        ss_vec_push(&rows->processes, process);
        *known = (uint32_t)rows->processes.count;
    }
    return *known - 1;
}

/* Kineto truncates ids of pthreads, so that they may be negative; -1 is unknown. */
static bool is_numbered(const struct ss_chrome_id *tid)
{
    return tid->is_number && tid->number != -1;
}

/* Texts are names: such threads get a number that no thread has. */
static int64_t tid_of(const struct ss_chrome_rows *rows, const struct ss_chrome_id *tid)
{
    return is_numbered(tid) ? tid->number : FIRST_UNKNOWN_TID - (int64_t)rows->threads.count;
}

/* Records have 31 bits for a thread id; larger ids are pthread handles. */
static int32_t short_tid(const struct ss_chrome_rows *rows, const struct ss_chrome_thread *thread)
{
    int64_t index = thread - rows->threads.data;
    bool is_short = thread->tid >= INT32_MIN && thread->tid <= INT32_MAX;
    return is_short ? (int32_t)thread->tid : (int32_t)(FIRST_UNKNOWN_TID - index);
}

uint32_t ss_chrome_thread(struct ss_chrome_rows *rows, const struct ss_chrome_id *pid,
                          const struct ss_chrome_id *tid)
{
    struct key key;
    memset(&key, 0, sizeof key);
    key.table = OF_THREAD;
    put_id(rows, &key, 0, pid);
    put_id(rows, &key, 1, tid);
    uint32_t *known = find(rows, &key);
    if (*known == 0) {
        struct ss_chrome_thread thread = {.tid = tid_of(rows, tid), .is_named = !is_numbered(tid)};
        if (!tid->is_number && tid->text.raw.length > 0) {
            struct ss_strview text = ss_chrome_unescaped(rows, tid->text);
            thread.name = ss_strndup(text.data, text.length);
        }
        ss_vec_push(&rows->threads, thread);
        *known = (uint32_t)rows->threads.count;
        uint32_t index = *known - 1;
        uint32_t process = ss_chrome_process(rows, pid); /* moves by_key */
        rows->threads.data[index].process = process;
        return index;
    }
    return *known - 1;
}

void ss_chrome_lane(struct ss_chrome_rows *rows, const struct ss_chrome_id *pid,
                    const struct ss_chrome_id *tid, const struct ss_chrome_id *of)
{
    struct key key;
    memset(&key, 0, sizeof key);
    key.table = OF_THREAD;
    put_id(rows, &key, 0, pid);
    put_id(rows, &key, 1, tid);
    uint32_t thread = ss_chrome_thread(rows, pid, of);
    uint32_t *known = find(rows, &key);
    *known = *known == 0 ? thread + 1 : *known;
}

uint32_t ss_chrome_device(struct ss_chrome_rows *rows, int64_t number)
{
    struct key key;
    memset(&key, 0, sizeof key);
    key.table = OF_DEVICE;
    key.numbers[0] = number;
    uint32_t *known = find(rows, &key);
    if (*known == 0) {
        ss_vec_push(&rows->devices, (struct ss_chrome_device){.number = number});
        *known = (uint32_t)rows->devices.count;
    }
    return *known - 1;
}

/* --- processes and threads -------------------------------------------------------------------- */

static struct ss_strview view_of(const char *text)
{
    return ss_strview_of(text != NULL ? text : "");
}

/* Our export begins the name of a process with its label. */
static struct ss_strview name_without_label(const struct ss_chrome_process *process)
{
    struct ss_strview name = view_of(process->name), label = view_of(process->labels);
    size_t prefix = label.length + strlen(": ");
    if (label.length > 0 && name.length > prefix &&
        memcmp(name.data, label.data, label.length) == 0 &&
        memcmp(name.data + label.length, ": ", strlen(": ")) == 0) {
        return (struct ss_strview){name.data + prefix, name.length - prefix};
    }
    return name;
}

static void put_process(struct ss_chrome_rows *rows, struct ss_chrome_process *process)
{
    bool is_owner = rows->owner != 0 && process == &rows->processes.data[rows->owner - 1];
    struct ss_trace_process row = {.pid = (int32_t)process->pid,
                                   .parent_pid = -1,
                                   .name = name_without_label(process),
                                   .label = view_of(process->labels)};
    if (is_owner && rows->rank >= 0) {
        row.has_rank = true;
        row.rank = (uint32_t)rows->rank;
        row.world_size = rows->world_size > 0 ? (uint32_t)rows->world_size : 0;
    }
    process->row = ss_model_builder_process(rows->builder, process->row, &row);
}

/* The process of a thread that has an event: it is not a device. */
static uint32_t process_row(struct ss_chrome_rows *rows, uint32_t index)
{
    struct ss_chrome_process *process = &rows->processes.data[index];
    struct ss_chrome_process *owner =
        rows->owner != 0 ? &rows->processes.data[rows->owner - 1] : NULL;
    if (process->row == 0 && owner != NULL && owner->pid < 0 && owner->is_device) {
        process->row = owner->row; /* device work came first */
        rows->owner = index + 1;
    }
    if (process->row == 0 || process->is_device) {
        process->is_device = false;
    }
    if (process->row == 0 || rows->owner == index + 1) {
        put_process(rows, process);
    }
    rows->owner = rows->owner == 0 ? index + 1 : rows->owner;
    return process->row;
}

uint32_t ss_chrome_process_row(struct ss_chrome_rows *rows, uint32_t process)
{
    return process_row(rows, process);
}

uint32_t ss_chrome_owner_row(struct ss_chrome_rows *rows)
{
    if (rows->owner == 0) { /* until a thread has an event, a process of unknown id stands for it */
        ss_vec_push(&rows->processes, (struct ss_chrome_process){.pid = -1, .is_device = true});
        rows->owner = (uint32_t)rows->processes.count;
        put_process(rows, &rows->processes.data[rows->owner - 1]);
    }
    return rows->processes.data[rows->owner - 1].row;
}

static void put_thread(struct ss_chrome_rows *rows, struct ss_chrome_thread *thread, bool is_main)
{
    struct ss_chrome_process *process = &rows->processes.data[thread->process];
    struct ss_trace_thread row = {.process_ref = process->row,
                                  .tid = short_tid(rows, thread),
                                  .is_main = is_main,
                                  .name = view_of(thread->name)};
    thread->row = ss_model_builder_thread(rows->builder, thread->row, &row);
    ss_model_builder_long_tid(rows->builder, thread->row, thread->is_named ? -1 : thread->tid);
}

static uint32_t thread_row(struct ss_chrome_rows *rows, uint32_t index)
{
    struct ss_chrome_thread *thread = &rows->threads.data[index];
    if (thread->row == 0) {
        process_row(rows, thread->process);
        put_thread(rows, thread, false);
    }
    return thread->row;
}

static struct ss_chrome_group *find_group(struct ss_chrome_rows *rows, uint32_t text)
{
    for (size_t i = 0; i < rows->groups.count; i++) {
        if (rows->groups.data[i].text == text) {
            return &rows->groups.data[i];
        }
    }
    return NULL;
}

void ss_chrome_define_group(struct ss_chrome_rows *rows, const struct ss_trace_group *group)
{
    uint32_t text = ss_intern_put(&rows->texts, group->name.data, group->name.length);
    if (find_group(rows, text) == NULL && rows->groups.count < MOST_GROUPS) {
        uint32_t row = ss_model_builder_group(rows->builder, 0, group);
        ss_vec_push(&rows->groups, (struct ss_chrome_group){text, row});
    }
}

uint32_t ss_chrome_group(struct ss_chrome_rows *rows, struct ss_strview name)
{
    uint32_t text = ss_intern_put(&rows->texts, name.data, name.length);
    if (find_group(rows, text) == NULL) {
        ss_chrome_define_group(rows, &(struct ss_trace_group){.name = name});
    }
    const struct ss_chrome_group *group = find_group(rows, text);
    return group != NULL ? group->row : 0;
}

uint32_t ss_chrome_thread_track(struct ss_chrome_rows *rows, uint32_t index,
                                enum ss_chrome_track kind)
{
    static const char *const names[SS_CHROME_TRACKS] = {[SS_CHROME_OWN_TRACK] = "",
                                                        [SS_CHROME_PYTHON_TRACK] = SS_DOMAIN_PYTHON,
                                                        [SS_CHROME_MEMORY_TRACK] = SS_DOMAIN_MEMORY,
                                                        [SS_CHROME_STEP_TRACK] = "step"};
    uint32_t *track = &rows->threads.data[index].tracks[kind];
    if (*track == 0) {
        const char *name = kind == SS_CHROME_TORCH_TRACK    ? ss_domain_torch
                           : kind == SS_CHROME_MODULE_TRACK ? ss_domain_torch_module
                                                            : names[kind];
        bool is_steps = kind == SS_CHROME_STEP_TRACK;
        uint32_t thread = thread_row(rows, index);
        struct ss_trace_track row = {
            .kind = is_steps ? SS_TRACK_STEPS : SS_TRACK_RANGES,
            .process_ref = rows->processes.data[rows->threads.data[index].process].row,
            .thread_ref = thread,
            .name = ss_strview_of(name)};
        *track = ss_model_builder_track(rows->builder, 0, &row);
    }
    return *track;
}

uint32_t ss_chrome_overhead_track(struct ss_chrome_rows *rows)
{
    if (rows->overhead_track == 0) {
        struct ss_trace_track row = {.kind = SS_TRACK_RANGES,
                                     .process_ref = ss_chrome_owner_row(rows),
                                     .name = ss_strview_of(SS_DOMAIN_OVERHEAD)};
        rows->overhead_track = ss_model_builder_track(rows->builder, 0, &row);
    }
    return rows->overhead_track;
}

uint32_t ss_chrome_counter_track(struct ss_chrome_rows *rows, uint32_t process,
                                 struct ss_json_text name, struct ss_json_text series)
{
    struct key key;
    struct ss_strbuf text;
    memset(&key, 0, sizeof key);
    key.table = OF_COUNTER;
    key.numbers[0] = process;
    key.texts[0] = ss_intern_put(&rows->texts, name.raw.data, name.raw.length);
    key.texts[1] = ss_intern_put(&rows->texts, series.raw.data, series.raw.length);
    uint32_t *known = find(rows, &key);
    if (*known == 0) {
        ss_strbuf_init(&text, MOST_TEXT_BYTES);
        ss_strbuf_append_view(&text, ss_chrome_unescaped(rows, name));
        ss_strbuf_append_char(&text, ' ');
        ss_strbuf_append_view(&text, ss_chrome_unescaped(rows, series));
        struct ss_trace_track row = {.kind = SS_TRACK_COUNTER,
                                     .process_ref = process_row(rows, process),
                                     .name = {text.data, text.length}};
        *known = ss_model_builder_track(rows->builder, 0, &row);
        ss_strbuf_fini(&text);
    }
    return *known;
}

/* --- devices and streams ---------------------------------------------------------------------- */

static void put_device(struct ss_chrome_rows *rows, struct ss_chrome_device *device)
{
    bool is_number = device->number >= 0 && device->number < UINT32_MAX;
    struct ss_trace_device row = {.kind = SS_DEVICE_GPU,
                                  .number = is_number ? (uint32_t)device->number + 1 : 0,
                                  .model = view_of(device->model),
                                  .memory_bytes = device->memory_bytes};
    device->row = ss_model_builder_device(rows->builder, device->row, &row);
}

uint32_t ss_chrome_device_row(struct ss_chrome_rows *rows, uint32_t index)
{
    struct ss_chrome_device *device = &rows->devices.data[index];
    if (device->row == 0) {
        char name[32];
        snprintf(name, sizeof name, "GPU %" PRId64, device->number);
        put_device(rows, device);
        struct ss_trace_track group = {.kind = SS_TRACK_GROUP,
                                       .process_ref = ss_chrome_owner_row(rows),
                                       .device_ref = device->row,
                                       .name = ss_strview_of(name)};
        device->group_track = ss_model_builder_track(rows->builder, 0, &group);
    }
    return device->row;
}

uint32_t ss_chrome_context_row(struct ss_chrome_rows *rows, uint32_t device, int64_t number)
{
    struct key key;
    memset(&key, 0, sizeof key);
    key.table = OF_CONTEXT;
    key.numbers[0] = device;
    key.numbers[1] = number;
    uint32_t *known = find(rows, &key);
    if (*known == 0) {
        struct ss_trace_context row = {.process_ref = ss_chrome_owner_row(rows),
                                       .device_ref = ss_chrome_device_row(rows, device),
                                       .number = (uint64_t)number};
        *known = ss_model_builder_context(rows->builder, 0, &row);
    }
    return *known;
}

uint32_t ss_chrome_stream(struct ss_chrome_rows *rows, int64_t device, int64_t number)
{
    struct key key;
    memset(&key, 0, sizeof key);
    key.table = OF_STREAM;
    key.numbers[0] = device;
    key.numbers[1] = number;
    uint32_t *known = find(rows, &key);
    if (*known != 0) {
        return *known - 1;
    }
    ss_vec_push_zero(&rows->streams);
    *known = (uint32_t)rows->streams.count;
    uint32_t index = *known - 1;
    struct ss_chrome_stream stream = {.device = ss_chrome_device(rows, device)};
    struct ss_trace_stream row = {.device_ref = ss_chrome_device_row(rows, stream.device),
                                  .number = (uint64_t)number};
    stream.row = ss_model_builder_stream(rows->builder, 0, &row);
    rows->streams.data[index] = stream;
    return index;
}

uint32_t ss_chrome_stream_track(struct ss_chrome_rows *rows, uint32_t index, bool is_of_annotations)
{
    struct ss_chrome_stream *stream = &rows->streams.data[index];
    uint32_t *track = is_of_annotations ? &stream->annotation_track : &stream->track;
    if (*track == 0) {
        const struct ss_chrome_device *device = &rows->devices.data[stream->device];
        int64_t number =
            (int64_t)ss_model_builder_model(rows->builder)->streams.data[stream->row].number;
        char name[64];
        snprintf(name, sizeof name, "stream %" PRId64 "%s", number,
                 is_of_annotations ? " " SS_DOMAIN_DEVICE_ANNOTATIONS : "");
        struct ss_trace_track row = {.kind = SS_TRACK_RANGES,
                                     .process_ref = ss_chrome_owner_row(rows),
                                     .device_ref = device->row,
                                     .stream_ref = is_of_annotations ? 0 : stream->row,
                                     .parent_ref = device->group_track,
                                     .name = ss_strview_of(name)};
        *track = ss_model_builder_track(rows->builder, 0, &row);
    }
    return *track;
}

/* --- the end ---------------------------------------------------------------------------------- */

/* The main thread of a process: the one with its id, else the thread of its steps, else the one
 * with most events. */
static bool is_rather_main(const struct ss_chrome_thread *thread,
                           const struct ss_chrome_thread *best, int64_t pid)
{
    if (best == NULL || best->tid == pid || thread->tid == pid) {
        return best == NULL || best->tid != pid;
    }
    return (thread->has_steps && !best->has_steps) ||
           (thread->has_steps == best->has_steps && thread->ranges > best->ranges);
}

/* By the index of their process; NULL: it has no thread. The caller frees the list. */
static struct ss_chrome_thread **find_main_threads(struct ss_chrome_rows *rows)
{
    struct ss_chrome_thread **best = ss_alloc_zero(rows->processes.count, sizeof(void *));
    for (size_t i = 0; i < rows->threads.count; i++) {
        struct ss_chrome_thread *thread = &rows->threads.data[i];
        struct ss_chrome_thread **known = &best[thread->process];
        if (thread->row != 0 &&
            is_rather_main(thread, *known, rows->processes.data[thread->process].pid)) {
            *known = thread;
        }
    }
    return best;
}

static bool is_described(const struct ss_chrome_device *device)
{
    return device->model != NULL && device->model[0] != '\0';
}

/* What devices are that a file does not describe, such as those with another number than it says:
 * like the ones that it describes, if these are all alike. NULL: unknown. */
static const struct ss_chrome_device *common_device(const struct ss_chrome_rows *rows)
{
    const struct ss_chrome_device *common = NULL;
    for (uint32_t i = 0; i < rows->devices.count; i++) {
        const struct ss_chrome_device *device = &rows->devices.data[i];
        if (is_described(device) && common != NULL && strcmp(device->model, common->model) != 0) {
            return NULL;
        }
        common = is_described(device) ? device : common;
    }
    return common;
}

static void finish_devices(struct ss_chrome_rows *rows)
{
    const struct ss_chrome_device *common = common_device(rows);
    for (uint32_t i = 0; i < rows->devices.count; i++) {
        struct ss_chrome_device *device = &rows->devices.data[i];
        if (device->row != 0 && common != NULL && !is_described(device)) {
            ss_free(device->model);
            device->model = ss_strdup(common->model);
            device->memory_bytes = common->memory_bytes;
        }
        if (device->row != 0) {
            put_device(rows, device);
        }
    }
}

/* The file of a rank says whose it is even if it has no event: its process is the first one that it
 * names. */
static void put_owner(struct ss_chrome_rows *rows)
{
    for (uint32_t i = 0; i < rows->processes.count && rows->owner == 0; i++) {
        if (!rows->processes.data[i].is_named_device) {
            process_row(rows, i);
        }
    }
    ss_chrome_owner_row(rows);
}

void ss_chrome_rows_finish(struct ss_chrome_rows *rows, int64_t rank, int64_t world_size)
{
    rows->rank = rank;
    rows->world_size = world_size;
    if (rank >= 0) {
        put_owner(rows);
    }
    struct ss_chrome_thread **main_threads = find_main_threads(rows);
    for (uint32_t i = 0; i < rows->processes.count; i++) {
        if (rows->processes.data[i].row == 0) {
            continue;
        }
        put_process(rows, &rows->processes.data[i]);
        if (main_threads[i] != NULL) {
            put_thread(rows, main_threads[i], true);
        }
    }
    ss_free(main_threads);
    finish_devices(rows);
}
