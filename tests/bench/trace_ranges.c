/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traces of ranges and counters, made without a program.
 *
 *   trace_ranges sample FILE         a small training with everything that lies on tracks: three
 *                                    steps of 100 ms, known to the nanosecond (the tests know them)
 *   trace_ranges flood FILE          millions of equal ranges in a small file
 *   trace_ranges dense FILE          as many as a program can make in seven seconds: one loop
 * around one range, with times that differ by some nanoseconds trace_ranges bench COUNT rates and
 * sizes of COUNT ranges, for tests/bench/run
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../random.h"
#include "base/clock.h"
#include "model/core/model.h"
#include "trace/reader.h"
#include "trace/writer.h"
#include "trace/writer_entities.h"
#include "trace/writer_tracks.h"

#define MS UINT64_C(1000000)
#define START (UINT64_C(5000) * 1000 * MS)

static void must(enum ss_status status, const struct ss_error *err)
{
    if (status != SS_OK) {
        fprintf(stderr, "trace_ranges: %s\n", err->message);
        exit(1);
    }
}

#define MUST(call)                                                                                 \
    do {                                                                                           \
        struct ss_error err_ = {0}, *err = &err_;                                                  \
        must((call), err);                                                                         \
    } while (0)

static struct ss_trace_writer *open_writer(const char *path, int compression)
{
    struct ss_trace_writer *writer;
    struct ss_trace_writer_options options = {
        .size = sizeof options, .path = path, .compression = compression, .replay = true};
    MUST(ss_trace_writer_open(&options, &writer, err));
    return writer;
}

static void put_clock(struct ss_trace_writer *writer, uint64_t now)
{
    struct ss_trace_clock clock = {now, now + 7000 * MS, now - 12345,
                                   now + UINT64_C(1700000000000) * MS, 90};
    MUST(ss_trace_writer_clock(writer, &clock, err));
}

static void put_name(struct ss_trace_writer *writer, uint32_t ref, const char *text,
                     const char *category, uint32_t colour)
{
    struct ss_trace_name name = {.ref = ref,
                                 .text = ss_strview_of(text),
                                 .category = ss_strview_of(category),
                                 .colour = colour};
    MUST(ss_trace_writer_name(writer, &name, err));
}

static void put_track(struct ss_trace_writer *writer, struct ss_trace_track track, const char *name,
                      const char *unit)
{
    track.name = ss_strview_of(name);
    track.unit = ss_strview_of(unit);
    MUST(ss_trace_writer_track(writer, &track, err));
}

static void put_process(struct ss_trace_writer *writer)
{
    static const char *const threads[] = {"MainThread", "loader"};
    MUST(ss_trace_writer_attribute(
        writer,
        &(struct ss_trace_attribute){.key = ss_strview_of("rate_hz"), .text = ss_strview_of("100")},
        err));
    MUST(ss_trace_writer_source(writer,
                                &(struct ss_trace_source){.ref = 1,
                                                          .name = ss_strview_of("python"),
                                                          .status = SS_SOURCE_RAN},
                                err));
    MUST(ss_trace_writer_process(
        writer,
        &(struct ss_trace_process){.ref = 1,
                                   .pid = 4242,
                                   .start_time_ticks = 99,
                                   .cmdline = ss_strview_of("python train.py"),
                                   .name = ss_strview_of("train.py")},
        err));
    for (uint32_t i = 0; i < 2; i++) {
        MUST(ss_trace_writer_thread(writer,
                                    &(struct ss_trace_thread){.ref = i + 1,
                                                              .process_ref = 1,
                                                              .tid = 4242 + (int32_t)i,
                                                              .is_main = i == 0,
                                                              .name = ss_strview_of(threads[i])},
                                    err));
    }
}

/* --- the sample ----------------------------------------------------------------------------- */

enum { MAIN = 1, LOADER, DNN, STEPS, PHASES, HOST, DISK, MEMORY, READS, LOSS, TOKENS, FETCHES };
enum { FORWARD = 1, ATTENTION, BACKWARD, UPDATE, LOAD, MATMUL, SAVED, FETCH, OPEN, WORK };

