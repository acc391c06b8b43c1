/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/ranks/drifts.h"

#include <math.h>

#include "analysis/table/rule_limits.h"
#include "base/alloc.h"
#include "base/shared_names.h"

/* The steps of one process. */
struct series {
    struct ss_vec_of(size_t) steps; /* of the summary */
    double *times, *values;
};

bool ss_drift_counts(const struct ss_step *step)
{
    return step->kind != SS_STEP_CUT && step->kind != SS_STEP_WARM_UP &&
           step->kind != SS_STEP_PROFILED;
}

struct ss_strview ss_drift_stage_text(const struct ss_drift_row *row, const struct ss_model *model,
                                      const struct ss_step_summary *training)
{
    return row->stage == SS_DRIFT_STEP ? ss_strview_of("step")
           : row->stage == SS_DRIFT_OWN
               ? ss_strview_of("own time")
               : ss_step_phase_text(model, &training->phases.data[row->phase]);
}

static double value_of(const struct ss_step_summary *training, size_t index,
                       const struct ss_drift_row *row, size_t communication)
{
    const struct ss_step *step = &training->steps.data[index];
    const uint64_t *phases = &training->phase_ns[index * training->phases.count];
    double duration = (double)(step->end_ns - step->begin_ns);
    return row->stage == SS_DRIFT_STEP  ? duration
           : row->stage == SS_DRIFT_OWN ? duration - (double)phases[communication]
                                        : (double)phases[row->phase];
}

/* A line takes half of its change more than at its start; where the steps are not on it, what they
 * take more on average bounds that. */
static double lost_of(const struct ss_drift *drift, const double *values)
{
    double sum = 0;
    for (size_t i = 0; i < drift->count; i++) {
        sum += values[i];
    }
    double behind = drift->count > 0 && drift->has_changed_once
                        ? (double)(drift->count - drift->change_at) / (double)drift->count
                        : 0.5;
    double lost = behind * (drift->after - drift->before);
    double more = drift->count > 0 ? fmax(sum / (double)drift->count - drift->before, 0) : 0;
    return lost > 0 ? fmin(lost, more) : lost;
}

static void add_row(struct ss_drifts *drifts, const struct ss_step_summary *training,
                    struct series *series, struct ss_drift_row row, size_t communication)
{
    for (size_t i = 0; i < series->steps.count; i++) {
        series->values[i] = value_of(training, series->steps.data[i], &row, communication);
    }
    ss_drift_find(series->times, series->values, series->steps.count, &row.drift);
    row.lost_ns = lost_of(&row.drift, series->values);
    row.step_ns = row.stage == SS_DRIFT_STEP ? row.drift.median : row.step_ns;
    row.is_drifting =
        row.drift.is_certain &&
        fabs(row.drift.change) >= ss_limit_factor(SS_LIMIT_DRIFT_PERCENT) * row.step_ns;
    if (row.drift.has_changed_once && row.drift.change_at < series->steps.count) {
        row.change_step = training->steps.data[series->steps.data[row.drift.change_at]].number;
    }
    ss_vec_push(&drifts->rows, row);
}

static bool is_own(const struct ss_drift_row *row, bool has_communication)
{
    return row->stage == (has_communication ? SS_DRIFT_OWN : SS_DRIFT_STEP);
}

/* Rows of a process without enough steps are left out. */
static void add_process(struct ss_drifts *drifts, const struct ss_step_summary *training,
                        uint32_t process, struct series *series, size_t communication)
{
    bool has_communication = communication < training->phases.count;
    if (series->steps.count < SS_DRIFT_FEWEST) {
        return;
    }
    for (size_t i = 0; i < series->steps.count; i++) {
        series->times[i] = (double)training->steps.data[series->steps.data[i]].begin_ns;
    }
    struct ss_drift_row row = {.process = process, .stage = SS_DRIFT_STEP};
    add_row(drifts, training, series, row, communication);
    row.step_ns = drifts->rows.data[drifts->rows.count - 1].step_ns;
    if (has_communication) {
        row.stage = SS_DRIFT_OWN;
        add_row(drifts, training, series, row, communication);
    }
    drifts->processes++;
    drifts->drifting += drifts->rows.data[drifts->rows.count - 1].is_drifting;
    for (size_t i = 0; i < training->phases.count && training->phases.count > 1; i++) {
        row.stage = SS_DRIFT_PHASE;
        row.phase = i;
        add_row(drifts, training, series, row, communication);
    }
}

/* Towards slower: what became faster costs nothing. */
static void find_largest(struct ss_drifts *drifts, bool has_communication)
{
    size_t count = drifts->rows.count;
    drifts->largest = drifts->cause = count;
    for (size_t i = 0; i < count; i++) {
        const struct ss_drift_row *row = &drifts->rows.data[i];
        bool is_larger = drifts->largest == count ||
                         row->drift.change > drifts->rows.data[drifts->largest].drift.change;
        if (is_own(row, has_communication) && row->is_drifting && row->drift.change > 0 &&
            is_larger) {
            drifts->largest = i;
        }
    }
    for (size_t i = 0; i < count && drifts->largest < count; i++) {
        const struct ss_drift_row *row = &drifts->rows.data[i];
        bool is_larger = drifts->cause == count ||
                         row->drift.change > drifts->rows.data[drifts->cause].drift.change;
        if (row->process == drifts->rows.data[drifts->largest].process &&
            row->stage == SS_DRIFT_PHASE && row->is_drifting && row->drift.change > 0 &&
            is_larger) {
            drifts->cause = i;
        }
    }
}

void ss_drifts_init(struct ss_drifts *drifts, const struct ss_model *model,
                    const struct ss_step_summary *training)
{
    size_t count = training->steps.count,
           communication = ss_step_phase_named(training, model, ss_phase_communication);
    struct series series = {.times = ss_alloc((count + 1) * sizeof(double)),
                            .values = ss_alloc((count + 1) * sizeof(double))};
    *drifts = (struct ss_drifts){.processes = 0};
    for (size_t i = 0; i < count; i++) {
        const struct ss_step *step = &training->steps.data[i];
        bool is_last = i + 1 == count || step[1].process != step->process;
        if (ss_drift_counts(step)) {
            ss_vec_push(&series.steps, i);
        }
        if (is_last) {
            add_process(drifts, training, step->process, &series, communication);
            series.steps.count = 0;
        }
    }
    find_largest(drifts, communication < training->phases.count);
    ss_vec_fini(&series.steps);
    ss_free(series.times);
    ss_free(series.values);
}

void ss_drifts_fini(struct ss_drifts *drifts)
{
    ss_vec_fini(&drifts->rows);
    *drifts = (struct ss_drifts){.processes = 0};
}
