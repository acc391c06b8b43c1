/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "../model_builder.h"
#include "analysis/steps/steps.h"
#include "base/shared_names.h"

#define MS UINT64_C(1000000)

/* A training in memory: one process, its steps and phases. */
struct made {
    struct ss_model model;
    uint32_t steps_track, phases_track;
};

static void begin(struct made *made)
{
    ss_model_init(&made->model);
    struct ss_model *model = &made->model;
    uint32_t process = BUILD_PROCESS(model, .pid = 42);
    made->steps_track =
        BUILD_TRACK(model, .kind = SS_TRACK_STEPS, .process = process, .name = "step");
    made->phases_track =
        BUILD_TRACK(model, .kind = SS_TRACK_PHASES, .process = process, .name = "phase");
}

static void add_step(struct made *made, int64_t number, uint64_t begin_ns, uint64_t end_ns,
                     uint8_t flags)
{
    BUILD_RANGE(&made->model, .track = made->steps_track, .name = "step", .begin_ns = begin_ns,
                .end_ns = end_ns, .payload = build_integer(&made->model, number), .flags = flags);
}

static void add_phase(struct made *made, const char *name, uint64_t begin_ns, uint64_t end_ns)
{
    BUILD_RANGE(&made->model, .track = made->phases_track, .name = name, .begin_ns = begin_ns,
                .end_ns = end_ns);
}

static void sum_up(struct made *made, const struct ss_steps_options *options,
                   struct ss_step_summary *summary)
{
    struct ss_selection selection;
    struct ss_selection_options all = {.idle = SS_IDLE_ALL};
    struct ss_steps_options none = {0};
    assert_int_equal(ss_selection_init(&selection, &made->model, &all, NULL), SS_OK);
    ss_step_summary_init(summary, &selection, options != NULL ? options : &none);
    ss_selection_fini(&selection);
}

static void end(struct made *made, struct ss_step_summary *summary)
{
    ss_step_summary_fini(summary);
    ss_model_fini(&made->model);
}

/* Ten steps of 100 ms: 40 data, 30 forward, 20 of a phase of its own, 10 nothing; the first takes
 * 500 ms, number 6 takes 300, the last does not end. */
static void make_training(struct made *made)
{
    uint64_t at = 1000 * MS;
    begin(made);
    for (int64_t i = 0; i < 10; i++) {
        uint64_t more = i == 0 ? 400 * MS : i == 6 ? 200 * MS : 0;
        add_phase(made, "augment", at + 70 * MS, at + 90 * MS);
        add_phase(made, "forward", at + 40 * MS, at + 70 * MS);
        add_phase(made, "data", at, at + 40 * MS);
        add_step(made, i, at, at + 100 * MS + more, i == 9 ? SS_RANGE_END_UNSEEN : 0);
        at += 100 * MS + more;
    }
}

static void test_the_steady_step(void **state)
{
    (void)state;
    struct made made;
    struct ss_step_summary summary;
    make_training(&made);
    sum_up(&made, NULL, &summary);
    assert_int_equal(summary.steps.count, 9);
    assert_int_equal(summary.steady, 7);
    assert_int_equal(summary.warm_up, 1);
    assert_int_equal(summary.outliers, 1);
    assert_int_equal(summary.cut, 0);
    assert_int_equal(summary.steps.data[0].kind, SS_STEP_WARM_UP);
    assert_int_equal(summary.steps.data[6].kind, SS_STEP_OUTLIER);
    assert_int_equal(summary.total_ns, 700 * MS);
    assert_int_equal(summary.p50_ns, 100 * MS);
    assert_int_equal(summary.p95_ns, 100 * MS);
    assert_int_equal(summary.processes, 1);
    end(&made, &summary);
}

static void add_fact(struct made *made, const char *fact, uint64_t time_ns)
{
    BUILD_NOTE(&made->model, .process = (uint32_t)made->model.processes.count - 1, .kind = "fact",
               .text = fact, .time_ns = time_ns);
}

