/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks with collectives in a model, for tests: one process, and one input, for each rank. */
#ifndef SS_TESTS_RANK_BUILDER_H
#define SS_TESTS_RANK_BUILDER_H

#include "model_builder.h"

static inline uint32_t build_rank(struct ss_model *model, unsigned rank, unsigned ranks)
{
    uint32_t input = ss_model_new_input(model, SS_INPUT_TRACE, "rank.pftrace");
    uint32_t process = BUILD_PROCESS(model, .pid = 100 + (int32_t)rank);
    struct ss_model_process *row = &model->processes.data[process];
    row->input = input;
    row->rank = rank;
    row->world_size = ranks;
    row->has_rank = true;
    return process;
}

/* Gives the input of a rank a clock of its own. */
static inline void build_clock(struct ss_model *model, uint32_t process,
                               enum ss_clock_mapping mapping, uint64_t error_ns)
{
    if (model->clock_domains.count == 0) {
        ss_vec_push_zero(&model->clock_domains);
    }
    ss_vec_push(&model->clock_domains,
                (struct ss_model_clock_domain){.mapping = mapping, .error_ns = error_ns});
    model->inputs.data[model->processes.data[process].input].clock_domain =
        (uint32_t)model->clock_domains.count - 1;
}

static inline uint32_t build_group(struct ss_model *model, const char *name, uint32_t size)
{
    uint32_t text = build_text(model, name);
    for (uint32_t i = 1; i < model->groups.count; i++) {
        if (model->groups.data[i].name == text) {
            return i;
        }
    }
    ss_vec_push(&model->groups, (struct ss_model_group){.name = text, .size = size});
    return (uint32_t)model->groups.count - 1;
}

/* Where a rank has its collectives. */
static inline uint32_t build_collective_track(struct ss_model *model, uint32_t process)
{
    return BUILD_TRACK(model, .kind = SS_TRACK_ASYNC, .process = process, .name = "torch");
}

struct built_collective {
    uint32_t track;
    const char *name;  /* NULL: "gloo:all_reduce" */
    const char *group; /* NULL: no group and no number */
    uint32_t size;
    int64_t sequence;
    uint64_t begin_ns, end_ns;
    int64_t bytes;
};
#define BUILD_COLLECTIVE(model, ...) build_collective(model, (struct built_collective){__VA_ARGS__})

static inline void build_collective(struct ss_model *model, struct built_collective call)
{
    uint32_t payload = 0;
    if (call.group != NULL) {
        uint32_t group = build_group(model, call.group, call.size);
        uint32_t first = (uint32_t)model->fields.count;
        ss_vec_push(&model->fields, (struct ss_model_field){.field = SS_EVENT_FIELD_group,
                                                            .type = SS_VALUE_UINT,
                                                            .natural = group});
        ss_vec_push(&model->fields, (struct ss_model_field){.field = SS_EVENT_FIELD_sequence,
                                                            .type = SS_VALUE_INT,
                                                            .integer = call.sequence});
        ss_vec_push_zero(&model->fields);
        ss_vec_push(&model->payloads, (struct ss_model_payload){.type = SS_VALUE_INT,
                                                                .integer = call.bytes,
                                                                .first_field = first});
        payload = (uint32_t)model->payloads.count - 1;
    }
    const char *name = call.name != NULL ? call.name : "gloo:all_reduce";
    model->names.data[build_name(model, name, NULL)].type = SS_EVENT_TYPE_collective;
    BUILD_RANGE(model, .track = call.track, .name = name, .begin_ns = call.begin_ns,
                .end_ns = call.end_ns, .payload = payload);
}

#endif
