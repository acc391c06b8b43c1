/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/diff/compare_tables.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/diff/compare_tables_inside.h"
#include "base/alloc.h"
#include "base/strbuf.h"

enum { MAX_KEY_BYTES = 1 << 20 };

/* The share of false ones among the rows that are called significant. */
static const double most_false = 0.05;

/* --- rows ------------------------------------------------------------------------------------- */

/* Code that moved within its file is the same code. */
static int64_t line_key(const struct ss_table_comparison *comparison, const struct ss_cell *cells,
                        const struct ss_cell *line)
{
    const struct ss_cell *first =
        comparison->first_line != SIZE_MAX ? &cells[comparison->first_line] : NULL;
    return line->integer -
           (first != NULL && first->type == SS_CELL_INTEGER ? first->integer : INT64_C(0));
}

static void append_key(const struct ss_table_comparison *comparison, const struct ss_cell *cells,
                       struct ss_strbuf *key)
{
    for (size_t i = 0; i < comparison->key_count; i++) {
        size_t column = comparison->keys[i];
        if (comparison->columns[column].comparison == SS_COMPARES_LABEL) {
            continue;
        }
        const struct ss_cell *cell = &cells[column];
        struct ss_strview text = cell->type == SS_CELL_TEXT ? cell->text : ss_strview_of("");
        int64_t number = cell->type == SS_CELL_INTEGER ? cell->integer : 0;
        if (cell->type == SS_CELL_INTEGER &&
            comparison->columns[column].comparison == SS_COMPARES_LINE) {
            number = line_key(comparison, cells, cell);
        }
        ss_strbuf_append_format(key, "%d:%lld:%zu:", (int)cell->type, (long long)number,
                                text.length);
        ss_strbuf_append_view(key, text);
    }
}

/* Whether all rows have the same keys, which are numbers. */
static bool has_one_key(const struct ss_table_comparison *comparison, const struct ss_table *table)
{
    for (size_t row = 0; row < table->row_count; row++) {
        for (size_t i = 0; i < comparison->key_count; i++) {
            const struct ss_cell *cell = ss_table_cell(table, row, comparison->keys[i]);
            const struct ss_cell *first = ss_table_cell(table, 0, comparison->keys[i]);
            if (cell->type == SS_CELL_TEXT || cell->type != first->type ||
                (cell->type == SS_CELL_INTEGER && cell->integer != first->integer)) {
                return false;
            }
        }
    }
    return table->row_count > 0;
}

/* Numbers of devices, ranks and workers are names that a run gives; where each side has one that
 * has no other name, they are the same. */
static bool are_single(const struct ss_table_comparison *comparison)
{
    return has_one_key(comparison, comparison->sides[SS_SIDE_A].table) &&
           has_one_key(comparison, comparison->sides[SS_SIDE_B].table);
}

static struct ss_compared_row *row_of(struct ss_table_comparison *comparison,
                                      const struct ss_cell *cells)
{
    struct ss_strbuf key;
    ss_strbuf_init(&key, MAX_KEY_BYTES);
    if (comparison->are_single) {
        ss_strbuf_append_text(&key, "single");
    } else {
        append_key(comparison, cells, &key);
    }
    /* id 0 is the empty key: ids are row + 1 */
    uint32_t id = ss_intern_put(&comparison->known, key.data, key.length);
    ss_strbuf_fini(&key);
    if (id > comparison->rows.count) {
        ss_vec_push(&comparison->rows, (struct ss_compared_row){.at = {SIZE_MAX, SIZE_MAX},
                                                                .order = comparison->rows.count});
    }
    return &comparison->rows.data[id - 1];
}

/* NAN: the cell is not a number. */
static double number_of(const struct ss_cell *cell)
{
    return cell->type == SS_CELL_INTEGER ? (double)cell->integer
           : cell->type == SS_CELL_REAL  ? cell->real
                                         : NAN;
}

/* NAN: the table lacks the column, as tables of operators do without a device. */
static double value_of(const struct ss_table *table, size_t row, size_t column)
{
    return column < table->column_count ? number_of(ss_table_cell(table, row, column)) : NAN;
}

static double error_of(const struct ss_compared_measure *measure, int side,
                       const struct ss_table *table, size_t row)
{
    return measure->error != SIZE_MAX
               ? value_of(table, row, measure->error) * measure->error_scale[side]
               : NAN;
}

static void add_to_row(const struct ss_table_comparison *comparison, int side, size_t at,
                       struct ss_compared_row *row)
{
    const struct ss_table *table = comparison->sides[side].table;
    row->at[side] = row->at[side] == SIZE_MAX ? at : row->at[side];
    for (size_t i = 0; i < comparison->measure_count; i++) {
        const struct ss_compared_measure *measure = &comparison->measures[i];
        double value = value_of(table, at, measure->column) * measure->scale[side];
        if (isfinite(value)) {
            row->values[side][i] += value;
            row->counts[side][i]++;
        }
    }
    row->error_squares[side] += pow(error_of(&comparison->measures[0], side, table, at), 2);
}

