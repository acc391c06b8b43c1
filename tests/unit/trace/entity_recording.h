/* SPDX-License-Identifier: Apache-2.0 */
/* A recording of a rank with a GPU: host, device, context, two streams with a track each, two
 * communication groups, kernels and collectives with typed fields. Deterministic but for the
 * trace's uuid. */
#ifndef SS_TESTS_ENTITY_RECORDING_H
#define SS_TESTS_ENTITY_RECORDING_H

#include <string.h>

#include "sample_recording.h"
#include "trace/event_fields.h"
#include "trace/rank_runs.h"
#include "trace/writer_entities.h"
#include "trace/writer_tracks.h"

static inline void entity_recording_define(struct ss_trace_writer *writer)
{
    PUT(host, writer, .ref = 1, .boot_id = ss_strview_of("5c1f-boot"), .time_namespace = 4026531834,
        .name = ss_strview_of("node17"));
    PUT(device, writer, .ref = 1, .kind = SS_DEVICE_GPU, .number = 1,
        .uuid = ss_strview_of("GPU-one"));
    PUT(process, writer, .ref = 1, .pid = 1000, .start_time_ticks = 5,
        .name = ss_strview_of("python"), .host_ref = 1, .rank = 0, .has_rank = true,
        .local_rank = 3, .has_local_rank = true, .world_size = 64, .node = 0, .has_node = true,
        .role = SS_PROCESS_ROLE_TRAINS);
    PUT(context, writer, .ref = 1, .process_ref = 1, .device_ref = 1, .number = 7);
    for (uint32_t i = 1; i <= 2; i++) {
        PUT(stream, writer, .ref = i, .device_ref = 1, .context_ref = 1,
            .number = i == 1 ? 7 : UINT64_C(0x7f00deadbeef),
            .name = ss_strview_of(i == 1 ? "" : "copies"), .priority = -(int32_t)i,
            .is_default = i == 1);
    }
    uint32_t ranks[64];
    struct ss_wire_buffer all = {0}, some = {0};
    for (uint32_t i = 0; i < 64; i++) {
        ranks[i] = i;
    }
    ss_rank_runs_put(&all, ranks, 64);
    ss_rank_runs_put(&some, (const uint32_t[]){0, 8, 16, 24, 5, 63}, 6);
    PUT(group, writer, .ref = 1, .kind = SS_GROUP_NCCL, .number = 99, .size = 64,
        .ranks = {(char *)all.data, all.length});
    PUT(group, writer, .ref = 2, .kind = SS_GROUP_GLOO, .name = ss_strview_of("data"), .size = 6,
        .ranks = {(char *)some.data, some.length});
    ss_wire_fini(&all);
    ss_wire_fini(&some);
    for (uint32_t i = 1; i <= 2; i++) {
        PUT(track, writer, .ref = i, .kind = SS_TRACK_RANGES, .process_ref = 1, .device_ref = 1,
            .stream_ref = i, .name = ss_strview_of("work"));
    }
    PUT(name, writer, .ref = 1, .type = SS_EVENT_TYPE_kernel, .text = ss_strview_of("gemm"));
    PUT(name, writer, .ref = 2, .type = SS_EVENT_TYPE_collective, .category = ss_strview_of("nccl"),
        .text = ss_strview_of("AllReduce"));
}

enum { ENTITY_RECORDING_FIELDS = 7 };

/* The fields of range `i`: on the first stream kernels, on the second collectives. */
static inline void entity_recording_fields(uint32_t i, struct ss_event_value *fields)
{
    struct ss_event_value kernel[ENTITY_RECORDING_FIELDS] = {
        {SS_EVENT_FIELD_stream, {SS_VALUE_UINT, {.natural = 1}}},
        {SS_EVENT_FIELD_correlation, {SS_VALUE_UINT, {.natural = UINT64_MAX - i}}},
        {SS_EVENT_FIELD_grid_x, {SS_VALUE_UINT, {.natural = i}}},
        {SS_EVENT_FIELD_block_z, {SS_VALUE_UINT, {.natural = 0}}},
        {SS_EVENT_FIELD_occupancy, {SS_VALUE_REAL, {.real = 62.5}}},
        {SS_EVENT_FIELD_datatype, {SS_VALUE_TEXT, {.text = ss_strview_of("bfloat16")}}},
        {SS_EVENT_FIELD_bytes, {SS_VALUE_INT, {.integer = -(int64_t)i}}}};
    struct ss_event_value collective[ENTITY_RECORDING_FIELDS] = {
        {SS_EVENT_FIELD_group, {SS_VALUE_UINT, {.natural = 2}}},
        {SS_EVENT_FIELD_stream, {SS_VALUE_UINT, {.natural = 2}}},
        {SS_EVENT_FIELD_sequence, {SS_VALUE_INT, {.integer = i}}},
        {SS_EVENT_FIELD_elements, {SS_VALUE_UINT, {.natural = 1u << 20}}},
        {SS_EVENT_FIELD_bytes, {SS_VALUE_INT, {.integer = INT64_MAX}}},
        {SS_EVENT_FIELD_reduction, {SS_VALUE_TEXT, {.text = ss_strview_of("sum")}}},
        {SS_EVENT_FIELD_algorithm, {SS_VALUE_TEXT, {.text = ss_strview_of("")}}}};
    memcpy(fields, i % 2 == 0 ? kernel : collective, sizeof kernel);
}

/* `count` ranges in turn on the tracks of both streams. */
static inline void entity_recording_write(const char *path, uint32_t count)
{
    struct ss_trace_writer_options options = {.size = sizeof options,
                                              .path = path,
                                              .replay = true,
                                              .unit_bytes = 2000,
                                              .restart_bytes = 8000};
    struct ss_trace_writer *writer;
    MUST(ss_trace_writer_open(&options, &writer, must_err));
    PUT(clock, writer, RECORDING_START, RECORDING_START, RECORDING_START,
        RECORDING_START + (1ull << 60), 50);
    entity_recording_define(writer);
    for (uint32_t i = 0; i < count; i++) {
        struct ss_event_value fields[ENTITY_RECORDING_FIELDS];
        entity_recording_fields(i, fields);
        struct ss_trace_event begin = {.time_ns = RECORDING_START + i * UINT64_C(10000),
                                       .track_ref = 1 + i % 2,
                                       .name_ref = 1 + i % 2,
                                       .fields = fields,
                                       .field_count = ENTITY_RECORDING_FIELDS};
        MUST(ss_trace_writer_range(writer, &begin, begin.time_ns + 7000, must_err));
    }
    MUST(ss_trace_writer_close(writer, must_err));
}

#endif