/* Neither after the last update of an optimizer nor after the last mark. */
static void test_what_follows_the_last_update_is_no_step(void **state)
{
    static const char *const facts[] = {"torch.steps = optimizer SGD", "torch.steps = program"};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct made made;
        struct ss_step_summary summary;
        make_training(&made);
        add_fact(&made, "torch.steps = optimizer", 900 * MS);
        add_fact(&made, facts[i], 950 * MS);
        sum_up(&made, NULL, &summary);
        assert_int_equal(summary.steps.count, 9);
        assert_int_equal(summary.cut, 0);
        assert_int_equal(summary.steady, 7);
        end(&made, &summary);
    }
}

/* What was found before the program's first mark was found in vain. */
static void test_own_marks_replace_found_steps(void **state)
{
    (void)state;
    struct made made;
    struct ss_step_summary summary;
    make_training(&made);
    add_fact(&made, "torch.steps = optimizer", 900 * MS);
    add_fact(&made, "torch.steps = program", 1600 * MS);
    sum_up(&made, NULL, &summary);
    assert_int_equal(summary.steps.count, 7);
    assert_int_equal(summary.steps.data[0].number, 2);
    end(&made, &summary);
}

static void test_phases_in_order_add_up(void **state)
{
    (void)state;
    static const char *const names[] = {"data", "forward", "augment", "other"};
    static const uint64_t each_ms[] = {40, 30, 20, 10};
    struct made made;
    struct ss_step_summary summary;
    make_training(&made);
    sum_up(&made, NULL, &summary);
    assert_int_equal(summary.phases.count, 4);
    uint64_t sum_ns = 0;
    for (size_t i = 0; i < 4; i++) {
        const struct ss_step_phase *phase = &summary.phases.data[i];
        struct ss_strview text = ss_step_phase_text(&made.model, phase);
        assert_string_equal(text.data, names[i]);
        assert_int_equal(phase->total_ns, 7 * each_ms[i] * MS);
        assert_int_equal(phase->p50_ns, each_ms[i] * MS);
        assert_int_equal(phase->steps, 7);
        assert_true(phase->percent > (double)each_ms[i] - 1e-9 &&
                    phase->percent < (double)each_ms[i] + 1e-9);
        sum_ns += phase->total_ns;
    }
    assert_int_equal(sum_ns, summary.total_ns);
    assert_int_equal(summary.phase_ns[0 * 4 + 3], 410 * MS); /* the warm-up's rest */
    uint64_t more_ns;
    assert_int_equal(ss_step_grown_phase(&summary, 6, &more_ns), 3); /* the outlier's too */
    assert_int_equal(more_ns, 200 * MS);
    assert_int_equal(ss_step_grown_phase(&summary, 5, &more_ns), 4);
    assert_int_equal(more_ns, 0);
    end(&made, &summary);
}

/* A phase continues over the end of its step; two phases at one time, which no program makes. */
static void test_phases_are_cut_by_steps_and_each_other(void **state)
{
    (void)state;
    struct made made;
    struct ss_step_summary summary;
    begin(&made);
    add_step(&made, 0, 0, 100, 0);
    add_step(&made, 1, 100, 200, 0);
    add_phase(&made, "data", 50, 160);
    add_phase(&made, "forward", 150, 400);
    sum_up(&made, NULL, &summary);
    static const uint64_t wanted[2][3] = {{50, 0, 50}, {50, 50, 0}};
    assert_memory_equal(summary.phase_ns, wanted, sizeof wanted);
    end(&made, &summary);
}

static void test_few_steps_are_not_judged(void **state)
{
    (void)state;
    struct made made;
    struct ss_step_summary summary;
    begin(&made);
    for (uint64_t i = 0; i < 4; i++) {
        add_step(&made, (int64_t)i, i * 1000 * MS, (i * 1000 + (i == 0 ? 900 : 10)) * MS, 0);
    }
    sum_up(&made, NULL, &summary);
    assert_int_equal(summary.steady, 4);
    end(&made, &summary);
}

/* Every `each`-th of 40 steps takes 90 ms, the others 10. */
static void sum_up_slow(uint32_t each, size_t steady, size_t outliers)
{
    struct made made;
    struct ss_step_summary summary;
    uint64_t at = 1000 * MS;
    begin(&made);
    for (int64_t i = 0; i < 40; i++) {
        uint64_t duration = (i + 1) % each == 0 ? 90 * MS : 10 * MS;
        add_step(&made, i, at, at + duration, 0);
        at += duration;
    }
    sum_up(&made, NULL, &summary);
    assert_int_equal(summary.warm_up, 0);
    assert_int_equal(summary.steady, steady);
    assert_int_equal(summary.outliers, outliers);
    end(&made, &summary);
}

