/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run of a training on many ranks, with what a real recording has: samples, operators, steps,
 * phases, collectives, facts, a counter.
 *
 *   training_ranks FOLDER RANKS STEPS NODES [RUN]
 *
 * writes FOLDER/run.json and FOLDER/ranks/r00000.pftrace, … The ranks are spread over the nodes in
 * blocks; each node has a clock of its own (offset and drift) and a wall clock that is off by up to
 * 2 ms. Rank 1 is late in each third step. RUN is the name of the run. Deterministic.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../random.h"
#include "trace/event_fields.h"
#include "trace/rank_runs.h"
#include "trace/writer.h"
#include "trace/writer_entities.h"
#include "trace/writer_tracks.h"
#include "wire/proto.h"

enum { OPERATORS = 12, FACTS = 40, DEPTH = 12, PATH_BYTES = 4096, MOST_RANKS = 20000 };
#define MS UINT64_C(1000000)
#define START (UINT64_C(5000000) * MS)
#define WALL UINT64_C(1700000000000000000)
#define STEP_NS (20 * MS)

enum { STEPS = 1, PHASES, TORCH, CALLS, LOSS }; /* tracks */
enum { FORWARD = 1, BACKWARD, OPTIMIZER, ALLREDUCE, BROADCAST, FIRST_OPERATOR };

struct rank {
    struct ss_trace_writer *writer;
    uint32_t number, ranks, node;
    double drift;
    int64_t offset_ns; /* of the node's clock */
    const char *run;
};

static void fail(const char *what)
{
    fprintf(stderr, "training_ranks: %s\n", what);
    exit(1);
}

#define PUT(record, rank, ...)                                                                     \
    do {                                                                                           \
        struct ss_error err_ = {0};                                                                \
        struct ss_trace_##record row_ = {__VA_ARGS__};                                             \
        if (ss_trace_writer_##record((rank)->writer, &row_, &err_) != SS_OK) {                     \
            fail(err_.message);                                                                    \
        }                                                                                          \
    } while (0)

static struct ss_strview text(const char *value)
{
    return ss_strview_of(value);
}

/* A true time on the clock of the node. */
static uint64_t on_clock(const struct rank *rank, uint64_t true_ns)
{
    double since = (double)(true_ns - START);
    return (uint64_t)((int64_t)true_ns + rank->offset_ns + (int64_t)(since * rank->drift));
}

static void put_clock(struct rank *rank, uint64_t true_ns)
{
    uint64_t now_ns = on_clock(rank, true_ns);
    uint64_t wall_ns = WALL + (true_ns - START) + rank->node * 7919 % 2000 * 1000;
    PUT(clock, rank, now_ns, now_ns, now_ns, wall_ns, 40);
}

static void define_run(struct rank *rank)
{
    char boot[32], name[32];
    snprintf(boot, sizeof boot, "boot-%u", rank->node);
    snprintf(name, sizeof name, "node%03u", rank->node);
    PUT(attribute, rank, .key = text("boot_id"), .text = text(boot));
    PUT(attribute, rank, .key = text("hostname"), .text = text(name));
    PUT(attribute, rank, .key = text("run_id"), .text = text(rank->run));
    PUT(attribute, rank, .key = text("rate_hz"), .is_integer = true, .integer = 100);
    PUT(attribute, rank, .key = text("rank"), .is_integer = true, .integer = rank->number);
    put_clock(rank, START);
    PUT(source, rank, .ref = 1, .name = text("python"), .status = SS_SOURCE_RAN);
    PUT(host, rank, .ref = 1, .boot_id = text(boot), .name = text(name));
    PUT(process, rank, .ref = 1, .pid = 1000 + (int32_t)rank->number, .host_ref = 1,
        .start_time_ticks = 99 + rank->number, .name = text("train.py"), .runtime = text("3.12.1"),
        .cmdline = text("python train.py"), .rank = rank->number, .world_size = rank->ranks,
        .has_rank = true, .has_node = true, .node = rank->node);
    PUT(thread, rank, .ref = 1, .process_ref = 1, .tid = 1000 + (int32_t)rank->number,
        .name = text("MainThread"), .is_main = true);
    PUT(thread, rank, .ref = 2, .process_ref = 1, .tid = 500000 + (int32_t)rank->number,
        .name = text("pin_memory"));
}

