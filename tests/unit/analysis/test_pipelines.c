/* SPDX-License-Identifier: Apache-2.0 */
/* Pipelines that are simulated: with equal stages and transfers that take no time, the idle time of
 * each stage is known to the nanosecond. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "../rank_builder.h"
#include "analysis/pipelines.h"

#define MS UINT64_C(1000000)

enum { STAGES = 4, STEPS = 12, MOST_BATCHES = 16, MOST_RANKS = 8, FORWARD = 4, BACKWARD = 8 };
enum { NEVER = 0 };

/* Stages of a step; times of a micro-batch in ms. */
struct shape {
    unsigned stages, batches, pipelines;
    unsigned forward[STAGES];
    bool is_gpipe;
    bool has_loss;  /* as a module: a further forward pass of the last stage */
    bool has_trial; /* one step has a further forward pass of each stage */
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

struct made {
    struct ss_model model;
    struct ss_selection selection;
    struct ss_step_summary steps;
    struct ss_pipelines pipelines;
};

/* The pass with this number in the order of the stage: a micro-batch, backward or not. */
static unsigned pass_at(const struct shape *shape, unsigned stage, unsigned at, bool *is_backward)
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

static void add_receive(struct ss_model *model, const struct stage *stage, unsigned peer,
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

static void add_phase(struct ss_model *model, struct stage *stage, const char *name,
                      uint64_t until_ns)
{
    BUILD_RANGE(model, .track = stage->phases, .name = name, .begin_ns = stage->at_ns,
                .end_ns = until_ns);
    stage->at_ns = until_ns;
}

/* Runs the next pass of a stage, if what it needs is there. */
static bool run_pass(struct ss_model *model, const struct shape *shape, unsigned number,
                     unsigned first_rank, struct stage *stage, struct ends *ends)
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

static void run_step(struct ss_model *model, const struct shape *shape, unsigned first_rank,
                     struct stage *stages)
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
        BUILD_RANGE(model, .track = stages[i].steps, .name = "step", .begin_ns = stages[i].step_ns,
                    .end_ns = stages[i].at_ns, .payload = build_integer(model, stages[i].number++));
        stages[i].step_ns = stages[i].at_ns;
        stages[i].done = 0;
    }
}

static void run_pipeline(struct ss_model *model, const struct shape *shape, unsigned first_rank)
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

static int compare_ranges(const void *left, const void *right)
{
    const struct ss_model_range *a = left, *b = right;
    if (a->track != b->track) {
        return a->track < b->track ? -1 : 1;
    }
    return (a->begin_ns > b->begin_ns) - (a->begin_ns < b->begin_ns);
}

