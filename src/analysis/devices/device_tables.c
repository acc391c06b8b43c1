/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/devices/device_tables.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/kernels/kernel_names.h"
#include "analysis/steps/steady_time.h"
#include "analysis/steps/step_sums.h"
#include "analysis/table/duration_sums.h"
#include "analysis/table/owner_cells.h"
#include "base/alloc.h"

static const struct ss_column columns[SS_WORK_COPY_COLUMNS] = {
    [SS_WORK_NAME] = {.key = "name", .comparison = SS_COMPARES_KEY},
    [SS_WORK_BASE] = {.key = "base_name"},
    [SS_WORK_SHORT] = {.key = "short_name",
                       .is_for_people = true,
                       .not_in_csv = true,
                       .comparison = SS_COMPARES_LABEL},
    [SS_WORK_OPERATION] = {.key = "operation", .comparison = SS_COMPARES_KEY},
    [SS_WORK_DEVICE] = {.key = "device"},
    [SS_WORK_STREAM] = {.key = "stream"},
    [SS_WORK_PID] = {.key = "pid"},
    [SS_WORK_TID] = {.key = "tid"},
    [SS_WORK_PERCENT] = {.key = "time_percent", .unit = "percent"},
    [SS_WORK_TOTAL] = {.key = "total_ns",
                       .unit = "ns",
                       .comparison = SS_COMPARES_RUN_SUM,
                       .leads = true},
    [SS_WORK_INSTANCES] = {.key = "instances",
                           .unit = "instances",
                           .comparison = SS_COMPARES_RUN_SUM},
    [SS_WORK_MEAN] = {.key = "avg_ns", .unit = "ns"},
    [SS_WORK_MEDIAN] = {.key = "med_ns", .unit = "ns"},
    [SS_WORK_MIN] = {.key = "min_ns", .unit = "ns"},
    [SS_WORK_MAX] = {.key = "max_ns", .unit = "ns"},
    [SS_WORK_DEVIATION] = {.key = "stddev_ns", .unit = "ns"},
    [SS_WORK_STEP_PERCENT] = {.key = "step_percent", .unit = "percent"},
    [SS_WORK_STEP_INSTANCES] = {.key = "step_instances",
                                .unit = "instances",
                                .comparison = SS_COMPARES_STEP},
    [SS_WORK_STEP_TIME] = {.key = "step_ns",
                           .unit = "ns",
                           .comparison = SS_COMPARES_STEP,
                           .leads = true,
                           .error_key = "step_pm_ns"},
    [SS_WORK_STEP_TIME_PM] = {.key = "step_pm_ns", .unit = "ns", .not_in_csv = true},
    [SS_WORK_BYTES] = {.key = "total_bytes", .unit = "bytes", .comparison = SS_COMPARES_SUM},
    [SS_WORK_BYTES_MEAN] = {.key = "avg_bytes", .unit = "bytes"},
    [SS_WORK_BYTES_MEDIAN] = {.key = "med_bytes", .unit = "bytes"},
    [SS_WORK_BYTES_MIN] = {.key = "min_bytes", .unit = "bytes"},
    [SS_WORK_BYTES_MAX] = {.key = "max_bytes", .unit = "bytes"},
    [SS_WORK_BYTES_DEVIATION] = {.key = "stddev_bytes", .unit = "bytes"},
    [SS_WORK_BANDWIDTH] = {.key = "bandwidth_bytes_per_s", .unit = "bytes/s"},
    [SS_WORK_FROM] = {.key = "from"},
    [SS_WORK_TO] = {.key = "to"},
};

/* An instance: work of a device, or a call. */
struct instance {
    uint64_t begin_ns, end_ns;
    uint32_t range, name, process, thread, device, stream;
    uint8_t type, work_class;
};

struct row {
    uint32_t first; /* of its instances */
    struct ss_duration_sum times, sizes;
    uint64_t steady_ns, steady_count;
};

