/* SPDX-License-Identifier: Apache-2.0 */
/* Perfetto traces of other programs, encoded here field by field. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "model/files/importer.h"
#include "wire/deflate.h"
#include "wire/perfetto.h"

static struct ss_model model;
static struct ss_error err;
static struct ss_wire_buffer trace;

/* --- writing ---------------------------------------------------------------------------------- */

struct written {
    uint64_t flags, time, clock; /* 0: absent */
};

static size_t begin_packet(struct written how)
{
    size_t packet = ss_wire_begin(&trace, SS_PF_TRACE_PACKET);
    ss_wire_put_uint(&trace, SS_PF_SEQUENCE_ID, 5);
    ss_wire_put_nonzero(&trace, SS_PF_SEQUENCE_FLAGS, how.flags);
    ss_wire_put_nonzero(&trace, SS_PF_TIMESTAMP, how.time);
    ss_wire_put_nonzero(&trace, SS_PF_TIMESTAMP_CLOCK_ID, how.clock);
    return packet;
}

static void put_text(uint32_t number, uint64_t iid, const char *text)
{
    size_t entry = ss_wire_begin(&trace, number);
    ss_wire_put_uint(&trace, SS_PF_IID, iid);
    ss_wire_put_text(&trace, SS_PF_STRING_BYTES, text);
    ss_wire_end(&trace, entry);
}

static void put_clock(uint64_t id, uint64_t time, bool is_incremental, uint64_t multiplier)
{
    size_t clock = ss_wire_begin(&trace, SS_PF_CLOCKS);
    ss_wire_put_uint(&trace, SS_PF_CLOCK_ID, id);
    ss_wire_put_uint(&trace, SS_PF_CLOCK_TIME, time);
    ss_wire_put_nonzero(&trace, SS_PF_CLOCK_INCREMENTAL, is_incremental);
    ss_wire_put_nonzero(&trace, SS_PF_CLOCK_MULTIPLIER, multiplier);
    ss_wire_end(&trace, clock);
}

static void put_thread(uint64_t uuid, uint64_t parent, uint64_t pid, uint64_t tid, const char *name)
{
    size_t packet = begin_packet((struct written){0});
    size_t track = ss_wire_begin(&trace, SS_PF_TRACK_DESCRIPTOR);
    ss_wire_put_uint(&trace, SS_PF_TRACK_UUID, uuid);
    ss_wire_put_nonzero(&trace, SS_PF_TRACK_PARENT, parent);
    size_t thread = ss_wire_begin(&trace, SS_PF_TRACK_THREAD);
    ss_wire_put_uint(&trace, SS_PF_THREAD_PID, pid);
    ss_wire_put_uint(&trace, SS_PF_THREAD_TID, tid);
    ss_wire_put_text(&trace, SS_PF_THREAD_NAME, name);
    ss_wire_end(&trace, thread);
    ss_wire_end(&trace, track);
    ss_wire_end(&trace, packet);
}

static void put_named_track(uint64_t uuid, uint64_t parent, const char *name, bool is_counter)
{
    size_t packet = begin_packet((struct written){0});
    size_t track = ss_wire_begin(&trace, SS_PF_TRACK_DESCRIPTOR);
    ss_wire_put_uint(&trace, SS_PF_TRACK_UUID, uuid);
    ss_wire_put_nonzero(&trace, SS_PF_TRACK_PARENT, parent);
    ss_wire_put_text(&trace, SS_PF_TRACK_NAME, name);
    if (is_counter) {
        size_t counter = ss_wire_begin(&trace, SS_PF_TRACK_COUNTER);
        ss_wire_put_uint(&trace, SS_PF_TRACK_COUNTER_UNIT, SS_PF_TRACK_UNIT_BYTES);
        ss_wire_put_uint(&trace, SS_PF_TRACK_COUNTER_MULTIPLIER, 1024);
        ss_wire_put_uint(&trace, SS_PF_TRACK_COUNTER_INCREMENTAL, 1);
        ss_wire_end(&trace, counter);
    }
    ss_wire_end(&trace, track);
    ss_wire_end(&trace, packet);
}

