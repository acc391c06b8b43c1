/* SPDX-License-Identifier: Apache-2.0 */
/* From what a trace says of tracks to rows: order, nesting, what is open or has no begin, and the
 * ranges around samples. Hostile traces too. */
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
#include "model/core/step_span.h"
#include "trace/writer_tracks.h"

#define START RECORDING_START

static struct ss_trace_writer *open_writer(const char *path)
{
    struct ss_trace_writer *writer = recording_open(path);
    PUT(clock, writer, START, START + 5, START - 9, START + (1ull << 60), 50);
    return writer;
}

static void put_track(struct ss_trace_writer *writer, uint32_t ref, const char *name)
{
    PUT(track, writer, .ref = ref, .kind = SS_TRACK_RANGES, .thread_ref = 1,
        .name = ss_strview_of(name));
}

static void put_name(struct ss_trace_writer *writer, uint32_t ref, const char *text)
{
    PUT(name, writer, .ref = ref, .text = ss_strview_of(text));
}

static void begin(struct ss_trace_writer *writer, uint64_t time_ns, uint32_t track, uint32_t name)
{
    PUT(event, writer, .time_ns = START + time_ns, .track_ref = track, .name_ref = name);
}

static void end(struct ss_trace_writer *writer, uint64_t time_ns, uint32_t track)
{
    PUT(event, writer, .time_ns = START + time_ns, .track_ref = track, .kind = SS_EVENT_END);
}

static void sample(struct ss_trace_writer *writer, uint64_t time_ns, uint32_t label)
{
    PUT(sample, writer, .time_ns = START + time_ns, .thread_ref = 1, .stack_ref = 1, .weight = 1,
        .step = -1, .range_name = label);
}

static void load(struct ss_model *model, const char *path, struct ss_model_load how)
{
    how.size = sizeof how;
    ss_model_init(model);
    MUST(ss_model_add_input(model, path, &how, must_err));
}

/* "a/b/c" */
static const char *path_text(const struct ss_model *model, uint32_t path)
{
    static char text[256];
    char before[256] = "";
    text[0] = '\0';
    for (; path != 0; path = model->paths.data[path].parent) {
        const struct ss_model_name *name = &model->names.data[model->paths.data[path].name];
        snprintf(before, sizeof before, "%s%s%.200s", ss_model_text(model, name->text),
                 text[0] != '\0' ? "/" : "", text);
        memcpy(text, before, sizeof text);
    }
    return text;
}

static void check_range(const struct ss_model *model, size_t row, uint64_t from, uint64_t to,
                        const char *path, unsigned flags)
{
    const struct ss_model_range *range = &model->ranges.data[row];
    assert_int_equal(range->begin_ns, START + from);
    assert_int_equal(range->end_ns, START + to);
    assert_string_equal(path_text(model, range->path), path);
    assert_int_equal(range->flags, flags);
}

/* Late, nested, touching, without length, without end, without begin. */
static void test_nesting(void **state)
{
    (void)state;
    const char *path = recording_path("nesting");
    struct ss_trace_writer *writer = open_writer(path);
    put_track(writer, 1, "");
    put_name(writer, 1, "a");
    put_name(writer, 2, "b");
    put_name(writer, 3, "late");
    end(writer, 1, 1);       /* of nothing */
    begin(writer, 10, 1, 1); /* a [10, 50) */
    begin(writer, 20, 1, 2); /* b [20, 30) */
    end(writer, 30, 1);
    begin(writer, 30, 1, 2); /* b again, touching */
    end(writer, 40, 1);
    end(writer, 50, 1);
    begin(writer, 60, 1, 1); /* without length */
    end(writer, 60, 1);
    begin(writer, 70, 1, 1); /* never ends */
    PUT(clock, writer, START + 1000, 1, 1, 1, 1);
    begin(writer, 31, 1, 3); /* within the second b, written in the next unit */
    end(writer, 35, 1);
    sample(writer, 900, 0);
    MUST(ss_trace_writer_close(writer, must_err));
    struct ss_model model;
    load(&model, path, (struct ss_model_load){0});
    assert_int_equal(model.ranges.count, 6);
    check_range(&model, 0, 10, 50, "a", 0);
    check_range(&model, 1, 20, 30, "a/b", 0);
    check_range(&model, 2, 30, 40, "a/b", 0);
    check_range(&model, 3, 31, 35, "a/b/late", 0);
    check_range(&model, 4, 60, 60, "a", 0);
    check_range(&model, 5, 70, 900, "a", SS_RANGE_END_UNSEEN);
    assert_int_equal(model.unmatched_ends, 1);
    assert_int_equal(model.open_ranges, 1);
    assert_true(sizeof(struct ss_model_range) <= 40);
    ss_model_fini(&model);
    load(&model, path, (struct ss_model_load){.no_tracks = true});
    assert_int_equal(model.ranges.count, 0);
    assert_int_equal(model.totals.data[0].samples, 1);
    ss_model_fini(&model);
    unlink(path);
}

