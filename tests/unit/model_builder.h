/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds models in memory, row by row, for the tests of model/, analysis/ and view/. A test names
 * what matters to it and leaves the rest 0:
 *
 *     struct ss_model model;
 *     ss_model_init(&model);
 *     uint32_t trains = BUILD_PROCESS(&model, .pid = 42);
 *     uint32_t steps = BUILD_TRACK(&model, .kind = SS_TRACK_STEPS, .process = trains,
 *                                  .name = "step");
 *     BUILD_RANGE(&model, .track = steps, .name = "step", .begin_ns = 0, .end_ns = 100,
 *                 .payload = build_integer(&model, 7));
 *     build_fact(&model, trains, "dataloader.workers", 2);
 *
 * Each call appends one row and returns its id; rows refer to each other by these ids, 0 is "none".
 * Nothing is checked. Ranges of a track are added in the order that model.h demands, or sorted at
 * the end: build_sort_ranges().
 * Importers use src/model/builder/builder.h instead, which joins records of any order.
 */
#ifndef SS_TESTS_MODEL_BUILDER_H
#define SS_TESTS_MODEL_BUILDER_H

#include <stdio.h>
#include <stdlib.h>

#include "model/core/model.h"

static inline uint32_t build_text(struct ss_model *model, const char *text)
{
    return text != NULL ? ss_intern_put_text(&model->strings, text) : 0;
}

/* --- who ---------------------------------------------------------------------------------- */

struct built_process {
    int32_t pid;
    uint32_t parent;
    const char *name;
};
#define BUILD_PROCESS(model, ...) build_process(model, (struct built_process){__VA_ARGS__})

static inline uint32_t build_process(struct ss_model *model, struct built_process process)
{
    ss_vec_push(&model->processes,
                (struct ss_model_process){.pid = process.pid,
                                          .parent = process.parent,
                                          .name = build_text(model, process.name)});
    return (uint32_t)model->processes.count - 1;
}

struct built_thread {
    uint32_t process;
    int64_t tid;
    bool is_main;
    const char *name;
};
#define BUILD_THREAD(model, ...) build_thread(model, (struct built_thread){__VA_ARGS__})

static inline uint32_t build_thread(struct ss_model *model, struct built_thread thread)
{
    ss_vec_push(&model->threads, (struct ss_model_thread){.process = thread.process,
                                                          .tid = thread.tid,
                                                          .is_main = thread.is_main,
                                                          .name = build_text(model, thread.name)});
    return (uint32_t)model->threads.count - 1;
}

/* --- what happened ------------------------------------------------------------------------ */

struct built_track {
    enum ss_track_kind kind;
    uint32_t process, thread, device;
    const char *group; /* the track lies in a new group of this name; NULL: in none */
    const char *name, *unit;
};
#define BUILD_TRACK(model, ...) build_track(model, (struct built_track){__VA_ARGS__})

static inline uint32_t build_track(struct ss_model *model, struct built_track track)
{
    struct ss_model_track row = {
        .kind = SS_TRACK_GROUP, .process = track.process, .name = build_text(model, track.group)};
    if (track.group != NULL) {
        ss_vec_push(&model->tracks, row);
        row.parent = (uint32_t)model->tracks.count - 1;
    }
    row.kind = track.kind;
    row.thread = track.thread;
    row.device = track.device;
    row.name = build_text(model, track.name);
    row.unit = build_text(model, track.unit);
    ss_vec_push(&model->tracks, row);
    return (uint32_t)model->tracks.count - 1;
}

/* Equal names share a row. */
static inline uint32_t build_name(struct ss_model *model, const char *text, const char *category)
{
    uint32_t text_id = build_text(model, text), category_id = build_text(model, category);
    for (uint32_t i = 1; i < model->names.count; i++) {
        const struct ss_model_name *name = &model->names.data[i];
        if (name->text == text_id && name->category == category_id) {
            return i;
        }
    }
    ss_vec_push(&model->names, (struct ss_model_name){.text = text_id, .category = category_id});
    return (uint32_t)model->names.count - 1;
}

/* Payloads of ranges and marks. */
static inline uint32_t build_integer(struct ss_model *model, int64_t integer)
{
    ss_vec_push(&model->payloads,
                (struct ss_model_payload){.type = SS_VALUE_INT, .integer = integer});
    return (uint32_t)model->payloads.count - 1;
}

static inline uint32_t build_words(struct ss_model *model, const char *text)
{
    ss_vec_push(&model->payloads,
                (struct ss_model_payload){.type = SS_VALUE_TEXT, .text = build_text(model, text)});
    return (uint32_t)model->payloads.count - 1;
}

