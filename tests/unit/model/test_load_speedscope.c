/* SPDX-License-Identifier: Apache-2.0 */
/* Files of speedscope's format: samples, times and threads of the model. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/strbuf.h"
#include "model/files/importer.h"
#include "model/stacks/speedscope_owner.h"

#define SCHEMA "\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
#define FRAMES                                                                                     \
    "\"shared\":{\"frames\":[{\"name\":\"main\",\"file\":\"/home/u/a.py\",\"line\":3},"            \
    "{\"name\":\"load\",\"file\":\"/usr/lib/python3.11/json/"                                      \
    "decoder.py\",\"line\":9,\"col\":null},"                                                       \
    "{\"name\":\"\\u00fcber\\n\",\"col\":7}]}"

static struct ss_model model;
static struct ss_error err;

static enum ss_status load_with(const char *text, size_t length, const struct ss_model_load *load)
{
    struct ss_import_file file = {.path = "p.json", .head = text, .head_length = length, .fd = -1};
    err = (struct ss_error){0};
    ss_model_fini(&model);
    ss_model_init(&model);
    return ss_importer_speedscope.load(&model, &file, load, &err);
}

static enum ss_status load_text(const char *text)
{
    struct ss_model_load load = {.size = sizeof load, .quiet = true, .keep_samples = true};
    return load_with(text, strlen(text), &load);
}

static uint64_t samples_of(const char *function)
{
    uint64_t samples = 0;
    for (size_t i = 0; i < model.totals.count; i++) {
        uint32_t frame = model.stacks.data[model.totals.data[i].stack].frame;
        if (strcmp(ss_model_text(&model, model.frames.data[frame].function), function) == 0) {
            samples += model.totals.data[i].samples;
        }
    }
    return samples;
}

/* --- sampled ---------------------------------------------------------------------------------- */

static void a_fixed_rate_is_one_tick_each(void **state)
{
    (void)state;
    assert_int_equal(
        load_text("{" SCHEMA "\"profiles\":[{\"type\":\"sampled\",\"name\":\"Process 12 Thread 13 "
                  "\\\"worker\\\"\",\"unit\":\"seconds\",\"startValue\":0.5,\"endValue\":0.54,"
                  "\"samples\":[[0],[0,1],[0,1],[]],\"weights\":[0.01,0.01,0.01,0.01]}]," FRAMES
                  ",\"exporter\":\"py-spy@0.4.2\"}"),
        SS_OK);
    const struct ss_model_input *input = &model.inputs.data[0];
    assert_true(input->rate_hz > 99.999 && input->rate_hz < 100.001);
    assert_int_equal(input->samples, 4); /* one without a frame */
    assert_false(input->is_untimed);
    assert_string_equal(ss_model_text(&model, input->tool), "py-spy@0.4.2");
    assert_int_equal(samples_of("main"), 1);
    assert_int_equal(samples_of("load"), 2);
    assert_int_equal(model.samples.data[0].time_ns, 500000000);
    assert_int_equal(model.samples.data[2].time_ns, 520000000);
    assert_int_equal(model.processes.data[1].pid, 12);
    assert_int_equal(model.threads.data[1].tid, 13);
    assert_false(model.threads.data[1].is_main);
    assert_string_equal(ss_model_text(&model, model.threads.data[1].name), "worker");
    const struct ss_model_frame *frame = &model.frames.data[2];
    assert_string_equal(ss_model_text(&model, frame->short_file), "json/decoder.py");
    assert_int_equal(frame->line, 9);
    assert_int_equal(frame->origin, SS_ORIGIN_STDLIB);
}

