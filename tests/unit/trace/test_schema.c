/* SPDX-License-Identifier: Apache-2.0 */
/* Devices of a trace, which are records of schema.def: through a file, its restart points, a second
 * definition, a second writer and repair; and records that are hostile. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "sample_recording.h"
#include "trace/rewrite.h"
#include "trace/schema.h"
#include "trace/writer_tracks.h"

struct seen {
    unsigned devices, tracks;
    char uuids[4][64];
    uint64_t memory_bytes[4];
    uint32_t number[4], track_device[4];
};

static enum ss_status on_device(void *context, const struct ss_trace_device *device)
{
    struct seen *seen = context;
    assert_in_range(device->ref, 1, 3);
    snprintf(seen->uuids[device->ref], sizeof *seen->uuids, "%.*s", (int)device->uuid.length,
             device->uuid.data);
    seen->memory_bytes[device->ref] = device->memory_bytes;
    seen->number[device->ref] = device->number;
    seen->devices++;
    return SS_OK;
}

static enum ss_status on_track(void *context, const struct ss_trace_track *track)
{
    struct seen *seen = context;
    assert_in_range(track->ref, 1, 3);
    seen->track_device[track->ref] = track->device_ref;
    seen->tracks++;
    return SS_OK;
}

static void read_trace(const char *path, struct seen *seen, struct ss_trace_summary *summary)
{
    static const struct ss_trace_visitor visitor = {.device = on_device, .track = on_track};
    *seen = (struct seen){0};
    MUST(ss_trace_read(path, &visitor, seen, summary, must_err));
}

static void put_device(struct ss_trace_writer *writer, uint32_t ref, const char *uuid,
                       uint64_t memory_bytes)
{
    PUT(device, writer, .ref = ref, .kind = SS_DEVICE_GPU, .number = ref,
        .model = ss_strview_of("a model"), .uuid = ss_strview_of(uuid),
        .memory_bytes = memory_bytes);
}

/* Two devices, one of them defined again; a counter of each, and one of none. */
static void write_trace(const char *path)
{
    struct ss_trace_writer_options options = {.size = sizeof options,
                                              .path = path,
                                              .replay = true,
                                              .unit_bytes = 2000,
                                              .restart_bytes = 8000};
    struct ss_trace_writer *writer;
    MUST(ss_trace_writer_open(&options, &writer, must_err));
    put_device(writer, 1, "GPU-one", 80);
    put_device(writer, 2, "", 0);
    for (uint32_t i = 1; i <= 3; i++) {
        PUT(track, writer, .ref = i, .kind = SS_TRACK_COUNTER, .device_ref = i % 3,
            .name = ss_strview_of("power"), .unit = ss_strview_of("W"));
    }
    for (uint32_t i = 0; i < 3000; i++) {
        PUT(counter, writer, .time_ns = RECORDING_START + i * 1000 * (uint64_t)1000,
            .track_ref = 1 + i % 3, .is_integer = true, .integer = i * 7919);
        if (i == 1500) {
            put_device(writer, 2, "GPU-two", UINT64_MAX);
        }
    }
    MUST(ss_trace_writer_close(writer, must_err));
}

static void check(const struct seen *seen)
{
    assert_string_equal(seen->uuids[1], "GPU-one");
    assert_string_equal(seen->uuids[2], "GPU-two");
    assert_int_equal(seen->memory_bytes[1], 80);
    assert_true(seen->memory_bytes[2] == UINT64_MAX);
    assert_int_equal(seen->number[2], 2);
    assert_int_equal(seen->track_device[1], 1);
    assert_int_equal(seen->track_device[2], 2);
    assert_int_equal(seen->track_device[3], 0);
    assert_int_equal(seen->tracks, 3);
}

static void devices_and_their_tracks_survive_restart_points(void **state)
{
    (void)state;
    struct seen seen;
    struct ss_trace_summary summary;
    const char *path = recording_path("devices");
    write_trace(path);
    read_trace(path, &seen, &summary);
    assert_true(summary.restart_points > 2);
    assert_int_equal(seen.devices, 3); /* one of them twice: it changed */
    check(&seen);
    unlink(path);
}

static void repair_keeps_them(void **state)
{
    (void)state;
    struct seen seen;
    struct ss_trace_summary summary;
    char path[600], repaired[700];
    snprintf(path, sizeof path, "%s", recording_path("devices"));
    snprintf(repaired, sizeof repaired, "%s.repaired", path);
    write_trace(path);
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    FILE *file = fopen(path, "r+");
    fseek(file, info.st_size * 9 / 10, SEEK_SET);
    fputs("damage", file);
    fclose(file);
    unlink(repaired);
    MUST(ss_trace_repair(path, repaired, &summary, must_err));
    read_trace(repaired, &seen, &summary);
    check(&seen);
    unlink(path);
    unlink(repaired);
}

static void hostile_records_are_refused_or_read_as_unknown(void **state)
{
    (void)state;
    struct ss_trace_device device;
    struct ss_wire_buffer buffer = {0};
    ss_wire_put_uint(&buffer, 2, 1000);              /* a kind of a later version */
    ss_wire_put_uint(&buffer, 3, UINT64_C(1) << 40); /* more than the member holds */
    ss_wire_put_uint(&buffer, 4, 5);                 /* a number for a text */
    ss_wire_put_bytes(&buffer, 7, "text", 4);        /* a text for a number */
    ss_wire_put_bytes(&buffer, 99, "of a later version", 18);
    memset(&device, 0xff, sizeof device);
    assert_true(ss_schema_read(SS_SCHEMA_device, ss_wire_cursor_of(buffer.data, buffer.length),
                               &device, NULL));
    assert_int_equal(device.kind, SS_DEVICE_OTHER);
    assert_int_equal(device.ref, 0);
    assert_int_equal(device.number, 0);
    assert_int_equal(device.model.length, 0);
    assert_int_equal(device.memory_bytes, 0);
    assert_false(ss_schema_read(SS_SCHEMA_device, ss_wire_cursor_of(buffer.data, buffer.length - 1),
                                &device, NULL));
    ss_wire_fini(&buffer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(devices_and_their_tracks_survive_restart_points),
        cmocka_unit_test(repair_keeps_them),
        cmocka_unit_test(hostile_records_are_refused_or_read_as_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
