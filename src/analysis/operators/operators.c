/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/operators/operators.h"

#include <string.h>

#include "analysis/operators/call_errors.h"
#include "analysis/operators/call_rows.h"
#include "analysis/operators/operators_inside.h"
#include "analysis/table/distribution.h"
#include "base/alloc.h"
#include "base/shared_names.h"

const char ss_no_operators[] =
    "no operators: no PyTorch operator ran, or they were not recorded (stepscope info)";

static const struct ss_column columns[SS_OPERATOR_DEVICE_COLUMNS] = {
    [SS_OPERATOR_NAME] = {.key = "name", .comparison = SS_COMPARES_KEY},
    [SS_OPERATOR_KIND] = {.key = "kind", .comparison = SS_COMPARES_KEY},
    [SS_OPERATOR_PHASE] = {.key = "phase"},
    [SS_OPERATOR_PID] = {.key = "pid"},
    [SS_OPERATOR_TID] = {.key = "tid"},
    [SS_OPERATOR_THREAD] = {.key = "thread"},
    [SS_OPERATOR_CALLS] = {.key = "calls", .unit = "calls", .comparison = SS_COMPARES_RUN_SUM},
    [SS_OPERATOR_SELF_PERCENT] = {.key = "self_percent", .unit = "percent"},
    [SS_OPERATOR_SELF] = {.key = "self_ns",
                          .unit = "ns",
                          .comparison = SS_COMPARES_RUN_SUM,
                          .leads = true},
    [SS_OPERATOR_BACKWARD] = {.key = "backward_self_ns", .unit = "ns"},
    [SS_OPERATOR_TOTAL] = {.key = "total_ns", .unit = "ns"},
    [SS_OPERATOR_MEAN] = {.key = "mean_ns", .unit = "ns"},
    [SS_OPERATOR_MIN] = {.key = "min_ns", .unit = "ns"},
    [SS_OPERATOR_P50] = {.key = "p50_ns", .unit = "ns"},
    [SS_OPERATOR_P95] = {.key = "p95_ns", .unit = "ns"},
    [SS_OPERATOR_MAX] = {.key = "max_ns", .unit = "ns"},
    [SS_OPERATOR_STEP_PERCENT] = {.key = "step_percent", .unit = "percent"},
    [SS_OPERATOR_STEP_CALLS] = {.key = "step_calls",
                                .unit = "calls",
                                .comparison = SS_COMPARES_STEP},
    [SS_OPERATOR_STEP_SELF] = {.key = "step_self_ns",
                               .unit = "ns",
                               .comparison = SS_COMPARES_STEP,
                               .leads = true,
                               .error_key = "step_self_pm_ns"},
    [SS_OPERATOR_STEP_TOTAL] = {.key = "step_total_ns", .unit = "ns"},
    [SS_OPERATOR_BACKWARD_PERCENT] = {.key = "backward_self_percent",
                                      .unit = "percent",
                                      .is_for_people = true},
    [SS_OPERATOR_STEP_SELF_PM] = {.key = "step_self_pm_ns", .unit = "ns", .not_in_csv = true},
    [SS_OPERATOR_DEVICE_PERCENT] = {.key = "device_self_percent", .unit = "percent"},
    [SS_OPERATOR_DEVICE_SELF] = {.key = "device_self_ns",
                                 .unit = "ns",
                                 .comparison = SS_COMPARES_RUN_SUM},
    [SS_OPERATOR_DEVICE_TOTAL] = {.key = "device_total_ns",
                                  .unit = "ns",
                                  .comparison = SS_COMPARES_RUN_SUM},
    [SS_OPERATOR_DEVICE_WORKS] = {.key = "device_works", .unit = "works"},
    [SS_OPERATOR_STEP_DEVICE_SELF] = {.key = "step_device_self_ns",
                                      .unit = "ns",
                                      .comparison = SS_COMPARES_STEP},
    [SS_OPERATOR_STEP_DEVICE_TOTAL] = {.key = "step_device_total_ns",
                                       .unit = "ns",
                                       .comparison = SS_COMPARES_STEP},
};