struct building {
    const struct ss_model *model;
    const struct ss_work_options *options;
    struct ss_vec_of(struct instance) instances;
    struct ss_intern keys;
    struct ss_vec_of(struct row) rows; /* by key - 1 */
    uint32_t *row_of;                  /* by instance */
    uint64_t total_ns;
};

/* --- instances -------------------------------------------------------------------------------- */

static void add_works(struct building *building, const struct ss_selection *selection)
{
    const struct ss_device_works *works = ss_selection_works(selection);
    for (size_t i = 0; i < works->works.count; i++) {
        const struct ss_device_work *work = &works->works.data[i];
        if ((building->options->types >> work->type & 1) != 0) {
            ss_vec_push(&building->instances, (struct instance){.begin_ns = work->begin_ns,
                                                                .end_ns = work->end_ns,
                                                                .range = work->range,
                                                                .name = work->name,
                                                                .process = work->process,
                                                                .device = work->device,
                                                                .stream = work->stream,
                                                                .type = work->type,
                                                                .work_class = work->work_class});
        }
    }
}

static int compare_instances(const void *left, const void *right)
{
    const struct instance *a = left, *b = right;
    if (a->process != b->process) {
        return a->process < b->process ? -1 : 1;
    }
    if (a->begin_ns != b->begin_ns) {
        return a->begin_ns < b->begin_ns ? -1 : 1;
    }
    return a->range < b->range ? -1 : a->range > b->range;
}

/* Calls of a device's runtime, and of RCCL, by the category of their names. */
static void add_calls(struct building *building, const struct ss_selection *selection)
{
    const struct ss_model *model = building->model;
    bool *is_call = ss_alloc_zero(model->names.count + 1, sizeof *is_call);
    for (size_t i = 1; i < model->names.count; i++) {
        const char *category = ss_model_text(model, model->names.data[i].category);
        is_call[i] = strcmp(category, "runtime") == 0 || strcmp(category, "rccl") == 0;
    }
    for (size_t i = 0; i < model->ranges.count; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        uint32_t thread = model->tracks.data[range->track].thread;
        uint32_t name = model->paths.data[range->path].name;
        if (is_call[name] && thread != 0 && selection->threads[thread] &&
            (range->flags & SS_RANGE_OUTSIDE) == 0) {
            ss_vec_push(&building->instances,
                        (struct instance){.begin_ns = range->begin_ns,
                                          .end_ns = range->end_ns,
                                          .range = (uint32_t)i,
                                          .name = name,
                                          .process = model->threads.data[thread].process,
                                          .thread = thread,
                                          .type = (uint8_t)model->names.data[name].type});
        }
    }
    if (building->instances.count > 1) {
        qsort(building->instances.data, building->instances.count, sizeof *building->instances.data,
              compare_instances);
    }
    ss_free(is_call);
}

/* --- rows ------------------------------------------------------------------------------------- */

static struct ss_strview name_of(const struct ss_model *model, uint32_t name)
{
    return ss_intern_get(&model->strings, model->names.data[name].text);
}

/* Names differ by category too, which rows do not. */
struct row_key {
    uint32_t name, device, stream, process, thread;
};

static uint32_t key_of(struct building *building, const struct instance *instance)
{
    const struct ss_model *model = building->model;
    unsigned grouping = building->options->grouping;
    struct row_key key = {.name = model->names.data[instance->name].text};
    if ((grouping & SS_WORK_BY_BASE) != 0) {
        struct ss_strview base = ss_kernel_base_name(name_of(model, instance->name));
        key.name = ss_intern_put(&building->keys, base.data, base.length);
    }
    key.device = (grouping & (SS_WORK_BY_DEVICE | SS_WORK_BY_STREAM)) != 0 ? instance->device : 0;
    key.stream = (grouping & SS_WORK_BY_STREAM) != 0 ? instance->stream : 0;
    key.process = (grouping & SS_WORK_BY_PROCESS) != 0 ? instance->process : 0;
    key.thread = (grouping & SS_WORK_BY_THREAD) != 0 ? instance->thread : 0;
    return ss_intern_put(&building->keys, (const char *)&key, sizeof key);
}

