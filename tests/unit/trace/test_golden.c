/* SPDX-License-Identifier: Apache-2.0 */
/* The files of tests/golden: a later reader still reads what this version wrote, and each kind of
 * broken file gets the right message. With STEPSCOPE_WRITE_GOLDEN=1 the files are made anew. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/vec.h"
#include "sample_recording.h"
#include "trace/encode.h"
#include "trace/profile.h"
#include "trace/unit.h"
#include "wire/crc32c.h"
#include "wire/perfetto.h"

struct golden {
    const char *name;
    enum ss_status status;
    uint64_t samples, damaged_units;
    const char *message; /* part of the damage or of the error */
};

static const struct golden goldens[] = {
    {"good/small.pftrace", SS_OK, 60, 0, ""},
    {"good/tracks.pftrace", SS_OK, 36, 0, ""}, /* by tests/bench/trace_ranges.c */
    {"good/uncompressed.pftrace", SS_OK, 60, 0, ""},
    {"good/two-in-one.pftrace", SS_OK, 120, 0, ""},
    {"good/among-foreign-packets.pftrace", SS_OK, 60, 0, ""},
    {"good/unknown-fields.pftrace", SS_OK, 60, 0, ""},
    {"good/entities.pftrace", SS_OK, 0, 0, ""}, /* by test_entities.c */
    {"broken/empty.pftrace", SS_E_FORMAT, 0, 0, "empty"},
    {"broken/text.pftrace", SS_E_FORMAT, 0, 0, "byte 0"},
    {"broken/foreign.pftrace", SS_E_FORMAT, 0, 0, "another program"},
    {"broken/cut.pftrace", SS_OK, 40, 1, "ends within a unit"},
    {"broken/cut-in-first-unit.pftrace", SS_E_FORMAT, 0, 1, "ends within a unit"},
    {"broken/flipped.pftrace", SS_OK, 40, 1, "checksum"},
    {"broken/no-trailer.pftrace", SS_OK, 39, 1, "no trailer"},
    {"broken/missing-unit.pftrace", SS_OK, 39, 1, "missing"},
    {"broken/future-version.pftrace", SS_E_UNSUPPORTED, 0, 0, "newer stepscope"},
    {"broken/inflates-too-far.pftrace", SS_E_FORMAT, 0, 1, "beyond the limit"},
    {"broken/not-deflated.pftrace", SS_E_FORMAT, 0, 1, "cannot be inflated"},
    {"broken/nested.pftrace", SS_E_FORMAT, 0, 1, "within compressed"},
    {"broken/id-too-large.pftrace", SS_E_FORMAT, 0, 1, "too large"},
    {"broken/stack-too-deep.pftrace", SS_E_FORMAT, 0, 1, "too deep"},
    {"broken/not-protobuf.pftrace", SS_E_FORMAT, 0, 1, "protocol-buffer"},
};

static const char *golden_path(const char *name)
{
    static char path[1024];
    snprintf(path, sizeof path, "%s/tests/golden/%s", SS_TEST_SOURCE_DIR, name);
    return path;
}

static void save(const char *name, const void *bytes, size_t length)
{
    recording_put_bytes(golden_path(name), bytes, length);
    chmod(golden_path(name), 0644);
}

/* --- making them ---------------------------------------------------------------------------- */

/* A file of one unit with right checksums whose packets are `plain`. */
static void save_unit(const char *name, const struct ss_wire_buffer *plain, bool compress)
{
    struct ss_unit unit = {0};
    struct ss_deflater *deflater = compress ? ss_deflater_new() : NULL;
    ss_wire_put_raw(&unit.plain, plain->data, plain->length);
    struct ss_unit_seal seal = {.restart = true, .sealed = true, .period = 1};
    ss_unit_frame(&unit, &seal, deflater);
    save(name, unit.stored.data, unit.stored.length);
    ss_unit_fini(&unit);
    ss_deflater_free(deflater);
}

