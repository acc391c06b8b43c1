/* SPDX-License-Identifier: Apache-2.0 */
#include "model/clock/clock_move.h"

static uint64_t moved(const struct ss_clock_moves *moves, uint32_t input, uint64_t time_ns)
{
    const struct ss_clock_segments *segments = moves->by_input[input];
    return segments != NULL ? ss_clock_fit_map(segments->data, segments->count, time_ns) : time_ns;
}

static uint32_t input_of_thread(const struct ss_model *model, uint32_t thread)
{
    return model->processes.data[model->threads.data[thread].process].input;
}

static void move_tracks(struct ss_model *model, const struct ss_clock_moves *moves)
{
    const struct ss_model_track *tracks = model->tracks.data;
    for (size_t i = 0; i < model->ranges.count; i++) {
        struct ss_model_range *range = &model->ranges.data[i];
        range->begin_ns = moved(moves, tracks[range->track].input, range->begin_ns);
        range->end_ns = moved(moves, tracks[range->track].input, range->end_ns);
    }
    for (size_t i = 0; i < model->marks.count; i++) {
        struct ss_model_mark *mark = &model->marks.data[i];
        mark->time_ns = moved(moves, tracks[mark->track].input, mark->time_ns);
    }
    for (size_t i = 0; i < model->flows.count; i++) {
        struct ss_model_flow *flow = &model->flows.data[i];
        flow->time_ns = moved(moves, tracks[flow->track].input, flow->time_ns);
    }
    for (size_t i = 0; i < model->values.count; i++) {
        struct ss_model_value *value = &model->values.data[i];
        value->time_ns = moved(moves, tracks[value->track].input, value->time_ns);
    }
}

void ss_clock_move(struct ss_model *model, const struct ss_clock_moves *moves)
{
    move_tracks(model, moves);
    for (size_t i = 0; i < model->samples.count; i++) {
        struct ss_model_sample *sample = &model->samples.data[i];
        sample->time_ns = moved(moves, input_of_thread(model, sample->thread), sample->time_ns);
    }
    for (size_t i = 0; i < model->gil_spans.count; i++) {
        struct ss_model_gil_span *span = &model->gil_spans.data[i];
        span->begin_ns = moved(moves, input_of_thread(model, span->thread), span->begin_ns);
        span->end_ns = moved(moves, input_of_thread(model, span->thread), span->end_ns);
    }
    for (size_t i = 0; i < model->notes.count; i++) {
        struct ss_model_note *note = &model->notes.data[i];
        note->time_ns = moved(moves, note->input, note->time_ns);
    }
    for (size_t i = 1; i < model->processes.count; i++) {
        struct ss_model_process *process = &model->processes.data[i];
        process->first_seen_ns =
            process->first_seen_ns != 0 ? moved(moves, process->input, process->first_seen_ns) : 0;
    }
}
