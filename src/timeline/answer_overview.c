/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "timeline/answers.h"
#include "timeline/labels.h"
#include "view/output/frame_text.h"
#include "view/output/json_text.h"
#include "view/output/spans.h"

enum { LABEL_BYTES = 16384, PATH_BYTES = 1024 };

static void write_text(struct ss_sink *sink, const struct ss_strbuf *text)
{
    ss_json_write_plain(sink, (struct ss_strview){text->data, text->length});
}

static void write_track(const struct ss_timeline *timeline, uint32_t id, struct ss_strbuf *text,
                        struct ss_sink *sink)
{
    const struct ss_model *model = timeline->selection->model;
    const struct ss_timeline_track *track = &timeline->tracks.data[id];
    ss_strbuf_clear(text);
    ss_label_append_track(text, timeline, track);
    ss_sink_format(sink, "{\"id\":%u,\"kind\":\"%s\",\"name\":", id,
                   ss_timeline_kind_name(track->kind));
    write_text(sink, text);
    bool is_main = track->thread != 0 && model->threads.data[track->thread].is_main;
    ss_sink_format(sink, ",\"is_main\":%s,\"lanes\":%u,\"slices\":", is_main ? "true" : "false",
                   track->lanes);
    ss_json_write_natural(sink, track->slices);
    if (track->kind == SS_TIMELINE_COUNTER) {
        struct ss_series_extremes all = ss_series_extremes(&track->series, 0, track->series.count);
        ss_sink_text(sink, ",\"low\":");
        ss_json_write_real(sink, all.low);
        ss_sink_text(sink, ",\"high\":");
        ss_json_write_real(sink, all.high);
        ss_sink_text(sink, ",\"unit\":");
        ss_strbuf_clear(text);
        ss_frame_append_clean(
            text, ss_intern_get(&model->strings, model->tracks.data[track->track].unit), "", 64);
        write_text(sink, text);
    }
    ss_sink_text(sink, "}");
}

/* The input that defines what the group shows. */
static uint32_t input_of(const struct ss_timeline *timeline, const struct ss_timeline_group *group)
{
    const struct ss_model *model = timeline->selection->model;
    const struct ss_timeline_track *track = &timeline->tracks.data[group->first_track];
    return track->track != 0 ? model->tracks.data[track->track].input
                             : ss_thread_input(model, track->thread);
}

static void write_group(const struct ss_timeline *timeline, const struct ss_timeline_group *group,
                        struct ss_strbuf *text, struct ss_sink *sink)
{
    ss_sink_format(sink, "{\"process\":%u,\"name\":", group->process);
    ss_strbuf_clear(text);
    ss_label_append_group(text, timeline, group);
    write_text(sink, text);
    ss_strbuf_clear(text);
    ss_label_append_group_detail(text, timeline, group);
    ss_sink_text(sink, ",\"detail\":");
    write_text(sink, text);
    ss_sink_format(sink, ",\"input\":%u,\"tracks\":[", input_of(timeline, group));
    for (uint32_t i = group->first_track; i < group->end_track; i++) {
        ss_sink_text(sink, i > group->first_track ? ",\n" : "\n");
        write_track(timeline, i, text, sink);
    }
    ss_sink_text(sink, "]}");
}

/* The time of Perfetto's interface at the picture's time 0, for a recording: CLOCK_MONOTONIC of its
 * machine, which recordings declare as the clock of the trace. Null for other files. */
static void write_perfetto_zero(const struct ss_timeline *timeline, uint32_t input,
                                struct ss_sink *sink)
{
    const struct ss_model *model = timeline->selection->model;
    const struct ss_model_input *row = &model->inputs.data[input];
    for (size_t i = 0; row->kind == SS_INPUT_TRACE && i < timeline->groups.count; i++) {
        const struct ss_timeline_group *group = &timeline->groups.data[i];
        if (input_of(timeline, group) == input) {
            uint64_t base_ns = timeline->tracks.data[group->first_track].base_ns;
            int64_t shift_ns = model->clock_domains.data[row->clock_domain].shift_ns;
            ss_json_write_integer(sink, (int64_t)(base_ns - (uint64_t)shift_ns));
            return;
        }
    }
    ss_sink_text(sink, "null");
}

static bool ends_with(struct ss_strview text, const char *ending)
{
    size_t length = strlen(ending);
    return text.length >= length && memcmp(text.data + text.length - length, ending, length) == 0;
}

/* Whether Perfetto's interface reads the file. */
static bool is_for_perfetto(const struct ss_model *model, uint32_t input)
{
    static const char *const endings[] = {".json", ".json.gz", ".pftrace", ".perfetto-trace"};
    struct ss_strview path = ss_intern_get(&model->strings, model->inputs.data[input].path);
    bool is_known = model->inputs.data[input].kind == SS_INPUT_TRACE;
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        is_known = is_known || ends_with(path, endings[i]);
    }
    return is_known;
}

static void write_inputs(const struct ss_timeline *timeline, struct ss_strbuf *text,
                         struct ss_sink *sink)
{
    const struct ss_model *model = timeline->selection->model;
    ss_sink_text(sink, "\"inputs\":[");
    for (uint32_t i = 0; i < model->inputs.count; i++) {
        ss_strbuf_clear(text);
        ss_frame_append_clean(text, ss_intern_get(&model->strings, model->inputs.data[i].path), "",
                              PATH_BYTES);
        ss_sink_text(sink, i > 0 ? ",{\"path\":" : "{\"path\":");
        write_text(sink, text);
        ss_sink_format(sink, ",\"perfetto\":%s,\"perfetto_zero_ns\":",
                       is_for_perfetto(model, i) ? "true" : "false");
        write_perfetto_zero(timeline, i, sink);
        ss_sink_text(sink, "}");
    }
    ss_sink_text(sink, "],\n");
}

static void write_steps(const struct ss_step_summary *steps, struct ss_sink *sink)
{
    ss_sink_text(sink, "\"steps\":");
    ss_json_write_natural(sink, steps->steps.count);
    ss_sink_text(sink, ",\"outliers\":");
    ss_json_write_natural(sink, steps->outliers);
}

void ss_answer_overview(const struct ss_answering *answering, struct ss_sink *sink)
{
    const struct ss_timeline *timeline = answering->timeline;
    struct ss_strbuf text;
    ss_strbuf_init(&text, LABEL_BYTES);
    ss_sink_text(sink, "{\"duration_ns\":");
    ss_json_write_natural(sink, timeline->duration_ns);
    ss_sink_text(sink, ",\"slices\":");
    ss_json_write_natural(sink, timeline->slices);
    ss_sink_text(sink, ",\"hidden\":");
    ss_json_write_natural(sink, timeline->hidden);
    ss_sink_text(sink, ",");
    write_steps(answering->steps, sink);
    ss_sink_text(sink, ",\n");
    write_inputs(timeline, &text, sink);
    ss_sink_text(sink, "\"groups\":[");
    for (size_t i = 0; i < timeline->groups.count; i++) {
        ss_sink_text(sink, i > 0 ? ",\n" : "\n");
        write_group(timeline, &timeline->groups.data[i], &text, sink);
    }
    ss_sink_text(sink, "]}\n");
    ss_strbuf_fini(&text);
}
