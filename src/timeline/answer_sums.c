/* SPDX-License-Identifier: Apache-2.0 */
/* Time by name and by track within a time range, cut at its ends to the nanosecond. */
#include <stdlib.h>

#include "timeline/answer_names.h"
#include "timeline/answer_slice.h"
#include "timeline/answers.h"
#include "timeline/labels.h"
#include "view/output/json_text.h"

enum { MOST_NAMES = 200, MOST_TRACKS = 200, TRACK_BYTES = 2048 };

struct name_sum {
    struct ss_answer_name name;
    uint64_t count, total_ns, self_ns;
};

struct track_sum {
    uint32_t track;
    uint64_t count, busy_ns;
};

struct summing {
    const struct ss_timeline *timeline;
    uint64_t from_ns, to_ns; /* since time 0 */
    struct ss_pair_ids ids;  /* index + 1, by label */
    struct ss_vec_of(struct name_sum) names;
    struct ss_vec_of(struct track_sum) tracks;
};

static uint64_t within(const struct ss_model_range *slice, uint64_t from_ns, uint64_t to_ns)
{
    uint64_t begin_ns = slice->begin_ns > from_ns ? slice->begin_ns : from_ns;
    uint64_t end_ns = slice->end_ns < to_ns ? slice->end_ns : to_ns;
    return end_ns > begin_ns ? end_ns - begin_ns : 0;
}

/* The time of inner slices within an outer one; `*at` moves on with the outer ones. */
static uint64_t inner_time(const struct ss_lane *inner, uint32_t *at, uint64_t from_ns,
                           uint64_t to_ns)
{
    uint64_t time_ns = 0;
    while (*at < inner->count && ss_lane_slice(inner, *at)->begin_ns < to_ns) {
        time_ns += within(ss_lane_slice(inner, *at), from_ns, to_ns);
        if (ss_lane_slice(inner, *at)->end_ns > to_ns) {
            break;
        }
        ++*at;
    }
    return time_ns;
}

static struct name_sum *sum_of(struct summing *summing, const struct ss_timeline_track *track,
                               const struct ss_model_range *slice)
{
    uint32_t *id = ss_pair_ids_at(&summing->ids, ss_label_key(summing->timeline, track, slice));
    if (*id == 0) {
        ss_vec_push(&summing->names, (struct name_sum){.name = {track, slice}});
        *id = (uint32_t)summing->names.count;
    }
    return &summing->names.data[*id - 1];
}

static void add_lane(struct summing *summing, const struct ss_timeline_track *track, uint32_t id,
                     struct track_sum *all)
{
    const struct ss_timeline *timeline = summing->timeline;
    const struct ss_lane *lane = &timeline->lanes.data[id];
    uint64_t from_ns = track->base_ns + summing->from_ns, to_ns = track->base_ns + summing->to_ns;
    uint32_t inner_id, inner_at = 0;
    const struct ss_lane *inner =
        ss_answer_inner_lane(timeline, id, &inner_id) ? &timeline->lanes.data[inner_id] : NULL;
    if (inner != NULL) {
        inner_at = ss_lane_find(inner, from_ns);
    }
    for (uint32_t at = ss_lane_find(lane, from_ns);
         at < lane->count && ss_lane_slice(lane, at)->begin_ns < to_ns; at++) {
        const struct ss_model_range *slice = ss_lane_slice(lane, at);
        uint64_t time_ns = within(slice, from_ns, to_ns), inner_ns = 0;
        uint64_t end_ns = slice->end_ns < to_ns ? slice->end_ns : to_ns;
        if (inner != NULL) {
            inner_ns = inner_time(inner, &inner_at,
                                  slice->begin_ns > from_ns ? slice->begin_ns : from_ns, end_ns);
        }
        struct name_sum *sum = sum_of(summing, track, slice);
        sum->count++;
        sum->total_ns += time_ns;
        sum->self_ns += time_ns > inner_ns ? time_ns - inner_ns : 0;
        all->busy_ns += time_ns > inner_ns ? time_ns - inner_ns : 0;
        all->count++;
    }
}

static void add_tracks(struct summing *summing)
{
    for (uint32_t i = 0; i < summing->timeline->tracks.count; i++) {
        const struct ss_timeline_track *track = &summing->timeline->tracks.data[i];
        struct track_sum all = {.track = i};
        for (uint32_t lane = 0; lane < track->lanes; lane++) {
            add_lane(summing, track, track->first_lane + lane, &all);
        }
        if (all.count > 0) {
            ss_vec_push(&summing->tracks, all);
        }
    }
}

static int compare_names(const void *left, const void *right)
{
    const struct name_sum *a = left, *b = right;
    if (a->self_ns != b->self_ns) {
        return a->self_ns > b->self_ns ? -1 : 1;
    }
    return (a->count < b->count) - (a->count > b->count);
}

static void write_names(const struct summing *summing, struct ss_sink *sink)
{
    size_t count = summing->names.count < MOST_NAMES ? summing->names.count : MOST_NAMES;
    for (size_t i = 0; i < count; i++) {
        const struct name_sum *sum = &summing->names.data[i];
        ss_sink_text(sink, i > 0 ? ",\n{\"name\":" : "\n{\"name\":");
        ss_answer_write_label(summing->timeline, sum->name.track, sum->name.slice, SS_LABEL_BYTES,
                              sink);
        ss_sink_format(sink,
                       ",\"kind\":\"%s\",\"count\":", ss_timeline_kind_name(sum->name.track->kind));
        ss_json_write_natural(sink, sum->count);
        ss_sink_text(sink, ",\"total_ns\":");
        ss_json_write_natural(sink, sum->total_ns);
        ss_sink_text(sink, ",\"self_ns\":");
        ss_json_write_natural(sink, sum->self_ns);
        ss_sink_text(sink, "}");
    }
}

static void write_tracks(const struct summing *summing, struct ss_sink *sink)
{
    size_t count = summing->tracks.count < MOST_TRACKS ? summing->tracks.count : MOST_TRACKS;
    for (size_t i = 0; i < count; i++) {
        const struct track_sum *sum = &summing->tracks.data[i];
        ss_sink_format(sink, "%s\n{\"track\":%u,\"count\":", i > 0 ? "," : "", sum->track);
        ss_json_write_natural(sink, sum->count);
        ss_sink_text(sink, ",\"busy_ns\":");
        ss_json_write_natural(sink, sum->busy_ns);
        ss_sink_text(sink, "}");
    }
}

void ss_answer_sums(const struct ss_answering *answering, uint64_t from_ns, uint64_t to_ns,
                    struct ss_sink *sink)
{
    struct summing summing = {.timeline = answering->timeline, .from_ns = from_ns, .to_ns = to_ns};
    add_tracks(&summing);
    if (summing.names.count > 1) {
        qsort(summing.names.data, summing.names.count, sizeof *summing.names.data, compare_names);
    }
    ss_sink_text(sink, "{\"all_names\":");
    ss_json_write_natural(sink, summing.names.count);
    ss_sink_text(sink, ",\"all_tracks\":");
    ss_json_write_natural(sink, summing.tracks.count);
    ss_sink_text(sink, ",\"names\":[");
    write_names(&summing, sink);
    ss_sink_text(sink, "],\n\"tracks\":[");
    write_tracks(&summing, sink);
    ss_sink_text(sink, "]}\n");
    ss_pair_ids_fini(&summing.ids);
    ss_vec_fini(&summing.names);
    ss_vec_fini(&summing.tracks);
}