static bool counts(const struct ss_table_comparison *comparison, const struct ss_cell *cells)
{
    const struct ss_cell *kind =
        comparison->step_kind != SIZE_MAX ? &cells[comparison->step_kind] : NULL;
    return kind == NULL ||
           (kind->type == SS_CELL_TEXT && ss_strview_equal(kind->text, ss_strview_of("steady")));
}

static void collect_rows(struct ss_table_comparison *comparison)
{
    for (int side = 0; side < SS_SIDES; side++) {
        const struct ss_table *table = comparison->sides[side].table;
        for (size_t i = 0; i < table->row_count; i++) {
            const struct ss_cell *cells = ss_table_cell(table, i, 0);
            if (counts(comparison, cells)) {
                add_to_row(comparison, side, i, row_of(comparison, cells));
            }
        }
    }
}

/* --- changes ---------------------------------------------------------------------------------- */

/* The chance of a change as large as this without a difference. */
static double chance_of(double change, double error)
{
    return isnan(error)  ? NAN
           : change == 0 ? 1
                         : erfc(fabs(change) * ss_compared_z / error / sqrt(2));
}

static void compute_change(const struct ss_table_comparison *comparison,
                           struct ss_compared_row *row)
{
    double squares = 0;
    for (int side = 0; side < SS_SIDES; side++) {
        for (size_t i = 0; i < comparison->measure_count; i++) {
            size_t count = row->counts[side][i];
            row->values[side][i] /=
                comparison->measures[i].is_mean && count > 0 ? (double)count : 1;
        }
        bool is_absent = row->at[side] == SIZE_MAX;
        bool has_errors = comparison->measures[0].error != SIZE_MAX;
        squares += !is_absent   ? row->error_squares[side]
                   : has_errors ? pow(comparison->measures[0].error_of_none[side], 2)
                                : NAN;
    }
    row->change = row->values[SS_SIDE_B][0] - row->values[SS_SIDE_A][0];
    row->error = sqrt(squares);
    row->p = chance_of(row->change, row->error);
}

static int by_chance(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* The chance at or below which a row is significant. */
static double largest_chance(const struct ss_table_comparison *comparison)
{
    double *chances = ss_alloc((comparison->rows.count + 1) * sizeof *chances);
    size_t count = 0, significant = 1; /* at least: to reject one takes that much */
    for (size_t i = 0; i < comparison->rows.count; i++) {
        if (!isnan(comparison->rows.data[i].p)) {
            chances[count++] = comparison->rows.data[i].p;
        }
    }
    qsort(chances, count, sizeof *chances, by_chance);
    for (size_t i = 0; i < count; i++) {
        bool is_rare = chances[i] <= most_false * (double)(i + 1) / (double)count;
        significant = is_rare ? i + 1 : significant;
    }
    ss_free(chances);
    return count > 0 ? most_false * (double)significant / (double)count : most_false;
}

/* The distance from the mean, in standard deviations, that a normal value exceeds with this
 * chance. */
static double distance_of(double chance)
{
    double near = 0, far = 40;
    for (int i = 0; i < 64; i++) {
        double middle = (near + far) / 2;
        if (erfc(middle / sqrt(2)) > chance) {
            near = middle;
        } else {
            far = middle;
        }
    }
    return near;
}

static void judge_rows(struct ss_table_comparison *comparison)
{
    for (size_t i = 0; i < comparison->rows.count; i++) {
        compute_change(comparison, &comparison->rows.data[i]);
    }
    double largest = largest_chance(comparison), distance = distance_of(largest);
    for (size_t i = 0; i < comparison->rows.count; i++) {
        struct ss_compared_row *row = &comparison->rows.data[i];
        row->is_significant = !isnan(row->p) && row->p <= largest;
        row->error *= distance / ss_compared_z;
    }
}

bool ss_compare_tables(const struct ss_compared_table sides[SS_SIDES],
                       const struct ss_compare_options *options, struct ss_table *table)
{
    const struct ss_table *a = sides[SS_SIDE_A].table, *b = sides[SS_SIDE_B].table;
    const struct ss_table *wide = b->column_count > a->column_count ? b : a;
    struct ss_table_comparison comparison = {.sides = sides,
                                             .options = options,
                                             .columns = wide->columns,
                                             .column_count = wide->column_count};
    comparison.shares = !(sides[SS_SIDE_A].sample_ns > 0) || !(sides[SS_SIDE_B].sample_ns > 0);
    ss_comparison_find_columns(&comparison);
    if (comparison.key_count == 0 || comparison.measure_count == 0) {
        return false;
    }
    comparison.are_single = are_single(&comparison);
    ss_intern_init(&comparison.known);
    collect_rows(&comparison);
    judge_rows(&comparison);
    ss_comparison_fill(&comparison, table);
    ss_intern_fini(&comparison.known);
    ss_vec_fini(&comparison.rows);
    return true;
}