/* An event of a type; `name` NULL: none. */
static void put_event(uint64_t time, uint64_t type, uint64_t track, const char *name)
{
    size_t packet = begin_packet((struct written){.time = time});
    size_t event = ss_wire_begin(&trace, SS_PF_TRACK_EVENT);
    ss_wire_put_uint(&trace, SS_PF_EVENT_TYPE, type);
    ss_wire_put_nonzero(&trace, SS_PF_EVENT_TRACK, track);
    if (name != NULL) {
        ss_wire_put_text(&trace, SS_PF_EVENT_NAME, name);
    }
    ss_wire_end(&trace, event);
    ss_wire_end(&trace, packet);
}

static void put_counter(uint64_t time, uint64_t track, int64_t value)
{
    size_t packet = begin_packet((struct written){.time = time});
    size_t event = ss_wire_begin(&trace, SS_PF_TRACK_EVENT);
    ss_wire_put_uint(&trace, SS_PF_EVENT_TYPE, SS_PF_EVENT_COUNTER);
    ss_wire_put_uint(&trace, SS_PF_EVENT_TRACK, track);
    ss_wire_put_uint(&trace, SS_PF_EVENT_COUNTER_VALUE, (uint64_t)value);
    ss_wire_end(&trace, event);
    ss_wire_end(&trace, packet);
}

/* An event of an old trace. */
struct old {
    uint64_t time;
    char phase;
    const char *name;
    uint64_t id, duration_us, tid, value; /* 0: absent */
};

static void put_old(struct old old)
{
    size_t packet = begin_packet((struct written){.time = old.time});
    size_t event = ss_wire_begin(&trace, SS_PF_TRACK_EVENT);
    ss_wire_put_text(&trace, SS_PF_EVENT_NAME, old.name);
    ss_wire_put_text(&trace, SS_PF_EVENT_CATEGORY_TEXTS, "cat");
    if (old.value != 0) {
        size_t annotation = ss_wire_begin(&trace, SS_PF_EVENT_ANNOTATIONS);
        ss_wire_put_text(&trace, SS_PF_ANNOTATION_NAME, "used");
        ss_wire_put_uint(&trace, SS_PF_ANNOTATION_INT, old.value);
        ss_wire_end(&trace, annotation);
    }
    size_t legacy = ss_wire_begin(&trace, SS_PF_EVENT_LEGACY);
    ss_wire_put_uint(&trace, SS_PF_LEGACY_PHASE, (uint64_t)old.phase);
    ss_wire_put_nonzero(&trace, SS_PF_LEGACY_DURATION_US, old.duration_us);
    ss_wire_put_nonzero(&trace, SS_PF_LEGACY_UNSCOPED_ID, old.id);
    if (old.tid != 0) {
        ss_wire_put_uint(&trace, SS_PF_LEGACY_PID_OVERRIDE, 70);
        ss_wire_put_uint(&trace, SS_PF_LEGACY_TID_OVERRIDE, old.tid);
    }
    ss_wire_end(&trace, legacy);
    ss_wire_end(&trace, event);
    ss_wire_end(&trace, packet);
}

/* --- reading ---------------------------------------------------------------------------------- */

static enum ss_status load_bytes(const void *bytes, size_t length)
{
    struct ss_import_file file = {.path = "t", .head = bytes, .head_length = length, .fd = -1};
    struct ss_model_load load = {.size = sizeof load, .quiet = true, .keep_samples = true};
    err = (struct ss_error){0};
    ss_model_fini(&model);
    ss_model_init(&model);
    return ss_importer_perfetto.load(&model, &file, &load, &err);
}

static enum ss_status load_trace(void)
{
    return load_bytes(trace.data, trace.length);
}

static const char *range_name(size_t index)
{
    const struct ss_model_range *range = &model.ranges.data[index];
    return ss_model_text(&model, model.names.data[model.paths.data[range->path].name].text);
}

static void assert_range(size_t index, const char *name, uint64_t begin_ns, uint64_t end_ns)
{
    assert_true(index < model.ranges.count);
    assert_string_equal(range_name(index), name);
    assert_int_equal(model.ranges.data[index].begin_ns, begin_ns);
    assert_int_equal(model.ranges.data[index].end_ns, end_ns);
}

