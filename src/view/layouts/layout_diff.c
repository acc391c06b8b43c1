/* SPDX-License-Identifier: Apache-2.0 */
/* The layout of comparisons: what a row is, A, B, the change, and whether it is more than noise. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "analysis/diff/compare_tables.h"
#include "base/alloc.h"
#include "view/layouts/report_tables.h"
#include "view/output/text_cell.h"

enum { MAX_CELL_BYTES = 1 << 16, MIN_TEXT_WIDTH = 10 };

/* --- values ----------------------------------------------------------------------------------- */

static double number_of(const struct ss_cell *cell)
{
    return cell->type == SS_CELL_INTEGER ? (double)cell->integer : cell->real;
}

static void append_number(struct ss_strbuf *out, const struct ss_cell *cell)
{
    double size = fabs(number_of(cell));
    if (cell->type == SS_CELL_INTEGER || size >= 1000) {
        ss_text_append_count(out, size < 9e18 ? (uint64_t)(size + 0.5) : INT64_MAX);
    } else {
        ss_strbuf_append_format(out, size >= 100 ? "%.0f" : "%.3g", size);
    }
}

/* The size of a number in its unit, without its sign. */
static void append_size(struct ss_strbuf *out, const struct ss_cell *cell, const char *unit)
{
    double size = fabs(number_of(cell));
    if (strcmp(unit, "ns") == 0) {
        ss_text_append_duration(out, size < 9e18 ? (uint64_t)(size + 0.5) : INT64_MAX);
    } else if (strcmp(unit, "bytes") == 0) {
        ss_text_append_bytes(out, size);
    } else if (strcmp(unit, "percent") == 0 || strcmp(unit, "%") == 0) {
        ss_strbuf_append_format(out, "%.1f%%", size);
    } else if (strcmp(unit, "flops") == 0) {
        ss_text_append_flops(out, size, "FLOP");
    } else {
        append_number(out, cell);
        ss_strbuf_append_format(out, "%s%s", unit[0] != '\0' ? " " : "", unit);
    }
}

static void put_size(struct ss_text_table *text, size_t column, const struct ss_cell *cell,
                     const char *unit, const char *lead, const char *colour)
{
    struct ss_strbuf out;
    if (cell->type == SS_CELL_ABSENT || column == SIZE_MAX) {
        return;
    }
    ss_strbuf_init(&out, MAX_CELL_BYTES);
    ss_strbuf_append_text(&out, lead);
    append_size(&out, cell, unit);
    ss_text_table_put(text, column, (struct ss_strview){out.data, out.length}, colour);
    ss_strbuf_fini(&out);
}

static const char *sign_of(const struct ss_cell *cell)
{
    double number = cell->type == SS_CELL_ABSENT ? 0 : number_of(cell);
    return number < 0 ? "−" : number > 0 ? "+" : "";
}

/* --- columns ---------------------------------------------------------------------------------- */

enum { SHOW_A, SHOW_B, SHOW_CHANGE, SHOW_PM, SHOW_PERCENT, SHOW_VERDICT, SHOW_COUNT };

/* Where the cells of a comparison go. */
struct layout {
    const struct ss_table *table;
    size_t keys, extra; /* pairs of further columns */
    size_t path, line;  /* keys that are shown in one column; SIZE_MAX: none */
    size_t unit;        /* key with the unit of the row; SIZE_MAX: none */
    size_t *key_at;     /* by key: its column; SIZE_MAX: none */
    size_t at[SHOW_COUNT];
    size_t extra_at, columns;
};

static size_t key_named(const struct ss_table *table, const char *name)
{
    for (size_t i = 0; i < table->comparison.keys; i++) {
        if (strcmp(table->columns[i].key, name) == 0) {
            return i;
        }
    }
    return SIZE_MAX;
}

static bool has_cells(const struct ss_table *table, size_t column)
{
    for (size_t row = 0; row < table->row_count; row++) {
        if (ss_table_cell(table, row, column)->type != SS_CELL_ABSENT) {
            return true;
        }
    }
    return false;
}

/* Whether people get another name of a row than its key. */
static bool has_label(const struct ss_table *table)
{
    for (size_t i = 1; i < table->comparison.keys; i++) {
        if (table->columns[i].is_for_people && has_cells(table, i)) {
            return true;
        }
    }
    return false;
}