static void test_what_is_frequent_is_usual(void **state)
{
    (void)state;
    sum_up_slow(4, 40, 0);
    sum_up_slow(9, 36, 4);
    sum_up_slow(20, 38, 2);
}

static void test_numbers_choose(void **state)
{
    (void)state;
    struct made made;
    struct ss_step_summary summary;
    struct ss_steps_options options = {.has_numbers = true, .first = 2, .last = 3};
    make_training(&made);
    sum_up(&made, &options, &summary);
    assert_int_equal(summary.steps.count, 2);
    assert_int_equal(summary.steps.data[0].number, 2);
    end(&made, &summary);
}

static void test_many_names_and_none(void **state)
{
    (void)state;
    struct made made;
    struct ss_step_summary summary;
    begin(&made);
    sum_up(&made, NULL, &summary);
    assert_int_equal(summary.steps.count, 0);
    assert_int_equal(summary.phases.count, 1);
    ss_step_summary_fini(&summary);
    add_step(&made, 0, 0, 1000, 0);
    for (uint64_t i = 0; i < 100; i++) {
        char name[16];
        snprintf(name, sizeof name, "phase %d", (int)i);
        add_phase(&made, name, 10 * i, 10 * i + 10);
    }
    sum_up(&made, NULL, &summary);
    assert_int_equal(summary.phases.count, SS_STEP_MAX_PHASES);
    assert_int_equal(summary.phases.data[SS_STEP_MAX_PHASES - 1].total_ns,
                     1000 - 10 * (SS_STEP_MAX_PHASES - 1));
    end(&made, &summary);
}

/* A thread that never ends its phase, among many others. */
static void test_a_phase_that_never_ends(void **state)
{
    (void)state;
    enum { STEPS = 200000 };
    struct made made;
    struct ss_step_summary summary;
    begin(&made);
    add_phase(&made, "data", 0, (STEPS + 1) * 10 * MS);
    for (int64_t i = 1; i <= STEPS; i++) {
        uint64_t at = (uint64_t)i * 10 * MS;
        add_phase(&made, "forward", at + 2 * MS, at + 6 * MS);
        add_step(&made, i, at, at + 10 * MS, 0);
    }
    sum_up(&made, NULL, &summary);
    assert_int_equal(summary.steady, STEPS);
    assert_int_equal(summary.phases.count, 3);
    assert_int_equal(summary.phases.data[0].total_ns, 2 * MS); /* until "forward" ended it */
    assert_int_equal(summary.phases.data[1].total_ns, STEPS * 4 * MS);
    assert_int_equal(summary.phases.data[2].total_ns, STEPS * 6 * MS - 2 * MS);
    end(&made, &summary);
}

/* Steps at one time, each as long as the clock goes: their sum overflows. */
static void test_steps_beyond_all_time(void **state)
{
    (void)state;
    struct made made;
    struct ss_step_summary summary;
    begin(&made);
    add_phase(&made, "data", 0, UINT64_MAX);
    for (int64_t i = 0; i < 8; i++) {
        add_step(&made, i % 2 == 0 ? INT64_MIN : INT64_MAX, (uint64_t)i * MS,
                 i < 4 ? UINT64_MAX : (uint64_t)i * MS, 0);
    }
    sum_up(&made, NULL, &summary);
    assert_int_equal(summary.steps.count, 8);
    for (size_t i = 0; i < summary.phases.count; i++) {
        assert_true(summary.phases.data[i].percent >= 0 && summary.phases.data[i].percent <= 100);
    }
    end(&made, &summary);
}

/* Two steps of 100 ms with a backward pass and a collective; the second has no operators, because
 * it is in sums: its wait is what the recorder found. */