static const struct ss_model_skipped *skipped(void)
{
    return &model.inputs.data[0].skipped;
}

static const char *skip_reason(void)
{
    return ss_model_text(&model, skipped()->reason);
}

/* --- events ----------------------------------------------------------------------------------- */

static void ranges_lie_on_tracks_of_threads(void **state)
{
    (void)state;
    put_event(100, SS_PF_EVENT_SLICE_BEGIN, 11, "outer"); /* before its track is described */
    put_thread(11, 0, 70, 70, "main");
    put_thread(12, 0, 70, 71, "worker");
    put_named_track(13, 12, "tasks", false); /* of the thread */
    put_event(150, SS_PF_EVENT_SLICE_BEGIN, 11, "inner");
    put_event(120, SS_PF_EVENT_INSTANT, 12, "mark");
    put_event(180, SS_PF_EVENT_SLICE_END, 11, NULL);
    put_event(300, SS_PF_EVENT_SLICE_END, 11, NULL);
    put_event(200, SS_PF_EVENT_SLICE_BEGIN, 13, "task");
    put_event(190, SS_PF_EVENT_SLICE_BEGIN, 12, "open");
    assert_int_equal(load_trace(), SS_OK);
    assert_int_equal(model.ranges.count, 4);
    assert_range(0, "outer", 100, 300);
    assert_range(1, "inner", 150, 180);
    assert_int_equal(model.paths.data[model.ranges.data[1].path].depth, 2);
    assert_int_equal(model.marks.count, 1);
    assert_int_equal(model.open_ranges, 2);
    assert_int_equal(model.processes.count, 2);
    const struct ss_model_track *track = &model.tracks.data[model.ranges.data[0].track];
    assert_int_equal(model.threads.data[track->thread].tid, 70);
    assert_true(model.threads.data[track->thread].is_main);
    for (size_t i = 2; i < 4; i++) {
        track = &model.tracks.data[model.ranges.data[i].track];
        bool is_task = strcmp(range_name(i), "task") == 0;
        assert_int_equal(model.threads.data[track->thread].tid, 71);
        assert_string_equal(ss_model_text(&model, track->name), is_task ? "tasks" : "");
    }
    assert_int_equal(model.inputs.data[0].summary.events, 7);
    assert_int_equal(skipped()->events, 0);
}

static void counters_have_units(void **state)
{
    (void)state;
    put_named_track(20, 0, "memory", true);
    put_counter(10, 20, 4);
    put_counter(20, 20, -1);
    put_counter(30, 20, INT64_MAX); /* beyond 63 bits: as a real number */
    assert_int_equal(load_trace(), SS_OK);
    assert_int_equal(model.values.count, 3);
    assert_int_equal(model.values.data[0].integer, 4096);
    assert_int_equal(model.values.data[1].integer, 3072);
    assert_false(model.values.data[2].is_integer);
    const struct ss_model_track *track = &model.tracks.data[model.values.data[0].track];
    assert_int_equal(track->kind, SS_TRACK_COUNTER);
    assert_string_equal(ss_model_text(&model, track->unit), "bytes");
}

/* --- state of sequences ----------------------------------------------------------------------- */

/* A begin and an end whose name and category are interned. */
static void put_interned(uint64_t time, uint64_t flags, bool defines)
{
    size_t packet = begin_packet((struct written){.flags = flags, .time = time});
    if (defines) {
        size_t interned = ss_wire_begin(&trace, SS_PF_INTERNED_DATA);
        put_text(SS_PF_EVENT_NAMES, 3, "known");
        put_text(SS_PF_EVENT_CATEGORIES, 4, "kind");
        ss_wire_end(&trace, interned);
    }
    size_t event = ss_wire_begin(&trace, SS_PF_TRACK_EVENT);
    ss_wire_put_uint(&trace, SS_PF_EVENT_TYPE, SS_PF_EVENT_INSTANT);
    ss_wire_put_uint(&trace, SS_PF_EVENT_NAME_IID, 3);
    ss_wire_put_uint(&trace, SS_PF_EVENT_CATEGORY_IIDS, 4);
    ss_wire_put_fixed64(&trace, SS_PF_EVENT_FLOW_IDS, 99);
    ss_wire_put_fixed64(&trace, SS_PF_EVENT_TERMINATING_FLOW_IDS, 98);
    size_t annotation = ss_wire_begin(&trace, SS_PF_EVENT_ANNOTATIONS);
    ss_wire_put_text(&trace, SS_PF_ANNOTATION_NAME, "bytes");
    ss_wire_put_uint(&trace, SS_PF_ANNOTATION_UINT, 4096);
    ss_wire_end(&trace, annotation);
    ss_wire_end(&trace, event);
    ss_wire_end(&trace, packet);
}

