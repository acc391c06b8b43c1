/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/selection/curves.h"

#include <math.h>

#include "base/shared_names.h"

/* --- which counters --------------------------------------------------------------------------- */

struct span {
    size_t first, end; /* values of one track */
};

static struct span span_at(const struct ss_model *model, size_t first)
{
    struct span span = {first, first + 1};
    uint32_t track = model->values.data[first].track;
    while (span.end < model->values.count && model->values.data[span.end].track == track) {
        span.end++;
    }
    return span;
}

/* One that never changes says nothing as a curve. */
static bool changes(const struct ss_model *model, struct span span)
{
    double first = ss_model_real(&model->values.data[span.first]);
    for (size_t i = span.first + 1; i < span.end; i++) {
        if (ss_model_real(&model->values.data[i]) != first) {
            return true;
        }
    }
    return false;
}

static bool is_shown(const struct ss_selection *selection, struct span span)
{
    const struct ss_model *model = selection->model;
    const struct ss_model_track *track = &model->tracks.data[model->values.data[span.first].track];
    struct ss_strview name = ss_intern_get(&model->strings, track->name);
    return track->kind == SS_TRACK_COUNTER && track->counter == SS_COUNTER_GAUGE &&
           ss_model_is_on_axis(model, track->input) && selection->processes[track->process] &&
           !ss_strview_equal(name, ss_strview_of(ss_counter_operators_recorded)) &&
           !ss_strview_equal(name, ss_strview_of(ss_counter_detail_recorded)) &&
           changes(model, span);
}

/* --- pictures --------------------------------------------------------------------------------- */

static struct ss_strview group_of(const struct ss_model *model, const struct ss_model_track *track)
{
    const struct ss_model_track *parent = &model->tracks.data[track->parent];
    if (track->parent == 0) {
        return (struct ss_strview){"", 0};
    }
    /* The cores of a CPU are many: they are the parts of one group. */
    return ss_intern_get(&model->strings, parent->parent != 0
                                              ? model->tracks.data[parent->parent].name
                                              : parent->name);
}

static struct ss_curve_picture *picture_of(struct ss_curves *curves, const struct ss_model *model,
                                           const struct ss_model_track *track)
{
    struct ss_strview group = group_of(model, track);
    struct ss_strview unit = ss_intern_get(&model->strings, track->unit);
    int64_t pid = track->process != 0 ? model->processes.data[track->process].pid : -1;
    for (size_t i = 0; i < curves->pictures.count; i++) {
        struct ss_curve_picture *picture = &curves->pictures.data[i];
        if (ss_strview_equal(picture->group, group) && ss_strview_equal(picture->unit, unit) &&
            picture->pid == pid) {
            return picture;
        }
    }
    if (curves->pictures.count == SS_CURVE_PICTURES_MOST) {
        curves->hidden++;
        return NULL;
    }
    ss_vec_push_zero(&curves->pictures);
    struct ss_curve_picture *picture = &curves->pictures.data[curves->pictures.count - 1];
    picture->group = group;
    picture->unit = unit;
    picture->pid = pid;
    return picture;
}

/* --- points ----------------------------------------------------------------------------------- */

struct time_axis {
    uint64_t begin_ns, end_ns;
};

static struct time_axis axis_of(const struct ss_selection *selection)
{
    const struct ss_model *model = selection->model;
    struct time_axis axis = {UINT64_MAX, 0};
    for (size_t i = 0; i < model->values.count;) {
        struct span span = span_at(model, i);
        if (is_shown(selection, span)) {
            uint64_t first = model->values.data[span.first].time_ns;
            uint64_t last = model->values.data[span.end - 1].time_ns;
            axis.begin_ns = first < axis.begin_ns ? first : axis.begin_ns;
            axis.end_ns = last > axis.end_ns ? last : axis.end_ns;
        }
        i = span.end;
    }
    return axis;
}

/* Values of the same piece of time are one point. */
static void add_points(struct ss_curve *curve, const struct ss_model *model, struct span span,
                       struct time_axis axis)
{
    uint64_t piece_ns = (axis.end_ns - axis.begin_ns) / SS_CURVE_POINTS_MOST + 1, last = UINT64_MAX;
    for (size_t i = span.first; i < span.end; i++) {
        const struct ss_model_value *value = &model->values.data[i];
        uint64_t time_ns = value->time_ns - axis.begin_ns, piece = time_ns / piece_ns;
        double real = ss_model_real(value);
        if (!isfinite(real)) {
            continue;
        }
        if (piece != last) {
            ss_vec_push(&curve->points, (struct ss_curve_point){time_ns, real, real});
        }
        struct ss_curve_point *point = &curve->points.data[curve->points.count - 1];
        point->low = real < point->low ? real : point->low;
        point->high = real > point->high ? real : point->high;
        last = piece;
    }
}

static void add_curve(struct ss_curves *curves, const struct ss_model *model, struct span span,
                      struct time_axis axis)
{
    const struct ss_model_track *track = &model->tracks.data[model->values.data[span.first].track];
    struct ss_curve_picture *picture = picture_of(curves, model, track);
    if (picture == NULL) {
        return;
    }
    if (picture->curves.count == SS_CURVES_MOST) {
        picture->hidden++;
        return;
    }
    ss_vec_push_zero(&picture->curves);
    struct ss_curve *curve = &picture->curves.data[picture->curves.count - 1];
    curve->name = ss_intern_get(&model->strings, track->name);
    add_points(curve, model, span, axis);
}

/* Those of processes, or all others: what a program uses says more than what its machine does. */
static void add_curves(struct ss_curves *curves, const struct ss_selection *selection,
                       struct time_axis axis, bool of_processes)
{
    const struct ss_model *model = selection->model;
    for (size_t i = 0; i < model->values.count;) {
        struct span span = span_at(model, i);
        bool has_process = model->tracks.data[model->values.data[i].track].process != 0;
        if (has_process == of_processes && is_shown(selection, span)) {
            add_curve(curves, model, span, axis);
        }
        i = span.end;
    }
}

void ss_curves_init(struct ss_curves *curves, const struct ss_selection *selection)
{
    struct time_axis axis = axis_of(selection);
    *curves = (struct ss_curves){.end_ns = axis.end_ns - (axis.end_ns > 0 ? axis.begin_ns : 0)};
    add_curves(curves, selection, axis, true);
    add_curves(curves, selection, axis, false);
}

void ss_curves_fini(struct ss_curves *curves)
{
    for (size_t i = 0; i < curves->pictures.count; i++) {
        struct ss_curve_picture *picture = &curves->pictures.data[i];
        for (size_t c = 0; c < picture->curves.count; c++) {
            ss_vec_fini(&picture->curves.data[c].points);
        }
        ss_vec_fini(&picture->curves);
    }
    ss_vec_fini(&curves->pictures);
}