static void define_tracks(struct rank *rank)
{
    static const char *const names[] = {"forward", "backward", "optimizer", "allreduce",
                                        "nccl:broadcast"};
    struct ss_wire_buffer runs = {0};
    struct ss_rank_run run = {0, rank->ranks, 1};
    ss_rank_run_put(&runs, &run);
    PUT(group, rank, .ref = 1, .kind = SS_GROUP_MPI, .number = 77, .name = text("world"),
        .size = rank->ranks, .ranks = {(const char *)runs.data, runs.length});
    ss_wire_fini(&runs);
    PUT(track, rank, .ref = STEPS, .kind = SS_TRACK_STEPS, .thread_ref = 1, .name = text("step"));
    PUT(track, rank, .ref = PHASES, .kind = SS_TRACK_PHASES, .thread_ref = 1);
    PUT(track, rank, .ref = TORCH, .kind = SS_TRACK_RANGES, .thread_ref = 1, .name = text("torch"));
    PUT(track, rank, .ref = CALLS, .kind = SS_TRACK_RANGES, .thread_ref = 1, .name = text("MPI"));
    PUT(track, rank, .ref = LOSS, .kind = SS_TRACK_COUNTER, .process_ref = 1, .name = text("loss"));
    for (uint32_t i = 0; i < sizeof names / sizeof *names; i++) {
        bool is_call = i + 1 >= ALLREDUCE;
        PUT(name, rank, .ref = i + 1, .text = text(names[i]),
            .type = is_call ? SS_EVENT_TYPE_collective : SS_EVENT_TYPE_NONE);
    }
    for (uint32_t i = 0; i < OPERATORS; i++) {
        char name[32];
        snprintf(name, sizeof name, "aten::operator_%u", i);
        PUT(name, rank, .ref = FIRST_OPERATOR + i, .text = text(name),
            .type = SS_EVENT_TYPE_operator);
    }
    for (uint32_t i = 1; i <= DEPTH; i++) {
        char name[32], file[48];
        snprintf(name, sizeof name, "Module%u.forward", i);
        snprintf(file, sizeof file, "/home/user/model/layer%u.py", i);
        PUT(frame, rank, .ref = i, .function = text(name), .name = text("forward"),
            .file = text(file), .line = 10 + (int32_t)i, .first_line = 3);
        PUT(stack, rank, .ref = i, .parent_ref = i - 1, .frame_ref = i);
    }
}

static void put_range(struct rank *rank, uint32_t track, uint32_t name, uint64_t begin_ns,
                      uint64_t end_ns)
{
    PUT(event, rank, .time_ns = on_clock(rank, begin_ns), .track_ref = track, .name_ref = name,
        .kind = SS_EVENT_BEGIN);
    PUT(event, rank, .time_ns = on_clock(rank, end_ns), .track_ref = track, .kind = SS_EVENT_END);
}

static void put_collective(struct rank *rank, uint32_t name, int64_t sequence, uint64_t begin_ns,
                           uint64_t end_ns)
{
    const struct ss_event_value fields[] = {
        {SS_EVENT_FIELD_group, {.type = SS_VALUE_UINT, .natural = 1}},
        {SS_EVENT_FIELD_sequence, {.type = SS_VALUE_INT, .integer = sequence}},
        {SS_EVENT_FIELD_collective,
         {.type = SS_VALUE_TEXT, .text = text(name == ALLREDUCE ? "allreduce" : "broadcast")}},
        {SS_EVENT_FIELD_root, {.type = SS_VALUE_UINT, .natural = 0}}};
    PUT(event, rank, .time_ns = on_clock(rank, begin_ns), .track_ref = CALLS, .name_ref = name,
        .kind = SS_EVENT_BEGIN, .payload = {.type = SS_VALUE_UINT, .natural = 4096},
        .fields = fields, .field_count = sizeof fields / sizeof *fields);
    PUT(event, rank, .time_ns = on_clock(rank, end_ns), .track_ref = CALLS, .kind = SS_EVENT_END);
}

/* Operators and samples of [begin, end). */
static void put_work(struct rank *rank, uint32_t phase, int64_t step, uint64_t begin_ns,
                     uint64_t end_ns)
{
    uint64_t part_ns = (end_ns - begin_ns) / OPERATORS;
    PUT(event, rank, .time_ns = on_clock(rank, begin_ns), .track_ref = PHASES, .name_ref = phase,
        .kind = SS_EVENT_BEGIN);
    for (uint32_t i = 0; i < OPERATORS; i++) {
        uint64_t at_ns = begin_ns + i * part_ns;
        put_range(rank, TORCH, FIRST_OPERATOR + i, at_ns + next_random() % (part_ns / 4),
                  at_ns + part_ns - 100);
    }
    PUT(sample, rank, .time_ns = on_clock(rank, begin_ns + (end_ns - begin_ns) / 2),
        .thread_ref = 1, .stack_ref = 1 + (uint32_t)(next_random() % DEPTH), .weight = 1,
        .state = SS_STATE_ON_CPU, .step = step, .phase_name = phase);
}