static void names_are_those_of_the_state(void **state)
{
    (void)state;
    put_interned(5, SS_PF_NEEDS_STATE, false); /* its start was overwritten */
    put_interned(10, SS_PF_STATE_CLEARED | SS_PF_NEEDS_STATE, true);
    put_interned(20, SS_PF_NEEDS_STATE, false);
    size_t packet = begin_packet((struct written){0});
    ss_wire_put_uint(&trace, SS_PF_PREVIOUS_PACKET_DROPPED, 1);
    ss_wire_end(&trace, packet);
    put_interned(30, SS_PF_NEEDS_STATE, false);
    put_interned(40, SS_PF_STATE_CLEARED, false); /* the name is gone */
    assert_int_equal(load_trace(), SS_OK);
    assert_int_equal(model.marks.count, 3);
    const struct ss_model_name *name = &model.names.data[model.marks.data[1].name];
    assert_string_equal(ss_model_text(&model, name->text), "known");
    assert_string_equal(ss_model_text(&model, name->category), "kind");
    name = &model.names.data[model.marks.data[2].name];
    assert_string_equal(ss_model_text(&model, name->text), "(no name)");
    assert_int_equal(skipped()->events, 3);
    assert_string_equal(skip_reason(), "an event whose names were lost");
    assert_int_equal(model.flows.count, 6);
    assert_int_equal(model.flows.data[0].id, 99);
    assert_true(model.flows.data[1].is_end);
    const struct ss_model_field *field =
        ss_model_field_of(&model, model.marks.data[0].payload, SS_EVENT_FIELD_bytes);
    assert_non_null(field);
    assert_int_equal(field->integer, 4096);
}

static void clocks_become_one(void **state)
{
    (void)state;
    size_t packet = begin_packet((struct written){.flags = SS_PF_STATE_CLEARED});
    size_t snapshot = ss_wire_begin(&trace, SS_PF_CLOCK_SNAPSHOT);
    put_clock(SS_PF_BOOTTIME, 5000000, false, 0);
    put_clock(SS_PF_MONOTONIC, 1000000, false, 0);
    put_clock(SS_PF_REALTIME, 1700000005000000000, false, 0);
    put_clock(70, 1000, true, 1000); /* of the sequence, in us, incremental */
    ss_wire_end(&trace, snapshot);
    size_t defaults = ss_wire_begin(&trace, SS_PF_PACKET_DEFAULTS);
    ss_wire_put_uint(&trace, SS_PF_DEFAULT_CLOCK_ID, 70);
    ss_wire_end(&trace, defaults);
    ss_wire_end(&trace, packet);
    put_event(3, SS_PF_EVENT_INSTANT, 1, "a"); /* 1003 us, and so on */
    put_event(4, SS_PF_EVENT_INSTANT, 1, "b");
    packet = begin_packet((struct written){.time = 1000500, .clock = SS_PF_MONOTONIC});
    size_t event = ss_wire_begin(&trace, SS_PF_TRACK_EVENT);
    ss_wire_put_uint(&trace, SS_PF_EVENT_TYPE, SS_PF_EVENT_INSTANT);
    ss_wire_end(&trace, event);
    ss_wire_end(&trace, packet);
    packet = begin_packet((struct written){.time = 7, .clock = 71}); /* not defined */
    event = ss_wire_begin(&trace, SS_PF_TRACK_EVENT);
    ss_wire_put_uint(&trace, SS_PF_EVENT_TYPE, SS_PF_EVENT_INSTANT);
    ss_wire_end(&trace, event);
    ss_wire_end(&trace, packet);
    assert_int_equal(load_trace(), SS_OK);
    const uint64_t wall_ns = 1700000000000000000 - 5000000 + 5000000000;
    assert_int_equal(model.marks.count, 3);
    assert_int_equal(model.marks.data[0].time_ns, wall_ns + 5003000);
    assert_int_equal(model.marks.data[1].time_ns, wall_ns + 5007000);
    assert_int_equal(model.marks.data[2].time_ns, wall_ns + 5000500);
    assert_int_equal(skipped()->events, 1);
    assert_non_null(strstr(skip_reason(), "a clock that is not defined"));
}

