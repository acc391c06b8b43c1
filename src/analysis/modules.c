/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/modules.h"

#include "analysis/call_errors.h"
#include "analysis/call_rows.h"
#include "analysis/distribution.h"
#include "analysis/module_backward.h"
#include "base/alloc.h"
#include "base/shared_names.h"

static const struct ss_column columns[SS_MODULE_COLUMNS] = {
    [SS_MODULE_NAME] = {.key = "name", .comparison = SS_COMPARES_KEY},
    [SS_MODULE_PHASE] = {.key = "phase"},
    [SS_MODULE_PID] = {.key = "pid"},
    [SS_MODULE_TID] = {.key = "tid"},
    [SS_MODULE_THREAD] = {.key = "thread"},
    [SS_MODULE_CALLS] = {.key = "calls", .unit = "calls", .comparison = SS_COMPARES_RUN_SUM},
    [SS_MODULE_SELF] = {.key = "self_ns", .unit = "ns"},
    [SS_MODULE_TOTAL] = {.key = "total_ns",
                         .unit = "ns",
                         .comparison = SS_COMPARES_RUN_SUM,
                         .leads = true},
    [SS_MODULE_BACKWARD] = {.key = "backward_ns", .unit = "ns"},
    [SS_MODULE_BACKWARD_SELF] = {.key = "backward_self_ns", .unit = "ns"},
    [SS_MODULE_MEAN] = {.key = "mean_ns", .unit = "ns"},
    [SS_MODULE_MIN] = {.key = "min_ns", .unit = "ns"},
    [SS_MODULE_P50] = {.key = "p50_ns", .unit = "ns"},
    [SS_MODULE_P95] = {.key = "p95_ns", .unit = "ns"},
    [SS_MODULE_MAX] = {.key = "max_ns", .unit = "ns"},
    [SS_MODULE_STEP_PERCENT] = {.key = "step_percent", .unit = "percent"},
    [SS_MODULE_STEP_CALLS] = {.key = "step_calls", .unit = "calls", .comparison = SS_COMPARES_STEP},
    [SS_MODULE_STEP_TOTAL] = {.key = "step_total_ns",
                              .unit = "ns",
                              .comparison = SS_COMPARES_STEP,
                              .leads = true,
                              .error_key = "step_total_pm_ns"},
    [SS_MODULE_STEP_BACKWARD] = {.key = "step_backward_ns",
                                 .unit = "ns",
                                 .comparison = SS_COMPARES_STEP},
    [SS_MODULE_STEP_TOTAL_PM] = {.key = "step_total_pm_ns", .unit = "ns", .not_in_csv = true},
};

/* The modules of a recording. */
struct modules {
    struct ss_calls calls;
    struct ss_backward_times *backward; /* by row */
    bool has_backward;
    struct ss_steady_time steady, recorded; /* all steady-state steps; those with recorded
                                             * operators */
};

static double step_percent(const struct modules *modules, size_t at)
{
    return ss_call_percent(modules->calls.rows.data[at].steady.total_ns, modules->steady.total_ns) +
           ss_call_percent(modules->backward[at].steady_ns, modules->recorded.total_ns);
}

/* A damaged recording may yield any number. */
static uint64_t percent_sort_value(double percent)
{
    return percent < 1e6 ? (uint64_t)(percent * 1e12) : UINT64_MAX;
}

static uint64_t sort_value(const struct modules *modules, size_t at, enum ss_operator_sort sort)
{
    const struct ss_call_row *row = &modules->calls.rows.data[at];
    const struct ss_backward_times *backward = &modules->backward[at];
    const uint64_t *durations = modules->calls.durations + row->first;
    size_t count = row->all.calls;
    switch (sort) {
    case SS_OPERATORS_BY_SELF:
        return row->all.self_ns + backward->self_all_ns;
    case SS_OPERATORS_BY_TOTAL:
        return row->all.total_ns + backward->all_ns;
    case SS_OPERATORS_BY_MEAN:
        return row->all.total_ns / count;
    case SS_OPERATORS_BY_CALLS:
        return count;
    case SS_OPERATORS_BY_MIN:
        return durations[0];
    case SS_OPERATORS_BY_P50:
        return ss_percentile_u64(durations, count, 50);
    case SS_OPERATORS_BY_P95:
        return ss_percentile_u64(durations, count, 95);
    case SS_OPERATORS_BY_MAX:
        return durations[count - 1];
    case SS_OPERATORS_BY_STEP:
        return percent_sort_value(step_percent(modules, at));
    case SS_OPERATORS_BY_BACKWARD:
        return backward->all_ns;
    case SS_OPERATORS_BY_CPU_BYTES:
    case SS_OPERATORS_BY_DEVICE_BYTES:
    case SS_OPERATORS_BY_FLOPS:
    case SS_OPERATORS_BY_NAME:
        break;
    }
    return 0;
}

static void fill_backward(const struct modules *modules, size_t at, struct ss_cell *cells)
{
    if (modules->has_backward) {
        cells[SS_MODULE_BACKWARD] = ss_call_time_cell(modules->backward[at].all_ns);
        cells[SS_MODULE_BACKWARD_SELF] = ss_call_time_cell(modules->backward[at].self_all_ns);
    }
}

