/* SPDX-License-Identifier: Apache-2.0 */
/* The figures and tables of a report for programs. */
#include <jansson.h>
#include <string.h>

#include "analysis/table/table_figures.h"
#include "base/utf8.h"
#include "base/version.h"
#include "view/output/report.h"
#include "view/output/sentence_text.h"

enum { MAX_TEXT_BYTES = 64 << 20, SCHEMA = 1 };

static json_t *text_of(struct ss_strview text)
{
    struct ss_strbuf valid;
    ss_strbuf_init(&valid, MAX_TEXT_BYTES);
    ss_utf8_append_valid(&valid, text.data, text.length);
    json_t *json = json_stringn(valid.data, valid.length);
    ss_strbuf_fini(&valid);
    return json;
}

static void put_text(json_t *object, const char *key, const char *text)
{
    json_object_set_new(object, key, text[0] != '\0' ? text_of(ss_strview_of(text)) : json_null());
}

static json_t *sentence_of(const struct ss_sentence *sentence)
{
    struct ss_strbuf text;
    ss_strbuf_init(&text, MAX_TEXT_BYTES);
    ss_sentence_append_raw(sentence, &text);
    json_t *json = text_of((struct ss_strview){text.data, text.length});
    ss_strbuf_fini(&text);
    return json;
}

static json_t *value_of(const struct ss_figure *value);

/* Adds the members of an object. */
static void put_members(json_t *object, const struct ss_figure *value)
{
    for (const struct ss_figure *at = value->members.first; at != NULL; at = at->next) {
        json_object_set_new(object, at->key, value_of(at));
    }
}

static json_t *list_of(const struct ss_figure *value)
{
    json_t *list = json_array();
    for (const struct ss_figure *at = value->members.first; at != NULL; at = at->next) {
        json_array_append_new(list, value_of(at));
    }
    return list;
}

static json_t *object_of(const struct ss_figure *value)
{
    json_t *object = json_object();
    put_members(object, value);
    return object;
}

static json_t *value_of(const struct ss_figure *value)
{
    switch (value->type) {
    case SS_FIGURE_BOOLEAN:
        return json_boolean(value->boolean);
    case SS_FIGURE_INTEGER:
        return json_integer(value->integer);
    case SS_FIGURE_REAL:
        return json_real(value->real);
    case SS_FIGURE_TEXT:
        return text_of(value->text);
    case SS_FIGURE_SENTENCE:
        return sentence_of(&value->sentence);
    case SS_FIGURE_LIST:
        return list_of(value);
    case SS_FIGURE_OBJECT:
        return object_of(value);
    case SS_FIGURE_NULL:
        break;
    }
    return json_null();
}

static json_t *cell_of(const struct ss_cell *cell)
{
    switch (cell->type) {
    case SS_CELL_TEXT:
        return text_of(cell->text);
    case SS_CELL_INTEGER:
        return json_integer(cell->integer);
    case SS_CELL_REAL:
        return json_real(cell->real);
    case SS_CELL_ABSENT:
        break;
    }
    return json_null();
}

static json_t *row_of(const struct ss_table *table, size_t row)
{
    json_t *object = json_object();
    for (size_t c = 0; c < table->column_count; c++) {
        const struct ss_cell *cell = ss_table_cell(table, row, c);
        const struct ss_column *column = &table->columns[c];
        if (!column->is_for_people && (cell->type != SS_CELL_ABSENT || !column->not_in_csv)) {
            json_object_set_new(object, column->key, cell_of(cell));
        }
    }
    return object;
}

static json_t *table_of(const struct ss_table *table)
{
    struct ss_arena arena = {0};
    struct ss_figure *figures = ss_figure_new(&arena);
    json_t *units = json_object();
    for (size_t c = 0; c < table->column_count; c++) {
        if (table->columns[c].unit != NULL && !table->columns[c].is_for_people) {
            put_text(units, table->columns[c].key, table->columns[c].unit);
        }
    }
    json_t *rows = json_array();
    for (size_t row = 0; row < table->row_count; row++) {
        json_array_append_new(rows, row_of(table, row));
    }
    json_t *object = json_object();
    put_text(object, "by", table->name);
    json_object_set_new(object, "units", units);
    ss_table_put_figures(table, figures);
    put_members(object, figures);
    json_object_set_new(object, "rows", rows);
    ss_arena_fini(&arena);
    return object;
}

static json_t *tables_of(const struct ss_document *document)
{
    json_t *tables = json_array();
    for (size_t i = 0; i < document->blocks.count; i++) {
        const struct ss_table *table = ss_block_table_for_programs(&document->blocks.data[i]);
        if (table != NULL) {
            json_array_append_new(tables, table_of(table));
        }
    }
    return tables;
}

enum ss_status ss_report_json(const struct ss_document *document,
                              const struct ss_report_style *style, FILE *out, struct ss_error *err)
{
    (void)style;
    json_t *units = json_object();
    put_text(units, "samples", "sampling ticks");
    put_text(units, "percent", "of the table's shown_samples");
    put_text(units, "points", "percentage points, plus or minus, at 95 %");
    json_t *root = json_object();
    json_object_set_new(root, "schema", json_integer(SCHEMA));
    put_text(root, "stepscope", SS_VERSION);
    json_object_set_new(root, "units", units);
    put_members(root, document->figures);
    json_object_set_new(root, "tables", tables_of(document));
    int failed = json_dumpf(root, out, JSON_INDENT(1) | JSON_REAL_PRECISION(12));
    json_decref(root);
    fputc('\n', out);
    return failed ? ss_fail(err, SS_E_IO, "the JSON could not be written") : SS_OK;
}
