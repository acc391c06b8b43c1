/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/ranks/rank_heat.h"

#include <stdlib.h>

#include "analysis/table/distribution.h"
#include "base/alloc.h"
#include "base/shared_names.h"

static int compare_numbers(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

static bool is_whole(const struct ss_step *step)
{
    return step->kind != SS_STEP_CUT && step->kind != SS_STEP_PROFILED &&
           step->kind != SS_STEP_OUTSIDE;
}

/* By process: its row, from 1; 0: it is not compared. */
static size_t *find_rows(const struct ss_rank_profiles *profiles)
{
    size_t *rows = ss_alloc_zero(profiles->processes, sizeof *rows);
    for (size_t row = 0; row < profiles->rows.count; row++) {
        rows[profiles->rows.data[row].process] = row + 1;
    }
    return rows;
}

static void find_steps(struct ss_rank_heat *heat, const struct ss_step_summary *training,
                       const size_t *rows)
{
    heat->step_numbers = ss_alloc_zero(training->steps.count + 1, sizeof *heat->step_numbers);
    for (size_t i = 0; i < training->steps.count; i++) {
        if (is_whole(&training->steps.data[i]) && rows[training->steps.data[i].process] > 0) {
            heat->step_numbers[heat->steps++] = training->steps.data[i].number;
        }
    }
    qsort(heat->step_numbers, heat->steps, sizeof *heat->step_numbers, compare_numbers);
    size_t last = 0;
    for (size_t i = 1; i < heat->steps; i++) {
        if (heat->step_numbers[i] != heat->step_numbers[last]) {
            heat->step_numbers[++last] = heat->step_numbers[i];
        }
    }
    heat->steps = heat->steps > 0 ? last + 1 : 0;
}

static size_t column_of(const struct ss_rank_heat *heat, int64_t number)
{
    const int64_t *found = bsearch(&number, heat->step_numbers, heat->steps,
                                   sizeof *heat->step_numbers, compare_numbers);
    return (size_t)(found - heat->step_numbers);
}

/* By step: exposed communication on devices, or else in the phase. */
static uint64_t *find_waits(const struct ss_device_summary *devices, const struct ss_model *model,
                            const struct ss_step_summary *training)
{
    uint64_t *waits = ss_alloc_zero(training->steps.count + 1, sizeof *waits);
    size_t phases = training->phases.count,
           communication = ss_step_phase_named(training, model, ss_phase_communication);
    if (devices->steps.count > 0) {
        for (size_t i = 0; i < devices->steps.count; i++) {
            const struct ss_device_step *on = &devices->steps.data[i];
            uint64_t ns = on->times.class_ns[SS_WORK_COMMUNICATION];
            waits[on->step] = ns > waits[on->step] ? ns : waits[on->step];
        }
        return waits;
    }
    for (size_t i = 0; i < training->steps.count && communication < phases; i++) {
        waits[i] = training->phase_ns[i * phases + communication];
    }
    return waits;
}

static void fill(struct ss_rank_heat *heat, const struct ss_step_summary *training,
                 const size_t *rows, const uint64_t *waits)
{
    for (size_t i = 0; i < training->steps.count; i++) {
        const struct ss_step *step = &training->steps.data[i];
        size_t row = rows[step->process];
        if (is_whole(step) && row > 0) {
            uint64_t length_ns = step->end_ns - step->begin_ns;
            uint64_t own_ns = length_ns > waits[i] ? length_ns - waits[i] : 0;
            size_t at = (row - 1) * heat->steps + column_of(heat, step->number);
            heat->own_ns[at] = (double)own_ns;
        }
    }
}

static void find_range(struct ss_rank_heat *heat)
{
    struct ss_vec_of(uint64_t) values = {0};
    for (size_t i = 0; i < heat->ranks * heat->steps; i++) {
        if (heat->own_ns[i] >= 0) {
            ss_vec_push(&values, (uint64_t)heat->own_ns[i]);
        }
    }
    if (values.count > 0) {
        ss_sort_u64(values.data, values.count);
        heat->low_ns = (double)ss_percentile_u64(values.data, values.count, 5);
        heat->high_ns = (double)ss_percentile_u64(values.data, values.count, 95);
    }
    ss_vec_fini(&values);
}

void ss_rank_heat_init(struct ss_rank_heat *heat, const struct ss_selection *selection,
                       const struct ss_step_summary *training)
{
    const struct ss_rank_profiles *profiles = ss_steps_ranks(selection, training);
    size_t *rows = find_rows(profiles);
    *heat = (struct ss_rank_heat){.ranks = profiles->rows.count};
    find_steps(heat, training, rows);
    heat->rank_numbers = ss_alloc_zero(heat->ranks + 1, sizeof *heat->rank_numbers);
    heat->own_ns = ss_alloc_zero(heat->ranks * heat->steps + 1, sizeof *heat->own_ns);
    for (size_t i = 0; i < heat->ranks * heat->steps; i++) {
        heat->own_ns[i] = -1;
    }
    for (size_t row = 0; row < heat->ranks; row++) {
        heat->rank_numbers[row] = profiles->rows.data[row].rank;
    }
    uint64_t *waits = find_waits(ss_steps_devices(selection, training), selection->model, training);
    fill(heat, training, rows, waits);
    find_range(heat);
    ss_free(waits);
    ss_free(rows);
}

void ss_rank_heat_fini(struct ss_rank_heat *heat)
{
    ss_free(heat->rank_numbers);
    ss_free(heat->step_numbers);
    ss_free(heat->own_ns);
    *heat = (struct ss_rank_heat){0};
}

double ss_rank_heat_share(double low_ns, double high_ns, double own_ns)
{
    if (high_ns <= low_ns) {
        return 0;
    }
    double share = (own_ns - low_ns) / (high_ns - low_ns);
    return share < 0 ? 0 : share > 1 ? 1 : share;
}
