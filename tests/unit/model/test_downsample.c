/* SPDX-License-Identifier: Apache-2.0 */
/* Operators of a long training: those of which steps are loaded, and what is reported of the
 * others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../trace/sample_recording.h"
#include "model/core/model.h"
#include "trace/writer_tracks.h"

#define START RECORDING_START

enum { STEP_NS = 1000, OPERATORS = 6, NODES = 4, NAME = 1 };
enum { STEPS_TRACK = 1, MAIN_OPERATORS, OTHER_OPERATORS, MODULES, RECORDED };

/* recording_define: threads 1 and 3 are of process 2. */
static struct ss_trace_writer *writer;

static void put_track(uint32_t ref, enum ss_track_kind kind, uint32_t thread, const char *name)
{
    PUT(track, writer, .ref = ref, .kind = kind, .process_ref = thread == 0 ? 2 : 0,
        .thread_ref = thread, .name = ss_strview_of(name));
}

static void put(uint64_t at_ns, uint32_t track, enum ss_event_kind kind, int64_t payload)
{
    bool is_step = track == STEPS_TRACK;
    struct ss_trace_value value = {.type = SS_VALUE_INT, .integer = payload};
    PUT(event, writer, .time_ns = START + at_ns, .track_ref = track, .kind = kind,
        .name_ref = kind == SS_EVENT_END || is_step ? 0 : NAME,
        .payload = kind == SS_EVENT_END ? (struct ss_trace_value){0} : value);
}

static void put_recorded(uint64_t at_ns, int64_t is_recorded)
{
    PUT(counter, writer, .time_ns = START + at_ns, .track_ref = RECORDED, .is_integer = true,
        .integer = is_recorded);
}

static const char *open_recording(const char *name)
{
    const char *path = recording_path(name);
    writer = recording_open(path);
    put_track(STEPS_TRACK, SS_TRACK_STEPS, 1, "step");
    put_track(MAIN_OPERATORS, SS_TRACK_RANGES, 1, "torch");
    put_track(OTHER_OPERATORS, SS_TRACK_RANGES, 3, "torch");
    put_track(MODULES, SS_TRACK_RANGES, 1, "torch.module");
    put_track(RECORDED, SS_TRACK_COUNTER, 0, "operators recorded");
    PUT(name, writer, .ref = NAME, .text = ss_strview_of("aten::mm"));
    return path;
}

/* Operators of the main thread, one in another, those of a second thread, one of which ends as the
 * next step has begun, and a module; each with the number of its step. */
static void put_step(int64_t number, uint64_t from_ns)
{
    for (uint64_t i = 0; i < OPERATORS / 2; i++) {
        uint64_t at_ns = from_ns + 100 + i * 100;
        put(at_ns, MAIN_OPERATORS, SS_EVENT_BEGIN, number);
        put(at_ns + 10, MAIN_OPERATORS, SS_EVENT_BEGIN, number);
        put(at_ns + 20, MAIN_OPERATORS, SS_EVENT_END, 0);
        put(at_ns + 90, MAIN_OPERATORS, SS_EVENT_END, 0);
    }
    for (uint64_t i = 0; i < NODES; i++) {
        uint64_t at_ns = from_ns + 500 + i * 100;
        put(at_ns + 150, OTHER_OPERATORS, SS_EVENT_BEGIN, number);
        put(at_ns + 210, OTHER_OPERATORS, SS_EVENT_END, 0);
    }
    put(from_ns + 100, MODULES, SS_EVENT_BEGIN, number);
    put(from_ns + 200, MODULES, SS_EVENT_END, 0);
}

static void put_steps(int64_t count)
{
    for (int64_t k = 0; k < count; k++) {
        uint64_t from_ns = (uint64_t)(k + 1) * STEP_NS;
        if (k > 0) {
            put(from_ns, STEPS_TRACK, SS_EVENT_END, 0);
        }
        put(from_ns, STEPS_TRACK, SS_EVENT_BEGIN, k);
        put_recorded(from_ns + 1, k % 5 != 0);
        if (k % 5 != 0) {
            put_step(k, from_ns);
        }
    }
    put((uint64_t)(count + 1) * STEP_NS, STEPS_TRACK, SS_EVENT_END, 0);
}

static void load(struct ss_model *model, const char *path, struct ss_model_load how)
{
    how.size = sizeof how;
    MUST(ss_trace_writer_close(writer, must_err));
    ss_model_init(model);
    MUST(ss_model_add_input(model, path, &how, must_err));
    unlink(path);
}

static bool is_named(const struct ss_model *model, uint32_t track, const char *name)
{
    return strcmp(ss_model_text(model, model->tracks.data[track].name), name) == 0;
}

/* By number of the step in their payloads. */
static void count_ranges(const struct ss_model *model, const char *domain, unsigned *by_step,
                         size_t steps)
{
    memset(by_step, 0, steps * sizeof *by_step);
    for (size_t i = 0; i < model->ranges.count; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        const struct ss_model_payload *payload = &model->payloads.data[range->payload];
        if (is_named(model, range->track, domain) && payload->natural < steps) {
            by_step[payload->natural]++;
        }
    }
}

/* What the counter says of each step, by its start. */
static void find_flags(const struct ss_model *model, int *flags, size_t steps)
{
    memset(flags, 0xff, steps * sizeof *flags);
    for (size_t i = 0; i < model->values.count; i++) {
        const struct ss_model_value *value = &model->values.data[i];
        if (is_named(model, value->track, "operators recorded")) {
            uint64_t step = (value->time_ns - START) / STEP_NS - 1;
            assert_true(step < steps && flags[step] == -1);
            flags[step] = (int)value->integer;
        }
    }
}

enum { STEPS = 600 };

