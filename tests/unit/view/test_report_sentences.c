/* SPDX-License-Identifier: Apache-2.0 */
/* What a report says of a training, above and beside its findings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "../analysis/training_builder.h"
#include "analysis/report/report.h"
#include "analysis/tables/overview.h"
#include "view/output/report.h"

/* Whether the report on the model has the text. */
static bool says(struct made *made, const char *wanted)
{
    struct ss_selection_options all = {.size = sizeof all, .idle = SS_IDLE_ALL};
    struct ss_table_options options = {.max_rows = 3};
    struct ss_report_options report = {.kind = &ss_overview, .table = &options};
    struct ss_report_style style = {.width = 0};
    struct ss_document document;
    char *text = NULL;
    size_t length;
    assert_int_equal(ss_selection_init(&made->selection, &made->model, &all, NULL), SS_OK);
    ss_document_init(&document);
    ss_report_compose(&made->selection, &report, &document);
    FILE *out = open_memstream(&text, &length);
    assert_non_null(out);
    assert_int_equal(ss_report_text(&document, &style, out, NULL), SS_OK);
    fclose(out);
    bool is_said = strstr(text, wanted) != NULL;
    free(text);
    ss_document_fini(&document);
    ss_selection_fini(&made->selection);
    return is_said;
}

static bool report_says(const struct shape *shape, const char *wanted)
{
    struct made made;
    build_training(&made, shape);
    ss_vec_push_zero(&made.model.inputs);
    bool is_said = says(&made, wanted);
    ss_model_fini(&made.model);
    return is_said;
}

/* --- a machine that other programs use -------------------------------------------------------- */

static void what_spoils_the_figures_stands_above_the_findings(void **state)
{
    (void)state;
    struct shape shape = clean;
    shape.cpu_busy = 750;
    shape.cpu_own = 300;
    shape.runnable = 150;
    shape.gc_us = 30000;
    assert_true(report_says(&shape,
                            "Other programs used the CPU: each step waited 25 % of its time "
                            "for a core. All times here include such waits. Measure again "
                            "on an idle machine\n30 % of the training's time goes into "
                            "Python's garbage collector"));
    assert_false(report_says(&shape, "waits for a core that other programs use"));
    shape.gc_us = 0;
    assert_true(report_says(&shape, "idle machine\nno rule found a problem"));
    shape.cpu_busy = 300;
    assert_false(report_says(&shape, "Other programs"));
}

/* --- closures --------------------------------------------------------------------------------- */

static const char *optimizer;

/* Two more backward passes within the optimizer of each step. */
static void add_passes(struct made *made, const struct shape *shape)
{
    for (uint64_t i = 0; i < 2 * (uint64_t)shape->steps; i++) {
        uint64_t begin_ns = (1 + 100 * (i / 2) + 83 + 4 * (i % 2)) * MS;
        add_range(made, made->phases, "backward", "", begin_ns, 2 * MS, 0);
    }
    add_text_fact(made, optimizer);
    add_text_fact(made, "torch.steps = optimizer");
}

static void closures_of_one_step_are_counted(void **state)
{
    (void)state;
    struct shape shape = clean;
    shape.more = add_passes;
    optimizer = "torch.steps = optimizer LBFGS";
    assert_true(report_says(&shape, "A step (LBFGS evaluates its closure 3 times) takes 100 ms"));
    optimizer = "torch.steps = optimizer SGD";
    assert_true(report_says(&shape, "A step takes 100 ms"));
    shape.more = NULL;
    assert_true(report_says(&shape, "A step takes 100 ms"));
}

/* --- servers ---------------------------------------------------------------------------------- */

/* 20 of 100 ms in the model, and so many of 1000 samples asleep until a client comes. */
static uint64_t idle;

static void add_clients(struct made *made, const struct shape *shape)
{
    (void)shape;
    uint32_t stack = call(made, 0, "serve.py", 5, SS_ORIGIN_USER);
    stack = call(made, stack, "/usr/lib/python3.11/socketserver.py", 7, SS_ORIGIN_STDLIB);
    add_total(made, stack, NULL, SS_STATE_SLEEPING, idle);
    add_samples(made, NULL, 22, "/usr/lib/python3.11/json/decoder.py", SS_STATE_ON_CPU, 40);
    add_text_fact(made, "torch.steps = forward passes");
}

static struct shape serving(uint64_t samples)
{
    struct shape shape = clean;
    idle = samples;
    shape.workers = -1;
    shape.prepare_us = shape.backward_us = shape.optimizer_us = 0;
    shape.reads_phase = "inference";
    shape.forward_us = 20000;
    shape.rest_us = 79000;
    shape.operators = 10;
    shape.computing = 1000 - 50 - 40 - samples; /* the builder's loader has 50 */
    shape.more = add_clients;
    return shape;
}

static void servers_wait_for_their_clients(void **state)
{
    (void)state;
    struct shape shape = serving(600);
    assert_true(report_says(&shape, "A server: it waits for its clients 60 % ±"));
    assert_true(report_says(
        &shape,
        "serves 10 requests/s of about 25 that it could. A request "
        "takes 40.0 ms on average, 50 % of it in the model, 12 % at train.py:22 work → work, "
        "serialising objects (JSON, pickle, CSV)"));
    assert_false(report_says(&shape, "network"));
    shape = serving(29); /* too few to say */
    assert_false(report_says(&shape, "A server"));
    shape = serving(600);
    shape.backward_us = 50000; /* a training, whatever else it does */
    shape.more = NULL;
    assert_false(report_says(&shape, "A server"));
}

/* --- programs without PyTorch ----------------------------------------------------------------- */

static void put_source(struct ss_model *model, const char *name, enum ss_source_status status)
{
    ss_vec_push(&model->sources,
                (struct ss_model_source){.name = build_text(model, name), .status = status});
}

static bool plain_program_says(enum ss_source_status torch, const char *wanted)
{
    struct made made = {.process = 0};
    ss_model_init(&made.model);
    ss_vec_push_zero(&made.model.inputs);
    made.process = BUILD_PROCESS(&made.model, .pid = 42);
    made.thread = BUILD_THREAD(&made.model, .process = made.process, .is_main = true);
    add_samples(&made, NULL, 10, NULL, SS_STATE_ON_CPU, 40);
    put_source(&made.model, "torch", torch);
    bool is_said = says(&made, wanted);
    ss_model_fini(&made.model);
    return is_said;
}

static void a_program_without_pytorch_has_a_line(void **state)
{
    (void)state;
    static const char line[] = "No steps: the program did not use PyTorch. stepscope.step() after "
                               "each iteration marks the steps of any loop\n";
    assert_true(plain_program_says(SS_SOURCE_RAN, line));
    assert_false(plain_program_says(SS_SOURCE_OFF, "No steps"));
    assert_false(plain_program_says(SS_SOURCE_UNAVAILABLE, "No steps"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_spoils_the_figures_stands_above_the_findings),
        cmocka_unit_test(closures_of_one_step_are_counted),
        cmocka_unit_test(servers_wait_for_their_clients),
        cmocka_unit_test(a_program_without_pytorch_has_a_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
