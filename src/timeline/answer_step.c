/* SPDX-License-Identifier: Apache-2.0 */
#include "timeline/answer_slice.h"
#include "timeline/answers.h"
#include "timeline/labels.h"
#include "view/output/json_text.h"

static const char *const kinds[] = {[SS_STEP_STEADY] = "steady-state",
                                    [SS_STEP_WARM_UP] = "warm-up",
                                    [SS_STEP_OUTLIER] = "outlier",
                                    [SS_STEP_PROFILED] = "profiled",
                                    [SS_STEP_CUT] = "cut",
                                    [SS_STEP_OUTSIDE] = "outside"};

/* Where time 0 of a process lies. */
static uint64_t base_of(const struct ss_timeline *timeline, uint32_t process)
{
    for (size_t i = 0; i < timeline->groups.count; i++) {
        if (timeline->groups.data[i].process == process) {
            return timeline->tracks.data[timeline->groups.data[i].first_track].base_ns;
        }
    }
    return 0;
}

static bool find_slice(const struct ss_timeline *timeline, const struct ss_step *step,
                       uint32_t *lane, uint32_t *position)
{
    for (size_t i = 0; i < timeline->tracks.count; i++) {
        const struct ss_timeline_track *track = &timeline->tracks.data[i];
        bool is_steps = track->kind == SS_TIMELINE_STEPS &&
                        ss_timeline_process(timeline, track) == step->process;
        for (uint32_t j = 0; is_steps && j < track->lanes; j++) {
            *lane = track->first_lane + j;
            *position = ss_lane_find(&timeline->lanes.data[*lane], step->begin_ns);
            if (*position < timeline->lanes.data[*lane].count) {
                const struct ss_model_range *slice =
                    ss_lane_slice(&timeline->lanes.data[*lane], *position);
                if (slice->begin_ns == step->begin_ns && slice->end_ns == step->end_ns) {
                    return true;
                }
            }
        }
    }
    return false;
}

/* The nearest step of the process after, or before, the time. */
static const struct ss_step *choose(const struct ss_step_summary *summary, uint32_t process,
                                    uint64_t time_ns, enum ss_step_choice choice)
{
    const struct ss_step *chosen = NULL;
    for (size_t i = 0; i < summary->steps.count; i++) {
        const struct ss_step *step = &summary->steps.data[i];
        bool is_back = choice == SS_CHOOSE_PREVIOUS;
        bool is_ahead = is_back ? step->begin_ns < time_ns : step->begin_ns > time_ns;
        bool is_wanted = choice != SS_CHOOSE_OUTLIER || step->kind == SS_STEP_OUTLIER;
        if (step->process == process && is_ahead && is_wanted) {
            chosen = is_back || chosen == NULL ? step : chosen;
        }
    }
    return chosen;
}

void ss_answer_step(const struct ss_answering *answering, uint32_t process, bool from_begin,
                    uint64_t at_ns, enum ss_step_choice choice, struct ss_sink *sink)
{
    const struct ss_step_summary *summary = answering->steps;
    const struct ss_timeline *timeline = answering->timeline;
    uint32_t lane, position;
    if (!ss_step_has_process(summary, process) && summary->steps.count > 0) {
        process = summary->steps.data[0].process;
    }
    uint64_t base_ns = base_of(timeline, process);
    /* A step may begin at time 0. */
    uint64_t after_ns = from_begin ? 0 : base_ns + at_ns;
    const struct ss_step *step = choose(summary, process, after_ns, choice);
    if (step == NULL || !find_slice(timeline, step, &lane, &position)) {
        ss_sink_text(sink, "{\"step\":null}\n");
        return;
    }
    ss_sink_text(sink, "{\"step\":{\"number\":");
    ss_json_write_integer(sink, step->number);
    ss_sink_format(sink, ",\"kind\":\"%s\",\"process\":%u,", kinds[step->kind], process);
    ss_answer_write_slice(timeline, lane, position, SS_LABEL_BYTES, sink);
    ss_sink_text(sink, "}}\n");
}
