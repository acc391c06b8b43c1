/* SPDX-License-Identifier: Apache-2.0 */
/* Tracks, processes and threads of a Perfetto trace. A track names its process or thread, or its
 * parent does. */
#include "base/strbuf.h"
#include "model/perfetto/perfetto_loading.h"
#include "wire/perfetto.h"

enum {
    MOST_TRACKS = 1 << 18,
    MOST_OWNERS = 1 << 18, /* processes; threads */
    MOST_PARENTS = 64,     /* of a track */
    MOST_CMDLINE_BYTES = 1 << 16,
    FIRST_UNKNOWN_TID = INT32_MAX
};

static uint32_t put_text(struct ss_perfetto_loading *loading, struct ss_wire_cursor body)
{
    return ss_model_builder_text(loading->builder, ss_wire_view(body));
}

static struct ss_strview text_of(const struct ss_perfetto_loading *loading, uint32_t text)
{
    return ss_intern_get(&loading->model->strings, text);
}

/* --- processes and threads -------------------------------------------------------------------- */

uint32_t ss_perfetto_process_of(struct ss_perfetto_loading *loading, int64_t pid)
{
    uint32_t known = ss_perfetto_map_get(&loading->process_of, (uint64_t)pid);
    if (known == 0) {
        if (loading->processes.count >= MOST_OWNERS) {
            return 0; /* the first one */
        }
        ss_vec_push(&loading->processes, (struct ss_perfetto_process){.pid = pid});
        known = (uint32_t)loading->processes.count;
        ss_perfetto_map_put(&loading->process_of, (uint64_t)pid, known);
    }
    return known - 1;
}

uint32_t ss_perfetto_thread_of(struct ss_perfetto_loading *loading, int64_t pid, int64_t tid)
{
    uint32_t process = ss_perfetto_process_of(loading, pid);
    uint64_t key = ss_hash_u64((uint64_t)tid) ^ process;
    uint32_t known = ss_perfetto_map_get(&loading->thread_of, key);
    if (known == 0) {
        if (loading->threads.count >= MOST_OWNERS) {
            return 0;
        }
        ss_vec_push(&loading->threads, (struct ss_perfetto_thread){.process = process, .tid = tid});
        known = (uint32_t)loading->threads.count;
        ss_perfetto_map_put(&loading->thread_of, key, known);
    }
    return known - 1;
}

static void put_process(struct ss_perfetto_loading *loading, struct ss_perfetto_process *process)
{
    bool is_pid = process->pid >= 0 && process->pid <= INT32_MAX;
    struct ss_trace_process row = {.pid = is_pid ? (int32_t)process->pid : -1,
                                   .parent_pid = -1,
                                   .name = text_of(loading, process->name),
                                   .cmdline = text_of(loading, process->cmdline),
                                   .label = text_of(loading, process->label)};
    process->row = ss_model_builder_process(loading->builder, process->row, &row);
}

uint32_t ss_perfetto_process_row(struct ss_perfetto_loading *loading, uint32_t index)
{
    struct ss_perfetto_process *process = &loading->processes.data[index];
    if (process->row == 0) {
        put_process(loading, process);
    }
    return process->row;
}

static void put_thread(struct ss_perfetto_loading *loading, uint32_t index, bool is_main)
{
    struct ss_perfetto_thread *thread = &loading->threads.data[index];
    bool is_tid = thread->tid >= 0 && thread->tid <= INT32_MAX;
    struct ss_trace_thread row = {.process_ref = ss_perfetto_process_row(loading, thread->process),
                                  .tid = is_tid ? (int32_t)thread->tid
                                                : (int32_t)(FIRST_UNKNOWN_TID - index),
                                  .is_main = is_main,
                                  .name = text_of(loading, thread->name)};
    thread->row = ss_model_builder_thread(loading->builder, thread->row, &row);
    ss_model_builder_long_tid(loading->builder, thread->row, thread->tid >= 0 ? thread->tid : -1);
}

uint32_t ss_perfetto_thread_row(struct ss_perfetto_loading *loading, uint32_t index)
{
    if (loading->threads.data[index].row == 0) {
        put_thread(loading, index, false);
    }
    loading->threads.data[index].events++;
    return loading->threads.data[index].row;
}