/* The operators of a recording. */
struct operators {
    const struct ss_model *model;
    struct ss_steady_time steady;
    struct ss_calls calls;
    struct ss_launch_places places;
    struct ss_call_works works; /* that they launched */
    unsigned grouping;
};

bool ss_model_has_domain(const struct ss_model *model, const char *domain)
{
    for (size_t i = 1; i < model->tracks.count; i++) {
        const struct ss_model_track *track = &model->tracks.data[i];
        if (track->kind == SS_TRACK_RANGES &&
            strcmp(ss_model_text(model, track->name), domain) == 0) {
            return true;
        }
    }
    return false;
}

/* --- order ---------------------------------------------------------------------------------- */

/* Long: one case for each order. */
uint64_t ss_operator_sort_value(const struct ss_calls *calls, const struct ss_call_row *row,
                                const struct ss_call_detail *detail,
                                const struct ss_call_work *work, enum ss_operator_sort sort)
{
    const struct ss_call_times all = ss_call_times_of_all(row);
    switch (sort) {
    case SS_OPERATORS_BY_SELF:
        return all.self_ns;
    case SS_OPERATORS_BY_TOTAL:
        return all.total_ns;
    case SS_OPERATORS_BY_MEAN:
        return ss_call_mean(&all);
    case SS_OPERATORS_BY_CALLS:
        return all.calls;
    case SS_OPERATORS_BY_MIN:
    case SS_OPERATORS_BY_P50:
    case SS_OPERATORS_BY_P95:
    case SS_OPERATORS_BY_MAX:
        return ss_call_duration_value(calls, row, sort);
    case SS_OPERATORS_BY_STEP:
        return row->steady.self_ns + row->summed.self_ns;
    case SS_OPERATORS_BY_BACKWARD:
        return all.backward_ns;
    case SS_OPERATORS_BY_CPU_BYTES:
        return detail != NULL ? ss_signed_sort_value(detail->self_cpu_bytes) : 0;
    case SS_OPERATORS_BY_DEVICE_BYTES:
        return detail != NULL ? ss_signed_sort_value(detail->self_device_bytes) : 0;
    case SS_OPERATORS_BY_FLOPS:
        return detail != NULL ? ss_signed_sort_value(detail->flops) : 0;
    case SS_OPERATORS_BY_DEVICE_SELF:
        return work != NULL ? work->self_ns : 0;
    case SS_OPERATORS_BY_DEVICE_TOTAL:
        return work != NULL ? work->total_ns : 0;
    case SS_OPERATORS_BY_DEVICE_MEAN:
        return work != NULL && row->all.calls > 0 ? work->total_ns / row->all.calls : 0;
    case SS_OPERATORS_BY_NAME:
        break;
    }
    return 0;
}

static struct ss_call_order *order_rows(const struct operators *operators,
                                        enum ss_operator_sort sort)
{
    const struct ss_model *model = operators->model;
    const struct ss_calls *calls = &operators->calls;
    struct ss_call_order *order = ss_call_order_new(calls);
    for (size_t i = 0; i < calls->rows.count; i++) {
        const struct ss_call_row *row = &calls->rows.data[i];
        order[i].value = ss_operator_sort_value(calls, row, NULL, &operators->works.rows[i], sort);
        order[i].other = row->all.self_ns + row->summed.self_ns;
        order[i].name = sort == SS_OPERATORS_BY_NAME
                            ? ss_model_text(model, model->names.data[row->name].text)
                            : "";
    }
    ss_call_order_sort(order, calls->rows.count);
    return order;
}

/* --- work of devices ------------------------------------------------------------------------ */

void ss_operator_works_init(struct ss_call_works *works, const struct ss_launch_places *places,
                            const struct ss_calls *calls)
{
    uint32_t *anchors = ss_alloc((places->rows.count + 1) * sizeof *anchors);
    for (size_t i = 0; i < places->rows.count; i++) {
        anchors[i] = places->rows.data[i].op;
    }
    ss_call_works_init(works, places, anchors, calls);
    ss_free(anchors);
}

