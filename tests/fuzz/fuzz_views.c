/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any stacks with any names through the graphs and exports: what comes out is small, well-formed
 * and holds every sample. Bytes: options, then frames (their index of 1–3 bytes of name) and ends
 * of stacks. Names are made by hand, so that newlines and NULs get in that a raw file cannot hold.
 */
#include <jansson.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "view/export/folded.h"
#include "view/export/speedscope.h"
#include "view/flame/flame_svg.h"

enum { MAX_OUTPUT_BYTES = 64 << 20, MAX_INPUT_BYTES = 1536, RECURSION = 16 };

static void check(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "broken: %s\n", what);
        abort();
    }
}

static uint32_t put_frame(struct ss_model *model, const uint8_t *name, size_t length)
{
    struct ss_model_frame frame = {
        .function = ss_intern_put(&model->strings, (const char *)name, length),
        .file = ss_intern_put(&model->strings, (const char *)name + length / 2, length / 2),
        .line = length > 1 ? name[1] - 1 : 3,
        .first_line = 1,
        .origin = (enum ss_code_origin)(length > 0 ? name[0] % 5 : 0)};
    return ss_model_frame_id(model, &frame);
}

/* 0xf0 … 0xff end a stack (the low bits are the samples), other bytes give a name's length. */
static uint64_t build_model(struct ss_model *model, const uint8_t *data, size_t size)
{
    uint64_t samples = 0;
    uint32_t stack = 0;
    ss_vec_push(&model->inputs, (struct ss_model_input){.kind = SS_INPUT_RAW, .is_untimed = true});
    for (uint32_t i = 1; i <= 3; i++) {
        ss_vec_push(&model->processes,
                    (struct ss_model_process){.pid = (int32_t)i, .parent = i - 1});
        ss_vec_push(&model->threads, (struct ss_model_thread){.process = i, .tid = i});
    }
    for (size_t at = 0; at < size;) {
        uint8_t step = data[at++];
        if (step >= 0xf0) {
            struct ss_model_total total = {.thread = step % 3 + 1,
                                           .stack = stack,
                                           .state = (uint8_t)(step % SS_STATE_COUNT),
                                           .samples = (uint64_t)(step & 15) + 1,
                                           .records = 1};
            ss_model_add_total(model, &total);
            samples += stack != 0 ? total.samples : 0;
            stack = 0;
            continue;
        }
        size_t length = step % 32 < size - at ? step % 32 : size - at;
        /* The same frame again and again: recursion. */
        for (int repeat = step >= 0xc0 ? RECURSION : 1; repeat > 0; repeat--) {
            stack = ss_model_stack_id(model, stack, put_frame(model, data + at, length));
        }
        at += length;
    }
    return samples;
}

static void check_folded(const struct ss_selection *selection, unsigned choice)
{
    struct ss_sink sink;
    struct ss_folded_options options = {
        .size = sizeof options, .style.no_lines = choice & 1, .threads = choice & 2};
    ss_sink_open_memory(&sink, MAX_OUTPUT_BYTES);
    check(ss_view_folded(selection, &options, &sink, NULL) == SS_OK, "folded lines are written");
    check(ss_utf8_valid(sink.buffer.data, sink.buffer.length), "folded lines are UTF-8");
    uint64_t sum = 0;
    for (char *line = sink.buffer.data; *line != '\0';) {
        char *end = strchr(line, '\n');
        check(end != NULL, "every line ends");
        *end = '\0';
        char *count = strrchr(line, ' ');
        check(count != NULL && count[1] != '\0', "every line has a count");
        sum += strtoull(count + 1, NULL, 10);
        line = end + 1;
    }
    check(sum == selection->shown, "folded lines hold every sample");
    ss_sink_abandon(&sink);
}

static void check_speedscope(const struct ss_selection *selection)
{
    struct ss_sink sink;
    struct ss_speedscope_options options = {.size = sizeof options};
    ss_sink_open_memory(&sink, MAX_OUTPUT_BYTES);
    check(ss_view_speedscope(selection, &options, &sink, NULL) == SS_OK, "speedscope is written");
    json_t *root = json_loadb(sink.buffer.data, sink.buffer.length, JSON_ALLOW_NUL, NULL);
    check(root != NULL, "speedscope is JSON");
    json_int_t sum = 0;
    size_t i;
    json_t *profile;
    json_array_foreach(json_object_get(root, "profiles"), i, profile)
    {
        sum += json_integer_value(json_object_get(profile, "endValue"));
        check(json_array_size(json_object_get(profile, "samples")) ==
                  json_array_size(json_object_get(profile, "weights")),
              "a weight for each sample");
    }
    check((uint64_t)sum == selection->shown, "speedscope holds every sample");
    json_decref(root);
    ss_sink_abandon(&sink);
}

static void check_flame(const struct ss_selection *selection, unsigned choice)
{
    struct ss_sink sink;
    struct ss_flame_options options = {.size = sizeof options,
                                       .style.by_function = choice & 1,
                                       .threads = choice & 2,
                                       .inverted = choice & 4,
                                       .reverse = choice & 8,
                                       .colors = (enum ss_flame_scheme)(choice >> 4 & 3),
                                       .minimum_px = choice & 64 ? 20 : 0};
    ss_sink_open_memory(&sink, MAX_OUTPUT_BYTES);
    const struct ss_selection *base = choice & 128 ? selection : NULL;
    check(ss_view_flame(selection, base, &options, &sink, NULL) == SS_OK, "a flame graph is drawn");
    check(sink.buffer.length <= SS_FLAME_MAX_BYTES, "a flame graph is small");
    check(ss_utf8_valid(sink.buffer.data, sink.buffer.length), "a flame graph is UTF-8");
    char *from = strstr(sink.buffer.data, "<metadata>"), *to = strstr(from, "</metadata>");
    json_t *data = json_loadb(from + 10, (size_t)(to - from - 10), 0, NULL);
    check(data != NULL, "its data are JSON");
    json_t *all = json_array_get(json_object_get(data, "cells"), 2);
    check((uint64_t)json_integer_value(all) == selection->shown, "it holds every sample");
    json_decref(data);
    char *script = strstr(sink.buffer.data, "<script");
    check(script != NULL && strstr(script + 1, "<script") == NULL, "names are not scripts");
    ss_sink_abandon(&sink);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1 || size > MAX_INPUT_BYTES) {
        return 0;
    }
    struct ss_model model;
    struct ss_selection selection;
    struct ss_selection_options options = {.size = sizeof options, .idle = SS_IDLE_ALL};
    ss_model_init(&model);
    uint64_t samples = build_model(&model, data + 1, size - 1);
    check(ss_selection_init(&selection, &model, &options, NULL) == SS_OK, "all is selected");
    check(selection.shown == samples, "all is shown");
    if (samples > 0) {
        check_folded(&selection, data[0]);
        check_speedscope(&selection);
        check_flame(&selection, data[0]);
    }
    ss_selection_fini(&selection);
    ss_model_fini(&model);
    return 0;
}