static void group_instances(struct building *building)
{
    struct ss_vec_of(uint32_t) row_of_key = {0};
    building->row_of = ss_alloc_zero(building->instances.count + 1, sizeof *building->row_of);
    for (size_t i = 0; i < building->instances.count; i++) {
        uint32_t key = key_of(building, &building->instances.data[i]);
        if (key >= row_of_key.count) {
            ss_vec_resize(&row_of_key, (size_t)key + 1);
        }
        if (row_of_key.data[key] == 0) {
            ss_vec_push(&building->rows, (struct row){.first = (uint32_t)i});
            row_of_key.data[key] = (uint32_t)building->rows.count;
        }
        building->row_of[i] = row_of_key.data[key] - 1;
    }
    ss_vec_fini(&row_of_key);
}

static void sum_times(struct building *building)
{
    size_t count = building->instances.count, rows = building->rows.count;
    uint64_t *values = ss_alloc((count + 1) * sizeof *values);
    struct ss_duration_sum *sums = ss_alloc_zero(rows + 1, sizeof *sums);
    for (size_t i = 0; i < count; i++) {
        values[i] = building->instances.data[i].end_ns - building->instances.data[i].begin_ns;
    }
    ss_duration_sums(building->row_of, values, count, sums, rows);
    for (size_t i = 0; i < rows; i++) {
        building->rows.data[i].times = sums[i];
        building->total_ns += sums[i].total_ns;
    }
    ss_free(values);
    ss_free(sums);
}

static void sum_sizes(struct building *building)
{
    size_t rows = building->rows.count, sized = 0;
    uint64_t *values = ss_alloc((building->instances.count + 1) * sizeof *values);
    uint32_t *row_of = ss_alloc((building->instances.count + 1) * sizeof *row_of);
    struct ss_duration_sum *sums = ss_alloc_zero(rows + 1, sizeof *sums);
    for (size_t i = 0; i < building->instances.count; i++) {
        int64_t bytes;
        if (ss_event_number(building->model,
                            &building->model->ranges.data[building->instances.data[i].range],
                            SS_EVENT_FIELD_bytes, &bytes) &&
            bytes >= 0) {
            row_of[sized] = building->row_of[i];
            values[sized++] = (uint64_t)bytes;
        }
    }
    ss_duration_sums(row_of, values, sized, sums, rows);
    for (size_t i = 0; i < rows; i++) {
        building->rows.data[i].sizes = sums[i];
    }
    ss_free(values);
    ss_free(row_of);
    ss_free(sums);
}

/* Instances are ordered by process, then device or begin: a cursor for each stretch. */
static void sum_steady(struct building *building, const struct ss_steady_time *steady)
{
    struct ss_steady_cursor cursor = {0};
    for (size_t i = 0; i < building->instances.count; i++) {
        const struct instance *instance = &building->instances.data[i];
        const struct instance *before = i > 0 ? &instance[-1] : NULL;
        if (before == NULL || before->process != instance->process ||
            before->begin_ns > instance->begin_ns) {
            ss_steady_cursor_init(&cursor, steady, instance->process);
        }
        bool is_in;
        struct row *row = &building->rows.data[building->row_of[i]];
        row->steady_ns += ss_steady_time_of(&cursor, instance->begin_ns, instance->end_ns, &is_in);
        row->steady_count += is_in;
    }
}

/* --- order ------------------------------------------------------------------------------------ */

struct order {
    uint32_t row;
    double key;
    struct ss_strview name;
};

static int compare_names(struct ss_strview a, struct ss_strview b)
{
    int order = memcmp(a.data, b.data, a.length < b.length ? a.length : b.length);
    return order != 0 ? order : (a.length > b.length) - (a.length < b.length);
}

static int compare_order(const void *left, const void *right)
{
    const struct order *a = left, *b = right;
    if (a->key != b->key) {
        return a->key > b->key ? -1 : 1;
    }
    int by_name = compare_names(a->name, b->name);
    return by_name != 0 ? by_name : (a->row > b->row) - (a->row < b->row);
}