static void define_sample(struct ss_trace_writer *writer)
{
    put_process(writer);
    put_track(writer, (struct ss_trace_track){.ref = MAIN, .thread_ref = 1}, "", "");
    put_track(writer, (struct ss_trace_track){.ref = LOADER, .thread_ref = 2}, "", "");
    put_track(writer, (struct ss_trace_track){.ref = DNN, .thread_ref = 1}, "oneDNN", "");
    put_track(writer,
              (struct ss_trace_track){.ref = STEPS, .kind = SS_TRACK_STEPS, .thread_ref = 1},
              "step", "");
    put_track(writer,
              (struct ss_trace_track){.ref = PHASES, .kind = SS_TRACK_PHASES, .thread_ref = 1},
              "phase", "");
    put_track(writer, (struct ss_trace_track){.ref = HOST, .kind = SS_TRACK_GROUP, .rank = 1000},
              "host", "");
    put_track(writer,
              (struct ss_trace_track){.ref = DISK, .kind = SS_TRACK_GROUP, .parent_ref = HOST},
              "disk sda", "");
    put_track(writer,
              (struct ss_trace_track){.ref = MEMORY, .kind = SS_TRACK_COUNTER, .parent_ref = HOST},
              "memory used", "bytes");
    put_track(writer,
              (struct ss_trace_track){.ref = READS,
                                      .kind = SS_TRACK_COUNTER,
                                      .parent_ref = DISK,
                                      .counter = SS_COUNTER_CUMULATIVE},
              "read", "bytes");
    put_track(writer,
              (struct ss_trace_track){.ref = LOSS, .kind = SS_TRACK_COUNTER, .process_ref = 1},
              "loss", "");
    put_track(
        writer,
        (struct ss_trace_track){
            .ref = TOKENS, .kind = SS_TRACK_COUNTER, .process_ref = 1, .counter = SS_COUNTER_DELTA},
        "tokens", "count");
    put_track(writer,
              (struct ss_trace_track){.ref = FETCHES, .kind = SS_TRACK_ASYNC, .process_ref = 1},
              "fetches", "");
    put_name(writer, FORWARD, "forward", "compute", 0xff2e7d32);
    put_name(writer, ATTENTION, "attention", "compute", 0);
    put_name(writer, BACKWARD, "backward", "compute", 0);
    put_name(writer, UPDATE, "update", "", 0);
    put_name(writer, LOAD, "load batch", "io", 0);
    put_name(writer, MATMUL, "matmul", "", 0);
    put_name(writer, SAVED, "checkpoint saved", "io", 0);
    put_name(writer, FETCH, "fetch", "io", 0);
    put_name(writer, OPEN, "evaluate", "", 0);
    MUST(ss_trace_writer_frame(writer,
                               &(struct ss_trace_frame){.ref = 1,
                                                        .function = ss_strview_of("train"),
                                                        .name = ss_strview_of("train"),
                                                        .file = ss_strview_of("/home/u/train.py"),
                                                        .line = 12,
                                                        .first_line = 3,
                                                        .kind = SS_FRAME_INTERPRETED},
                               err));
    MUST(ss_trace_writer_stack(writer, &(struct ss_trace_stack){1, 0, 1}, err));
}

static void put_range(struct ss_trace_writer *writer, uint32_t track, uint32_t name, uint64_t from,
                      uint64_t to)
{
    struct ss_trace_event begin = {.time_ns = from, .track_ref = track, .name_ref = name};
    MUST(ss_trace_writer_range(writer, &begin, to, err));
}

static void put_value(struct ss_trace_writer *writer, uint32_t track, uint64_t time_ns,
                      int64_t value)
{
    struct ss_trace_counter counter = {
        .time_ns = time_ns, .track_ref = track, .is_integer = true, .integer = value};
    MUST(ss_trace_writer_counter(writer, &counter, err));
}