/* Two domains whose ranges end crosswise; a label where no range is known, and one that was read a
 * moment before its range had ended. */
static void test_sample_ranges(void **state)
{
    (void)state;
    const char *path = recording_path("around");
    struct ss_trace_writer *writer = open_writer(path);
    put_track(writer, 1, "");
    put_track(writer, 2, "other");
    put_name(writer, 1, "a");
    put_name(writer, 2, "b");
    put_name(writer, 3, "c");
    put_name(writer, 4, "lost");
    static const uint64_t times[] = {5, 10, 25, 35, 45, 55};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        sample(writer, times[i], times[i] == 5 ? 4 : times[i] == 55 ? 2 : 0);
    }
    begin(writer, 10, 1, 1); /* a [10, 40) */
    begin(writer, 20, 2, 2); /* b [20, 50) on the other track */
    begin(writer, 30, 1, 3); /* c [30, 38) */
    end(writer, 38, 1);
    end(writer, 40, 1);
    end(writer, 50, 2);
    MUST(ss_trace_writer_close(writer, must_err));
    struct ss_model model;
    load(&model, path, (struct ss_model_load){.sample_ranges = true});
    static const char *const expected[] = {"lost", "a", "a/b", "a/b/c", "b", ""};
    assert_int_equal(model.totals.count, 6);
    for (size_t i = 0; i < model.totals.count; i++) {
        assert_string_equal(path_text(&model, model.totals.data[i].range), expected[i]);
    }
    ss_model_fini(&model);
    load(&model, path, (struct ss_model_load){0}); /* not asked for: one row of totals */
    assert_int_equal(model.totals.count, 1);
    ss_model_fini(&model);
    unlink(path);
}

/* A time range keeps the ranges whose begin lies in it, and says which do not. */
static void test_time_range(void **state)
{
    (void)state;
    const char *path = recording_path("window");
    struct ss_trace_writer *writer = open_writer(path);
    put_track(writer, 1, "");
    put_name(writer, 1, "a");
    sample(writer, 0, 0);
    for (uint64_t i = 0; i < 10; i++) {
        begin(writer, i * 100, 1, 1);
        end(writer, i * 100 + 50, 1);
    }
    MUST(ss_trace_writer_close(writer, must_err));
    struct ss_model model;
    load(&model, path,
         (struct ss_model_load){.has_time_range = true, .from_ns = 200, .to_ns = 500});
    unsigned inside = 0;
    for (size_t i = 0; i < model.ranges.count; i++) {
        inside += (model.ranges.data[i].flags & SS_RANGE_OUTSIDE) == 0;
    }
    assert_int_equal(model.ranges.count, 10);
    assert_int_equal(inside, 3);
    ss_model_fini(&model);
    unlink(path);
}