/* Members in alphabetical order: the unit follows the numbers. */
static void the_unit_may_come_last(void **state)
{
    (void)state;
    assert_int_equal(
        load_text("{" SCHEMA "\"profiles\":[{\"endValue\":7,\"name\":\"x\",\"samples\":[[2],[0]],"
                  "\"startValue\":0,\"type\":\"sampled\",\"weights\":[1.5e0,3],\"unit\":"
                  "\"milliseconds\"}]," FRAMES "}"),
        SS_OK);
    assert_int_equal(samples_of("\xc3\xbc"
                                "ber\n"),
                     1);
    assert_int_equal(samples_of("main"), 2);
    assert_int_equal(model.samples.data[0].time_ns, 0);
    assert_int_equal(model.samples.data[1].time_ns, 3000000); /* its last tick */
    assert_true(model.threads.data[1].is_main);
}

/* Weights with nothing in common count ns. A sample holds at most 2^32 - 1 ticks. */
static void weights_are_exact(void **state)
{
    (void)state;
    assert_int_equal(load_text("{" SCHEMA FRAMES
                               ",\"profiles\":[{\"type\":\"sampled\",\"name\":\"x\",\"unit\":"
                               "\"nanoseconds\",\"samples\":[[0],[2],[1]],\"weights\":[6000000007,"
                               "11,13]}]}"),
                     SS_OK);
    assert_int_equal(samples_of("main"), 6000000007);
    assert_int_equal(samples_of("load"), 13);
    assert_int_equal(model.samples.count, 4);
    assert_int_equal(model.samples.data[1].time_ns, 6000000006);
    assert_int_equal(model.samples.data[3].time_ns, 6000000030);
    assert_true(model.inputs.data[0].rate_hz == 1e9);
}

static void units_without_time_are_weights(void **state)
{
    (void)state;
    static const char bytes[] =
        "{" SCHEMA FRAMES ",\"profiles\":[{\"type\":\"sampled\",\"name\":\"x\",\"unit\":\"bytes\","
        "\"samples\":[[0],[0,1]],\"weights\":[4096,1000000]},{\"type\":\"sampled\",\"name\":\"y\","
        "\"unit\":\"none\",\"samples\":[[0]],\"weights\":[1]}]}";
    assert_int_equal(load_text(bytes), SS_OK);
    assert_true(model.inputs.data[0].is_untimed);
    assert_string_equal(ss_model_text(&model, model.inputs.data[0].unit), "bytes");
    assert_int_equal(samples_of("load"), 1000000);
    assert_int_equal(samples_of("main"), 4096);
    assert_int_equal(model.inputs.data[0].skipped.events, 1); /* the other unit */
    struct ss_model_load load = {.quiet = true, .has_time_range = true, .to_ns = 5};
    assert_int_equal(load_with(bytes, sizeof bytes - 1, &load), SS_E_USAGE);
    assert_non_null(strstr(err.message, "has no times"));
    /* Fractions add up. */
    assert_int_equal(load_text("{" SCHEMA FRAMES ",\"profiles\":[{\"name\":\"y\",\"unit\":\"none\","
                               "\"samples\":[[0],[0],[0],[0]],\"weights\":[0.5,0.5,0.75,0.25]}]}"),
                     SS_OK);
    assert_int_equal(samples_of("main"), 2);
}

static void a_time_range_counts_from_the_first_sample(void **state)
{
    (void)state;
    static const char text[] =
        "{" SCHEMA FRAMES
        ",\"profiles\":[{\"name\":\"Thread 2\",\"unit\":\"seconds\",\"startValue\""
        ":8,\"samples\":[[1],[1]],\"weights\":[1,1]},{\"name\":\"Thread 1\",\"unit\":\"seconds\","
        "\"startValue\":5,\"samples\":[[0],[2]],\"weights\":[2,4]}]}";
    struct ss_model_load load = {
        .quiet = true, .has_time_range = true, .from_ns = 0, .to_ns = 4000000000};
    assert_int_equal(load_with(text, sizeof text - 1, &load), SS_OK);
    assert_int_equal(samples_of("main"), 2);
    assert_int_equal(samples_of("load"), 1);
    assert_int_equal(model.inputs.data[0].samples, 5);
    assert_int_equal(model.filtered_samples, 3);
    struct ss_model_load steps = {.quiet = true, .has_steps = true, .last_step = 3};
    assert_int_equal(load_with(text, sizeof text - 1, &steps), SS_E_USAGE);
}

