/* SPDX-License-Identifier: Apache-2.0 */
/* Marks as instants, allocations among them; the arrows of programs; counters of processes. */
#include <math.h>
#include <string.h>

#include "analysis/steps/ranges.h"
#include "base/alloc.h"
#include "base/intern.h"
#include "base/shared_names.h"
#include "view/export/kineto_inside.h"
#include "view/output/json_text.h"

enum { DEVICE_TYPE_CPU = 0, DEVICE_TYPE_CUDA = 1 };

static const uint64_t most_exact = UINT64_C(1) << 53; /* of a double */

static uint64_t point_key(uint32_t track, uint64_t time_ns)
{
    return ss_hash_u64(time_ns ^ (uint64_t)track << 44);
}

/* --- marks ------------------------------------------------------------------------------------ */

/* By an allocator of PyTorch: what it takes from the device itself is another thing. */
static bool is_allocation(const struct ss_model *model, const struct ss_model_mark *mark)
{
    const struct ss_model_name *name = &model->names.data[mark->name];
    const char *domain = ss_model_text(model, model->tracks.data[mark->track].name);
    if (strcmp(domain, ss_domain_cuda_memory) == 0) {
        return false;
    }
    return name->type == SS_EVENT_TYPE_allocation ||
           strcmp(ss_model_text(model, name->text), "[memory]") == 0;
}

/* Memory of the host has no device. */
static void put_allocation(const struct ss_model *model, struct ss_kineto_arguments *arguments,
                           uint32_t payload)
{
    const struct ss_model_payload *row = &model->payloads.data[payload];
    const struct ss_model_field *field = ss_model_field_of(model, payload, SS_EVENT_FIELD_device);
    bool has_device = field != NULL && field->natural < model->devices.count;
    ss_kineto_put_integer(arguments, "Device Type",
                          has_device ? DEVICE_TYPE_CUDA : DEVICE_TYPE_CPU);
    ss_kineto_put_integer(arguments, "Device Id",
                          has_device ? model->devices.data[field->natural].number : -1);
    if (row->type == SS_VALUE_INT || row->type == SS_VALUE_UINT) {
        ss_kineto_put_integer(arguments, "Bytes", row->integer);
    }
    ss_kineto_skip_field(arguments, SS_EVENT_FIELD_bytes);
}

static void write_mark(struct ss_kineto_writing *writing, const struct ss_model_mark *mark,
                       const struct ss_kineto_row *row)
{
    const struct ss_model *model = writing->model;
    const struct ss_model_name *name = &model->names.data[mark->name];
    bool of_memory = is_allocation(model, mark);
    bool is_imported = ss_kineto_is_imported(model, mark->track);
    struct ss_kineto_arguments arguments;
    ss_kineto_begin_event(writing, "i", row->pid, row->tid);
    ss_kineto_put_time(writing, mark->track, mark->time_ns);
    ss_sink_text(writing->sink, ",\"s\":\"t\"");
    if (!is_imported) {
        ss_kineto_put_text(writing, "cat", ss_strview_of("cpu_instant_event"));
    } else if (name->category != 0) {
        ss_kineto_put_text(writing, "cat", ss_intern_get(&model->strings, name->category));
    }
    ss_kineto_put_text(writing, "name",
                       of_memory ? ss_strview_of("[memory]")
                                 : ss_intern_get(&model->strings, name->text));
    ss_kineto_begin_arguments(&arguments, &writing->values, writing->sink);
    if (of_memory) {
        put_allocation(model, &arguments, mark->payload);
    }
    ss_kineto_skip_field(&arguments, SS_EVENT_FIELD_device);
    ss_kineto_skip_field(&arguments, SS_EVENT_FIELD_stream);
    ss_kineto_put_payload(&arguments, mark->payload, name->type, SS_KINETO_OTHER, is_imported);
    ss_kineto_end_arguments(&arguments);
}

/* By track and time: marks that only carry an arrow, which is written instead. */
static void write_instants(struct ss_kineto_writing *writing)
{
    const struct ss_model *model = writing->model;
    struct ss_pair_ids arrows = {0};
    for (size_t i = 0; i < model->flows.count; i++) {
        const struct ss_model_flow *flow = &model->flows.data[i];
        *ss_pair_ids_at(&arrows, point_key(flow->track, flow->time_ns)) = 1;
    }
    for (size_t i = 0; i < model->marks.count && !ss_kineto_is_full(writing); i++) {
        const struct ss_model_mark *mark = &model->marks.data[i];
        const struct ss_kineto_row *row = ss_kineto_row_of(&writing->rows, mark->track);
        bool is_arrow = model->flows.count > 0 &&
                        *ss_pair_ids_at(&arrows, point_key(mark->track, mark->time_ns)) != 0;
        if (row != NULL && !is_arrow && ss_kineto_in_span(writing, mark->time_ns)) {
            write_mark(writing, mark, row);
        }
    }
    ss_pair_ids_fini(&arrows);
}

