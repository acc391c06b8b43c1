/* SPDX-License-Identifier: Apache-2.0 */
#include "view/output/text_table.h"

#include <errno.h>
#include <libsmartcols.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/terminal.h"
#include "view/output/text_cell.h"

enum { MAX_CELL_BYTES = 1 << 20, SEPARATOR_COLUMNS = 2 };

void ss_text_table_init(struct ss_text_table *table, const struct ss_text_column *columns,
                        size_t column_count)
{
    ss_text_table_init_blank(table, column_count);
    memcpy(table->columns, columns, column_count * sizeof *columns);
}

void ss_text_table_init_blank(struct ss_text_table *table, size_t column_count)
{
    *table = (struct ss_text_table){.column_count = column_count};
    table->columns = ss_arena_alloc(&table->arena, column_count * sizeof *table->columns);
    memset(table->columns, 0, column_count * sizeof *table->columns);
}

void ss_text_table_fini(struct ss_text_table *table)
{
    ss_arena_fini(&table->arena);
    ss_vec_fini(&table->cells);
    ss_vec_fini(&table->row_colours);
}

void ss_text_table_add_row(struct ss_text_table *table, const char *colour)
{
    ss_vec_push(&table->row_colours, colour);
    ss_vec_resize(&table->cells, table->row_colours.count * table->column_count);
}

void ss_text_table_put(struct ss_text_table *table, size_t column, struct ss_strview text,
                       const char *colour)
{
    struct ss_strbuf clean;
    ss_strbuf_init(&clean, MAX_CELL_BYTES);
    ss_text_append_clean(&clean, text);
    size_t row = table->row_colours.count - 1;
    table->cells.data[row * table->column_count + column] =
        (struct ss_text_cell){ss_arena_strndup(&table->arena, clean.data, clean.length), colour};
    ss_strbuf_fini(&clean);
}

void ss_text_table_putf(struct ss_text_table *table, size_t column, const char *colour,
                        const char *format, ...)
{
    struct ss_strbuf text;
    ss_strbuf_init(&text, MAX_CELL_BYTES);
    va_list arguments;
    va_start(arguments, format);
    ss_strbuf_append_vformat(&text, format, arguments);
    va_end(arguments);
    ss_text_table_put(table, column, (struct ss_strview){text.data, text.length}, colour);
    ss_strbuf_fini(&text);
}

bool ss_text_table_is_drawing(const struct ss_text_table *table, size_t column)
{
    return table->columns[column].title[0] == '\0' && table->columns[column].drops > 0;
}

bool ss_text_table_is_shown(const struct ss_text_table *table, size_t column)
{
    bool has_content = table->columns[column].title[0] != '\0';
    for (size_t row = 0; row < table->row_colours.count && !has_content; row++) {
        const char *cell = table->cells.data[row * table->column_count + column].text;
        has_content = cell != NULL && cell[0] != '\0';
    }
    return has_content && !ss_text_table_is_drawing(table, column);
}

/* The widths of the columns: of their cells alone, and with the titles. */
static void natural_widths(const struct ss_text_table *table, size_t *content, size_t *widths)
{
    for (size_t c = 0; c < table->column_count; c++) {
        for (size_t row = 0; row < table->row_colours.count; row++) {
            const char *text = table->cells.data[row * table->column_count + c].text;
            size_t width = text != NULL ? ss_text_width(text) : 0;
            content[c] = width > content[c] ? width : content[c];
        }
        size_t title = ss_text_width(table->columns[c].title);
        widths[c] = content[c] > title ? content[c] : title;
    }
}

static size_t sum_of(const size_t *widths, size_t count)
{
    size_t sum = 0, shown = 0;
    for (size_t c = 0; c < count; c++) {
        sum += widths[c];
        shown += widths[c] > 0;
    }
    return sum + (shown > 0 ? shown - 1 : 0) * SEPARATOR_COLUMNS;
}

/* Repeatedly narrows the widest shrinkable column by one, down to `floors`, until all fit. */
static void shrink(const struct ss_text_table *table, const size_t *floors, size_t *widths,
                   size_t width)
{
    size_t count = table->column_count;
    while (sum_of(widths, count) > width) {
        size_t widest = count;
        for (size_t c = 0; c < count; c++) {
            if (table->columns[c].least != 0 && widths[c] > floors[c] &&
                (widest == count || widths[c] >= widths[widest])) {
                widest = c;
            }
        }
        if (widest == count) {
            return;
        }
        widths[widest]--;
    }
}

/* Omits columns until no other loses more than half. */
static void drop(const struct ss_text_table *table, size_t *floors, size_t *widths, size_t width)
{
    size_t count = table->column_count;
    unsigned rank = 0;
    for (size_t c = 0; c < count; c++) {
        rank = table->columns[c].drops > rank ? table->columns[c].drops : rank;
    }
    for (; rank > 0 && sum_of(floors, count) > width; rank--) {
        for (size_t c = 0; c < count; c++) {
            if (table->columns[c].drops == rank) {
                widths[c] = floors[c] = 0;
            }
        }
    }
}