/* --- evented ---------------------------------------------------------------------------------- */

#define EVENT(type, frame, at) "{\"type\":\"" type "\",\"frame\":" #frame ",\"at\":" #at "}"

static void events_are_samples_of_the_stack(void **state)
{
    (void)state;
    assert_int_equal(
        load_text(
            "{" SCHEMA FRAMES ",\"profiles\":[{\"type\":\"evented\",\"name\":\"x\",\"unit\":"
            "\"microseconds\",\"startValue\":0,\"endValue\":100,\"events\":"
            "[" EVENT("O", 0, 10) "," EVENT("O", 1, 12.5) "," EVENT("C", 1, 20) "," EVENT(
                "C", 2, 21) "," EVENT("O", 9, 22) "," EVENT("O", 1,
                                                            5) "," EVENT("O", 2,
                                                                         30) "," EVENT("O", 2,
                                                                                       40) "]}]"
                                                                                           "}"),
        SS_OK);
    assert_int_equal(model.inputs.data[0].samples, 180); /* of 0.5 us */
    assert_int_equal(samples_of("load"), 15);
    assert_int_equal(samples_of("main"), 5 + 20);
    assert_int_equal(model.stacks.data[model.samples.data[6].stack].depth, 3);
    assert_int_equal(model.inputs.data[0].skipped.events, 3);
    assert_string_equal(ss_model_text(&model, model.inputs.data[0].skipped.reason),
                        "an end without a begin");
    assert_int_equal(model.ranges.count, 0);
}

/* What stepscope exports comes back: threads as samples, ranges as ranges. */
static void events_of_stepscope_are_ranges(void **state)
{
    (void)state;
    assert_int_equal(
        load_text(
            "{" SCHEMA "\"exporter\":\"stepscope 1.0\",\"name\":\"python a.py\"," FRAMES
            ",\"profiles\":[{\"type\":\"sampled\",\"name\":\"Process 5 (rank 1) Thread 5 "
            "\\\"MainThread\\\"\",\"unit\":\"nanoseconds\",\"samples\":[[0]],\"weights\":[50]},"
            "{\"type\":\"evented\",\"name\":\"Process 5 (rank 1) Thread 5 \\\"MainThread\\\": "
            "torch "
            "(2)\",\"unit\":\"nanoseconds\",\"startValue\":3,\"endValue\":9,\"events\":[" EVENT(
                "O", 1,
                3) "," EVENT("O", 2,
                             4) "," EVENT("C", 2,
                                          5) "," EVENT("C", 1,
                                                       9) "]},{\"type\":\"evented\",\"name\":"
                                                          "\"Process 5 (rank 1) step\",\"unit\":"
                                                          "\"nanoseconds\",\"events\":[" EVENT(
                                                              "O", 0, 1) "," EVENT("C", 0,
                                                                                   2) "]}]}"),
        SS_OK);
    assert_int_equal(model.threads.count, 2);
    assert_string_equal(ss_model_text(&model, model.processes.data[1].label), "rank 1");
    assert_int_equal(model.inputs.data[0].samples, 1);
    assert_int_equal(model.ranges.count, 3);
    const struct ss_model_range *outer = &model.ranges.data[0];
    const struct ss_model_track *track = &model.tracks.data[outer->track];
    assert_string_equal(ss_model_text(&model, track->name), "torch (2)");
    assert_int_equal(track->thread, 1);
    assert_int_equal(outer->begin_ns, 3);
    assert_int_equal(outer->end_ns, 9);
    assert_int_equal(model.paths.data[model.ranges.data[1].path].depth, 2);
    assert_int_equal(model.tracks.data[model.ranges.data[2].track].thread, 0);
}

