/* SPDX-License-Identifier: Apache-2.0 */
/* Several traces as one: a process of two windows, one time axis for traces of one boot and of two,
 * and which time is wanted of all of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "../trace/sample_recording.h"
#include "model/core/model.h"
#include "trace/writer_tracks.h"

static const uint64_t second_ns = 1000000000;
static char folder[64];

struct window {
    const char *file, *boot;
    uint64_t begin_ns;   /* CLOCK_MONOTONIC */
    uint64_t wall_ns;    /* CLOCK_REALTIME then; 0: no clock is written */
    uint64_t start_time; /* of the process */
    int64_t step;
    int64_t time_namespace; /* 0: not written */
};

static char *path_of(const char *file)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, file);
    return path;
}

static void put_definitions(struct ss_trace_writer *writer, const struct window *window)
{
    struct ss_trace_attribute boot = {ss_strview_of("boot_id"), ss_strview_of(window->boot)};
    struct ss_trace_attribute rate = {ss_strview_of("rate_hz"), .is_integer = true, .integer = 100};
    MUST(ss_trace_writer_attribute(writer, &boot, must_err));
    MUST(ss_trace_writer_attribute(writer, &rate, must_err));
    if (window->time_namespace != 0) {
        struct ss_trace_attribute space = {ss_strview_of("time_namespace"), .is_integer = true,
                                           .integer = window->time_namespace};
        MUST(ss_trace_writer_attribute(writer, &space, must_err));
    }
    PUT(process, writer, .ref = 1, .pid = 7, .pid_namespace = 3,
        .start_time_ticks = window->start_time);
    PUT(thread, writer, .ref = 1, .process_ref = 1, .tid = 7);
    struct ss_trace_track steps = {
        .ref = 1, .kind = SS_TRACK_STEPS, .process_ref = 1, .name = ss_strview_of("step")};
    struct ss_trace_track counter = {
        .ref = 2, .kind = SS_TRACK_COUNTER, .process_ref = 1, .name = ss_strview_of("loss")};
    MUST(ss_trace_writer_track(writer, &steps, must_err));
    MUST(ss_trace_writer_track(writer, &counter, must_err));
}

/* A sample at its start, a step and a value over its first second. */
static void put_records(struct ss_trace_writer *writer, const struct window *window)
{
    struct ss_trace_event step = {.time_ns = window->begin_ns,
                                  .track_ref = 1,
                                  .payload = {SS_VALUE_INT, {.integer = window->step}}};
    struct ss_trace_event end = {
        .time_ns = window->begin_ns + second_ns, .track_ref = 1, .kind = SS_EVENT_END};
    PUT(sample, writer, .time_ns = window->begin_ns, .thread_ref = 1, .weight = 1,
        .step = window->step);
    MUST(ss_trace_writer_event(writer, &step, must_err));
    PUT(counter, writer, .time_ns = window->begin_ns, .track_ref = 2, .is_integer = true,
        .integer = window->step);
    MUST(ss_trace_writer_event(writer, &end, must_err));
}

static void write_window(const struct window *window)
{
    struct ss_trace_writer *writer;
    const char *path = path_of(window->file);
    struct ss_trace_writer_options options = {.size = sizeof options, .path = path, .replay = true};
    MUST(ss_trace_writer_open(&options, &writer, must_err));
    struct ss_trace_clock clock = {window->begin_ns, window->begin_ns, window->begin_ns,
                                   window->wall_ns, 50};
    if (window->wall_ns != 0) {
        MUST(ss_trace_writer_clock(writer, &clock, must_err));
    }
    put_definitions(writer, window);
    put_records(writer, window);
    MUST(ss_trace_writer_close(writer, must_err));
}

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/ss_inputs.XXXXXX");
    return mkdtemp(folder) != NULL ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    static const char *const files[] = {"ba7.pftrace", "ba13.pftrace"};
    for (size_t i = 0; i < 2; i++) {
        unlink(path_of(files[i]));
    }
    return rmdir(folder);
}

static void load(struct ss_model *model, struct ss_model_load how)
{
    how.size = sizeof how;
    how.keep_samples = true;
    ss_model_init(model);
    MUST(ss_model_add_input(model, folder, &how, must_err));
}

