/* SPDX-License-Identifier: Apache-2.0 */
/* What pictures of a page draw, as JSON: numbers in flat lists. */
#include "base/intern.h"
#include "view/report/report_page.h"

static void push(json_t *list, uint64_t number)
{
    json_array_append_new(list,
                          json_integer((json_int_t)(number < INT64_MAX ? number : INT64_MAX)));
}

static json_t *texts_of(const struct ss_strview *texts, size_t count,
                        const struct ss_page_limits *limits)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) {
        json_array_append_new(list, ss_page_text(texts[i], limits));
    }
    return list;
}

/* --- steps ------------------------------------------------------------------------------------ */

/* For each step: process, number, kind, begin, duration, then its phases; times in ns. */
json_t *ss_page_points(const struct ss_step_points *points, const struct ss_page_limits *limits)
{
    json_t *object = json_object(), *rows = json_array(), *pids = json_array();
    json_t *ranks = json_array();
    for (size_t i = 0; i < points->rows.count; i++) {
        const struct ss_step_point *point = &points->rows.data[i];
        push(rows, point->process);
        json_array_append_new(rows, json_integer(point->number));
        push(rows, point->kind);
        push(rows, point->begin_ns);
        push(rows, point->duration_ns);
        for (size_t p = 0; p < points->phase_count; p++) {
            push(rows, points->phase_ns.data[i * points->phase_count + p]);
        }
    }
    for (size_t i = 0; i < points->pids.count; i++) {
        json_array_append_new(pids, json_integer(points->pids.data[i]));
        json_array_append_new(ranks, json_integer(points->ranks.data[i]));
    }
    json_object_set_new(object, "phases", texts_of(points->phases, points->phase_count, limits));
    json_object_set_new(object, "pids", pids);
    json_object_set_new(object, "ranks", ranks);
    json_object_set_new(object, "each", json_integer((json_int_t)points->each));
    json_object_set_new(object, "rows", rows);
    return object;
}

/* --- calls ------------------------------------------------------------------------------------ */

static json_t *functions_of(const struct ss_call_weights *weights,
                            const struct ss_page_limits *limits)
{
    json_t *list = json_array();
    for (size_t i = 0; i < weights->functions.count; i++) {
        const struct ss_weighed_function *function = &weights->functions.data[i];
        json_array_append_new(list, ss_page_text(function->name, limits));
        json_array_append_new(list, ss_page_text(function->file, limits));
        json_array_append_new(list, json_integer(function->line));
        push(list, function->group);
    }
    return list;
}

/* For each call: parent, function, number of folded calls, then what it weighs itself, by part. */
static json_t *calls_of(const struct ss_call_weights *weights)
{
    json_t *list = json_array();
    for (size_t i = 0; i < weights->calls.count; i++) {
        const struct ss_weighed_call *call = &weights->calls.data[i];
        push(list, call->parent);
        push(list, call->function);
        push(list, call->folded);
        for (size_t p = 0; p < weights->part_count; p++) {
            push(list, weights->self[i * weights->part_count + p]);
        }
    }
    return list;
}

json_t *ss_page_calls(const struct ss_block *block, const struct ss_page_limits *limits)
{
    json_t *object = json_object(), *trees = json_array();
    for (size_t i = 0; i < block->calls.count; i++) {
        const struct ss_call_weights *weights = &block->calls.data[i];
        bool is_time = weights->weight == SS_WEIGHT_DEVICE_NS;
        json_t *tree = json_object();
        json_object_set_new(tree, "unit", json_string(is_time ? "ns" : "samples"));
        json_object_set_new(tree, "parts", texts_of(weights->parts, weights->part_count, limits));
        json_object_set_new(tree, "functions", functions_of(weights, limits));
        json_object_set_new(tree, "calls", calls_of(weights));
        json_array_append_new(trees, tree);
    }
    json_object_set_new(object, "kind", json_string("calls"));
    json_object_set_new(object, "trees", trees);
    return object;
}

/* --- counters --------------------------------------------------------------------------------- */

/* For each point: time, lowest, highest. */
static json_t *curve_of(const struct ss_curve *curve, const struct ss_page_limits *limits)
{
    json_t *object = json_object(), *points = json_array();
    for (size_t i = 0; i < curve->points.count; i++) {
        const struct ss_curve_point *point = &curve->points.data[i];
        push(points, point->time_ns);
        json_array_append_new(points, json_real(point->low));
        json_array_append_new(points, json_real(point->high));
    }
    json_object_set_new(object, "name", ss_page_text(curve->name, limits));
    json_object_set_new(object, "points", points);
    return object;
}