/* --- old traces ------------------------------------------------------------------------------- */

static void phases_are_read(void **state)
{
    (void)state;
    size_t packet = begin_packet((struct written){0});
    size_t thread = ss_wire_begin(&trace, SS_PF_THREAD_DESCRIPTOR);
    ss_wire_put_uint(&trace, SS_PF_THREAD_PID, 70);
    ss_wire_put_uint(&trace, SS_PF_THREAD_TID, 72);
    ss_wire_put_uint(&trace, SS_PF_THREAD_REFERENCE_US, 9);
    ss_wire_end(&trace, thread);
    ss_wire_end(&trace, packet);
    put_old((struct old){.time = 1000, .phase = 'X', .name = "whole", .duration_us = 2});
    put_old((struct old){.time = 1500, .phase = 'X', .name = "overlaps", .duration_us = 3});
    put_old((struct old){.time = 1000, .phase = 'B', .name = "begun", .tid = 75});
    put_old((struct old){.time = 9000, .phase = 'E', .name = "", .tid = 75});
    put_old((struct old){.time = 2000, .phase = 'b', .name = "async", .id = 7});
    put_old((struct old){.time = 2500, .phase = 'b', .name = "async", .id = 8});
    put_old((struct old){.time = 6000, .phase = 'e', .name = "async", .id = 7});
    put_old((struct old){.time = 7000, .phase = 'e', .name = "async", .id = 9}); /* never begun */
    put_old((struct old){.time = 8000, .phase = 'I', .name = "now"});
    put_old((struct old){.time = 8000, .phase = 'C', .name = "heap", .value = 17});
    put_old((struct old){.time = 8100, .phase = 's', .name = "flow", .id = 5});
    put_old((struct old){.time = 8200, .phase = 'f', .name = "flow", .id = 5});
    put_old((struct old){.time = 8300, .phase = '?', .name = "what"});
    assert_int_equal(load_trace(), SS_OK);
    assert_int_equal(model.ranges.count, 5);
    assert_range(0, "whole", 1000, 3000);
    assert_range(1, "overlaps", 1500, 4500);
    assert_int_not_equal(model.ranges.data[0].lane, model.ranges.data[1].lane);
    assert_range(2, "begun", 1000, 9000);
    assert_range(3, "async", 2000, 6000);
    assert_range(4, "async", 2500, 9000); /* until the last event */
    assert_int_equal(model.marks.count, 1);
    assert_int_equal(model.values.data[0].integer, 17);
    const struct ss_model_track *counter = &model.tracks.data[model.values.data[0].track];
    assert_string_equal(ss_model_text(&model, counter->name), "heap used");
    assert_int_equal(model.flows.count, 2);
    const struct ss_model_track *track = &model.tracks.data[model.ranges.data[2].track];
    assert_int_equal(model.threads.data[track->thread].tid, 75);
    assert_int_equal(skipped()->events, 2);
    assert_string_equal(skip_reason(), "an end without a begin");
}

