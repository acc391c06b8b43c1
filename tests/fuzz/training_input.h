/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Models of trainings for fuzzing: any steps, phases, ranges, counters, samples and facts. Records
 * of eight bytes: what it is, its name, begin, length, two numbers.
 */
#ifndef SS_TESTS_FUZZ_TRAINING_INPUT_H
#define SS_TESTS_FUZZ_TRAINING_INPUT_H

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/core/model.h"

enum { RECORD = 8, MAX_INPUT_BYTES = 4096, PROCESSES = 3 };

static void check(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "broken: %s\n", what);
        abort();
    }
}

static const char *const domains[] = {
    "step", "phase", "torch", "torch.data", "torch.compile", "torch.checkpoint", "python.gc"};
static const char *const names[] = {"data",  "forward", "backward", "compile",    "checkpoint",
                                    "fetch", "collate", "next",     "aten::item", "aten::mm"};
static const char *const gauges[] = {"memory rss",     "busy",      "CPU",
                                     "cuda allocated", "cuda peak", "memory peak"};
static const char *const facts[] = {"torch.threads", "torch.cuda", "dataloader.workers",
                                    "dataloader.batch_size", "cuda.total_memory"};
enum {
    DOMAINS = sizeof domains / sizeof *domains,
    NAMES = sizeof names / sizeof *names,
    GAUGES = sizeof gauges / sizeof *gauges,
    FACTS = sizeof facts / sizeof *facts,
    GROUPED = 2 /* of the gauges: the first */
};

static uint32_t text_id(struct ss_model *model, const char *text)
{
    return ss_intern_put_text(&model->strings, text);
}

/* Processes 1 to 3, each below the one before, with a thread and a track of each kind. */
static void put_tracks(struct ss_model *model)
{
    static const enum ss_track_kind kinds[] = {SS_TRACK_STEPS, SS_TRACK_PHASES};
    ss_vec_push(&model->inputs, (struct ss_model_input){.kind = SS_INPUT_TRACE});
    for (uint32_t i = 1; i <= PROCESSES; i++) {
        ss_vec_push(&model->processes,
                    (struct ss_model_process){.pid = (int32_t)i, .parent = i - 1});
        ss_vec_push(&model->threads,
                    (struct ss_model_thread){.process = i, .tid = i, .is_main = true});
        for (uint32_t k = 0; k < DOMAINS + GAUGES; k++) {
            bool is_gauge = k >= DOMAINS;
            ss_vec_push(&model->tracks,
                        (struct ss_model_track){
                            .kind = is_gauge ? SS_TRACK_COUNTER
                                    : k < 2  ? kinds[k]
                                             : SS_TRACK_RANGES,
                            .process = i,
                            .thread = is_gauge || k < 2 ? 0 : i,
                            .parent = is_gauge && k < DOMAINS + GROUPED ? 1 : 0,
                            .name = text_id(model, is_gauge ? gauges[k - DOMAINS] : domains[k])});
        }
    }
    for (uint32_t i = 0; i < NAMES; i++) {
        ss_vec_push(&model->names, (struct ss_model_name){.text = text_id(model, names[i]),
                                                          .category = text_id(model, "operator")});
    }
    ss_vec_push(&model->attributes, (struct ss_model_attribute){.key = text_id(model, "cpu_count"),
                                                                .is_integer = true,
                                                                .integer = 2});
}

static void put_range(struct ss_model *model, const uint8_t *bytes, uint32_t track)
{
    uint64_t begin_ns = (uint64_t)(bytes[2] << 8 | bytes[3]) << (bytes[6] % 49);
    uint64_t length_ns = (uint64_t)(bytes[4] << 8 | bytes[5]) << (bytes[7] % 49);
    uint64_t end_ns = begin_ns + length_ns < begin_ns ? UINT64_MAX : begin_ns + length_ns;
    ss_vec_push(&model->payloads,
                (struct ss_model_payload){.type = SS_VALUE_INT, .integer = (int64_t)bytes[6] - 1});
    ss_vec_push(&model->ranges,
                (struct ss_model_range){.begin_ns = begin_ns,
                                        .end_ns = end_ns,
                                        .track = track,
                                        .path = ss_model_path_id(model, 0, bytes[1] % NAMES + 1),
                                        .payload = (uint32_t)model->payloads.count - 1,
                                        .flags = bytes[7] == 255 ? SS_RANGE_END_UNSEEN : 0});
}

