/* SPDX-License-Identifier: Apache-2.0 */
/* The writer when things go wrong or get large: disk full, folder gone, two writers, deep stacks,
 * huge names, many definitions, hours of recording. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "../manual_clock.h"
#include "base/vec.h"
#include "sample_recording.h"
#include "trace/profile.h"
#include "wire/perfetto.h"
#include "wire/proto.h"

static struct manual_clock manual; /* of all writers here */

static enum ss_status open_writer(const char *path, struct ss_trace_writer **writer,
                                  struct ss_error *err)
{
    struct ss_trace_writer_options options = {
        .size = sizeof options, .path = path, .clock = &manual.clock};
    return ss_trace_writer_open(&options, writer, err);
}

static void test_a_second_writer_is_refused(void **state)
{
    (void)state;
    const char *path = recording_path("lock");
    struct ss_trace_writer *first, *second;
    struct ss_error err = {0};
    unlink(path);
    MUST(open_writer(path, &first, must_err));
    MUST(ss_trace_writer_tick(first, manual.now.monotonic_ns, NULL, must_err));
    assert_int_equal(open_writer(path, &second, &err), SS_E_BUSY);
    assert_non_null(strstr(err.message, path));
    MUST(ss_trace_writer_close(first, must_err));
    MUST(open_writer(path, &second, must_err)); /* the lock went with the first */
    MUST(ss_trace_writer_close(second, must_err));
    unlink(path);
}

/* There is no empty file: a new one appears with its first unit, and the former content of one that
 * is replaced goes with it. */
static void test_a_file_begins_with_its_first_unit(void **state)
{
    (void)state;
    const char *path = recording_path("begin");
    struct ss_trace_writer *first, *second;
    struct ss_error err = {0};
    struct stat info;
    unlink(path);
    MUST(open_writer(path, &first, must_err));
    MUST(open_writer(path, &second, must_err));
    assert_int_equal(access(path, F_OK), -1);
    MUST(ss_trace_writer_tick(first, manual.now.monotonic_ns, NULL, must_err));
    assert_int_equal(stat(path, &info), 0);
    off_t length = info.st_size;
    assert_true(length > 0);
    assert_int_equal(ss_trace_writer_tick(second, manual.now.monotonic_ns, NULL, &err), SS_E_BUSY);
    assert_non_null(strstr(err.message, path));
    ss_trace_writer_close(second, NULL);
    MUST(ss_trace_writer_close(first, must_err));
    assert_int_equal(stat(path, &info), 0);
    length = info.st_size;
    MUST(open_writer(path, &first, must_err));
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_size, length); /* the one before, until there is another */
    MUST(ss_trace_writer_close(first, must_err));
    unlink(path);
}

static void test_what_cannot_be_a_trace_file(void **state)
{
    (void)state;
    struct ss_trace_writer *writer;
    struct ss_error err = {0};
    char path[600];
    snprintf(path, sizeof path, "%s", recording_path("odd"));
    assert_int_equal(symlink("/etc/passwd", path), 0);
    assert_int_equal(open_writer(path, &writer, &err), SS_E_PERMISSION);
    assert_non_null(strstr(err.message, "symbolic link"));
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_not_equal(open_writer(path, &writer, &err), SS_OK); /* and does not hang */
    unlink(path);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_not_equal(open_writer(path, &writer, &err), SS_OK);
    rmdir(path);
    assert_int_equal(open_writer("/no/such/folder/x.pftrace", &writer, &err), SS_E_NOTFOUND);
}

/* An existing file of any mode is replaced and private afterwards. */
static void test_an_existing_file_is_replaced(void **state)
{
    (void)state;
    const char *path = recording_path("old");
    static const char long_text[5000] = "x";
    recording_put_bytes(path, long_text, sizeof long_text);
    chmod(path, 0644);
    struct ss_trace_writer *writer;
    MUST(open_writer(path, &writer, must_err));
    MUST(ss_trace_writer_close(writer, must_err));
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    assert_true(status.st_size < 1000);
    struct ss_trace_visitor silent = {0};
    struct ss_trace_summary summary;
    MUST(ss_trace_read(path, &silent, NULL, &summary, must_err));
    assert_int_equal(summary.lost_bytes, 0);
    unlink(path);
}

