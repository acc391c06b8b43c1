/* SPDX-License-Identifier: Apache-2.0 */
#include "timeline/labels.h"

#include <inttypes.h>

#include "view/output/frame_text.h"

enum { TRACK_BYTES = 200 };

bool ss_label_has_number(const struct ss_timeline *timeline, const struct ss_timeline_track *track,
                         const struct ss_model_range *slice)
{
    const struct ss_model *model = timeline->selection->model;
    enum ss_value_type type = model->payloads.data[slice->payload].type;
    return track->kind == SS_TIMELINE_STEPS && track->naming == SS_NAMED_BY_PATH &&
           slice->payload != 0 && (type == SS_VALUE_INT || type == SS_VALUE_UINT);
}

static uint32_t name_of(const struct ss_model *model, const struct ss_timeline_track *track,
                        const struct ss_model_range *slice)
{
    return track->naming == SS_NAMED_BY_NAME ? slice->path : model->paths.data[slice->path].name;
}

uint64_t ss_label_key(const struct ss_timeline *timeline, const struct ss_timeline_track *track,
                      const struct ss_model_range *slice)
{
    const struct ss_model *model = timeline->selection->model;
    if (track->naming == SS_NAMED_BY_FRAME) {
        return UINT64_C(1) << 62 | slice->path;
    }
    uint64_t number = ss_label_has_number(timeline, track, slice)
                          ? (uint64_t)model->payloads.data[slice->payload].integer + 1
                          : 0;
    return (number << 32 | name_of(model, track, slice)) & ~(UINT64_C(3) << 62);
}

static void append_text(struct ss_strbuf *out, const struct ss_model *model, uint32_t string,
                        size_t maximum_bytes)
{
    ss_frame_append_clean(out, ss_intern_get(&model->strings, string), "", maximum_bytes);
}

static void append_frame(struct ss_strbuf *out, const struct ss_model *model, uint32_t frame,
                         size_t maximum_bytes)
{
    static const struct ss_frame_style style = {.by_function = true};
    const struct ss_model_frame *row = &model->frames.data[frame];
    struct ss_strview file = ss_frame_file(model, row, &style);
    int32_t line = ss_frame_line(row, &style);
    append_text(out, model, row->function != 0 ? row->function : row->name, maximum_bytes);
    if (file.length > 0) {
        ss_strbuf_append_text(out, " (");
        ss_frame_append_clean(out, file, "", maximum_bytes);
        if (line > 0) {
            ss_strbuf_append_format(out, ":%" PRId32, line);
        }
        ss_strbuf_append_char(out, ')');
    }
}

void ss_label_append(struct ss_strbuf *out, const struct ss_timeline *timeline,
                     const struct ss_timeline_track *track, const struct ss_model_range *slice,
                     size_t maximum_bytes)
{
    const struct ss_model *model = timeline->selection->model;
    if (track->naming == SS_NAMED_BY_FRAME) {
        append_frame(out, model, slice->path, maximum_bytes);
        return;
    }
    uint32_t text = model->names.data[name_of(model, track, slice)].text;
    bool is_step = ss_label_has_number(timeline, track, slice);
    append_text(out, model, text == 0 && is_step ? model->tracks.data[track->track].name : text,
                maximum_bytes);
    if (is_step) {
        ss_strbuf_append_format(out, " %" PRId64, model->payloads.data[slice->payload].integer);
    }
}

static void append_thread(struct ss_strbuf *out, const struct ss_model *model, uint32_t thread)
{
    const struct ss_model_thread *row = &model->threads.data[thread];
    if (row->is_main) {
        ss_strbuf_append_text(out, "main");
    } else if (row->name != 0) {
        append_text(out, model, row->name, TRACK_BYTES);
    } else if (row->tid != -1) {
        ss_strbuf_append_format(out, "thread %" PRId64, row->tid);
    } else {
        ss_strbuf_append_text(out, "thread");
    }
}

static void append_separator(struct ss_strbuf *out)
{
    ss_strbuf_append_text(out, out->length > 0 ? " · " : "");
}