static void put_step(struct rank *rank, int64_t step)
{
    uint64_t begin_ns = START + MS + (uint64_t)step * STEP_NS;
    uint64_t noise_ns = next_random() % (MS / 8);
    uint64_t late_ns = rank->number == 1 && step % 3 == 2 ? 4 * MS : noise_ns;
    uint64_t enter_ns = begin_ns + 10 * MS + late_ns, exit_ns = begin_ns + 16 * MS;
    PUT(event, rank, .time_ns = on_clock(rank, begin_ns), .track_ref = STEPS,
        .kind = SS_EVENT_BEGIN, .payload = {.type = SS_VALUE_INT, .integer = step});
    put_work(rank, FORWARD, step, begin_ns, begin_ns + 4 * MS);
    PUT(event, rank, .time_ns = on_clock(rank, begin_ns + 4 * MS), .track_ref = PHASES,
        .kind = SS_EVENT_END);
    put_work(rank, BACKWARD, step, begin_ns + 4 * MS, enter_ns - MS / 2);
    put_collective(rank, ALLREDUCE, 2 * step, enter_ns, exit_ns + next_random() % 5000);
    put_collective(rank, BROADCAST, 2 * step + 1, exit_ns + 10000, exit_ns + MS);
    PUT(event, rank, .time_ns = on_clock(rank, exit_ns + MS), .track_ref = PHASES,
        .kind = SS_EVENT_END);
    put_range(rank, PHASES, OPTIMIZER, exit_ns + MS, begin_ns + STEP_NS - MS);
    PUT(counter, rank, .time_ns = on_clock(rank, begin_ns + STEP_NS - MS), .track_ref = LOSS,
        .real = 1.0 / (double)(step + 1));
    PUT(event, rank, .time_ns = on_clock(rank, begin_ns + STEP_NS - MS / 2), .track_ref = STEPS,
        .kind = SS_EVENT_END);
}

static void put_end(struct rank *rank, int64_t steps)
{
    uint64_t end_ns = START + 2 * MS + (uint64_t)steps * STEP_NS;
    for (uint32_t i = 0; i < FACTS; i++) {
        char fact[48];
        snprintf(fact, sizeof fact, "program.fact_%u = %u", i, rank->number * i);
        PUT(note, rank, .time_ns = on_clock(rank, end_ns), .process_ref = 1, .kind = text("fact"),
            .text = text(fact), .value = i);
    }
    PUT(note, rank, .time_ns = on_clock(rank, end_ns), .process_ref = 1, .kind = text("fact"),
        .text = text("torch.operator_ns = 100"), .value = 100);
    PUT(note, rank, .time_ns = on_clock(rank, end_ns), .kind = text("recorder-cpu"),
        .text = text("CPU time of the recorder"), .value = 1000000 + rank->number);
    PUT(counts, rank, .source_ref = 1, .time_ns = on_clock(rank, end_ns),
        .due = 2 * (uint64_t)steps, .done = 2 * (uint64_t)steps);
    PUT(counts, rank, .source_ref = 1, .process_ref = 1, .time_ns = on_clock(rank, end_ns),
        .seen = 2 * (uint64_t)steps, .ok = 2 * (uint64_t)steps);
    put_clock(rank, end_ns);
}

static void write_rank(const char *folder, struct rank *rank, int64_t steps)
{
    struct ss_error err = {0};
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/ranks/r%05u.pftrace", folder, rank->number);
    const struct ss_trace_writer_options options = {
        .size = sizeof options, .path = path, .replay = true, .compression = -1};
    if (ss_trace_writer_open(&options, &rank->writer, &err) != SS_OK) {
        fail(err.message);
    }
    define_run(rank);
    define_tracks(rank);
    for (int64_t step = 0; step < steps; step++) {
        put_step(rank, step);
    }
    put_end(rank, steps);
    if (ss_trace_writer_close(rank->writer, &err) != SS_OK) {
        fail(err.message);
    }
}

static void write_manifest(const char *folder, uint32_t ranks, const char *run)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/ranks", folder);
    mkdir(folder, 0700); /* they may exist */
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/run.json", folder);
    FILE *file = fopen(path, "we");
    if (file == NULL) {
        fail(path);
    }
    fprintf(file,
            "{\"files\": \"ranks\", \"launcher\": \"bench\", \"max_ranks\": 0, \"ranks\": \"\", "
            "\"run_id\": \"%s\", \"schema\": 1, \"world_size\": %" PRIu32 "}\n",
            run, ranks);
    fclose(file);
}

int main(int argc, char **argv)
{
    bool is_complete = argc == 5 || argc == 6;
    uint32_t ranks = is_complete ? (uint32_t)strtoul(argv[2], NULL, 10) : 0;
    uint32_t nodes = is_complete ? (uint32_t)strtoul(argv[4], NULL, 10) : 0;
    const char *run = argc == 6 ? argv[5] : "synthetic";
    if (ranks == 0 || ranks > MOST_RANKS || nodes == 0 || nodes > ranks) {
        fail("takes FOLDER RANKS STEPS NODES [RUN]");
    }
    write_manifest(argv[1], ranks, run);
    for (uint32_t i = 0; i < ranks; i++) {
        uint32_t node = (uint32_t)((uint64_t)i * nodes / ranks);
        struct rank rank = {.number = i,
                            .ranks = ranks,
                            .node = node,
                            .run = run,
                            .drift = node % 2 == 0 ? node * 1e-7 : node * -1e-7,
                            .offset_ns = (int64_t)(node * 1000 * MS)};
        write_rank(argv[1], &rank, strtoll(argv[3], NULL, 10));
    }
    return 0;
}