static void begin(struct made *made, const struct shape *shape)
{
    struct ss_selection_options all = {.idle = SS_IDLE_ALL};
    struct ss_steps_options none = {0};
    *made = (struct made){0};
    ss_model_init(&made->model);
    for (unsigned i = 0; i < shape->pipelines; i++) {
        run_pipeline(&made->model, shape, i * shape->stages);
    }
    qsort(made->model.ranges.data, made->model.ranges.count, sizeof *made->model.ranges.data,
          compare_ranges);
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

static uint64_t idle_of(const struct made *made, size_t stage, enum ss_pipeline_part part)
{
    const struct ss_pipeline_stage *row = &made->pipelines.stages.data[stage];
    return row->idle_ns[part] / row->steps;
}

static void check_equal_stages(const struct made *made, const struct shape *shape)
{
    const struct ss_pipeline *row = &made->pipelines.rows.data[0];
    double bubble_ns = (double)((shape->stages - 1) * (FORWARD + BACKWARD) * MS);
    double pass_ns = (double)((shape->batches + shape->stages - 1) * (FORWARD + BACKWARD) * MS);
    assert_int_equal(row->stages, shape->stages);
    assert_true(row->steps >= STEPS / 2);
    assert_float_equal(row->micro_batches, shape->batches, 1e-9);
    assert_float_equal(row->pass_ns, pass_ns, 1);
    assert_float_equal(row->idle_ns, bubble_ns, 1);
    assert_float_equal(row->ideal_ns, bubble_ns, 1);
    assert_float_equal(row->unequal_ns, 0, 1);
    assert_float_equal(row->idle_ns / row->pass_ns,
                       ss_pipeline_ideal(shape->stages, shape->batches), 1e-9);
    for (size_t i = 0; i < shape->stages; i++) {
        const struct ss_pipeline_stage *stage = &made->pipelines.stages.data[i];
        assert_int_equal(stage->rank, i);
        assert_int_equal(ss_pipeline_stage_idle_ns(stage), stage->transfer_ns);
        assert_int_equal(ss_pipeline_stage_idle_ns(stage) / stage->steps, bubble_ns);
    }
}

static void test_equal_stages_wait_as_the_formula_says(void **state)
{
    (void)state;
    struct shape shape = {.stages = STAGES, .batches = 8, .pipelines = 1};
    for (unsigned i = 0; i < STAGES; i++) {
        shape.forward[i] = FORWARD;
    }
    struct made made;
    begin(&made, &shape);
    check_equal_stages(&made, &shape);
    /* The first stage waits for the first backward, then between the last ones. */
    assert_int_equal(idle_of(&made, 0, SS_PIPELINE_WARM_UP), (STAGES - 1) * BACKWARD * MS);
    assert_int_equal(idle_of(&made, 0, SS_PIPELINE_STEADY), 0);
    assert_int_equal(idle_of(&made, 0, SS_PIPELINE_DRAIN), (STAGES - 1) * FORWARD * MS);
    assert_int_equal(made.pipelines.stages.data[0].longest_for, 1);
    /* The last one for the first forward; when it is done, the others are not. */
    assert_int_equal(idle_of(&made, STAGES - 1, SS_PIPELINE_WARM_UP), (STAGES - 1) * FORWARD * MS);
    assert_int_equal(idle_of(&made, STAGES - 1, SS_PIPELINE_DRAIN), (STAGES - 1) * BACKWARD * MS);
    end(&made);
}

static void test_all_forward_before_all_backward(void **state)
{
    (void)state;
    struct shape shape = {.stages = STAGES, .batches = 5, .pipelines = 1, .is_gpipe = true};
    for (unsigned i = 0; i < STAGES; i++) {
        shape.forward[i] = FORWARD;
    }
    struct made made;
    begin(&made, &shape);
    check_equal_stages(&made, &shape);
    assert_int_equal(idle_of(&made, 0, SS_PIPELINE_WARM_UP),
                     (STAGES - 1) * (FORWARD + BACKWARD) * MS);
    assert_int_equal(idle_of(&made, 0, SS_PIPELINE_DRAIN), 0);
    end(&made);
}

static void test_the_slowest_stage_is_named(void **state)
{
    (void)state;
    struct shape shape = {.stages = STAGES, .batches = 16, .pipelines = 1, .forward = {4, 4, 7, 4}};
    struct made made;
    begin(&made, &shape);
    const struct ss_pipeline *row = &made.pipelines.rows.data[0];
    assert_int_equal(made.pipelines.stages.data[row->slowest].rank, 2);
    assert_float_equal(row->slowest_ns, 21 * MS, 1);
    assert_float_equal(row->other_ns, 12 * MS, 1);
    assert_float_equal(row->unequal_ns, (16 - 1) * (21 - 57 / 4.0) * MS, 1);
    assert_float_equal(row->pass_ns, (15 * 21 + 57) * MS, 0.02 * row->pass_ns);
    assert_int_equal(made.pipelines.stages.data[1].longest_for, 2);
    assert_int_equal(made.pipelines.stages.data[3].longest_for, 2);
    end(&made);
}

static void test_a_loss_is_no_micro_batch(void **state)
{
    (void)state;
    struct shape shape = {
        .stages = 2, .batches = 6, .pipelines = 1, .forward = {4, 4}, .has_loss = true};
    struct made made;
    begin(&made, &shape);
    assert_float_equal(made.pipelines.rows.data[0].micro_batches, 6, 1e-9);
    assert_int_equal(made.pipelines.stages.data[1].micro_batches,
                     made.pipelines.stages.data[0].micro_batches);
    end(&made);
}

static void test_a_trial_of_a_step_is_no_micro_batch(void **state)
{
    (void)state;
    struct shape shape = {
        .stages = 2, .batches = 6, .pipelines = 1, .forward = {4, 4}, .has_trial = true};
    struct made made;
    begin(&made, &shape);
    const struct ss_pipeline *row = &made.pipelines.rows.data[0];
    assert_float_equal(row->micro_batches, 6, 1e-9);
    assert_int_equal(made.pipelines.stages.data[0].micro_batches, 6 * row->steps);
    end(&made);
}

static void test_pipelines_beside_each_other(void **state)
{
    (void)state;
    struct shape shape = {.stages = 2, .batches = 4, .pipelines = 3, .forward = {4, 4}};
    struct made made;
    begin(&made, &shape);
    assert_int_equal(made.pipelines.rows.count, 3);
    for (size_t i = 0; i < 3; i++) {
        const struct ss_pipeline *row = &made.pipelines.rows.data[i];
        assert_int_equal(row->stages, 2);
        assert_int_equal(made.pipelines.stages.data[row->first].rank, 2 * i);
        assert_float_equal(row->idle_ns / row->pass_ns, 1 / 5.0, 1e-9);
    }
    end(&made);
}

static void test_ranks_without_messages_are_no_pipeline(void **state)
{
    (void)state;
    struct shape shape = {.stages = 1, .batches = 4, .pipelines = 2, .forward = {4}};
    struct made made;
    begin(&made, &shape);
    assert_int_equal(made.pipelines.rows.count, 0);
    struct ss_table table;
    ss_pipeline_table(&made.selection, &made.steps, &table);
    assert_int_equal(table.row_count, 0);
    ss_table_fini(&table);
    end(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal_stages_wait_as_the_formula_says),
        cmocka_unit_test(test_all_forward_before_all_backward),
        cmocka_unit_test(test_the_slowest_stage_is_named),
        cmocka_unit_test(test_a_loss_is_no_micro_batch),
        cmocka_unit_test(test_a_trial_of_a_step_is_no_micro_batch),
        cmocka_unit_test(test_pipelines_beside_each_other),
        cmocka_unit_test(test_ranks_without_messages_are_no_pipeline),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