static void make_hostile_units(void)
{
    struct ss_wire_buffer plain = {0};
    size_t zeros = SS_MAX_PLAIN_BYTES + 1000;
    ss_wire_reserve(&plain, zeros);
    memset(plain.data, 0, zeros);
    plain.length = zeros;
    save_unit("broken/inflates-too-far.pftrace", &plain, true);

    plain.length = 0;
    size_t packet = ss_wire_begin(&plain, SS_PF_TRACE_PACKET);
    ss_wire_put_text(&plain, SS_PF_COMPRESSED_PACKETS, "this is no zlib stream");
    ss_wire_end(&plain, packet);
    save_unit("broken/not-deflated.pftrace", &plain, false);
    save_unit("broken/nested.pftrace", &plain, true);

    plain.length = 0;
    packet = ss_encode_packet_begin(&plain);
    size_t interned = ss_wire_begin(&plain, SS_PF_INTERNED_DATA);
    size_t name = ss_wire_begin(&plain, SS_PF_FUNCTION_NAMES);
    ss_wire_put_uint(&plain, SS_PF_IID, UINT64_C(1) << 40);
    ss_wire_put_text(&plain, SS_PF_STRING_BYTES, "f");
    ss_wire_end(&plain, name);
    ss_wire_end(&plain, interned);
    ss_wire_end(&plain, packet);
    save_unit("broken/id-too-large.pftrace", &plain, false);

    plain.length = 0;
    packet = ss_encode_packet_begin(&plain);
    interned = ss_wire_begin(&plain, SS_PF_INTERNED_DATA);
    size_t stack = ss_wire_begin(&plain, SS_PF_CALLSTACKS);
    ss_wire_put_uint(&plain, SS_PF_IID, 1);
    for (int i = 0; i <= SS_MAX_STACK_DEPTH; i++) {
        ss_wire_put_uint(&plain, SS_PF_CALLSTACK_FRAMES, 1);
    }
    ss_wire_end(&plain, stack);
    ss_wire_end(&plain, interned);
    ss_wire_end(&plain, packet);
    save_unit("broken/stack-too-deep.pftrace", &plain, true);

    plain.length = 0;
    ss_wire_put_raw(&plain, "\x0a\x03\xff\xff\xff", 5); /* a tag that continues after the packet */
    save_unit("broken/not-protobuf.pftrace", &plain, true);
    ss_wire_fini(&plain);
}

static size_t find_unit(const uint8_t *bytes, size_t length, int number)
{
    size_t at = 0;
    for (;; at++) {
        assert_true(at + 21 < length);
        if (memcmp(bytes + at + 2, ss_marker, SS_MARKER_BYTES) == 0 && number-- == 0) {
            return at;
        }
    }
}

static size_t find_trailer(const uint8_t *bytes, size_t unit, size_t end)
{
    struct ss_wire_cursor cursor = {bytes + unit, bytes + end};
    struct ss_wire_field field;
    size_t newest = unit, at = unit;
    while (ss_wire_next(&cursor, &field) == SS_WIRE_FIELD) {
        newest = at;
        at = (size_t)(cursor.at - bytes);
    }
    return newest;
}

/* One unit of definitions, then three of 20 samples. */
static void make_damaged_copies(const uint8_t *bytes, size_t length)
{
    static const uint8_t foreign[] = {0x0a, 2, 0x40, 1, 0x0a, 4, 0x50, 9, 0x68, 1};
    size_t second = find_unit(bytes, length, 2), third = find_unit(bytes, length, 3);
    uint8_t *copy = ss_alloc(length * 2 + sizeof foreign * 2);

    memcpy(copy, bytes, length);
    memcpy(copy + length, bytes, length);
    save("good/two-in-one.pftrace", copy, length * 2);
    memcpy(copy, foreign, sizeof foreign);
    memcpy(copy + sizeof foreign, bytes, length);
    memcpy(copy + sizeof foreign + length, foreign, sizeof foreign);
    save("good/among-foreign-packets.pftrace", copy, length + 2 * sizeof foreign);

    save("broken/empty.pftrace", "", 0);
    save("broken/text.pftrace", "This is not a trace.\n", 21);
    save("broken/foreign.pftrace", foreign, sizeof foreign);
    save("broken/cut.pftrace", bytes, third + 30);
    save("broken/cut-in-first-unit.pftrace", bytes, 100);
    memcpy(copy, bytes, length);
    copy[third + 60] ^= 1;
    save("broken/flipped.pftrace", copy, length);
    memcpy(copy, bytes, second); /* the second unit without its end */
    size_t kept = find_trailer(bytes, second, third);
    memcpy(copy, bytes, kept);
    memcpy(copy + kept, bytes + third, length - third);
    save("broken/no-trailer.pftrace", copy, kept + length - third);
    memcpy(copy, bytes, second);
    memcpy(copy + second, bytes + third, length - third);
    save("broken/missing-unit.pftrace", copy, second + length - third);
    ss_free(copy);
}