/* --- descriptors ------------------------------------------------------------------------------ */

struct owner_fields {
    int64_t pid, tid; /* -1: absent */
    uint32_t name, cmdline, label;
    uint64_t reference_us;
};

/* The words of a command line, separated by spaces. */
static void add_word(struct ss_strbuf *words, struct ss_wire_cursor body)
{
    ss_strbuf_append_text(words, words->length > 0 ? " " : "");
    ss_strbuf_append_view(words, ss_wire_view(body));
}

static uint32_t end_words(struct ss_perfetto_loading *loading, struct ss_strbuf *words)
{
    uint32_t text =
        ss_model_builder_text(loading->builder, (struct ss_strview){words->data, words->length});
    ss_strbuf_fini(words);
    return text;
}

static bool read_process_fields(struct ss_perfetto_loading *loading, struct ss_wire_cursor body,
                                struct owner_fields *fields)
{
    struct ss_wire_field field;
    enum ss_wire_next next;
    struct ss_strbuf words;
    ss_strbuf_init(&words, MOST_CMDLINE_BYTES);
    *fields = (struct owner_fields){.pid = -1, .tid = -1};
    while ((next = ss_wire_next(&body, &field)) == SS_WIRE_FIELD) {
        bool is_text = field.type == SS_WIRE_BYTES;
        if (field.number == SS_PF_PROCESS_PID) {
            fields->pid = (int32_t)field.value;
        } else if (is_text && field.number == SS_PF_PROCESS_NAME) {
            fields->name = put_text(loading, field.body);
        } else if (is_text && field.number == SS_PF_PROCESS_CMDLINE) {
            add_word(&words, field.body);
        } else if (is_text && field.number == SS_PF_PROCESS_LABELS) {
            fields->label = put_text(loading, field.body);
        }
    }
    fields->cmdline = end_words(loading, &words);
    return next == SS_WIRE_END;
}

static bool read_thread_fields(struct ss_perfetto_loading *loading, struct ss_wire_cursor body,
                               struct owner_fields *fields)
{
    struct ss_wire_field field;
    enum ss_wire_next next;
    *fields = (struct owner_fields){.pid = -1, .tid = -1};
    while ((next = ss_wire_next(&body, &field)) == SS_WIRE_FIELD) {
        if (field.number == SS_PF_THREAD_PID) {
            fields->pid = (int32_t)field.value;
        } else if (field.number == SS_PF_THREAD_TID) {
            fields->tid = (int64_t)field.value;
        } else if (field.number == SS_PF_THREAD_NAME && field.type == SS_WIRE_BYTES) {
            fields->name = put_text(loading, field.body);
        } else if (field.number == SS_PF_THREAD_REFERENCE_US) {
            fields->reference_us = field.value;
        }
    }
    return next == SS_WIRE_END;
}

static void set_if_known(uint32_t *known, uint32_t text)
{
    *known = text != 0 ? text : *known;
}

static uint32_t put_process_fields(struct ss_perfetto_loading *loading,
                                   const struct owner_fields *fields)
{
    uint32_t index = ss_perfetto_process_of(loading, fields->pid);
    struct ss_perfetto_process *process = &loading->processes.data[index];
    set_if_known(&process->name, fields->name);
    set_if_known(&process->cmdline, fields->cmdline);
    set_if_known(&process->label, fields->label);
    return index;
}

static uint32_t put_thread_fields(struct ss_perfetto_loading *loading,
                                  const struct owner_fields *fields)
{
    uint32_t index = ss_perfetto_thread_of(loading, fields->pid, fields->tid);
    set_if_known(&loading->threads.data[index].name, fields->name);
    return index;
}

bool ss_perfetto_read_process(struct ss_perfetto_loading *loading, struct ss_wire_cursor body)
{
    struct owner_fields fields;
    bool is_read = read_process_fields(loading, body, &fields);
    put_process_fields(loading, &fields);
    return is_read;
}

