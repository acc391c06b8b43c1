/* SPDX-License-Identifier: Apache-2.0 */
/* The table of a comparison. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/diff/compare_tables_inside.h"
#include "base/strbuf.h"

enum { MAX_KEY_BYTES = 1 << 12 };

static bool has_value(const struct ss_compared_row *row)
{
    return row->counts[SS_SIDE_A][0] + row->counts[SS_SIDE_B][0] > 0 &&
           (row->values[SS_SIDE_A][0] != 0 || row->values[SS_SIDE_B][0] != 0);
}

/* The largest change first, then the largest value. */
static int by_change(const void *left, const void *right)
{
    const struct ss_compared_row *a = left, *b = right;
    double changes[] = {fabs(a->change), fabs(b->change)};
    if (changes[0] != changes[1]) {
        return changes[0] > changes[1] ? -1 : 1;
    }
    double values[] = {fabs(a->values[SS_SIDE_A][0]), fabs(b->values[SS_SIDE_A][0])};
    if (values[0] != values[1]) {
        return values[0] > values[1] ? -1 : 1;
    }
    return (a->order > b->order) - (a->order < b->order);
}

/* "change" and "ns" → "change_ns". Only short units: others are sentences. */
static const char *key_of(const char *name, const char *unit, struct ss_arena *arena)
{
    static const char *const short_units[] = {"ns", "bytes", "percent"};
    struct ss_strbuf key;
    ss_strbuf_init(&key, MAX_KEY_BYTES);
    ss_strbuf_append_text(&key, name);
    for (size_t i = 0; unit != NULL && i < sizeof short_units / sizeof *short_units; i++) {
        if (strcmp(unit, short_units[i]) == 0) {
            ss_strbuf_append_format(&key, "_%s", unit);
        }
    }
    const char *copy = ss_arena_strndup(arena, key.data, key.length);
    ss_strbuf_fini(&key);
    return copy;
}

/* "a_self_samples" → "a_self_ns", where samples became time. */
static const char *extra_key(const struct ss_table_comparison *comparison,
                             const struct ss_compared_measure *measure, const char *side,
                             struct ss_arena *arena)
{
    static const char samples[] = "_samples";
    const struct ss_column *column = &comparison->columns[measure->column];
    size_t length = strlen(column->key), ending = sizeof samples - 1;
    struct ss_strbuf name;
    ss_strbuf_init(&name, MAX_KEY_BYTES);
    ss_strbuf_append_format(&name, "%s_%s", side, column->key);
    bool was_samples = ss_comparison_has_unit(column, "samples") && length > ending &&
                       strcmp(column->key + length - ending, samples) == 0;
    const char *key;
    if (was_samples) {
        name.data[name.length - ending] = '\0';
        key = key_of(name.data, ss_comparison_unit(comparison, measure), arena);
    } else {
        key = ss_arena_strndup(arena, name.data, name.length);
    }
    ss_strbuf_fini(&name);
    return key;
}

static void set_columns(const struct ss_table_comparison *comparison, struct ss_table *table)
{
    static const char *const names[SS_COMPARED_COLUMNS] = {[SS_COMPARED_A] = "a",
                                                           [SS_COMPARED_B] = "b",
                                                           [SS_COMPARED_CHANGE] = "change",
                                                           [SS_COMPARED_PM] = "change_pm"};
    size_t keys = comparison->key_count, extra = comparison->measure_count - 1;
    size_t count = keys + SS_COMPARED_COLUMNS + 2 * extra;
    struct ss_column *columns = ss_arena_alloc(&table->texts, count * sizeof *columns);
    const char *unit = ss_comparison_unit(comparison, &comparison->measures[0]);
    memset(columns, 0, count * sizeof *columns);
    for (size_t i = 0; i < keys; i++) {
        const struct ss_column *column = &comparison->columns[comparison->keys[i]];
        columns[i] = (struct ss_column){.key = column->key, .is_for_people = column->is_for_people};
    }
    for (size_t i = 0; i < SS_COMPARED_COLUMNS; i++) {
        if (names[i] != NULL) {
            columns[keys + i].key = key_of(names[i], unit, &table->texts);
            columns[keys + i].unit = unit;
        }
    }
    columns[keys + SS_COMPARED_PERCENT] =
        (struct ss_column){.key = "change_percent", .unit = "percent"};
    columns[keys + SS_COMPARED_SIGNIFICANT].key = "significant";
    columns[keys + SS_COMPARED_ONLY_IN].key = "only_in";
    for (size_t i = 0; i < extra; i++) {
        const struct ss_compared_measure *measure = &comparison->measures[i + 1];
        struct ss_column *pair = &columns[keys + SS_COMPARED_COLUMNS + 2 * i];
        pair[0].key = extra_key(comparison, measure, "a", &table->texts);
        pair[1].key = extra_key(comparison, measure, "b", &table->texts);
        pair[0].unit = pair[1].unit = ss_comparison_unit(comparison, measure);
    }
    table->columns = columns;
    table->column_count = count;
}

