/* SPDX-License-Identifier: Apache-2.0 */
#include "arrow/cells.h"

#include <inttypes.h>
#include <stdio.h>

static enum ss_column_type type_of(const struct ss_table *table, size_t column)
{
    static const enum ss_column_type types[] = {[SS_CELL_ABSENT] = SS_COLUMN_NULL,
                                                [SS_CELL_TEXT] = SS_COLUMN_TEXT,
                                                [SS_CELL_INTEGER] = SS_COLUMN_INT64,
                                                [SS_CELL_REAL] = SS_COLUMN_FLOAT64};
    enum ss_column_type type = SS_COLUMN_NULL;
    for (size_t row = 0; row < table->row_count; row++) {
        enum ss_column_type one = types[ss_table_cell(table, row, column)->type];
        type = one > type ? one : type; /* in the order of the enum */
    }
    return type;
}

static void put_as_text(struct ss_columns *columns, size_t column, const struct ss_cell *cell)
{
    char digits[64];
    struct ss_strview text = cell->text;
    if (cell->type != SS_CELL_TEXT) {
        int length = cell->type == SS_CELL_INTEGER
                         ? snprintf(digits, sizeof digits, "%" PRId64, cell->integer)
                         : snprintf(digits, sizeof digits, "%.17g", cell->real);
        text = (struct ss_strview){digits, (size_t)length};
    }
    ss_columns_put_text(columns, column, text);
}

static void put_cell(struct ss_columns *columns, size_t column, const struct ss_cell *cell)
{
    if (cell->type == SS_CELL_ABSENT) {
        return;
    }
    switch (columns->columns[column].type) {
    case SS_COLUMN_TEXT:
        put_as_text(columns, column, cell);
        break;
    case SS_COLUMN_FLOAT64:
        ss_columns_put_real(columns, column,
                            cell->type == SS_CELL_REAL ? cell->real : (double)cell->integer);
        break;
    default:
        ss_columns_put_integer(columns, column, cell->integer);
    }
}

struct ss_columns *ss_columns_of_table(const struct ss_table *table)
{
    struct ss_columns *columns = ss_columns_new(table->name, NULL, 0);
    struct ss_vec_of(size_t) sources = {0}; /* by column of the result */
    for (size_t c = 0; c < table->column_count; c++) {
        const struct ss_column *column = &table->columns[c];
        enum ss_column_type type = type_of(table, c);
        if (!column->is_for_people && !(column->not_in_csv && type == SS_COLUMN_NULL)) {
            ss_columns_add(columns, &(struct ss_column_kind){column->key, column->unit, type});
            ss_vec_push(&sources, c);
        }
    }
    for (size_t row = 0; row < table->row_count; row++) {
        ss_columns_add_row(columns);
        for (size_t c = 0; c < sources.count; c++) {
            put_cell(columns, c, ss_table_cell(table, row, sources.data[c]));
        }
    }
    ss_vec_fini(&sources);
    ss_columns_finish(columns);
    return columns;
}
