/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/step_memory.h"

#include <math.h>
#include <string.h>

#include "analysis/ranges.h"

static const struct ss_column columns[SS_MEMORY_COLUMNS] = {
    [SS_MEMORY_NAME] = {.key = "name"},
    [SS_MEMORY_PID] = {.key = "pid"},
    [SS_MEMORY_START] = {.key = "start_bytes", .unit = "bytes"},
    [SS_MEMORY_END] = {.key = "end_bytes", .unit = "bytes"},
    [SS_MEMORY_PEAK] = {.key = "peak_bytes", .unit = "bytes"},
    [SS_MEMORY_PER_STEP] = {.key = "bytes_per_step", .unit = "bytes per step"},
};

static bool is_memory(const struct ss_selection *selection, uint32_t track)
{
    static const char *const names[] = {"memory rss", "cuda allocated", "cuda reserved",
                                        "cuda peak"};
    const struct ss_model *model = selection->model;
    const struct ss_model_track *row = &model->tracks.data[track];
    if (row->kind != SS_TRACK_COUNTER || row->process == 0 || row->parent != 0 ||
        !ss_selection_has_track(selection, track)) {
        return false;
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(ss_model_text(model, row->name), names[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* Values of one track: [first, end) of the model. */
struct series {
    uint32_t process;
    size_t first, end;
};

enum { FEWEST_FOR_A_LINE = 3 };

/* The newest value when each usual step ended makes a point: number of the point, value. */
static struct ss_cell per_step_cell(const struct ss_model *model, struct series series,
                                    const struct ss_step_summary *training)
{
    double n = 0, sum_x = 0, sum_y = 0, sum_xx = 0, sum_xy = 0;
    double from = ss_model_real(&model->values.data[series.first]);
    size_t at = series.first;
    for (size_t i = 0; training != NULL && i < training->steps.count; i++) {
        const struct ss_step *step = &training->steps.data[i];
        if (step->process != series.process || step->kind != SS_STEP_USUAL) {
            continue;
        }
        while (at + 1 < series.end && model->values.data[at + 1].time_ns <= step->end_ns) {
            at++;
        }
        if (model->values.data[at].time_ns > step->end_ns) {
            continue;
        }
        double x = (double)step->number, y = ss_model_real(&model->values.data[at]) - from;
        n++;
        sum_x += x;
        sum_y += y;
        sum_xx += x * x;
        sum_xy += x * y;
    }
    double spread = n * sum_xx - sum_x * sum_x;
    if (n < FEWEST_FOR_A_LINE || !(spread > 0)) {
        return (struct ss_cell){0};
    }
    double slope = (n * sum_xy - sum_x * sum_y) / spread;
    return isfinite(slope) ? ss_cell_real(slope) : (struct ss_cell){0};
}

static struct ss_cell bytes_cell(double bytes)
{
    return fabs(bytes) < 9e15 ? ss_cell_integer((int64_t)bytes) : ss_cell_real(bytes);
}

static void fill_row(const struct ss_model *model, struct series series,
                     const struct ss_step_summary *training, struct ss_cell *cells)
{
    const struct ss_model_value *values = model->values.data;
    uint32_t track = values[series.first].track;
    double peak = ss_model_real(&values[series.first]);
    for (size_t i = series.first; i < series.end; i++) {
        peak = ss_model_real(&values[i]) > peak ? ss_model_real(&values[i]) : peak;
    }
    cells[SS_MEMORY_NAME] =
        ss_cell_text(ss_intern_get(&model->strings, model->tracks.data[track].name));
    cells[SS_MEMORY_PID] = ss_cell_integer(model->processes.data[series.process].pid);
    cells[SS_MEMORY_START] = bytes_cell(ss_model_real(&values[series.first]));
    cells[SS_MEMORY_END] = bytes_cell(ss_model_real(&values[series.end - 1]));
    cells[SS_MEMORY_PEAK] = bytes_cell(peak);
    cells[SS_MEMORY_PER_STEP] = per_step_cell(model, series, training);
}

static bool are_finite(const struct ss_model *model, struct series series)
{
    for (size_t i = series.first; i < series.end; i++) {
        if (!isfinite(ss_model_real(&model->values.data[i]))) {
            return false;
        }
    }
    return true;
}

void ss_memory_table(const struct ss_selection *selection, const struct ss_step_summary *training,
                     struct ss_table *table)
{
    const struct ss_model *model = selection->model;
    *table = (struct ss_table){
        .name = "memory", .title = "Memory", .columns = columns, .column_count = SS_MEMORY_COLUMNS};
    for (size_t first = 0, end; first < model->values.count; first = end) {
        uint32_t track = model->values.data[first].track;
        for (end = first; end < model->values.count && model->values.data[end].track == track;) {
            end++;
        }
        struct series series = {model->tracks.data[track].process, first, end};
        if (is_memory(selection, track) && are_finite(model, series)) {
            fill_row(model, series, training, ss_table_add_row(table));
        }
    }
}
