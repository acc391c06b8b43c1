/* SPDX-License-Identifier: Apache-2.0 */
/* Sparse files: long holes that belong to no unit are left out, and nothing else is. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "sample_recording.h"
#include "trace/holes.h"

enum { MIB = 1 << 20, BLOCK = 4096 };

static const struct recording base = {.seconds = 40, .rate_hz = 50};

struct fixture {
    const char *path;
    uint8_t *bytes;
    size_t length, second_unit; /* where the second unit begins */
};

static int setup(void **state)
{
    static struct fixture fixture;
    static const uint8_t marker[] = {0xa2, 0x02, 0x10, 0x82, 0x47, 0x7a};
    fixture.path = recording_path("holes");
    recording_write(&base, fixture.path);
    fixture.bytes = recording_bytes(fixture.path, &fixture.length);
    const uint8_t *second = memmem(fixture.bytes + 8, fixture.length - 8, marker, sizeof marker);
    assert_non_null(second);
    fixture.second_unit = (size_t)(second - fixture.bytes) - 2;
    *state = &fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    unlink(fixture->path);
    ss_free(fixture->bytes);
    return 0;
}

/* The recording with a hole of `hole` bytes before its byte `at`, and `end` bytes in all. */
static void write_with_hole(const struct fixture *fixture, size_t at, size_t hole, off_t end)
{
    struct stat status;
    int fd = open(fixture->path, O_WRONLY | O_TRUNC);
    assert_int_equal(pwrite(fd, fixture->bytes, at, 0), at);
    assert_int_equal(pwrite(fd, fixture->bytes + at, fixture->length - at, (off_t)(at + hole)),
                     fixture->length - at);
    assert_int_equal(ftruncate(fd, end), 0);
    assert_int_equal(fstat(fd, &status), 0);
    close(fd);
    if (hole >= MIB && status.st_blocks * 512 > (off_t)fixture->length + 16 * BLOCK) {
        skip(); /* a file system without holes */
    }
}

static void check_parts(const struct fixture *fixture, uint64_t left_out)
{
    struct ss_trace_parts parts;
    struct stat status;
    size_t length;
    uint8_t *file = recording_bytes(fixture->path, &length);
    uint8_t *whole = ss_alloc(length);
    size_t at = 0;
    MUST(ss_trace_parts_init(&parts, fixture->path, must_err));
    for (size_t i = 0; i < parts.rows.count; i++) {
        memcpy(whole + at, file + parts.rows.data[i].offset, parts.rows.data[i].length);
        at += parts.rows.data[i].length;
    }
    assert_int_equal(stat(fixture->path, &status), 0);
    assert_int_equal(parts.left_out_bytes, left_out);
    assert_int_equal(parts.bytes, at);
    assert_int_equal(parts.bytes + left_out, status.st_size);
    if (left_out > 0) {
        assert_int_equal(at, fixture->length);
        assert_memory_equal(whole, fixture->bytes, at);
    }
    ss_trace_parts_fini(&parts);
    ss_free(whole);
    ss_free(file);
}

static void test_a_file_without_holes_is_one_part(void **state)
{
    struct fixture *fixture = *state;
    write_with_hole(fixture, fixture->length, 0, (off_t)fixture->length);
    check_parts(fixture, 0);
}

static void test_a_hole_at_the_end(void **state)
{
    struct fixture *fixture = *state;
    write_with_hole(fixture, fixture->length, 0, (off_t)fixture->length + 9 * MIB + 7);
    check_parts(fixture, 9 * MIB + 7);
}

static void test_a_hole_between_units(void **state)
{
    struct fixture *fixture = *state;
    write_with_hole(fixture, fixture->second_unit, 5 * MIB + 123,
                    (off_t)fixture->length + 5 * MIB + 123);
    check_parts(fixture, 5 * MIB + 123);
}

static void test_a_short_hole_stays(void **state)
{
    struct fixture *fixture = *state;
    write_with_hole(fixture, fixture->length, 0, (off_t)fixture->length + MIB / 2);
    check_parts(fixture, 0);
}

static void test_a_file_that_is_not_there(void **state)
{
    struct ss_trace_parts parts;
    struct ss_error err = {0};
    (void)state;
    assert_int_not_equal(ss_trace_parts_init(&parts, "/nowhere/t.pftrace", &err), SS_OK);
    assert_non_null(strstr(err.message, "/nowhere/t.pftrace"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_file_without_holes_is_one_part),
        cmocka_unit_test(test_a_hole_at_the_end),
        cmocka_unit_test(test_a_hole_between_units),
        cmocka_unit_test(test_a_short_hole_stays),
        cmocka_unit_test(test_a_file_that_is_not_there),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