/* Loaded whole or not at all, and marked so; of the steps that were recorded about the half of the
 * half, and of the others nothing. */
static void test_whole_steps_are_drawn(void **state)
{
    static unsigned operators[STEPS], modules[STEPS];
    static int flags[STEPS];
    struct ss_model model;
    unsigned kept = 0;
    (void)state;
    const char *path = open_recording("thin");
    put_steps(STEPS);
    load(&model, path, (struct ss_model_load){.max_operators = 2000});
    assert_int_equal(model.inputs.data[0].halvings, 2);
    count_ranges(&model, "torch", operators, STEPS);
    count_ranges(&model, "torch.module", modules, STEPS);
    find_flags(&model, flags, STEPS);
    for (size_t k = 0; k < STEPS; k++) {
        assert_int_equal(operators[k], flags[k] ? OPERATORS + NODES : 0);
        assert_int_equal(modules[k], k % 5 != 0);
        assert_true(flags[k] == 0 || (flags[k] == 1 && k % 5 != 0));
        kept += operators[k] > 0;
    }
    assert_in_range(kept, 80, 160); /* 120 = 480 / 4; six standard deviations are 57 */
    assert_true(model.payloads.count < 3000);
    ss_model_fini(&model);
}

static void test_few_are_all_loaded(void **state)
{
    static unsigned operators[STEPS];
    static int flags[STEPS];
    struct ss_model model;
    (void)state;
    const char *path = open_recording("few");
    put_steps(100);
    load(&model, path, (struct ss_model_load){.max_operators = 1500});
    assert_int_equal(model.inputs.data[0].halvings, 0);
    count_ranges(&model, "torch", operators, 100);
    find_flags(&model, flags, 100);
    for (size_t k = 0; k < 100; k++) {
        assert_int_equal(operators[k], k % 5 != 0 ? OPERATORS + NODES : 0);
        assert_int_equal(flags[k], k % 5 != 0);
    }
    ss_model_fini(&model);
}

/* An epoch around all of it stays, and of what lies in it whole steps; so does what ran before the
 * first step, and what has no end. */
static void test_what_lasts_longer_stays(void **state)
{
    static unsigned operators[STEPS];
    static int flags[STEPS];
    struct ss_model model;
    unsigned before = 0;
    (void)state;
    const char *path = open_recording("epoch");
    put(10, MAIN_OPERATORS, SS_EVENT_BEGIN, 1000000);
    for (uint64_t i = 0; i < 50; i++) {
        put(100 + 10 * i, MAIN_OPERATORS, SS_EVENT_BEGIN, 2000000);
        put(105 + 10 * i, MAIN_OPERATORS, SS_EVENT_END, 0);
    }
    put_steps(STEPS);
    put((STEPS + 1) * STEP_NS + 5, MAIN_OPERATORS, SS_EVENT_BEGIN, 1000000);
    load(&model, path, (struct ss_model_load){.max_operators = 1500});
    assert_true(model.inputs.data[0].halvings > 0);
    count_ranges(&model, "torch", operators, STEPS);
    find_flags(&model, flags, STEPS);
    for (size_t k = 0; k < STEPS; k++) {
        assert_int_equal(operators[k], flags[k] ? OPERATORS + NODES : 0);
    }
    size_t lasting = 0;
    for (size_t i = 0; i < model.ranges.count; i++) {
        const struct ss_model_range *range = &model.ranges.data[i];
        lasting += model.payloads.data[range->payload].natural == 1000000;
        before += model.payloads.data[range->payload].natural == 2000000;
    }
    assert_int_equal(lasting, 2);
    assert_int_equal(before, 50);
    assert_int_equal(model.open_ranges, 2);
    assert_int_equal(model.unmatched_ends, 0);
    ss_model_fini(&model);
}

/* Too many for the limit, but of no step, or of few. */
static void test_nothing_to_draw_from(void **state)
{
    struct ss_model model;
    (void)state;
    const char *path = open_recording("no-steps");
    for (uint64_t i = 0; i < 5000; i++) {
        put(100 + 10 * i, MAIN_OPERATORS, SS_EVENT_BEGIN, 7);
        put(105 + 10 * i, MAIN_OPERATORS, SS_EVENT_END, 0);
    }
    load(&model, path, (struct ss_model_load){.max_operators = 10});
    assert_int_equal(model.ranges.count, 5000);
    assert_int_equal(model.inputs.data[0].halvings, 0);
    ss_model_fini(&model);
    path = open_recording("few-steps");
    put_steps(40);
    load(&model, path, (struct ss_model_load){.max_operators = 10});
    assert_int_equal(model.inputs.data[0].halvings, 0);
    ss_model_fini(&model);
}

/* Those of the steps that are asked for are all there. */
static void test_asked_steps_are_whole(void **state)
{
    static unsigned operators[STEPS];
    struct ss_model model;
    (void)state;
    const char *path = open_recording("asked");
    put_steps(STEPS);
    load(&model, path,
         (struct ss_model_load){
             .max_operators = 1000, .has_steps = true, .first_step = 301, .last_step = 340});
    assert_int_equal(model.inputs.data[0].halvings, 0);
    count_ranges(&model, "torch", operators, STEPS);
    for (size_t k = 301; k <= 340; k++) {
        assert_int_equal(operators[k], k % 5 != 0 ? OPERATORS + NODES : 0);
    }
    assert_true(model.ranges.count < 3000);
    ss_model_fini(&model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole_steps_are_drawn), cmocka_unit_test(test_few_are_all_loaded),
        cmocka_unit_test(test_what_lasts_longer_stays), cmocka_unit_test(test_nothing_to_draw_from),
        cmocka_unit_test(test_asked_steps_are_whole)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
