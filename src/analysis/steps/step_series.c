/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/steps/step_series.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/table/mean_error.h"
#include "base/alloc.h"
#include "base/search.h"

/* --- series ----------------------------------------------------------------------------------- */

static void add_step(struct ss_step_series *series, size_t index)
{
    const struct ss_step *step = &series->training->steps.data[index];
    size_t count = series->rows.count;
    if (count == 0 || series->rows.data[count - 1].process != step->process) {
        ss_vec_push(&series->rows, (struct ss_step_row_of_series){.process = step->process,
                                                                  .first = series->steps.count,
                                                                  .begin_ns = step->begin_ns});
        count++;
    }
    struct ss_step_row_of_series *row = &series->rows.data[count - 1];
    row->count++;
    row->end_ns = step->end_ns > row->end_ns ? step->end_ns : row->end_ns;
    ss_vec_push(&series->steps, index);
}

static int by_begin(const void *left, const void *right)
{
    const struct ss_step_row_of_series *a = *(struct ss_step_row_of_series *const *)left;
    const struct ss_step_row_of_series *b = *(struct ss_step_row_of_series *const *)right;
    return (a->begin_ns > b->begin_ns) - (a->begin_ns < b->begin_ns);
}

static void number_runs(struct ss_step_series *series)
{
    size_t count = series->rows.count;
    struct ss_step_row_of_series **order = ss_alloc((count + 1) * sizeof(*order));
    for (size_t i = 0; i < count; i++) {
        order[i] = &series->rows.data[i];
    }
    qsort(order, count, sizeof(*order), by_begin);
    uint64_t until_ns = 0;
    for (size_t i = 0; i < count; i++) {
        series->runs += i == 0 || order[i]->begin_ns >= until_ns;
        until_ns = order[i]->end_ns > until_ns ? order[i]->end_ns : until_ns;
        order[i]->run = series->runs - 1;
    }
    ss_free(order);
}

void ss_step_series_init(struct ss_step_series *series, const struct ss_step_summary *training,
                         enum ss_steady_of of)
{
    *series = (struct ss_step_series){.training = training};
    for (size_t i = 0; i < training->steps.count; i++) {
        const struct ss_step *step = &training->steps.data[i];
        if (step->kind == SS_STEP_STEADY && ss_steady_has(step, of)) {
            add_step(series, i);
        }
    }
    number_runs(series);
}

void ss_step_series_fini(struct ss_step_series *series)
{
    ss_vec_fini(&series->rows);
    ss_vec_fini(&series->steps);
    *series = (struct ss_step_series){0};
}

size_t ss_step_series_at(const struct ss_step_series *series, uint32_t process, uint64_t time_ns)
{
    const struct ss_step *found = ss_step_at(series->training, process, time_ns);
    size_t index = found != NULL ? (size_t)(found - series->training->steps.data) : SIZE_MAX;
    size_t low = ss_search(i, 0, series->steps.count, series->steps.data[i] < index);
    return low < series->steps.count && series->steps.data[low] == index ? low : SIZE_MAX;
}

/* --- means ------------------------------------------------------------------------------------ */

/* The steps of a run, and their mean. */
struct run {
    double steps, mean, error;
};

static void add_to_run(struct run *run, const double *values, size_t count)
{
    double error = ss_mean_error(values, count), steps = run->steps + (double)count;
    for (size_t i = 0; i < count; i++) {
        run->mean += (values[i] - run->mean) / (run->steps + (double)i + 1);
    }
    run->error += (error - run->error) * ((double)count / steps);
    run->steps = steps;
}

static struct ss_mean_with_error combine_runs(const struct run *runs, size_t count)
{
    double all = 0, mean = 0, squares = 0;
    double *means = ss_alloc((count + 1) * sizeof *means);
    for (size_t i = 0; i < count; i++) {
        all += runs[i].steps;
        mean += (runs[i].mean - mean) * (runs[i].steps / all);
        means[i] = runs[i].mean;
    }
    for (size_t i = 0; i < count; i++) {
        squares += pow(runs[i].steps / all * runs[i].error, 2);
    }
    double between = ss_mean_error_independent(means, count);
    ss_free(means);
    /* fmax ignores what is NAN. */
    return (struct ss_mean_with_error){mean, fmax(sqrt(squares), between)};
}

struct ss_mean_with_error ss_step_series_mean(const struct ss_step_series *series,
                                              const double *values)
{
    if (series->rows.count == 0) {
        return (struct ss_mean_with_error){0, NAN};
    }
    struct run *runs = ss_alloc_zero(series->runs, sizeof *runs);
    for (size_t i = 0; i < series->rows.count; i++) {
        const struct ss_step_row_of_series *row = &series->rows.data[i];
        add_to_run(&runs[row->run], values + row->first, row->count);
    }
    struct ss_mean_with_error result = combine_runs(runs, series->runs);
    ss_free(runs);
    return result;
}

struct ss_mean_with_error ss_step_series_duration(const struct ss_step_series *series)
{
    double *values = ss_alloc((series->steps.count + 1) * sizeof *values);
    for (size_t i = 0; i < series->steps.count; i++) {
        const struct ss_step *step = &series->training->steps.data[series->steps.data[i]];
        values[i] = (double)(step->end_ns - step->begin_ns);
    }
    struct ss_mean_with_error result = ss_step_series_mean(series, values);
    ss_free(values);
    return result;
}

struct ss_mean_with_error ss_step_series_phase(const struct ss_step_series *series, size_t phase)
{
    const struct ss_step_summary *training = series->training;
    double *values = ss_alloc((series->steps.count + 1) * sizeof *values);
    for (size_t i = 0; i < series->steps.count; i++) {
        size_t step = series->steps.data[i];
        values[i] = (double)training->phase_ns[step * training->phases.count + phase];
    }
    struct ss_mean_with_error result = ss_step_series_mean(series, values);
    ss_free(values);
    return result;
}

struct ss_cell ss_error_cell(double error_ns)
{
    bool is_known = isfinite(error_ns) && error_ns < (double)INT64_MAX;
    return is_known ? ss_cell_integer((int64_t)error_ns) : (struct ss_cell){0};
}

void ss_step_series_put_phases(const struct ss_step_series *series, struct ss_table *table)
{
    for (size_t i = 0; i < table->row_count; i++) {
        struct ss_cell *cells = &table->cells.data[i * table->column_count];
        cells[SS_PHASE_MEAN_PM] = ss_error_cell(ss_step_series_phase(series, i).error);
    }
}
