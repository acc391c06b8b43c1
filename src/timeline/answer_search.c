/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "timeline/answer_slice.h"
#include "timeline/answers.h"
#include "timeline/labels.h"
#include "view/output/json_text.h"
#include "view/output/pair_ids.h"

enum { PARTS = 512, MOST_TEXT_BYTES = 1024 };

struct searching {
    const struct ss_timeline *timeline;
    const char *text;
    bool backward;
    const struct ss_search_place *after;
    struct ss_search_place best;
    bool has_best;
    struct ss_pair_ids known; /* by label: 1 does not match, 2 matches */
    uint64_t count, parts[PARTS];
};

static bool has_text(const struct searching *searching, const struct ss_timeline_track *track,
                     const struct ss_model_range *slice)
{
    struct ss_strbuf label;
    ss_strbuf_init(&label, 8 * SS_LABEL_WHOLE_BYTES);
    ss_label_append(&label, searching->timeline, track, slice, SS_LABEL_WHOLE_BYTES);
    bool matches = strcasestr(label.data, searching->text) != NULL;
    ss_strbuf_fini(&label);
    return matches;
}

static bool matches(struct searching *searching, const struct ss_timeline_track *track,
                    const struct ss_model_range *slice)
{
    uint32_t *known =
        ss_pair_ids_at(&searching->known, ss_label_key(searching->timeline, track, slice));
    if (*known == 0) {
        *known = has_text(searching, track, slice) ? 2 : 1;
    }
    return *known == 2;
}

static bool is_before(const struct ss_search_place *a, const struct ss_search_place *b)
{
    return a->begin_ns != b->begin_ns ? a->begin_ns < b->begin_ns : a->lane < b->lane;
}

static void add(struct searching *searching, struct ss_search_place place)
{
    uint64_t all_ns = searching->timeline->duration_ns + 1;
    double part = (double)place.begin_ns / (double)all_ns * PARTS;
    searching->count++;
    searching->parts[part < PARTS ? (size_t)part : PARTS - 1]++;
    const struct ss_search_place *after = searching->after;
    bool is_ahead = after == NULL ||
                    (searching->backward ? is_before(&place, after) : is_before(after, &place));
    bool is_nearer =
        !searching->has_best || (searching->backward ? is_before(&searching->best, &place)
                                                     : is_before(&place, &searching->best));
    if (is_ahead && is_nearer) {
        searching->best = place;
        searching->has_best = true;
    }
}

static void search_lane(struct searching *searching, uint32_t id)
{
    const struct ss_timeline *timeline = searching->timeline;
    const struct ss_lane *lane = &timeline->lanes.data[id];
    const struct ss_timeline_track *track = &timeline->tracks.data[timeline->track_of_lane[id]];
    for (uint32_t at = 0; at < lane->count; at++) {
        const struct ss_model_range *slice = ss_lane_slice(lane, at);
        if (matches(searching, track, slice)) {
            uint64_t begin_ns =
                slice->begin_ns > track->base_ns ? slice->begin_ns - track->base_ns : 0;
            add(searching, (struct ss_search_place){begin_ns, id, at});
        }
    }
}

void ss_answer_search(const struct ss_answering *answering, struct ss_strview text,
                      const struct ss_search_place *after, bool backward, struct ss_sink *sink)
{
    char wanted[MOST_TEXT_BYTES];
    size_t length = text.length < sizeof wanted - 1 ? text.length : sizeof wanted - 1;
    memcpy(wanted, text.data, length);
    wanted[length] = '\0';
    struct searching searching = {
        .timeline = answering->timeline, .text = wanted, .backward = backward, .after = after};
    for (uint32_t i = 0; i < answering->timeline->lanes.count; i++) {
        search_lane(&searching, i);
    }
    ss_sink_text(sink, "{\"count\":");
    ss_json_write_natural(sink, searching.count);
    ss_sink_text(sink, ",\"next\":");
    if (searching.has_best) {
        ss_sink_text(sink, "{");
        ss_answer_write_slice(answering->timeline, searching.best.lane, searching.best.position,
                              SS_LABEL_BYTES, sink);
        ss_sink_text(sink, "}");
    } else {
        ss_sink_text(sink, "null");
    }
    ss_sink_text(sink, ",\"parts\":[");
    for (size_t i = 0; i < PARTS; i++) {
        ss_sink_write(sink, ",", i > 0);
        ss_json_write_natural(sink, searching.parts[i]);
    }
    ss_sink_text(sink, "]}\n");
    ss_pair_ids_fini(&searching.known);
}