static double key_to_sort(const struct row *row, enum ss_work_sort sort)
{
    const struct ss_duration_sum *times = &row->times;
    switch (sort) {
    case SS_WORK_BY_INSTANCES:
        return (double)times->count;
    case SS_WORK_BY_MEAN:
        return (double)times->total_ns / (double)times->count;
    case SS_WORK_BY_MEDIAN:
        return times->median_ns;
    case SS_WORK_BY_MIN:
        return (double)times->min_ns;
    case SS_WORK_BY_MAX:
        return (double)times->max_ns;
    case SS_WORK_BY_DEVIATION:
        return times->deviation_ns;
    case SS_WORK_BY_BYTES:
        return (double)row->sizes.total_ns;
    case SS_WORK_BY_NAME:
        return 0;
    default:
        return (double)times->total_ns;
    }
}

static struct order *order_rows(const struct building *building)
{
    struct order *order = ss_alloc((building->rows.count + 1) * sizeof *order);
    for (size_t i = 0; i < building->rows.count; i++) {
        const struct row *row = &building->rows.data[i];
        order[i] =
            (struct order){(uint32_t)i, key_to_sort(row, building->options->sort),
                           name_of(building->model, building->instances.data[row->first].name)};
    }
    if (building->rows.count > 1) {
        qsort(order, building->rows.count, sizeof *order, compare_order);
    }
    return order;
}

/* --- cells ------------------------------------------------------------------------------------ */

static const char *operation_of(const struct instance *instance)
{
    return instance->type == SS_EVENT_TYPE_copy              ? "copy"
           : instance->type == SS_EVENT_TYPE_memset          ? "memset"
           : instance->type == SS_EVENT_TYPE_launch          ? "launch"
           : instance->type == SS_EVENT_TYPE_synchronisation ? "wait"
           : instance->type != SS_EVENT_TYPE_kernel          ? "call"
           : instance->work_class == SS_WORK_COMMUNICATION   ? "communication"
                                                             : "kernel";
}

static struct ss_cell text_cell(const char *text)
{
    return ss_cell_text(ss_strview_of(text));
}

static void put_names(const struct building *building, const struct instance *instance,
                      struct ss_table *table, struct ss_cell *cells)
{
    struct ss_strview name = name_of(building->model, instance->name);
    bool by_base = (building->options->grouping & SS_WORK_BY_BASE) != 0;
    cells[SS_WORK_OPERATION] = text_cell(operation_of(instance));
    if (instance->type != SS_EVENT_TYPE_kernel) {
        cells[SS_WORK_NAME] = ss_cell_text(name);
        return;
    }
    struct ss_strbuf brief;
    ss_strbuf_init(&brief, 4096);
    ss_kernel_short_name(name, &brief);
    cells[SS_WORK_BASE] = ss_cell_text(ss_kernel_base_name(name));
    cells[SS_WORK_NAME] = by_base ? cells[SS_WORK_BASE] : ss_cell_text(name);
    const char *copy = ss_arena_strndup(&table->texts, brief.data, brief.length);
    cells[SS_WORK_SHORT] =
        by_base ? cells[SS_WORK_BASE] : ss_cell_text((struct ss_strview){copy, brief.length});
    ss_strbuf_fini(&brief);
}

static void put_groups(const struct building *building, const struct instance *instance,
                       struct ss_cell *cells)
{
    const struct ss_model *model = building->model;
    unsigned grouping = building->options->grouping;
    if ((grouping & (SS_WORK_BY_DEVICE | SS_WORK_BY_STREAM)) != 0 && instance->device != 0) {
        cells[SS_WORK_DEVICE] = ss_cell_integer(model->devices.data[instance->device].number);
    }
    if ((grouping & SS_WORK_BY_STREAM) != 0 && instance->stream != 0) {
        cells[SS_WORK_STREAM] =
            ss_cell_integer((int64_t)model->streams.data[instance->stream].number);
    }
    if ((grouping & SS_WORK_BY_PROCESS) != 0) {
        cells[SS_WORK_PID] = ss_process_cell(model, instance->process);
    }
    if ((grouping & SS_WORK_BY_THREAD) != 0 && instance->thread != 0) {
        cells[SS_WORK_TID] = ss_thread_cell(model, instance->thread);
    }
}

