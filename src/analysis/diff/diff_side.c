/* SPDX-License-Identifier: Apache-2.0 */
/* One recording of a comparison: its steps, its runs, and its samples within steps. */
#include <math.h>
#include <stdlib.h>

#include "analysis/diff/diff_parts.h"
#include "analysis/table/mean_error.h"
#include "analysis/tables/overview.h"
#include "base/alloc.h"

/* --- runs ------------------------------------------------------------------------------------- */

/* When a file was recorded, by the wall clock; in s. */
struct span {
    double begin, end;
};

static int by_begin(const void *left, const void *right)
{
    const struct span *a = left, *b = right;
    return (a->begin > b->begin) - (a->begin < b->begin);
}

/* Merges spans that overlap: the files of one run. Returns the number of runs. */
static size_t merge(struct span *spans, size_t count)
{
    size_t runs = 0;
    qsort(spans, count, sizeof *spans, by_begin);
    for (size_t i = 0; i < count; i++) {
        if (runs > 0 && spans[i].begin < spans[runs - 1].end) {
            spans[runs - 1].end = fmax(spans[runs - 1].end, spans[i].end);
        } else {
            spans[runs++] = spans[i];
        }
    }
    return runs;
}

static bool has_times(const struct ss_trust *trust)
{
    for (size_t i = 0; i < trust->inputs.count; i++) {
        const struct ss_trust_input *input = &trust->inputs.data[i];
        if (input->start_unix_ns <= 0 || input->duration_s <= 0) {
            return false;
        }
    }
    return trust->inputs.count > 0;
}

/* Files without times are those of one run. */
static void find_runs(struct ss_diff_side *side)
{
    const struct ss_trust *trust = &side->report.trust;
    size_t count = trust->inputs.count;
    side->runs = 1;
    side->run_s = (struct ss_mean_with_error){trust->all.duration_s, NAN};
    if (!has_times(trust)) {
        return;
    }
    struct span *spans = ss_alloc(count * sizeof *spans);
    double *durations = ss_alloc(count * sizeof *durations), sum = 0;
    for (size_t i = 0; i < count; i++) {
        double begin = (double)trust->inputs.data[i].start_unix_ns / 1e9;
        spans[i] = (struct span){begin, begin + trust->inputs.data[i].duration_s};
    }
    side->runs = merge(spans, count);
    for (size_t i = 0; i < side->runs; i++) {
        durations[i] = spans[i].end - spans[i].begin;
        sum += durations[i];
    }
    side->run_s.mean = sum / (double)side->runs;
    side->run_s.error = ss_mean_error_independent(durations, side->runs);
    ss_free(durations);
    ss_free(spans);
}

/* --- a side ----------------------------------------------------------------------------------- */

/* Steps and ranges are worth comparing without any samples. */
static bool needs_samples(const struct ss_diff_side *side, const struct ss_table_kind *kind)
{
    bool is_of_samples = (kind->accepts & SS_ACCEPTS_SAMPLES) != 0;
    return ss_table_kind_is_overview(kind)
               ? kind == &ss_overview && side->report.training.steady == 0
               : is_of_samples;
}

void ss_diff_side_init(struct ss_diff_side *side, const char *name,
                       const struct ss_selection *selection, const struct ss_diff_options *options)
{
    const struct ss_table_options table = {.steps = options->steps, .source = options->source};
    const struct ss_report_options report = {.kind = options->kind, .table = &table};
    *side = (struct ss_diff_side){.name = name};
    ss_report_parts_init(&side->report, selection, &report);
    if ((options->kind->needs & SS_NEEDS_STEPS) == 0) {
        ss_step_summary_init(&side->report.training, selection, &options->steps);
    }
    ss_step_series_init(&side->series, &side->report.training, SS_STEADY_OF_ALL);
    side->step = ss_step_series_duration(&side->series);
    side->has_within =
        side->report.training.steady > 0 && ss_selection_within_steps(selection, &side->within);
    find_runs(side);
    if (!needs_samples(side, options->kind)) {
        ss_trust_allow_no_samples(&side->report.trust);
    }
}

void ss_diff_side_fini(struct ss_diff_side *side)
{
    if (side->has_within) {
        ss_selection_fini(&side->within);
    }
    ss_step_series_fini(&side->series);
    ss_report_parts_fini(&side->report);
}
