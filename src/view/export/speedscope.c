/* SPDX-License-Identifier: Apache-2.0 */
#include "view/export/speedscope.h"

#include <inttypes.h>

#include "analysis/report/trust.h"
#include "base/alloc.h"
#include "base/version.h"
#include "view/export/speedscope_build.h"
#include "view/output/json_text.h"
#include "view/output/pair_ids.h"
#include "view/output/shown.h"

/* ---- frames ---------------------------------------------------------------------------- */

/* The key of a frame's texts: frames with equal texts share a number. */
static uint64_t text_key(const struct ss_speedscope_writing *writing,
                         const struct ss_model_frame *frame)
{
    const struct ss_frame_style *style = &writing->options->style;
    uint32_t name = frame->function != 0 ? frame->function : frame->name;
    uint32_t file =
        style->full_filenames || frame->short_file == 0 ? frame->file : frame->short_file;
    uint32_t line = (uint32_t)ss_frame_line(frame, style);
    return ss_hash_u64(ss_pair(name, file)) + line * UINT64_C(0x9e3779b97f4a7c15);
}

void ss_speedscope_begin_frame(struct ss_speedscope_writing *writing, struct ss_strview name)
{
    ss_sink_text(writing->sink, writing->frame_count++ == 0 ? "\n{\"name\":" : ",\n{\"name\":");
    ss_json_write_string(writing->sink, name);
}

static void write_frame(struct ss_speedscope_writing *writing, const struct ss_model_frame *frame)
{
    const struct ss_model *model = writing->selection->model;
    struct ss_strview file = ss_frame_file(model, frame, &writing->options->style);
    int32_t line = ss_frame_line(frame, &writing->options->style);
    uint32_t name = frame->function != 0 ? frame->function : frame->name;
    ss_speedscope_begin_frame(writing, ss_intern_get(&model->strings, name));
    if (file.length > 0) {
        ss_sink_text(writing->sink, ",\"file\":");
        ss_json_write_string(writing->sink, file);
    }
    if (line > 0) {
        ss_sink_format(writing->sink, ",\"line\":%" PRId32, line);
    }
    ss_sink_text(writing->sink, "}");
}

/* Writes all frames of selected stacks; visits each stack node once. */
static void write_frames(struct ss_speedscope_writing *writing)
{
    const struct ss_model *model = writing->selection->model;
    bool *visited = ss_alloc_zero(model->stacks.count + 1, sizeof *visited);
    struct ss_pair_ids numbers = {0};
    ss_sink_text(writing->sink, "\"shared\":{\"frames\":[");
    for (size_t i = 0; i < model->totals.count; i++) {
        uint32_t stack = writing->selection->totals[i] ? model->totals.data[i].stack : 0;
        for (; stack != 0 && !visited[stack]; stack = model->stacks.data[stack].parent) {
            visited[stack] = true;
            uint32_t frame = model->stacks.data[stack].frame;
            if (writing->number_of_frame[frame] != 0) {
                continue;
            }
            uint32_t *number =
                ss_pair_ids_at(&numbers, text_key(writing, &model->frames.data[frame]));
            if (*number == 0) {
                write_frame(writing, &model->frames.data[frame]);
                *number = writing->frame_count;
            }
            writing->number_of_frame[frame] = *number;
        }
    }
    if (model->weight == SS_WEIGHT_SAMPLES) {
        ss_speedscope_range_frames(writing);
    }
    ss_sink_text(writing->sink, "]},\n");
    ss_pair_ids_fini(&numbers);
    ss_free(visited);
}

/* ---- profiles -------------------------------------------------------------------------- */

static void write_stack(struct ss_speedscope_writing *writing, uint32_t stack, bool first)
{
    const struct ss_model *model = writing->selection->model;
    ss_vec_clear(&writing->path);
    for (; stack != 0; stack = model->stacks.data[stack].parent) {
        ss_vec_push(&writing->path, writing->number_of_frame[model->stacks.data[stack].frame] - 1);
    }
    ss_sink_text(writing->sink, first ? "[" : ",[");
    for (size_t i = writing->path.count; i-- > 0;) {
        ss_sink_format(writing->sink, i > 0 ? "%" PRIu32 "," : "%" PRIu32, writing->path.data[i]);
    }
    ss_sink_text(writing->sink, "]");
}

