/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/operators/modules.h"

#include "analysis/operators/call_errors.h"
#include "analysis/operators/call_rows.h"
#include "analysis/operators/call_works.h"
#include "analysis/operators/module_backward.h"
#include "analysis/table/distribution.h"
#include "base/alloc.h"
#include "base/shared_names.h"

static const struct ss_column columns[SS_MODULE_DEVICE_COLUMNS] = {
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
    [SS_MODULE_DEVICE_PERCENT] = {.key = "device_percent", .unit = "percent"},
    [SS_MODULE_DEVICE] = {.key = "device_ns", .unit = "ns", .comparison = SS_COMPARES_RUN_SUM},
    [SS_MODULE_DEVICE_SELF] = {.key = "device_self_ns", .unit = "ns"},
    [SS_MODULE_DEVICE_BACKWARD] = {.key = "device_backward_ns",
                                   .unit = "ns",
                                   .comparison = SS_COMPARES_RUN_SUM},
    [SS_MODULE_DEVICE_BACKWARD_SELF] = {.key = "device_backward_self_ns", .unit = "ns"},
    [SS_MODULE_STEP_DEVICE] = {.key = "step_device_ns",
                               .unit = "ns",
                               .comparison = SS_COMPARES_STEP},
    [SS_MODULE_STEP_DEVICE_BACKWARD] = {.key = "step_device_backward_ns",
                                        .unit = "ns",
                                        .comparison = SS_COMPARES_STEP},
};

/* The modules of a recording. */
struct modules {
    struct ss_calls calls;
    struct ss_backward_times *backward; /* by row */
    bool has_backward;
    struct ss_steady_time steady, recorded; /* the steps whose modules count; those with recorded
                                             * operators */
    struct ss_launch_places places;
    struct ss_call_works forward_works, backward_works; /* of devices */
};

static double step_percent(const struct modules *modules, size_t at)
{
    const struct ss_call_row *row = &modules->calls.rows.data[at];
    return ss_call_percent(row->steady.total_ns + row->summed.total_ns,
                           modules->steady.total_ns + modules->calls.summed_steps_ns) +
           ss_call_percent(modules->backward[at].steady_ns, modules->recorded.total_ns);
}

/* A damaged recording may yield any number. */
static uint64_t percent_sort_value(double percent)
{
    return percent < 1e6 ? (uint64_t)(percent * 1e12) : UINT64_MAX;
}