static void test_waits_of_steps_in_sums_are_recorded(void **state)
{
    (void)state;
    struct made made;
    struct ss_step_summary summary;
    begin(&made);
    struct ss_model *model = &made.model;
    uint32_t process = (uint32_t)model->processes.count - 1;
    uint32_t thread = BUILD_THREAD(model, .process = process, .is_main = true);
    uint32_t operators = BUILD_TRACK(model, .kind = SS_TRACK_RANGES, .process = process,
                                     .thread = thread, .name = "torch");
    uint32_t collectives =
        BUILD_TRACK(model, .kind = SS_TRACK_ASYNC, .process = process, .name = "torch");
    uint32_t waits = BUILD_TRACK(model, .kind = SS_TRACK_RANGES, .process = process,
                                 .name = ss_domain_torch_waits);
    uint32_t detail = BUILD_TRACK(model, .kind = SS_TRACK_COUNTER, .process = process,
                                  .name = ss_counter_detail_recorded);
    const struct built_range ranges[] = {
        {operators, .name = "aten::mm", .begin_ns = 40 * MS, .end_ns = 70 * MS},
        {collectives, .name = "gloo:all_reduce", .begin_ns = 50 * MS, .end_ns = 80 * MS},
        {collectives, .name = "gloo:all_reduce", .begin_ns = 150 * MS, .end_ns = 180 * MS},
        {waits, .name = "communication", .begin_ns = 173 * MS, .end_ns = 180 * MS}};
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        build_range(model, ranges[i]);
    }
    build_count(model, detail, 100 * MS, 0);
    add_phase(&made, "backward", 40 * MS, 90 * MS);
    add_phase(&made, "backward", 140 * MS, 190 * MS);
    add_step(&made, 0, 0, 100 * MS, 0);
    add_step(&made, 1, 100 * MS, 200 * MS, 0);
    sum_up(&made, NULL, &summary);
    assert_string_equal(ss_model_text(model, summary.phases.data[1].name), "communication");
    assert_int_equal(summary.phase_ns[1], 10 * MS);
    assert_int_equal(summary.phase_ns[summary.phases.count + 1], 7 * MS);
    assert_true(summary.steps.data[0].is_whole && summary.steps.data[1].is_summed);
    end(&made, &summary);
}

/* One step of 100 ms: backward from 40 to 90, in which operators run from 45 to 60 and from 62 to
 * 65 and a collective is under way from 50 to 80: the wait is 60 to 62 and 65 to 80. */
static void test_waits_for_communication_are_no_backward(void **state)
{
    (void)state;
    struct made made;
    struct ss_step_summary summary;
    begin(&made);
    struct ss_model *model = &made.model;
    uint32_t process = (uint32_t)model->processes.count - 1;
    uint32_t thread = BUILD_THREAD(model, .process = process, .is_main = true);
    uint32_t operators = BUILD_TRACK(model, .kind = SS_TRACK_RANGES, .process = process,
                                     .thread = thread, .name = "torch");
    uint32_t collectives =
        BUILD_TRACK(model, .kind = SS_TRACK_ASYNC, .process = process, .name = "torch");
    /* The recording knows the name. */
    ss_model_path_id(model, 0, build_name(model, "communication", NULL));
    const struct built_range ranges[] = {
        {operators, .name = "aten::mm", .begin_ns = 45 * MS, .end_ns = 60 * MS},
        {operators, .name = "aten::mm", .begin_ns = 62 * MS, .end_ns = 65 * MS},
        {operators, .name = "aten::mm", .begin_ns = 65 * MS + 10000, .end_ns = 65 * MS + 10001},
        {collectives, .name = "gloo:all_reduce", .begin_ns = 50 * MS, .end_ns = 80 * MS}};
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        build_range(model, ranges[i]);
    }
    add_phase(&made, "backward", 40 * MS, 90 * MS);
    add_step(&made, 0, 0, 100 * MS, 0);
    sum_up(&made, NULL, &summary);
    assert_int_equal(summary.phases.count, 3);
    assert_string_equal(ss_model_text(model, summary.phases.data[0].name), "backward");
    assert_string_equal(ss_model_text(model, summary.phases.data[1].name), "communication");
    /* 10 us between two operators are not a wait. */
    assert_int_equal(summary.phase_ns[1], 17 * MS - 10001);
    assert_int_equal(summary.phase_ns[0], 33 * MS + 10001);
    assert_int_equal(summary.phase_ns[2], 50 * MS);
    end(&made, &summary);
}