/* A range without an end keeps that it has none. */
static void an_open_range_of_stepscope_is_cut(void **state)
{
    (void)state;
    assert_int_equal(load_text("{" SCHEMA "\"exporter\":\"stepscope 1.0\"," FRAMES
                               ",\"profiles\":[{\"type\":\"evented\",\"name\":\"Process 5 step\","
                               "\"unit\":\"nanoseconds\",\"endValue\":9,\"events\":[" EVENT(
                                   "O", 0, 1) "," EVENT("C", 0, 2) "," EVENT("O", 1, 4) "]}]}"),
                     SS_OK);
    assert_int_equal(model.ranges.count, 2);
    assert_int_equal(model.ranges.data[0].flags, 0);
    assert_int_equal(model.ranges.data[1].end_ns, 9);
    assert_int_equal(model.ranges.data[1].flags, SS_RANGE_END_UNSEEN);
}

/* --- owners ----------------------------------------------------------------------------------- */

static void owners_come_from_names(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int32_t pid;
        int64_t tid;
        const char *thread;
    } cases[] = {
        {"Process 123 Thread 456 \"MainThread\"", 123, 456, "MainThread"},
        {"Thread 0x16DF7B000 \"a \"b\"\"", -1, 0x16df7b000, "a \"b\""},
        {"Thread (789)", -1, 789, ""},
        {"Process 7, thread 8: \"x\"", 7, 8, "x"},
        {"Process 9 (rank 0) steps", 9, -1, "steps"},
        {"CPU profile for 'a'", -1, -1, "CPU profile for 'a'"},
        {"Thread pool", -1, -1, "Thread pool"},
        {"Process 99999999999 Thread 99999999999999999999", -1, -1, "Thread 99999999999999999999"},
        {"", -1, -1, ""},
        {"Process ", -1, -1, "Process "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ss_speedscope_owner owner = ss_speedscope_owner_of(ss_strview_of(cases[i].name));
        assert_int_equal(owner.pid, cases[i].pid);
        assert_int_equal(owner.tid, cases[i].tid);
        assert_true(ss_strview_equal(owner.name, ss_strview_of(cases[i].thread)));
    }
}

/* --- damage ----------------------------------------------------------------------------------- */

static const char whole[] =
    "{" SCHEMA FRAMES
    ",\"activeProfileIndex\":1,\"profiles\":[{\"name\":\"a\",\"unit\":\"seconds\","
    "\"samples\":[[0],[0,1]],\"weights\":[1,2]},{\"name\":\"b\",\"unit\":\"seconds\",\"events\":"
    "[" EVENT("O", 0, 1) "," EVENT("C", 0, 4) "]}],\"x\":[[[{}]]]}";

static void a_cut_file_has_what_came_before(void **state)
{
    (void)state;
    uint64_t before = 0;
    for (size_t length = 0; length < sizeof whole - 1; length++) {
        struct ss_model_load load = {.quiet = true};
        enum ss_status status = load_with(whole, length, &load);
        assert_true(status == SS_OK || status == SS_E_FORMAT);
        uint64_t samples = status == SS_OK ? model.inputs.data[0].samples : 0;
        assert_true(status != SS_OK || model.inputs.data[0].skipped.is_cut);
        assert_true(samples >= before || samples == 0 || samples == 3);
        before = samples;
    }
    assert_int_equal(load_text(whole), SS_OK);
    assert_int_equal(model.inputs.data[0].samples, 6);
    assert_false(model.inputs.data[0].skipped.is_cut);
}

static void unreadable_samples_are_counted(void **state)
{
    (void)state;
    assert_int_equal(load_text("{" SCHEMA FRAMES
                               ",\"profiles\":[7,{\"name\":\"x\",\"unit\":\"seconds\",\"samples\":"
                               "[[0],[3],[-1],\"0\",[0],[0],[0,[1]],[0],[0]],\"weights\":[1,1,1,1,"
                               "-1,null,1,1]}]}"),
                     SS_OK);
    assert_int_equal(model.inputs.data[0].samples, 2);
    assert_int_equal(model.inputs.data[0].skipped.events, 8);
    assert_string_equal(ss_model_text(&model, model.inputs.data[0].skipped.reason), "no profile");
}