/* --- arrows ----------------------------------------------------------------------------------- */

static void write_arrow(struct ss_kineto_writing *writing, const struct ss_model_flow *flow,
                        const struct ss_kineto_row *row, uint32_t name, bool is_first)
{
    const struct ss_model *model = writing->model;
    const struct ss_model_name *named = &model->names.data[name];
    struct ss_strview text = ss_intern_get(&model->strings, named->text);
    struct ss_strview category = ss_intern_get(&model->strings, named->category);
    ss_kineto_begin_event(writing, flow->is_end ? "f" : is_first ? "s" : "t", row->pid, row->tid);
    ss_kineto_put_time(writing, flow->track, flow->time_ns);
    if (flow->id <= most_exact) {
        ss_sink_text(writing->sink, ",\"id\":");
        ss_json_write_natural(writing->sink, flow->id);
    } else {
        ss_sink_format(writing->sink, ",\"id\":\"0x%llx\"", (unsigned long long)flow->id);
    }
    ss_kineto_put_text(writing, "cat", category.length > 0 ? category : ss_strview_of("flow"));
    ss_kineto_put_text(writing, "name", text.length > 0 ? text : ss_strview_of("flow"));
    ss_sink_text(writing->sink, flow->is_end ? ",\"bp\":\"e\"}" : "}");
}

/* Their names are those of the marks that carry them. */
static void write_arrows(struct ss_kineto_writing *writing)
{
    const struct ss_model *model = writing->model;
    struct ss_pair_ids marks = {0}, seen = {0};
    for (uint32_t i = 0; i < model->marks.count && model->flows.count > 0; i++) {
        const struct ss_model_mark *mark = &model->marks.data[i];
        *ss_pair_ids_at(&marks, point_key(mark->track, mark->time_ns)) = mark->name + 1;
    }
    for (size_t i = 0; i < model->flows.count && !ss_kineto_is_full(writing); i++) {
        const struct ss_model_flow *flow = &model->flows.data[i];
        const struct ss_kineto_row *row = ss_kineto_row_of(&writing->rows, flow->track);
        if (row == NULL || !ss_kineto_in_span(writing, flow->time_ns)) {
            continue;
        }
        uint32_t name = *ss_pair_ids_at(&marks, point_key(flow->track, flow->time_ns));
        uint32_t *before = ss_pair_ids_at(&seen, flow->id);
        write_arrow(writing, flow, row, name != 0 ? name - 1 : 0, *before == 0);
        *before = 1;
    }
    ss_pair_ids_fini(&marks);
    ss_pair_ids_fini(&seen);
}

/* --- counters --------------------------------------------------------------------------------- */

/* An import joins name and series with a space; what is recorded has a unit for a series. */
static void write_value(struct ss_kineto_writing *writing, const struct ss_model_value *value)
{
    const struct ss_model *model = writing->model;
    const struct ss_model_track *track = &model->tracks.data[value->track];
    struct ss_strview name = ss_intern_get(&model->strings, track->name);
    struct ss_strview series =
        track->unit != 0 ? ss_intern_get(&model->strings, track->unit) : ss_strview_of("value");
    const char *space = memrchr(name.data, ' ', name.length);
    if (ss_kineto_is_imported(model, value->track) && space != NULL) {
        size_t at = (size_t)(space - name.data);
        series = (struct ss_strview){space + 1, name.length - at - 1};
        name.length = at;
    }
    ss_kineto_begin_event(writing, "C", writing->rows.pids[track->process], 0);
    ss_kineto_put_time(writing, value->track, value->time_ns);
    ss_kineto_put_text(writing, "name", name);
    ss_sink_text(writing->sink, ",\"args\":{");
    ss_json_write_plain(writing->sink, series);
    ss_sink_text(writing->sink, ":");
    if (value->is_integer) {
        ss_json_write_integer(writing->sink, value->integer);
    } else {
        ss_json_write_real(writing->sink, value->real);
    }
    ss_sink_text(writing->sink, "}}");
}

/* Those of the machine have no process, and each rank's file would repeat them. */
static void write_counters(struct ss_kineto_writing *writing)
{
    const struct ss_model *model = writing->model;
    for (size_t i = 0; i < model->values.count && !ss_kineto_is_full(writing); i++) {
        const struct ss_model_value *value = &model->values.data[i];
        bool is_number = value->is_integer || isfinite(value->real);
        if (is_number && model->tracks.data[value->track].process != 0 &&
            ss_selection_has_track(writing->selection, value->track) &&
            ss_kineto_in_span(writing, value->time_ns)) {
            write_value(writing, value);
        }
    }
}

void ss_kineto_write_marks(struct ss_kineto_writing *writing)
{
    write_instants(writing);
    write_arrows(writing);
    write_counters(writing);
}
