/* SPDX-License-Identifier: Apache-2.0 */
#include "view/export/kineto.h"

#include <string.h>

#include "analysis/selection/shared_ranges.h"
#include "analysis/steps/ranges.h"
#include "base/alloc.h"
#include "view/export/kineto_inside.h"
#include "view/output/json_text.h"
#include "view/output/shown.h"

/* Times count from the start of a quarter of a year, as in Kineto's own files: doubles hold them to
 * the nanosecond, and the files of all ranks have the same origin, which HolisticTraceAnalysis
 * assumes. */
static const uint64_t quarter_ns = UINT64_C(7889238) * 1000 * 1000 * 1000;

/* --- events ----------------------------------------------------------------------------------- */

void ss_kineto_begin_event(struct ss_kineto_writing *writing, const char *phase, int64_t pid,
                           int64_t tid)
{
    struct ss_sink *sink = writing->sink;
    ss_sink_text(sink, writing->any_event ? ",\n{\"ph\":\"" : "\n{\"ph\":\"");
    ss_sink_text(sink, phase);
    ss_sink_text(sink, "\",\"pid\":");
    ss_json_write_integer(sink, pid);
    ss_sink_text(sink, ",\"tid\":");
    ss_json_write_integer(sink, tid);
    writing->any_event = true;
}

/* torch_tb_profiler adds begin and duration as doubles, and drops a range whose sum exceeds that of
 * the outer one: doubles hold eighths of a microsecond exactly. */
static uint64_t rounded(const struct ss_kineto_writing *writing, uint64_t time_ns)
{
    const uint64_t eighth_ns = 125;
    return writing->options->for_tensorboard ? time_ns / eighth_ns * eighth_ns : time_ns;
}

static uint64_t shifted(const struct ss_kineto_writing *writing, uint32_t track, uint64_t time_ns)
{
    int64_t shift_ns = writing->shifts_ns[writing->model->tracks.data[track].input];
    return rounded(writing, time_ns + (uint64_t)shift_ns);
}

void ss_kineto_put_time(struct ss_kineto_writing *writing, uint32_t track, uint64_t time_ns)
{
    ss_sink_text(writing->sink, ",\"ts\":");
    ss_json_write_us(writing->sink, shifted(writing, track, time_ns));
}

void ss_kineto_put_times(struct ss_kineto_writing *writing, uint32_t track, uint64_t begin_ns,
                         uint64_t end_ns)
{
    ss_kineto_put_time(writing, track, begin_ns);
    ss_sink_text(writing->sink, ",\"dur\":");
    ss_json_write_us(writing->sink,
                     shifted(writing, track, end_ns) - shifted(writing, track, begin_ns));
}

void ss_kineto_put_text(struct ss_kineto_writing *writing, const char *key, struct ss_strview text)
{
    ss_sink_text(writing->sink, ",\"");
    ss_sink_text(writing->sink, key);
    ss_sink_text(writing->sink, "\":");
    ss_json_write_plain(writing->sink, text);
}

static void begin_metadata(struct ss_kineto_writing *writing, const char *what, int64_t pid,
                           int64_t tid, const char *key)
{
    ss_kineto_begin_event(writing, "M", pid, tid);
    ss_sink_text(writing->sink, ",\"ts\":");
    ss_json_write_us(writing->sink, writing->first_ns);
    ss_kineto_put_text(writing, "name", ss_strview_of(what));
    ss_sink_text(writing->sink, ",\"args\":{\"");
    ss_sink_text(writing->sink, key);
    ss_sink_text(writing->sink, "\":");
}

void ss_kineto_metadata(struct ss_kineto_writing *writing, const char *what, int64_t pid,
                        int64_t tid, const char *key, struct ss_strview text)
{
    begin_metadata(writing, what, pid, tid, key);
    ss_json_write_plain(writing->sink, text);
    ss_sink_text(writing->sink, "}}");
}

void ss_kineto_metadata_number(struct ss_kineto_writing *writing, const char *what, int64_t pid,
                               int64_t tid, const char *key, int64_t number)
{
    begin_metadata(writing, what, pid, tid, key);
    ss_json_write_integer(writing->sink, number);
    ss_sink_text(writing->sink, "}}");
}

void ss_kineto_metadata_lane(struct ss_kineto_writing *writing, int64_t pid, int64_t tid,
                             int64_t of, struct ss_strview name)
{
    begin_metadata(writing, "thread_name", pid, tid, "lane_of");
    ss_json_write_integer(writing->sink, of);
    ss_kineto_put_text(writing, "name", name);
    ss_sink_text(writing->sink, "}}");
}

