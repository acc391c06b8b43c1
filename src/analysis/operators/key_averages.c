/* SPDX-License-Identifier: Apache-2.0 */
/* The table of operators as torch.profiler's key_averages has it. As there, the work of devices has
 * rows of its own beside the operators that launched it. */
#include <stdlib.h>

#include "analysis/operators/call_rows.h"
#include "analysis/operators/operators_inside.h"
#include "base/alloc.h"
#include "base/shared_names.h"

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
    [SS_KEY_DEVICE_TYPE] = {.key = "device_type"},
    [SS_KEY_SELF_DEVICE] = {.key = "self_device_time_total", .unit = "us"},
    [SS_KEY_SELF_DEVICE_PERCENT] = {.key = "self_device_percent", .unit = "percent"},
    [SS_KEY_DEVICE_TOTAL] = {.key = "device_time_total", .unit = "us"},
    [SS_KEY_DEVICE_MEAN] = {.key = "device_time", .unit = "us"},
};

/* Work of devices of one name. */
struct work_row {
    uint32_t text; /* string of the model */
    uint64_t count, ns;
};

struct averages {
    const struct ss_model *model;
    struct ss_call_details details;
    struct ss_steady_time steady;
    struct ss_calls calls;
    struct ss_launch_places places;
    struct ss_call_works works; /* that the calls launched */
    struct ss_vec_of(struct work_row) names;
};

/* --- work of devices by name ------------------------------------------------------------------ */

static void name_works(struct averages *averages)
{
    const struct ss_model *model = averages->model;
    struct ss_vec_of(uint32_t) row_of = {0}; /* by string, plus one */
    ss_vec_resize(&row_of, model->strings.count + 1);
    for (size_t i = 0; i < averages->places.rows.count; i++) {
        const struct ss_launch_place *place = &averages->places.rows.data[i];
        const struct ss_device_work *work = &averages->places.works->works.data[place->work];
        uint32_t text = model->names.data[work->name].text;
        if (row_of.data[text] == 0) {
            ss_vec_push(&averages->names, (struct work_row){.text = text});
            row_of.data[text] = (uint32_t)averages->names.count;
        }
        struct work_row *row = &averages->names.data[row_of.data[text] - 1];
        row->count++;
        row->ns += place->ns;
    }
    ss_vec_fini(&row_of);
}

static uint64_t sort_value_of_work(const struct work_row *row, enum ss_operator_sort sort)
{
    switch (sort) {
    case SS_OPERATORS_BY_CALLS:
        return row->count;
    case SS_OPERATORS_BY_DEVICE_SELF:
    case SS_OPERATORS_BY_DEVICE_TOTAL:
        return row->ns;
    case SS_OPERATORS_BY_DEVICE_MEAN:
        return row->ns / row->count;
    case SS_OPERATORS_BY_CPU_BYTES:
    case SS_OPERATORS_BY_DEVICE_BYTES:
    case SS_OPERATORS_BY_FLOPS:
        return ss_signed_sort_value(0);
    default:
        return 0;
    }
}

/* --- rows ---------------------------------------------------------------------------------------
 */

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

static void fill_key_row(const struct averages *averages, const struct ss_call_row *row,
                         struct ss_cell *cells)
{
    const struct ss_model *model = averages->model;
    uint64_t all_ns = averages->calls.self_ns;
    uint32_t text = model->names.data[row->name].text;
    cells[SS_KEY_NAME] = ss_cell_text(ss_intern_get(&model->strings, text));
    cells[SS_KEY_SELF_PERCENT] = ss_cell_real(ss_call_percent(row->all.self_ns, all_ns));
    cells[SS_KEY_SELF] = microseconds(row->all.self_ns);
    cells[SS_KEY_TOTAL_PERCENT] = ss_cell_real(ss_call_percent(row->all.total_ns, all_ns));
    cells[SS_KEY_TOTAL] = microseconds(row->all.total_ns);
    cells[SS_KEY_MEAN] = ss_cell_real((double)row->all.total_ns / 1000 / (double)row->all.calls);
    cells[SS_KEY_COUNT] = ss_cell_integer((int64_t)row->all.calls);
}

static void fill_device(const struct averages *averages, const char *type, uint64_t self_ns,
                        uint64_t total_ns, uint64_t count, struct ss_cell *cells)
{
    cells[SS_KEY_DEVICE_TYPE] = ss_cell_text(ss_strview_of(type));
    cells[SS_KEY_SELF_DEVICE] = microseconds(self_ns);
    cells[SS_KEY_SELF_DEVICE_PERCENT] =
        ss_cell_real(ss_call_percent(self_ns, averages->places.all.ns));
    cells[SS_KEY_DEVICE_TOTAL] = microseconds(total_ns);
    cells[SS_KEY_DEVICE_MEAN] = ss_cell_real((double)total_ns / 1000 / (double)count);
}

static void fill_work_row(const struct averages *averages, const struct work_row *row,
                          struct ss_cell *cells)
{
    cells[SS_KEY_NAME] = ss_cell_text(ss_intern_get(&averages->model->strings, row->text));
    for (size_t i = SS_KEY_SELF_PERCENT; i <= SS_KEY_MEAN; i++) {
        cells[i] = ss_cell_real(0);
    }
    cells[SS_KEY_COUNT] = ss_cell_integer((int64_t)row->count);
    fill_device(averages, "CUDA", row->ns, row->ns, row->count, cells);
}