static const struct ss_model_clock_domain *domain_of(const struct ss_model *model, size_t input)
{
    return &model->clock_domains.data[model->inputs.data[input].clock_domain];
}

static void two_windows(const char *second_boot, uint64_t start_time)
{
    write_window(&(struct window){"ba7.pftrace", "a", 100 * second_ns, 5000 * second_ns, 11, 7});
    write_window(&(struct window){"ba13.pftrace", second_boot, 110 * second_ns, 5010 * second_ns,
                                  start_time, 13});
}

static void a_process_of_two_windows_is_one(void **state)
{
    (void)state;
    struct ss_model model;
    two_windows("a", 11);
    load(&model, (struct ss_model_load){0});
    assert_int_equal(model.inputs.count, 2);
    assert_int_equal(model.processes.count, 2); /* and "none" */
    assert_int_equal(model.threads.count, 2);
    assert_int_equal(model.tracks.count, 3);
    assert_int_equal(model.inputs.data[1].processes, 1);
    assert_int_equal(model.ranges.count, 2);
    assert_int_equal(model.values.count, 2);
    for (int64_t i = 0; i < 2; i++) { /* in order of time, ba7 first */
        uint64_t begin_ns = (uint64_t)(100 + 10 * i) * second_ns;
        assert_int_equal(model.ranges.data[i].begin_ns, begin_ns);
        assert_int_equal(model.values.data[i].integer, 7 + 6 * i);
        const struct ss_model_clock_domain *domain = domain_of(&model, (size_t)i);
        assert_int_equal(domain->mapping, SS_CLOCK_IS_AXIS);
        assert_int_equal(domain->shift_ns, 0);
        assert_int_equal(domain->error_ns, 0);
    }
    ss_model_fini(&model);
}

static void another_process_with_its_pid_is_another(void **state)
{
    (void)state;
    struct ss_model model;
    two_windows("a", 12);
    load(&model, (struct ss_model_load){0});
    assert_int_equal(model.processes.count, 3);
    assert_int_equal(model.tracks.count, 5);
    ss_model_fini(&model);
    two_windows("b", 11);
    load(&model, (struct ss_model_load){0});
    assert_int_equal(model.processes.count, 3);
    ss_model_fini(&model);
}

static void another_boot_is_placed_by_its_wall_clock(void **state)
{
    (void)state;
    struct ss_model model;
    write_window(&(struct window){"ba7.pftrace", "a", 100 * second_ns, 5000 * second_ns, 11, 7});
    write_window(&(struct window){"ba13.pftrace", "b", 2 * second_ns, 5004 * second_ns, 11, 13});
    load(&model, (struct ss_model_load){0});
    assert_int_equal(domain_of(&model, 1)->mapping, SS_CLOCK_BY_WALL);
    assert_int_equal(domain_of(&model, 1)->shift_ns, 102 * (int64_t)second_ns);
    assert_int_equal(domain_of(&model, 1)->error_ns, 50); /* half the width of two readings */
    assert_int_equal(model.samples.data[0].time_ns, 100 * second_ns);
    assert_int_equal(model.samples.data[1].time_ns, 104 * second_ns);
    assert_int_equal(model.ranges.data[1].begin_ns, 104 * second_ns);
    assert_int_equal(model.values.data[1].time_ns, 104 * second_ns);
    ss_model_fini(&model);
    write_window(&(struct window){"ba13.pftrace", "", 2 * second_ns, 5004 * second_ns, 11, 13});
    load(&model, (struct ss_model_load){0});
    assert_int_equal(domain_of(&model, 1)->mapping, SS_CLOCK_UNMAPPED);
    assert_int_equal(model.samples.data[1].time_ns, 2 * second_ns);
    ss_model_fini(&model);
}