/* Samples until the writer fails; the status it fails with. */
static enum ss_status write_until_failure(struct ss_trace_writer *writer, struct ss_error *err)
{
    struct recording recording = {.seconds = 1, .rate_hz = 100};
    for (uint32_t i = 0; i < 2000000; i++) {
        struct ss_trace_sample sample = recording_sample(&recording, i);
        enum ss_status status = ss_trace_writer_sample(writer, &sample, err);
        if (status != SS_OK) {
            return status;
        }
    }
    return SS_OK;
}

static void expect_sticky(struct ss_trace_writer *writer, enum ss_status expected)
{
    struct ss_error err = {0};
    struct ss_trace_sample sample = {.thread_ref = 1, .weight = 1};
    struct ss_trace_writer_stats before, after;
    ss_trace_writer_get_stats(writer, &before);
    assert_int_equal(ss_trace_writer_sample(writer, &sample, &err), expected);
    assert_int_equal(ss_trace_writer_tick(writer, UINT64_MAX / 2, NULL, &err), expected);
    ss_trace_writer_get_stats(writer, &after);
    assert_int_equal(before.bytes_written, after.bytes_written);
    assert_int_equal(ss_trace_writer_close(writer, &err), expected);
    assert_true(strlen(err.message) > 10);
}

static void test_dev_full(void **state)
{
    (void)state;
    struct ss_trace_writer *writer;
    MUST(open_writer("/dev/full", &writer, must_err));
    recording_define(writer);
    struct ss_error err = {0};
    assert_int_equal(write_until_failure(writer, &err), SS_E_NOSPACE);
    assert_non_null(strstr(err.message, "/dev/full"));
    expect_sticky(writer, SS_E_NOSPACE);
}

/* Units that threads compress are written later: at the latest at the end. */
static void test_dev_full_with_threads(void **state)
{
    (void)state;
    for (int is_short = 0; is_short < 2; is_short++) {
        const struct ss_trace_writer_options options = {
            .size = sizeof options, .path = "/dev/full", .clock = &manual.clock, .threads = 2};
        struct ss_trace_writer *writer;
        struct ss_error err = {0};
        MUST(ss_trace_writer_open(&options, &writer, must_err));
        recording_define(writer);
        if (is_short) {
            assert_int_equal(ss_trace_writer_flush(writer, &err), SS_E_NOSPACE);
        } else {
            assert_int_equal(write_until_failure(writer, &err), SS_E_NOSPACE);
        }
        assert_non_null(strstr(err.message, "/dev/full"));
        expect_sticky(writer, SS_E_NOSPACE);
    }
    struct ss_trace_writer *writer;
    struct ss_error err = {0};
    const struct ss_trace_writer_options options = {
        .size = sizeof options, .path = "/dev/full", .clock = &manual.clock, .threads = 2};
    MUST(ss_trace_writer_open(&options, &writer, must_err));
    recording_define(writer);
    assert_int_equal(ss_trace_writer_close(writer, &err), SS_E_NOSPACE);
}

/* A limit on the file's size stands for a full disk: a write that fits in part, then none. */
static void full_disk_child(const char *path)
{
    signal(SIGXFSZ, SIG_DFL); /* would end the process if the writer let it */
    struct rlimit limit = {300000, 300000};
    setrlimit(RLIMIT_FSIZE, &limit);
    struct ss_trace_writer *writer;
    struct ss_error err = {0};
    if (open_writer(path, &writer, &err) != SS_OK) {
        _exit(10);
    }
    recording_define(writer);
    if (write_until_failure(writer, &err) != SS_E_NOSPACE) {
        _exit(11);
    }
    _exit(ss_trace_writer_close(writer, &err) == SS_E_NOSPACE ? 0 : 12);
}

static enum ss_status find_full(void *context, const struct ss_trace_note *note)
{
    bool *is_said = context;
    *is_said |= ss_strview_equal(note->kind, ss_strview_of("disk-full")) &&
                memmem(note->text.data, note->text.length, "File too large", 14) != NULL;
    return SS_OK;
}

