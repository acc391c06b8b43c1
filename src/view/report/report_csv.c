/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of a report in order, separated by empty lines; RFC 4180. */
#include <inttypes.h>
#include <string.h>

#include "base/clean.h"
#include "view/output/report.h"

enum { MAX_FIELD_BYTES = 64 << 20 };

/* A spreadsheet executes cells that begin so, quoted or not; a ' before them makes them text. */
static bool begins_formula(struct ss_strview text)
{
    return text.length > 0 && strchr("=+-@\t", text.data[0]) != NULL && text.data[0] != '\0';
}

static void write_text(FILE *out, struct ss_strview text, bool keeps_formulas)
{
    struct ss_strbuf valid;
    ss_strbuf_init(&valid, MAX_FIELD_BYTES);
    ss_strbuf_append_text(&valid, !keeps_formulas && begins_formula(text) ? "'" : "");
    ss_clean_append_name(&valid, text);
    /* Quotes preserve leading and trailing blanks, which some readers trim. */
    bool quoted =
        strpbrk(valid.data, ",\"\r\n") != NULL || strlen(valid.data) < valid.length ||
        (valid.length > 0 && (valid.data[0] == ' ' || valid.data[valid.length - 1] == ' '));
    if (quoted) {
        fputc('"', out);
    }
    for (size_t i = 0; i < valid.length; i++) {
        if (valid.data[i] == '"') {
            fputc('"', out);
        }
        fputc(valid.data[i], out);
    }
    if (quoted) {
        fputc('"', out);
    }
    ss_strbuf_fini(&valid);
}

static void write_cell(FILE *out, const struct ss_cell *cell, const struct ss_column *column,
                       bool keeps_formulas)
{
    bool is_share = column->unit != NULL &&
                    (strcmp(column->unit, "percent") == 0 || strcmp(column->unit, "points") == 0);
    switch (cell->type) {
    case SS_CELL_ABSENT:
        break;
    case SS_CELL_TEXT:
        write_text(out, cell->text, keeps_formulas);
        break;
    case SS_CELL_INTEGER:
        fprintf(out, "%" PRId64, cell->integer);
        break;
    case SS_CELL_REAL:
        fprintf(out, is_share ? "%.4f" : "%.12g", cell->real);
        break;
    }
}

static bool is_written(const struct ss_column *column)
{
    return !column->not_in_csv && !column->is_for_people;
}

static void write_table(const struct ss_table *table, bool keeps_formulas, FILE *out)
{
    const char *separator = "";
    for (size_t c = 0; c < table->column_count; c++) {
        if (is_written(&table->columns[c])) {
            fprintf(out, "%s%s", separator, table->columns[c].key);
            separator = ",";
        }
    }
    fputs("\r\n", out);
    for (size_t row = 0; row < table->row_count; row++) {
        separator = "";
        for (size_t c = 0; c < table->column_count; c++) {
            if (is_written(&table->columns[c])) {
                fputs(separator, out);
                write_cell(out, ss_table_cell(table, row, c), &table->columns[c], keeps_formulas);
                separator = ",";
            }
        }
        fputs("\r\n", out);
    }
}

enum ss_status ss_report_csv(const struct ss_document *document,
                             const struct ss_report_style *style, FILE *out, struct ss_error *err)
{
    (void)err;
    const char *separator = "";
    for (size_t i = 0; i < document->blocks.count; i++) {
        const struct ss_table *table = ss_block_table_for_programs(&document->blocks.data[i]);
        if (table != NULL) {
            fputs(separator, out);
            write_table(table, style->keeps_formulas, out);
            separator = "\r\n";
        }
    }
    return SS_OK;
}
