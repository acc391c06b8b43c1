/* SPDX-License-Identifier: Apache-2.0 */
#include "view/export/folded.h"

#include <inttypes.h>

#include "base/alloc.h"
#include "base/intern.h"
#include "base/vec.h"
#include "view/output/pair_ids.h"
#include "view/output/shown.h"

enum { ELEMENT_BYTES = 256 * 1024 };

/* The last element of a line, and the line that it extends. Frames with equal texts share one. */
struct line {
    uint32_t parent; /* line; 0: none */
    uint32_t text;
    uint64_t samples;
};

struct folding {
    const struct ss_selection *selection;
    const struct ss_folded_options *options;
    bool processes;
    struct ss_intern texts;
    struct ss_strbuf text;
    uint32_t *text_of_frame;  /* text + 1 */
    uint32_t *line_of_thread; /* line + 1 */
    struct ss_pair_ids lines_by_text, lines_by_stack;
    struct ss_vec_of(struct line) lines;
    struct ss_vec_of(uint32_t) order; /* lines with samples, by first appearance */
    struct ss_vec_of(uint32_t) pending;
};

static uint32_t put_line(struct folding *folding, uint32_t parent, uint32_t text)
{
    uint32_t *id = ss_pair_ids_at(&folding->lines_by_text, ss_pair(parent, text));
    if (*id == 0) {
        *id = (uint32_t)folding->lines.count;
        ss_vec_push(&folding->lines, (struct line){parent, text, 0});
    }
    return *id;
}

static uint32_t put_text(struct folding *folding)
{
    uint32_t id = ss_intern_put(&folding->texts, folding->text.data, folding->text.length);
    ss_strbuf_clear(&folding->text);
    return id;
}

static uint32_t frame_text(struct folding *folding, uint32_t frame)
{
    uint32_t *known = &folding->text_of_frame[frame];
    if (*known == 0) {
        const struct ss_model *model = folding->selection->model;
        ss_frame_append_folded(&folding->text, model, &model->frames.data[frame],
                               &folding->options->style);
        *known = put_text(folding) + 1;
    }
    return *known - 1;
}

static uint32_t process_line(struct folding *folding, uint32_t process, int guard)
{
    const struct ss_model *model = folding->selection->model;
    uint32_t parent = model->processes.data[process].parent;
    uint32_t above = parent != 0 && parent < process && guard < 64
                         ? process_line(folding, parent, guard + 1)
                         : 0;
    ss_process_append_folded(&folding->text, model, process);
    return put_line(folding, above, put_text(folding));
}

static uint32_t thread_line(struct folding *folding, uint32_t thread)
{
    uint32_t *known = &folding->line_of_thread[thread];
    if (*known == 0) {
        const struct ss_model *model = folding->selection->model;
        const struct ss_model_thread *row = &model->threads.data[thread];
        uint32_t line = 0;
        if (folding->processes && row->process != 0 &&
            model->processes.data[row->process].pid >= 0) {
            line = process_line(folding, row->process, 0);
        }
        if (folding->options->threads && (row->tid >= 0 || row->name != 0)) {
            ss_thread_append_folded(&folding->text, model, thread);
            line = put_line(folding, line, put_text(folding));
        }
        *known = line + 1;
    }
    return *known - 1;
}

/* Each (labels, stack) is resolved once. */
static uint32_t stack_line(struct folding *folding, uint32_t labels, uint32_t stack)
{
    const struct ss_model *model = folding->selection->model;
    uint32_t line = labels;
    ss_vec_clear(&folding->pending);
    for (; stack != 0; stack = model->stacks.data[stack].parent) {
        uint32_t known = *ss_pair_ids_at(&folding->lines_by_stack, ss_pair(labels, stack));
        if (known != 0) {
            line = known;
            break;
        }
        ss_vec_push(&folding->pending, stack);
    }
    for (size_t i = folding->pending.count; i-- > 0;) {
        uint32_t at = folding->pending.data[i];
        line = put_line(folding, line, frame_text(folding, model->stacks.data[at].frame));
        *ss_pair_ids_at(&folding->lines_by_stack, ss_pair(labels, at)) = line;
    }
    return line;
}

static void write_lines(struct folding *folding, struct ss_sink *sink)
{
    for (size_t i = 0; i < folding->order.count && !ss_sink_failed(sink); i++) {
        const uint32_t last = folding->order.data[i];
        ss_vec_clear(&folding->pending);
        for (uint32_t line = last; line != 0; line = folding->lines.data[line].parent) {
            ss_vec_push(&folding->pending, line);
        }
        for (size_t e = folding->pending.count; e-- > 0;) {
            uint32_t text = folding->lines.data[folding->pending.data[e]].text;
            ss_sink_view(sink, ss_intern_get(&folding->texts, text));
            if (e > 0) {
                ss_sink_write(sink, ";", 1);
            }
        }
        ss_sink_format(sink, " %" PRIu64 "\n", folding->lines.data[last].samples);
    }
}

enum ss_status ss_view_folded(const struct ss_selection *selection,
                              const struct ss_folded_options *options, struct ss_sink *sink,
                              struct ss_error *err)
{
    if (selection->shown == 0) {
        return ss_fail_no_samples(selection, err);
    }
    const struct ss_model *model = selection->model;
    struct folding folding = {
        .selection = selection,
        .options = options,
        .processes = options->processes || ss_selection_has_processes(selection),
        .text_of_frame = ss_alloc_zero(model->frames.count + 1, sizeof(uint32_t)),
        .line_of_thread = ss_alloc_zero(model->threads.count + 1, sizeof(uint32_t))};
    ss_intern_init(&folding.texts);
    ss_strbuf_init(&folding.text, ELEMENT_BYTES);
    ss_vec_push_zero(&folding.lines);
    for (size_t i = 0; i < model->totals.count; i++) {
        const struct ss_model_total *total = &model->totals.data[i];
        if (selection->totals[i]) {
            uint32_t labels = thread_line(&folding, total->thread);
            uint32_t line = stack_line(&folding, labels, total->stack);
            if (folding.lines.data[line].samples == 0 && total->samples > 0) {
                ss_vec_push(&folding.order, line);
            }
            folding.lines.data[line].samples += total->samples;
        }
    }
    write_lines(&folding, sink);
    ss_intern_fini(&folding.texts);
    ss_strbuf_fini(&folding.text);
    ss_free(folding.text_of_frame);
    ss_free(folding.line_of_thread);
    ss_pair_ids_fini(&folding.lines_by_text);
    ss_pair_ids_fini(&folding.lines_by_stack);
    ss_vec_fini(&folding.lines);
    ss_vec_fini(&folding.order);
    ss_vec_fini(&folding.pending);
    return SS_OK;
}
