/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rates and sizes of the trace format, for tests/bench/run.
 * A recording of RATE Hz with THREADS threads of which each walks among a few hundred stacks of
 * depth about 25, with timer jitter, as a training loop gives.
 *
 *   bench_trace [SECONDS [RATE_HZ [THREADS]]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../random.h"
#include "base/clock.h"
#include "trace/reader.h"
#include "trace/writer.h"

enum { STACKS = 300, DEPTH = 25, FUNCTIONS = 400 };
#define SECOND_NS UINT64_C(1000000000)

static void check(enum ss_status status, const struct ss_error *err)
{
    if (status != SS_OK) {
        fprintf(stderr, "bench_trace: %s\n", err->message);
        exit(1);
    }
}

/* Stacks share their outer frames and branch further in, like real ones. */
static void define(struct ss_trace_writer *writer, int threads, struct ss_error *err)
{
    static const char *const packages[] = {
        "/usr/lib/python3.11/site-packages/torch/nn/modules/", "/home/user/project/models/",
        "/usr/lib/python3.11/site-packages/torch/utils/data/", "/usr/lib/python3.11/"};
    check(ss_trace_writer_process(
              writer,
              &(struct ss_trace_process){.ref = 1,
                                         .pid = 4711,
                                         .start_time_ticks = 99,
                                         .cmdline = ss_strview_of("python train.py"),
                                         .name = ss_strview_of("train.py")},
              err),
          err);
    for (int t = 1; t <= threads; t++) {
        char name[32];
        snprintf(name, sizeof name, "Thread-%d", t);
        check(ss_trace_writer_thread(writer,
                                     &(struct ss_trace_thread){.ref = (uint32_t)t,
                                                               .process_ref = 1,
                                                               .tid = 4710 + t,
                                                               .name = ss_strview_of(name)},
                                     err),
              err);
    }
    for (uint32_t f = 1; f <= FUNCTIONS; f++) {
        char function[64], file[128];
        snprintf(function, sizeof function, "%s%d.forward_%u", f % 3 ? "Block" : "Layer", f / 4, f);
        snprintf(file, sizeof file, "%smodule_%u.py", packages[f % 4], f / 8);
        check(ss_trace_writer_frame(
                  writer,
                  &(struct ss_trace_frame){.ref = f,
                                           .function = ss_strview_of(function),
                                           .name = ss_strview_of(strchr(function, '.') + 1),
                                           .file = ss_strview_of(file),
                                           .short_file_offset = 10,
                                           .line = (int32_t)(f * 3),
                                           .first_line = (int32_t)(f * 3 - 2),
                                           .kind = SS_FRAME_INTERPRETED},
                  err),
              err);
    }
    uint32_t ref = 0, trunk[DEPTH + 1] = {0};
    for (int s = 0; s < STACKS; s++) {
        int keep = s == 0 ? 0 : 6 + (int)(next_random() % (DEPTH - 8));
        for (int d = keep; d < DEPTH; d++) {
            struct ss_trace_stack stack = {++ref, d == 0 ? 0 : trunk[d - 1],
                                           1 + (uint32_t)(next_random() % FUNCTIONS)};
            check(ss_trace_writer_stack(writer, &stack, err), err);
            trunk[d] = ref;
        }
    }
    (void)ref;
}

static uint32_t leaf_of[STACKS];

static void find_leaves(void)
{
    /* The same walk as in define, for the refs of the leaves. */
    random_state = 88172645463325252u;
    uint32_t ref = 0;
    for (int s = 0; s < STACKS; s++) {
        int keep = s == 0 ? 0 : 6 + (int)(next_random() % (DEPTH - 8));
        for (int d = keep; d < DEPTH; d++) {
            ref++;
            next_random();
        }
        leaf_of[s] = ref;
    }
}

static uint64_t total_weight;
static enum ss_status on_sample(void *context, const struct ss_trace_sample *sample)
{
    (void)context;
    total_weight += sample->weight;
    return SS_OK;
}

static void run(const char *label, const char *id, int compression, int seconds, int rate_hz,
                int threads)
{
    char path[] = "/tmp/bench_trace_XXXXXX";
    int fd = mkstemp(path);
    if (fd < 0) {
        perror("mkstemp");
        exit(1);
    }
    close(fd);
    struct ss_error err = {0};
    struct ss_trace_writer *writer;
    struct ss_trace_writer_options options = {
        .size = sizeof options, .path = path, .compression = compression, .replay = true};
    random_state = 88172645463325252u;
    check(ss_trace_writer_open(&options, &writer, &err), &err);
    define(writer, threads, &err);
    find_leaves();
    uint64_t now = 1000 * SECOND_NS, samples = 0;
    uint64_t cpu = ss_clock_thread_cpu_ns();
    for (int second = 0; second < seconds; second++) {
        struct ss_trace_clock clock = {now, now + 7 * SECOND_NS, now - 12345,
                                       now + 1700000000 * SECOND_NS, 90};
        check(ss_trace_writer_clock(writer, &clock, &err), &err);
        for (int tick = 0; tick < rate_hz; tick++) {
            uint64_t at = now + (uint64_t)tick * (SECOND_NS / (unsigned)rate_hz) +
                          next_random() % (SECOND_NS / (unsigned)rate_hz) / 2;
            for (int t = 1; t <= threads; t++) {
                /* Mostly where the time goes, sometimes anywhere. */
                uint64_t dice = next_random();
                uint32_t stack = leaf_of[dice % 4 ? dice / 4 % 20 : dice / 4 % STACKS];
                struct ss_trace_sample sample = {.time_ns = at + (unsigned)t * 2500 + dice % 700,
                                                 .thread_ref = (uint32_t)t,
                                                 .stack_ref = stack,
                                                 .weight = 1,
                                                 .state = SS_STATE_ON_CPU,
                                                 .gil = dice % 5 ? SS_GIL_HELD : SS_GIL_WAITED,
                                                 .step = -1};
                check(ss_trace_writer_sample(writer, &sample, &err), &err);
                samples++;
            }
        }
        now += SECOND_NS;
    }
    check(ss_trace_writer_close(writer, &err), &err);
    double encode_s = (double)(ss_clock_thread_cpu_ns() - cpu) / 1e9;

    struct ss_trace_visitor visitor = {.sample = on_sample};
    struct ss_trace_summary summary;
    double best_s = 1e9;
    for (int turn = 0; turn < 3; turn++) {
        cpu = ss_clock_thread_cpu_ns();
        total_weight = 0;
        check(ss_trace_read(path, &visitor, NULL, &summary, &err), &err);
        double decode_s = (double)(ss_clock_thread_cpu_ns() - cpu) / 1e9;
        best_s = decode_s < best_s ? decode_s : best_s;
    }
    if (total_weight != samples) {
        fprintf(stderr, "bench_trace: %llu samples written, %llu read\n",
                (unsigned long long)samples, (unsigned long long)total_weight);
        exit(1);
    }
    printf(
        "%s: %.2f M samples/s written, %.2f M/s read, %.2f bytes per sample written, %.2f plain\n",
        label, (double)samples / encode_s / 1e6, (double)samples / best_s / 1e6,
        (double)summary.file_bytes / (double)samples,
        (double)summary.plain_bytes / (double)samples);
    if (id != NULL) {
        printf("%s\t%.2f\t%s\n", id, (double)samples / best_s / 1e6, label);
    }
    if (getenv("BENCH_KEEP") == NULL) {
        unlink(path);
    }
}

int main(int argc, char **argv)
{
    int seconds = argc > 1 ? atoi(argv[1]) : 60;
    int rate_hz = argc > 2 ? atoi(argv[2]) : 100;
    int threads = argc > 3 ? atoi(argv[3]) : 1;
    run("100 Hz, 1 thread", NULL, 0, seconds, rate_hz, threads);
    run("100 Hz, 8 threads", NULL, 0, seconds, rate_hz, 8);
    run("10 kHz, 8 threads", "trace_read", 0, 20, 10000, 8);
    run("10 kHz, 8 threads, not compressed", NULL, -1, 20, 10000, 8);
    return 0;
}