static void times_may_be_differences(void **state)
{
    (void)state;
    size_t packet = begin_packet((struct written){0});
    size_t thread = ss_wire_begin(&trace, SS_PF_THREAD_DESCRIPTOR);
    ss_wire_put_uint(&trace, SS_PF_THREAD_TID, 72);
    ss_wire_put_uint(&trace, SS_PF_THREAD_REFERENCE_US, 9);
    ss_wire_end(&trace, thread);
    ss_wire_end(&trace, packet);
    static const uint64_t times[][2] = {{SS_PF_EVENT_DELTA_US, 1},
                                        {SS_PF_EVENT_ABSOLUTE_US, 50},
                                        {SS_PF_EVENT_DELTA_US, 2},
                                        {SS_PF_EVENT_ABSOLUTE_US, UINT64_MAX}};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        packet = begin_packet((struct written){0});
        size_t event = ss_wire_begin(&trace, SS_PF_TRACK_EVENT);
        ss_wire_put_uint(&trace, SS_PF_EVENT_TYPE, SS_PF_EVENT_INSTANT);
        ss_wire_put_uint(&trace, (uint32_t)times[i][0], times[i][1]);
        ss_wire_end(&trace, event);
        ss_wire_end(&trace, packet);
    }
    assert_int_equal(load_trace(), SS_OK);
    assert_int_equal(model.marks.count, 3);
    assert_int_equal(model.marks.data[0].time_ns, 10000);
    assert_int_equal(model.marks.data[1].time_ns, 50000);
    assert_int_equal(model.marks.data[2].time_ns, 12000);
    assert_int_equal(skipped()->events, 1);
}

/* --- samples ---------------------------------------------------------------------------------- */

static void put_stack_parts(void)
{
    size_t interned = ss_wire_begin(&trace, SS_PF_INTERNED_DATA);
    size_t stack = ss_wire_begin(&trace, SS_PF_CALLSTACKS); /* before its frames */
    ss_wire_put_uint(&trace, SS_PF_IID, 1);
    ss_wire_put_uint(&trace, SS_PF_CALLSTACK_FRAMES, 1);
    ss_wire_put_uint(&trace, SS_PF_CALLSTACK_FRAMES, 2);
    ss_wire_end(&trace, stack);
    put_text(SS_PF_FUNCTION_NAMES, 1, "main");
    put_text(SS_PF_SOURCE_PATHS, 1, "/home/u/a.py");
    put_text(SS_PF_MAPPING_PATHS, 1, "usr");
    put_text(SS_PF_MAPPING_PATHS, 2, "libm.so");
    size_t frame = ss_wire_begin(&trace, SS_PF_FRAMES);
    ss_wire_put_uint(&trace, SS_PF_IID, 1);
    ss_wire_put_uint(&trace, SS_PF_FRAME_FUNCTION, 1);
    ss_wire_put_uint(&trace, SS_PF_FRAME_SOURCE_PATH, 1);
    ss_wire_put_uint(&trace, SS_PF_FRAME_LINE, 12);
    ss_wire_end(&trace, frame);
    frame = ss_wire_begin(&trace, SS_PF_FRAMES);
    ss_wire_put_uint(&trace, SS_PF_IID, 2);
    ss_wire_put_uint(&trace, SS_PF_FRAME_MAPPING, 1);
    ss_wire_put_uint(&trace, SS_PF_FRAME_ADDRESS, 0x1f00);
    ss_wire_end(&trace, frame);
    size_t mapping = ss_wire_begin(&trace, SS_PF_MAPPINGS);
    ss_wire_put_uint(&trace, SS_PF_IID, 1);
    ss_wire_put_uint(&trace, SS_PF_MAPPING_PATH_IDS, 1);
    ss_wire_put_uint(&trace, SS_PF_MAPPING_PATH_IDS, 2);
    ss_wire_end(&trace, mapping);
    ss_wire_end(&trace, interned);
}