bool ss_kineto_in_span(const struct ss_kineto_writing *writing, uint64_t time_ns)
{
    const struct ss_kineto_options *options = writing->options;
    return !options->has_span || (time_ns >= options->from_ns && time_ns < options->to_ns);
}

static bool is_too_large(const struct ss_kineto_writing *writing)
{
    uint64_t most = writing->options->most_bytes;
    return most > 0 && writing->sink->written_bytes > most;
}

bool ss_kineto_is_full(const struct ss_kineto_writing *writing)
{
    return ss_sink_failed(writing->sink) || is_too_large(writing);
}

/* --- times ------------------------------------------------------------------------------------ */

struct extent {
    const struct ss_selection *selection;
    bool *is_selected; /* by track */
    bool is_wall;      /* of the wall clock */
    uint64_t first_ns, last_ns;
};

/* What turns times of the axis into ones of the wall clock; 0: unknown. */
static int64_t wall_offset_of(const struct ss_model *model, uint32_t input, bool *is_known)
{
    *is_known = ss_model_is_on_axis(model, input) && model->clock_domains.count > 1;
    return *is_known ? model->clock_domains.data[1].wall_offset_ns : 0;
}

static void add_time(struct extent *extent, uint32_t track, uint64_t begin_ns, uint64_t end_ns)
{
    const struct ss_model *model = extent->selection->model;
    bool is_wall;
    if (!extent->is_selected[track]) {
        return;
    }
    uint64_t offset_ns = (uint64_t)wall_offset_of(model, model->tracks.data[track].input, &is_wall);
    begin_ns += offset_ns;
    end_ns += offset_ns;
    extent->is_wall |= is_wall;
    extent->first_ns = begin_ns < extent->first_ns ? begin_ns : extent->first_ns;
    extent->last_ns = end_ns > extent->last_ns ? end_ns : extent->last_ns;
}

static struct extent extent_of(const struct ss_selection *selection)
{
    const struct ss_model *model = selection->model;
    struct extent extent = {.selection = selection,
                            .is_selected = ss_alloc_zero(model->tracks.count + 1, sizeof(bool)),
                            .first_ns = UINT64_MAX};
    for (uint32_t i = 1; i < model->tracks.count; i++) {
        const struct ss_model_track *track = &model->tracks.data[i];
        extent.is_selected[i] =
            (track->process != 0 || track->thread != 0) && ss_selection_has_track(selection, i);
    }
    for (size_t i = 0; i < model->ranges.count; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        if ((range->flags & SS_RANGE_OUTSIDE) == 0) {
            add_time(&extent, range->track, range->begin_ns, range->end_ns);
        }
    }
    for (size_t i = 0; i < model->marks.count; i++) {
        const struct ss_model_mark *mark = &model->marks.data[i];
        add_time(&extent, mark->track, mark->time_ns, mark->time_ns);
    }
    for (size_t i = 0; i < model->flows.count; i++) {
        const struct ss_model_flow *flow = &model->flows.data[i];
        add_time(&extent, flow->track, flow->time_ns, flow->time_ns);
    }
    for (size_t i = 0; i < model->values.count; i++) {
        const struct ss_model_value *value = &model->values.data[i];
        add_time(&extent, value->track, value->time_ns, value->time_ns);
    }
    ss_free(extent.is_selected);
    return extent;
}

uint64_t ss_kineto_begin_ns(const struct ss_selection *selection)
{
    struct extent extent = extent_of(selection);
    return extent.is_wall && extent.first_ns != UINT64_MAX ? extent.first_ns : 0;
}

/* From what the times count: as in the file that was imported, if it had an origin. */
static uint64_t base_of(const struct ss_selection *selection, const struct extent *extent)
{
    const struct ss_model *model = selection->model;
    for (size_t i = 0; i < model->attributes.count; i++) {
        const struct ss_model_attribute *attribute = &model->attributes.data[i];
        if (attribute->is_integer && attribute->integer > 0 &&
            (uint64_t)attribute->integer <= extent->first_ns &&
            strcmp(ss_model_text(model, attribute->key), "baseTimeNanoseconds") == 0) {
            return (uint64_t)attribute->integer;
        }
    }
    return extent->first_ns / quarter_ns * quarter_ns;
}

static void set_times(struct ss_kineto_writing *writing, const struct extent *extent,
                      uint64_t base_ns)
{
    const struct ss_model *model = writing->model;
    bool is_known;
    writing->shifts_ns = ss_alloc_zero(model->inputs.count + 1, sizeof *writing->shifts_ns);
    for (uint32_t i = 0; i < model->inputs.count; i++) {
        uint64_t offset_ns = (uint64_t)wall_offset_of(model, i, &is_known);
        writing->shifts_ns[i] = (int64_t)(offset_ns - (is_known ? base_ns : 0));
    }
    writing->first_ns = extent->first_ns - base_ns;
    writing->last_ns = extent->last_ns - base_ns;
}