static void put_numbered(struct ss_trace_writer *writer, uint32_t track, uint64_t number,
                         uint64_t from, uint64_t to)
{
    struct ss_trace_event begin = {
        .time_ns = from, .track_ref = track, .payload = {SS_VALUE_UINT, {.natural = number}}};
    MUST(ss_trace_writer_range(writer, &begin, to, err));
}

/* A step: load [0, 20) on the loader, forward [20, 60) with attention [25, 35) and [40, 50),
 * backward [60, 90), update [90, 100); a matmul of another domain across the end of forward. */
static void put_step(struct ss_trace_writer *writer, uint64_t number, uint64_t at)
{
    put_numbered(writer, STEPS, number, at, at + 100 * MS);
    put_range(writer, PHASES, FORWARD, at + 20 * MS, at + 60 * MS);
    put_range(writer, PHASES, BACKWARD, at + 60 * MS, at + 90 * MS);
    struct ss_trace_event load = {.time_ns = at,
                                  .track_ref = LOADER,
                                  .name_ref = LOAD,
                                  .flow = SS_FLOW_THROUGH,
                                  .flow_id = 1000 + number};
    MUST(ss_trace_writer_range(writer, &load, at + 20 * MS, err));
    struct ss_trace_event forward = {.time_ns = at + 20 * MS,
                                     .track_ref = MAIN,
                                     .name_ref = FORWARD,
                                     .flow = SS_FLOW_END,
                                     .flow_id = 1000 + number,
                                     .payload = {SS_VALUE_INT, {.integer = 32}}};
    MUST(ss_trace_writer_event(writer, &forward, err));
    put_range(writer, MAIN, ATTENTION, at + 25 * MS, at + 35 * MS);
    put_range(writer, MAIN, ATTENTION, at + 40 * MS, at + 50 * MS);
    struct ss_trace_event end = {.time_ns = at + 60 * MS, .track_ref = MAIN, .kind = SS_EVENT_END};
    MUST(ss_trace_writer_event(writer, &end, err));
    put_range(writer, MAIN, BACKWARD, at + 60 * MS, at + 90 * MS);
    put_range(writer, MAIN, UPDATE, at + 90 * MS, at + 100 * MS);
    put_range(writer, DNN, MATMUL, at + 55 * MS, at + 65 * MS);
    for (uint64_t id = 0; id < 2; id++) { /* overlapping */
        struct ss_trace_event fetch = {
            .time_ns = at + id * 10 * MS, .track_ref = FETCHES, .name_ref = FETCH};
        MUST(ss_trace_writer_async_begin(writer, number * 2 + id, &fetch, NULL, err));
    }
    for (uint64_t id = 0; id < 2; id++) {
        struct ss_trace_event done = {.time_ns = at + (30 + id * 10) * MS, .track_ref = FETCHES};
        MUST(ss_trace_writer_async_end(writer, number * 2 + id, &done, NULL, err));
    }
    put_value(writer, MEMORY, at, (int64_t)(number << 30));
    put_value(writer, READS, at, (int64_t)(number * number) << 20);
    put_value(writer, TOKENS, at + 100 * MS, 512);
    struct ss_trace_counter loss = {
        .time_ns = at + 100 * MS, .track_ref = LOSS, .real = 4.0 / (double)number};
    MUST(ss_trace_writer_counter(writer, &loss, err));
}

static void write_sample(const char *path)
{
    struct ss_trace_writer *writer = open_writer(path, 0);
    define_sample(writer);
    put_clock(writer, START);
    for (uint64_t i = 0; i < 36; i++) { /* every 10 ms, in the middle */
        struct ss_trace_sample sample = {.time_ns = START + (i * 10 + 5) * MS,
                                         .thread_ref = 1,
                                         .stack_ref = 1,
                                         .weight = 1,
                                         .state = SS_STATE_ON_CPU,
                                         .step = -1};
        MUST(ss_trace_writer_sample(writer, &sample, err));
    }
    put_clock(writer, START + 1000 * MS); /* what follows is late */
    for (uint64_t step = 1; step <= 3; step++) {
        put_step(writer, step, START + (step - 1) * 100 * MS);
    }
    struct ss_trace_event mark = {.time_ns = START + 300 * MS,
                                  .track_ref = MAIN,
                                  .name_ref = SAVED,
                                  .kind = SS_EVENT_INSTANT,
                                  .payload = {SS_VALUE_TEXT, {.text = ss_strview_of("a.pt")}}};
    MUST(ss_trace_writer_event(writer, &mark, err));
    struct ss_trace_event open = {.time_ns = START + 310 * MS, .track_ref = MAIN, .name_ref = OPEN};
    MUST(ss_trace_writer_event(writer, &open, err)); /* never ends */
    MUST(ss_trace_writer_close(writer, err));
}

