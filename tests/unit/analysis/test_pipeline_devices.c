/* SPDX-License-Identifier: Apache-2.0 */
/* Pipelines whose hosts queue all work of a step at once: what stages are idle is what their
 * devices do not compute. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../rank_builder.h"
#include "analysis/pipeline/pipelines.h"

#define MS UINT64_C(1000000)
#define US UINT64_C(1000)

enum { STAGES = 4, BATCHES = 6, STEPS = 12, BACKWARDS = 2 };
enum { SLOT_US = 100, PASS_US = 40 }; /* of the host, for each pass */

/* Times of a micro-batch in ms. */
struct shape {
    unsigned forward[STAGES];
    bool has_devices[STAGES];
    bool loses_kernels; /* of one step of the second stage */
};

struct stage {
    uint32_t process, steps, phases, calls, collectives, stream;
    int64_t correlation;
};

struct made {
    struct ss_model model;
    struct ss_selection selection;
    struct ss_step_summary steps;
    struct ss_pipelines pipelines;
};

static void add_range(struct ss_model *model, uint32_t track, const char *name,
                      enum ss_event_type type, uint64_t begin_ns, uint64_t end_ns, uint32_t payload)
{
    BUILD_RANGE(model, .track = track, .name = name, .begin_ns = begin_ns, .end_ns = end_ns,
                .payload = payload);
    uint32_t path = model->ranges.data[model->ranges.count - 1].path;
    model->names.data[model->paths.data[path].name].type = type;
}

static struct stage make_stage(struct ss_model *model, unsigned number)
{
    struct stage stage = {.process = build_rank(model, number, STAGES), .correlation = 1};
    uint32_t thread = BUILD_THREAD(model, .process = stage.process, .tid = 100 + (int32_t)number,
                                   .is_main = true);
    stage.steps = BUILD_TRACK(model, .kind = SS_TRACK_STEPS, .process = stage.process,
                              .thread = thread, .name = "step");
    stage.phases = BUILD_TRACK(model, .kind = SS_TRACK_PHASES, .process = stage.process,
                               .thread = thread, .name = "phase");
    stage.calls = BUILD_TRACK(model, .kind = SS_TRACK_RANGES, .process = stage.process,
                              .thread = thread, .name = "torch");
    stage.collectives = build_collective_track(model, stage.process);
    ss_vec_push(&model->devices,
                (struct ss_model_device){.kind = SS_DEVICE_GPU, .number = (int32_t)number});
    uint32_t device = (uint32_t)model->devices.count - 1;
    ss_vec_push(&model->streams, (struct ss_model_stream){.device = device, .number = 7});
    stage.stream = BUILD_TRACK(model, .kind = SS_TRACK_RANGES, .process = stage.process,
                               .device = device, .name = "stream");
    model->tracks.data[stage.stream].stream = (uint32_t)model->streams.count - 1;
    return stage;
}

static void add_send(struct ss_model *model, const struct stage *stage, unsigned peer,
                     uint64_t begin_ns, uint64_t end_ns)
{
    uint32_t first = (uint32_t)model->fields.count;
    ss_vec_push(
        &model->fields,
        (struct ss_model_field){.field = SS_EVENT_FIELD_tag, .type = SS_VALUE_INT, .integer = 0});
    ss_vec_push(&model->fields, (struct ss_model_field){.field = SS_EVENT_FIELD_peer,
                                                        .type = SS_VALUE_INT,
                                                        .integer = peer});
    ss_vec_push_zero(&model->fields);
    ss_vec_push(&model->payloads, (struct ss_model_payload){
                                      .type = SS_VALUE_INT, .integer = 4096, .first_field = first});
    add_range(model, stage->collectives, "nccl:send", SS_EVENT_TYPE_collective, begin_ns, end_ns,
              (uint32_t)model->payloads.count - 1);
}

