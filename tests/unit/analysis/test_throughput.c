/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "../model_builder.h"
#include "analysis/steps/throughput.h"

#define MS UINT64_C(1000000)

enum { STEPS = 20 };

/* Trainings of steps of 100 ms, the first of 500. */
struct shape {
    unsigned processes;
    unsigned batches, forwards; /* of a step */
    unsigned evaluated_each;    /* steps, in which ten batches more are fetched; 0: none */
    int64_t of_loader, of_model;
};

static uint32_t add_track(struct ss_model *model, enum ss_track_kind kind, uint32_t process,
                          const char *name)
{
    return BUILD_TRACK(model, .kind = kind, .process = process, .name = name);
}

static void add_range(struct ss_model *model, uint32_t track, const char *name, uint64_t begin_ns,
                      uint64_t end_ns)
{
    BUILD_RANGE(model, .track = track, .name = name, .begin_ns = begin_ns, .end_ns = end_ns);
}

static void add_process(struct ss_model *model, const struct shape *shape, int32_t pid)
{
    uint32_t process = BUILD_PROCESS(model, .pid = pid);
    uint32_t steps = add_track(model, SS_TRACK_STEPS, process, "step");
    uint32_t phases = add_track(model, SS_TRACK_PHASES, process, "phase");
    uint32_t data = add_track(model, SS_TRACK_RANGES, process, "torch.data");
    uint32_t other = add_track(model, SS_TRACK_RANGES, process, "mine");
    uint64_t at = 1000 * MS;
    for (unsigned i = 0; i < STEPS; i++) {
        uint64_t end = at + (i == 0 ? 500 : 100) * MS;
        bool evaluates = shape->evaluated_each != 0 && i % shape->evaluated_each == 2;
        add_range(model, steps, "step", at, end);
        add_range(model, other, "next", at, end);
        for (unsigned b = 0; b < shape->batches + (evaluates ? 10 : 0); b++) {
            add_range(model, data, "next", at + b * MS, at + b * MS + 1);
            add_range(model, data, "fetch", at + b * MS, at + b * MS + 1);
        }
        for (unsigned f = 0; f < shape->forwards; f++) {
            add_range(model, phases, "forward", at + (20 + f) * MS, at + (20 + f) * MS + 1);
        }
        at = end;
    }
    if (shape->of_model > 0) {
        build_fact(model, process, "model.batch_size", shape->of_model);
    }
}

static struct ss_throughput find(const struct shape *shape)
{
    struct ss_model model;
    struct ss_selection selection;
    struct ss_selection_options all = {.idle = SS_IDLE_ALL};
    struct ss_steps_options none = {0};
    struct ss_step_summary summary;
    struct ss_throughput found;
    ss_model_init(&model);
    for (unsigned i = 0; i < shape->processes; i++) {
        add_process(&model, shape, 40 + (int32_t)i);
    }
    assert_int_equal(ss_selection_init(&selection, &model, &all, NULL), SS_OK);
    ss_step_summary_init(&summary, &selection, &none);
    ss_throughput_find(&found, &selection, &summary, shape->of_loader);
    ss_step_summary_fini(&summary);
    ss_selection_fini(&selection);
    ss_model_fini(&model);
    return found;
}

static void check(struct shape shape, double samples_per_s)
{
    struct ss_throughput found = find(&shape);
    assert_true(found.samples_per_s > samples_per_s * 0.999 - 1e-9);
    assert_true(found.samples_per_s < samples_per_s * 1.001 + 1e-9);
}

static void test_batches_of_the_loader(void **state)
{
    (void)state;
    check((struct shape){.processes = 1, .batches = 1, .forwards = 1, .of_loader = 16}, 160);
    /* Gradients of four batches are accumulated. */
    check((struct shape){.processes = 1, .batches = 4, .forwards = 4, .of_loader = 16}, 640);
    check((struct shape){.processes = 2, .batches = 1, .forwards = 1, .of_loader = 16}, 320);
    /* An evaluation in every fifth step has batches of its own, which train nothing. */
    check(
        (struct shape){
            .processes = 1, .batches = 1, .forwards = 1, .evaluated_each = 5, .of_loader = 16},
        160);
    struct shape both = {
        .processes = 2, .batches = 3, .forwards = 1, .of_loader = 16, .of_model = 5};
    struct ss_throughput found = find(&both);
    assert_int_equal(found.batch_size, 16);
    assert_int_equal(found.batches, 3);
    assert_int_equal(found.processes, 2);
}