static void put_times(const struct building *building, const struct row *row,
                      const struct ss_steady_time *steady, struct ss_cell *cells)
{
    const struct ss_duration_sum *times = &row->times;
    cells[SS_WORK_PERCENT] = ss_cell_real(
        building->total_ns > 0 ? 100 * (double)times->total_ns / (double)building->total_ns : 0);
    cells[SS_WORK_TOTAL] = ss_cell_integer((int64_t)times->total_ns);
    cells[SS_WORK_INSTANCES] = ss_cell_integer((int64_t)times->count);
    cells[SS_WORK_MEAN] = ss_cell_real((double)times->total_ns / (double)times->count);
    cells[SS_WORK_MEDIAN] = ss_cell_real(times->median_ns);
    cells[SS_WORK_MIN] = ss_cell_integer((int64_t)times->min_ns);
    cells[SS_WORK_MAX] = ss_cell_integer((int64_t)times->max_ns);
    cells[SS_WORK_DEVIATION] = ss_cell_real(times->deviation_ns);
    if (steady->steps > 0) {
        double steps = (double)steady->steps;
        cells[SS_WORK_STEP_PERCENT] =
            ss_cell_real(100 * (double)row->steady_ns / (double)steady->total_ns);
        cells[SS_WORK_STEP_INSTANCES] = ss_cell_real((double)row->steady_count / steps);
        cells[SS_WORK_STEP_TIME] = ss_cell_integer((int64_t)((double)row->steady_ns / steps + 0.5));
    }
}

static void put_sizes(const struct building *building, const struct row *row,
                      const struct instance *instance, struct ss_cell *cells)
{
    const struct ss_model *model = building->model;
    const struct ss_duration_sum *sizes = &row->sizes;
    const struct ss_model_range *range = &model->ranges.data[instance->range];
    struct ss_strview from = ss_event_text(model, range, SS_EVENT_FIELD_from_memory);
    struct ss_strview to = ss_event_text(model, range, SS_EVENT_FIELD_to_memory);
    if (from.length > 0) {
        cells[SS_WORK_FROM] = ss_cell_text(from);
    }
    if (to.length > 0) {
        cells[SS_WORK_TO] = ss_cell_text(to);
    }
    if (sizes->count == 0) {
        return;
    }
    cells[SS_WORK_BYTES] = ss_cell_integer((int64_t)sizes->total_ns);
    cells[SS_WORK_BYTES_MEAN] = ss_cell_real((double)sizes->total_ns / (double)sizes->count);
    cells[SS_WORK_BYTES_MEDIAN] = ss_cell_real(sizes->median_ns);
    cells[SS_WORK_BYTES_MIN] = ss_cell_integer((int64_t)sizes->min_ns);
    cells[SS_WORK_BYTES_MAX] = ss_cell_integer((int64_t)sizes->max_ns);
    cells[SS_WORK_BYTES_DEVIATION] = ss_cell_real(sizes->deviation_ns);
    if (row->times.total_ns > 0) {
        cells[SS_WORK_BANDWIDTH] =
            ss_cell_real((double)sizes->total_ns * 1e9 / (double)row->times.total_ns);
    }
}

/* Only with has_errors. */
static void put_errors(const struct building *building, const struct ss_step_summary *training,
                       const struct order *order, struct ss_table *table)
{
    struct ss_step_series series;
    struct ss_step_sums sums;
    if (!building->options->has_errors) {
        return;
    }
    ss_step_series_init(&series, training, SS_STEADY_OF_ALL);
    ss_step_sums_init(&sums, &series, building->rows.count);
    for (size_t i = 0; i < building->instances.count; i++) {
        const struct instance *instance = &building->instances.data[i];
        ss_step_sums_add(&sums, building->row_of[i], instance->process, instance->begin_ns,
                         instance->end_ns - instance->begin_ns);
    }
    for (size_t i = 0; i < table->row_count; i++) {
        table->cells.data[i * table->column_count + SS_WORK_STEP_TIME_PM] =
            ss_error_cell(ss_step_sums_error(&sums, order[i].row));
    }
    ss_step_sums_fini(&sums);
    ss_step_series_fini(&series);
}

