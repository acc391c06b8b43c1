/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "timeline/saved_inside.h"
#include "timeline/saved_rules.h"
#include "timeline/timeline_inside.h"
#include "wire/crc32c.h"

/* Rows are checked while the processor has them at hand. */
enum { PIECE_BYTES = 1 << 18 };

struct restoring {
    int fd;
    uint64_t left; /* bytes of the file */
    uint32_t crc;
    bool failed;
    uint64_t counts[SS_SAVED_TABLES];
    struct ss_saved_maxima maxima;
};

static void get(struct restoring *restoring, void *bytes, size_t length)
{
    char *at = bytes;
    restoring->failed = restoring->failed || length > restoring->left;
    restoring->left -= restoring->failed ? 0 : length;
    size_t missing = restoring->failed ? 0 : length;
    while (missing > 0) {
        ssize_t got = read(restoring->fd, at, missing);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            restoring->failed = true;
            break;
        }
        restoring->crc = ss_crc32c(restoring->crc, at, (size_t)got);
        at += got;
        missing -= (size_t)got;
    }
    if (restoring->failed) {
        memset(bytes, 0, length);
    }
}

/* How many rows follow; 0 where the file has another table, or fewer bytes. */
static uint64_t get_header(struct restoring *restoring, enum ss_saved_table table, size_t row_bytes)
{
    struct ss_saved_rows rows;
    get(restoring, &rows, sizeof rows);
    restoring->failed = restoring->failed || rows.table != table || rows.row_bytes != row_bytes ||
                        rows.count > restoring->left / row_bytes || rows.count > UINT32_MAX;
    restoring->counts[table] = restoring->failed ? 0 : rows.count;
    return restoring->counts[table];
}

/* The rows of a table; NULL: none. */
static void *get_rows(struct restoring *restoring, enum ss_saved_table table, size_t row_bytes,
                      size_t *count)
{
    *count = get_header(restoring, table, row_bytes);
    char *rows = *count > 0 ? ss_alloc(*count * row_bytes) : NULL;
    size_t piece = PIECE_BYTES / row_bytes + 1;
    for (size_t at = 0; at < *count; at += piece) {
        size_t some = *count - at < piece ? *count - at : piece;
        get(restoring, rows + at * row_bytes, some * row_bytes);
        ss_saved_rules_see(&restoring->maxima, table, rows + at * row_bytes, row_bytes, some);
    }
    return rows;
}

#define GET(restoring, table, vec)                                                                 \
    do {                                                                                           \
        ss_vec_fini(vec);                                                                          \
        (vec)->data = get_rows((restoring), (table), sizeof *(vec)->data, &(vec)->count);          \
        (vec)->capacity = (vec)->count;                                                            \
    } while (0)

/* Tables whose row 0 is "none". */
#define GET_WITH_NONE(restoring, table, vec)                                                       \
    do {                                                                                           \
        GET(restoring, table, vec);                                                                \
        (restoring)->failed = (restoring)->failed || (vec)->count == 0;                            \
    } while (0)

/* --- the model -------------------------------------------------------------------------------- */

static void get_strings(struct restoring *restoring, struct ss_intern *strings)
{
    size_t count, bytes;
    uint32_t *lengths = get_rows(restoring, SS_SAVED_STRING_LENGTHS, sizeof *lengths, &count);
    char *texts = get_rows(restoring, SS_SAVED_STRINGS, 1, &bytes);
    size_t at = 0;
    for (size_t id = 0; id < count && !restoring->failed; id++) {
        /* Each text is new, or it would have another id. */
        restoring->failed =
            lengths[id] > bytes - at || ss_intern_put(strings, texts + at, lengths[id]) != id;
        at += restoring->failed ? 0 : lengths[id];
    }
    ss_free(lengths);
    ss_free(texts);
}

static void get_inputs(struct restoring *restoring, struct ss_model *model)
{
    size_t count;
    struct ss_saved_input *rows = get_rows(restoring, SS_SAVED_INPUTS, sizeof *rows, &count);
    for (size_t i = 0; i < count; i++) {
        ss_vec_push(&model->inputs,
                    (struct ss_model_input){.kind = (enum ss_input_kind)rows[i].kind,
                                            .path = rows[i].path,
                                            .clock_domain = rows[i].clock_domain});
    }
    ss_free(rows);
}