static void fill_work(const struct operators *operators, const struct ss_call_work *work,
                      struct ss_cell *cells)
{
    uint64_t steps = operators->places.steps;
    cells[SS_OPERATOR_DEVICE_PERCENT] =
        ss_cell_real(ss_call_percent(work->self_ns, operators->places.all.ns));
    cells[SS_OPERATOR_DEVICE_SELF] = ss_call_time_cell(work->self_ns);
    cells[SS_OPERATOR_DEVICE_TOTAL] = ss_call_time_cell(work->total_ns);
    cells[SS_OPERATOR_DEVICE_WORKS] = ss_cell_integer((int64_t)work->works);
    if (steps > 0) {
        cells[SS_OPERATOR_STEP_DEVICE_SELF] = ss_call_time_cell(work->steady_self_ns / steps);
        cells[SS_OPERATOR_STEP_DEVICE_TOTAL] = ss_call_time_cell(work->steady_total_ns / steps);
    }
}

/* So that the rows add up to all work. */
static void add_unattributed(const struct operators *operators, struct ss_table *table)
{
    struct ss_unattributed rest[SS_UNATTRIBUTED_MOST];
    size_t count =
        ss_unattributed_work(&operators->places, &operators->works, "(in no operator)", rest);
    for (size_t i = 0; i < count; i++) {
        struct ss_cell *cells = ss_table_add_row(table);
        cells[SS_OPERATOR_NAME] = ss_cell_text(ss_strview_of(rest[i].name));
        cells[SS_OPERATOR_KIND] = ss_cell_text(ss_strview_of("unattributed"));
        fill_work(operators, &rest[i].work, cells);
    }
}

/* --- the table ------------------------------------------------------------------------------ */

static const char *const kinds[] = {[SS_CALL_FORWARD] = "operator",
                                    [SS_CALL_BACKWARD] = ss_phase_backward,
                                    [SS_CALL_SCOPE] = "scope",
                                    [SS_CALL_RUNTIME] = "runtime"};

/* Steps that were summed are steady-state ones: those that stand out are in full. */
static void fill_steps(const struct operators *operators, const struct ss_call_row *row,
                       struct ss_cell *cells)
{
    uint64_t steps = operators->steady.steps + operators->calls.summed_steps;
    uint64_t steps_ns = operators->steady.total_ns + operators->calls.summed_steps_ns;
    uint64_t self_ns = row->steady.self_ns + row->summed.self_ns;
    cells[SS_OPERATOR_STEP_PERCENT] = ss_cell_real(ss_call_percent(self_ns, steps_ns));
    cells[SS_OPERATOR_STEP_CALLS] =
        ss_cell_real((double)(row->steady.calls + row->summed.calls) / (double)steps);
    cells[SS_OPERATOR_STEP_SELF] = ss_call_time_cell(self_ns / steps);
    cells[SS_OPERATOR_STEP_TOTAL] =
        ss_call_time_cell((row->steady.total_ns + row->summed.total_ns) / steps);
}

static void fill_row(const struct operators *operators, size_t at, struct ss_cell *cells)
{
    const struct ss_calls *calls = &operators->calls;
    const struct ss_call_row *row = &calls->rows.data[at];
    const struct ss_call_times all = ss_call_times_of_all(row);
    cells[SS_OPERATOR_KIND] = ss_cell_text(ss_strview_of(kinds[row->kind]));
    ss_call_identity_cells(operators->model, row, operators->grouping, &cells[SS_OPERATOR_NAME],
                           &cells[SS_OPERATOR_PHASE], &cells[SS_OPERATOR_PID]);
    cells[SS_OPERATOR_CALLS] = ss_cell_integer((int64_t)all.calls);
    cells[SS_OPERATOR_SELF_PERCENT] = ss_cell_real(ss_call_percent(all.self_ns, calls->self_ns));
    cells[SS_OPERATOR_SELF] = ss_call_time_cell(all.self_ns);
    cells[SS_OPERATOR_BACKWARD] = ss_call_time_cell(all.backward_ns);
    if (all.backward_ns > 0) {
        cells[SS_OPERATOR_BACKWARD_PERCENT] =
            ss_cell_real(100 * (double)all.backward_ns / (double)all.self_ns);
    }
    cells[SS_OPERATOR_TOTAL] = ss_call_time_cell(all.total_ns);
    cells[SS_OPERATOR_MEAN] = ss_call_time_cell(ss_call_mean(&all));
    ss_call_duration_cells(calls, row, &cells[SS_OPERATOR_MIN]);
    if (operators->steady.steps + calls->summed_steps > 0) {
        fill_steps(operators, row, cells);
    }
    if (operators->places.all.count > 0) {
        fill_work(operators, &operators->works.rows[at], cells);
    }
}

