/* SPDX-License-Identifier: Apache-2.0 */
/* The layout of tables without one of their own: formats each column by its type and unit. Some
 * omit the columns that have no value in any row. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "view/layouts/report_tables.h"
#include "view/output/text_cell.h"
#include "view/output/text_table.h"

enum { MIN_TEXT_WIDTH = 8 };

static bool has_unit(const struct ss_column *column, const char *unit)
{
    return column->unit != NULL && strcmp(column->unit, unit) == 0;
}

/* "wait_ns" → "wait": the cells show the unit. */
static const char *title_of(const struct ss_column *column, struct ss_arena *arena)
{
    static const char *const shown_units[] = {"ns", "bytes", "percent"};
    size_t length = strlen(column->key);
    for (size_t i = 0; i < sizeof shown_units / sizeof *shown_units; i++) {
        size_t unit = strlen(shown_units[i]);
        bool ends_with_unit = length > unit + 1 && column->key[length - unit - 1] == '_' &&
                              strcmp(column->key + length - unit, shown_units[i]) == 0;
        if (ends_with_unit && has_unit(column, shown_units[i])) {
            length -= unit + 1;
            break;
        }
    }
    char *title = ss_arena_strndup(arena, column->key, length);
    for (char *at = title; *at != '\0'; at++) {
        *at = *at == '_' ? ' ' : *at;
    }
    return title;
}

static bool has_text(const struct ss_table *table, size_t column)
{
    for (size_t row = 0; row < table->row_count; row++) {
        if (ss_table_cell(table, row, column)->type == SS_CELL_TEXT) {
            return true;
        }
    }
    return false;
}

static void put(struct ss_text_table *text, size_t c, const struct ss_column *column,
                const struct ss_cell *cell)
{
    if (cell->type == SS_CELL_TEXT) {
        ss_text_table_put(text, c, cell->text, NULL);
    } else if (has_unit(column, "bytes")) {
        ss_report_put_bytes(text, c, cell, false);
    } else if (has_unit(column, "ns")) {
        struct ss_cell whole =
            cell->type == SS_CELL_REAL ? ss_cell_integer(llround(cell->real)) : *cell;
        ss_report_put_duration(text, c, &whole);
    } else if (cell->type == SS_CELL_INTEGER && column->unit != NULL) {
        ss_report_put_count(text, c, cell);
    } else if (cell->type == SS_CELL_INTEGER) {
        ss_text_table_putf(text, c, NULL, "%" PRId64, cell->integer);
    } else if (cell->type == SS_CELL_REAL && has_unit(column, "percent")) {
        ss_text_table_putf(text, c, NULL, "%.1f%%", cell->real);
    } else if (cell->type == SS_CELL_REAL) {
        ss_text_table_putf(text, c, NULL, "%.6g", cell->real);
    }
}

static bool has_value(const struct ss_table *table, size_t column)
{
    for (size_t row = 0; row < table->row_count; row++) {
        if (ss_table_cell(table, row, column)->type != SS_CELL_ABSENT) {
            return true;
        }
    }
    return false;
}

static void fill(const struct ss_table *table, bool with_absent, struct ss_text_table *text)
{
    size_t *shown = ss_alloc((table->column_count + 1) * sizeof *shown), count = 0;
    for (size_t c = 0; c < table->column_count; c++) {
        if (with_absent || has_value(table, c)) {
            shown[count++] = c;
        }
    }
    ss_text_table_init_blank(text, count);
    for (size_t i = 0; i < count; i++) {
        bool is_text = has_text(table, shown[i]);
        text->columns[i] =
            (struct ss_text_column){.title = title_of(&table->columns[shown[i]], &text->arena),
                                    .right = !is_text,
                                    .least = is_text ? MIN_TEXT_WIDTH : 0};
    }
    for (size_t row = 0; row < table->row_count; row++) {
        ss_text_table_add_row(text, NULL);
        for (size_t i = 0; i < count; i++) {
            put(text, i, &table->columns[shown[i]], ss_table_cell(table, row, shown[i]));
        }
    }
    ss_free(shown);
}

void ss_report_fill_any(const struct ss_block *block, struct ss_text_table *text)
{
    fill(&block->table.data, true, text);
}

void ss_report_fill_present(const struct ss_block *block, struct ss_text_table *text)
{
    fill(&block->table.data, false, text);
}