/* --- the benchmark -------------------------------------------------------------------------- */

enum { NAMES = 200, THREADS = 4, DEPTH = 4 };

/* A time of its own for each layer and each place in it, up to an eighth longer. */
static uint64_t some_ns(uint32_t place, uint64_t least_ns)
{
    uint64_t steady_ns = least_ns + place * UINT64_C(2654435761) % (8 * least_ns);
    return steady_ns + next_random() % (steady_ns / 8);
}

/* As of training loops: on each thread the layers of a network in turn, each a nest of DEPTH
 * ranges, handed in as drained rings give them. */
static double write_ranges(const char *path, uint64_t count, int compression)
{
    struct ss_trace_writer *writer = open_writer(path, compression);
    put_process(writer);
    for (uint32_t i = 1; i <= THREADS; i++) {
        struct ss_trace_thread thread = {
            .ref = i, .process_ref = 1, .tid = 4241 + (int32_t)i, .name = ss_strview_of("worker")};
        MUST(ss_trace_writer_thread(writer, &thread, err));
        put_track(writer, (struct ss_trace_track){.ref = i, .thread_ref = i}, "", "");
    }
    for (uint32_t i = 1; i <= NAMES; i++) {
        char name[32];
        snprintf(name, sizeof name, "layer%u.forward", i);
        put_name(writer, i, name, "", 0);
    }
    put_clock(writer, START);
    uint32_t next_layer[THREADS + 1] = {0};
    uint64_t now[THREADS + 1] = {0}, next_second = START + 1000 * MS;
    for (uint32_t i = 1; i <= THREADS; i++) {
        now[i] = START;
    }
    uint64_t cpu = ss_clock_thread_cpu_ns();
    for (uint64_t done = 0; done < count;) {
        for (uint32_t t = 1; t <= THREADS; t++) {
            struct ss_trace_event event = {.track_ref = t};
            for (int burst = 0; burst < 64; burst++) { /* what one drain of a ring brings */
                uint32_t layer = next_layer[t]++ % (NAMES / DEPTH) * DEPTH;
                event.kind = SS_EVENT_BEGIN;
                for (uint32_t depth = 0; depth < DEPTH; depth++) {
                    event.time_ns = now[t] += some_ns(layer + depth, 100);
                    event.name_ref = 1 + layer + depth;
                    MUST(ss_trace_writer_event(writer, &event, err));
                }
                event.kind = SS_EVENT_END;
                for (uint32_t depth = 0; depth < DEPTH; depth++) {
                    event.time_ns = now[t] += some_ns(layer + depth, 400);
                    MUST(ss_trace_writer_event(writer, &event, err));
                }
                done += DEPTH;
            }
        }
        if (now[1] > next_second) {
            put_clock(writer, now[1]);
            next_second = now[1] + 1000 * MS;
        }
    }
    MUST(ss_trace_writer_close(writer, err));
    return (double)(ss_clock_thread_cpu_ns() - cpu) / 1e9;
}

static void write_flood(const char *path, uint64_t count, bool is_dense)
{
    struct ss_trace_writer *writer = open_writer(path, 0);
    uint64_t at = START;
    put_process(writer);
    put_track(writer, (struct ss_trace_track){.ref = 1, .thread_ref = 1}, "", "");
    put_name(writer, 1, "flood", "", 0);
    put_clock(writer, START);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t noise = is_dense ? next_random() % 16 : 0;
        put_range(writer, 1, 1, at, at + 100 + noise);
        at += 200 + noise;
    }
    MUST(ss_trace_writer_close(writer, err));
}

