/* SPDX-License-Identifier: Apache-2.0 */
#include "timeline/answer_names.h"
#include "timeline/answers.h"
#include "timeline/labels.h"
#include "view/output/json_text.h"

static void write_number(struct ss_sink *sink, uint64_t number)
{
    ss_json_write_natural(sink, number);
    ss_sink_write(sink, ",", 1);
}

static uint64_t since_base(const struct ss_timeline_track *track, uint64_t time_ns)
{
    return time_ns > track->base_ns ? time_ns - track->base_ns : 0;
}

static void write_rects(const struct ss_timeline *timeline, const struct ss_picture *picture,
                        const struct ss_picture_row *row, struct ss_answer_names *names,
                        struct ss_sink *sink)
{
    const struct ss_timeline_track *track = &timeline->tracks.data[row->track];
    const struct ss_lane *lane = &timeline->lanes.data[row->lane];
    ss_sink_text(sink, "\"rects\":[");
    for (size_t i = row->first; i < row->end; i++) {
        const struct ss_lane_rect *rect = &picture->rects.data[i];
        uint64_t duration_ns = rect->end_ns - rect->begin_ns;
        bool is_whole = rect->sum.busy_ns >= duration_ns;
        uint64_t percent =
            is_whole ? 100 : (uint64_t)(100.0 * (double)rect->sum.busy_ns / (double)duration_ns);
        ss_sink_write(sink, ",", i > row->first);
        write_number(sink, since_base(track, rect->begin_ns));
        write_number(sink, duration_ns);
        write_number(sink, ss_answer_names_put(names, timeline, track,
                                               ss_lane_slice(lane, rect->sum.longest)));
        write_number(sink, rect->sum.count);
        write_number(sink, rect->sum.longest);
        ss_json_write_natural(sink, percent);
    }
    ss_sink_text(sink, "]}");
}

static void write_points(const struct ss_timeline_track *track, const struct ss_picture *picture,
                         const struct ss_picture_row *row, struct ss_sink *sink)
{
    ss_sink_text(sink, "\"points\":[");
    for (size_t i = row->first; i < row->end; i++) {
        const struct ss_series_point *point = &picture->points.data[i];
        ss_sink_write(sink, ",", i > row->first);
        write_number(sink, since_base(track, point->time_ns));
        ss_json_write_real(sink, point->low);
        ss_sink_write(sink, ",", 1);
        ss_json_write_real(sink, point->high);
        ss_sink_write(sink, ",", 1);
        ss_json_write_real(sink, point->last);
    }
    ss_sink_text(sink, "]}");
}

void ss_answer_picture(const struct ss_answering *answering,
                       const struct ss_picture_request *request, struct ss_sink *sink)
{
    const struct ss_timeline *timeline = answering->timeline;
    struct ss_picture picture;
    struct ss_answer_names names = {0};
    ss_picture_init(&picture, timeline, request);
    ss_sink_text(sink, "{\"rows\":[");
    for (size_t i = 0; i < picture.rows.count; i++) {
        const struct ss_picture_row *row = &picture.rows.data[i];
        const struct ss_timeline_track *track = &timeline->tracks.data[row->track];
        bool is_counter = track->kind == SS_TIMELINE_COUNTER;
        ss_sink_text(sink, i > 0 ? ",\n{\"track\":" : "\n{\"track\":");
        ss_json_write_natural(sink, row->track);
        ss_sink_text(sink, ",\"lane\":");
        ss_json_write_natural(sink, is_counter ? 0 : row->lane - track->first_lane);
        ss_sink_text(sink, ",\"bucket_ns\":");
        ss_json_write_natural(sink, row->bucket_ns);
        ss_sink_text(sink, ",");
        if (is_counter) {
            write_points(track, &picture, row, sink);
        } else {
            write_rects(timeline, &picture, row, &names, sink);
        }
    }
    ss_sink_text(sink, "],\n\"names\":[");
    ss_answer_names_write(&names, timeline, sink);
    ss_sink_text(sink, "]}\n");
    ss_answer_names_fini(&names);
    ss_picture_fini(&picture);
}
