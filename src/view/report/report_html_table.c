/* SPDX-License-Identifier: Apache-2.0 */
/* A table of a page: the columns and words of the text report, and its data for a spreadsheet. */
#include <string.h>

#include "view/layouts/report_layouts.h"
#include "view/report/report_page.h"

static json_t *columns_of(const struct ss_text_table *text, const struct ss_page_limits *limits)
{
    json_t *columns = json_array();
    for (size_t c = 0; c < text->column_count; c++) {
        if (!ss_text_table_is_shown(text, c)) {
            continue;
        }
        json_t *column = json_object();
        json_object_set_new(column, "title",
                            ss_page_text(ss_strview_of(text->columns[c].title), limits));
        if (text->columns[c].right) {
            json_object_set_new(column, "right", json_true());
        }
        if (c + 1 < text->column_count && ss_text_table_is_drawing(text, c + 1)) {
            json_object_set_new(column, "bar", json_true());
        }
        json_array_append_new(columns, column);
    }
    return columns;
}

static json_t *words_of(const struct ss_text_table *text, size_t row,
                        const struct ss_page_limits *limits)
{
    json_t *words = json_array();
    for (size_t c = 0; c < text->column_count; c++) {
        if (ss_text_table_is_shown(text, c)) {
            const char *cell = text->cells.data[row * text->column_count + c].text;
            json_array_append_new(words,
                                  ss_page_text(ss_strview_of(cell != NULL ? cell : ""), limits));
        }
    }
    return words;
}

/* What is better or worse of two recordings: row, column, and 1 or -1. */
static void put_tones(json_t *list, const struct ss_text_table *text, size_t row)
{
    for (size_t c = 0, shown = 0; c < text->column_count; c++) {
        const char *colour = text->cells.data[row * text->column_count + c].colour;
        bool is_better = colour != NULL && strcmp(colour, "green") == 0;
        bool is_worse = colour != NULL && strcmp(colour, "lightred") == 0;
        if (ss_text_table_is_shown(text, c) && (is_better || is_worse)) {
            json_array_append_new(list, json_integer((json_int_t)row));
            json_array_append_new(list, json_integer((json_int_t)shown));
            json_array_append_new(list, json_integer(is_better ? 1 : -1));
        }
        shown += ss_text_table_is_shown(text, c);
    }
}

static bool is_weak(const struct ss_text_table *text, size_t row)
{
    const char *colour = text->row_colours.data[row];
    return colour != NULL && strcmp(colour, "darkgray") == 0;
}

static void put_words(json_t *object, const struct ss_text_table *text, bool is_comparison,
                      const struct ss_page_limits *limits)
{
    json_t *rows = json_array(), *weak = json_array(), *tones = json_array();
    size_t count = text->row_colours.count, shown = count < limits->rows ? count : limits->rows;
    for (size_t row = 0; row < shown; row++) {
        json_array_append_new(rows, words_of(text, row, limits));
        if (is_weak(text, row)) {
            json_array_append_new(weak, json_integer((json_int_t)row));
        }
        if (is_comparison) {
            put_tones(tones, text, row);
        }
    }
    json_object_set_new(object, "columns", columns_of(text, limits));
    json_object_set_new(object, "rows", rows);
    json_object_set_new(object, "weak", weak);
    json_object_set_new(object, "tones", tones);
    json_object_set_new(object, "more", json_integer((json_int_t)(count - shown)));
}

/* --- data ------------------------------------------------------------------------------------- */

static bool is_data(const struct ss_column *column)
{
    return !column->is_for_people && !column->not_in_csv;
}

static json_t *cell_of(const struct ss_cell *cell, const struct ss_page_limits *limits)
{
    switch (cell->type) {
    case SS_CELL_TEXT:
        return ss_page_text(cell->text, limits);
    case SS_CELL_INTEGER:
        return json_integer(cell->integer);
    case SS_CELL_REAL:
        return json_real(cell->real);
    case SS_CELL_ABSENT:
        break;
    }
    return json_null();
}

static json_t *cells_of(const struct ss_table *table, size_t row,
                        const struct ss_page_limits *limits)
{
    json_t *cells = json_array();
    for (size_t c = 0; c < table->column_count; c++) {
        if (is_data(&table->columns[c])) {
            json_t *cell = cell_of(ss_table_cell(table, row, c), limits);
            json_array_append_new(cells, cell != NULL ? cell : json_null());
        }
    }
    return cells;
}

static void put_data(json_t *object, const struct ss_table *table,
                     const struct ss_page_limits *limits)
{
    json_t *keys = json_array(), *rows = json_array(), *data = json_object();
    for (size_t c = 0; c < table->column_count; c++) {
        if (is_data(&table->columns[c])) {
            json_array_append_new(keys, json_string(table->columns[c].key));
        }
    }
    for (size_t row = 0; row < table->row_count && row < limits->rows; row++) {
        json_array_append_new(rows, cells_of(table, row, limits));
    }
    json_object_set_new(data, "keys", keys);
    json_object_set_new(data, "rows", rows);
    json_object_set_new(object, "data", data);
}

json_t *ss_page_table(const struct ss_block *block, const struct ss_page_limits *limits)
{
    const struct ss_table *table = &block->table.data;
    const struct ss_report_layout *layout = ss_report_layout_of(table);
    json_t *object = json_object();
    json_object_set_new(object, "name", json_string(table->name));
    if (block->table.title != NULL) {
        json_object_set_new(object, "title",
                            ss_page_text(ss_strview_of(block->table.title), limits));
    }
    if (table->row_count == 0) {
        return object;
    }
    struct ss_text_table text;
    (layout->fill != NULL ? layout->fill : ss_report_fill_present)(block, &text);
    put_words(object, &text, table->comparison.keys > 0, limits);
    put_data(object, table, limits);
    ss_text_table_fini(&text);
    return object;
}