static void get_model(struct restoring *restoring, struct ss_model *model)
{
    get_strings(restoring, &model->strings);
    get_inputs(restoring, model);
    GET_WITH_NONE(restoring, SS_SAVED_CLOCK_DOMAINS, &model->clock_domains);
    GET_WITH_NONE(restoring, SS_SAVED_PROCESSES, &model->processes);
    GET_WITH_NONE(restoring, SS_SAVED_THREADS, &model->threads);
    GET_WITH_NONE(restoring, SS_SAVED_FRAMES, &model->frames);
    GET_WITH_NONE(restoring, SS_SAVED_DEVICES, &model->devices);
    GET_WITH_NONE(restoring, SS_SAVED_STREAMS, &model->streams);
    GET_WITH_NONE(restoring, SS_SAVED_MODEL_TRACKS, &model->tracks);
    GET_WITH_NONE(restoring, SS_SAVED_NAMES, &model->names);
    GET_WITH_NONE(restoring, SS_SAVED_PATHS, &model->paths);
    GET_WITH_NONE(restoring, SS_SAVED_PAYLOADS, &model->payloads);
    GET_WITH_NONE(restoring, SS_SAVED_FIELDS, &model->fields);
    GET(restoring, SS_SAVED_VALUES, &model->values);
    GET(restoring, SS_SAVED_RANGES, &model->ranges);
    /* The fields of an event end before the table does. */
    restoring->failed = restoring->failed || model->fields.data[model->fields.count - 1].field != 0;
}

/* --- the timeline ----------------------------------------------------------------------------- */

/* What the `path` of the timeline's own ranges of a track is. */
static bool are_own_paths(const struct restoring *restoring, const struct ss_timeline *timeline,
                          const struct ss_timeline_track *track)
{
    uint64_t limit = restoring->counts[track->naming == SS_NAMED_BY_FRAME  ? SS_SAVED_FRAMES
                                       : track->naming == SS_NAMED_BY_NAME ? SS_SAVED_NAMES
                                                                           : SS_SAVED_PATHS];
    for (size_t i = track->first_range; i < track->end_range; i++) {
        if (timeline->own[i].path >= limit) {
            return false;
        }
    }
    return true;
}

static bool is_track(const struct restoring *restoring, const struct ss_timeline *timeline,
                     const struct ss_saved_track *row)
{
    uint64_t ranges = row->is_own ? timeline->own_count : restoring->counts[SS_SAVED_RANGES];
    uint64_t values = restoring->counts[SS_SAVED_VALUES];
    bool is_counter = row->kind == SS_TIMELINE_COUNTER;
    return row->first_range <= row->end_range && row->end_range <= ranges &&
           (row->is_own || row->naming == SS_NAMED_BY_PATH) && is_counter == (row->values > 0) &&
           (!is_counter || row->lanes == 0) && row->values <= values &&
           row->first_value <= values - row->values;
}

static void get_tracks(struct restoring *restoring, const struct ss_model *model,
                       struct ss_timeline *timeline)
{
    size_t count;
    uint64_t lanes = 0;
    struct ss_saved_track *rows = get_rows(restoring, SS_SAVED_TRACKS, sizeof *rows, &count);
    /* Their numbers of lanes add up to less than 2^32. */
    for (size_t i = 0; i < count && !restoring->failed; i++) {
        const struct ss_saved_track *row = &rows[i];
        restoring->failed =
            !is_track(restoring, timeline, row) || lanes + row->lanes > UINT32_MAX / 2;
        if (restoring->failed) {
            break;
        }
        struct ss_timeline_track track = {.kind = (enum ss_timeline_kind)row->kind,
                                          .naming = (enum ss_timeline_naming)row->naming,
                                          .track = row->track,
                                          .thread = row->thread,
                                          .group = row->group,
                                          .base_ns = row->base_ns,
                                          .first_lane = (uint32_t)lanes,
                                          .lanes = row->lanes,
                                          .slices = row->slices,
                                          .ranges =
                                              row->is_own ? timeline->own : model->ranges.data,
                                          .first_range = (size_t)row->first_range,
                                          .end_range = (size_t)row->end_range};
        if (row->values > 0) {
            ss_series_init(&track.series, &model->values.data[row->first_value], row->values);
        }
        lanes += row->lanes;
        restoring->failed = row->is_own && !are_own_paths(restoring, timeline, &track);
        ss_vec_push(&timeline->tracks, track);
    }
    GET(restoring, SS_SAVED_GROUPS, &timeline->groups);
    ss_free(rows);
}