bool ss_perfetto_read_thread(struct ss_perfetto_loading *loading, uint32_t sequence,
                             struct ss_wire_cursor body)
{
    struct owner_fields fields;
    struct ss_perfetto_sequence *state = ss_perfetto_sequence_at(loading, sequence);
    if (!read_thread_fields(loading, body, &fields)) {
        return false;
    }
    put_thread_fields(loading, &fields);
    state->has_thread = true;
    state->pid = fields.pid;
    state->tid = fields.tid;
    state->last_us = fields.reference_us;
    return true;
}

/* {pid 1, parent 2, cmdline 3} or {tid 1, name 2, pid 3} */
static bool read_tree_entry(struct ss_perfetto_loading *loading, uint32_t kind,
                            struct ss_wire_cursor body)
{
    struct ss_wire_field field;
    enum ss_wire_next next;
    struct owner_fields fields = {.pid = -1, .tid = -1};
    bool is_process = kind == SS_PF_TREE_PROCESSES;
    struct ss_strbuf words;
    ss_strbuf_init(&words, MOST_CMDLINE_BYTES);
    while ((next = ss_wire_next(&body, &field)) == SS_WIRE_FIELD) {
        bool is_text = field.type == SS_WIRE_BYTES;
        if (is_process && field.number == SS_PF_TREE_PID) {
            fields.pid = (int32_t)field.value;
        } else if (is_process && is_text && field.number == SS_PF_TREE_CMDLINE) {
            add_word(&words, field.body);
        } else if (!is_process && field.number == SS_PF_TREE_TID) {
            fields.tid = (int32_t)field.value;
        } else if (!is_process && is_text && field.number == SS_PF_TREE_THREAD_NAME) {
            fields.name = put_text(loading, field.body);
        } else if (!is_process && field.number == SS_PF_TREE_THREAD_PID) {
            fields.pid = (int32_t)field.value;
        }
    }
    fields.cmdline = end_words(loading, &words);
    if (is_process) {
        put_process_fields(loading, &fields);
    } else {
        put_thread_fields(loading, &fields);
    }
    return next == SS_WIRE_END;
}

bool ss_perfetto_read_tree(struct ss_perfetto_loading *loading, struct ss_wire_cursor body)
{
    struct ss_wire_field field;
    enum ss_wire_next next;
    while ((next = ss_wire_next(&body, &field)) == SS_WIRE_FIELD) {
        bool is_entry = field.number == SS_PF_TREE_PROCESSES || field.number == SS_PF_TREE_THREADS;
        if (is_entry && field.type == SS_WIRE_BYTES &&
            !read_tree_entry(loading, field.number, field.body)) {
            return false;
        }
    }
    return next == SS_WIRE_END;
}

/* --- tracks ----------------------------------------------------------------------------------- */

uint32_t ss_perfetto_track_of(struct ss_perfetto_loading *loading, uint64_t uuid)
{
    uint32_t known = ss_perfetto_map_get(&loading->track_of, uuid);
    if (known == 0) {
        if (loading->tracks.count >= MOST_TRACKS) {
            return UINT32_MAX;
        }
        ss_vec_push(&loading->tracks, (struct ss_perfetto_track){.uuid = uuid, .multiplier = 1});
        known = (uint32_t)loading->tracks.count;
        ss_perfetto_map_put(&loading->track_of, uuid, known);
    }
    return known - 1;
}

/* Threads of old traces have no track with a uuid: a hash stands for it. */
uint32_t ss_perfetto_thread_track(struct ss_perfetto_loading *loading, uint32_t thread)
{
    uint32_t track =
        ss_perfetto_track_of(loading, ss_hash_u64(UINT64_C(0x7468726561640000) ^ thread));
    if (track != UINT32_MAX) {
        loading->tracks.data[track].thread = thread + 1;
        loading->tracks.data[track].process = loading->threads.data[thread].process + 1;
    }
    return track;
}