static void add_edge(struct made *made, uint32_t process, uint64_t time_ns, const char *text)
{
    BUILD_NOTE(&made->model, .process = process, .time_ns = time_ns, .kind = "schedule",
               .text = text);
}

/* Of the training: steps 2 and 3. */
static void test_steps_that_a_schedule_left_out(void **state)
{
    (void)state;
    struct made made;
    struct ss_step_summary summary;
    make_training(&made);
    uint32_t process = (uint32_t)made.model.processes.count - 1;
    add_edge(&made, process, 2200 * MS, "skip from step 7"); /* as they come, not by time */
    add_edge(&made, process, 1600 * MS, "record from step 2");
    add_edge(&made, process, 1500 * MS, "warmup from step 1");
    add_edge(&made, process, 1700 * MS, "record_and_save from step 3");
    add_edge(&made, process, 1800 * MS, "skip from step 4");
    sum_up(&made, NULL, &summary);
    assert_int_equal(summary.steady, 2);
    assert_int_equal(summary.outside, 7);
    assert_int_equal(summary.cut, 0);
    assert_int_equal(summary.warm_up + summary.outliers, 0);
    assert_int_equal(summary.steps.data[2].kind, SS_STEP_STEADY);
    assert_int_equal(summary.steps.data[3].kind, SS_STEP_STEADY);
    assert_int_equal(summary.p50_ns, 100 * MS);
    end(&made, &summary);
    /* A schedule that recorded no whole step leaves the steps as they are. */
    make_training(&made);
    add_edge(&made, process, 500 * MS, "record from step 0");
    add_edge(&made, process, 900 * MS, "skip from step 0");
    sum_up(&made, NULL, &summary);
    assert_int_equal(summary.steady, 7);
    assert_int_equal(summary.outside, 0);
    end(&made, &summary);
}

/* A capture begins and ends within steps 2 and 5: those are recorded in part. */
static void test_steps_that_a_capture_has_in_part(void **state)
{
    (void)state;
    struct made made;
    struct ss_step_summary summary;
    make_training(&made);
    uint32_t process = (uint32_t)made.model.processes.count - 1;
    add_edge(&made, process, 1620 * MS, "record from step 2");
    add_edge(&made, process, 1980 * MS, "skip from step 5");
    sum_up(&made, NULL, &summary);
    assert_int_equal(summary.steady, 2);
    assert_int_equal(summary.outside, 7);
    assert_int_equal(summary.steps.data[2].kind, SS_STEP_OUTSIDE);
    assert_int_equal(summary.steps.data[3].kind, SS_STEP_STEADY);
    assert_int_equal(summary.steps.data[5].kind, SS_STEP_OUTSIDE);
    end(&made, &summary);
    /* Where no step is whole, those whose middle is recorded count. */
    make_training(&made);
    add_edge(&made, process, 1620 * MS, "record from step 2");
    add_edge(&made, process, 1690 * MS, "skip from step 2");
    sum_up(&made, NULL, &summary);
    assert_int_equal(summary.steady, 1);
    assert_int_equal(summary.steps.data[2].kind, SS_STEP_STEADY);
    end(&made, &summary);
}

/* A window of one step, on a busy machine: it is what was asked for, however long it took. */
static void test_a_recorded_outlier_is_the_step(void **state)
{
    (void)state;
    struct made made;
    struct ss_step_summary summary;
    make_training(&made);
    uint32_t process = (uint32_t)made.model.processes.count - 1;
    add_edge(&made, process, 2000 * MS, "record_and_save from step 6");
    add_edge(&made, process, 2300 * MS, "skip from step 7");
    sum_up(&made, NULL, &summary);
    assert_int_equal(summary.steady, 1);
    assert_int_equal(summary.outside, 8);
    assert_int_equal(summary.steps.data[6].kind, SS_STEP_STEADY);
    assert_int_equal(summary.p50_ns, 300 * MS);
    end(&made, &summary);
}

