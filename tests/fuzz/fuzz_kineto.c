/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a trace of Chrome's format, exported in Kineto's: the file is JSON without doubled
 * keys, and the ranges of a pid and tid nest. The first byte chooses the reader it is for. */
#include <inttypes.h>
#include <jansson.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/selection/programs.h"
#include "base/alloc.h"
#include "model/files/importer.h"
#include "view/export/kineto.h"

enum { MAX_OUTPUT_BYTES = 64 << 20 };

static void check(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "broken: %s\n", what);
        abort();
    }
}

struct event {
    int64_t pid, tid;
    uint64_t begin_ns, end_ns;
};

struct events ss_vec_of(struct event);

static int compare(const void *left, const void *right)
{
    const struct event *a = left, *b = right;
    return a->pid != b->pid             ? (a->pid < b->pid ? -1 : 1)
           : a->tid != b->tid           ? (a->tid < b->tid ? -1 : 1)
           : a->begin_ns != b->begin_ns ? (a->begin_ns < b->begin_ns ? -1 : 1)
                                        : (a->end_ns < b->end_ns) - (a->end_ns > b->end_ns);
}

/* An event has a line of its own. */
static void collect(const char *text, struct events *events)
{
    for (const char *line = text; line != NULL && *line != '\0'; line = strchr(line, '\n')) {
        struct event event;
        uint64_t us, ns, for_us, for_ns;
        line += *line == '\n';
        if (sscanf(line,
                   "{\"ph\":\"X\",\"pid\":%" SCNd64 ",\"tid\":%" SCNd64 ",\"ts\":%" SCNu64
                   ".%3" SCNu64 ",\"dur\":%" SCNu64 ".%3" SCNu64,
                   &event.pid, &event.tid, &us, &ns, &for_us, &for_ns) == 6) {
            event.begin_ns = us * 1000 + ns;
            event.end_ns = event.begin_ns + for_us * 1000 + for_ns;
            check(event.end_ns >= event.begin_ns, "a range ends behind its begin");
            ss_vec_push(events, event);
        }
    }
}

static void check_nesting(struct events *events)
{
    struct ss_vec_of(uint64_t) open = {0};
    if (events->count > 1) {
        qsort(events->data, events->count, sizeof *events->data, compare);
    }
    for (size_t i = 0; i < events->count; i++) {
        const struct event *event = &events->data[i];
        if (i == 0 || event[-1].pid != event->pid || event[-1].tid != event->tid) {
            open.count = 0;
        }
        while (open.count > 0 && open.data[open.count - 1] <= event->begin_ns) {
            open.count--;
        }
        check(open.count == 0 || event->end_ns <= open.data[open.count - 1], "ranges nest");
        ss_vec_push(&open, event->end_ns);
    }
    ss_vec_fini(&open);
}

static void check_file(const struct ss_selection *selection, unsigned choice)
{
    struct ss_sink sink;
    struct events events = {0};
    struct ss_error err = {0};
    const struct ss_kineto_options options = {.size = sizeof options,
                                              .for_tensorboard = choice & 1,
                                              .has_span = choice & 2,
                                              .from_ns = (uint64_t)(choice >> 4) * 1000,
                                              .to_ns = UINT64_MAX};
    ss_sink_open_memory(&sink, MAX_OUTPUT_BYTES);
    check(ss_view_kineto(selection, &options, &sink, &err) == SS_OK, "it is written");
    json_t *root = json_loadb(sink.buffer.data, sink.buffer.length,
                              JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES, NULL);
    check(json_is_array(json_object_get(root, "traceEvents")), "it is JSON");
    json_decref(root);
    collect(sink.buffer.data, &events);
    check_nesting(&events);
    ss_vec_fini(&events);
    ss_sink_abandon(&sink);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    struct ss_model_load load = {.size = sizeof load, .quiet = true};
    struct ss_import_file file = {
        .path = "input", .head = (const char *)data + 1, .head_length = size - 1, .fd = -1};
    struct ss_model model;
    struct ss_error err = {0};
    ss_model_init(&model);
    if (ss_importer_chrome.load(&model, &file, &load, &err) == SS_OK) {
        struct ss_selection selection;
        struct ss_selection_options options = {.size = sizeof options};
        struct ss_programs programs;
        check(ss_selection_init(&selection, &model, &options, &err) == SS_OK, "all is selected");
        ss_programs_init(&programs, &selection);
        for (size_t i = 0; i < programs.rows.count; i++) {
            check_file(&programs.rows.data[i].selection, data[0]);
        }
        ss_programs_fini(&programs);
        ss_selection_fini(&selection);
    }
    ss_model_fini(&model);
    return 0;
}