json_t *ss_page_curves(const struct ss_block *block, const struct ss_page_limits *limits)
{
    const struct ss_curves *curves = &block->curves;
    json_t *object = json_object(), *pictures = json_array();
    for (size_t i = 0; i < curves->pictures.count; i++) {
        const struct ss_curve_picture *picture = &curves->pictures.data[i];
        json_t *one = json_object(), *list = json_array();
        for (size_t c = 0; c < picture->curves.count; c++) {
            json_array_append_new(list, curve_of(&picture->curves.data[c], limits));
        }
        json_object_set_new(one, "group", ss_page_text(picture->group, limits));
        json_object_set_new(one, "unit", ss_page_text(picture->unit, limits));
        json_object_set_new(one, "pid", json_integer(picture->pid));
        json_object_set_new(one, "curves", list);
        json_object_set_new(one, "hidden", json_integer((json_int_t)picture->hidden));
        json_array_append_new(pictures, one);
    }
    json_object_set_new(object, "kind", json_string("curves"));
    json_object_set_new(object, "end", json_integer((json_int_t)curves->end_ns));
    json_object_set_new(object, "hidden", json_integer((json_int_t)curves->hidden));
    json_object_set_new(object, "pictures", pictures);
    return object;
}

/* --- the time line ---------------------------------------------------------------------------- */

/* Names that several spans share are written once. */
static uint32_t number_name(struct ss_intern *names, const struct ss_model *model, uint32_t string)
{
    struct ss_strview text = ss_intern_get(&model->strings, string);
    return ss_intern_put(names, text.data, text.length);
}

/* For each span: name, depth, begin, duration. */
static json_t *lane_of(const struct ss_step_timeline_lane *lane, const struct ss_model *model,
                       struct ss_intern *names, const struct ss_page_limits *limits)
{
    json_t *object = json_object(), *spans = json_array();
    for (size_t i = 0; i < lane->spans.count; i++) {
        const struct ss_step_timeline_span *span = &lane->spans.data[i];
        push(spans, number_name(names, model, span->name));
        push(spans, span->depth);
        push(spans, span->begin_ns);
        push(spans, span->duration_ns);
    }
    json_object_set_new(object, "owner", ss_page_text(lane->owner, limits));
    json_object_set_new(object, "name", ss_page_text(lane->name, limits));
    json_object_set_new(object, "device", json_boolean(lane->is_device));
    json_object_set_new(object, "hidden", json_integer((json_int_t)lane->hidden));
    json_object_set_new(object, "spans", spans);
    return object;
}

static json_t *step_of(const struct ss_step_timeline_step *step, const struct ss_model *model,
                       struct ss_intern *names, const struct ss_page_limits *limits)
{
    json_t *object = json_object(), *lanes = json_array();
    for (size_t i = 0; i < step->lanes.count; i++) {
        json_array_append_new(lanes, lane_of(&step->lanes.data[i], model, names, limits));
    }
    json_object_set_new(object, "which", json_string(step->which));
    const struct ss_model_process *process = &model->processes.data[step->process];
    json_object_set_new(object, "number", json_integer(step->number));
    json_object_set_new(object, "pid", json_integer(process->pid));
    json_object_set_new(object, "rank",
                        process->has_rank ? json_integer(process->rank) : json_null());
    json_object_set_new(object, "kind", json_integer(step->kind));
    json_object_set_new(object, "duration", json_integer((json_int_t)step->duration_ns));
    json_object_set_new(object, "hidden", json_integer((json_int_t)step->hidden_lanes));
    json_object_set_new(object, "lanes", lanes);
    return object;
}

json_t *ss_page_timeline(const struct ss_block *block, const struct ss_page_limits *limits)
{
    const struct ss_step_timeline *timeline = &block->timeline;
    json_t *object = json_object(), *steps = json_array(), *texts = json_array();
    struct ss_intern names;
    ss_intern_init(&names);
    for (size_t i = 0; i < timeline->steps.count; i++) {
        json_array_append_new(steps,
                              step_of(&timeline->steps.data[i], timeline->model, &names, limits));
    }
    for (uint32_t id = 0; id < names.count; id++) {
        json_array_append_new(texts, ss_page_text(ss_intern_get(&names, id), limits));
    }
    ss_intern_fini(&names);
    json_object_set_new(object, "kind", json_string("timeline"));
    json_object_set_new(object, "processes", json_integer((json_int_t)timeline->processes));
    json_object_set_new(object, "names", texts);
    json_object_set_new(object, "steps", steps);
    return object;
}