static void hostile_files_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum ss_status status;
        const char *message;
    } cases[] = {
        {"{" SCHEMA "\"profiles\":[{\"samples\":[[0]],\"weights\":[1]}]}", SS_E_FORMAT,
         "a frame that the file lacks"},
        {"{" SCHEMA "\"profiles\":[{\"samples\":[[0]],\"weights\":[1]}", SS_E_FORMAT,
         "ends before the frames"},
        {"{" SCHEMA "\"profiles\":[]}", SS_E_FORMAT, "without a profile"},
        {"{" SCHEMA FRAMES ",\"profiles\":[{\"unit\":\"seconds\",\"samples\":[[0]],\"weights\":"
         "[1e300]}]}",
         SS_E_FORMAT, "without a readable weight"},
        {"{" SCHEMA FRAMES ",\"profiles\":[{\"unit\":\"nanoseconds\",\"samples\":[[0],[0],[0]],"
         "\"startValue\":-9000000000000000000,\"weights\":[9000000000000000000,9000000000000000000,"
         "9000000000000000000]}]}",
         SS_E_LIMIT, "more than 2^63"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(load_text(cases[i].text), cases[i].status);
        assert_non_null(strstr(err.message, cases[i].message));
    }
}

/* A year in one sample of odd ns: ticks are longer than 1 ns then. */
static void long_times_are_rounded(void **state)
{
    (void)state;
    assert_int_equal(load_text("{" SCHEMA FRAMES
                               ",\"profiles\":[{\"unit\":\"nanoseconds\",\"samples\":[[0],[1]],"
                               "\"weights\":[31536000000000007,1]}]}"),
                     SS_OK);
    double ns = (double)samples_of("main") * 1e9 / model.inputs.data[0].rate_hz;
    assert_true(ns > 31536000000000000.0 && ns < 31536000000000010.0);
}

static void append_times(struct ss_strbuf *out, char c, int times)
{
    for (int i = 0; i < times; i++) {
        ss_strbuf_append_char(out, c);
    }
}

static void deep_stacks_are_read(void **state)
{
    (void)state;
    enum { DEPTH = 20000 };
    struct ss_strbuf text;
    ss_strbuf_init(&text, 16 * DEPTH);
    ss_strbuf_append_text(&text, "{" SCHEMA FRAMES ",\"y\":");
    append_times(&text, '[', DEPTH);
    append_times(&text, ']', DEPTH);
    ss_strbuf_append_text(&text, ",\"profiles\":[{\"name\":\"x\",\"unit\":\"seconds\","
                                 "\"weights\":[1],\"samples\":[[0");
    for (int i = 1; i < DEPTH; i++) {
        ss_strbuf_append_format(&text, ",%d", i % 3);
    }
    ss_strbuf_append_text(&text, "]]}]}");
    assert_int_equal(load_text(text.data), SS_OK);
    assert_int_equal(model.stacks.data[model.totals.data[0].stack].depth, DEPTH);
    ss_strbuf_fini(&text);
}

static int fini(void **state)
{
    (void)state;
    ss_model_fini(&model);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fixed_rate_is_one_tick_each),
        cmocka_unit_test(the_unit_may_come_last),
        cmocka_unit_test(weights_are_exact),
        cmocka_unit_test(units_without_time_are_weights),
        cmocka_unit_test(a_time_range_counts_from_the_first_sample),
        cmocka_unit_test(events_are_samples_of_the_stack),
        cmocka_unit_test(events_of_stepscope_are_ranges),
        cmocka_unit_test(an_open_range_of_stepscope_is_cut),
        cmocka_unit_test(owners_come_from_names),
        cmocka_unit_test(a_cut_file_has_what_came_before),
        cmocka_unit_test(unreadable_samples_are_counted),
        cmocka_unit_test(hostile_files_are_refused),
        cmocka_unit_test(long_times_are_rounded),
        cmocka_unit_test(deep_stacks_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, fini);
}