/* The steps are faster after it. */
static void test_a_recorded_warm_up_is_the_step(void **state)
{
    (void)state;
    struct made made;
    struct ss_step_summary summary;
    make_training(&made);
    uint32_t process = (uint32_t)made.model.processes.count - 1;
    add_edge(&made, process, 1000 * MS, "record_and_save from step 0");
    add_edge(&made, process, 1500 * MS, "skip from step 1");
    sum_up(&made, NULL, &summary);
    assert_int_equal(summary.steady, 1);
    assert_int_equal(summary.warm_up, 0);
    assert_int_equal(summary.outside, 8);
    assert_int_equal(summary.steps.data[0].kind, SS_STEP_STEADY);
    assert_int_equal(summary.p50_ns, 500 * MS);
    end(&made, &summary);
}

/* Ten steps of 100 ms; in those of `profiled`, bits, a profiler works for 40 ms between phases. */
static void make_profiled(struct made *made, unsigned profiled)
{
    begin(made);
    for (unsigned i = 0; i < 10; i++) {
        uint64_t at = (1000 + i * 100) * MS;
        add_phase(made, "forward", at, at + 30 * MS);
        if ((profiled & 1U << i) != 0) {
            add_phase(made, "profiler", at + 30 * MS, at + 70 * MS);
        }
        add_phase(made, "backward", at + 80 * MS, at + 100 * MS);
        add_step(made, i, at, at + 100 * MS, 0);
    }
}

static void test_steps_with_a_profilers_work_do_not_count(void **state)
{
    (void)state;
    struct made made;
    struct ss_step_summary summary;
    make_profiled(&made, 1U << 4 | 1U << 7);
    sum_up(&made, NULL, &summary);
    assert_int_equal(summary.steady, 8);
    assert_int_equal(summary.profiled, 2);
    assert_int_equal(summary.steps.data[4].kind, SS_STEP_PROFILED);
    assert_int_equal(summary.profiler_ns, 80 * MS);
    end(&made, &summary);
}

static void test_a_profiler_in_most_steps_is_how_the_program_runs(void **state)
{
    (void)state;
    struct made made;
    struct ss_step_summary summary;
    make_profiled(&made, 0x3fe);
    sum_up(&made, NULL, &summary);
    assert_int_equal(summary.profiled, 0);
    assert_int_equal(summary.steady, 10);
    assert_int_equal(summary.profiler_ns, 0); /* it is in the phases */
    end(&made, &summary);
}

static void test_the_time_of_a_profiler_between_steps(void **state)
{
    (void)state;
    struct made made;
    struct ss_step_summary summary;
    make_profiled(&made, 0);
    add_phase(&made, "profiler", 2000 * MS, 2300 * MS);
    sum_up(&made, NULL, &summary);
    assert_int_equal(summary.steady, 10);
    assert_int_equal(summary.profiler_ns, 300 * MS);
    end(&made, &summary);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_steady_step),
        cmocka_unit_test(test_what_follows_the_last_update_is_no_step),
        cmocka_unit_test(test_own_marks_replace_found_steps),
        cmocka_unit_test(test_phases_in_order_add_up),
        cmocka_unit_test(test_phases_are_cut_by_steps_and_each_other),
        cmocka_unit_test(test_few_steps_are_not_judged),
        cmocka_unit_test(test_what_is_frequent_is_usual),
        cmocka_unit_test(test_numbers_choose),
        cmocka_unit_test(test_many_names_and_none),
        cmocka_unit_test(test_a_phase_that_never_ends),
        cmocka_unit_test(test_steps_beyond_all_time),
        cmocka_unit_test(test_waits_for_communication_are_no_backward),
        cmocka_unit_test(test_waits_of_steps_in_sums_are_recorded),
        cmocka_unit_test(test_steps_that_a_schedule_left_out),
        cmocka_unit_test(test_steps_that_a_capture_has_in_part),
        cmocka_unit_test(test_a_recorded_outlier_is_the_step),
        cmocka_unit_test(test_a_recorded_warm_up_is_the_step),
        cmocka_unit_test(test_steps_with_a_profilers_work_do_not_count),
        cmocka_unit_test(test_a_profiler_in_most_steps_is_how_the_program_runs),
        cmocka_unit_test(test_the_time_of_a_profiler_between_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