/* Order: omits optional columns if others would lose more than half; shortens titles that are wider
 * than their cells; cuts the middle of cells. */
static void fit(const struct ss_text_table *table, const size_t *content, size_t *widths,
                size_t width)
{
    size_t count = table->column_count;
    size_t *floors = ss_alloc_zero(count, sizeof *floors);
    for (size_t c = 0; c < count; c++) {
        size_t least = table->columns[c].least;
        size_t half = content[c] / 2 > least ? content[c] / 2 : least;
        floors[c] = least != 0 && half < widths[c] ? half : widths[c];
    }
    drop(table, floors, widths, width);
    for (size_t c = 0; c < count; c++) {
        const char *title = table->columns[c].short_title;
        size_t least = title != NULL ? ss_text_width(title) : table->columns[c].least;
        floors[c] = content[c] > least ? content[c] : least;
    }
    shrink(table, floors, widths, width);
    for (size_t c = 0; c < count; c++) {
        floors[c] = table->columns[c].least;
    }
    shrink(table, floors, widths, width);
    ss_free(floors);
}

static int add_line(const struct ss_text_table *table, struct libscols_table *out,
                    const size_t *widths, size_t row)
{
    struct libscols_line *line = scols_table_new_line(out, NULL);
    int failed = line == NULL;
    if (!failed && table->row_colours.data[row] != NULL) {
        failed |= scols_line_set_color(line, table->row_colours.data[row]);
    }
    struct ss_strbuf text;
    ss_strbuf_init(&text, MAX_CELL_BYTES);
    for (size_t c = 0, at = 0; c < table->column_count && !failed; c++) {
        const struct ss_text_cell *cell = &table->cells.data[row * table->column_count + c];
        if (widths[c] == 0) {
            continue;
        }
        ss_strbuf_clear(&text);
        ss_text_append_cut_middle(&text, cell->text != NULL ? cell->text : "", widths[c]);
        failed |= scols_line_set_data(line, at, text.data);
        if (cell->colour != NULL && table->row_colours.data[row] == NULL) {
            failed |= scols_cell_set_color(scols_line_get_cell(line, at), cell->colour);
        }
        at++;
    }
    ss_strbuf_fini(&text);
    return failed;
}

static int add_columns(const struct ss_text_table *table, struct libscols_table *out,
                       const size_t *widths)
{
    int failed = 0;
    struct ss_strbuf title;
    ss_strbuf_init(&title, 256);
    for (size_t c = 0; c < table->column_count; c++) {
        if (widths[c] == 0) {
            continue;
        }
        ss_strbuf_clear(&title);
        const struct ss_text_column *column = &table->columns[c];
        bool whole = column->short_title == NULL || ss_text_width(column->title) <= widths[c];
        ss_text_append_cut_end(&title, whole ? column->title : column->short_title, widths[c]);
        int flags = column->right ? SCOLS_FL_RIGHT : 0;
        struct libscols_column *made =
            scols_table_new_column(out, title.data, (double)widths[c], flags);
        failed |=
            made == NULL || scols_cell_set_color(scols_column_get_header(made), "halfbright") != 0;
    }
    ss_strbuf_fini(&title);
    return failed;
}

enum ss_status ss_text_table_print(const struct ss_text_table *table, FILE *out, size_t width,
                                   bool colour, struct ss_error *err)
{
    size_t *widths = ss_alloc_zero(table->column_count, sizeof *widths);
    size_t *content = ss_alloc_zero(table->column_count, sizeof *content);
    natural_widths(table, content, widths);
    if (width > 0) {
        fit(table, content, widths, width);
    }
    ss_free(content);
    struct libscols_table *columns = scols_new_table();
    FILE *styled = colour ? ss_stream_with_own_escapes(out) : NULL;
    int failed = columns == NULL || add_columns(table, columns, widths) != 0;
    for (size_t row = 0; row < table->row_colours.count && !failed; row++) {
        failed = add_line(table, columns, widths, row);
    }
    if (!failed) {
        scols_table_enable_colors(columns, colour);
        scols_table_set_column_separator(columns, "  ");
        scols_table_set_termforce(columns, SCOLS_TERMFORCE_ALWAYS);
        scols_table_set_termwidth(columns, sum_of(widths, table->column_count) + 1);
        scols_table_set_stream(columns, styled != NULL ? styled : out);
        failed = table->row_colours.count > 0 && scols_print_table(columns) != 0;
    }
    if (styled != NULL) {
        failed |= fclose(styled) != 0;
    }
    scols_unref_table(columns);
    ss_free(widths);
    return failed ? ss_fail(err, SS_E_IO, "the table could not be laid out") : SS_OK;
}
