/* SPDX-License-Identifier: Apache-2.0 */
/* A program that allocates memory, in memory: event by event, or a training of two passes whose
 * allocations are known. Include after cmocka.h. */
#ifndef SS_TESTS_ALLOCATION_BUILDER_H
#define SS_TESTS_ALLOCATION_BUILDER_H

#include <string.h>

#include "../model_builder.h"
#include "analysis/memory/allocation_tables.h"
#include "model/core/domains.h"

enum { GPU = 1 };

/* A process with a main thread and a thread of autograd, and allocations on both. */
struct program {
    struct ss_model model;
    uint32_t process;
    uint32_t memory, torch, backward_memory, backward_torch;
    struct ss_selection selection;
    struct ss_step_summary training;
    struct ss_allocations allocations;
    struct ss_arena arena;
};

static inline void add_field(struct ss_model *model, uint16_t field, uint64_t natural)
{
    ss_vec_push(&model->fields,
                (struct ss_model_field){.field = field, .type = SS_VALUE_UINT, .natural = natural});
}

struct built_allocation {
    uint32_t track;
    uint64_t time_ns;
    int64_t bytes;
    uint64_t address; /* 0: none */
    const char *name; /* NULL: "[memory]" */
    const char *category, *stack;
    uint64_t allocated, reserved, requested; /* 0: none */
    bool is_on_host;
};
#define ALLOCATE(program, ...) allocate(program, (struct built_allocation){__VA_ARGS__})

static inline void allocate(struct program *program, struct built_allocation event)
{
    struct ss_model *model = &program->model;
    bool is_plain = event.name == NULL;
    uint32_t name = build_name(model, is_plain ? "[memory]" : event.name, event.category);
    model->names.data[name].type = is_plain ? SS_EVENT_TYPE_allocation : SS_EVENT_TYPE_instant;
    uint32_t first = (uint32_t)model->fields.count;
    if (!event.is_on_host) {
        add_field(model, SS_EVENT_FIELD_device, GPU);
    }
    if (event.address != 0) {
        add_field(model, SS_EVENT_FIELD_address, event.address);
    }
    if (event.allocated != 0) {
        add_field(model, SS_EVENT_FIELD_allocated_bytes, event.allocated);
    }
    if (event.reserved != 0) {
        add_field(model, SS_EVENT_FIELD_reserved_bytes, event.reserved);
    }
    if (event.requested != 0) {
        add_field(model, SS_EVENT_FIELD_bytes, event.requested);
    }
    if (event.stack != NULL) {
        ss_vec_push(&model->fields,
                    (struct ss_model_field){.field = SS_EVENT_FIELD_stack,
                                            .type = SS_VALUE_TEXT,
                                            .text = build_text(model, event.stack)});
    }
    ss_vec_push(&model->fields, (struct ss_model_field){0});
    ss_vec_push(&model->payloads, (struct ss_model_payload){.type = SS_VALUE_INT,
                                                            .first_field = first,
                                                            .integer = event.bytes});
    ss_vec_push(&model->marks,
                (struct ss_model_mark){.time_ns = event.time_ns,
                                       .track = event.track != 0 ? event.track : program->memory,
                                       .name = name,
                                       .payload = (uint32_t)model->payloads.count - 1});
}

static inline void begin(struct program *program)
{
    struct ss_model *model = &program->model;
    *program = (struct program){0};
    ss_model_init(model);
    ss_model_new_input(model, SS_INPUT_IMPORT, "x");
    ss_vec_push(&model->devices, (struct ss_model_device){.kind = SS_DEVICE_GPU, .number = 0});
    assert_int_equal(model->devices.count - 1, GPU);
    program->process = BUILD_PROCESS(model, .pid = 42);
    uint32_t thread = BUILD_THREAD(model, .process = program->process, .tid = 42, .is_main = true);
    uint32_t autograd = BUILD_THREAD(model, .process = program->process, .tid = 43);
    program->memory = BUILD_TRACK(model, .kind = SS_TRACK_RANGES, .process = program->process,
                                  .thread = thread, .name = SS_DOMAIN_MEMORY);
    program->torch = BUILD_TRACK(model, .kind = SS_TRACK_RANGES, .process = program->process,
                                 .thread = thread, .name = "torch");
    program->backward_memory =
        BUILD_TRACK(model, .kind = SS_TRACK_RANGES, .process = program->process, .thread = autograd,
                    .name = SS_DOMAIN_MEMORY);
    program->backward_torch =
        BUILD_TRACK(model, .kind = SS_TRACK_RANGES, .process = program->process, .thread = autograd,
                    .name = "torch");
}

static inline void analyse(struct program *program)
{
    struct ss_selection_options options = {.idle = SS_IDLE_MAIN};
    struct ss_steps_options steps = {0};
    assert_int_equal(ss_selection_init(&program->selection, &program->model, &options, NULL),
                     SS_OK);
    ss_step_summary_init(&program->training, &program->selection, &steps);
    ss_allocations_init(&program->allocations, &program->selection, &program->training);
}