static void make_future(const uint8_t *bytes, size_t length)
{
    uint8_t *copy = ss_alloc(length);
    memcpy(copy, bytes, length);
    size_t end = find_unit(bytes, length, 1);
    const uint8_t format[] = {0x08, 0xd3, 0x02};
    uint8_t *at = memmem(copy, end, format, sizeof format);
    assert_non_null(at);
    at[2] = 9;
    uint32_t crc = ss_crc32c(0, copy, end - 4);
    memcpy(copy + end - 4, &crc, 4);
    save("broken/future-version.pftrace", copy, end);
    ss_free(copy);
}

/* As a later writer of the same version may: fields that this reader does not know. */
static void make_unknown_fields(const uint8_t *bytes, size_t length)
{
    struct ss_unit unit = {0};
    size_t packet = ss_encode_packet_begin(&unit.plain);
    size_t payload = ss_encode_payload_begin(&unit.plain);
    ss_wire_put_uint(&unit.plain, 900, 7);
    ss_wire_put_text(&unit.plain, 901, "later");
    ss_wire_end(&unit.plain, payload);
    ss_wire_put_text(&unit.plain, 1234, "later");
    ss_wire_end(&unit.plain, packet);
    struct ss_unit_seal seal = {.restart = true, .period = 77};
    ss_unit_frame(&unit, &seal, NULL);
    ss_wire_put_raw(&unit.stored, bytes, length);
    save("good/unknown-fields.pftrace", unit.stored.data, unit.stored.length);
    ss_unit_fini(&unit);
}

static void make_goldens(void)
{
    struct recording small = {.seconds = 3, .rate_hz = 20};
    struct recording plain = {.seconds = 3, .rate_hz = 20, .options = {.compression = -1}};
    char path[1024];
    snprintf(path, sizeof path, "%s", golden_path("good/uncompressed.pftrace"));
    recording_write(&plain, path);
    chmod(path, 0644);
    snprintf(path, sizeof path, "%s", golden_path("good/small.pftrace"));
    recording_write(&small, path);
    chmod(path, 0644);
    size_t length;
    uint8_t *bytes = recording_bytes(path, &length);
    make_damaged_copies(bytes, length);
    make_future(bytes, length);
    make_unknown_fields(bytes, length);
    ss_free(bytes);
    make_hostile_units();
}

/* --- reading them --------------------------------------------------------------------------- */

static enum ss_status on_sample(void *context, const struct ss_trace_sample *sample)
{
    uint64_t *sum = context;
    *sum = *sum * 31 + sample->time_ns + sample->weight + (uint64_t)sample->step +
           sample->state * 7u + sample->gil * 3u + sample->partial;
    return SS_OK;
}

static void test_goldens(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof goldens / sizeof *goldens; i++) {
        const struct golden *golden = &goldens[i];
        struct ss_error err = {0};
        struct ss_trace_summary summary;
        struct ss_trace_visitor visitor = {.sample = on_sample};
        uint64_t sum = 0;
        enum ss_status status =
            ss_trace_read(golden_path(golden->name), &visitor, &sum, &summary, &err);
        const char *message = status == SS_OK ? summary.damage : err.message;
        if (status != golden->status || summary.samples != golden->samples ||
            summary.damaged_units != golden->damaged_units ||
            strstr(message, golden->message) == NULL) {
            fail_msg("%s: %s, %llu samples, %llu damaged units, \"%s\"", golden->name,
                     ss_status_name(status), (unsigned long long)summary.samples,
                     (unsigned long long)summary.damaged_units, message);
        }
        /* Every error names the byte. */
        assert_true(golden->message[0] == '\0' || strstr(message, "byte ") != NULL);
    }
}

/* What the good file says, to the last bit: the samples are those of sample_recording.h. */
static void test_the_good_file_is_what_was_written(void **state)
{
    (void)state;
    struct recording small = {.seconds = 3, .rate_hz = 20};
    uint64_t expected = 0, sum = 0;
    for (uint32_t i = 0; i < 60; i++) {
        struct ss_trace_sample sample = recording_sample(&small, i);
        on_sample(&expected, &sample);
    }
    struct ss_trace_visitor visitor = {.sample = on_sample};
    struct ss_trace_summary summary;
    MUST(ss_trace_read(golden_path("good/small.pftrace"), &visitor, &sum, &summary, must_err));
    assert_int_equal(sum, expected);
}

int main(void)
{
    if (getenv("STEPSCOPE_WRITE_GOLDEN") != NULL) {
        make_goldens();
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_goldens),
        cmocka_unit_test(test_the_good_file_is_what_was_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
