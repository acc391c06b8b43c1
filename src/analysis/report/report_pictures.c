/* SPDX-License-Identifier: Apache-2.0 */
/* What only a page shows of a recording: pictures, of which text has no room. */
#include "analysis/kernels/device_stacks.h"
#include "analysis/report/report_parts.h"

/* Joins the points to the series of the steps. */
void ss_report_add_points(const struct ss_report_parts *parts, struct ss_document *document)
{
    for (size_t i = 0; i < document->blocks.count; i++) {
        if (document->blocks.data[i].kind == SS_BLOCK_SERIES) {
            ss_step_points_init(&document->blocks.data[i].series.points, parts->selection->model,
                                &parts->training);
        }
    }
}

static struct ss_block *add_picture(struct ss_document *document, enum ss_block_kind kind)
{
    struct ss_block *block = ss_document_add(document, kind);
    block->audience = SS_FOR_PAGES;
    return block;
}

void ss_report_add_calls(const struct ss_report_parts *parts, struct ss_document *document)
{
    struct ss_block *block = add_picture(document, SS_BLOCK_CALLS);
    if (parts->selection->shown > 0) {
        ss_vec_push_zero(&block->calls);
        ss_call_weights_init(&block->calls.data[0], parts->selection, &parts->training);
    }
}

void ss_report_add_device_calls(struct ss_model *model, const struct ss_selection_options *options,
                                struct ss_document *document)
{
    const struct ss_step_summary no_training = {.processes = 0};
    struct ss_selection selection;
    ss_device_stacks_weigh(model);
    if (ss_selection_init(&selection, model, options, NULL) != SS_OK) {
        return; /* a filter that excludes everything */
    }
    for (size_t i = 0; i < document->blocks.count && selection.shown > 0; i++) {
        struct ss_block *block = &document->blocks.data[i];
        if (block->kind == SS_BLOCK_CALLS) {
            ss_vec_push_zero(&block->calls);
            ss_call_weights_init(&block->calls.data[block->calls.count - 1], &selection,
                                 &no_training);
        }
    }
    ss_selection_fini(&selection);
}

void ss_report_add_timeline(const struct ss_report_parts *parts, struct ss_document *document)
{
    struct ss_step_timeline timeline;
    ss_step_timeline_init(&timeline, parts->selection->model, &parts->training);
    if (timeline.steps.count > 0) {
        add_picture(document, SS_BLOCK_TIMELINE)->timeline = timeline;
    } else {
        ss_step_timeline_fini(&timeline);
    }
}

void ss_report_add_curves(const struct ss_report_parts *parts, struct ss_document *document)
{
    struct ss_curves curves;
    ss_curves_init(&curves, parts->selection);
    if (curves.pictures.count > 0) {
        add_picture(document, SS_BLOCK_CURVES)->curves = curves;
    } else {
        ss_curves_fini(&curves);
    }
}