static void samples_have_stacks(void **state)
{
    (void)state;
    size_t packet = begin_packet((struct written){.flags = SS_PF_STATE_CLEARED});
    put_stack_parts();
    size_t defaults = ss_wire_begin(&trace, SS_PF_PACKET_DEFAULTS);
    size_t perf = ss_wire_begin(&trace, SS_PF_DEFAULT_PERF_SAMPLE);
    size_t timebase = ss_wire_begin(&trace, SS_PF_PERF_DEFAULT_TIMEBASE);
    ss_wire_put_uint(&trace, SS_PF_TIMEBASE_FREQUENCY, 50);
    ss_wire_end(&trace, timebase);
    ss_wire_end(&trace, perf);
    ss_wire_end(&trace, defaults);
    ss_wire_end(&trace, packet);
    for (uint64_t stack = 0; stack < 3; stack++) { /* none, known, unknown */
        packet = begin_packet((struct written){.time = 1000 + stack});
        size_t sample = ss_wire_begin(&trace, SS_PF_PERF_SAMPLE);
        ss_wire_put_uint(&trace, SS_PF_PERF_PID, 70);
        ss_wire_put_uint(&trace, SS_PF_PERF_TID, 71);
        ss_wire_put_nonzero(&trace, SS_PF_PERF_CALLSTACK_IID, stack);
        ss_wire_end(&trace, sample);
        ss_wire_end(&trace, packet);
    }
    packet = begin_packet((struct written){.time = 2000});
    size_t sample = ss_wire_begin(&trace, SS_PF_STACK_SAMPLE);
    size_t task = ss_wire_begin(&trace, SS_PF_SAMPLE_TASK);
    ss_wire_put_uint(&trace, SS_PF_TASK_PID, 70);
    ss_wire_put_uint(&trace, SS_PF_TASK_TID, 72);
    ss_wire_end(&trace, task);
    ss_wire_put_uint(&trace, SS_PF_SAMPLE_CALLSTACK_IID, 1);
    ss_wire_end(&trace, sample);
    ss_wire_end(&trace, packet);
    assert_int_equal(load_trace(), SS_OK);
    assert_int_equal(model.inputs.data[0].samples, 3);
    assert_true(model.inputs.data[0].rate_hz == 50);
    assert_int_equal(skipped()->events, 1);
    assert_int_equal(model.samples.data[2].time_ns, 2000);
    assert_int_equal(model.threads.data[model.samples.data[2].thread].tid, 72);
    assert_int_equal(model.samples.data[0].stack, 0);
    const struct ss_model_stack *leaf = &model.stacks.data[model.samples.data[1].stack];
    const struct ss_model_frame *frame = &model.frames.data[leaf->frame];
    assert_int_equal(leaf->depth, 2);
    assert_string_equal(ss_model_text(&model, frame->function), "0x1f00");
    assert_string_equal(ss_model_text(&model, frame->file), "/usr/libm.so");
    assert_int_equal(frame->kind, SS_FRAME_NATIVE);
    frame = &model.frames.data[model.stacks.data[leaf->parent].frame];
    assert_string_equal(ss_model_text(&model, frame->function), "main");
    assert_int_equal(frame->line, 12);
}

/* --- files ------------------------------------------------------------------------------------ */

static void compressed_packets_are_inflated(void **state)
{
    (void)state;
    put_event(7, SS_PF_EVENT_INSTANT, 1, "inside");
    struct ss_wire_buffer plain = trace;
    trace = (struct ss_wire_buffer){0};
    struct ss_wire_buffer packed = {0};
    struct ss_deflater *deflater = ss_deflater_new();
    assert_true(ss_deflate(deflater, 6, false, plain.data, plain.length, &packed));
    ss_deflater_free(deflater);
    for (int i = 0; i < 2; i++) {
        size_t packet = ss_wire_begin(&trace, SS_PF_TRACE_PACKET);
        ss_wire_put_bytes(&trace, SS_PF_COMPRESSED_PACKETS, packed.data, packed.length);
        ss_wire_end(&trace, packet);
        packed.data[packed.length / 2] ^= 0xff; /* the second is damaged */
    }
    ss_wire_fini(&plain);
    ss_wire_fini(&packed);
    assert_int_equal(ss_importer_perfetto.probe((char *)trace.data, trace.length),
                     SS_IMPORT_CERTAIN);
    assert_int_equal(load_trace(), SS_OK);
    assert_int_equal(model.marks.count, 1);
    assert_string_equal(skip_reason(), "packets that cannot be inflated");
}

static void other_data_is_counted(void **state)
{
    (void)state;
    put_event(7, SS_PF_EVENT_INSTANT, 1, "read");
    size_t packet = begin_packet((struct written){.time = 9});
    ss_wire_put_bytes(&trace, SS_PF_FTRACE_EVENTS, "", 0);
    ss_wire_end(&trace, packet);
    assert_int_equal(load_trace(), SS_OK);
    assert_int_equal(skipped()->events, 1);
    assert_string_equal(skip_reason(), "events of the kernel (ftrace)");
    trace.length = 0;
    packet = begin_packet((struct written){.time = 9});
    ss_wire_put_bytes(&trace, SS_PF_PROFILE_PACKET, "", 0);
    ss_wire_end(&trace, packet);
    assert_int_equal(load_trace(), SS_E_FORMAT);
    assert_non_null(strstr(err.message, "a heap profile"));
}