static void operators_init(struct operators *operators, const struct ss_selection *selection,
                           const struct ss_step_summary *training, unsigned grouping)
{
    struct ss_calls_options call_options = {.domain = ss_domain_torch,
                                            .grouping = grouping,
                                            .joins_same = true,
                                            .phases =
                                                training != NULL ? &training->index.phases : NULL,
                                            .sums = ss_domain_torch_sums,
                                            .summed_steps = ss_mark_summed_operator_steps};
    *operators = (struct operators){.model = selection->model, .grouping = grouping};
    ss_steady_time_init(&operators->steady, training, SS_STEADY_OF_OPERATORS);
    ss_calls_init(&operators->calls, selection, &operators->steady, &call_options);
    ss_launch_places_init(&operators->places, selection,
                          &(struct ss_launch_places_options){.domain = ss_domain_torch,
                                                             .training = training,
                                                             .of_operators = true});
    ss_operator_works_init(&operators->works, &operators->places, &operators->calls);
    ss_launch_places_release(&operators->places); /* before more is needed */
    ss_calls_measure(&operators->calls, selection->model);
}

static void operators_fini(struct operators *operators)
{
    ss_call_works_fini(&operators->works);
    ss_launch_places_fini(&operators->places);
    ss_calls_fini(&operators->calls);
    ss_steady_time_fini(&operators->steady);
}

/* By row of the calls; NULL without has_errors. */
static double *find_errors(const struct ss_selection *selection,
                           const struct ss_step_summary *training, const struct ss_calls *calls,
                           const struct ss_operators_options *options)
{
    static const struct ss_call_errors_options of_self = {.domain = ss_domain_torch};
    if (!options->has_errors) {
        return NULL;
    }
    struct ss_step_series series;
    ss_step_series_init(&series, training, SS_STEADY_OF_OPERATORS);
    double *errors = ss_call_errors_new(selection, calls, &series, &of_self);
    ss_step_series_fini(&series);
    return errors;
}

void ss_operators_table(const struct ss_selection *selection,
                        const struct ss_step_summary *training,
                        const struct ss_operators_options *options, struct ss_table *table)
{
    struct operators operators;
    operators_init(&operators, selection, training, options->grouping);
    bool has_works = operators.places.all.count > 0;
    size_t count = operators.calls.rows.count;
    *table = (struct ss_table){.name = "op",
                               .title = "Operators",
                               .is_of_program = true,
                               .empty_text = ss_no_operators,
                               .columns = columns,
                               .column_count =
                                   has_works ? SS_OPERATOR_DEVICE_COLUMNS : SS_OPERATOR_COLUMNS};
    ss_call_put_steps(selection->model, &operators.steady, &operators.calls, table);
    struct ss_call_order *order = order_rows(&operators, options->sort);
    double *errors = find_errors(selection, training, &operators.calls, options);
    for (size_t i = 0; i < count; i++) {
        if (options->max_rows != 0 && i >= options->max_rows) {
            table->hidden_rows = count - i;
            break;
        }
        struct ss_cell *cells = ss_table_add_row(table);
        fill_row(&operators, order[i].row, cells);
        if (errors != NULL) {
            cells[SS_OPERATOR_STEP_SELF_PM] = ss_error_cell(errors[order[i].row]);
        }
    }
    if (has_works && count > 0 && !options->has_errors) {
        add_unattributed(&operators, table);
    }
    ss_free(errors);
    ss_call_add_steps_note("operators were", table);
    ss_free(order);
    operators_fini(&operators);
}
