/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/operators.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/call_details.h"
#include "analysis/call_errors.h"
#include "analysis/call_rows.h"
#include "analysis/distribution.h"
#include "analysis/ranges.h"
#include "base/alloc.h"
#include "base/shared_names.h"

static const char no_operators[] =
    "no operators: no PyTorch operator ran, or they were not recorded (stepscope info)";

static const struct ss_column columns[SS_OPERATOR_COLUMNS] = {
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
};

static const struct ss_column key_columns[SS_KEY_COLUMNS] = {
    [SS_KEY_NAME] = {.key = "name"},
    [SS_KEY_SELF_PERCENT] = {.key = "self_cpu_percent", .unit = "percent"},
    [SS_KEY_SELF] = {.key = "self_cpu_time_total", .unit = "us"},
    [SS_KEY_TOTAL_PERCENT] = {.key = "cpu_percent", .unit = "percent"},
    [SS_KEY_TOTAL] = {.key = "cpu_time_total", .unit = "us"},
    [SS_KEY_MEAN] = {.key = "cpu_time", .unit = "us"},
    [SS_KEY_COUNT] = {.key = "count", .unit = "calls"},
    [SS_KEY_CPU_BYTES] = {.key = "cpu_memory_usage", .unit = "bytes"},
    [SS_KEY_SELF_CPU_BYTES] = {.key = "self_cpu_memory_usage", .unit = "bytes"},
    [SS_KEY_DEVICE_BYTES] = {.key = "device_memory_usage", .unit = "bytes"},
    [SS_KEY_SELF_DEVICE_BYTES] = {.key = "self_device_memory_usage", .unit = "bytes"},
    [SS_KEY_SHAPES] = {.key = "input_shapes"},
    [SS_KEY_FLOPS] = {.key = "flops"},
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

/* Preserves the order of signed values: more bytes freed than allocated sort last. */
static uint64_t signed_sort_value(int64_t value)
{
    return (uint64_t)value + (UINT64_C(1) << 63);
}

/* `detail`: NULL where there is none. */
static uint64_t sort_value(const struct ss_calls *calls, const struct ss_call_row *row,
                           const struct ss_call_detail *detail, enum ss_operator_sort sort)
{
    const uint64_t *durations = calls->durations + row->first;
    size_t count = row->all.calls;
    switch (sort) {
    case SS_OPERATORS_BY_SELF:
        return row->all.self_ns;
    case SS_OPERATORS_BY_TOTAL:
        return row->all.total_ns;
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
        return row->steady.self_ns;
    case SS_OPERATORS_BY_BACKWARD:
        return row->all.backward_ns;
    case SS_OPERATORS_BY_CPU_BYTES:
        return detail != NULL ? signed_sort_value(detail->self_cpu_bytes) : 0;
    case SS_OPERATORS_BY_DEVICE_BYTES:
        return detail != NULL ? signed_sort_value(detail->self_device_bytes) : 0;
    case SS_OPERATORS_BY_FLOPS:
        return detail != NULL ? signed_sort_value(detail->flops) : 0;
    case SS_OPERATORS_BY_NAME:
        break;
    }
    return 0;
}

/* `details`: by row; NULL where there are none. */
static struct ss_call_order *order_rows(const struct ss_model *model, const struct ss_calls *calls,
                                        const struct ss_call_detail *details,
                                        enum ss_operator_sort sort)
{
    struct ss_call_order *order = ss_call_order_new(calls);
    for (size_t i = 0; i < calls->rows.count; i++) {
        const struct ss_call_row *row = &calls->rows.data[i];
        order[i].value = sort_value(calls, row, details != NULL ? &details[i] : NULL, sort);
        order[i].other = row->all.self_ns;
        order[i].name = sort == SS_OPERATORS_BY_NAME
                            ? ss_model_text(model, model->names.data[row->name].text)
                            : "";
    }
    ss_call_order_sort(order, calls->rows.count);
    return order;
}

/* --- the table ------------------------------------------------------------------------------ */

static const char *const kinds[] = {[SS_CALL_FORWARD] = "operator",
                                    [SS_CALL_BACKWARD] = ss_phase_backward,
                                    [SS_CALL_SCOPE] = "scope"};

static void fill_row(const struct ss_model *model, const struct ss_calls *calls,
                     const struct ss_steady_time *steady, unsigned grouping,
                     const struct ss_call_row *row, struct ss_cell *cells)
{
    const uint64_t *durations = calls->durations + row->first;
    cells[SS_OPERATOR_KIND] = ss_cell_text(ss_strview_of(kinds[row->kind]));
    ss_call_identity_cells(model, row, grouping, &cells[SS_OPERATOR_NAME],
                           &cells[SS_OPERATOR_PHASE], &cells[SS_OPERATOR_PID]);
    cells[SS_OPERATOR_CALLS] = ss_cell_integer((int64_t)row->all.calls);
    cells[SS_OPERATOR_SELF_PERCENT] =
        ss_cell_real(ss_call_percent(row->all.self_ns, calls->self_ns));
    cells[SS_OPERATOR_SELF] = ss_call_time_cell(row->all.self_ns);
    cells[SS_OPERATOR_BACKWARD] = ss_call_time_cell(row->all.backward_ns);
    if (row->all.backward_ns > 0) {
        cells[SS_OPERATOR_BACKWARD_PERCENT] =
            ss_cell_real(100 * (double)row->all.backward_ns / (double)row->all.self_ns);
    }
    cells[SS_OPERATOR_TOTAL] = ss_call_time_cell(row->all.total_ns);
    cells[SS_OPERATOR_MEAN] = ss_call_time_cell(row->all.total_ns / row->all.calls);
    ss_call_duration_cells(durations, row->all.calls, &cells[SS_OPERATOR_MIN]);
    if (steady->steps == 0) {
        return;
    }
    cells[SS_OPERATOR_STEP_PERCENT] =
        ss_cell_real(ss_call_percent(row->steady.self_ns, steady->total_ns));
    cells[SS_OPERATOR_STEP_CALLS] = ss_cell_real((double)row->steady.calls / (double)steady->steps);
    cells[SS_OPERATOR_STEP_SELF] = ss_call_time_cell(row->steady.self_ns / steady->steps);
    cells[SS_OPERATOR_STEP_TOTAL] = ss_call_time_cell(row->steady.total_ns / steady->steps);
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
    ss_step_series_init(&series, training, true);
    double *errors = ss_call_errors_new(selection, calls, &series, &of_self);
    ss_step_series_fini(&series);
    return errors;
}

void ss_operators_table(const struct ss_selection *selection,
                        const struct ss_step_summary *training,
                        const struct ss_operators_options *options, struct ss_table *table)
{
    struct ss_calls_options call_options = {.domain = ss_domain_torch,
                                            .grouping = options->grouping,
                                            .joins_same = true,
                                            .phases =
                                                training != NULL ? &training->index.phases : NULL};
    struct ss_calls calls;
    *table = (struct ss_table){.name = "op",
                               .title = "Operators",
                               .is_of_program = true,
                               .empty_text = no_operators,
                               .columns = columns,
                               .column_count = SS_OPERATOR_COLUMNS};
    struct ss_steady_time steady;
    ss_steady_time_init(&steady, training, SS_STEADY_OF_OPERATORS);
    ss_calls_init(&calls, selection, &steady, &call_options);
    ss_call_put_steps(selection->model, &steady, &calls, table);
    struct ss_call_order *order = order_rows(selection->model, &calls, NULL, options->sort);
    double *errors = find_errors(selection, training, &calls, options);
    for (size_t i = 0; i < calls.rows.count; i++) {
        if (options->max_rows != 0 && i >= options->max_rows) {
            table->hidden_rows = calls.rows.count - i;
            break;
        }
        struct ss_cell *cells = ss_table_add_row(table);
        fill_row(selection->model, &calls, &steady, options->grouping,
                 &calls.rows.data[order[i].row], cells);
        if (errors != NULL) {
            cells[SS_OPERATOR_STEP_SELF_PM] = ss_error_cell(errors[order[i].row]);
        }
    }
    ss_free(errors);
    ss_call_add_steps_note("operators were", table);
    ss_free(order);
    ss_calls_fini(&calls);
    ss_steady_time_fini(&steady);
}

static struct ss_cell microseconds(uint64_t ns)
{
    return ss_cell_real((double)ns / 1000);
}

static void fill_details(const struct ss_call_details *details, const struct ss_call_row *row,
                         const struct ss_call_detail *sum, struct ss_table *table,
                         struct ss_cell *cells)
{
    if (details->has_cpu) {
        cells[SS_KEY_CPU_BYTES] = ss_cell_integer(sum->cpu_bytes);
        cells[SS_KEY_SELF_CPU_BYTES] = ss_cell_integer(sum->self_cpu_bytes);
    }
    if (details->has_device) {
        cells[SS_KEY_DEVICE_BYTES] = ss_cell_integer(sum->device_bytes);
        cells[SS_KEY_SELF_DEVICE_BYTES] = ss_cell_integer(sum->self_device_bytes);
    }
    if (details->has_flops) {
        cells[SS_KEY_FLOPS] = ss_cell_integer(sum->flops);
    }
    if (row->apart != 0) {
        struct ss_strview shapes = ss_intern_get(&details->shapes, row->apart);
        const char *copy = ss_arena_strndup(&table->texts, shapes.data, shapes.length);
        cells[SS_KEY_SHAPES] = ss_cell_text((struct ss_strview){copy, shapes.length});
    }
}

static void fill_key_row(const struct ss_model *model, const struct ss_calls *calls,
                         const struct ss_call_row *row, struct ss_cell *cells)
{
    uint32_t text = model->names.data[row->name].text;
    cells[SS_KEY_NAME] = ss_cell_text(ss_intern_get(&model->strings, text));
    cells[SS_KEY_SELF_PERCENT] = ss_cell_real(ss_call_percent(row->all.self_ns, calls->self_ns));
    cells[SS_KEY_SELF] = microseconds(row->all.self_ns);
    cells[SS_KEY_TOTAL_PERCENT] = ss_cell_real(ss_call_percent(row->all.total_ns, calls->self_ns));
    cells[SS_KEY_TOTAL] = microseconds(row->all.total_ns);
    cells[SS_KEY_MEAN] = ss_cell_real((double)row->all.total_ns / 1000 / (double)row->all.calls);
    cells[SS_KEY_COUNT] = ss_cell_integer((int64_t)row->all.calls);
}

static void add_key_rows(const struct ss_selection *selection, const struct ss_calls *calls,
                         const struct ss_call_details *details,
                         const struct ss_operators_options *options, struct ss_table *table)
{
    struct ss_call_order *order = order_rows(selection->model, calls, details->rows, options->sort);
    for (size_t i = 0; i < calls->rows.count; i++) {
        const struct ss_call_row *row = &calls->rows.data[order[i].row];
        if (options->max_rows != 0 && i >= options->max_rows) {
            table->hidden_rows = calls->rows.count - i;
            break;
        }
        struct ss_cell *cells = ss_table_add_row(table);
        fill_key_row(selection->model, calls, row, cells);
        if (details->has_any) {
            fill_details(details, row, &details->rows[order[i].row], table, cells);
        }
    }
    ss_free(order);
}

void ss_key_averages_table(const struct ss_selection *selection,
                           const struct ss_step_summary *training,
                           const struct ss_operators_options *options, struct ss_table *table)
{
    struct ss_call_details details;
    struct ss_steady_time steady;
    struct ss_calls calls;
    ss_call_details_init(&details, selection);
    bool by_shapes = (options->grouping & SS_CALLS_BY_SHAPES) != 0 && details.has_shapes;
    struct ss_calls_options call_options = {.domain = details.has_any ? ss_domain_torch_profiler
                                                                      : ss_domain_torch,
                                            .apart = by_shapes ? details.shapes_of : NULL,
                                            .joins_same = true};
    *table = (struct ss_table){.name = "key-averages",
                               .title = "Operators",
                               .is_of_program = true,
                               .empty_text = no_operators,
                               .columns = key_columns,
                               .column_count = details.has_any ? SS_KEY_COLUMNS : SS_KEY_COUNT + 1};
    ss_steady_time_init(&steady, training, SS_STEADY_OF_OPERATORS);
    ss_calls_init(&calls, selection, &steady, &call_options);
    ss_call_details_sum(&details, selection, &calls);
    ss_call_put_steps(selection->model, &steady, &calls, table);
    add_key_rows(selection, &calls, &details, options, table);
    if (!details.has_any) { /* else from torch.profiler's own windows */
        ss_call_add_steps_note("operators were", table);
    }
    ss_calls_fini(&calls);
    ss_steady_time_fini(&steady);
    ss_call_details_fini(&details);
}
