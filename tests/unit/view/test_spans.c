/* SPDX-License-Identifier: Apache-2.0 */
#include "folded_input.h"

#include "../model_builder.h"

#include "view/output/spans.h"

/* One thread of one process at 100 Hz; `times` in ms. */
struct tick {
    double time_ms;
    uint32_t stack, weight;
    enum ss_thread_state state;
};

static const uint64_t origin_ns = UINT64_C(5000000000);

static void make_input(struct folded_input *input, const struct tick *ticks, size_t count)
{
    struct ss_model *model = &input->model;
    ss_model_init(model);
    ss_vec_push(&model->inputs, (struct ss_model_input){.kind = SS_INPUT_TRACE, .rate_hz = 100});
    BUILD_PROCESS(model, .pid = 1);
    BUILD_THREAD(model, .process = 1, .tid = 1, .is_main = true);
    for (int32_t i = 1; i <= 3; i++) {
        assert_int_equal(BUILD_CALL(model, 0, .function = "f", .line = i), i);
    }
    for (size_t i = 0; i < count; i++) {
        struct ss_model_sample sample = {.time_ns = origin_ns + (uint64_t)(ticks[i].time_ms * 1e6),
                                         .thread = 1,
                                         .stack = ticks[i].stack,
                                         .weight = ticks[i].weight,
                                         .state = (uint8_t)ticks[i].state};
        ss_vec_push(&model->samples, sample);
        ss_model_add_total(model, &(struct ss_model_total){.thread = 1,
                                                           .stack = sample.stack,
                                                           .state = sample.state,
                                                           .samples = sample.weight,
                                                           .records = 1});
    }
}

struct expected {
    double start_ms, end_ms;
    uint32_t stack;
};

static void check_spans(const struct tick *ticks, size_t tick_count, enum ss_idle_policy idle,
                        const struct expected *expected, size_t count)
{
    struct folded_input input;
    make_input(&input, ticks, tick_count);
    struct ss_selection_options select = {.size = sizeof select, .idle = idle};
    struct ss_error err = {0};
    assert_int_equal(ss_selection_init(&input.selection, &input.model, &select, &err), SS_OK);
    struct ss_spans spans;
    ss_span_list list = {0};
    ss_spans_init(&spans, &input.selection);
    ss_spans_of_thread(&spans, 1, &list);
    assert_int_equal(list.count, count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(list.data[i].start_ns, (uint64_t)(expected[i].start_ms * 1e6));
        assert_int_equal(list.data[i].end_ns, (uint64_t)(expected[i].end_ms * 1e6));
        assert_int_equal(list.data[i].stack, expected[i].stack);
    }
    ss_vec_fini(&list);
    ss_spans_fini(&spans);
    folded_fini(&input);
}
#define CHECK(ticks, idle, ...)                                                                    \
    check_spans(ticks, sizeof(ticks) / sizeof *(ticks), idle, (struct expected[]){__VA_ARGS__},    \
                sizeof((struct expected[]){__VA_ARGS__}) / sizeof(struct expected))

/* Draws are spread within their periods: no gaps between neighbours. */
static void test_neighbours_touch(void **state)
{
    (void)state;
    const struct tick ticks[] = {{0, 1, 1, SS_STATE_ON_CPU},
                                 {19, 1, 1, SS_STATE_ON_CPU},
                                 {21, 2, 1, SS_STATE_ON_CPU},
                                 {33, 1, 1, SS_STATE_ON_CPU}};
    CHECK(ticks, SS_IDLE_ALL, {0, 21, 1}, {21, 33, 2}, {33, 43, 1});
}

static void test_missing_ticks_are_a_gap(void **state)
{
    (void)state;
    const struct tick ticks[] = {{0, 1, 1, SS_STATE_ON_CPU}, {100, 1, 1, SS_STATE_ON_CPU}};
    CHECK(ticks, SS_IDLE_ALL, {0, 10, 1}, {100, 110, 1});
}

/* A sample of weight 50 continues the one before: the thread slept all the time. */
static void test_weights_are_time(void **state)
{
    (void)state;
    const struct tick ticks[] = {{0, 1, 1, SS_STATE_SLEEPING},
                                 {500, 1, 50, SS_STATE_SLEEPING},
                                 {510, 2, 1, SS_STATE_ON_CPU}};
    CHECK(ticks, SS_IDLE_ALL, {0, 510, 1}, {510, 520, 2});
}

static void test_what_is_not_selected_is_a_gap(void **state)
{
    (void)state;
    const struct tick ticks[] = {{0, 1, 1, SS_STATE_ON_CPU},
                                 {10, 1, 1, SS_STATE_SLEEPING},
                                 {20, 1, 1, SS_STATE_ON_CPU},
                                 {30, 0, 1, SS_STATE_ON_CPU},
                                 {40, 3, 1, SS_STATE_ON_CPU}};
    CHECK(ticks, SS_IDLE_NONE, {0, 10, 1}, {20, 30, 1}, {40, 50, 3});
}

static void test_unordered_and_equal_times(void **state)
{
    (void)state;
    const struct tick ticks[] = {{20, 3, 1, SS_STATE_ON_CPU},
                                 {0, 1, 1, SS_STATE_ON_CPU},
                                 {10, 2, 1, SS_STATE_ON_CPU},
                                 {10, 1, 1, SS_STATE_ON_CPU}};
    CHECK(ticks, SS_IDLE_ALL, {0, 20, 1}, {20, 30, 3});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_neighbours_touch),
        cmocka_unit_test(test_missing_ticks_are_a_gap),
        cmocka_unit_test(test_weights_are_time),
        cmocka_unit_test(test_what_is_not_selected_is_a_gap),
        cmocka_unit_test(test_unordered_and_equal_times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