static bool read_counter(struct ss_perfetto_loading *loading, struct ss_wire_cursor body,
                         struct ss_perfetto_track *track)
{
    struct ss_wire_field field;
    enum ss_wire_next next;
    track->is_counter = true;
    while ((next = ss_wire_next(&body, &field)) == SS_WIRE_FIELD) {
        if (field.number == SS_PF_TRACK_COUNTER_UNIT) {
            const char *unit = field.value == SS_PF_TRACK_UNIT_NS      ? "ns"
                               : field.value == SS_PF_TRACK_UNIT_BYTES ? "bytes"
                                                                       : "";
            track->unit = ss_model_builder_text(loading->builder, ss_strview_of(unit));
        } else if (field.number == SS_PF_TRACK_COUNTER_UNIT_NAME && field.type == SS_WIRE_BYTES) {
            track->unit = put_text(loading, field.body);
        } else if (field.number == SS_PF_TRACK_COUNTER_MULTIPLIER) {
            track->multiplier = field.value > 0 ? (int64_t)field.value : 1;
        } else if (field.number == SS_PF_TRACK_COUNTER_INCREMENTAL) {
            track->is_incremental = field.value != 0;
        }
    }
    return next == SS_WIRE_END;
}

static bool read_track_field(struct ss_perfetto_loading *loading, const struct ss_wire_field *field,
                             struct ss_perfetto_track *track)
{
    struct owner_fields fields;
    bool is_bytes = field->type == SS_WIRE_BYTES, is_read = true;
    if (field->number == SS_PF_TRACK_UUID) {
        track->uuid = field->value;
    } else if (field->number == SS_PF_TRACK_PARENT) {
        track->parent = field->value;
    } else if (is_bytes &&
               (field->number == SS_PF_TRACK_NAME || field->number == SS_PF_TRACK_STATIC_NAME)) {
        track->name = put_text(loading, field->body);
    } else if (is_bytes && field->number == SS_PF_TRACK_PROCESS) {
        is_read = read_process_fields(loading, field->body, &fields);
        track->process = 1 + put_process_fields(loading, &fields);
    } else if (is_bytes && field->number == SS_PF_TRACK_THREAD) {
        is_read = read_thread_fields(loading, field->body, &fields);
        track->thread = 1 + put_thread_fields(loading, &fields);
        track->process = 1 + loading->threads.data[track->thread - 1].process;
    } else if (is_bytes && field->number == SS_PF_TRACK_COUNTER) {
        is_read = read_counter(loading, field->body, track);
    }
    return is_read;
}

bool ss_perfetto_read_track(struct ss_perfetto_loading *loading, struct ss_wire_cursor body)
{
    struct ss_perfetto_track read = {.multiplier = 1};
    struct ss_wire_field field;
    enum ss_wire_next next;
    while ((next = ss_wire_next(&body, &field)) == SS_WIRE_FIELD) {
        if (!read_track_field(loading, &field, &read)) {
            return false;
        }
    }
    uint32_t index = ss_perfetto_track_of(loading, read.uuid);
    if (index == UINT32_MAX) {
        ss_perfetto_skip(loading, "more than 262,144 tracks");
        return true;
    }
    /* A descriptor may come again, with more. */
    struct ss_perfetto_track *track = &loading->tracks.data[index];
    set_if_known(&track->name, read.name);
    set_if_known(&track->unit, read.unit);
    set_if_known(&track->process, read.process);
    set_if_known(&track->thread, read.thread);
    track->parent = read.parent != 0 ? read.parent : track->parent;
    track->is_counter = track->is_counter || read.is_counter;
    track->is_incremental = track->is_incremental || read.is_incremental;
    track->multiplier = read.multiplier != 1 ? read.multiplier : track->multiplier;
    return next == SS_WIRE_END;
}

/* The process and thread of the track: indices plus one; 0: unknown, or none. */
static uint32_t find_owner(const struct ss_perfetto_loading *loading, uint32_t index,
                           uint32_t *thread)
{
    uint32_t process = 0;
    *thread = 0;
    for (int i = 0; i < MOST_PARENTS && (process == 0 || *thread == 0); i++) {
        const struct ss_perfetto_track *track = &loading->tracks.data[index];
        process = process == 0 ? track->process : process;
        *thread = process == track->process && *thread == 0 ? track->thread : *thread;
        uint32_t parent =
            track->parent != 0 ? ss_perfetto_map_get(&loading->track_of, track->parent) : 0;
        if (parent == 0) {
            break;
        }
        index = parent - 1;
    }
    return process;
}