/* The host launches a kernel and queues a send; the kernel runs later. */
static void add_pass(struct ss_model *model, struct stage *stage, unsigned number,
                     const char *phase, uint64_t host_ns, uint64_t begin_ns, uint64_t end_ns)
{
    uint64_t sent_ns = host_ns + PASS_US * US, until_ns = host_ns + SLOT_US * US;
    add_range(model, stage->phases, phase, SS_EVENT_TYPE_NONE, host_ns, sent_ns, 0);
    add_range(model, stage->phases, "communication", SS_EVENT_TYPE_NONE, sent_ns, until_ns, 0);
    add_range(model, stage->calls, "cudaLaunchKernel", SS_EVENT_TYPE_launch, host_ns + US,
              host_ns + 2 * US, build_integer(model, stage->correlation));
    add_send(model, stage, number > 0 ? number - 1 : 1, sent_ns, until_ns - US);
    if (begin_ns < end_ns) {
        add_range(model, stage->stream, "gemm", SS_EVENT_TYPE_kernel, begin_ns, end_ns,
                  build_integer(model, stage->correlation));
    }
    stage->correlation++;
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* All forward passes, then all backward ones. Returns its end. */
static uint64_t add_step(struct ss_model *model, const struct shape *shape, struct stage *stages,
                         uint64_t from_ns, int64_t number)
{
    uint64_t ends[STAGES][BATCHES], begin_ns = from_ns + MS, end_ns = 0;
    for (unsigned pass = 0; pass < 2; pass++) {
        for (unsigned k = 0; k < STAGES; k++) {
            unsigned i = pass == 0 ? k : STAGES - 1 - k, before = pass == 0 ? i - 1 : i + 1;
            uint64_t length_ns = shape->forward[i] * MS * (pass == 0 ? 1 : BACKWARDS);
            bool is_lost = shape->loses_kernels && i == 1 && number == STEPS - 2;
            uint64_t free_ns = pass == 0 ? begin_ns : ends[i][BATCHES - 1];
            for (unsigned b = 0; b < BATCHES; b++) {
                uint64_t at_ns = k == 0 ? free_ns : later(free_ns, ends[before][b]);
                add_pass(model, &stages[i], i, pass == 0 ? "forward" : "backward",
                         from_ns + (pass * BATCHES + b) * SLOT_US * US, at_ns,
                         at_ns + (shape->has_devices[i] && !is_lost ? length_ns : 0));
                free_ns = ends[i][b] = at_ns + length_ns;
            }
            end_ns = later(end_ns, free_ns);
        }
    }
    for (unsigned i = 0; i < STAGES; i++) {
        add_range(model, stages[i].steps, "step", SS_EVENT_TYPE_NONE, from_ns, end_ns + MS,
                  build_integer(model, number));
    }
    return end_ns + MS;
}

static void begin(struct made *made, const struct shape *shape)
{
    struct ss_selection_options all = {.idle = SS_IDLE_ALL};
    struct ss_steps_options none = {0};
    struct stage stages[STAGES];
    uint64_t at_ns = 1000 * MS;
    *made = (struct made){0};
    ss_model_init(&made->model);
    for (unsigned i = 0; i < STAGES; i++) {
        stages[i] = make_stage(&made->model, i);
    }
    for (unsigned step = 0; step < STEPS; step++) {
        at_ns = add_step(&made->model, shape, stages, at_ns, step);
    }
    build_sort_ranges(&made->model);
    assert_int_equal(ss_selection_init(&made->selection, &made->model, &all, NULL), SS_OK);
    ss_step_summary_init(&made->steps, &made->selection, &none);
    ss_pipelines_init(&made->pipelines, &made->selection, &made->steps);
}

static void end(struct made *made)
{
    ss_pipelines_fini(&made->pipelines);
    ss_step_summary_fini(&made->steps);
    ss_selection_fini(&made->selection);
    ss_model_fini(&made->model);
}

static void test_equal_stages_are_idle_as_the_formula_says(void **state)
{
    (void)state;
    struct shape shape = {{4, 4, 4, 4}, {true, true, true, true}};
    struct made made;
    begin(&made, &shape);
    const struct ss_pipeline *row = &made.pipelines.rows.data[0];
    uint64_t batch_ns = 4 * (1 + BACKWARDS) * MS;
    assert_int_equal(made.pipelines.rows.count, 1);
    assert_true(row->is_of_devices && row->steps >= STEPS / 2);
    assert_float_equal(row->micro_batches, BATCHES, 1e-9);
    assert_float_equal(row->pass_ns, (BATCHES + STAGES - 1) * batch_ns, 1);
    assert_float_equal(row->idle_ns / row->pass_ns, ss_pipeline_ideal(STAGES, BATCHES), 1e-9);
    assert_float_equal(row->unequal_ns, 0, 1);
    for (size_t i = 0; i < STAGES; i++) {
        const struct ss_pipeline_stage *stage = &made.pipelines.stages.data[i];
        assert_int_equal(stage->work_ns / stage->steps, BATCHES * batch_ns);
        assert_int_equal(ss_pipeline_stage_idle_ns(stage) / stage->steps, (STAGES - 1) * batch_ns);
    }
    end(&made);
}

static void test_the_slowest_device_is_named(void **state)
{
    (void)state;
    struct shape shape = {{4, 4, 8, 4}, {true, true, true, true}};
    struct made made;
    begin(&made, &shape);
    const struct ss_pipeline *row = &made.pipelines.rows.data[0];
    assert_int_equal(made.pipelines.stages.data[row->slowest].rank, 2);
    assert_float_equal(row->slowest_ns, 8 * (1 + BACKWARDS) * MS, 1);
    assert_float_equal(row->other_ns, 4 * (1 + BACKWARDS) * MS, 1);
    end(&made);
}

/* Then the hosts' times are all that the stages have in common. */
static void test_a_stage_without_a_recorded_device(void **state)
{
    (void)state;
    struct shape shape = {{4, 4, 4, 4}, {true, true, false, true}};
    struct made made;
    begin(&made, &shape);
    const struct ss_pipeline *row = &made.pipelines.rows.data[0];
    assert_true(row->steps > 0 && !row->is_of_devices);
    assert_float_equal(row->micro_batches, BATCHES, 1e-9);
    assert_int_equal(made.pipelines.stages.data[0].work_ns / row->steps,
                     2 * BATCHES * PASS_US * US);
    end(&made);
}

/* Its step is left out: what its device did then is neither idle time nor the host's. */
static void test_a_stage_that_lacks_the_kernels_of_a_step(void **state)
{
    (void)state;
    struct shape shape = {{4, 4, 4, 4}, {true, true, true, true}};
    struct made made, lacking;
    begin(&made, &shape);
    shape.loses_kernels = true;
    begin(&lacking, &shape);
    const struct ss_pipeline *row = &made.pipelines.rows.data[0];
    const struct ss_pipeline *without = &lacking.pipelines.rows.data[0];
    assert_true(without->is_of_devices);
    assert_int_equal(without->steps, row->steps - 1);
    assert_float_equal(without->idle_ns / without->pass_ns, row->idle_ns / row->pass_ns, 1e-9);
    end(&made);
    end(&lacking);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal_stages_are_idle_as_the_formula_says),
        cmocka_unit_test(test_the_slowest_device_is_named),
        cmocka_unit_test(test_a_stage_without_a_recorded_device),
        cmocka_unit_test(test_a_stage_that_lacks_the_kernels_of_a_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