static void put_rows(const struct building *building, const struct ss_step_summary *training,
                     const struct ss_steady_time *steady, struct ss_table *table)
{
    struct order *order = order_rows(building);
    for (size_t i = 0; i < building->rows.count; i++) {
        if (building->options->max_rows != 0 && i >= building->options->max_rows) {
            table->hidden_rows = building->rows.count - i;
            break;
        }
        const struct row *row = &building->rows.data[order[i].row];
        const struct instance *instance = &building->instances.data[row->first];
        struct ss_cell *cells = ss_table_add_row(table);
        put_names(building, instance, table, cells);
        put_groups(building, instance, cells);
        put_times(building, row, steady, cells);
        if (table->column_count > SS_WORK_COLUMNS) {
            put_sizes(building, row, instance, cells);
        }
    }
    put_errors(building, training, order, table);
    ss_free(order);
}

/* --- tables ----------------------------------------------------------------------------------- */

static void name_table(unsigned types, struct ss_table *table)
{
    static const struct {
        unsigned types;
        const char *name, *title, *empty;
    } names[] = {{SS_KERNELS, "kernel", "Kernels", "no kernel of a device was recorded"},
                 {SS_COPIES, "memcpy", "Copies", "no copy of a device was recorded"},
                 {SS_MEMSETS, "memset", "Memsets", "no memset of a device was recorded"},
                 {SS_COPIES | SS_MEMSETS, "gpu-memory", "Copies and memsets",
                  "no copy or memset of a device was recorded"},
                 {SS_KERNELS | SS_COPIES | SS_MEMSETS, "gpu-work", "Work of devices",
                  "no work of a device was recorded"},
                 {0, "api", "Calls of the device's runtime and driver",
                  "no call of a device's runtime or driver was recorded"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (names[i].types == types) {
            table->name = names[i].name;
            table->title = names[i].title;
            table->empty_text = names[i].empty;
        }
    }
}

/* Of a recording whose other steps are in sums, which have no work of devices. */
static void add_steps_note(const struct ss_step_summary *training,
                           const struct ss_steady_time *steady, struct ss_table *table)
{
    if (training != NULL && training->summed > 0) {
        struct ss_sentence *note = ss_table_add_note(table, SS_NOTE_ASIDE);
        ss_sentence_add(note, "recorded in ");
        ss_sentence_add_count(note, steady->recorded);
        ss_sentence_add(note, " of ");
        ss_sentence_add_count(note, steady->all);
        ss_sentence_add(note, " steps (record --full records all)");
    }
}

void ss_work_table(const struct ss_selection *selection, const struct ss_step_summary *training,
                   const struct ss_work_options *options, struct ss_table *table)
{
    struct building building = {.model = selection->model, .options = options};
    bool has_sizes = (options->types & (SS_COPIES | SS_MEMSETS)) != 0;
    *table = (struct ss_table){.columns = columns,
                               .column_count = has_sizes ? SS_WORK_COPY_COLUMNS : SS_WORK_COLUMNS};
    name_table(options->types, table);
    ss_intern_init(&building.keys);
    if (options->types != 0) {
        add_works(&building, selection);
    } else {
        add_calls(&building, selection);
    }
    group_instances(&building);
    sum_times(&building);
    if (has_sizes) {
        sum_sizes(&building);
    }
    struct ss_steady_time steady;
    ss_steady_time_init(&steady, training, SS_STEADY_OF_DEVICES);
    sum_steady(&building, &steady);
    put_rows(&building, training, &steady, table);
    table->whole_ns = building.total_ns;
    add_steps_note(training, &steady, table);
    ss_steady_time_fini(&steady);
    ss_free(building.row_of);
    ss_vec_fini(&building.instances);
    ss_vec_fini(&building.rows);
    ss_intern_fini(&building.keys);
}