static void test_the_models_input(void **state)
{
    (void)state;
    check((struct shape){.processes = 1, .forwards = 1, .of_loader = -1, .of_model = 8}, 80);
    /* A loader that the steps take nothing from says nothing of them. */
    check((struct shape){.processes = 1, .forwards = 1, .of_loader = 64, .of_model = 8}, 80);
    /* Two calls: of two models, or of parts of a batch. */
    check((struct shape){.processes = 1, .forwards = 2, .of_loader = -1, .of_model = 8}, 0);
}

static void test_what_is_unknown(void **state)
{
    (void)state;
    check((struct shape){.processes = 1, .batches = 1, .forwards = 1, .of_loader = -1}, 0);
    check((struct shape){.processes = 1, .batches = 1, .forwards = 1}, 0);
    check((struct shape){.processes = 0, .of_loader = 16}, 0);
}

static void add_module(struct ss_model *model, uint32_t track, const char *name, uint64_t begin_ms,
                       uint64_t length_ms)
{
    add_range(model, track, name, begin_ms * MS, (begin_ms + length_ms) * MS);
}

/* Calls of the model every 10 ms, the first of 500; a metric that is a module too. */
static struct ss_model_calls infer(unsigned calls, bool has_loader, int64_t of_model)
{
    struct ss_model model;
    struct ss_selection selection;
    struct ss_selection_options all = {.idle = SS_IDLE_ALL};
    struct ss_model_calls found;
    ss_model_init(&model);
    BUILD_PROCESS(&model, .pid = 42);
    uint32_t modules = add_track(&model, SS_TRACK_RANGES, 1, "torch.module");
    uint32_t data = add_track(&model, SS_TRACK_RANGES, 1, "torch.data");
    for (unsigned i = 0; i < calls; i++) {
        uint64_t at = i == 0 ? 1000 : 1500 + 10 * i;
        add_module(&model, modules, "Net", at, i == 0 ? 500 : 4);
        add_module(&model, modules, "MSELoss", at + (i == 0 ? 500 : 5), 1);
        if (has_loader) {
            add_module(&model, data, "next", at - 2, 1);
        }
    }
    build_fact(&model, 1, "dataloader.batch_size", 16);
    if (of_model > 0) {
        build_fact(&model, 1, "model.batch_size", of_model);
    }
    assert_int_equal(ss_selection_init(&selection, &model, &all, NULL), SS_OK);
    ss_model_calls_find(&found, &selection);
    ss_selection_fini(&selection);
    ss_model_fini(&model);
    return found;
}

static void test_calls_without_steps(void **state)
{
    (void)state;
    struct ss_model_calls found = infer(101, true, 0);
    assert_int_equal(found.calls, 100);
    assert_int_equal(found.call_ns, 4 * MS);
    assert_int_equal(found.throughput.batch_size, 16);
    double rate = 16 * 100 / 0.994; /* the last one ends with its call */
    assert_true(found.throughput.samples_per_s > rate * 0.999);
    assert_true(found.throughput.samples_per_s < rate * 1.001);
    assert_int_equal(infer(101, false, 4).throughput.batch_size, 4);
    found = infer(101, false, 0);
    assert_int_equal(found.calls, 100);
    assert_true(found.throughput.samples_per_s == 0);
    assert_int_equal(infer(4, true, 0).calls, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_batches_of_the_loader),
        cmocka_unit_test(test_the_models_input),
        cmocka_unit_test(test_what_is_unknown),
        cmocka_unit_test(test_calls_without_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
