/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/call_errors.h"

#include <math.h>

#include "base/alloc.h"

enum { MOST_VALUES = 1 << 24 }; /* rows times steps */

/* An open range of the scan. */
struct open_call {
    uint32_t row; /* + 1; 0: does not count */
    size_t place; /* of its step; SIZE_MAX: none */
    uint64_t duration_ns, inner_ns;
};

struct scan {
    const struct ss_selection *selection;
    const struct ss_calls *calls;
    const struct ss_step_series *series;
    const struct ss_call_errors_options *options;
    struct ss_vec_of(struct open_call) open;
    uint32_t *open_counts; /* by row + 1 */
    double *values;        /* [rows][steps] */
};

static void close_down_to(struct scan *scan, size_t count)
{
    for (; scan->open.count > count; scan->open.count--) {
        const struct open_call *call = &scan->open.data[scan->open.count - 1];
        if (scan->open.count > 1) {
            scan->open.data[scan->open.count - 2].inner_ns += call->duration_ns;
        }
        bool is_outermost = call->row != 0 && --scan->open_counts[call->row] == 0;
        uint64_t self_ns =
            call->duration_ns > call->inner_ns ? call->duration_ns - call->inner_ns : 0;
        uint64_t ns = !scan->options->of_total ? self_ns : is_outermost ? call->duration_ns : 0;
        if (call->row != 0 && call->place != SIZE_MAX) {
            scan->values[(call->row - 1) * scan->series->steps.count + call->place] += (double)ns;
        }
    }
}

/* A call that counts as one with its only inner call (joins_same) has left no row to that. */
static uint32_t row_of(const struct scan *scan, size_t at)
{
    uint32_t row = scan->calls->row_of[at];
    bool is_joined = row == 0 && scan->open.count > 0 &&
                     (scan->selection->model->ranges.data[at].flags & SS_RANGE_OUTSIDE) == 0;
    return is_joined ? scan->open.data[scan->open.count - 1].row : row;
}

static void scan_track(struct scan *scan, size_t first, size_t end)
{
    const struct ss_model *model = scan->selection->model;
    uint32_t process = model->tracks.data[model->ranges.data[first].track].process;
    for (size_t i = first; i < end; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        close_down_to(scan, model->paths.data[range->path].depth - 1);
        struct open_call call = {.row = row_of(scan, i),
                                 .place = SIZE_MAX,
                                 .duration_ns = range->end_ns - range->begin_ns};
        if (call.row != 0) {
            call.place = ss_step_series_at(scan->series, process, range->begin_ns);
            scan->open_counts[call.row]++;
        }
        ss_vec_push(&scan->open, call);
    }
    close_down_to(scan, 0);
}

static void scan_ranges(struct scan *scan)
{
    const struct ss_model *model = scan->selection->model;
    for (size_t first = 0, end; first < model->ranges.count; first = end) {
        uint32_t track = model->ranges.data[first].track;
        for (end = first; end < model->ranges.count && model->ranges.data[end].track == track;) {
            end++;
        }
        if (ss_calls_has_track(scan->selection, track, scan->options->domain)) {
            scan_track(scan, first, end);
        }
    }
}

double *ss_call_errors_new(const struct ss_selection *selection, const struct ss_calls *calls,
                           const struct ss_step_series *series,
                           const struct ss_call_errors_options *options)
{
    size_t rows = calls->rows.count, steps = series->steps.count;
    double *errors = ss_alloc((rows + 1) * sizeof *errors);
    bool is_known = steps > 0 && rows < MOST_VALUES / steps;
    struct scan scan = {
        .selection = selection, .calls = calls, .series = series, .options = options};
    if (is_known) {
        scan.values = ss_alloc_zero(rows * steps + 1, sizeof *scan.values);
        scan.open_counts = ss_alloc_zero(rows + 2, sizeof *scan.open_counts);
        scan_ranges(&scan);
    }
    for (size_t i = 0; i < rows; i++) {
        errors[i] = is_known ? ss_step_series_mean(series, scan.values + i * steps).error : NAN;
    }
    ss_free(scan.values);
    ss_free(scan.open_counts);
    ss_vec_fini(&scan.open);
    return errors;
}
