/* SPDX-License-Identifier: Apache-2.0 */
#include <stepscope/reader.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "trace/writer.h"
#include "trace/writer_entities.h"

static char path[256];

static struct ss_strview view(const char *text)
{
    return ss_strview_of(text);
}

/* Two threads, main -> work (twice), 100 samples. */
static int write_recording(void **state)
{
    (void)state;
    const char *folder = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/stepscope-reader-%d.pftrace", folder != NULL ? folder : "/tmp",
             (int)getpid());
    struct ss_trace_writer_options options = {.size = sizeof options, .path = path};
    struct ss_trace_writer *writer;
    struct ss_error err;
    if (ss_trace_writer_open(&options, &writer, &err) != SS_OK) {
        print_message("%s\n", err.message);
        return 1;
    }
    struct ss_trace_attribute command = {.key = view("command"), .text = view("python t.py")};
    struct ss_trace_attribute rate = {.key = view("rate_hz"), .is_integer = true, .integer = 100};
    struct ss_trace_source source = {
        .ref = 1, .name = view("python"), .status = SS_SOURCE_RAN, .reason = view("")};
    struct ss_trace_process process = {.ref = 1,
                                       .pid = 42,
                                       .name = view("t.py"),
                                       .cmdline = view("python t.py"),
                                       .runtime = view("CPython 3.11.7"),
                                       .start_time_ticks = 7};
    struct ss_trace_thread main_thread = {
        .ref = 1, .process_ref = 1, .tid = 42, .is_main = true, .name = view("MainThread")};
    struct ss_trace_thread other = {.ref = 2, .process_ref = 1, .tid = 43, .name = view("w")};
    struct ss_trace_frame outer = {.ref = 1,
                                   .function = view("<module>"),
                                   .name = view("<module>"),
                                   .file = view("/code/pack/t.py"),
                                   .short_file_offset = 6,
                                   .line = 3,
                                   .kind = SS_FRAME_INTERPRETED};
    struct ss_trace_frame inner = {.ref = 2,
                                   .function = view("Net.work"),
                                   .name = view("work"),
                                   .file = view("/code/pack/t.py"),
                                   .short_file_offset = 6,
                                   .line = 9,
                                   .first_line = 8,
                                   .kind = SS_FRAME_INTERPRETED};
    struct ss_trace_stack base = {1, 0, 1}, top = {2, 1, 2};
    int failed = ss_trace_writer_attribute(writer, &command, NULL) != SS_OK ||
                 ss_trace_writer_attribute(writer, &rate, NULL) != SS_OK ||
                 ss_trace_writer_source(writer, &source, NULL) != SS_OK ||
                 ss_trace_writer_process(writer, &process, NULL) != SS_OK ||
                 ss_trace_writer_thread(writer, &main_thread, NULL) != SS_OK ||
                 ss_trace_writer_thread(writer, &other, NULL) != SS_OK ||
                 ss_trace_writer_frame(writer, &outer, NULL) != SS_OK ||
                 ss_trace_writer_frame(writer, &inner, NULL) != SS_OK ||
                 ss_trace_writer_stack(writer, &base, NULL) != SS_OK ||
                 ss_trace_writer_stack(writer, &top, NULL) != SS_OK;
    for (uint64_t i = 0; i < 100; i++) {
        struct ss_trace_sample sample = {.time_ns = 1000000000 + i * 10000000,
                                         .thread_ref = 1 + (uint32_t)(i % 4 == 3),
                                         .stack_ref = 1 + (uint32_t)(i % 2),
                                         .weight = i == 0 ? 5 : 1,
                                         .state = SS_STATE_ON_CPU,
                                         .gil = SS_GIL_HELD,
                                         .partial = i == 9,
                                         .step = -1};
        failed = failed || ss_trace_writer_sample(writer, &sample, NULL) != SS_OK;
    }
    struct ss_trace_counts counts = {.source_ref = 1,
                                     .process_ref = 0,
                                     .time_ns = 2000000000,
                                     .due = 110,
                                     .done = 104,
                                     .skipped = 6,
                                     .seen = 104,
                                     .ok = 103,
                                     .partial = 1};
    failed = failed || ss_trace_writer_counts(writer, &counts, NULL) != SS_OK;
    return ss_trace_writer_close(writer, &err) != SS_OK || failed;
}

static int remove_recording(void **state)
{
    (void)state;
    return unlink(path);
}

struct seen {
    uint64_t samples, ticks, partial, stop_after;
    uint64_t last_ns;
    int ordered;
};

static int visit_sample(void *context, const stepscope_sample *sample)
{
    struct seen *seen = context;
    seen->samples++;
    seen->ticks += sample->weight;
    seen->partial += sample->partial != 0;
    seen->ordered = seen->ordered && sample->time_ns >= seen->last_ns;
    seen->last_ns = sample->time_ns;
    return seen->samples == seen->stop_after;
}