/* The tracks of a group follow those of the group before it. */
static void check_groups(struct restoring *restoring, const struct ss_timeline *timeline)
{
    uint32_t next = 0;
    for (size_t i = 0; i < timeline->groups.count && !restoring->failed; i++) {
        const struct ss_timeline_group *group = &timeline->groups.data[i];
        restoring->failed = group->first_track != next || group->end_track <= next ||
                            group->end_track > timeline->tracks.count;
        for (; !restoring->failed && next < group->end_track; next++) {
            restoring->failed = timeline->tracks.data[next].group != i;
        }
    }
    restoring->failed = restoring->failed || next != timeline->tracks.count;
}

/* --- lanes ------------------------------------------------------------------------------------ */

/* An array of each lane, which lie one behind the other. */
static void *get_part(struct restoring *restoring, uint64_t *left, size_t row_bytes, size_t count)
{
    restoring->failed = restoring->failed || count > *left;
    char *part = ss_alloc((restoring->failed ? 0 : count * row_bytes) + row_bytes);
    if (!restoring->failed) {
        get(restoring, part, count * row_bytes);
        *left -= count;
    }
    return part;
}

static bool are_within(const uint32_t *numbers, size_t count, uint64_t first, uint64_t end)
{
    uint32_t least = UINT32_MAX, most = 0;
    for (size_t i = 0; i < count; i++) {
        least = numbers[i] < least ? numbers[i] : least;
        most = numbers[i] > most ? numbers[i] : most;
    }
    return count == 0 || (least >= first && most < end);
}

static void get_slices(struct restoring *restoring, struct ss_timeline *timeline)
{
    size_t lanes, at = 0;
    uint32_t *counts = get_rows(restoring, SS_SAVED_LANES, sizeof *counts, &lanes);
    uint64_t left = get_header(restoring, SS_SAVED_SLICES, sizeof(uint32_t));
    for (size_t i = 0; i < timeline->tracks.count && !restoring->failed; i++) {
        const struct ss_timeline_track *track = &timeline->tracks.data[i];
        for (uint32_t j = 0; j < track->lanes && !restoring->failed; j++, at++) {
            restoring->failed = at >= lanes;
            struct ss_lane lane = {.ranges = track->ranges,
                                   .count = restoring->failed ? 0 : counts[at]};
            lane.slices = get_part(restoring, &left, sizeof *lane.slices, lane.count);
            lane.count = restoring->failed ? 0 : lane.count;
            restoring->failed =
                restoring->failed ||
                !are_within(lane.slices, lane.count, track->first_range, track->end_range);
            ss_vec_push(&timeline->lanes, lane);
        }
    }
    restoring->failed = restoring->failed || at != lanes || left != 0;
    ss_free(counts);
}

static void get_pyramids(struct restoring *restoring, struct ss_timeline *timeline)
{
    uint64_t left = get_header(restoring, SS_SAVED_LONGEST, sizeof(uint32_t));
    for (size_t i = 0; i < timeline->lanes.count && !restoring->failed; i++) {
        struct ss_lane *lane = &timeline->lanes.data[i];
        size_t nodes = ss_lane_nodes(lane->count);
        lane->longest = get_part(restoring, &left, sizeof *lane->longest, nodes);
        restoring->failed = restoring->failed || !are_within(lane->longest, nodes, 0, lane->count);
    }
    restoring->failed = restoring->failed || left != 0;
    left = get_header(restoring, SS_SAVED_BUSY, sizeof(uint64_t));
    for (size_t i = 0; i < timeline->lanes.count && !restoring->failed; i++) {
        struct ss_lane *lane = &timeline->lanes.data[i];
        lane->busy_ns =
            get_part(restoring, &left, sizeof *lane->busy_ns, ss_lane_nodes(lane->count));
    }
    restoring->failed = restoring->failed || left != 0;
}

/* Those of the tables that are here already. */
static void check_rules(struct restoring *restoring)
{
    restoring->failed =
        restoring->failed || !ss_saved_rules_hold(&restoring->maxima, restoring->counts);
}