/* Containers of one machine may have monotonic clocks of their own, but share its wall clock. */
static void another_time_namespace_is_another_clock(void **state)
{
    (void)state;
    struct ss_model model;
    write_window(&(struct window){"ba7.pftrace", "a", 100 * second_ns, 5000 * second_ns, 11, 7, 1});
    write_window(&(struct window){"ba13.pftrace", "a", 2 * second_ns, 5004 * second_ns, 11, 13, 2});
    load(&model, (struct ss_model_load){0});
    assert_int_equal(domain_of(&model, 1)->mapping, SS_CLOCK_BY_SHARED_WALL);
    assert_int_equal(domain_of(&model, 1)->error_ns, 50);
    assert_int_equal(model.samples.data[1].time_ns, 104 * second_ns);
    assert_int_equal(model.clock_readings.count, 2);
    ss_model_fini(&model);
    /* A recording that lacks the namespace is of the first of its boot. */
    write_window(&(struct window){"ba13.pftrace", "a", 110 * second_ns, 5010 * second_ns, 11, 13});
    load(&model, (struct ss_model_load){0});
    assert_int_equal(domain_of(&model, 1)->mapping, SS_CLOCK_IS_AXIS);
    assert_int_equal(model.samples.data[1].time_ns, 110 * second_ns);
    ss_model_fini(&model);
}

/* Half a second ahead in the second recording: the wall clock was set in between. */
static void a_set_wall_clock_widens_the_error(void **state)
{
    (void)state;
    struct ss_model model;
    uint64_t half_ns = second_ns / 2;
    write_window(&(struct window){"ba7.pftrace", "a", 100 * second_ns, 5000 * second_ns, 11, 7, 1});
    write_window(&(struct window){"ba13.pftrace", "a", 110 * second_ns, 5010 * second_ns + half_ns,
                                  11, 13, 1});
    load(&model, (struct ss_model_load){0});
    assert_int_equal(domain_of(&model, 1)->error_ns, 0); /* one monotonic clock */
    assert_int_equal(domain_of(&model, 1)->wall_error_ns, half_ns + 25);
    assert_int_equal(domain_of(&model, 1)->readings, 2);
    assert_int_equal(model.samples.data[1].time_ns, 110 * second_ns);
    ss_model_fini(&model);
}

/* A machine that says it is 1970 or 2200: no time wraps around. */
static void a_wild_clock_does_not_wrap(void **state)
{
    (void)state;
    struct ss_model model;
    write_window(&(struct window){"ba7.pftrace", "a", 100 * second_ns, 5000 * second_ns, 11, 7});
    write_window(&(struct window){"ba13.pftrace", "b", 200 * second_ns, 1, 11, 13});
    load(&model, (struct ss_model_load){0});
    assert_int_equal(model.samples.data[1].time_ns, 0);
    assert_int_equal(model.ranges.data[1].begin_ns, 0);
    ss_model_fini(&model);
}

static void a_time_range_counts_from_the_first_of_all(void **state)
{
    (void)state;
    struct ss_model model;
    two_windows("a", 11);
    load(&model, (struct ss_model_load){
                     .has_time_range = true, .from_ns = 5 * second_ns, .to_ns = 50 * second_ns});
    assert_int_equal(model.samples.count, 1);
    assert_int_equal(model.samples.data[0].time_ns, 110 * second_ns);
    assert_int_equal(model.filtered_samples, 1);
    ss_model_fini(&model);
}

static void steps_are_those_of_any_file(void **state)
{
    (void)state;
    struct ss_model model;
    two_windows("a", 11);
    load(&model, (struct ss_model_load){.has_steps = true, .first_step = 13, .last_step = 13});
    assert_int_equal(model.samples.count, 1);
    assert_int_equal(model.samples.data[0].time_ns, 110 * second_ns);
    ss_model_fini(&model);
    struct ss_error err = {0};
    struct ss_model_load none = {
        .size = sizeof none, .has_steps = true, .first_step = 8, .last_step = 9};
    ss_model_init(&model);
    assert_int_equal(ss_model_add_input(&model, folder, &none, &err), SS_E_USAGE);
    assert_non_null(strstr(err.message, "and 1 other have no step from 8 to 9; their steps are 7"));
    ss_model_fini(&model);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_process_of_two_windows_is_one),
        TEST(another_process_with_its_pid_is_another),
        TEST(another_boot_is_placed_by_its_wall_clock),
        TEST(another_time_namespace_is_another_clock),
        TEST(a_set_wall_clock_widens_the_error),
        TEST(a_wild_clock_does_not_wrap),
        TEST(a_time_range_counts_from_the_first_of_all),
        TEST(steps_are_those_of_any_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
