/* SPDX-License-Identifier: Apache-2.0 */
/* The tables that a row of the registry builds (analysis/tables/tables.h), as a report does with
 * the row's defaults, and what their cells say. Include after cmocka.h. */
#ifndef SS_TESTS_TABLE_CHECKS_H
#define SS_TESTS_TABLE_CHECKS_H

#include <stdio.h>
#include <string.h>

#include "analysis/tables/tables.h"

struct built_tables {
    struct ss_table tables[SS_TABLES_MOST];
    size_t count;
};

/* `columns` NULL: the id has one row. `training` NULL: no steps. */
static inline void build_tables(struct built_tables *built, const char *id, const char *columns,
                                const struct ss_selection *selection,
                                const struct ss_step_summary *training)
{
    static const struct ss_step_summary no_steps;
    const struct ss_table_kind *kind = ss_table_kind_find(id, columns);
    assert_non_null(kind);
    struct ss_table_options options = {.max_rows = kind->rows, .sort = kind->sort};
    struct ss_table_input input = {.selection = selection,
                                   .training = training != NULL ? training : &no_steps,
                                   .options = &options};
    built->count = kind->build(&input, built->tables);
}

static inline void fini_tables(struct built_tables *built)
{
    for (size_t i = 0; i < built->count; i++) {
        ss_table_fini(&built->tables[i]);
    }
}

static inline void print_cell(const struct ss_cell *cell, char *text, size_t size)
{
    if (cell->type == SS_CELL_TEXT) {
        snprintf(text, size, "%.*s", (int)cell->text.length, cell->text.data);
    } else if (cell->type == SS_CELL_INTEGER) {
        snprintf(text, size, "%lld", (long long)cell->integer);
    } else if (cell->type == SS_CELL_REAL) {
        snprintf(text, size, "%.6g", cell->real);
    } else {
        snprintf(text, size, "-");
    }
}

/* `wanted`: keys of columns and what the row has there, as "key=value; key=value"; "-": absent. */
static inline void check_cells(const struct ss_table *table, size_t row, const char *wanted)
{
    char got[1024] = "", key[64];
    assert_true(row < table->row_count);
    for (const char *at = wanted; *at != '\0';) {
        size_t length = strcspn(at, "="), used = strlen(got);
        snprintf(key, sizeof key, "%.*s", (int)length, at);
        used += (size_t)snprintf(got + used, sizeof got - used, "%s%s=", used > 0 ? "; " : "", key);
        print_cell(ss_table_cell(table, row, ss_table_column(table, key)), got + used,
                   sizeof got - used);
        at = strstr(at, "; ");
        at = at != NULL ? at + 2 : "";
    }
    assert_string_equal(got, wanted);
}

#endif
