/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_training FILE STEPS OPERATORS: writes the recording of a training as the integration of
 * PyTorch makes it: STEPS steps of OPERATORS operators each, with their modules, phases and
 * sequence numbers, and samples at 100 Hz. Steps take about 11 ms.
 */
#include <stdio.h>
#include <stdlib.h>

#include "../random.h"
#include "trace/writer.h"
#include "trace/writer_entities.h"
#include "trace/writer_tracks.h"

#define US UINT64_C(1000)
#define START (UINT64_C(5000) * 1000000 * US)

enum { STEPS_TRACK = 1, PHASES, OPERATORS, MODULES, RECORDED, MEMORY };
enum { LAYERS = 12, NAMES = 60, STACKS = 400 };
/* Names of operators, then of as many nodes; then of modules, then of phases. */
enum { FIRST_NODE = NAMES + 1, FIRST_MODULE = 2 * NAMES + 1, FIRST_PHASE = FIRST_MODULE + LAYERS };

static struct ss_error err;
static struct ss_trace_writer *writer;
static uint64_t now;

static void must(enum ss_status status)
{
    if (status != SS_OK) {
        fprintf(stderr, "trace_training: %s\n", err.message);
        exit(1);
    }
}

/* "before", the number, "after". */
static void put_name(uint32_t ref, const char *before, uint32_t number, const char *after,
                     const char *category)
{
    char text[80];
    snprintf(text, sizeof text, "%s%u%s", before, number, after);
    struct ss_trace_name name = {
        .ref = ref, .text = ss_strview_of(text), .category = ss_strview_of(category)};
    must(ss_trace_writer_name(writer, &name, &err));
}

static void put_track(uint32_t ref, enum ss_track_kind kind, const char *name, const char *unit)
{
    bool is_counter = kind == SS_TRACK_COUNTER;
    struct ss_trace_track track = {.ref = ref,
                                   .kind = kind,
                                   .process_ref = is_counter ? 1 : 0,
                                   .thread_ref = is_counter ? 0 : 1,
                                   .name = ss_strview_of(name),
                                   .unit = ss_strview_of(unit)};
    must(ss_trace_writer_track(writer, &track, &err));
}

static void define_program(void)
{
    struct ss_trace_attribute rate = {.key = ss_strview_of("rate_hz"),
                                      .text = ss_strview_of("100")};
    must(ss_trace_writer_attribute(writer, &rate, &err));
    struct ss_trace_source source = {
        .ref = 1, .name = ss_strview_of("python"), .status = SS_SOURCE_RAN};
    must(ss_trace_writer_source(writer, &source, &err));
    struct ss_trace_process process = {.ref = 1, .pid = 42, .name = ss_strview_of("train.py")};
    must(ss_trace_writer_process(writer, &process, &err));
    struct ss_trace_thread thread = {
        .ref = 1, .process_ref = 1, .tid = 42, .is_main = true, .name = ss_strview_of("main")};
    must(ss_trace_writer_thread(writer, &thread, &err));
    for (uint32_t i = 1; i <= STACKS; i++) {
        char name[32];
        snprintf(name, sizeof name, "function_%u", i);
        struct ss_trace_frame frame = {.ref = i,
                                       .function = ss_strview_of(name),
                                       .name = ss_strview_of(name),
                                       .file = ss_strview_of("/home/u/project/module.py"),
                                       .line = (int32_t)i,
                                       .first_line = 1,
                                       .kind = SS_FRAME_INTERPRETED};
        must(ss_trace_writer_frame(writer, &frame, &err));
        struct ss_trace_stack stack = {.ref = i, .parent_ref = i / 2, .frame_ref = i};
        must(ss_trace_writer_stack(writer, &stack, &err));
    }
}

static void define_tracks(void)
{
    static const char *const phases[] = {"data", "forward", "backward", "optimizer"};
    put_track(STEPS_TRACK, SS_TRACK_STEPS, "step", "");
    put_track(PHASES, SS_TRACK_PHASES, "phase", "");
    put_track(OPERATORS, SS_TRACK_RANGES, "torch", "");
    put_track(MODULES, SS_TRACK_RANGES, "torch.module", "");
    put_track(RECORDED, SS_TRACK_COUNTER, "operators recorded", "");
    put_track(MEMORY, SS_TRACK_COUNTER, "memory rss", "bytes");
    for (uint32_t i = 0; i < NAMES; i++) {
        put_name(1 + i, "aten::operator_", i, "", "operator");
        put_name(FIRST_NODE + i, "autograd::engine::evaluate_function: Operator", i, "Backward0",
                 "backward");
    }
    for (uint32_t i = 0; i < LAYERS; i++) {
        put_name(FIRST_MODULE + i, "layers.", i, " (Block)", "");
    }
    for (uint32_t i = 0; i < 4; i++) {
        struct ss_trace_name name = {.ref = FIRST_PHASE + i, .text = ss_strview_of(phases[i])};
        must(ss_trace_writer_name(writer, &name, &err));
    }
}