uint32_t ss_perfetto_owner(struct ss_perfetto_loading *loading, uint32_t track)
{
    uint32_t thread, process = find_owner(loading, track, &thread);
    return process != 0 ? process - 1 : ss_perfetto_process_of(loading, -1);
}

/* --- rows ------------------------------------------------------------------------------------- */

/* The track of a thread has the thread's name, which is not a domain. Tracks may be described after
 * their first event: until the end, those without an owner have no process. */
static uint32_t put_track(struct ss_perfetto_loading *loading, uint32_t index, uint32_t row,
                          bool is_last)
{
    uint32_t thread, process = find_owner(loading, index, &thread);
    if (process == 0 && is_last) {
        process = 1 + ss_perfetto_process_of(loading, -1);
    }
    const struct ss_perfetto_track *track = &loading->tracks.data[index];
    bool is_own = track->thread != 0 && !track->is_counter;
    struct ss_trace_track definition = {
        .kind = track->is_counter ? SS_TRACK_COUNTER : SS_TRACK_RANGES,
        .process_ref = process != 0 ? ss_perfetto_process_row(loading, process - 1) : 0,
        .thread_ref = thread != 0 ? ss_perfetto_thread_row(loading, thread - 1) : 0,
        .name = text_of(loading, is_own ? 0 : track->name),
        .unit = text_of(loading, track->unit)};
    return ss_model_builder_track(loading->builder, row, &definition);
}

uint32_t ss_perfetto_track_row(struct ss_perfetto_loading *loading, uint32_t index,
                               bool is_complete)
{
    struct ss_perfetto_track *track = &loading->tracks.data[index];
    uint32_t *row = is_complete ? &track->complete_row : &track->row;
    if (*row == 0) {
        uint32_t new_row = put_track(loading, index, 0, false);
        track = &loading->tracks.data[index];
        row = is_complete ? &track->complete_row : &track->row;
        *row = new_row;
    } else if (track->thread != 0) {
        loading->threads.data[track->thread - 1].events++;
    }
    return *row;
}

static uint32_t main_thread(const struct ss_perfetto_loading *loading, const uint32_t *best,
                            uint32_t index)
{
    const struct ss_perfetto_thread *thread = &loading->threads.data[index];
    int64_t pid = loading->processes.data[thread->process].pid;
    uint32_t known = best[thread->process];
    if (thread->row == 0) {
        return known;
    }
    const struct ss_perfetto_thread *other = known != 0 ? &loading->threads.data[known - 1] : NULL;
    bool is_better = other == NULL || thread->tid == pid ||
                     (other->tid != pid && thread->events > other->events);
    return is_better ? index + 1 : known;
}

/* The main thread of a process is the one with its id, else the one with most events. */
static void finish_threads(struct ss_perfetto_loading *loading)
{
    uint32_t *best = ss_alloc_zero(loading->processes.count + 1, sizeof *best);
    for (uint32_t i = 0; i < loading->threads.count; i++) {
        best[loading->threads.data[i].process] = main_thread(loading, best, i);
    }
    for (uint32_t i = 0; i < loading->threads.count; i++) {
        if (loading->threads.data[i].row != 0) {
            put_thread(loading, i, best[loading->threads.data[i].process] == i + 1);
        }
    }
    ss_free(best);
}

void ss_perfetto_finish_rows(struct ss_perfetto_loading *loading)
{
    for (uint32_t i = 0; i < loading->tracks.count; i++) {
        const struct ss_perfetto_track *track = &loading->tracks.data[i];
        uint32_t row = track->row, complete_row = track->complete_row;
        if (row != 0) {
            put_track(loading, i, row, true);
        }
        if (complete_row != 0) {
            put_track(loading, i, complete_row, true);
        }
    }
    for (size_t i = 0; i < loading->processes.count; i++) {
        if (loading->processes.data[i].row != 0) {
            put_process(loading, &loading->processes.data[i]);
        }
    }
    finish_threads(loading);
}