static void test_definitions(void **state)
{
    (void)state;
    stepscope_reader *reader;
    stepscope_error error;
    assert_int_equal(stepscope_reader_open(path, &reader, &error), STEPSCOPE_OK);
    assert_int_equal(stepscope_reader_process_count(reader), 1);
    assert_int_equal(stepscope_reader_thread_count(reader), 2);
    const stepscope_process *process = stepscope_reader_process(reader, 1);
    assert_int_equal(process->pid, 42);
    assert_string_equal(process->runtime, "CPython 3.11.7");
    assert_null(stepscope_reader_process(reader, 0));
    assert_null(stepscope_reader_process(reader, 2));
    assert_null(stepscope_reader_frame(reader, UINT32_MAX));
    assert_string_equal(stepscope_reader_find_attribute(reader, "command"), "python t.py");
    assert_string_equal(stepscope_reader_find_attribute(reader, "rate_hz"), "100");
    assert_null(stepscope_reader_find_attribute(reader, "no such key"));
    size_t attributes = 0;
    while (stepscope_reader_attribute(reader, attributes) != NULL) {
        attributes++;
    }
    assert_true(attributes >= 2);
    int found = 0;
    for (uint32_t ref = 1; ref <= stepscope_reader_stack_count(reader); ref++) {
        const stepscope_stack *stack = stepscope_reader_stack(reader, ref);
        const stepscope_frame *frame = stepscope_reader_frame(reader, stack->frame_ref);
        if (strcmp(frame->name, "work") == 0) {
            assert_string_equal(frame->function, "Net.work");
            assert_string_equal(frame->file, "/code/pack/t.py");
            assert_string_equal(frame->short_file, "pack/t.py");
            assert_int_equal(frame->line, 9);
            assert_true(stack->parent_ref != 0 && stack->parent_ref < ref);
            found++;
        }
    }
    assert_int_equal(found, 1);
    stepscope_reader_close(reader);
}

static void test_samples_and_counts(void **state)
{
    (void)state;
    stepscope_reader *reader;
    assert_int_equal(stepscope_reader_open(path, &reader, NULL), STEPSCOPE_OK);
    const stepscope_summary *summary = stepscope_reader_summary(reader);
    assert_int_equal(summary->samples, 100);
    assert_int_equal(summary->first_ns, 1000000000);
    assert_int_equal(summary->last_ns, 1990000000);
    assert_int_equal(summary->lost_bytes, 0);
    assert_true(summary->sealed);
    struct seen seen = {.ordered = 1};
    assert_int_equal(stepscope_reader_each_sample(reader, visit_sample, &seen, NULL), STEPSCOPE_OK);
    assert_int_equal(seen.samples, 100);
    assert_int_equal(seen.ticks, 104);
    assert_int_equal(seen.partial, 1);
    assert_true(seen.ordered);
    struct seen few = {.stop_after = 7};
    assert_int_equal(stepscope_reader_each_sample(reader, visit_sample, &few, NULL), STEPSCOPE_OK);
    assert_int_equal(few.samples, 7);
    const stepscope_counts *counts = stepscope_reader_counts(reader, 0);
    assert_string_equal(counts->source, "python");
    assert_int_equal(counts->due, counts->done + counts->skipped);
    assert_int_equal(counts->ok, 103);
    assert_null(stepscope_reader_counts(reader, 1));
    stepscope_reader_close(reader);
}

static void test_cut_anywhere_never_breaks(void **state)
{
    (void)state;
    FILE *file = fopen(path, "rb");
    static char bytes[1 << 16];
    size_t length = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    char cut[300];
    snprintf(cut, sizeof cut, "%s.cut", path);
    for (size_t keep = 0; keep < length; keep += 1 + keep / 16) {
        file = fopen(cut, "wb");
        assert_int_equal(fwrite(bytes, 1, keep, file), keep);
        fclose(file);
        stepscope_reader *reader;
        stepscope_error error = {""};
        stepscope_status status = stepscope_reader_open(cut, &reader, &error);
        if (status != STEPSCOPE_OK) {
            assert_int_equal(status, STEPSCOPE_E_DATA);
            assert_true(strlen(error.message) > 0);
            assert_null(reader);
        } else {
            struct seen seen = {.ordered = 1};
            assert_false(stepscope_reader_summary(reader)->sealed);
            stepscope_reader_each_sample(reader, visit_sample, &seen, NULL);
            assert_true(seen.samples <= 100);
        }
        stepscope_reader_close(reader);
    }
    unlink(cut);
}

static void test_errors(void **state)
{
    (void)state;
    stepscope_reader *reader = (stepscope_reader *)1;
    stepscope_error error;
    assert_int_equal(stepscope_reader_open("/no/such/file", &reader, &error), STEPSCOPE_E_SYSTEM);
    assert_null(reader);
    assert_non_null(strstr(error.message, "/no/such/file"));
    assert_int_equal(stepscope_reader_open(NULL, &reader, &error), STEPSCOPE_E_USAGE);
    stepscope_reader_close(NULL);
    assert_true(strlen(stepscope_reader_version()) >= 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_definitions),
        cmocka_unit_test(test_samples_and_counts),
        cmocka_unit_test(test_cut_anywhere_never_breaks),
        cmocka_unit_test(test_errors),
    };
    return cmocka_run_group_tests(tests, write_recording, remove_recording);
}