static void put_begin(uint32_t track, uint32_t name, struct ss_trace_value payload)
{
    struct ss_trace_event begin = {
        .time_ns = now, .track_ref = track, .name_ref = name, .payload = payload};
    must(ss_trace_writer_event(writer, &begin, &err));
}

static void put_end(uint32_t track)
{
    struct ss_trace_event end = {.time_ns = now, .track_ref = track, .kind = SS_EVENT_END};
    must(ss_trace_writer_event(writer, &end, &err));
}

static struct ss_trace_value number_of(int64_t number)
{
    return (struct ss_trace_value){SS_VALUE_INT, {.integer = number}};
}

static void pass(uint64_t us)
{
    now += us * US + next_random() % (us * US / 4);
}

/* An operator that calls two. */
static uint32_t put_operators(uint32_t place, int64_t number)
{
    put_begin(OPERATORS, 1 + place % (NAMES / 3), number_of(number));
    pass(4);
    for (uint32_t i = 1; i <= 2; i++) {
        put_begin(OPERATORS, 1 + i * NAMES / 3 + place % (NAMES / 3), number_of(number));
        pass(12);
        put_end(OPERATORS);
        pass(2);
    }
    put_end(OPERATORS);
    pass(3);
    return 3;
}

static void put_phase(uint32_t phase, uint64_t begin_ns)
{
    struct ss_trace_event begin = {
        .time_ns = begin_ns, .track_ref = PHASES, .name_ref = FIRST_PHASE + phase};
    must(ss_trace_writer_range(writer, &begin, now, &err));
}

/* Half of the operators forward; each of those has a node, in which one of the others runs. */
static void put_step(int64_t step, uint32_t operators)
{
    uint64_t begin_ns = now, phase_ns = now;
    int64_t number = step * operators, first = number;
    pass(3000);
    put_phase(0, phase_ns);
    phase_ns = now;
    for (uint32_t layer = 0, done = 0; layer < LAYERS; layer++) {
        put_begin(MODULES, FIRST_MODULE + layer, (struct ss_trace_value){0});
        pass(5);
        for (; done < operators / 2 * (layer + 1) / LAYERS; number++) {
            done += put_operators((uint32_t)(number - first), number);
        }
        put_end(MODULES);
    }
    put_phase(1, phase_ns);
    phase_ns = now;
    for (uint32_t done = 0; number-- > first && done < operators / 2; done += 4) {
        uint32_t place = (uint32_t)(number - first);
        put_begin(OPERATORS, FIRST_NODE + place % (NAMES / 3), number_of(number));
        pass(5);
        put_operators(place, -1);
        put_end(OPERATORS);
    }
    put_phase(2, phase_ns);
    phase_ns = now;
    pass(1500);
    put_phase(3, phase_ns);
    struct ss_trace_event whole = {
        .time_ns = begin_ns, .track_ref = STEPS_TRACK, .payload = number_of(step)};
    must(ss_trace_writer_range(writer, &whole, now, &err));
    struct ss_trace_counter recorded = {
        .time_ns = begin_ns + 1, .track_ref = RECORDED, .is_integer = true, .integer = 1};
    must(ss_trace_writer_counter(writer, &recorded, &err));
    struct ss_trace_counter memory = {
        .time_ns = now, .track_ref = MEMORY, .is_integer = true, .integer = 1 << 30};
    must(ss_trace_writer_counter(writer, &memory, &err));
}

static void put_samples(int64_t step, uint64_t from_ns)
{
    static const uint64_t period_ns = 10000 * US;
    for (uint64_t at = (from_ns + period_ns - 1) / period_ns * period_ns; at < now;
         at += period_ns) {
        struct ss_trace_sample sample = {.time_ns = at,
                                         .thread_ref = 1,
                                         .stack_ref = 1 + (uint32_t)(next_random() % STACKS),
                                         .weight = 1,
                                         .state = SS_STATE_ON_CPU,
                                         .step = step,
                                         .phase_name = FIRST_PHASE + 1};
        must(ss_trace_writer_sample(writer, &sample, &err));
    }
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: trace_training FILE STEPS OPERATORS\n");
        return 2;
    }
    struct ss_trace_writer_options options = {
        .size = sizeof options, .path = argv[1], .replay = true};
    must(ss_trace_writer_open(&options, &writer, &err));
    define_program();
    define_tracks();
    now = START;
    struct ss_trace_clock clock = {now, now, now, now, 50};
    must(ss_trace_writer_clock(writer, &clock, &err));
    int64_t steps = strtoll(argv[2], NULL, 10);
    for (int64_t step = 0; step < steps; step++) {
        uint64_t begin_ns = now;
        put_step(step, (uint32_t)strtoul(argv[3], NULL, 10));
        put_samples(step, begin_ns);
    }
    must(ss_trace_writer_close(writer, &err));
    return 0;
}
