/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/operators/call_errors.h"

#include "analysis/steps/step_sums.h"
#include "base/alloc.h"

/* An open range of the scan. */
struct open_call {
    uint32_t row; /* + 1; 0: does not count */
    uint64_t begin_ns, duration_ns, inner_ns;
};

struct scan {
    const struct ss_selection *selection;
    const struct ss_calls *calls;
    const struct ss_call_errors_options *options;
    struct ss_vec_of(struct open_call) open;
    uint32_t *open_counts; /* by row + 1 */
    struct ss_step_sums sums;
};

static void close_down_to(struct scan *scan, uint32_t process, size_t count)
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
        if (call->row != 0 && ns > 0) {
            ss_step_sums_add(&scan->sums, call->row - 1, process, call->begin_ns, ns);
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
        close_down_to(scan, process, model->paths.data[range->path].depth - 1);
        struct open_call call = {.row = row_of(scan, i),
                                 .begin_ns = range->begin_ns,
                                 .duration_ns = range->end_ns - range->begin_ns};
        scan->open_counts[call.row] += call.row != 0;
        ss_vec_push(&scan->open, call);
    }
    close_down_to(scan, process, 0);
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
    size_t rows = calls->rows.count;
    double *errors = ss_alloc((rows + 1) * sizeof *errors);
    struct scan scan = {.selection = selection, .calls = calls, .options = options};
    ss_step_sums_init(&scan.sums, series, rows);
    scan.open_counts = ss_alloc_zero(rows + 2, sizeof *scan.open_counts);
    if (scan.sums.values != NULL) {
        scan_ranges(&scan);
    }
    for (size_t i = 0; i < rows; i++) {
        errors[i] = ss_step_sums_error(&scan.sums, i);
    }
    ss_step_sums_fini(&scan.sums);
    ss_free(scan.open_counts);
    ss_vec_fini(&scan.open);
    return errors;
}