/* Columns without any cell are not shown. */
static void layout_init(struct layout *layout, const struct ss_table *table)
{
    *layout = (struct layout){.table = table, .keys = table->comparison.keys};
    layout->extra = (table->column_count - layout->keys - SS_COMPARED_COLUMNS) / 2;
    layout->path = key_named(table, "path");
    layout->line = key_named(table, "line");
    layout->unit = key_named(table, "unit");
    layout->key_at = ss_alloc((layout->keys + 1) * sizeof *layout->key_at);
    for (size_t i = 0; i < layout->keys; i++) {
        bool is_joined = i == layout->line && layout->path != SIZE_MAX;
        bool is_labelled = i == 0 && has_label(table);
        bool is_shown = has_cells(table, i) && !is_joined && !is_labelled && i != layout->unit;
        layout->key_at[i] = is_shown ? layout->columns++ : SIZE_MAX;
    }
    for (size_t i = 0; i < SHOW_COUNT; i++) {
        bool is_shown = i != SHOW_PM || has_cells(table, layout->keys + SS_COMPARED_PM);
        layout->at[i] = is_shown ? layout->columns++ : SIZE_MAX;
    }
    layout->extra_at = layout->columns;
    layout->columns += 2 * layout->extra;
}

/* "library_function_name" → "library function name" */
static const char *words_of(const char *key, struct ss_arena *arena)
{
    char *title = ss_arena_strndup(arena, key, strlen(key));
    for (char *at = title; *at != '\0'; at++) {
        *at = *at == '_' ? ' ' : *at;
    }
    return title;
}

/* The units that cells show; the others are in titles, or those of rows. */
static const char *shown_unit(const struct ss_column *column)
{
    static const char *const units[] = {"ns", "bytes", "percent", "flops"};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (column->unit != NULL && strcmp(column->unit, units[i]) == 0) {
            return units[i];
        }
    }
    return "";
}

/* "a_total_ns" → "A total": the cells show the unit. */
static const char *title_of_extra(const struct ss_column *column, struct ss_arena *arena)
{
    size_t length = strlen(column->key), unit = strlen(shown_unit(column));
    bool has_unit =
        unit > 0 && length > unit + 1 && strcmp(column->key + length - unit, column->unit) == 0;
    struct ss_strbuf title;
    ss_strbuf_init(&title, MAX_CELL_BYTES);
    ss_strbuf_append_format(&title, "%c %.*s", column->key[0] == 'a' ? 'A' : 'B',
                            (int)(length - (has_unit ? unit + 1 : 0) - 2), column->key + 2);
    const char *words = words_of(title.data, arena);
    ss_strbuf_fini(&title);
    return words;
}

static void set_columns(const struct layout *layout, struct ss_text_table *text)
{
    static const struct ss_text_column columns[SHOW_COUNT] = {
        [SHOW_A] = {.title = "A", .right = true},
        [SHOW_B] = {.title = "B", .right = true},
        [SHOW_CHANGE] = {.title = "change", .right = true},
        [SHOW_PM] = {.title = "±", .right = true, .drops = 1},
        [SHOW_PERCENT] = {.title = "of A", .right = true},
        [SHOW_VERDICT] = {.title = ""}};
    const struct ss_table *table = layout->table;
    for (size_t i = 0; i < layout->keys; i++) {
        if (layout->key_at[i] != SIZE_MAX) {
            bool is_where = i == layout->path && layout->line != SIZE_MAX;
            text->columns[layout->key_at[i]] = (struct ss_text_column){
                .title = is_where ? "where" : words_of(table->columns[i].key, &text->arena),
                .least = MIN_TEXT_WIDTH};
        }
    }
    for (size_t i = 0; i < SHOW_COUNT; i++) {
        if (layout->at[i] != SIZE_MAX) {
            text->columns[layout->at[i]] = columns[i];
        }
    }
    for (size_t i = 0; i < 2 * layout->extra; i++) {
        const struct ss_column *column = &table->columns[layout->keys + SS_COMPARED_COLUMNS + i];
        text->columns[layout->extra_at + i] =
            (struct ss_text_column){.title = title_of_extra(column, &text->arena),
                                    .right = true,
                                    .drops = 2 + (unsigned)i / 2};
    }
}

/* --- rows ------------------------------------------------------------------------------------- */

static void put_key(struct ss_text_table *text, size_t column, const struct ss_cell *cell,
                    const struct ss_cell *line)
{
    if (cell->type == SS_CELL_TEXT && line != NULL && line->type == SS_CELL_INTEGER) {
        ss_text_table_putf(text, column, "cyan", "%.*s:%" PRId64, (int)cell->text.length,
                           cell->text.data, line->integer);
    } else if (cell->type == SS_CELL_TEXT) {
        ss_text_table_put(text, column, cell->text, NULL);
    } else if (cell->type == SS_CELL_INTEGER) {
        ss_text_table_putf(text, column, NULL, "%" PRId64, cell->integer);
    }
}

