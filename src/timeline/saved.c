/* SPDX-License-Identifier: Apache-2.0 */
#include "timeline/saved.h"

#include "timeline/saved_inside.h"
#include "wire/crc32c.h"

/* Zero or not, the CRC of the rest depends on it. */
const char ss_saved_magic[9] = "ssview\r\n";

enum { PIECE_BYTES = 1 << 20 };

struct saving {
    struct ss_sink *sink;
    const atomic_bool *stops;
    uint32_t crc;
};

void ss_viewed_init(struct ss_viewed *viewed)
{
    *viewed = (struct ss_viewed){0};
    ss_model_init(&viewed->model);
    ss_strbuf_init(&viewed->messages, SS_SAVED_MESSAGE_BYTES);
}

void ss_viewed_fini(struct ss_viewed *viewed)
{
    ss_step_summary_fini(&viewed->steps);
    ss_timeline_links_fini(&viewed->links);
    ss_timeline_fini(&viewed->timeline);
    ss_selection_fini(&viewed->selection);
    ss_model_fini(&viewed->model);
    ss_strbuf_fini(&viewed->messages);
}

static void put(struct saving *saving, const void *bytes, size_t length)
{
    const char *at = bytes;
    while (length > 0 && !atomic_load_explicit(saving->stops, memory_order_relaxed)) {
        size_t piece = length < PIECE_BYTES ? length : PIECE_BYTES;
        saving->crc = ss_crc32c(saving->crc, at, piece);
        ss_sink_write(saving->sink, at, piece);
        at += piece;
        length -= ss_sink_failed(saving->sink) ? length : piece;
    }
}

static void put_header(struct saving *saving, enum ss_saved_table table, size_t row_bytes,
                       uint64_t count)
{
    struct ss_saved_rows rows = {(uint32_t)table, (uint32_t)row_bytes, count};
    put(saving, &rows, sizeof rows);
}

static void put_rows(struct saving *saving, enum ss_saved_table table, const void *rows,
                     size_t row_bytes, uint64_t count)
{
    put_header(saving, table, row_bytes, count);
    put(saving, rows, row_bytes * count);
}

#define PUT(saving, table, vec)                                                                    \
    put_rows(saving, table, (vec)->data, sizeof *(vec)->data, (vec)->count)

static void put_strings(struct saving *saving, const struct ss_intern *strings)
{
    uint64_t bytes = 0;
    put_header(saving, SS_SAVED_STRING_LENGTHS, sizeof(uint32_t), strings->count);
    for (uint32_t id = 0; id < strings->count; id++) {
        uint32_t length = (uint32_t)strings->texts[id].length;
        put(saving, &length, sizeof length);
        bytes += length;
    }
    put_header(saving, SS_SAVED_STRINGS, 1, bytes);
    for (uint32_t id = 0; id < strings->count; id++) {
        put(saving, strings->texts[id].data, strings->texts[id].length);
    }
}

static void put_inputs(struct saving *saving, const struct ss_model *model)
{
    put_header(saving, SS_SAVED_INPUTS, sizeof(struct ss_saved_input), model->inputs.count);
    for (size_t i = 0; i < model->inputs.count; i++) {
        const struct ss_model_input *input = &model->inputs.data[i];
        struct ss_saved_input row = {(uint32_t)input->kind, input->path, input->clock_domain};
        put(saving, &row, sizeof row);
    }
}

static void put_model(struct saving *saving, const struct ss_model *model)
{
    put_strings(saving, &model->strings);
    put_inputs(saving, model);
    PUT(saving, SS_SAVED_CLOCK_DOMAINS, &model->clock_domains);
    PUT(saving, SS_SAVED_PROCESSES, &model->processes);
    PUT(saving, SS_SAVED_THREADS, &model->threads);
    PUT(saving, SS_SAVED_FRAMES, &model->frames);
    PUT(saving, SS_SAVED_DEVICES, &model->devices);
    PUT(saving, SS_SAVED_STREAMS, &model->streams);
    PUT(saving, SS_SAVED_MODEL_TRACKS, &model->tracks);
    PUT(saving, SS_SAVED_NAMES, &model->names);
    PUT(saving, SS_SAVED_PATHS, &model->paths);
    PUT(saving, SS_SAVED_PAYLOADS, &model->payloads);
    PUT(saving, SS_SAVED_FIELDS, &model->fields);
    PUT(saving, SS_SAVED_VALUES, &model->values);
    PUT(saving, SS_SAVED_RANGES, &model->ranges);
}