struct built_range {
    uint32_t track;
    uint32_t around; /* the path of the enclosing range */
    const char *name, *category;
    uint64_t begin_ns, end_ns;
    uint32_t payload;
    uint16_t lane;
    uint8_t flags; /* enum ss_model_range_flag */
};
#define BUILD_RANGE(model, ...) build_range(model, (struct built_range){__VA_ARGS__})

/* Returns its path, for what lies within. */
static inline uint32_t build_range(struct ss_model *model, struct built_range range)
{
    uint32_t name = build_name(model, range.name, range.category);
    uint32_t path = ss_model_path_id(model, range.around, name);
    ss_vec_push(&model->ranges, (struct ss_model_range){.begin_ns = range.begin_ns,
                                                        .end_ns = range.end_ns,
                                                        .track = range.track,
                                                        .path = path,
                                                        .payload = range.payload,
                                                        .lane = range.lane,
                                                        .flags = range.flags});
    return path;
}

static inline int build_compare_ranges(const void *left, const void *right)
{
    const struct ss_model_range *a = left, *b = right;
    if (a->track != b->track) {
        return a->track < b->track ? -1 : 1;
    }
    if (a->begin_ns != b->begin_ns) {
        return a->begin_ns < b->begin_ns ? -1 : 1;
    }
    return (a->end_ns < b->end_ns) - (a->end_ns > b->end_ns);
}

/* Ranges that were added in any order: by track, then by begin, the longest first. */
static inline void build_sort_ranges(struct ss_model *model)
{
    qsort(model->ranges.data, model->ranges.count, sizeof *model->ranges.data,
          build_compare_ranges);
}

struct built_mark {
    uint32_t track;
    const char *name;
    uint64_t time_ns;
    uint32_t payload;
};
#define BUILD_MARK(model, ...) build_mark(model, (struct built_mark){__VA_ARGS__})

static inline void build_mark(struct ss_model *model, struct built_mark mark)
{
    ss_vec_push(&model->marks, (struct ss_model_mark){.time_ns = mark.time_ns,
                                                      .track = mark.track,
                                                      .name = build_name(model, mark.name, NULL),
                                                      .payload = mark.payload});
}

/* Values of a counter track. */
static inline void build_level(struct ss_model *model, uint32_t track, uint64_t time_ns,
                               double level)
{
    ss_vec_push(&model->values,
                (struct ss_model_value){.time_ns = time_ns, .track = track, .real = level});
}

static inline void build_count(struct ss_model *model, uint32_t track, uint64_t time_ns,
                               int64_t count)
{
    ss_vec_push(&model->values,
                (struct ss_model_value){
                    .time_ns = time_ns, .track = track, .is_integer = true, .integer = count});
}

struct built_note {
    uint32_t process;
    uint64_t time_ns;
    const char *kind, *text;
    int64_t value;
};
#define BUILD_NOTE(model, ...) build_note(model, (struct built_note){__VA_ARGS__})

static inline void build_note(struct ss_model *model, struct built_note note)
{
    ss_vec_push(&model->notes, (struct ss_model_note){.process = note.process,
                                                      .kind = build_text(model, note.kind),
                                                      .text = build_text(model, note.text),
                                                      .time_ns = note.time_ns,
                                                      .value = note.value});
}

/* What a program says of itself: "dataloader.workers = 2". */
static inline void build_fact(struct ss_model *model, uint32_t process, const char *key,
                              int64_t value)
{
    char text[128];
    snprintf(text, sizeof text, "%s = %lld", key, (long long)value);
    BUILD_NOTE(model, .process = process, .kind = "fact", .text = text, .value = value);
}

/* Of the recording: "cpu_count" and the like. */
static inline void build_attribute(struct ss_model *model, const char *key, int64_t integer)
{
    ss_vec_push(&model->attributes, (struct ss_model_attribute){.key = build_text(model, key),
                                                                .is_integer = true,
                                                                .integer = integer});
}

/* --- where -------------------------------------------------------------------------------- */

struct built_frame {
    const char *function, *file;
    int32_t line, first_line;
    enum ss_code_origin origin;
};
#define BUILD_CALL(model, parent, ...) build_call(model, parent, (struct built_frame){__VA_ARGS__})

/* The stack of a call from `parent`, 0: from nowhere. Equal stacks share a row. */
static inline uint32_t build_call(struct ss_model *model, uint32_t parent, struct built_frame frame)
{
    uint32_t file = build_text(model, frame.file);
    struct ss_model_frame row = {.function = build_text(model, frame.function),
                                 .name = build_text(model, frame.function),
                                 .file = file,
                                 .short_file = file,
                                 .line = frame.line,
                                 .first_line = frame.first_line,
                                 .origin = frame.origin};
    return ss_model_stack_id(model, parent, ss_model_frame_id(model, &row));
}

#endif
