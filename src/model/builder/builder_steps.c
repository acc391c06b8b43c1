/* SPDX-License-Identifier: Apache-2.0 */
/* The time of requested steps among the ranges that were collected. */
#include "model/builder/builder_state.h"
#include "model/core/step_span.h"

struct search {
    const struct ss_model *model;
    int64_t first, last;
    struct ss_step_numbers seen;
    struct ss_step_span span;
    bool has_span;
};

static void add_step(struct search *search, const struct ss_complete_range *step)
{
    const struct ss_model_payload *payload = &search->model->payloads.data[step->payload];
    if (payload->type != SS_VALUE_INT) {
        return;
    }
    int64_t number = payload->integer;
    struct ss_step_numbers *seen = &search->seen;
    seen->lowest = !seen->has_steps || number < seen->lowest ? number : seen->lowest;
    seen->highest = !seen->has_steps || number > seen->highest ? number : seen->highest;
    seen->has_steps = true;
    if (number < search->first || number > search->last) {
        return;
    }
    struct ss_step_span *span = &search->span;
    bool is_first = !search->has_span;
    span->begin_ns = is_first || step->begin_ns < span->begin_ns ? step->begin_ns : span->begin_ns;
    span->end_ns = is_first || step->end_ns > span->end_ns ? step->end_ns : span->end_ns;
    search->has_span = true;
}

enum ss_status ss_model_builder_select_steps(struct ss_model_builder *builder,
                                             struct ss_model_load *load, struct ss_error *err)
{
    struct search search = {
        .model = builder->model, .first = load->first_step, .last = load->last_step};
    for (size_t i = 0; i < builder->on_tracks.nests.count; i++) {
        const struct ss_nest *nest = &builder->on_tracks.nests.data[i];
        if (builder->model->tracks.data[nest->track].kind == SS_TRACK_STEPS) {
            for (size_t j = 0; j < nest->complete.count; j++) {
                add_step(&search, &nest->complete.data[j]);
            }
        }
    }
    const char *path =
        ss_model_text(builder->model, builder->model->inputs.data[builder->input].path);
    if (!search.has_span) {
        return ss_step_span_fail(path, 1, load->first_step, load->last_step, &search.seen, err);
    }
    builder->has_base = true;
    builder->base_ns = search.span.begin_ns;
    load->has_time_range = true;
    load->from_ns = 0;
    load->to_ns = search.span.end_ns - search.span.begin_ns;
    return SS_OK;
}
