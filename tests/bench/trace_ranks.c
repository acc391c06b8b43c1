/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trace of a training of many ranks, made without a program:
 *
 *   trace_ranks FILE RANKS SLICES    as many slices in all: steps, phases, operators nested four
 *                                    deep on the main threads, a loader thread for each rank
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../random.h"
#include "trace/writer.h"
#include "trace/writer_entities.h"
#include "trace/writer_tracks.h"

#define MS UINT64_C(1000000)
#define START (UINT64_C(5000) * 1000 * MS)
enum { TRACKS = 4, NAMES = 40, OPERATORS_A_STEP = 400 };
enum { MAIN = 1, LOADER, STEPS, PHASES };

static void must(enum ss_status status, const struct ss_error *err)
{
    if (status != SS_OK) {
        fprintf(stderr, "trace_ranks: %s\n", err->message);
        exit(1);
    }
}

#define MUST(call)                                                                                 \
    do {                                                                                           \
        struct ss_error err_ = {0}, *err = &err_;                                                  \
        must((call), err);                                                                         \
    } while (0)

static uint32_t track_of(uint32_t rank, uint32_t which)
{
    return rank * TRACKS + which;
}

static void define_names(struct ss_trace_writer *writer)
{
    for (uint32_t i = 1; i <= NAMES; i++) {
        char text[40];
        snprintf(text, sizeof text,
                 i == 1   ? "forward"
                 : i == 2 ? "backward"
                          : "aten::operator_%u",
                 i);
        struct ss_trace_name name = {.ref = i, .text = ss_strview_of(text)};
        MUST(ss_trace_writer_name(writer, &name, err));
    }
}

static void define_rank(struct ss_trace_writer *writer, uint32_t rank)
{
    static const enum ss_track_kind kinds[] = {[MAIN] = SS_TRACK_RANGES,
                                               [LOADER] = SS_TRACK_RANGES,
                                               [STEPS] = SS_TRACK_STEPS,
                                               [PHASES] = SS_TRACK_PHASES};
    static const char *const names[] = {
        [MAIN] = "torch", [LOADER] = "", [STEPS] = "step", [PHASES] = "phase"};
    struct ss_trace_process process = {.ref = rank + 1,
                                       .pid = 1000 + (int32_t)rank,
                                       .start_time_ticks = 99,
                                       .cmdline = ss_strview_of("python train.py"),
                                       .name = ss_strview_of("train.py"),
                                       .rank = rank,
                                       .has_rank = true};
    MUST(ss_trace_writer_process(writer, &process, err));
    for (uint32_t i = 0; i < 2; i++) {
        struct ss_trace_thread thread = {.ref = 2 * rank + i + 1,
                                         .process_ref = rank + 1,
                                         .tid = 100000 + (int32_t)(2 * rank + i),
                                         .is_main = i == 0,
                                         .name = ss_strview_of(i == 0 ? "MainThread" : "loader")};
        MUST(ss_trace_writer_thread(writer, &thread, err));
    }
    for (uint32_t which = MAIN; which <= PHASES; which++) {
        struct ss_trace_track track = {.ref = track_of(rank, which),
                                       .kind = kinds[which],
                                       .process_ref = rank + 1,
                                       .thread_ref = 2 * rank + 1 + (which == LOADER),
                                       .name = ss_strview_of(names[which])};
        MUST(ss_trace_writer_track(writer, &track, err));
    }
}

static void put(struct ss_trace_writer *writer, uint32_t track, uint32_t name, uint64_t from,
                uint64_t to, struct ss_trace_value payload)
{
    struct ss_trace_event begin = {
        .time_ns = from, .track_ref = track, .name_ref = name, .payload = payload};
    MUST(ss_trace_writer_range(writer, &begin, to, err));
}

/* Four nested ranges of a microsecond to some; returns how many. */
static uint64_t put_nest(struct ss_trace_writer *writer, uint32_t track, uint64_t from, uint64_t to)
{
    const struct ss_trace_value none = {0};
    uint64_t shrink = (to - from) / 10, outer = next_random();
    for (uint32_t depth = 0; depth < 4; depth++) {
        uint32_t name = 3 + (uint32_t)((outer + 7 * depth) % (NAMES - 3));
        put(writer, track, name, from + depth * shrink, to - depth * shrink, none);
    }
    return 4;
}

static uint64_t put_step(struct ss_trace_writer *writer, uint32_t rank, uint64_t number)
{
    const struct ss_trace_value none = {0};
    uint64_t from = START + number * 100 * MS, slices = 4;
    put(writer, track_of(rank, STEPS), 0, from, from + 100 * MS,
        (struct ss_trace_value){SS_VALUE_UINT, {.natural = number}});
    put(writer, track_of(rank, PHASES), 1, from + MS, from + 40 * MS, none);
    put(writer, track_of(rank, PHASES), 2, from + 40 * MS, from + 95 * MS, none);
    put(writer, track_of(rank, LOADER), 3, from + MS, from + 30 * MS, none);
    for (uint64_t i = 0; i < OPERATORS_A_STEP / 4; i++) {
        uint64_t at = from + i * MS * 95 / (OPERATORS_A_STEP / 4) + next_random() % 100000;
        slices += put_nest(writer, track_of(rank, MAIN), at, at + 1000 + next_random() % 700000);
    }
    return slices;
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: trace_ranks FILE RANKS SLICES\n");
        return 2;
    }
    uint32_t ranks = (uint32_t)strtoul(argv[2], NULL, 10);
    uint64_t wanted = strtoull(argv[3], NULL, 10), slices = 0;
    struct ss_trace_writer *writer;
    struct ss_trace_writer_options options = {
        .size = sizeof options, .path = argv[1], .compression = 1, .replay = true};
    MUST(ss_trace_writer_open(&options, &writer, err));
    struct ss_trace_clock clock = {START, START + 7000 * MS, START, START + 1700000000000 * MS, 90};
    MUST(ss_trace_writer_clock(writer, &clock, err));
    define_names(writer);
    for (uint32_t rank = 0; rank < ranks; rank++) {
        define_rank(writer, rank);
    }
    for (uint64_t step = 0; slices < wanted; step++) {
        for (uint32_t rank = 0; rank < ranks; rank++) {
            slices += put_step(writer, rank, step);
        }
    }
    MUST(ss_trace_writer_close(writer, err));
    printf("%llu\n", (unsigned long long)slices);
    return 0;
}