/* The rows of the calls, then those of the names of works. */
static struct ss_call_order *order_rows(const struct averages *averages, enum ss_operator_sort sort)
{
    const struct ss_model *model = averages->model;
    size_t calls = averages->calls.rows.count, count = calls + averages->names.count;
    struct ss_call_order *order = ss_alloc_zero(count + 1, sizeof *order);
    for (size_t i = 0; i < count; i++) {
        uint32_t text;
        order[i] = (struct ss_call_order){.row = i, .name = ""};
        if (i < calls) {
            const struct ss_call_row *row = &averages->calls.rows.data[i];
            order[i].value = ss_operator_sort_value(
                &averages->calls, row, &averages->details.rows[i], &averages->works.rows[i], sort);
            order[i].other = row->all.self_ns;
            text = model->names.data[row->name].text;
        } else {
            const struct work_row *row = &averages->names.data[i - calls];
            order[i].value = sort_value_of_work(row, sort);
            text = row->text;
        }
        order[i].name = sort == SS_OPERATORS_BY_NAME ? ss_model_text(model, text) : "";
    }
    ss_call_order_sort(order, count);
    return order;
}

static void fill_row(const struct averages *averages, size_t at, struct ss_table *table)
{
    struct ss_cell *cells = ss_table_add_row(table);
    size_t calls = averages->calls.rows.count;
    if (at >= calls) {
        fill_work_row(averages, &averages->names.data[at - calls], cells);
        return;
    }
    const struct ss_call_row *row = &averages->calls.rows.data[at];
    const struct ss_call_work *work = &averages->works.rows[at];
    fill_key_row(averages, row, cells);
    if (averages->details.has_any) {
        fill_details(&averages->details, row, &averages->details.rows[at], table, cells);
    }
    if (averages->names.count > 0) {
        fill_device(averages, "CPU", work->self_ns, work->total_ns, row->all.calls, cells);
    }
}

static void add_rows(const struct averages *averages, const struct ss_operators_options *options,
                     struct ss_table *table)
{
    size_t count = averages->calls.rows.count + averages->names.count;
    struct ss_call_order *order = order_rows(averages, options->sort);
    for (size_t i = 0; i < count; i++) {
        if (options->max_rows != 0 && i >= options->max_rows) {
            table->hidden_rows = count - i;
            break;
        }
        fill_row(averages, order[i].row, table);
    }
    ss_free(order);
}

/* --- the table -------------------------------------------------------------------------------- */

static void averages_init(struct averages *averages, const struct ss_selection *selection,
                          const struct ss_step_summary *training, unsigned grouping)
{
    *averages = (struct averages){.model = selection->model};
    struct ss_call_details *details = &averages->details;
    ss_call_details_init(details, selection);
    bool by_shapes = (grouping & SS_CALLS_BY_SHAPES) != 0 && details->has_shapes;
    struct ss_calls_options call_options = {.domain = details->has_any ? ss_domain_torch_profiler
                                                                       : ss_domain_torch,
                                            .apart = by_shapes ? details->shapes_of : NULL,
                                            .joins_same = true};
    ss_steady_time_init(&averages->steady, training, SS_STEADY_OF_OPERATORS);
    ss_calls_init(&averages->calls, selection, &averages->steady, &call_options);
    ss_call_details_sum(details, selection, &averages->calls);
    ss_launch_places_init(&averages->places, selection,
                          &(struct ss_launch_places_options){.domain = call_options.domain});
    ss_operator_works_init(&averages->works, &averages->places, &averages->calls);
    if (averages->calls.rows.count > 0) {
        name_works(averages);
    }
}

static void averages_fini(struct averages *averages)
{
    ss_vec_fini(&averages->names);
    ss_call_works_fini(&averages->works);
    ss_launch_places_fini(&averages->places);
    ss_calls_fini(&averages->calls);
    ss_steady_time_fini(&averages->steady);
    ss_call_details_fini(&averages->details);
}

void ss_key_averages_table(const struct ss_selection *selection,
                           const struct ss_step_summary *training,
                           const struct ss_operators_options *options, struct ss_table *table)
{
    struct averages averages;
    averages_init(&averages, selection, training, options->grouping);
    bool has_any = averages.details.has_any, has_works = averages.names.count > 0;
    *table = (struct ss_table){.name = "key-averages",
                               .title = "Operators",
                               .is_of_program = true,
                               .empty_text = ss_no_operators,
                               .columns = key_columns,
                               .column_count = has_works ? SS_KEY_COLUMNS
                                               : has_any ? SS_KEY_FLOPS + 1
                                                         : SS_KEY_COUNT + 1,
                               .device_ns = has_works ? averages.places.all.ns : 0};
    ss_call_put_steps(selection->model, &averages.steady, &averages.calls, table);
    add_rows(&averages, options, table);
    if (!has_any) { /* else from torch.profiler's own windows */
        ss_call_add_steps_note("operators were", table);
    }
    averages_fini(&averages);
}
