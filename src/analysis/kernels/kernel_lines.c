/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/kernels/kernel_lines.h"

#include <stdlib.h>

#include "analysis/kernels/kernel_names.h"
#include "base/alloc.h"
#include "base/shared_names.h"

static const struct ss_column columns[SS_KERNEL_LINE_COLUMNS] = {
    [SS_KERNEL_LINE_PATH] = {.key = "path", .comparison = SS_COMPARES_KEY},
    [SS_KERNEL_LINE_NUMBER] = {.key = "line"},
    [SS_KERNEL_LINE_FUNCTION] = {.key = "function", .comparison = SS_COMPARES_KEY},
    [SS_KERNEL_LINE_PERCENT] = {.key = "percent", .unit = "percent"},
    [SS_KERNEL_LINE_TOTAL] = {.key = "total_ns",
                              .unit = "ns",
                              .comparison = SS_COMPARES_RUN_SUM,
                              .leads = true},
    [SS_KERNEL_LINE_KERNELS] = {.key = "kernels",
                                .unit = "kernels",
                                .comparison = SS_COMPARES_RUN_SUM},
    [SS_KERNEL_LINE_WORKS] = {.key = "works", .unit = "works"},
    [SS_KERNEL_LINE_STEP_TIME] = {.key = "step_ns",
                                  .unit = "ns",
                                  .comparison = SS_COMPARES_STEP,
                                  .leads = true},
    [SS_KERNEL_LINE_STEP_KERNELS] = {.key = "step_kernels",
                                     .unit = "kernels",
                                     .comparison = SS_COMPARES_STEP},
    [SS_KERNEL_LINE_BACKWARD] = {.key = "backward_ns", .unit = "ns"},
    [SS_KERNEL_LINE_COMMUNICATION] = {.key = "communication_ns", .unit = "ns"},
    [SS_KERNEL_LINE_COPY] = {.key = "copy_ns", .unit = "ns"},
    [SS_KERNEL_LINE_HEAVIEST] = {.key = "heaviest"},
    [SS_KERNEL_LINE_HEAVIEST_TIME] = {.key = "heaviest_ns", .unit = "ns"},
    [SS_KERNEL_LINE_SHORT] = {.key = "heaviest_short", .is_for_people = true, .not_in_csv = true},
};

enum { MOST_NAME_BYTES = 4096 };

/* Rows without a line come after those of the lines. */
struct row {
    uint32_t line; /* row of lines; 0: none */
    enum ss_launch launch;
    uint64_t ns, kernels, works, steady_ns, steady_kernels;
    uint64_t backward_ns, communication_ns, copy_ns;
    uint32_t heaviest; /* name of the model */
    uint64_t heaviest_ns;
};

/* Works of one name in one row. */
struct named {
    size_t row;
    uint32_t name;
    uint64_t ns;
};

struct building {
    const struct ss_model *model;
    struct ss_launch_places places;
    struct ss_launch_lines lines;
    struct row *rows; /* by line, then by launch */
    size_t count;
    struct ss_intern keys; /* of named */
    struct ss_vec_of(struct named) named;
};

/* --- sums ------------------------------------------------------------------------------------- */

static void add_name(struct building *building, size_t row, const struct ss_device_work *work,
                     uint64_t ns)
{
    struct {
        uint64_t row, text;
    } key = {row, building->model->names.data[work->name].text};
    uint32_t id = ss_intern_put(&building->keys, (const char *)&key, sizeof key);
    if (id > building->named.count) {
        ss_vec_push(&building->named, (struct named){.row = row, .name = work->name});
    }
    building->named.data[id - 1].ns += ns;
}

