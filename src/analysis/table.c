/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/table.h"

#include "base/error.h"

void ss_table_fini(struct ss_table *table)
{
    ss_vec_fini(&table->cells);
    ss_arena_fini(&table->texts);
    *table = (struct ss_table){0};
}

struct ss_cell *ss_table_add_row(struct ss_table *table)
{
    size_t start = table->row_count * table->column_count;
    ss_vec_resize(&table->cells, start + table->column_count);
    table->row_count++;
    return &table->cells.data[start];
}

const struct ss_cell *ss_table_cell(const struct ss_table *table, size_t row, size_t column)
{
    return &table->cells.data[row * table->column_count + column];
}

size_t ss_table_column(const struct ss_table *table, const char *key)
{
    for (size_t i = 0; i < table->column_count; i++) {
        if (strcmp(table->columns[i].key, key) == 0) {
            return i;
        }
    }
    ss_bug("table %s has no column %s", table->name, key);
}