static bool is_text(const struct ss_cell *cell, const char *text)
{
    return cell->type == SS_CELL_TEXT && ss_strview_equal(cell->text, ss_strview_of(text));
}

/* "only in A", "within noise", or both. */
static void put_verdict(struct ss_text_table *text, size_t column, const struct ss_cell *cells)
{
    bool is_noise = is_text(&cells[SS_COMPARED_SIGNIFICANT], "no");
    bool is_single = cells[SS_COMPARED_ONLY_IN].type == SS_CELL_TEXT;
    ss_text_table_putf(text, column, NULL, "%s%s%s%s", is_single ? "only in " : "",
                       is_single ? cells[SS_COMPARED_ONLY_IN].text.data : "",
                       is_single && is_noise ? ", " : "", is_noise ? "within noise" : "");
}

/* Less time is better; of other quantities the view does not know. */
static const char *colour_of(const struct ss_cell *cells, const char *unit)
{
    bool is_judged = is_text(&cells[SS_COMPARED_SIGNIFICANT], "yes") && strcmp(unit, "ns") == 0;
    return !is_judged ? NULL : number_of(&cells[SS_COMPARED_CHANGE]) > 0 ? "lightred" : "green";
}

static const char *unit_of(const struct layout *layout, size_t row)
{
    const struct ss_column *column = &layout->table->columns[layout->keys + SS_COMPARED_A];
    const struct ss_cell *own =
        layout->unit != SIZE_MAX ? ss_table_cell(layout->table, row, layout->unit) : NULL;
    return own == NULL ? shown_unit(column) : own->type == SS_CELL_TEXT ? own->text.data : "";
}

static void put_keys(const struct layout *layout, const struct ss_cell *keys,
                     struct ss_text_table *text)
{
    bool is_in_no_range =
        strcmp(layout->table->name, "sample-range") == 0 && keys[0].type == SS_CELL_ABSENT;
    if (is_in_no_range && layout->key_at[0] != SIZE_MAX) {
        ss_text_table_put(text, layout->key_at[0], ss_strview_of("(in no range)"), NULL);
    }
    for (size_t i = 0; i < layout->keys; i++) {
        if (layout->key_at[i] != SIZE_MAX) {
            bool has_line = i == layout->path && layout->line != SIZE_MAX;
            put_key(text, layout->key_at[i], &keys[i], has_line ? &keys[layout->line] : NULL);
        }
    }
}

static void put_row(const struct layout *layout, size_t row, struct ss_text_table *text)
{
    const struct ss_cell *keys = ss_table_cell(layout->table, row, 0);
    const struct ss_cell *cells = keys + layout->keys;
    const char *unit = unit_of(layout, row), *colour = colour_of(cells, unit);
    bool is_noise = is_text(&cells[SS_COMPARED_SIGNIFICANT], "no");
    ss_text_table_add_row(text, is_noise ? "darkgray" : NULL);
    put_keys(layout, keys, text);
    put_size(text, layout->at[SHOW_A], &cells[SS_COMPARED_A], unit, "", NULL);
    put_size(text, layout->at[SHOW_B], &cells[SS_COMPARED_B], unit, "", NULL);
    put_size(text, layout->at[SHOW_CHANGE], &cells[SS_COMPARED_CHANGE], unit,
             sign_of(&cells[SS_COMPARED_CHANGE]), colour);
    put_size(text, layout->at[SHOW_PM], &cells[SS_COMPARED_PM], unit, "±", NULL);
    put_size(text, layout->at[SHOW_PERCENT], &cells[SS_COMPARED_PERCENT], "percent",
             sign_of(&cells[SS_COMPARED_PERCENT]), colour);
    put_verdict(text, layout->at[SHOW_VERDICT], cells);
    for (size_t i = 0; i < 2 * layout->extra; i++) {
        const struct ss_column *column =
            &layout->table->columns[layout->keys + SS_COMPARED_COLUMNS + i];
        put_size(text, layout->extra_at + i, &cells[SS_COMPARED_COLUMNS + i],
                 layout->unit != SIZE_MAX ? unit : shown_unit(column), "", NULL);
    }
}

void ss_report_fill_comparison(const struct ss_block *block, struct ss_text_table *text)
{
    struct layout layout;
    layout_init(&layout, &block->table.data);
    ss_text_table_init_blank(text, layout.columns);
    set_columns(&layout, text);
    for (size_t row = 0; row < block->table.data.row_count; row++) {
        put_row(&layout, row, text);
    }
    ss_free(layout.key_at);
}