static void put_tracks(struct saving *saving, const struct ss_timeline *timeline)
{
    const struct ss_model *model = timeline->selection->model;
    put_header(saving, SS_SAVED_TRACKS, sizeof(struct ss_saved_track), timeline->tracks.count);
    for (size_t i = 0; i < timeline->tracks.count; i++) {
        const struct ss_timeline_track *track = &timeline->tracks.data[i];
        bool has_values = track->series.count > 0;
        struct ss_saved_track row = {
            .kind = (uint32_t)track->kind,
            .naming = (uint32_t)track->naming,
            .track = track->track,
            .thread = track->thread,
            .group = track->group,
            .lanes = track->lanes,
            .values = track->series.count,
            .is_own = track->ranges != model->ranges.data,
            .base_ns = track->base_ns,
            .slices = track->slices,
            .first_range = track->first_range,
            .end_range = track->end_range,
            .first_value = has_values ? (uint64_t)(track->series.values - model->values.data) : 0};
        put(saving, &row, sizeof row);
    }
    PUT(saving, SS_SAVED_GROUPS, &timeline->groups);
}

static void put_lanes(struct saving *saving, const struct ss_timeline *timeline)
{
    uint64_t slices = 0, nodes = 0;
    put_header(saving, SS_SAVED_LANES, sizeof(uint32_t), timeline->lanes.count);
    for (size_t i = 0; i < timeline->lanes.count; i++) {
        const struct ss_lane *lane = &timeline->lanes.data[i];
        put(saving, &lane->count, sizeof lane->count);
        slices += lane->count;
        nodes += ss_lane_nodes(lane->count);
    }
    put_header(saving, SS_SAVED_SLICES, sizeof(uint32_t), slices);
    for (size_t i = 0; i < timeline->lanes.count; i++) {
        const struct ss_lane *lane = &timeline->lanes.data[i];
        put(saving, lane->slices, lane->count * sizeof *lane->slices);
    }
    put_header(saving, SS_SAVED_LONGEST, sizeof(uint32_t), nodes);
    for (size_t i = 0; i < timeline->lanes.count; i++) {
        const struct ss_lane *lane = &timeline->lanes.data[i];
        put(saving, lane->longest, ss_lane_nodes(lane->count) * sizeof *lane->longest);
    }
    put_header(saving, SS_SAVED_BUSY, sizeof(uint64_t), nodes);
    for (size_t i = 0; i < timeline->lanes.count; i++) {
        const struct ss_lane *lane = &timeline->lanes.data[i];
        put(saving, lane->busy_ns, ss_lane_nodes(lane->count) * sizeof *lane->busy_ns);
    }
}

void ss_viewed_save(const struct ss_viewed *viewed, struct ss_strview key, const atomic_bool *stops,
                    struct ss_sink *sink)
{
    const struct ss_timeline *timeline = &viewed->timeline;
    struct saving saving = {sink, stops, 0};
    struct ss_saved_header header = {.format = SS_SAVED_FORMAT, .key_bytes = (uint32_t)key.length};
    memcpy(header.magic, ss_saved_magic, sizeof header.magic);
    put(&saving, &header, sizeof header);
    put(&saving, key.data, key.length);
    struct ss_saved_whole whole = {timeline->duration_ns, timeline->slices, timeline->hidden,
                                   viewed->steps.outliers, viewed->exit_status};
    put_rows(&saving, SS_SAVED_WHOLE, &whole, sizeof whole, 1);
    put_rows(&saving, SS_SAVED_MESSAGES, viewed->messages.data, 1, viewed->messages.length);
    put_model(&saving, &viewed->model);
    put_rows(&saving, SS_SAVED_OWN, timeline->own, sizeof *timeline->own, timeline->own_count);
    PUT(&saving, SS_SAVED_FORTH, &viewed->links.forth);
    PUT(&saving, SS_SAVED_BACK, &viewed->links.back);
    PUT(&saving, SS_SAVED_STEPS, &viewed->steps.steps);
    put_tracks(&saving, timeline);
    put_lanes(&saving, timeline);
    ss_sink_write(sink, &saving.crc, sizeof saving.crc);
}

uint64_t ss_viewed_saved_bytes(const struct ss_viewed *viewed)
{
    const struct ss_model *model = &viewed->model;
    return ss_timeline_memory(&viewed->timeline) + model->strings.arena.total_bytes +
           model->ranges.count * sizeof *model->ranges.data +
           model->payloads.count * sizeof *model->payloads.data +
           model->fields.count * sizeof *model->fields.data +
           model->values.count * sizeof *model->values.data +
           model->paths.count * sizeof *model->paths.data +
           model->frames.count * sizeof *model->frames.data +
           2 * viewed->links.forth.count * sizeof *viewed->links.forth.data;
}