/* "GPU 0 · memory": a track below a group has the group's name before it. */
static void append_parents(struct ss_strbuf *out, const struct ss_model *model, uint32_t track)
{
    uint32_t parent = model->tracks.data[track].parent;
    for (int depth = 0; parent != 0 && depth < 4; depth++) {
        const struct ss_model_track *row = &model->tracks.data[parent];
        if (row->name != 0) {
            append_separator(out);
            append_text(out, model, row->name, TRACK_BYTES);
        }
        parent = row->parent;
    }
}

static void append_stream(struct ss_strbuf *out, const struct ss_model *model,
                          const struct ss_model_track *row)
{
    const struct ss_model_stream *stream = &model->streams.data[row->stream];
    uint32_t device = row->device != 0 ? row->device : stream->device;
    if (device != 0 && model->devices.data[device].number >= 0) {
        ss_strbuf_append_format(out, "device %" PRId32, model->devices.data[device].number);
    }
    if (row->stream != 0 && row->name == 0) {
        append_separator(out);
        ss_strbuf_append_format(out, "stream %" PRIu64, stream->number);
    }
}

void ss_label_append_track(struct ss_strbuf *out, const struct ss_timeline *timeline,
                           const struct ss_timeline_track *track)
{
    const struct ss_model *model = timeline->selection->model;
    const struct ss_model_track *row = &model->tracks.data[track->track];
    if (track->thread != 0) {
        append_thread(out, model, track->thread);
    }
    if (track->kind == SS_TIMELINE_STACKS) {
        ss_strbuf_append_text(out, " · stacks");
        return;
    }
    append_parents(out, model, track->track);
    if (track->kind == SS_TIMELINE_STREAM && out->length == 0) {
        append_stream(out, model, row);
    }
    if (row->name != 0) {
        append_separator(out);
        append_text(out, model, row->name, TRACK_BYTES);
    }
    if (out->length == 0) {
        ss_strbuf_append_text(out, ss_timeline_kind_name(track->kind));
    }
    if (track->naming == SS_NAMED_BY_NAME) {
        ss_strbuf_append_text(out, " · marks");
    }
}

void ss_label_append_group(struct ss_strbuf *out, const struct ss_timeline *timeline,
                           const struct ss_timeline_group *group)
{
    const struct ss_model *model = timeline->selection->model;
    const struct ss_model_process *row = &model->processes.data[group->process];
    uint32_t name = row->label != 0 ? row->label : row->name;
    if (group->process == 0) {
        ss_strbuf_append_text(out, "host");
    } else if (row->has_rank) {
        ss_strbuf_append_format(out, "rank %" PRIu32, row->rank);
    } else if (name != 0) {
        append_text(out, model, name, TRACK_BYTES);
    } else {
        ss_strbuf_append_text(out, "process");
    }
    if (group->process != 0 && !row->has_rank && row->pid >= 0) { /* names repeat */
        ss_strbuf_append_format(out, " %" PRId32, row->pid);
    }
}

void ss_label_append_group_detail(struct ss_strbuf *out, const struct ss_timeline *timeline,
                                  const struct ss_timeline_group *group)
{
    const struct ss_model *model = timeline->selection->model;
    const struct ss_model_process *row = &model->processes.data[group->process];
    uint32_t command = row->cmdline != 0 ? row->cmdline : row->has_rank ? row->name : 0;
    if (group->process == 0) {
        return;
    }
    append_text(out, model, command, 4 * TRACK_BYTES);
    if (row->pid >= 0 && row->has_rank) {
        append_separator(out);
        ss_strbuf_append_format(out, "pid %" PRId32, row->pid);
    }
}

const char *ss_timeline_kind_name(enum ss_timeline_kind kind)
{
    static const char *const names[SS_TIMELINE_KINDS] = {
        [SS_TIMELINE_STEPS] = "steps",   [SS_TIMELINE_PHASES] = "phases",
        [SS_TIMELINE_MAIN] = "main",     [SS_TIMELINE_STACKS] = "stacks",
        [SS_TIMELINE_THREAD] = "thread", [SS_TIMELINE_RANGES] = "ranges",
        [SS_TIMELINE_STREAM] = "stream", [SS_TIMELINE_COUNTER] = "counter"};
    return names[kind];
}