static uint64_t events_seen;
static enum ss_status on_event(void *context, const struct ss_trace_event *event)
{
    (void)context;
    (void)event;
    events_seen++;
    return SS_OK;
}

static double best(double so_far, double once)
{
    return once < so_far ? once : so_far;
}

/* Million ranges a second of a core: only the reader, and into the model. */
static void measure_reading(const char *path, double *reader, double *model)
{
    static const struct ss_trace_visitor visitor = {.event = on_event};
    static const struct ss_model_load load = {.size = sizeof load};
    double reader_s = 1e9, model_s = 1e9;
    uint64_t ranges = 0;
    for (int round = 0; round < 3; round++) {
        uint64_t cpu = ss_clock_thread_cpu_ns();
        struct ss_trace_summary summary;
        events_seen = 0;
        MUST(ss_trace_read(path, &visitor, NULL, &summary, err));
        reader_s = best(reader_s, (double)(ss_clock_thread_cpu_ns() - cpu) / 1e9);
        cpu = ss_clock_thread_cpu_ns();
        struct ss_model loaded;
        ss_model_init(&loaded);
        MUST(ss_model_add_input(&loaded, path, &load, err));
        model_s = best(model_s, (double)(ss_clock_thread_cpu_ns() - cpu) / 1e9);
        ranges = loaded.ranges.count;
        if (ranges * 2 != events_seen || loaded.unmatched_ends + loaded.open_ranges > 0) {
            fprintf(stderr, "trace_ranges: ranges were lost\n");
            exit(1);
        }
        ss_model_fini(&loaded);
    }
    *reader = (double)ranges / reader_s / 1e6;
    *model = (double)ranges / model_s / 1e6;
}

static void bench(uint64_t count)
{
    char path[] = "/tmp/trace_ranges_XXXXXX";
    int fd = mkstemp(path);
    if (fd < 0) {
        perror("mkstemp");
        exit(1);
    }
    close(fd);
    double plain_s = 1e9;
    for (int round = 0; round < 3; round++) {
        plain_s = best(plain_s, write_ranges(path, count, -1));
    }
    struct ss_trace_summary plain, small;
    MUST(ss_trace_read(path, &(struct ss_trace_visitor){0}, NULL, &plain, err));
    double small_s = write_ranges(path, count, 0);
    MUST(ss_trace_read(path, &(struct ss_trace_visitor){0}, NULL, &small, err));
    double reader, model, ranges = (double)plain.events / 2;
    measure_reading(path, &reader, &model);
    printf("range_bytes_plain\t%.1f\t%d threads, %d names\n", (double)plain.file_bytes / ranges,
           THREADS, NAMES);
    printf("range_bytes\t%.1f\n", (double)small.file_bytes / ranges);
    printf("range_encode\t%.1f\tinto a file, with making the events; compressed %.1f\n",
           (double)plain.events / plain_s / 1e6, (double)small.events / small_s / 1e6);
    printf("range_read\t%.1f\tinto the model, compressed file; the reader alone %.1f\n", model,
           reader);
    printf("range_memory\t%zu\tof the model\n", sizeof(struct ss_model_range));
    unlink(path);
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "sample") == 0) {
        write_sample(argv[2]);
        return 0;
    }
    if (argc == 3 && strcmp(argv[1], "flood") == 0) {
        write_flood(argv[2], 4000000, false);
        return 0;
    }
    if (argc == 3 && strcmp(argv[1], "dense") == 0) {
        write_flood(argv[2], 7000000, true);
        return 0;
    }
    uint64_t count = argc == 3 && strcmp(argv[1], "bench") == 0 ? strtoull(argv[2], NULL, 10) : 0;
    if (count == 0) {
        fprintf(stderr,
                "usage: trace_ranges sample FILE | flood FILE | dense FILE | bench COUNT\n");
        return 2;
    }
    bench(count);
    return 0;
}