/* --- the file --------------------------------------------------------------------------------- */

/* Around all events, as Kineto writes it: the plugin of TensorBoard takes its time for the run's.
 */
static void write_profile(struct ss_kineto_writing *writing)
{
    struct ss_sink *sink = writing->sink;
    ss_sink_text(sink, ",\n{\"ph\":\"X\",\"cat\":\"Trace\",\"name\":\"PyTorch Profiler (0)\","
                       "\"pid\":\"Spans\",\"tid\":\"PyTorch Profiler\",\"ts\":");
    ss_json_write_us(sink, writing->first_ns);
    ss_sink_text(sink, ",\"dur\":");
    ss_json_write_us(sink, writing->last_ns - writing->first_ns);
    ss_sink_text(sink, ",\"args\":{\"Op count\":0}}");
    if (writing->options->for_tensorboard) {
        return; /* the plugin writes files anew in which the next two are 86 seconds apart */
    }
    ss_sink_text(sink,
                 ",\n{\"ph\":\"i\",\"s\":\"g\",\"name\":\"Iteration Start: PyTorch Profiler\","
                 "\"pid\":\"Traces\",\"tid\":\"Trace PyTorch Profiler\",\"ts\":");
    ss_json_write_us(sink, writing->first_ns);
    ss_sink_text(sink, "},\n{\"ph\":\"i\",\"s\":\"g\",\"name\":\"Record Window End\","
                       "\"pid\":\"\",\"tid\":\"\",\"ts\":");
    ss_json_write_us(sink, writing->last_ns);
    ss_sink_text(sink, "}");
}

static void write_file(struct ss_kineto_writing *writing, const struct extent *extent)
{
    uint64_t base_ns = extent->is_wall ? base_of(writing->selection, extent) : 0;
    set_times(writing, extent, base_ns);
    ss_kineto_write_head(writing->selection, writing->sink, extent->is_wall, base_ns);
    ss_sink_text(writing->sink, "\"traceEvents\": [");
    ss_kineto_name_processes(writing);
    ss_kineto_write_ranges(writing);
    ss_kineto_write_flows(writing);
    ss_kineto_write_marks(writing);
    write_profile(writing);
    ss_sink_text(writing->sink, "\n]}\n");
}

static enum ss_status check_times(const struct ss_model *model, struct ss_error *err)
{
    for (size_t i = 0; i < model->inputs.count; i++) {
        if (model->inputs.data[i].kind == SS_INPUT_RAW) {
            return ss_fail(err, SS_E_UNSUPPORTED,
                           "%s has samples without times, which Kineto's format cannot hold; raw "
                           "files can become speedscope and flamegraph",
                           ss_model_text(model, model->inputs.data[i].path));
        }
    }
    return SS_OK;
}

enum ss_status ss_view_kineto(const struct ss_selection *selection,
                              const struct ss_kineto_options *options, struct ss_sink *sink,
                              struct ss_error *err)
{
    SS_TRY(check_times(selection->model, err));
    struct extent extent = extent_of(selection);
    if (extent.first_ns == UINT64_MAX) {
        return ss_fail(err, SS_E_EMPTY,
                       "nothing is left to write: the recording, or what the filters leave of it, "
                       "has no ranges, marks or counters of a process, and Kineto's format holds "
                       "no samples; --to chrome does");
    }
    struct ss_kineto_writing writing = {
        .selection = selection, .model = selection->model, .options = options, .sink = sink};
    writing.runs = ss_selection_runs(selection);
    ss_kineto_rows_init(&writing.rows, selection, writing.runs);
    ss_kineto_kinds_init(&writing.kinds, selection->model, writing.runs);
    ss_kineto_links_init(&writing.links, selection);
    ss_kineto_values_init(&writing.values, selection->model);
    write_file(&writing, &extent);
    ss_kineto_values_fini(&writing.values);
    ss_kineto_links_fini(&writing.links);
    ss_kineto_kinds_fini(&writing.kinds);
    ss_kineto_rows_fini(&writing.rows);
    ss_free(writing.shifts_ns);
    return is_too_large(&writing) ? ss_fail(err, SS_E_LIMIT, "the file has more than %llu bytes",
                                            (unsigned long long)options->most_bytes)
                                  : SS_OK;
}
