/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_samples FILE COUNT: writes a trace of COUNT samples of eight threads, then reads it, alone
 * and into the model. Prints millions of samples per second of CPU time, the best of five:
 * "READER MODEL BYTES-PER-SAMPLE". Stacks are drawn as a training's are: few are most of them.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "model/core/model.h"
#include "trace/reader.h"
#include "trace/writer.h"
#include "trace/writer_entities.h"

enum { THREADS = 8, FRAMES = 2000, STACKS = 20000, HOT_STACKS = 200, ROUNDS = 5 };

static struct ss_error err;

static void must(enum ss_status status)
{
    if (status != SS_OK) {
        fprintf(stderr, "trace_samples: %s\n", err.message);
        exit(1);
    }
}

static uint32_t draw(uint32_t below)
{
    static uint64_t state = 1;
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((state >> 33) % below);
}

static void write_definitions(struct ss_trace_writer *writer)
{
    struct ss_trace_source source = {
        .ref = 1, .name = ss_strview_of("python"), .status = SS_SOURCE_RAN};
    must(ss_trace_writer_source(writer, &source, &err));
    struct ss_trace_process process = {.ref = 1, .pid = 5, .name = ss_strview_of("train.py")};
    must(ss_trace_writer_process(writer, &process, &err));
    for (uint32_t i = 1; i <= THREADS; i++) {
        struct ss_trace_thread thread = {
            .ref = i, .process_ref = 1, .tid = (int32_t)i + 4, .is_main = i == 1};
        must(ss_trace_writer_thread(writer, &thread, &err));
    }
    for (uint32_t i = 1; i <= FRAMES; i++) {
        char name[32];
        snprintf(name, sizeof name, "function_%" PRIu32, i / 4);
        struct ss_trace_frame frame = {.ref = i,
                                       .function = ss_strview_of(name),
                                       .name = ss_strview_of(name),
                                       .file = ss_strview_of("/home/u/project/module.py"),
                                       .short_file_offset = 8,
                                       .line = (int32_t)i,
                                       .first_line = 1,
                                       .kind = SS_FRAME_INTERPRETED};
        must(ss_trace_writer_frame(writer, &frame, &err));
    }
    for (uint32_t i = 1; i <= STACKS; i++) {
        struct ss_trace_stack stack = {
            .ref = i, .parent_ref = i < 5 ? i - 1 : 1 + draw(i - 1), .frame_ref = 1 + draw(FRAMES)};
        must(ss_trace_writer_stack(writer, &stack, &err));
    }
}

static void write_trace(const char *path, uint64_t count)
{
    struct ss_trace_writer_options options = {.size = sizeof options, .path = path};
    struct ss_trace_writer *writer;
    must(ss_trace_writer_open(&options, &writer, &err));
    write_definitions(writer);
    uint64_t time_ns = UINT64_C(1000000000);
    for (uint64_t i = 0; i < count; i++) {
        struct ss_trace_sample sample = {.time_ns = time_ns,
                                         .thread_ref = 1 + (uint32_t)(i % THREADS),
                                         .stack_ref =
                                             1 + draw(draw(100) < 97 ? HOT_STACKS : STACKS),
                                         .weight = 1,
                                         .state = SS_STATE_ON_CPU,
                                         .gil = i % THREADS == 0 ? SS_GIL_HELD : SS_GIL_NONE,
                                         .step = -1};
        must(ss_trace_writer_sample(writer, &sample, &err));
        time_ns += i % THREADS == THREADS - 1 ? 1000000 + draw(1000) : 0;
        if (i % 1024 == 0) {
            must(ss_trace_writer_tick(writer, time_ns, NULL, &err));
        }
    }
    must(ss_trace_writer_close(writer, &err));
}

static double read_alone(const char *path, struct ss_trace_summary *summary)
{
    static const struct ss_trace_visitor nothing;
    uint64_t begin_ns = ss_clock_thread_cpu_ns();
    must(ss_trace_read(path, &nothing, NULL, summary, &err));
    return (double)summary->samples * 1e3 / (double)(ss_clock_thread_cpu_ns() - begin_ns);
}

static double read_into_model(const char *path)
{
    struct ss_model model;
    ss_model_init(&model);
    uint64_t begin_ns = ss_clock_thread_cpu_ns();
    must(ss_model_add_input(&model, path, NULL, &err));
    double rate =
        (double)model.inputs.data[0].samples * 1e3 / (double)(ss_clock_thread_cpu_ns() - begin_ns);
    ss_model_fini(&model);
    return rate;
}

int main(int argc, char **argv)
{
    uint64_t count = argc == 3 ? strtoull(argv[2], NULL, 10) : 0;
    if (count == 0) {
        fprintf(stderr, "usage: trace_samples FILE COUNT\n");
        return 2;
    }
    write_trace(argv[1], count);
    double reader = 0, model = 0;
    struct ss_trace_summary summary;
    for (int i = 0; i < ROUNDS; i++) {
        double once = read_alone(argv[1], &summary);
        reader = once > reader ? once : reader;
        once = read_into_model(argv[1]);
        model = once > model ? once : model;
    }
    printf("%.3f %.3f %.2f\n", reader, model, (double)summary.file_bytes / (double)count);
    return 0;
}