static void add_place(struct building *building, size_t at)
{
    const struct ss_launch_place *place = &building->places.rows.data[at];
    const struct ss_device_work *work = &building->places.works->works.data[place->work];
    const struct ss_launch_frames *frames = &building->lines.rows[at];
    size_t index = place->launch != SS_LAUNCH_RECORDED ? building->lines.lines.count + place->launch
                                                       : frames->line;
    struct row *row = &building->rows[index];
    bool is_kernel = work->type == SS_EVENT_TYPE_kernel;
    row->ns += place->ns; /* may wrap in a damaged recording */
    row->works++;
    row->kernels += is_kernel;
    row->steady_ns += place->is_steady ? place->ns : 0;
    row->steady_kernels += place->is_steady && is_kernel;
    row->backward_ns += frames->is_backward ? place->ns : 0;
    row->communication_ns += work->work_class == SS_WORK_COMMUNICATION ? place->ns : 0;
    row->copy_ns += work->work_class == SS_WORK_COPY ? place->ns : 0;
    add_name(building, index, work, place->ns);
}

static void sum_up(struct building *building)
{
    size_t lines = building->lines.lines.count;
    building->count = lines + SS_LAUNCHES;
    building->rows = ss_alloc_zero(building->count + 1, sizeof *building->rows);
    for (size_t i = 0; i < building->count; i++) {
        building->rows[i].line = i < lines ? (uint32_t)i : 0;
        building->rows[i].launch = i < lines ? SS_LAUNCH_RECORDED : (enum ss_launch)(i - lines);
    }
    for (size_t i = 0; i < building->places.rows.count; i++) {
        add_place(building, i);
    }
    for (size_t i = 0; i < building->named.count; i++) {
        const struct named *named = &building->named.data[i];
        struct row *row = &building->rows[named->row];
        if (row->heaviest == 0 || named->ns > row->heaviest_ns) {
            row->heaviest = named->name;
            row->heaviest_ns = named->ns;
        }
    }
}

/* --- order ------------------------------------------------------------------------------------ */

struct order {
    const struct row *row;
    uint64_t value;
};

static int compare(const void *left, const void *right)
{
    const struct order *a = left, *b = right;
    bool has_a = a->row->line != 0, has_b = b->row->line != 0;
    if (has_a != has_b) {
        return has_a ? -1 : 1;
    }
    if (has_a && a->value != b->value) {
        return a->value > b->value ? -1 : 1;
    }
    if (has_a && a->row->ns != b->row->ns) {
        return a->row->ns > b->row->ns ? -1 : 1;
    }
    return (a->row > b->row) - (a->row < b->row);
}

static uint64_t sort_value(const struct row *row, enum ss_kernel_line_sort sort)
{
    switch (sort) {
    case SS_KERNEL_LINES_BY_KERNELS:
        return row->kernels;
    case SS_KERNEL_LINES_BY_STEP:
        return row->steady_ns;
    case SS_KERNEL_LINES_BY_BACKWARD:
        return row->backward_ns;
    case SS_KERNEL_LINES_BY_COMMUNICATION:
        return row->communication_ns;
    case SS_KERNEL_LINES_BY_COPY:
        return row->copy_ns;
    default:
        return row->ns;
    }
}

/* --- the table -------------------------------------------------------------------------------- */

static struct ss_cell copied(struct ss_strview text, struct ss_table *table)
{
    const char *copy = ss_arena_strndup(&table->texts, text.data, text.length);
    return ss_cell_text((struct ss_strview){copy, text.length});
}

static void put_line(const struct building *building, const struct row *row, struct ss_table *table,
                     struct ss_cell *cells)
{
    const struct ss_intern *texts = &building->lines.texts;
    if (row->line == 0) {
        const char *name =
            row->launch == SS_LAUNCH_RECORDED ? "(no line known)" : ss_launch_name(row->launch);
        cells[SS_KERNEL_LINE_FUNCTION] = ss_cell_text(ss_strview_of(name));
        return;
    }
    const struct ss_code_line *line = &building->lines.lines.data[row->line];
    cells[SS_KERNEL_LINE_PATH] = copied(ss_intern_get(texts, line->path), table);
    cells[SS_KERNEL_LINE_NUMBER] = ss_cell_integer(line->line);
    cells[SS_KERNEL_LINE_FUNCTION] = copied(ss_intern_get(texts, line->function), table);
}