void ss_speedscope_append_owner(const struct ss_model *model, uint32_t process, uint32_t thread,
                                struct ss_strbuf *name)
{
    const struct ss_model_process *of = &model->processes.data[process];
    const struct ss_model_thread *row = &model->threads.data[thread];
    if (process == 0) {
        ss_strbuf_append_text(name, thread == 0 ? "Host " : "");
    } else if (of->pid >= 0) {
        ss_strbuf_append_format(name, "Process %" PRId32 " ", of->pid);
    }
    if (of->label != 0) {
        ss_strbuf_append_format(name, "(%s) ", ss_model_text(model, of->label));
    }
    if (thread == 0) {
        return;
    }
    ss_strbuf_append_text(name, "Thread");
    if (row->tid >= 0) {
        ss_strbuf_append_format(name, " %" PRId64, row->tid);
    }
    if (row->name != 0) {
        ss_strbuf_append_text(name, " \"");
        ss_strbuf_append_view(name, ss_intern_get(&model->strings, row->name));
        ss_strbuf_append_text(name, "\"");
    }
}

void ss_speedscope_begin_profile(struct ss_speedscope_writing *writing, const char *type,
                                 struct ss_strview name, const char *unit, uint64_t start,
                                 uint64_t end)
{
    ss_sink_text(writing->sink, writing->any_profile ? ",\n" : "\n");
    writing->any_profile = true;
    ss_sink_format(writing->sink, "{\"type\":\"%s\",\"name\":", type);
    ss_json_write_string(writing->sink, name);
    ss_sink_format(writing->sink,
                   ",\"unit\":\"%s\",\"startValue\":%" PRIu64 ",\"endValue\":%" PRIu64 ",\n", unit,
                   start, end);
}

static void begin_profile(struct ss_speedscope_writing *writing, uint32_t thread, const char *unit,
                          uint64_t start, uint64_t end)
{
    const struct ss_model *model = writing->selection->model;
    struct ss_strbuf name;
    ss_strbuf_init(&name, 64 * 1024);
    ss_speedscope_append_owner(model, model->threads.data[thread].process, thread, &name);
    ss_speedscope_begin_profile(writing, "sampled", (struct ss_strview){name.data, name.length},
                                unit, start, end);
    ss_sink_text(writing->sink, "\"samples\":[");
    ss_strbuf_fini(&name);
}

static void write_timed(struct ss_speedscope_writing *writing, uint32_t thread)
{
    ss_spans_of_thread(&writing->spans, thread, &writing->list);
    const ss_span_list *list = &writing->list;
    if (list->count == 0) {
        return;
    }
    uint64_t start = list->data[0].start_ns, end = list->data[list->count - 1].end_ns;
    begin_profile(writing, thread, "nanoseconds", start, end);
    uint64_t at = start;
    for (size_t i = 0; i < list->count; i++) {
        if (list->data[i].start_ns > at) {
            ss_sink_text(writing->sink, ",[]");
        }
        write_stack(writing, list->data[i].stack, i == 0);
        at = list->data[i].end_ns;
    }
    ss_sink_text(writing->sink, "],\n\"weights\":[");
    at = start;
    for (size_t i = 0; i < list->count; i++) {
        if (list->data[i].start_ns > at) {
            ss_sink_format(writing->sink, ",%" PRIu64, list->data[i].start_ns - at);
        }
        at = list->data[i].end_ns;
        ss_sink_format(writing->sink, "%s%" PRIu64, i > 0 ? "," : "", at - list->data[i].start_ns);
    }
    ss_sink_text(writing->sink, "]}");
}

/* The totals of each thread, as a linked list: next[i] - 1 is the total after total i. */
struct chains {
    uint32_t *head, *next;
};

