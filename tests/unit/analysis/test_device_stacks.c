/* SPDX-License-Identifier: Apache-2.0 */
/* The time of a device as stacks: frames of Python, operators, the work. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../launched_model.h"
#include "analysis/kernels/device_stacks.h"
#include "base/strbuf.h"

enum { N = LAUNCHED_STEPS };

static void append_stack(const struct ss_model *model, uint32_t stack, struct ss_strbuf *out)
{
    const struct ss_model_stack *row = &model->stacks.data[stack];
    if (row->parent != 0) {
        append_stack(model, row->parent, out);
        ss_strbuf_append_text(out, ";");
    }
    ss_strbuf_append_text(out, ss_model_text(model, model->frames.data[row->frame].function));
}

/* The time of the stack; 0: there is none. */
static uint64_t time_of(const struct ss_model *model, const char *stack, int64_t tid)
{
    uint64_t ns = 0;
    for (size_t i = 0; i < model->totals.count; i++) {
        const struct ss_model_total *total = &model->totals.data[i];
        struct ss_strbuf text;
        ss_strbuf_init(&text, 4096);
        append_stack(model, total->stack, &text);
        if (strcmp(text.data, stack) == 0) {
            assert_int_equal(model->threads.data[total->thread].tid, tid);
            ns += total->samples;
        }
        ss_strbuf_fini(&text);
    }
    return ns;
}

static const struct ss_model_frame *leaf_of(const struct ss_model *model, size_t total)
{
    return &model->frames.data[model->stacks.data[model->totals.data[total].stack].frame];
}

static void test_stacks(void **state)
{
    (void)state;
    struct launched made;
    struct ss_model *model = &made.model;
    launched_init(&made, NULL, NULL);
    ss_model_add_total(model, &(struct ss_model_total){.thread = 1, .samples = 77});
    ss_device_stacks_weigh(model);
    assert_int_equal(model->weight, SS_WEIGHT_DEVICE_NS);
    assert_int_equal(time_of(model,
                             "main;forward;_call_impl;<built-in method linear of T>;linear;addmm;"
                             "matmul",
                             42),
                     40 * N);
    assert_int_equal(time_of(model,
                             "main;forward;_call_impl;<built-in method linear of T>;linear;addmm;"
                             "Memcpy HtoD",
                             42),
                     20 * N);
    assert_int_equal(time_of(model, "main;other", 42), 7 * N);
    /* the frames of the operator of forward */
    assert_int_equal(time_of(model,
                             "main;forward;_call_impl;<built-in method linear of T>;"
                             "autograd::engine::evaluate_function: AddmmBackward0;AddmmBackward0;"
                             "mm;matmul",
                             43),
                     50 * N);
    assert_int_equal(
        time_of(model, "autograd::engine::evaluate_function: AccumulateGrad;ncclAllReduce", 43),
        9 * N);
    assert_int_equal(time_of(model, "(launched before the recording);early", -1),
                     LAUNCHED_BEFORE_NS);
    assert_int_equal(time_of(model, "(launch not recorded);late", -1), LAUNCHED_LOST_NS);
    uint64_t sum = 0;
    for (size_t i = 0; i < model->totals.count; i++) {
        sum += model->totals.data[i].samples; /* the samples of before are gone */
        assert_int_equal(leaf_of(model, i)->origin, SS_ORIGIN_DEVICE);
    }
    assert_int_equal(sum, N * LAUNCHED_STEP_NS + LAUNCHED_BEFORE_NS + LAUNCHED_LOST_NS);
    launched_fini(&made);
}

static void test_stacks_of_operators(void **state)
{
    (void)state;
    struct launched made;
    launched_init(&made, "[\"model.py(33): forward\", \"train.py(80): main\"]", NULL);
    ss_device_stacks_weigh(&made.model);
    assert_int_equal(time_of(&made.model, "main;forward;linear;addmm;matmul", 42), 40 * N);
    assert_int_equal(time_of(&made.model, "other", 42), 7 * N);
    const struct ss_model *model = &made.model;
    for (size_t i = 1; i < model->frames.count; i++) {
        const struct ss_model_frame *frame = &model->frames.data[i];
        if (strcmp(ss_model_text(model, frame->file), "model.py") == 0) {
            assert_int_equal(frame->line, 33);
            assert_int_equal(frame->origin, SS_ORIGIN_USER);
            launched_fini(&made);
            return;
        }
    }
    fail_msg("no frame of model.py");
}

static void test_no_work(void **state)
{
    (void)state;
    struct ss_model model;
    ss_model_init(&model);
    uint32_t process = BUILD_PROCESS(&model, .pid = 1);
    uint32_t thread = BUILD_THREAD(&model, .process = process, .tid = 1);
    ss_model_add_total(&model, &(struct ss_model_total){.thread = thread, .samples = 5});
    ss_device_stacks_weigh(&model);
    assert_int_equal(model.totals.count, 0);
    ss_model_add_total(&model, &(struct ss_model_total){.thread = thread, .samples = 6});
    assert_int_equal(model.totals.data[0].samples, 6);
    ss_model_fini(&model);
}

/* Operators beyond a depth count as those around them: a stack stays short. */
static void test_deep_operators(void **state)
{
    (void)state;
    enum { DEEP = 2000 };
    struct launched made;
    launched_init(&made, NULL, NULL);
    struct ss_model *model = &made.model;
    uint32_t thread = BUILD_THREAD(model, .process = made.process, .tid = 44);
    uint32_t track = launched_track(&made, SS_TRACK_RANGES, thread, "torch"), path = 0;
    for (uint64_t i = 0; i < DEEP; i++) {
        path = launched_op(&made, track, path, "deep", "operator", i, 10000 - i, 0);
    }
    launched_call(&made, track, path, "cudaLaunchKernel", DEEP + 5, 777);
    ss_vec_push(&model->streams, (struct ss_model_stream){.device = 1, .number = 8});
    uint32_t stream = launched_track(&made, SS_TRACK_RANGES, 0, "stream 8");
    model->tracks.data[stream].device = 1;
    model->tracks.data[stream].stream = 2;
    launched_work(&made, stream, "deepest", SS_EVENT_TYPE_kernel, 9000, 11, 777);
    ss_device_stacks_weigh(model);
    uint32_t deepest = 0;
    for (size_t i = 0; i < model->totals.count; i++) {
        uint32_t depth = model->stacks.data[model->totals.data[i].stack].depth;
        deepest = depth > deepest ? depth : deepest;
    }
    assert_int_equal(deepest, 257);
    launched_fini(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stacks),
        cmocka_unit_test(test_stacks_of_operators),
        cmocka_unit_test(test_no_work),
        cmocka_unit_test(test_deep_operators),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
