/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of each record of the payload are those of format version 2, whatever declares them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "trace/definitions.h"
#include "trace/encode.h"
#include "trace/encode_tracks.h"

/* Made by the encoders of version 0.1, which were written by hand; but for the number of the
 * version. */
static const char expected[] =
    "0a9f0150016802e2034008e78a8d09120d77686f6c652070726f636573731a250800120b707974686f6e2061"
    "2e7079320c72616e6b20333a20612e7079420672616e6b20335803a00101b27c5508d302525008e78a8d0918"
    "00200128fcffffff0e30b9603a0b707974686f6e20612e70794204612e70794a0e43507974686f6e20332e31"
    "312e3752062f62696e2fff5a0672616e6b203360ffffffffffffffffff010a4250016802e2031f08890128e7"
    "8a8d092213082a10f9ffffffffffffffff012a046d61696e6000b27c1908d3025a1408890110e78a8d09180d"
    "20012a046d61696e30035a1f48035809ba01046b696e642212520576616c756520d4fdffffffffffffff01b2"
    "7c1508d3027a10080510e78a8d091a046b696e6428d704b27c1608d302b20110080610e78a8d091802204628"
    "0130a0060a4550016802e2031b080128041205706f776572420332015760fcffffffffffffffff01b27c2008"
    "d3028a011a080110021802200328043205706f7765723a01574002480750020a2c50016802e20316084d2804"
    "1205706f77657260fcffffffffffffffff01b27c0c08d302920106084d10011801120c08051208efbfbd206e"
    "616d659a012308051580ff00ff1a0a746f7263682e6174656e2206fe206e616d652a04612e7079300c0a2250"
    "016802f2070b0a090a016b1a04efbfbd78b27c0d08d3028201070a016b1202fd786205120179200d62040801"
    "1803620412002000";

static void put_all(struct ss_wire_buffer *out)
{
    struct ss_trace_process process = {.pid = 0,
                                       .parent_pid = -1,
                                       .pid_namespace = 4026531836,
                                       .start_time_ticks = 12345,
                                       .cmdline = ss_strview_of("python a.py"),
                                       .name = ss_strview_of("a.py"),
                                       .runtime = ss_strview_of("CPython 3.11.7"),
                                       .executable = ss_strview_of("/bin/\xff"),
                                       .label = ss_strview_of("rank 3"),
                                       .first_seen_ns = UINT64_MAX};
    ss_encode_process(out, &process, 0x1234567, 0, true);
    struct ss_trace_thread thread = {.tid = -7, .is_main = true, .name = ss_strview_of("main")};
    ss_encode_thread(out, &thread, 0x89, 0x1234567, 42, 3);
    struct ss_trace_note note = {.time_ns = 5, .kind = ss_strview_of("kind"), .value = -300};
    ss_encode_note_event(out, &note, 9, 0x1234567);
    struct ss_trace_line line = {.time_ns = 6, .line = 70, .hits = 1, .total_ns = 800};
    ss_encode_line_event(out, &line, 0x1234567, 2);
    struct ss_trace_track track = {.kind = SS_TRACK_COUNTER,
                                   .device_ref = 2,
                                   .name = ss_strview_of("power"),
                                   .unit = ss_strview_of("W"),
                                   .counter = SS_COUNTER_CUMULATIVE,
                                   .rank = -4};
    struct ss_track_uuids uuids = {.own = 1, .process = 2, .thread = 3, .parent = 4};
    ss_encode_track_record(out, &track, &uuids);
    track.kind = SS_TRACK_ASYNC;
    ss_encode_lane(out, &track, &uuids, 77, 1);
    struct ss_trace_name name = {.text = ss_strview_of("\xfe name"),
                                 .category = ss_strview_of("torch.aten"),
                                 .colour = 0xff00ff80,
                                 .file = ss_strview_of("a.py"),
                                 .line = 12};
    ss_encode_event_name(out, out, &name, 5);
    struct ss_trace_attribute attribute = {.key = ss_strview_of("k"),
                                           .text = ss_strview_of("\xfdx")};
    ss_encode_attribute(out, &attribute);
}

/* The frames of a stack: an empty plain name, a suffix, another name; known and unknown lines. */
static void put_frames(struct ss_wire_buffer *out)
{
    struct ss_trace_frame frames[] = {
        {.ref = 1, .function = ss_strview_of("f"), .line = 3, .first_line = 3},
        {.ref = 2,
         .function = ss_strview_of("C.f"),
         .name = ss_strview_of("f"),
         .file = ss_strview_of("/a/b.py"),
         .short_file_offset = 3,
         .line = 9},
        {.ref = 3, .function = ss_strview_of("<x>"), .name = ss_strview_of("y"), .first_line = 7}};
    struct ss_definitions definitions;
    ss_definitions_init(&definitions);
    for (uint32_t i = 0; i < 3; i++) {
        struct ss_trace_stack stack = {.ref = i + 1, .parent_ref = i, .frame_ref = i + 1};
        assert_int_equal(ss_definitions_put_frame(&definitions, &frames[i], NULL), SS_OK);
        assert_int_equal(ss_definitions_put_stack(&definitions, &stack, NULL), SS_OK);
    }
    bool cut = false;
    assert_int_equal(ss_definitions_use_stack(&definitions, 3, &cut), 1);
    ss_wire_put_raw(out, definitions.extras.data, definitions.extras.length);
    ss_definitions_fini(&definitions);
}

static void records_have_the_bytes_of_version_2(void **state)
{
    (void)state;
    struct ss_wire_buffer out = {0};
    put_all(&out);
    put_frames(&out);
    assert_int_equal(out.length * 2, sizeof expected - 1);
    for (size_t i = 0; i < out.length; i++) {
        char digits[3];
        snprintf(digits, sizeof digits, "%02x", out.data[i]);
        assert_memory_equal(digits, expected + 2 * i, 2);
    }
    ss_wire_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_have_the_bytes_of_version_2),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