/* Long: one case for each order. */
static uint64_t sort_value(const struct modules *modules, size_t at, enum ss_operator_sort sort)
{
    const struct ss_call_row *row = &modules->calls.rows.data[at];
    const struct ss_backward_times *backward = &modules->backward[at];
    const struct ss_call_work *forward = &modules->forward_works.rows[at];
    const struct ss_call_work *of_backward = &modules->backward_works.rows[at];
    const struct ss_call_times all = ss_call_times_of_all(row);
    switch (sort) {
    case SS_OPERATORS_BY_SELF:
        return all.self_ns + backward->self_all_ns;
    case SS_OPERATORS_BY_TOTAL:
        return all.total_ns + backward->all_ns;
    case SS_OPERATORS_BY_MEAN:
        return ss_call_mean(&all);
    case SS_OPERATORS_BY_CALLS:
        return all.calls;
    case SS_OPERATORS_BY_MIN:
    case SS_OPERATORS_BY_P50:
    case SS_OPERATORS_BY_P95:
    case SS_OPERATORS_BY_MAX:
        return ss_call_duration_value(&modules->calls, row, sort);
    case SS_OPERATORS_BY_STEP:
        return percent_sort_value(step_percent(modules, at));
    case SS_OPERATORS_BY_BACKWARD:
        return backward->all_ns;
    case SS_OPERATORS_BY_DEVICE_SELF:
        return forward->self_ns + of_backward->self_ns;
    case SS_OPERATORS_BY_DEVICE_TOTAL:
        return forward->total_ns + of_backward->total_ns;
    case SS_OPERATORS_BY_DEVICE_MEAN:
        return row->all.calls > 0 ? (forward->total_ns + of_backward->total_ns) / row->all.calls
                                  : 0;
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

/* Forward covers all steady-state steps, with the sums of those that are not in full; backward
 * those whose operators were recorded in full. */
static void fill_steps(const struct modules *modules, size_t at, struct ss_cell *cells)
{
    const struct ss_call_row *row = &modules->calls.rows.data[at];
    uint64_t steps = modules->steady.steps + modules->calls.summed_steps;
    uint64_t recorded = modules->recorded.steps;
    if (steps == 0) {
        return;
    }
    cells[SS_MODULE_STEP_PERCENT] = ss_cell_real(step_percent(modules, at));
    cells[SS_MODULE_STEP_CALLS] =
        ss_cell_real((double)(row->steady.calls + row->summed.calls) / (double)steps);
    cells[SS_MODULE_STEP_TOTAL] =
        ss_call_time_cell((row->steady.total_ns + row->summed.total_ns) / steps);
    if (modules->has_backward && recorded > 0) {
        cells[SS_MODULE_STEP_BACKWARD] =
            ss_call_time_cell(modules->backward[at].steady_ns / recorded);
    }
}

/* --- work of devices -------------------------------------------------------------------------- */

/* By place: the module in which the work was launched, and the module whose backward launched it.
 * A module that was called within a node, as checkpointing does, launched what it computes again.
 */
struct anchors {
    uint32_t *forward, *backward;
};

static void find_anchors(const struct ss_launch_places *places, struct anchors *anchors)
{
    const struct ss_model *model = places->selection->model;
    size_t count = places->rows.count;
    uint32_t *tracks = ss_tracks_of_domain(model, ss_domain_torch_module);
    uint32_t *at = ss_alloc((count + 1) * sizeof *at);
    anchors->forward = ss_alloc((count + 1) * sizeof *anchors->forward);
    anchors->backward = ss_alloc((count + 1) * sizeof *anchors->backward);
    for (size_t i = 0; i < count; i++) {
        at[i] = places->rows.data[i].call;
    }
    ss_ranges_around(places->finder, tracks, at, count, anchors->forward);
    for (size_t i = 0; i < count; i++) {
        at[i] = places->rows.data[i].forward;
    }
    ss_ranges_around(places->finder, tracks, at, count, anchors->backward);
    for (size_t i = 0; i < count; i++) {
        const struct ss_launch_place *place = &places->rows.data[i];
        uint32_t module = anchors->forward[i];
        bool name_printed =
            module != 0 && place->node != 0 &&
            model->ranges.data[module - 1].begin_ns >= model->ranges.data[place->node - 1].begin_ns;
        if (anchors->backward[i] != 0 && !name_printed) {
            anchors->forward[i] = SS_NO_ANCHOR;
        } else {
            anchors->backward[i] = SS_NO_ANCHOR;
        }
    }
    ss_free(tracks);
    ss_free(at);
}

static void sum_works(struct modules *modules, const struct ss_selection *selection,
                      const struct ss_step_summary *training)
{
    struct anchors anchors = {0};
    ss_launch_places_init(
        &modules->places, selection,
        &(struct ss_launch_places_options){.domain = ss_domain_torch, .training = training});
    if (modules->places.rows.count > 0) {
        find_anchors(&modules->places, &anchors);
    }
    ss_call_works_init(&modules->forward_works, &modules->places, anchors.forward, &modules->calls);
    ss_call_works_init(&modules->backward_works, &modules->places, anchors.backward,
                       &modules->calls);
    modules->forward_works.none.works += modules->backward_works.none.works;
    modules->forward_works.none.self_ns += modules->backward_works.none.self_ns;
    modules->forward_works.none.total_ns += modules->backward_works.none.total_ns;
    modules->forward_works.none.steady_total_ns += modules->backward_works.none.steady_total_ns;
    ss_free(anchors.forward);
    ss_free(anchors.backward);
}

static void fill_works(const struct modules *modules, const struct ss_call_work *forward,
                       const struct ss_call_work *backward, struct ss_cell *cells)
{
    const struct ss_launch_places *places = &modules->places;
    cells[SS_MODULE_DEVICE_PERCENT] =
        ss_cell_real(ss_call_percent(forward->total_ns + backward->total_ns, places->all.ns));
    cells[SS_MODULE_DEVICE] = ss_call_time_cell(forward->total_ns);
    cells[SS_MODULE_DEVICE_SELF] = ss_call_time_cell(forward->self_ns);
    cells[SS_MODULE_DEVICE_BACKWARD] = ss_call_time_cell(backward->total_ns);
    cells[SS_MODULE_DEVICE_BACKWARD_SELF] = ss_call_time_cell(backward->self_ns);
    if (places->steps > 0) {
        cells[SS_MODULE_STEP_DEVICE] = ss_call_time_cell(forward->steady_total_ns / places->steps);
        cells[SS_MODULE_STEP_DEVICE_BACKWARD] =
            ss_call_time_cell(backward->steady_total_ns / places->steps);
    }
}

/* So that the self times of the rows add up to all work. */
static void add_unattributed(const struct modules *modules, struct ss_table *table)
{
    static const struct ss_call_work nothing = {0};
    struct ss_unattributed rest[SS_UNATTRIBUTED_MOST];
    size_t count =
        ss_unattributed_work(&modules->places, &modules->forward_works, "(in no module)", rest);
    for (size_t i = 0; i < count; i++) {
        struct ss_cell *cells = ss_table_add_row(table);
        cells[SS_MODULE_NAME] = ss_cell_text(ss_strview_of(rest[i].name));
        fill_works(modules, &rest[i].work, &nothing, cells);
    }
}

/* --- rows ------------------------------------------------------------------------------------- */

static void fill_row(const struct ss_model *model, const struct modules *modules, size_t at,
                     unsigned grouping, struct ss_cell *cells)
{
    const struct ss_call_row *row = &modules->calls.rows.data[at];
    ss_call_identity_cells(model, row, grouping, &cells[SS_MODULE_NAME], &cells[SS_MODULE_PHASE],
                           &cells[SS_MODULE_PID]);
    const struct ss_call_times all = ss_call_times_of_all(row);
    cells[SS_MODULE_CALLS] = ss_cell_integer((int64_t)all.calls);
    cells[SS_MODULE_SELF] = ss_call_time_cell(all.self_ns);
    cells[SS_MODULE_TOTAL] = ss_call_time_cell(all.total_ns);
    fill_backward(modules, at, cells);
    cells[SS_MODULE_MEAN] = ss_call_time_cell(ss_call_mean(&all));
    ss_call_duration_cells(&modules->calls, row, &cells[SS_MODULE_MIN]);
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
    ss_step_series_init(&series, training, SS_STEADY_OF_MODULES);
    double *errors = ss_call_errors_new(selection, &modules->calls, &series, &of_total);
    for (size_t i = 0; i < table->row_count; i++) {
        table->cells.data[i * table->column_count + SS_MODULE_STEP_TOTAL_PM] =
            ss_error_cell(errors[order[i].row]);
    }
    ss_free(errors);
    ss_step_series_fini(&series);
}

static void modules_init(struct modules *modules, const struct ss_selection *selection,
                         const struct ss_step_summary *training, unsigned grouping)
{
    struct ss_calls_options call_options = {.domain = ss_domain_torch_module,
                                            .grouping = grouping,
                                            .phases =
                                                training != NULL ? &training->index.phases : NULL,
                                            .sums = ss_domain_torch_module_sums,
                                            .summed_steps = ss_mark_summed_steps};
    *modules = (struct modules){0};
    ss_steady_time_init(&modules->steady, training, SS_STEADY_OF_MODULES);
    ss_steady_time_init(&modules->recorded, training, SS_STEADY_OF_OPERATORS);
    ss_calls_init(&modules->calls, selection, &modules->steady, &call_options);
    ss_calls_measure(&modules->calls, selection->model);
    modules->backward = ss_alloc_zero(modules->calls.rows.count + 1, sizeof *modules->backward);
    modules->has_backward =
        ss_module_backward_find(selection, training->index.runs.spans, &modules->recorded,
                                &modules->calls, modules->backward);
    sum_works(modules, selection, training);
}

static void modules_fini(struct modules *modules)
{
    ss_call_works_fini(&modules->forward_works);
    ss_call_works_fini(&modules->backward_works);
    ss_launch_places_fini(&modules->places);
    ss_free(modules->backward);
    ss_calls_fini(&modules->calls);
    ss_steady_time_fini(&modules->steady);
    ss_steady_time_fini(&modules->recorded);
}

void ss_modules_table(const struct ss_selection *selection, const struct ss_step_summary *training,
                      const struct ss_operators_options *options, struct ss_table *table)
{
    struct modules modules;
    modules_init(&modules, selection, training, options->grouping);
    bool has_works = modules.places.rows.count > 0;
    size_t count = modules.calls.rows.count;
    *table =
        (struct ss_table){.name = "module",
                          .title = "Modules",
                          .is_of_program = true,
                          .empty_text = "no modules: no PyTorch module ran, or they were not "
                                        "recorded (stepscope info)",
                          .columns = columns,
                          .column_count = has_works ? SS_MODULE_DEVICE_COLUMNS : SS_MODULE_COLUMNS};
    ss_call_put_steps(selection->model, modules.has_backward ? &modules.recorded : &modules.steady,
                      &modules.calls, table);
    struct ss_call_order *order = order_rows(selection->model, &modules, options->sort);
    for (size_t i = 0; i < count; i++) {
        if (options->max_rows != 0 && i >= options->max_rows) {
            table->hidden_rows = count - i;
            break;
        }
        struct ss_cell *cells = ss_table_add_row(table);
        fill_row(selection->model, &modules, order[i].row, options->grouping, cells);
        fill_steps(&modules, order[i].row, cells);
        if (has_works) {
            fill_works(&modules, &modules.forward_works.rows[order[i].row],
                       &modules.backward_works.rows[order[i].row], cells);
        }
    }
    fill_errors(selection, training, options, &modules, order, table);
    if (has_works && count > 0 && !options->has_errors) {
        add_unattributed(&modules, table);
    }
    ss_call_add_steps_note("backward was", table);
    ss_free(order);
    modules_fini(&modules);
}
