/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Simulates the stages of a pipeline: each runs a pass as soon as the stage before it has sent what
 * it needs. Transfers take no time, so that the idle time of each stage is known to the nanosecond.
 * Then the ranges are sorted: build_sort_ranges().
 */
#ifndef SS_TESTS_PIPELINE_BUILDER_H
#define SS_TESTS_PIPELINE_BUILDER_H

#include "rank_builder.h"

#define MS UINT64_C(1000000)

enum { STAGES = 4, STEPS = 12, MOST_BATCHES = 16, MOST_RANKS = 8 };
enum { NEVER = 0 };

/* Stages of a step; times of a micro-batch in ms. */
struct pipeline_shape {
    unsigned stages, batches, pipelines;
    unsigned forward[STAGES];
    bool is_gpipe;
    bool has_loss;       /* as a module: a further forward pass of the last stage */
    bool has_trial;      /* one step has a further forward pass of each stage */
    unsigned checkpoint; /* each stage writes one at the end of its step, for so many ms */
};

/* When a stage finished a micro-batch of the current step. */
struct ends {
    uint64_t forward[STAGES][MOST_BATCHES], backward[STAGES][MOST_BATCHES];
};

struct stage {
    uint32_t process, steps, phases, collectives;
    uint64_t at_ns, step_ns;
    unsigned done; /* passes of the step */
    int64_t number;
};

/* The pass with this number in the order of the stage: a micro-batch, backward or not. */
static inline unsigned pass_at(const struct pipeline_shape *shape, unsigned stage, unsigned at,
                               bool *is_backward)
{
    unsigned before = shape->stages - stage - 1, batches = shape->batches;
    before = before < batches ? before : batches;
    if (shape->is_gpipe) {
        *is_backward = at >= batches;
        return *is_backward ? at - batches : at;
    }
    if (at < before) {
        *is_backward = false;
        return at;
    }
    unsigned steady = 2 * (batches - before);
    if (at < before + steady) {
        *is_backward = (at - before) % 2 == 1;
        return *is_backward ? (at - before) / 2 : before + (at - before) / 2;
    }
    *is_backward = true;
    return at - before - steady + batches - before;
}

static inline void add_receive(struct ss_model *model, const struct stage *stage, unsigned peer,
                               uint64_t end_ns)
{
    const struct {
        uint32_t field;
        int64_t value;
    } fields[] = {{SS_EVENT_FIELD_tag, 0}, {SS_EVENT_FIELD_peer, peer}};
    uint32_t first = (uint32_t)model->fields.count;
    for (size_t i = 0; i < 2; i++) {
        ss_vec_push(&model->fields, (struct ss_model_field){.field = (uint16_t)fields[i].field,
                                                            .type = SS_VALUE_INT,
                                                            .integer = fields[i].value});
    }
    ss_vec_push_zero(&model->fields);
    ss_vec_push(&model->payloads, (struct ss_model_payload){.first_field = first});
    model->names.data[build_name(model, "gloo:recv", NULL)].type = SS_EVENT_TYPE_collective;
    BUILD_RANGE(model, .track = stage->collectives, .name = "gloo:recv",
                .begin_ns = end_ns - MS / 10, .end_ns = end_ns,
                .payload = (uint32_t)model->payloads.count - 1);
}

static inline void add_phase(struct ss_model *model, struct stage *stage, const char *name,
                             uint64_t until_ns)
{
    BUILD_RANGE(model, .track = stage->phases, .name = name, .begin_ns = stage->at_ns,
                .end_ns = until_ns);
    stage->at_ns = until_ns;
}

/* Runs the next pass of a stage, if what it needs is there. */
static inline bool run_pass(struct ss_model *model, const struct pipeline_shape *shape,
                            unsigned number, unsigned first_rank, struct stage *stage,
                            struct ends *ends)
{
    bool is_backward;
    unsigned batch = pass_at(shape, number, stage->done, &is_backward);
    bool is_first = is_backward ? number == shape->stages - 1 : number == 0;
    unsigned from = is_backward ? number + 1 : number - 1;
    uint64_t needs_ns = is_first      ? stage->at_ns
                        : is_backward ? ends->backward[from][batch]
                                      : ends->forward[from][batch];
    if (needs_ns == NEVER) {
        return false;
    }
    if (needs_ns > stage->at_ns) {
        add_phase(model, stage, "communication", needs_ns);
        add_receive(model, stage, first_rank + from, needs_ns);
    }
    uint64_t forward_ns = shape->forward[number] * MS;
    if (is_backward && is_first && shape->has_loss) {
        stage->at_ns += MS / 10;
        add_phase(model, stage, "forward", stage->at_ns + MS / 10);
    }
    add_phase(model, stage, is_backward ? "backward" : "forward",
              stage->at_ns + (is_backward ? 2 * forward_ns : forward_ns));
    uint64_t *end_ns = is_backward ? &ends->backward[number][batch] : &ends->forward[number][batch];
    *end_ns = stage->at_ns;
    stage->done++;
    return true;
}

static inline void run_step(struct ss_model *model, const struct pipeline_shape *shape,
                            unsigned first_rank, struct stage *stages)
{
    struct ends ends = {0};
    unsigned done = 0;
    while (done < 2 * shape->batches * shape->stages) {
        for (unsigned i = 0; i < shape->stages; i++) {
            while (stages[i].done < 2 * shape->batches &&
                   run_pass(model, shape, i, first_rank, &stages[i], &ends)) {
                done++;
            }
        }
    }
    for (unsigned i = 0; i < shape->stages; i++) {
        if (shape->checkpoint > 0) {
            add_phase(model, &stages[i], "checkpoint", stages[i].at_ns + shape->checkpoint * MS);
        }
        BUILD_RANGE(model, .track = stages[i].steps, .name = "step", .begin_ns = stages[i].step_ns,
                    .end_ns = stages[i].at_ns, .payload = build_integer(model, stages[i].number++));
        stages[i].step_ns = stages[i].at_ns;
        stages[i].done = 0;
    }
}

static inline void run_pipeline(struct ss_model *model, const struct pipeline_shape *shape,
                                unsigned first_rank)
{
    struct stage stages[STAGES];
    for (unsigned i = 0; i < shape->stages; i++) {
        uint32_t process = build_rank(model, first_rank + i, MOST_RANKS);
        stages[i] = (struct stage){
            .process = process,
            .steps = BUILD_TRACK(model, .kind = SS_TRACK_STEPS, .process = process, .name = "step"),
            .phases =
                BUILD_TRACK(model, .kind = SS_TRACK_PHASES, .process = process, .name = "phase"),
            .collectives = build_collective_track(model, process),
            .at_ns = 1000 * MS,
            .step_ns = 1000 * MS};
    }
    for (unsigned step = 0; step < STEPS; step++) {
        for (unsigned i = 0; i < shape->stages && shape->has_trial && step == STEPS / 2; i++) {
            add_phase(model, &stages[i], "forward", stages[i].at_ns + MS / 10);
            stages[i].at_ns += MS / 10;
        }
        run_step(model, shape, first_rank, stages);
    }
    uint64_t end_ns = 0; /* then they wait for the last one */
    for (unsigned i = 0; i < shape->stages; i++) {
        end_ns = stages[i].at_ns > end_ns ? stages[i].at_ns : end_ns;
    }
    for (unsigned i = 0; i < shape->stages; i++) {
        if (stages[i].at_ns < end_ns) {
            add_phase(model, &stages[i], "communication", end_ns);
            add_receive(model, &stages[i], first_rank, end_ns);
        }
    }
}

#endif
