/* SPDX-License-Identifier: Apache-2.0 */
/* A recording with known content for the tests of trace/: three threads of two processes, stacks
 * that grow and shrink, odd names. Deterministic but for the trace's uuid. */
#ifndef SS_TESTS_SAMPLE_RECORDING_H
#define SS_TESTS_SAMPLE_RECORDING_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "trace/reader.h"
#include "trace/writer.h"
#include "trace/writer_entities.h"

enum { RECORDING_STACKS = 60, RECORDING_THREADS = 3 };
#define RECORDING_START UINT64_C(5000000000000)
#define RECORDING_SECOND UINT64_C(1000000000)

struct recording {
    unsigned seconds, rate_hz;
    struct ss_trace_writer_options options; /* path, replay are set here */
};

#define MUST(call)                                                                                 \
    do {                                                                                           \
        struct ss_error must_storage = {0};                                                        \
        struct ss_error *must_err = &must_storage;                                                 \
        if ((call) != SS_OK) {                                                                     \
            fail_msg("%s:%d: %s", __FILE__, __LINE__, must_storage.message);                       \
        }                                                                                          \
    } while (0)

/* Writes one record: PUT(track, writer, .ref = 1, .kind = SS_TRACK_STEPS, .process_ref = 2); */
#define PUT(record, writer, ...)                                                                   \
    MUST(ss_trace_writer_##record(writer, &(struct ss_trace_##record){__VA_ARGS__}, must_err))

static inline const char *recording_path(const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/trace-%s-%d.pftrace", SS_TEST_BINARY_DIR, name, getpid());
    return path;
}

static inline void recording_define(struct ss_trace_writer *writer)
{
    static const struct ss_strview odd = {"semi;colon \0 and \xff\xfe", 19};
    PUT(attribute, writer, .key = ss_strview_of("command"), .text = odd);
    PUT(attribute, writer, .key = ss_strview_of("cpu_count"), .is_integer = true, .integer = -4);
    PUT(source, writer, .ref = 1, .name = ss_strview_of("python"), .status = SS_SOURCE_RAN,
        .reason = ss_strview_of("why"));
    for (uint32_t i = 1; i <= 2; i++) {
        PUT(process, writer, .ref = i, .parent_ref = i - 1, .pid = 1000 + (int)i,
            .start_time_ticks = 77 + i, .name = odd, .cmdline = odd);
    }
    for (uint32_t i = 1; i <= RECORDING_THREADS; i++) {
        PUT(thread, writer, .ref = i, .process_ref = 1 + i % 2, .tid = 2000 + (int)i,
            .is_main = i == 1, .name = odd);
    }
    for (uint32_t i = 1; i <= RECORDING_STACKS; i++) {
        char name[32];
        snprintf(name, sizeof name, "Outer.function_%u", i);
        PUT(frame, writer, .ref = i, .function = ss_strview_of(name),
            .name = ss_strview_of(name + 6), .file = odd, .line = (int)i * 2, .first_line = (int)i,
            .kind = SS_FRAME_INTERPRETED);
        PUT(stack, writer, i, i % 20 == 1 ? 0 : i - 1, i);
    }
}

/* What sample number `i` is. */
static inline struct ss_trace_sample recording_sample(const struct recording *recording, uint32_t i)
{
    return (struct ss_trace_sample){
        .time_ns = RECORDING_START + i * (RECORDING_SECOND / recording->rate_hz) + i % 7 * 1000,
        .thread_ref = 1 + i % RECORDING_THREADS,
        .stack_ref = i % 11 == 0 ? 0 : 1 + i * 13 % RECORDING_STACKS,
        .weight = 1 + i % 5,
        .state = (enum ss_thread_state)(i % SS_STATE_COUNT),
        .gil = (enum ss_gil_state)(i % SS_GIL_COUNT),
        .wait = (enum ss_wait_kind)(i % SS_WAIT_COUNT),
        .partial = i % 17 == 0,
        .step = i % 3 == 0 ? -1 : (int64_t)i};
}

/* A writer of records with times of their own, which has the definitions. */
static inline struct ss_trace_writer *recording_open(const char *path)
{
    struct ss_trace_writer_options options = {.size = sizeof options, .path = path, .replay = true};
    struct ss_trace_writer *writer;
    MUST(ss_trace_writer_open(&options, &writer, must_err));
    recording_define(writer);
    return writer;
}

static inline void recording_write(const struct recording *recording, const char *path)
{
    struct ss_trace_writer_options options = recording->options;
    options.size = sizeof options;
    options.path = path;
    options.replay = true;
    struct ss_trace_writer *writer;
    MUST(ss_trace_writer_open(&options, &writer, must_err));
    recording_define(writer);
    uint32_t number = 0;
    for (unsigned second = 0; second < recording->seconds; second++) {
        uint64_t now = RECORDING_START + second * RECORDING_SECOND;
        PUT(clock, writer, now, now + 5, now - 9, now + (UINT64_C(1) << 60), 50);
        for (unsigned i = 0; i < recording->rate_hz; i++) {
            struct ss_trace_sample sample = recording_sample(recording, number++);
            MUST(ss_trace_writer_sample(writer, &sample, must_err));
        }
        struct ss_trace_counts counts = {
            .source_ref = 1, .time_ns = now, .due = number, .done = number, .lost = second};
        MUST(ss_trace_writer_counts(writer, &counts, must_err));
    }
    PUT(note, writer, .time_ns = RECORDING_START, .process_ref = 2,
        .kind = ss_strview_of("process-exit"), .value = 9);
    MUST(ss_trace_writer_close(writer, must_err));
}

/* The whole file; free with ss_free. */
static inline uint8_t *recording_bytes(const char *path, size_t *length)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    struct stat status;
    assert_int_equal(fstat(fileno(file), &status), 0);
    *length = (size_t)status.st_size;
    uint8_t *bytes = ss_alloc(*length + 1);
    assert_int_equal(fread(bytes, 1, *length, file), *length);
    fclose(file);
    return bytes;
}

static inline void recording_put_bytes(const char *path, const void *bytes, size_t length)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

#endif