/* Forward covers all steady-state steps, backward those whose operators were recorded. */
static void fill_steps(const struct modules *modules, size_t at, struct ss_cell *cells)
{
    const struct ss_call_times *times = &modules->calls.rows.data[at].steady;
    uint64_t steps = modules->steady.steps, recorded = modules->recorded.steps;
    if (steps == 0) {
        return;
    }
    cells[SS_MODULE_STEP_PERCENT] = ss_cell_real(step_percent(modules, at));
    cells[SS_MODULE_STEP_CALLS] = ss_cell_real((double)times->calls / (double)steps);
    cells[SS_MODULE_STEP_TOTAL] = ss_call_time_cell(times->total_ns / steps);
    if (modules->has_backward && recorded > 0) {
        cells[SS_MODULE_STEP_BACKWARD] =
            ss_call_time_cell(modules->backward[at].steady_ns / recorded);
    }
}

static void fill_row(const struct ss_model *model, const struct modules *modules, size_t at,
                     unsigned grouping, struct ss_cell *cells)
{
    const struct ss_call_row *row = &modules->calls.rows.data[at];
    ss_call_identity_cells(model, row, grouping, &cells[SS_MODULE_NAME], &cells[SS_MODULE_PHASE],
                           &cells[SS_MODULE_PID]);
    cells[SS_MODULE_CALLS] = ss_cell_integer((int64_t)row->all.calls);
    cells[SS_MODULE_SELF] = ss_call_time_cell(row->all.self_ns);
    cells[SS_MODULE_TOTAL] = ss_call_time_cell(row->all.total_ns);
    fill_backward(modules, at, cells);
    cells[SS_MODULE_MEAN] = ss_call_time_cell(row->all.total_ns / row->all.calls);
    ss_call_duration_cells(modules->calls.durations + row->first, row->all.calls,
                           &cells[SS_MODULE_MIN]);
}

static struct ss_call_order *order_rows(const struct ss_model *model, const struct modules *modules,
                                        enum ss_operator_sort sort)
{
    struct ss_call_order *order = ss_call_order_new(&modules->calls);
    for (size_t i = 0; i < modules->calls.rows.count; i++) {
        uint32_t name = modules->calls.rows.data[i].name;
        order[i].value = sort_value(modules, i, sort);
        order[i].other = sort_value(modules, i, SS_OPERATORS_BY_TOTAL);
        order[i].name =
            sort == SS_OPERATORS_BY_NAME ? ss_model_text(model, model->names.data[name].text) : "";
    }
    ss_call_order_sort(order, modules->calls.rows.count);
    return order;
}

/* Only with has_errors. */
static void fill_errors(const struct ss_selection *selection,
                        const struct ss_step_summary *training,
                        const struct ss_operators_options *options, const struct modules *modules,
                        const struct ss_call_order *order, struct ss_table *table)
{
    static const struct ss_call_errors_options of_total = {.domain = ss_domain_torch_module,
                                                           .of_total = true};
    struct ss_step_series series;
    if (!options->has_errors) {
        return;
    }
    ss_step_series_init(&series, training, false);
    double *errors = ss_call_errors_new(selection, &modules->calls, &series, &of_total);
    for (size_t i = 0; i < table->row_count; i++) {
        table->cells.data[i * table->column_count + SS_MODULE_STEP_TOTAL_PM] =
            ss_error_cell(errors[order[i].row]);
    }
    ss_free(errors);
    ss_step_series_fini(&series);
}

static void modules_fini(struct modules *modules)
{
    ss_free(modules->backward);
    ss_calls_fini(&modules->calls);
    ss_steady_time_fini(&modules->steady);
    ss_steady_time_fini(&modules->recorded);
}

void ss_modules_table(const struct ss_selection *selection, const struct ss_step_summary *training,
                      const struct ss_operators_options *options, struct ss_table *table)
{
    struct ss_calls_options call_options = {.domain = ss_domain_torch_module,
                                            .grouping = options->grouping,
                                            .phases =
                                                training != NULL ? &training->index.phases : NULL};
    struct modules modules = {0};
    *table = (struct ss_table){.name = "module",
                               .title = "Modules",
                               .is_of_program = true,
                               .empty_text = "no modules: no PyTorch module ran, or they were not "
                                             "recorded (stepscope info)",
                               .columns = columns,
                               .column_count = SS_MODULE_COLUMNS};
    ss_steady_time_init(&modules.steady, training, SS_STEADY_OF_ALL);
    ss_steady_time_init(&modules.recorded, training, SS_STEADY_OF_OPERATORS);
    ss_calls_init(&modules.calls, selection, &modules.steady, &call_options);
    modules.backward = ss_alloc_zero(modules.calls.rows.count + 1, sizeof *modules.backward);
    modules.has_backward = ss_module_backward_find(
        selection, training->index.runs.spans, &modules.recorded, &modules.calls, modules.backward);
    ss_call_put_steps(selection->model, modules.has_backward ? &modules.recorded : &modules.steady,
                      &modules.calls, table);
    struct ss_call_order *order = order_rows(selection->model, &modules, options->sort);
    for (size_t i = 0; i < modules.calls.rows.count; i++) {
        if (options->max_rows != 0 && i >= options->max_rows) {
            table->hidden_rows = modules.calls.rows.count - i;
            break;
        }
        struct ss_cell *cells = ss_table_add_row(table);
        fill_row(selection->model, &modules, order[i].row, options->grouping, cells);
        fill_steps(&modules, order[i].row, cells);
    }
    fill_errors(selection, training, options, &modules, order, table);
    ss_call_add_steps_note("backward was", table);
    ss_free(order);
    modules_fini(&modules);
}