/* Times and sizes are whole numbers, so that views show them as such. */
static struct ss_cell value_cell(double value, const char *unit)
{
    bool is_whole = unit != NULL && (strcmp(unit, "ns") == 0 || strcmp(unit, "bytes") == 0);
    return !isfinite(value)                 ? (struct ss_cell){0}
           : is_whole && fabs(value) < 9e18 ? ss_cell_integer((int64_t)floor(value + 0.5))
                                            : ss_cell_real(value);
}

static void fill_keys(const struct ss_table_comparison *comparison,
                      const struct ss_compared_row *row, struct ss_table *table,
                      struct ss_cell *out)
{
    /* Lines as they are in B. */
    int side = row->at[SS_SIDE_B] != SIZE_MAX ? SS_SIDE_B : SS_SIDE_A;
    const struct ss_cell *cells = ss_table_cell(comparison->sides[side].table, row->at[side], 0);
    for (size_t i = 0; i < comparison->key_count; i++) {
        out[i] = cells[comparison->keys[i]];
        if (out[i].type == SS_CELL_TEXT) {
            const char *copy =
                ss_arena_strndup(&table->texts, out[i].text.data, out[i].text.length);
            out[i].text.data = copy;
        }
    }
}

static void fill_change(const struct ss_table_comparison *comparison,
                        const struct ss_compared_row *row, struct ss_cell *out)
{
    static const char *const names[] = {[SS_SIDE_A] = "A", [SS_SIDE_B] = "B"};
    const char *unit = ss_comparison_unit(comparison, &comparison->measures[0]);
    for (int side = 0; side < SS_SIDES; side++) {
        if (row->counts[side][0] > 0) {
            out[SS_COMPARED_A + side] = value_cell(row->values[side][0], unit);
        }
        if (row->at[!side] == SIZE_MAX) {
            out[SS_COMPARED_ONLY_IN] = ss_cell_text(ss_strview_of(names[side]));
        }
    }
    out[SS_COMPARED_CHANGE] = value_cell(row->change, unit);
    if (row->values[SS_SIDE_A][0] > 0) {
        out[SS_COMPARED_PERCENT] = ss_cell_real(100 * row->change / row->values[SS_SIDE_A][0]);
    }
    out[SS_COMPARED_PM] = value_cell(row->error, unit);
    if (!isnan(row->p)) {
        out[SS_COMPARED_SIGNIFICANT] =
            ss_cell_text(ss_strview_of(row->is_significant ? "yes" : "no"));
    }
}

static void fill_row(const struct ss_table_comparison *comparison,
                     const struct ss_compared_row *row, struct ss_table *table)
{
    struct ss_cell *cells = ss_table_add_row(table);
    fill_keys(comparison, row, table, cells);
    cells += comparison->key_count;
    fill_change(comparison, row, cells);
    for (size_t i = 1; i < comparison->measure_count; i++) {
        const char *unit = ss_comparison_unit(comparison, &comparison->measures[i]);
        for (int side = 0; side < SS_SIDES; side++) {
            if (row->counts[side][i] > 0) {
                cells[SS_COMPARED_COLUMNS + 2 * (i - 1) + (size_t)side] =
                    value_cell(row->values[side][i], unit);
            }
        }
    }
}

void ss_comparison_fill(struct ss_table_comparison *comparison, struct ss_table *table)
{
    const struct ss_table *of = comparison->sides[SS_SIDE_A].table;
    const struct ss_compared_measure *leading = &comparison->measures[0];
    const struct ss_column *measured = &comparison->columns[leading->column];
    bool as_it_is = measured->comparison == SS_COMPARES_LEVEL ||
                    (comparison->shares && ss_comparison_has_unit(measured, "samples"));
    *table = (struct ss_table){.name = of->name,
                               .title = of->title,
                               .empty_text = of->empty_text,
                               .is_of_program = of->is_of_program};
    table->comparison.keys = comparison->key_count;
    table->comparison.measure = measured->key;
    table->comparison.per = as_it_is ? NULL : comparison->options->per_step ? "step" : "run";
    set_columns(comparison, table);
    if (comparison->rows.count > 0) {
        qsort(comparison->rows.data, comparison->rows.count, sizeof *comparison->rows.data,
              by_change);
    }
    for (size_t i = 0; i < comparison->rows.count; i++) {
        const struct ss_compared_row *row = &comparison->rows.data[i];
        uint64_t most = comparison->options->max_rows;
        if (has_value(row) && (most == 0 || table->row_count < most)) {
            fill_row(comparison, row, table);
        } else {
            table->hidden_rows += has_value(row);
        }
    }
}
