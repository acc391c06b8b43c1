/* SPDX-License-Identifier: Apache-2.0 */
/* The overhead of recordings with known costs, and of recordings without. */
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
#include "analysis/samples/overhead.h"
#include "trace/writer_tracks.h"

#define START RECORDING_START

/* recording_define: threads 1 and 3 are of process 2, thread 2 of process 1. */
enum { OPERATORS = 1, FEWER, OTHERS, NAME };

static struct ss_trace_writer *writer;

static void put_track(uint32_t ref, uint32_t thread, const char *name)
{
    PUT(track, writer, .ref = ref, .kind = SS_TRACK_RANGES, .thread_ref = thread,
        .name = ss_strview_of(name));
}

static void put_ranges(uint32_t track, uint64_t from_ns, uint64_t to_ns, uint64_t count)
{
    uint64_t each_ns = (to_ns - from_ns) / count;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t begin_ns = START + from_ns + i * each_ns;
        PUT(event, writer, .time_ns = begin_ns, .track_ref = track, .name_ref = NAME);
        PUT(event, writer, .time_ns = begin_ns + each_ns, .track_ref = track, .kind = SS_EVENT_END);
    }
}

static void put_note(uint64_t at_ns, uint32_t process, const char *kind, const char *text,
                     int64_t value)
{
    PUT(note, writer, .time_ns = START + at_ns, .process_ref = process, .kind = ss_strview_of(kind),
        .text = ss_strview_of(text), .value = value);
}

/* 1,000 operators in 10 ms of one thread, 10 in 1 ms of another, and 5,000 ranges of no operators.
 */
static const char *begin_recording(const char *name)
{
    const char *path = recording_path(name);
    writer = recording_open(path);
    put_track(OPERATORS, 1, "torch");
    put_track(FEWER, 2, "torch");
    put_track(OTHERS, 3, "torch.module");
    PUT(name, writer, .ref = NAME, .text = ss_strview_of("aten::mm"));
    put_ranges(OPERATORS, 1000000, 11000000, 1000);
    put_ranges(FEWER, 1000000, 2000000, 10);
    put_ranges(OTHERS, 1000000, 11000000, 5000);
    return path;
}

static void end_recording(const char *path, struct ss_model *model, struct ss_overhead *overhead)
{
    struct ss_model_load load = {.size = sizeof load};
    MUST(ss_trace_writer_close(writer, must_err));
    ss_model_init(model);
    MUST(ss_model_add_input(model, path, &load, must_err));
    unlink(path);
    assert_int_equal(model->inputs.count, 1);
    ss_overheads_init(overhead, model);
}

static void test_costs_add_up(void **state)
{
    struct ss_model model;
    struct ss_overhead overhead;
    (void)state;
    const char *path = begin_recording("overhead");
    put_note(2000000, 2, "fact", "torch.operator_ns = 200", 200);
    put_note(2000000, 1, "fact", "torch.operator_ns = 9000", 9000);
    put_note(2000000, 2, "fact", "torch.hooks_ppm = 90000", 90000);
    put_note(3000000, 2, "fact", "torch.hooks_ppm = 25000", 25000);
    put_note(3000000, 2, "fact", "torch.hooks_ns = 12500", 12500);
    put_note(3000000, 1, "fact", "torch.hooks_ppm = 400", 400);
    put_note(3000000, 1, "fact", "torch.hooks_ns = 99999", 99999);
    put_note(101000000, 0, "recorder-cpu", "", 3000000);
    put_note(101000000, 0, "recorder-memory", "", 7 << 20);
    end_recording(path, &model, &overhead);
    assert_int_equal(overhead.span_ns, 100000000);
    assert_int_equal(overhead.recorder_cpu_ns, 3000000);
    assert_int_equal(overhead.recorder_bytes, 7 << 20);
    assert_int_equal(overhead.operators, 1000);
    assert_int_equal(overhead.operator_ns, 200);
    assert_int_equal(overhead.thread_ns, 10000000);
    assert_float_equal(ss_overhead_recorder_share(&overhead), 0.03, 1e-9);
    assert_float_equal(ss_overhead_operators_share(&overhead), 0.02, 1e-9);
    assert_int_equal(overhead.hooks_ns, 12500);
    assert_float_equal(ss_overhead_hooks_share(&overhead), 0.025, 1e-9);
    assert_float_equal(ss_overhead_share(&overhead), 0.045, 1e-9);
    ss_model_fini(&model);
}

/* A recorder that was killed, an older one, one that lies. */
static void test_nothing_known(void **state)
{
    struct ss_model model;
    struct ss_overhead overhead;
    (void)state;
    const char *path = begin_recording("no-overhead");
    put_note(2000000, 2, "fact", "torch.operator_ns = -200", -200);
    put_note(2000000, 2, "fact", "torch.hooks_ppm = -7", -7);
    put_note(2000000, 1, "fact", "torch.hooks_ppm = 1000001", 1000001);
    put_note(0, 0, "recorder-cpu", "", INT64_MIN);
    put_note(0, 0, "recorder-memory", "", -1);
    end_recording(path, &model, &overhead);
    struct ss_overhead none = {0};
    assert_memory_equal(&overhead, &none, sizeof none);
    assert_float_equal(ss_overhead_share(&overhead), 0, 0);
    ss_model_fini(&model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_costs_add_up),
                                       cmocka_unit_test(test_nothing_known)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