/* Ten thousand open ranges, a hundred thousand names, more ends than begins. */
static void test_hostile(void **state)
{
    (void)state;
    enum { DEPTH = 10000, NAMES = 100000 };
    const char *path = recording_path("hostile");
    struct ss_trace_writer *writer = open_writer(path);
    put_track(writer, 1, "");
    put_track(writer, 2, "names");
    put_name(writer, 1, "deep");
    for (uint64_t i = 0; i < DEPTH; i++) {
        begin(writer, i, 1, 1);
    }
    for (uint64_t i = 0; i < DEPTH + 5; i++) {
        end(writer, 2 * DEPTH + i, 1);
    }
    for (uint32_t i = 2; i < NAMES + 2; i++) {
        char name[32];
        snprintf(name, sizeof name, "name %u", i);
        put_name(writer, i, name);
        begin(writer, i, 2, i);
        end(writer, i, 2);
    }
    sample(writer, DEPTH, 0);
    MUST(ss_trace_writer_close(writer, must_err));
    struct ss_model model;
    load(&model, path, (struct ss_model_load){.sample_ranges = true});
    assert_int_equal(model.ranges.count, DEPTH + NAMES);
    assert_int_equal(model.unmatched_ends, 5);
    assert_int_equal(model.open_ranges, 0);
    assert_int_equal(model.names.count, NAMES + 2);
    assert_int_equal(model.paths.data[model.totals.data[0].range].depth, DEPTH);
    ss_model_fini(&model);
    unlink(path);
}

/* Values lie by series, then by time, also when they came late. */
static void test_values(void **state)
{
    (void)state;
    const char *path = recording_path("values");
    struct ss_trace_writer *writer = open_writer(path);
    for (uint32_t i = 1; i <= 2; i++) {
        PUT(track, writer, .ref = i, .kind = SS_TRACK_COUNTER, .name = ss_strview_of("n"),
            .unit = ss_strview_of("W"));
    }
    for (int i = 0; i < 10; i++) {
        PUT(counter, writer, .time_ns = START + (uint64_t)(i * 7 % 10),
            .track_ref = 1 + (uint32_t)i % 2, .is_integer = true, .integer = i * 7 % 10);
    }
    MUST(ss_trace_writer_close(writer, must_err));
    struct ss_model model;
    load(&model, path, (struct ss_model_load){0});
    assert_int_equal(model.values.count, 10);
    for (size_t i = 0; i < 10; i++) {
        const struct ss_model_value *value = &model.values.data[i];
        assert_int_equal(value->track, 1 + i / 5);
        assert_int_equal(value->integer, (int64_t)(value->time_ns - START));
        assert_true(i % 5 == 0 || value[-1].time_ns <= value->time_ns);
    }
    ss_model_fini(&model);
    unlink(path);
}

/* Each on a track of its own, with numbers up to the limits. */
static void test_step_span_of_many_tracks(void **state)
{
    (void)state;
    enum { TRACKS = 20000 };
    char path[] = "/tmp/ss_tracks.XXXXXX";
    close(mkstemp(path));
    struct ss_trace_writer *writer = open_writer(path);
    for (uint32_t i = 1; i <= TRACKS; i++) {
        struct ss_trace_track track = {
            .ref = i, .kind = SS_TRACK_STEPS, .thread_ref = 1, .name = ss_strview_of("step")};
        struct ss_trace_event step = {.time_ns = START + i,
                                      .track_ref = i,
                                      .payload = {SS_VALUE_INT,
                                                  {.integer = i == 1        ? INT64_MIN
                                                              : i == TRACKS ? INT64_MAX
                                                                            : (int64_t)i}}};
        MUST(ss_trace_writer_track(writer, &track, must_err));
        MUST(ss_trace_writer_event(writer, &step, must_err));
        end(writer, i + 1, i);
    }
    MUST(ss_trace_writer_close(writer, must_err));
    struct ss_step_span span;
    MUST(ss_step_span_find(path, 100, 200, &span, must_err));
    assert_int_equal(span.begin_ns, START + 100);
    assert_int_equal(span.end_ns, START + 201);
    MUST(ss_step_span_find(path, INT64_MAX, INT64_MAX, &span, must_err));
    assert_int_equal(span.begin_ns, START + TRACKS);
    struct ss_error err = {0};
    assert_int_equal(ss_step_span_find(path, -7, -1, &span, &err), SS_E_USAGE);
    assert_non_null(
        strstr(err.message, "its steps are -9223372036854775808 to 9223372036854775807"));
    unlink(path);
}