static void write_untimed(struct ss_speedscope_writing *writing, uint32_t thread,
                          const struct chains *chains)
{
    const struct ss_model *model = writing->selection->model;
    uint64_t sum = 0;
    for (uint32_t row = chains->head[thread]; row != 0; row = chains->next[row - 1]) {
        sum += model->totals.data[row - 1].samples;
    }
    if (sum == 0) {
        return;
    }
    begin_profile(writing, thread, model->weight == SS_WEIGHT_DEVICE_NS ? "nanoseconds" : "none", 0,
                  sum);
    bool first = true;
    for (uint32_t row = chains->head[thread]; row != 0; row = chains->next[row - 1]) {
        write_stack(writing, model->totals.data[row - 1].stack, first);
        first = false;
    }
    ss_sink_text(writing->sink, "],\n\"weights\":[");
    for (uint32_t row = chains->head[thread]; row != 0; row = chains->next[row - 1]) {
        ss_sink_format(writing->sink, row == chains->head[thread] ? "%" PRIu64 : ",%" PRIu64,
                       model->totals.data[row - 1].samples);
    }
    ss_sink_text(writing->sink, "]}");
}

static void chain_totals(const struct ss_speedscope_writing *writing, struct chains *chains)
{
    const struct ss_model *model = writing->selection->model;
    chains->head = ss_alloc_zero(model->threads.count + 1, sizeof *chains->head);
    chains->next = ss_alloc_zero(model->totals.count + 1, sizeof *chains->next);
    for (size_t i = model->totals.count; i-- > 0;) {
        if (writing->selection->totals[i] && model->totals.data[i].samples > 0) {
            chains->next[i] = chains->head[model->totals.data[i].thread];
            chains->head[model->totals.data[i].thread] = (uint32_t)i + 1;
        }
    }
}

static void write_profiles(struct ss_speedscope_writing *writing)
{
    const struct ss_model *model = writing->selection->model;
    struct chains chains;
    chain_totals(writing, &chains);
    ss_sink_text(writing->sink, "\"profiles\":[");
    for (uint32_t thread = 0; thread < model->threads.count && !ss_sink_failed(writing->sink);
         thread++) {
        uint32_t input = ss_thread_input(model, thread);
        bool is_untimed = input < model->inputs.count && model->inputs.data[input].is_untimed;
        if (is_untimed || model->weight != SS_WEIGHT_SAMPLES) {
            write_untimed(writing, thread, &chains);
        } else {
            write_timed(writing, thread);
        }
    }
    if (model->weight == SS_WEIGHT_SAMPLES) {
        ss_speedscope_write_ranges(writing);
    }
    ss_sink_text(writing->sink, "]}\n");
    ss_free(chains.head);
    ss_free(chains.next);
}

static void write_head(struct ss_speedscope_writing *writing)
{
    struct ss_trust trust;
    ss_trust_init(&trust, writing->selection);
    const char *name = writing->options->name;
    if (name == NULL) {
        name = trust.all.command[0] != '\0' ? trust.all.command : "stepscope";
    }
    bool is_device = writing->selection->model->weight == SS_WEIGHT_DEVICE_NS;
    struct ss_strbuf title;
    ss_strbuf_init(&title, 1 << 20);
    ss_strbuf_append_format(&title, "%s%s", is_device ? "device time: " : "", name);
    ss_sink_text(writing->sink,
                 "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
                 "\"exporter\":\"stepscope " SS_VERSION "\",\n\"name\":");
    ss_json_write_string(writing->sink, (struct ss_strview){title.data, title.length});
    ss_strbuf_fini(&title);
    ss_sink_text(writing->sink, ",\n\"activeProfileIndex\":0,\n");
    ss_trust_fini(&trust);
}

enum ss_status ss_view_speedscope(const struct ss_selection *selection,
                                  const struct ss_speedscope_options *options, struct ss_sink *sink,
                                  struct ss_error *err)
{
    bool may_be_empty = selection->model->weight == SS_WEIGHT_SAMPLES;
    if (selection->shown == 0 && !(may_be_empty && ss_speedscope_has_ranges(selection))) {
        return ss_fail_no_samples(selection, err);
    }
    struct ss_speedscope_writing writing = {
        .selection = selection,
        .options = options,
        .sink = sink,
        .number_of_frame = ss_alloc_zero(selection->model->frames.count + 1, sizeof(uint32_t)),
        .number_of_name = ss_alloc_zero(selection->model->names.count + 1, sizeof(uint32_t))};
    ss_spans_init(&writing.spans, selection);
    write_head(&writing);
    write_frames(&writing);
    write_profiles(&writing);
    ss_spans_fini(&writing.spans);
    ss_free(writing.number_of_frame);
    ss_free(writing.number_of_name);
    ss_vec_fini(&writing.list);
    ss_vec_fini(&writing.path);
    return SS_OK;
}
