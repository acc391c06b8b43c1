/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranges as evented profiles, separate from the sampled ones, whose edges are exact only to a
 * sampling period: one per track (thread and domain, steps, phases), and per lane of overlapping
 * ranges.
 */
#include <inttypes.h>

#include "analysis/steps/ranges.h"
#include "base/alloc.h"
#include "view/export/speedscope_build.h"
#include "view/output/pair_ids.h"

enum { NAME_BYTES = 64 * 1024 };

static bool is_shown(const struct ss_selection *selection, const struct ss_model_range *range)
{
    return (range->flags & SS_RANGE_OUTSIDE) == 0 &&
           ss_selection_has_track(selection, range->track);
}

bool ss_speedscope_has_ranges(const struct ss_selection *selection)
{
    const struct ss_model *model = selection->model;
    size_t at = 0;
    while (at < model->ranges.count && !is_shown(selection, &model->ranges.data[at])) {
        at++;
    }
    return at < model->ranges.count;
}

/* --- frames --------------------------------------------------------------------------------- */

/* Names that differ only in colour or category share a frame. */
void ss_speedscope_range_frames(struct ss_speedscope_writing *writing)
{
    const struct ss_model *model = writing->selection->model;
    struct ss_pair_ids by_text = {0};
    for (size_t i = 0; i < model->ranges.count; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        uint32_t name = model->paths.data[range->path].name;
        if (writing->number_of_name[name] != 0 || !is_shown(writing->selection, range)) {
            continue;
        }
        uint32_t text = model->names.data[name].text;
        uint32_t *number = ss_pair_ids_at(&by_text, text);
        if (*number == 0) {
            ss_speedscope_begin_frame(writing, ss_intern_get(&model->strings, text));
            ss_sink_text(writing->sink, "}");
            *number = writing->frame_count;
        }
        writing->number_of_name[name] = *number;
    }
    ss_pair_ids_fini(&by_text);
}

/* --- profiles ------------------------------------------------------------------------------- */

static void append_lane_name(const struct ss_model *model, const struct ss_model_range *range,
                             struct ss_strbuf *name)
{
    const struct ss_model_track *track = &model->tracks.data[range->track];
    bool of_thread = track->kind == SS_TRACK_RANGES;
    ss_speedscope_append_owner(model, track->process, of_thread ? track->thread : 0, name);
    ss_strbuf_append_text(name, of_thread && track->thread != 0 ? ": " : "");
    if (track->name == 0) {
        ss_strbuf_append_text(name, "ranges");
    } else {
        ss_strbuf_append_view(name, ss_intern_get(&model->strings, track->name));
    }
    if (range->lane > 1) {
        ss_strbuf_append_format(name, " (%" PRIu16 ")", range->lane);
    }
}

struct profile {
    struct ss_speedscope_writing *writing;
    uint64_t base_ns;
    struct ss_vec_of(size_t) open; /* indices of model.ranges */
    bool has_event;
};

static void put_event(struct profile *profile, char type, size_t range, uint64_t time_ns)
{
    struct ss_speedscope_writing *writing = profile->writing;
    const struct ss_model *model = writing->selection->model;
    uint32_t name = model->paths.data[model->ranges.data[range].path].name;
    ss_sink_format(writing->sink, "%s{\"type\":\"%c\",\"frame\":%" PRIu32 ",\"at\":%" PRIu64 "}",
                   profile->has_event ? "," : "", type, writing->number_of_name[name] - 1,
                   time_ns - profile->base_ns);
    profile->has_event = true;
}

/* Closes open ranges at `depth` and deeper. */
static void close_from(struct profile *profile, uint32_t depth)
{
    const struct ss_model *model = profile->writing->selection->model;
    while (profile->open.count > 0) {
        size_t range = profile->open.data[profile->open.count - 1];
        if (model->paths.data[model->ranges.data[range].path].depth < depth) {
            return;
        }
        put_event(profile, 'C', range, model->ranges.data[range].end_ns);
        profile->open.count--;
    }
}

static void write_events(struct profile *profile, size_t first, size_t end)
{
    const struct ss_model *model = profile->writing->selection->model;
    for (size_t i = first; i < end && !ss_sink_failed(profile->writing->sink); i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        if (is_shown(profile->writing->selection, range)) {
            close_from(profile, model->paths.data[range->path].depth);
            put_event(profile, 'O', i, range->begin_ns);
            ss_vec_push(&profile->open, i);
        }
    }
    close_from(profile, 0);
}

/* Writes ranges [first, end), which are of one lane. */
static void write_lane(struct ss_speedscope_writing *writing, size_t first, size_t end)
{
    const struct ss_model *model = writing->selection->model;
    uint64_t from_ns = UINT64_MAX, to_ns = 0;
    for (size_t i = first; i < end; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        if (is_shown(writing->selection, range)) {
            from_ns = range->begin_ns < from_ns ? range->begin_ns : from_ns;
            to_ns = range->end_ns > to_ns ? range->end_ns : to_ns;
        }
    }
    uint32_t input = model->tracks.data[model->ranges.data[first].track].input;
    uint64_t base_ns = writing->spans.base_ns[input];
    if (from_ns > to_ns) {
        return; /* no range is shown */
    }
    base_ns = base_ns < from_ns ? base_ns : from_ns;
    struct ss_strbuf name;
    ss_strbuf_init(&name, NAME_BYTES);
    append_lane_name(model, &model->ranges.data[first], &name);
    ss_speedscope_begin_profile(writing, "evented", (struct ss_strview){name.data, name.length},
                                "nanoseconds", from_ns - base_ns, to_ns - base_ns);
    ss_strbuf_fini(&name);
    ss_sink_text(writing->sink, "\"events\":[");
    struct profile profile = {.writing = writing, .base_ns = base_ns};
    write_events(&profile, first, end);
    ss_sink_text(writing->sink, "]}");
    ss_vec_fini(&profile.open);
}

void ss_speedscope_write_ranges(struct ss_speedscope_writing *writing)
{
    const struct ss_model *model = writing->selection->model;
    for (size_t first = 0, end; first < model->ranges.count; first = end) {
        const struct ss_model_range *range = &model->ranges.data[first];
        for (end = first; end < model->ranges.count &&
                          model->ranges.data[end].track == range->track &&
                          model->ranges.data[end].lane == range->lane;) {
            end++;
        }
        write_lane(writing, first, end);
    }
}
