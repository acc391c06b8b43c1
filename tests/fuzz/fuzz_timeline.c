/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a trace, and its timeline: slices of a lane do not overlap, pictures are small, and
 * each answer is JSON. The first byte chooses the window. */
#include <jansson.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "model/files/importer.h"
#include "timeline/answers.h"

enum { ANSWER_BYTES = 64 << 20, MOST_SLICES = 12 /* of a lane, whose details are written */ };

static void check(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "broken: %s\n", what);
        abort();
    }
}

static void check_lanes(const struct ss_timeline *timeline)
{
    for (size_t i = 0; i < timeline->lanes.count; i++) {
        const struct ss_lane *lane = &timeline->lanes.data[i];
        for (uint32_t at = 1; at < lane->count; at++) {
            check(ss_lane_slice(lane, at - 1)->end_ns <= ss_lane_slice(lane, at)->begin_ns,
                  "slices of a lane do not overlap");
        }
    }
}

/* Ends an answer. */
static void check_json(struct ss_sink *sink)
{
    check(!ss_sink_failed(sink), "an answer fits");
    json_error_t error;
    json_t *root = json_loadb(sink->buffer.data, sink->buffer.length,
                              JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES, &error);
    check(root != NULL, "an answer is JSON");
    json_decref(root);
    ss_sink_abandon(sink);
}

static void check_picture(const struct ss_answering *answering, uint64_t from_ns, uint64_t to_ns,
                          uint32_t px)
{
    struct ss_picture_request request = {.from_ns = from_ns, .to_ns = to_ns, .px = px};
    struct ss_picture picture;
    struct ss_sink sink;
    size_t tracks = answering->timeline->tracks.count;
    request.track_count =
        (uint32_t)(tracks < SS_PICTURE_MAX_TRACKS ? tracks : SS_PICTURE_MAX_TRACKS);
    for (uint32_t i = 0; i < request.track_count; i++) {
        request.tracks[i] = i;
    }
    ss_picture_init(&picture, answering->timeline, &request);
    check(picture.rects.count <= SS_PICTURE_MAX_RECTS, "a picture has few rectangles");
    check(picture.points.count <= SS_PICTURE_MAX_RECTS, "a picture has few points");
    ss_picture_fini(&picture);
    ss_sink_open_memory(&sink, ANSWER_BYTES);
    ss_answer_picture(answering, &request, &sink);
    check_json(&sink);
}

static void check_slices(const struct ss_answering *answering)
{
    struct ss_sink sink;
    for (uint32_t lane = 0; lane < answering->timeline->lanes.count; lane++) {
        for (uint32_t at = 0; at <= MOST_SLICES; at++) {
            ss_sink_open_memory(&sink, ANSWER_BYTES);
            bool is_there = at < answering->timeline->lanes.data[lane].count;
            check(ss_answer_slice(answering, lane, at, &sink) == is_there, "a slice has details");
            if (is_there) {
                check_json(&sink);
            } else {
                ss_sink_abandon(&sink);
            }
        }
    }
}

static void check_answers(const struct ss_answering *answering, unsigned choice)
{
    struct ss_sink sink;
    uint64_t all_ns = answering->timeline->duration_ns;
    uint64_t from_ns = all_ns / 16 * (choice & 15), span_ns = all_ns >> (choice >> 4) | 1;
    uint64_t to_ns = from_ns <= UINT64_MAX - span_ns ? from_ns + span_ns : UINT64_MAX;
    ss_sink_open_memory(&sink, ANSWER_BYTES);
    ss_answer_overview(answering, &sink);
    check_json(&sink);
    check_picture(answering, from_ns, to_ns, 1 + choice * 60);
    check_picture(answering, 0, all_ns + 1, SS_PICTURE_MAX_PX);
    check_slices(answering);
    ss_sink_open_memory(&sink, ANSWER_BYTES);
    ss_answer_sums(answering, from_ns, to_ns, &sink);
    check_json(&sink);
    struct ss_search_place after = {.begin_ns = from_ns, .lane = choice};
    ss_sink_open_memory(&sink, ANSWER_BYTES);
    ss_answer_search(answering, ss_strview_of("a"), &after, choice & 1, &sink);
    check_json(&sink);
    for (int which = SS_CHOOSE_NEXT; which <= SS_CHOOSE_OUTLIER; which++) {
        ss_sink_open_memory(&sink, ANSWER_BYTES);
        ss_answer_step(answering, 0, choice & 1, from_ns, (enum ss_step_choice)which, &sink);
        check_json(&sink);
    }
}

static void check_timeline(const struct ss_selection *selection, unsigned choice)
{
    static const struct ss_steps_options all_steps = {.size = sizeof all_steps};
    struct ss_timeline timeline;
    struct ss_timeline_links links;
    struct ss_step_summary steps;
    ss_timeline_init(&timeline, selection);
    ss_timeline_links_init(&links, &timeline);
    ss_step_summary_init(&steps, selection, &all_steps);
    check_lanes(&timeline);
    check_answers(&(struct ss_answering){.timeline = &timeline, .steps = &steps, .links = &links},
                  choice);
    ss_step_summary_fini(&steps);
    ss_timeline_links_fini(&links);
    ss_timeline_fini(&timeline);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    struct ss_model_load load = {.size = sizeof load, .quiet = true, .keep_samples = true};
    struct ss_import_file file = {
        .path = "input", .head = (const char *)data + 1, .head_length = size - 1, .fd = -1};
    struct ss_model model;
    ss_model_init(&model);
    if (ss_importer_chrome.load(&model, &file, &load, NULL) == SS_OK) {
        struct ss_selection selection;
        struct ss_selection_options options = {.size = sizeof options, .idle = SS_IDLE_ALL};
        check(ss_selection_init(&selection, &model, &options, NULL) == SS_OK, "all is selected");
        check_timeline(&selection, data[0]);
        ss_selection_fini(&selection);
    }
    ss_model_fini(&model);
    return 0;
}
