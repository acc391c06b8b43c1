/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/table/table.h"

#include "analysis/table/uncertainty.h"
#include "base/error.h"

void ss_table_fini(struct ss_table *table)
{
    ss_vec_fini(&table->cells);
    ss_vec_fini(&table->notes);
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

static struct ss_table_note *add_note(struct ss_table *table, enum ss_note_severity severity)
{
    ss_vec_push_zero(&table->notes);
    struct ss_table_note *note = &table->notes.data[table->notes.count - 1];
    note->severity = severity;
    note->text = ss_sentence_of(&table->texts);
    return note;
}

struct ss_sentence *ss_table_add_note(struct ss_table *table, enum ss_note_severity severity)
{
    return &add_note(table, severity)->text;
}

struct ss_sentence *ss_table_add_intro(struct ss_table *table, enum ss_note_severity severity)
{
    struct ss_table_note *note = add_note(table, severity);
    note->is_before = true;
    return &note->text;
}

static bool is_weak(const struct ss_table *table, size_t row, size_t samples_column)
{
    return ss_table_cell(table, row, samples_column)->integer < SS_MIN_CLAIM_SAMPLES;
}

bool ss_table_row_is_weak(const struct ss_table *table, size_t row)
{
    return table->samples_key != NULL &&
           is_weak(table, row, ss_table_column(table, table->samples_key));
}

bool ss_table_has_weak_rows(const struct ss_table *table)
{
    if (table->samples_key == NULL) {
        return false;
    }
    size_t samples_column = ss_table_column(table, table->samples_key);
    for (size_t row = 0; row < table->row_count; row++) {
        if (is_weak(table, row, samples_column)) {
            return true;
        }
    }
    return false;
}

bool ss_table_has_any(const struct ss_table *table, size_t column)
{
    for (size_t row = 0; row < table->row_count; row++) {
        const struct ss_cell *cell = ss_table_cell(table, row, column);
        if (cell->type == SS_CELL_TEXT || cell->type == SS_CELL_REAL ||
            (cell->type == SS_CELL_INTEGER && cell->integer > 0)) {
            return true;
        }
    }
    return false;
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