/* Steps and phases are always taken, of other tracks those that are named, and counters that
 * measure what is wanted, however they are called. */
static void test_only_some_tracks(void **state)
{
    (void)state;
    static const char *const wanted[] = {"torch", NULL}, *const none[] = {NULL};
    const char *path = recording_path("only");
    struct ss_trace_writer *writer = open_writer(path);
    put_track(writer, 1, "torch");
    put_track(writer, 2, "mine");
    PUT(track, writer, .ref = 3, .kind = SS_TRACK_PHASES, .process_ref = 1,
        .name = ss_strview_of("phase"));
    PUT(track, writer, .ref = 4, .kind = SS_TRACK_COUNTER, .process_ref = 1,
        .name = ss_strview_of("HBM in use"), .quantity = SS_QUANTITY_DEVICE_ALLOCATED);
    PUT(track, writer, .ref = 5, .kind = SS_TRACK_COUNTER, .process_ref = 1,
        .name = ss_strview_of("cuda:1 reserved")); /* as in version 0.1.0 */
    put_name(writer, 1, "a");
    for (uint32_t track = 1; track <= 3; track++) {
        begin(writer, 10 + track, track, 1);
        end(writer, 20 + track, track);
    }
    for (uint32_t track = 4; track <= 5; track++) {
        PUT(counter, writer, .time_ns = START + 15, .track_ref = track, .is_integer = true,
            .integer = 64);
    }
    MUST(ss_trace_writer_close(writer, must_err));
    struct ss_model model;
    load(&model, path, (struct ss_model_load){.only_tracks = wanted});
    assert_int_equal(model.ranges.count, 2);
    assert_int_equal(model.values.count, 0);
    ss_model_fini(&model);
    load(&model, path,
         (struct ss_model_load){.only_tracks = wanted,
                                .only_quantities = 1u << SS_QUANTITY_DEVICE_ALLOCATED});
    assert_int_equal(model.values.count, 1);
    ss_model_fini(&model);
    load(&model, path,
         (struct ss_model_load){.only_tracks = none,
                                .only_quantities = 1u << SS_QUANTITY_DEVICE_RESERVED});
    assert_int_equal(model.values.count, 1);
    ss_model_fini(&model);
    load(&model, path, (struct ss_model_load){.only_tracks = none});
    assert_int_equal(model.ranges.count, 1);
    ss_model_fini(&model);
    load(&model, path, (struct ss_model_load){0});
    assert_int_equal(model.ranges.count, 3);
    assert_int_equal(model.values.count, 2);
    ss_model_fini(&model);
}

/* The first step with samples is distinguished from later ones. */
static void test_steps_of_samples(void **state)
{
    (void)state;
    static const int64_t steps[] = {-1, 7, 7, 8, 9, -1, INT64_MAX};
    static const uint64_t wanted[] = {3, 2, 2};
    const char *path = recording_path("steps");
    struct ss_trace_writer *writer = open_writer(path);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        PUT(sample, writer, .time_ns = START + i, .thread_ref = 1, .stack_ref = 1, .weight = 1,
            .step = steps[i]);
    }
    MUST(ss_trace_writer_close(writer, must_err));
    struct ss_model model;
    load(&model, path, (struct ss_model_load){.sample_phases = true});
    uint64_t found[3] = {0};
    for (size_t i = 0; i < model.totals.count; i++) {
        found[model.totals.data[i].step] += model.totals.data[i].samples;
    }
    assert_memory_equal(found, wanted, sizeof wanted);
    ss_model_fini(&model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nesting),          cmocka_unit_test(test_sample_ranges),
        cmocka_unit_test(test_time_range),       cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_only_some_tracks), cmocka_unit_test(test_steps_of_samples),
        cmocka_unit_test(test_values),           cmocka_unit_test(test_step_span_of_many_tracks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