static void put_value(struct ss_model *model, const uint8_t *bytes, uint32_t track)
{
    struct ss_model_value value = {.time_ns = (uint64_t)bytes[2] << (bytes[3] % 49),
                                   .track = track,
                                   .is_integer = bytes[4] & 1,
                                   .integer = (int64_t)((uint64_t)bytes[6] << (bytes[5] % 64))};
    if (!value.is_integer) {
        value.real = bytes[4] & 2 ? NAN : bytes[4] & 4 ? INFINITY : ldexp(bytes[6], bytes[5]);
    }
    ss_vec_push(&model->values, value);
}

static void put_fact(struct ss_model *model, const uint8_t *bytes, uint32_t process)
{
    char text[64];
    uint64_t number = (uint64_t)bytes[3] << (bytes[4] % 64);
    snprintf(text, sizeof text, "%s = %lld", facts[bytes[1] % FACTS],
             (long long)(bytes[5] & 1 ? ~number : number));
    ss_vec_push(&model->notes, (struct ss_model_note){.process = process,
                                                      .kind = text_id(model, "fact"),
                                                      .text = text_id(model, text),
                                                      .time_ns = bytes[2]});
}

static void put_samples(struct ss_model *model, const uint8_t *bytes, uint32_t process)
{
    struct ss_model_frame frame = {.function = text_id(model, names[bytes[1] % NAMES]),
                                   .file = text_id(model, bytes[2] & 1 ? "/torch/x.py" : "y.py"),
                                   .line = bytes[3],
                                   .origin = (enum ss_code_origin)(bytes[2] % 5)};
    struct ss_model_total total = {
        .thread = process,
        .stack = ss_model_stack_id(model, 0, ss_model_frame_id(model, &frame)),
        .phase = bytes[4] & 1 ? text_id(model, "data") : 0,
        .step = bytes[4] % 3,
        .state = bytes[5] % SS_STATE_COUNT,
        .samples = (uint64_t)bytes[6] << (bytes[7] % 48),
        .records = bytes[6]};
    ss_model_add_total(model, &total);
}

static int compare_ranges(const void *left, const void *right)
{
    const struct ss_model_range *a = left, *b = right;
    if (a->track != b->track) {
        return a->track < b->track ? -1 : 1;
    }
    if (a->begin_ns != b->begin_ns) {
        return a->begin_ns < b->begin_ns ? -1 : 1;
    }
    return (a->end_ns < b->end_ns) - (a->end_ns > b->end_ns);
}

static int compare_values(const void *left, const void *right)
{
    const struct ss_model_value *a = left, *b = right;
    if (a->track != b->track) {
        return a->track < b->track ? -1 : 1;
    }
    return (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns);
}

static void build_model(struct ss_model *model, const uint8_t *data, size_t size)
{
    put_tracks(model);
    for (size_t at = 0; at + RECORD <= size; at += RECORD) {
        const uint8_t *bytes = data + at;
        uint32_t process = bytes[0] / 64 % PROCESSES + 1, what = bytes[0] % (DOMAINS + GAUGES + 2);
        uint32_t track = (process - 1) * (DOMAINS + GAUGES) + what + 1;
        if (what < DOMAINS) {
            put_range(model, bytes, track);
        } else if (what < DOMAINS + GAUGES) {
            put_value(model, bytes, track);
        } else if (what == DOMAINS + GAUGES) {
            put_fact(model, bytes, process);
        } else {
            put_samples(model, bytes, process);
        }
    }
    if (model->ranges.count > 0) {
        qsort(model->ranges.data, model->ranges.count, sizeof *model->ranges.data, compare_ranges);
    }
    if (model->values.count > 0) {
        qsort(model->values.data, model->values.count, sizeof *model->values.data, compare_values);
    }
}

#endif