static void put_heaviest(const struct building *building, const struct row *row,
                         struct ss_table *table, struct ss_cell *cells)
{
    const struct ss_model *model = building->model;
    struct ss_strview name = ss_intern_get(&model->strings, model->names.data[row->heaviest].text);
    struct ss_strbuf brief;
    ss_strbuf_init(&brief, MOST_NAME_BYTES);
    ss_kernel_short_name(name, &brief);
    cells[SS_KERNEL_LINE_HEAVIEST] = ss_cell_text(name);
    cells[SS_KERNEL_LINE_HEAVIEST_TIME] = ss_cell_integer((int64_t)row->heaviest_ns);
    cells[SS_KERNEL_LINE_SHORT] = copied((struct ss_strview){brief.data, brief.length}, table);
    ss_strbuf_fini(&brief);
}

static void put_row(const struct building *building, const struct row *row, struct ss_table *table)
{
    struct ss_cell *cells = ss_table_add_row(table);
    uint64_t all_ns = building->places.all.ns, steps = building->places.steps;
    put_line(building, row, table, cells);
    cells[SS_KERNEL_LINE_PERCENT] =
        ss_cell_real(all_ns > 0 ? 100 * (double)row->ns / (double)all_ns : 0);
    cells[SS_KERNEL_LINE_TOTAL] = ss_cell_integer((int64_t)row->ns);
    cells[SS_KERNEL_LINE_KERNELS] = ss_cell_integer((int64_t)row->kernels);
    cells[SS_KERNEL_LINE_WORKS] = ss_cell_integer((int64_t)row->works);
    if (steps > 0) {
        cells[SS_KERNEL_LINE_STEP_TIME] = ss_cell_integer((int64_t)(row->steady_ns / steps));
        cells[SS_KERNEL_LINE_STEP_KERNELS] =
            ss_cell_real((double)row->steady_kernels / (double)steps);
    }
    cells[SS_KERNEL_LINE_BACKWARD] = ss_cell_integer((int64_t)row->backward_ns);
    cells[SS_KERNEL_LINE_COMMUNICATION] = ss_cell_integer((int64_t)row->communication_ns);
    cells[SS_KERNEL_LINE_COPY] = ss_cell_integer((int64_t)row->copy_ns);
    put_heaviest(building, row, table, cells);
}

static void put_rows(const struct building *building, const struct ss_kernel_lines_options *options,
                     struct ss_table *table)
{
    struct order *order = ss_alloc((building->count + 1) * sizeof *order);
    size_t count = 0, shown = 0;
    for (size_t i = 0; i < building->count; i++) {
        const struct row *row = &building->rows[i];
        if (row->works > 0) {
            order[count++] = (struct order){row, sort_value(row, options->sort)};
        }
    }
    if (count > 1) {
        qsort(order, count, sizeof *order, compare);
    }
    for (size_t i = 0; i < count; i++) {
        bool is_line = order[i].row->line != 0;
        if (is_line && options->max_rows != 0 && shown >= options->max_rows) {
            table->hidden_rows++;
            continue;
        }
        shown += is_line;
        put_row(building, order[i].row, table);
    }
    ss_free(order);
}

void ss_kernel_lines_table(const struct ss_selection *selection,
                           const struct ss_step_summary *training,
                           const struct ss_kernel_lines_options *options, struct ss_table *table)
{
    struct building building = {.model = selection->model};
    *table = (struct ss_table){.name = "kernel-line",
                               .title = "Lines that launched the work of devices",
                               .empty_text = "no work of a device was recorded",
                               .columns = columns,
                               .column_count = SS_KERNEL_LINE_COLUMNS};
    ss_intern_init(&building.keys);
    ss_launch_places_init(
        &building.places, selection,
        &(struct ss_launch_places_options){.domain = ss_domain_torch, .training = training});
    ss_launch_lines_init(&building.lines, &building.places);
    sum_up(&building);
    put_rows(&building, options, table);
    table->whole_ns = building.places.all.ns;
    if (building.lines.lines.count == 1 && table->row_count > 0) {
        ss_sentence_add(ss_table_add_note(table, SS_NOTE_ASIDE),
                        "no frames of Python were recorded: torch.profiler records them with "
                        "with_stack=True");
    }
    ss_launch_lines_fini(&building.lines);
    ss_launch_places_fini(&building.places);
    ss_vec_fini(&building.named);
    ss_intern_fini(&building.keys);
    ss_free(building.rows);
}