static void get_timeline(struct restoring *restoring, struct ss_viewed *viewed)
{
    struct ss_timeline *timeline = &viewed->timeline;
    timeline->selection = &viewed->selection;
    viewed->selection.model = &viewed->model;
    timeline->own = get_rows(restoring, SS_SAVED_OWN, sizeof *timeline->own, &timeline->own_count);
    GET(restoring, SS_SAVED_FORTH, &viewed->links.forth);
    GET(restoring, SS_SAVED_BACK, &viewed->links.back);
    restoring->failed = restoring->failed || viewed->links.forth.count != viewed->links.back.count;
    GET(restoring, SS_SAVED_STEPS, &viewed->steps.steps);
    check_rules(restoring);
    get_tracks(restoring, &viewed->model, timeline);
    check_groups(restoring, timeline);
    get_slices(restoring, timeline);
    get_pyramids(restoring, timeline);
    if (!restoring->failed) {
        ss_timeline_index_lanes(timeline);
    }
}

/* --- all of it -------------------------------------------------------------------------------- */

static bool get_key(struct restoring *restoring, struct ss_strview key)
{
    struct ss_saved_header header;
    get(restoring, &header, sizeof header);
    if (restoring->failed || memcmp(header.magic, ss_saved_magic, sizeof header.magic) != 0 ||
        header.format != SS_SAVED_FORMAT || header.key_bytes != key.length) {
        return false;
    }
    char *saved = ss_alloc(key.length + 1);
    get(restoring, saved, key.length);
    bool is_same = !restoring->failed && memcmp(saved, key.data, key.length) == 0;
    ss_free(saved);
    return is_same;
}

static void get_whole(struct restoring *restoring, struct ss_viewed *viewed)
{
    struct ss_saved_whole whole = {0};
    size_t length;
    restoring->failed =
        restoring->failed || get_header(restoring, SS_SAVED_WHOLE, sizeof whole) != 1;
    get(restoring, &whole, sizeof whole);
    viewed->timeline.duration_ns = whole.duration_ns;
    viewed->timeline.slices = whole.slices;
    viewed->timeline.hidden = whole.hidden;
    viewed->steps.outliers = (size_t)whole.outliers;
    viewed->exit_status = whole.exit_status != 0 ? 3 : 0;
    char *messages = get_rows(restoring, SS_SAVED_MESSAGES, 1, &length);
    ss_strbuf_append(&viewed->messages, messages, length);
    ss_free(messages);
}

static void find_trained(struct ss_viewed *viewed)
{
    struct ss_step_summary *steps = &viewed->steps;
    steps->trains = ss_alloc_zero(viewed->model.processes.count + 1, sizeof *steps->trains);
    for (size_t i = 0; i < steps->steps.count; i++) {
        steps->trains[steps->steps.data[i].process] = true;
    }
}

static void get_all(struct restoring *restoring, const struct ss_restore_options *options,
                    struct ss_viewed *viewed)
{
    uint32_t summed, wanted;
    restoring->failed = !get_key(restoring, options->key);
    get_whole(restoring, viewed);
    get_model(restoring, &viewed->model);
    get_timeline(restoring, viewed);
    check_rules(restoring);
    summed = restoring->crc;
    get(restoring, &wanted, sizeof wanted);
    restoring->failed =
        restoring->failed || restoring->left != 0 || (wanted != summed && !options->is_unsummed);
    if (!restoring->failed) {
        find_trained(viewed);
    }
}

enum ss_status ss_viewed_restore(struct ss_viewed *viewed, int fd,
                                 const struct ss_restore_options *options, struct ss_error *err)
{
    struct stat file;
    if (fstat(fd, &file) != 0 || !S_ISREG(file.st_mode) ||
        (uint64_t)file.st_size > options->most_bytes) {
        return ss_fail(err, SS_E_FORMAT, "no file of a reasonable size");
    }
    struct restoring *restoring = ss_alloc_zero(1, sizeof *restoring);
    restoring->fd = fd;
    restoring->left = (uint64_t)file.st_size;
    get_all(restoring, options, viewed);
    bool failed = restoring->failed;
    ss_free(restoring);
    if (failed) {
        ss_viewed_fini(viewed);
        ss_viewed_init(viewed);
        return ss_fail(err, SS_E_FORMAT, "of another recording or build, cut or damaged");
    }
    return SS_OK;
}
