/* SPDX-License-Identifier: Apache-2.0 */
/* What schema.def says of refs and times of records. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "trace/records.h"
#include "trace/ref_maps.h"

/* Each kind has a map of its own: ref 1 becomes 100 + kind. */
static void fill(struct ss_ref_maps *maps)
{
    for (uint32_t id = 0; id < SS_SCHEMA_ALL; id++) {
        ss_ref_maps_put(maps, (enum ss_schema_id)id, 1, 100 + id);
    }
}

static void each_ref_is_mapped_by_its_kind(void **state)
{
    (void)state;
    struct ss_ref_maps maps = {0};
    fill(&maps);
    struct ss_trace_track track = {1, SS_TRACK_RANGES, 1, 1, 1, 1, 1, {"", 0}, {"", 0}, 0, 0, 0};
    ss_ref_maps_move(&maps, SS_SCHEMA_track, &track);
    assert_int_equal(track.ref, 1);
    assert_int_equal(track.process_ref, 100 + SS_SCHEMA_process);
    assert_int_equal(track.thread_ref, 100 + SS_SCHEMA_thread);
    assert_int_equal(track.device_ref, 100 + SS_SCHEMA_device);
    assert_int_equal(track.stream_ref, 100 + SS_SCHEMA_stream);
    assert_int_equal(track.parent_ref, 100 + SS_SCHEMA_track);
    struct ss_trace_sample sample = {
        .thread_ref = 1, .stack_ref = 1, .phase_name = 1, .range_name = 2};
    ss_ref_maps_move(&maps, SS_SCHEMA_sample, &sample);
    assert_int_equal(sample.thread_ref, 100 + SS_SCHEMA_thread);
    assert_int_equal(sample.stack_ref, 100 + SS_SCHEMA_stack);
    assert_int_equal(sample.phase_name, 100 + SS_SCHEMA_name);
    assert_int_equal(sample.range_name, 0); /* unknown */
    struct ss_trace_counts counts = {.source_ref = 1, .process_ref = 0};
    ss_ref_maps_move(&maps, SS_SCHEMA_counts, &counts);
    assert_int_equal(counts.source_ref, 100 + SS_SCHEMA_source);
    assert_int_equal(counts.process_ref, 0);
    struct ss_trace_process process = {.ref = 1, .parent_ref = 1, .host_ref = 1};
    ss_ref_maps_move(&maps, SS_SCHEMA_process, &process);
    assert_int_equal(process.parent_ref, 100 + SS_SCHEMA_process);
    assert_int_equal(process.host_ref, 100 + SS_SCHEMA_host);
    ss_ref_maps_fini(&maps);
}

static void only_fields_that_are_refs_are_mapped(void **state)
{
    (void)state;
    struct ss_ref_maps maps = {0};
    fill(&maps);
    struct ss_event_value stream = {SS_EVENT_FIELD_waits_for_stream,
                                    {SS_VALUE_UINT, {.natural = 1}}};
    struct ss_event_value huge = {SS_EVENT_FIELD_group,
                                  {SS_VALUE_UINT, {.natural = UINT64_C(1) << 32 | 1}}};
    struct ss_event_value grid = {SS_EVENT_FIELD_grid_x, {SS_VALUE_UINT, {.natural = 1}}};
    ss_ref_maps_move_field(&maps, &stream);
    ss_ref_maps_move_field(&maps, &huge);
    ss_ref_maps_move_field(&maps, &grid);
    assert_int_equal(stream.value.natural, 100 + SS_SCHEMA_stream);
    assert_int_equal(huge.value.natural, 0);
    assert_int_equal(grid.value.natural, 1);
    ss_ref_maps_fini(&maps);
}

static uint32_t times_of(enum ss_schema_id id, void *record)
{
    uint32_t at = 0, count = 0;
    for (uint64_t *time_ns; (time_ns = ss_schema_next_time(id, record, &at)) != NULL; count++) {
        *time_ns += 5;
    }
    return count;
}

static void times_are_those_of_the_clock(void **state)
{
    (void)state;
    struct ss_trace_event event = {.time_ns = 7, .flow_id = 9};
    assert_int_equal(times_of(SS_SCHEMA_event, &event), 1);
    assert_int_equal(event.time_ns, 12);
    assert_int_equal(event.flow_id, 9);
    struct ss_trace_line line = {.time_ns = 0, .total_ns = 3};
    assert_int_equal(times_of(SS_SCHEMA_line, &line), 1);
    assert_int_equal(line.time_ns, 5);
    assert_int_equal(line.total_ns, 3);
    struct ss_trace_process process = {.first_seen_ns = 0};
    assert_int_equal(times_of(SS_SCHEMA_process, &process), 0); /* unknown */
    process.first_seen_ns = 1;
    assert_int_equal(times_of(SS_SCHEMA_process, &process), 1);
    assert_int_equal(process.first_seen_ns, 6);
    struct ss_trace_frame frame = {.line = 4};
    assert_int_equal(times_of(SS_SCHEMA_frame, &frame), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_ref_is_mapped_by_its_kind),
        cmocka_unit_test(only_fields_that_are_refs_are_mapped),
        cmocka_unit_test(times_are_those_of_the_clock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