static inline void end(struct program *program)
{
    ss_allocations_fini(&program->allocations);
    ss_step_summary_fini(&program->training);
    ss_selection_fini(&program->selection);
    ss_model_fini(&program->model);
    ss_arena_fini(&program->arena);
}

/* When the allocation, of the first pool, was freed. */
static inline uint64_t freed_at(const struct program *program, const struct ss_allocation *row)
{
    return program->allocations.pools.data[0].points.data[row->end].time_ns;
}

static const struct ss_allocation *find(const struct program *program, uint64_t address)
{
    const struct ss_allocation *found = NULL;
    for (size_t i = 0; i < program->allocations.rows.count; i++) {
        const struct ss_allocation *row = &program->allocations.rows.data[i];
        if (row->address == address) {
            assert_null(found);
            found = row;
        }
    }
    assert_non_null(found);
    return found;
}

static inline void check_category(const struct program *program, uint64_t address,
                                  const char *category)
{
    const struct ss_allocation *row = find(program, address);
    assert_string_equal(ss_allocation_category_text((enum ss_allocation_category)row->category),
                        category);
}

/* An operator, of a numbered forward where `number` is not -1. */
static inline void add_operator(struct program *program, uint32_t track, const char *name,
                                const char *category, uint64_t begin_ns, uint64_t end_ns,
                                int64_t number)
{
    struct ss_model *model = &program->model;
    uint32_t row = build_name(model, name, category);
    model->names.data[row].type = SS_EVENT_TYPE_operator;
    BUILD_RANGE(model, .track = track, .name = name, .category = category, .begin_ns = begin_ns,
                .end_ns = end_ns, .payload = number >= 0 ? build_integer(model, number) : 0);
}

/* --- a training ---------------------------------------------------------------------------------
 */

/* The ranges of two passes, the second 1000 ns after the first. */
static inline void add_passes(struct program *program)
{
    for (uint64_t at = 1000; at <= 2000; at += 1000) {
        add_operator(program, program->torch, "enumerate(DataLoader)#_Iter.__next__", "operator",
                     at, at + 100, -1);
        add_operator(program, program->torch, "aten::linear", "operator", at + 100, at + 400, 7);
        add_operator(program, program->torch, "Optimizer.step#SGD.step", "operator", at + 700,
                     at + 900, -1);
    }
    for (uint64_t at = 1000; at <= 2000; at += 1000) {
        add_operator(program, program->backward_torch,
                     "autograd::engine::evaluate_function: AddmmBackward0", "backward", at + 400,
                     at + 650, 7);
    }
}

static inline void add_training(struct program *program)
{
    add_passes(program);
    ALLOCATE(program, .time_ns = 100, .bytes = 4000, .address = 1); /* a parameter */
    ALLOCATE(program, .time_ns = 110, .bytes = 100, .address = 2);
    ALLOCATE(program, .time_ns = 120, .bytes = -100, .address = 2);
    ALLOCATE(program, .time_ns = 1050, .bytes = 512, .address = 3);  /* the batch */
    ALLOCATE(program, .time_ns = 1150, .bytes = 1000, .address = 4); /* an activation */
    ALLOCATE(program, .time_ns = 1160, .bytes = 300, .address = 5);
    ALLOCATE(program, .time_ns = 1170, .bytes = -300, .address = 5);
    ALLOCATE(program, .time_ns = 1180, .bytes = 16, .address = 13); /* the loss */
    ALLOCATE(program, .track = program->backward_memory, .time_ns = 1450, .bytes = 4000,
             .address = 6); /* a gradient */
    ALLOCATE(program, .track = program->backward_memory, .time_ns = 1460, .bytes = 200,
             .address = 7);
    ALLOCATE(program, .track = program->backward_memory, .time_ns = 1480, .bytes = -200,
             .address = 7);
    ALLOCATE(program, .track = program->backward_memory, .time_ns = 1500, .bytes = -1000,
             .address = 4);
    ALLOCATE(program, .time_ns = 1750, .bytes = 8000, .address = 8); /* momentum */
    ALLOCATE(program, .time_ns = 1760, .bytes = 50, .address = 9);
    ALLOCATE(program, .time_ns = 1770, .bytes = -50, .address = 9);
    ALLOCATE(program, .time_ns = 1950, .bytes = -4000, .address = 6);
    ALLOCATE(program, .time_ns = 2050, .bytes = 512, .address = 10);
    ALLOCATE(program, .time_ns = 2060, .bytes = -512, .address = 3);
    ALLOCATE(program, .time_ns = 2150, .bytes = 1000, .address = 11);
    ALLOCATE(program, .time_ns = 2180, .bytes = 16, .address = 14);
    ALLOCATE(program, .time_ns = 2190, .bytes = -16, .address = 13);
    ALLOCATE(program, .track = program->backward_memory, .time_ns = 2450, .bytes = 4000,
             .address = 12);
    ALLOCATE(program, .time_ns = 2800, .bytes = 64, .address = 15); /* the recording ends in it */
}

#endif
