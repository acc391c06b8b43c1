/* SPDX-License-Identifier: Apache-2.0 */
/* A timeline with slices of a device, marks, counters, sampled stacks and a flow, as view has it.
 */
#ifndef SS_TESTS_VIEWED_MODEL_H
#define SS_TESTS_VIEWED_MODEL_H

#include "../launched_model.h"
#include "timeline/answers.h"
#include "timeline/saved.h"

static inline void viewed_flow(struct ss_model *model, uint32_t track, uint64_t time_ns,
                               bool is_end)
{
    ss_vec_push(&model->flows, (struct ss_model_flow){
                                   .id = 77, .time_ns = time_ns, .track = track, .is_end = is_end});
}

static inline void viewed_sample(struct ss_model *model, uint32_t thread, uint64_t time_ns,
                                 uint32_t line)
{
    uint32_t outer = BUILD_CALL(model, 0, .function = "main", .file = "train.py", .line = 3);
    uint32_t stack =
        BUILD_CALL(model, outer, .function = "load", .file = "d.py", .line = (int32_t)line);
    struct ss_model_sample sample = {
        .time_ns = time_ns, .thread = thread, .stack = stack, .weight = 1};
    ss_vec_push(&model->samples, sample);
    ss_model_add_total(model, &(struct ss_model_total){
                                  .thread = thread, .stack = stack, .samples = 1, .records = 1});
}

static inline void viewed_init(struct ss_viewed *viewed)
{
    static const struct ss_selection_options everything = {.size = sizeof everything,
                                                           .idle = SS_IDLE_ALL};
    static const struct ss_steps_options all_steps = {.size = sizeof all_steps};
    struct launched made;
    launched_init(&made, NULL, NULL);
    ss_step_summary_fini(&made.training);
    ss_selection_fini(&made.selection);
    uint32_t track = made.model.ranges.data[0].track;
    uint32_t other = made.model.ranges.data[made.model.ranges.count - 1].track;
    viewed_flow(&made.model, track, 50, false);
    viewed_flow(&made.model, other, 3300, true);
    for (uint32_t i = 0; i < 6; i++) {
        BUILD_MARK(&made.model, .track = track, .name = "a mark", .time_ns = 100 + 7 * i);
        viewed_sample(&made.model, made.main_thread, 10 + 500 * (uint64_t)i, 9 + i / 2);
    }
    uint32_t counter =
        BUILD_TRACK(&made.model, .kind = SS_TRACK_COUNTER, .process = made.process, .name = "loss");
    for (uint32_t i = 0; i < 40; i++) {
        build_level(&made.model, counter, 90 * (uint64_t)i, 1.5 / (i + 1));
    }
    ss_viewed_init(viewed);
    ss_model_fini(&viewed->model);
    viewed->model = made.model;
    if (ss_selection_init(&viewed->selection, &viewed->model, &everything, NULL) != SS_OK) {
        ss_bug("everything can be selected");
    }
    ss_timeline_init(&viewed->timeline, &viewed->selection);
    ss_timeline_links_init(&viewed->links, &viewed->timeline);
    ss_step_summary_init(&viewed->steps, &viewed->selection, &all_steps);
    ss_strbuf_append_text(&viewed->messages, "said of it\n");
    viewed->exit_status = 3;
}

#endif