static void a_cut_trace_has_what_came_before(void **state)
{
    (void)state;
    put_thread(11, 0, 70, 70, "main");
    for (uint64_t i = 1; i <= 4; i++) {
        put_event(100 * i, SS_PF_EVENT_INSTANT, 11, "mark");
    }
    size_t before = 0;
    for (size_t length = 0; length <= trace.length; length++) {
        enum ss_status status = load_bytes(trace.data, length);
        assert_true(status == SS_OK || status == SS_E_FORMAT);
        assert_true(status == SS_E_FORMAT || model.marks.count >= before);
        before = status == SS_OK ? model.marks.count : 0;
    }
    assert_int_equal(before, 4);
    assert_false(skipped()->is_cut);
    assert_int_equal(load_bytes(trace.data, trace.length - 1), SS_OK);
    assert_true(skipped()->is_cut);
}

static void hostile_packets_cost_themselves(void **state)
{
    (void)state;
    static const uint8_t bad[] = {0x0a, 0x03, 0x58, 0xff, 0xff}; /* a number without an end */
    put_event(1, SS_PF_EVENT_INSTANT, 1, "first");
    ss_wire_put_raw(&trace, bad, sizeof bad);
    put_event(UINT64_MAX, SS_PF_EVENT_INSTANT, 1, "beyond");
    put_named_track(31, 32, "a", false); /* each the parent of the other */
    put_named_track(32, 31, "b", false);
    put_event(2, SS_PF_EVENT_SLICE_BEGIN, 31, "of a circle");
    put_event(3, SS_PF_EVENT_SLICE_END, 31, NULL);
    put_event(4, SS_PF_EVENT_SLICE_END, 31, NULL);
    put_event(5, 9, 31, "of no type");
    assert_int_equal(load_trace(), SS_OK);
    assert_int_equal(model.marks.count, 1);
    assert_range(0, "of a circle", 2, 3);
    assert_int_equal(model.unmatched_ends, 1);
    assert_int_equal(skipped()->events, 3);
    assert_string_equal(skip_reason(), "a malformed packet");
    assert_int_equal(skipped()->first_offset, trace.data[1] + 2);
}

static void only_traces_are_claimed(void **state)
{
    (void)state;
    put_event(7, SS_PF_EVENT_INSTANT, 1, "x");
    put_event(8, SS_PF_EVENT_INSTANT, 1, "y");
    const struct ss_importer *row = &ss_importer_perfetto;
    assert_int_equal(row->probe((char *)trace.data, trace.length), SS_IMPORT_CERTAIN);
    static const char *const others[] = {"",
                                         "\n",
                                         "\n\nmain 3\nmain;b 4\n",
                                         "\n\x02\x08\x01x",
                                         "{\"traceEvents\":[]}",
                                         "\nB@aaaaaaaaaaaaaa"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        assert_int_equal(row->probe(others[i], strlen(others[i])), SS_IMPORT_NO);
    }
}

static int begin(void **state)
{
    (void)state;
    trace.length = 0;
    return 0;
}

static int fini(void **state)
{
    (void)state;
    ss_model_fini(&model);
    ss_wire_fini(&trace);
    return 0;
}

#define TEST(function) cmocka_unit_test_setup(function, begin)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(ranges_lie_on_tracks_of_threads),
        TEST(counters_have_units),
        TEST(names_are_those_of_the_state),
        TEST(clocks_become_one),
        TEST(phases_are_read),
        TEST(times_may_be_differences),
        TEST(samples_have_stacks),
        TEST(compressed_packets_are_inflated),
        TEST(other_data_is_counted),
        TEST(a_cut_trace_has_what_came_before),
        TEST(hostile_packets_cost_themselves),
        TEST(only_traces_are_claimed),
    };
    return cmocka_run_group_tests(tests, NULL, fini);
}