static void test_a_full_disk_leaves_whole_units(void **state)
{
    (void)state;
    const char *path = recording_path("full");
    pid_t child = fork();
    if (child == 0) {
        full_disk_child(path);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    bool is_said = false;
    struct ss_trace_visitor visitor = {.note = find_full};
    struct ss_trace_summary summary;
    MUST(ss_trace_read(path, &visitor, &is_said, &summary, must_err));
    assert_true(summary.samples > 1000);
    assert_int_equal(summary.lost_bytes, 0); /* the unit that did not fit was cut off again */
    assert_true(summary.sealed);             /* a small one fitted, which says so */
    assert_true(is_said);
    unlink(path);
}

static void test_the_folder_or_the_file_goes(void **state)
{
    (void)state;
    char folder[600], path[700], other[700];
    snprintf(folder, sizeof folder, "%s.d", recording_path("gone"));
    snprintf(path, sizeof path, "%s/x.pftrace", folder);
    snprintf(other, sizeof other, "%s/y.pftrace", folder);
    for (int how = 0; how < 3; how++) {
        assert_int_equal(mkdir(folder, 0700), 0);
        struct ss_trace_writer *writer;
        MUST(open_writer(path, &writer, must_err));
        recording_define(writer);
        MUST(ss_trace_writer_tick(writer, manual.now.monotonic_ns, NULL, must_err));
        if (how == 0) {
            unlink(path);
            rmdir(folder);
        } else if (how == 1) {
            rename(path, other);
        } else {
            recording_put_bytes(other, "other", 5);
            rename(other, path);
        }
        struct ss_error err = {0};
        assert_int_equal(ss_trace_writer_tick(
                             writer, manual.now.monotonic_ns + 5 * RECORDING_SECOND, NULL, &err),
                         SS_E_NOTFOUND);
        assert_non_null(strstr(err.message, "removed or replaced"));
        expect_sticky(writer, SS_E_NOTFOUND);
        unlink(path);
        unlink(other);
        rmdir(folder);
    }
}

/* The newest stack's depth, and the longest name, as the reader returns them. */
struct extremes {
    struct ss_vec_of(uint32_t) depths;
    uint32_t deepest, samples, partial;
    size_t longest;
};

static enum ss_status on_frame(void *context, const struct ss_trace_frame *frame)
{
    struct extremes *extremes = context;
    size_t length = frame->function.length;
    extremes->longest = length > extremes->longest ? length : extremes->longest;
    return SS_OK;
}

static enum ss_status on_stack(void *context, const struct ss_trace_stack *stack)
{
    struct extremes *extremes = context;
    uint32_t depth = 1;
    if (stack->parent_ref > 0) {
        depth += extremes->depths.data[stack->parent_ref - 1];
    }
    ss_vec_push(&extremes->depths, depth);
    extremes->deepest = depth > extremes->deepest ? depth : extremes->deepest;
    return SS_OK;
}

static enum ss_status on_sample(void *context, const struct ss_trace_sample *sample)
{
    struct extremes *extremes = context;
    extremes->samples++;
    extremes->partial += sample->partial;
    return SS_OK;
}

static const struct ss_trace_visitor extremes_visitor = {
    .frame = on_frame, .stack = on_stack, .sample = on_sample};

static void check_packet_sizes(const char *path)
{
    size_t length;
    uint8_t *bytes = recording_bytes(path, &length);
    struct ss_wire_cursor cursor = {bytes, bytes + length};
    struct ss_wire_field field;
    while (ss_wire_next(&cursor, &field) == SS_WIRE_FIELD) {
        assert_true(field.value < 512 * 1024); /* Perfetto's bound */
    }
    assert_ptr_equal(cursor.at, cursor.end);
    ss_free(bytes);
}

static void read_extremes(const char *path, struct extremes *extremes)
{
    *extremes = (struct extremes){0};
    struct ss_trace_summary summary;
    MUST(ss_trace_read(path, &extremes_visitor, extremes, &summary, must_err));
    assert_int_equal(summary.lost_bytes, 0);
    assert_int_equal(summary.lost_samples, 0);
    ss_vec_fini(&extremes->depths);
    check_packet_sizes(path);
}

static void test_deep_stacks(void **state)
{
    (void)state;
    const char *path = recording_path("deep");
    for (int compression = -1; compression <= 0; compression++) {
        struct ss_trace_writer_options options = {.size = sizeof options,
                                                  .path = path,
                                                  .compression = compression,
                                                  .clock = &manual.clock};
        struct ss_trace_writer *writer;
        MUST(ss_trace_writer_open(&options, &writer, must_err));
        recording_define(writer);
        enum { DEPTH = 20000, FIRST = RECORDING_STACKS + 1 };
        for (uint32_t i = 0; i < DEPTH; i++) {
            PUT(stack, writer, FIRST + i, i == 0 ? 0 : FIRST + i - 1, 1 + i % RECORDING_STACKS);
        }
        for (uint32_t i = 0; i < 200; i++) {
            uint32_t depth = i == 0 ? DEPTH : 4096 + i;
            struct ss_trace_sample sample = {.time_ns = manual.now.monotonic_ns,
                                             .thread_ref = 1,
                                             .stack_ref = FIRST + depth - 1,
                                             .weight = 1,
                                             .step = -1};
            MUST(ss_trace_writer_sample(writer, &sample, must_err));
        }
        MUST(ss_trace_writer_close(writer, must_err));
        struct extremes extremes;
        read_extremes(path, &extremes);
        assert_int_equal(extremes.deepest, SS_MAX_STACK_DEPTH);
        assert_int_equal(extremes.samples, 200);
        assert_int_equal(extremes.partial, 1); /* the one that was cut says so */
    }
    unlink(path);
}

/* One stack of a thousand frames, each with other names of 20 KB: many units of definitions. */
static void test_huge_names(void **state)
{
    (void)state;
    const char *path = recording_path("huge");
    struct ss_trace_writer *writer;
    MUST(open_writer(path, &writer, must_err));
    recording_define(writer);
    enum { FRAMES = 1000, NAME = 20000 };
    char *name = ss_alloc(NAME);
    uint64_t noise = 7;
    for (uint32_t i = 1; i <= FRAMES; i++) {
        for (int c = 0; c < NAME; c++) {
            noise = noise * UINT64_C(6364136223846793005) + 1442695040888963407u;
            name[c] = (char)(noise >> 56);
        }
        struct ss_strview text = {name, NAME};
        uint32_t ref = RECORDING_STACKS + i;
        PUT(frame, writer, .ref = ref, .function = text, .name = text, .file = text);
        PUT(stack, writer, ref, i == 1 ? 0 : ref - 1, ref);
    }
    ss_free(name);
    struct ss_trace_sample sample = {.time_ns = manual.now.monotonic_ns,
                                     .thread_ref = 1,
                                     .stack_ref = RECORDING_STACKS + FRAMES,
                                     .weight = 1,
                                     .step = -1};
    MUST(ss_trace_writer_sample(writer, &sample, must_err));
    MUST(ss_trace_writer_close(writer, must_err));
    struct extremes extremes;
    read_extremes(path, &extremes);
    assert_int_equal(extremes.deepest, FRAMES);
    assert_int_equal(extremes.longest, SS_MAX_TEXT_BYTES);
    assert_int_equal(extremes.samples, 1);
    unlink(path);
}

static void test_wild_refs_are_refused(void **state)
{
    (void)state;
    const char *path = recording_path("refs");
    struct ss_trace_writer *writer;
    MUST(open_writer(path, &writer, must_err));
    recording_define(writer);
    struct ss_error err = {0};
    struct ss_trace_sample sample = {.thread_ref = 99, .weight = 1};
    assert_int_equal(ss_trace_writer_sample(writer, &sample, &err), SS_E_BUG);
    sample = (struct ss_trace_sample){.thread_ref = 1, .stack_ref = 5000, .weight = 1};
    assert_int_equal(ss_trace_writer_sample(writer, &sample, &err), SS_E_BUG);
    struct ss_trace_stack stack = {900, 899, 1};
    assert_int_equal(ss_trace_writer_stack(writer, &stack, &err), SS_E_BUG);
    struct ss_trace_frame frame = {.ref = UINT32_MAX};
    assert_int_equal(ss_trace_writer_frame(writer, &frame, &err), SS_E_BUG);
    sample.stack_ref = 1; /* none of it harmed the writer */
    MUST(ss_trace_writer_sample(writer, &sample, must_err));
    MUST(ss_trace_writer_close(writer, must_err));
    unlink(path);
}

/* An hour at 100 Hz with stacks that go on being new: bounded memory, and small on disk. */
static void test_an_hour(void **state)
{
    (void)state;
    const char *path = recording_path("hour");
    struct ss_trace_writer_options options = {.size = sizeof options, .path = path, .replay = true};
    struct ss_trace_writer *writer;
    MUST(ss_trace_writer_open(&options, &writer, must_err));
    recording_define(writer);
    struct recording recording = {.rate_hz = 100};
    struct ss_trace_writer_stats stats;
    size_t after_a_minute = 0;
    for (uint32_t second = 0; second < 3600; second++) {
        uint64_t now = RECORDING_START + second * RECORDING_SECOND;
        PUT(clock, writer, now, now, now, now, 50);
        uint32_t ref = RECORDING_STACKS + 1 + second; /* a new stack every second */
        PUT(stack, writer, ref, 19, 1 + second % RECORDING_STACKS);
        for (uint32_t i = 0; i < recording.rate_hz; i++) {
            struct ss_trace_sample sample =
                recording_sample(&recording, second * recording.rate_hz + i);
            sample.stack_ref = i == 0 ? ref : sample.stack_ref;
            sample.step = -1;
            MUST(ss_trace_writer_sample(writer, &sample, must_err));
        }
        if (second == 60) {
            ss_trace_writer_get_stats(writer, &stats);
            after_a_minute = stats.memory_bytes;
        }
    }
    ss_trace_writer_get_stats(writer, &stats);
    MUST(ss_trace_writer_close(writer, must_err));
    assert_true(after_a_minute < 2 * 1024 * 1024);
    assert_true(stats.memory_bytes < after_a_minute + 1024 * 1024);
    assert_true(stats.bytes_written < stats.samples * 16);
    unlink(path);
}

static struct ss_wire_cursor find_field(struct ss_wire_cursor cursor, uint32_t number)
{
    struct ss_wire_field field;
    while (ss_wire_next(&cursor, &field) == SS_WIRE_FIELD) {
        if (field.number == number) {
            return field.body;
        }
    }
    return (struct ss_wire_cursor){0};
}

/* Of the reading of the monotonic clock in a packet; 0: it has none. */
static uint64_t monotonic_of(struct ss_wire_cursor packet)
{
    struct ss_wire_cursor snapshot = find_field(packet, SS_PF_CLOCK_SNAPSHOT);
    struct ss_wire_field clock, field;
    while (ss_wire_next(&snapshot, &clock) == SS_WIRE_FIELD) {
        uint64_t id = 0, time_ns = 0;
        while (ss_wire_next(&clock.body, &field) == SS_WIRE_FIELD) {
            id = field.number == SS_PF_CLOCK_ID ? field.value : id;
            time_ns = field.number == SS_PF_CLOCK_TIME ? field.value : time_ns;
        }
        if (clock.number == SS_PF_CLOCKS && id == SS_PF_MONOTONIC) {
            return time_ns;
        }
    }
    return 0;
}

/* Units whose samples are older than the unit before, with and without a clock reading of their
 * own: the readings that Perfetto sees never go back. */
static void test_clock_readings_never_go_back(void **state)
{
    (void)state;
    const char *path = recording_path("back");
    struct ss_trace_writer_options options = {
        .size = sizeof options, .path = path, .compression = -1, .unit_bytes = 256, .replay = true};
    struct ss_trace_writer *writer;
    MUST(ss_trace_writer_open(&options, &writer, must_err));
    recording_define(writer);
    struct recording recording = {.rate_hz = 100};
    for (uint32_t i = 0; i < 1000; i++) {
        struct ss_trace_sample sample = recording_sample(&recording, 1000 - i);
        MUST(ss_trace_writer_sample(writer, &sample, must_err));
        if (i % 300 == 100) {
            uint64_t now = sample.time_ns;
            PUT(clock, writer, now, now, now, now, 50);
        }
    }
    MUST(ss_trace_writer_close(writer, must_err));
    size_t length, readings = 0;
    uint8_t *bytes = recording_bytes(path, &length);
    struct ss_wire_cursor cursor = {bytes, bytes + length};
    struct ss_wire_field packet;
    uint64_t newest_ns = 0;
    while (ss_wire_next(&cursor, &packet) == SS_WIRE_FIELD) {
        uint64_t time_ns = monotonic_of(packet.body);
        readings += time_ns != 0;
        assert_true(time_ns == 0 || time_ns >= newest_ns);
        newest_ns = time_ns != 0 ? time_ns : newest_ns;
    }
    assert_true(readings > 20);
    ss_free(bytes);
    struct extremes extremes;
    read_extremes(path, &extremes);
    assert_int_equal(extremes.samples, 1000);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_second_writer_is_refused),
        cmocka_unit_test(test_a_file_begins_with_its_first_unit),
        cmocka_unit_test(test_what_cannot_be_a_trace_file),
        cmocka_unit_test(test_an_existing_file_is_replaced),
        cmocka_unit_test(test_dev_full),
        cmocka_unit_test(test_dev_full_with_threads),
        cmocka_unit_test(test_a_full_disk_leaves_whole_units),
        cmocka_unit_test(test_the_folder_or_the_file_goes),
        cmocka_unit_test(test_deep_stacks),
        cmocka_unit_test(test_huge_names),
        cmocka_unit_test(test_wild_refs_are_refused),
        cmocka_unit_test(test_an_hour),
        cmocka_unit_test(test_clock_readings_never_go_back),
    };
    manual_clock_init(&manual, RECORDING_START);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
