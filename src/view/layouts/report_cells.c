/* SPDX-License-Identifier: Apache-2.0 */
/* Cells of the tables for people. */
#include <inttypes.h>

#include "view/layouts/report_tables.h"
#include "view/output/text_cell.h"

enum { MAX_CELL_BYTES = 64, MOST_ID_BYTES = 4096 };

static void put_text(struct ss_text_table *table, size_t column, struct ss_strbuf *text)
{
    ss_text_table_put(table, column, (struct ss_strview){text->data, text->length}, NULL);
    ss_strbuf_fini(text);
}

void ss_report_put_duration(struct ss_text_table *table, size_t column, const struct ss_cell *cell)
{
    struct ss_strbuf text;
    if (cell->type == SS_CELL_INTEGER) {
        ss_strbuf_init(&text, MAX_CELL_BYTES);
        ss_strbuf_append_text(&text, cell->integer < 0 ? "-" : "");
        ss_text_append_duration(&text, cell->integer < 0 ? 0 - (uint64_t)cell->integer
                                                         : (uint64_t)cell->integer);
        put_text(table, column, &text);
    }
}

void ss_report_put_count(struct ss_text_table *table, size_t column, const struct ss_cell *cell)
{
    struct ss_strbuf text;
    if (cell->type == SS_CELL_INTEGER) {
        ss_strbuf_init(&text, MAX_CELL_BYTES);
        ss_text_append_count(&text, (uint64_t)cell->integer);
        put_text(table, column, &text);
    }
}

void ss_report_put_bytes(struct ss_text_table *table, size_t column, const struct ss_cell *cell,
                         bool is_change)
{
    struct ss_strbuf text;
    if (cell->type == SS_CELL_ABSENT) {
        return;
    }
    double bytes = cell->type == SS_CELL_REAL ? cell->real : (double)cell->integer;
    ss_strbuf_init(&text, MAX_CELL_BYTES);
    if (is_change && bytes > 0) {
        ss_strbuf_append_char(&text, '+');
    }
    ss_text_append_bytes(&text, bytes);
    put_text(table, column, &text);
}

/* A bar of ten columns in eighths of a column: 80 levels. */
void ss_report_put_bar(struct ss_text_table *table, size_t column, double percent,
                       const char *colour)
{
    static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    struct ss_strbuf bar;
    ss_strbuf_init(&bar, 64);
    int eighths_left = (int)(percent * 80 / 100 + 0.5);
    for (; eighths_left >= 8; eighths_left -= 8) {
        ss_strbuf_append_text(&bar, "█");
    }
    ss_strbuf_append_text(&bar, eighths_left > 0 ? eighths[eighths_left] : "");
    ss_text_table_put(table, column, (struct ss_strview){bar.data, bar.length}, colour);
    ss_strbuf_fini(&bar);
}

const char *ss_report_share_colour(double percent)
{
    return percent >= 25 ? "lightred" : percent >= 10 ? "brown" : NULL;
}

static void append_id(struct ss_strbuf *out, const struct ss_cell *cell)
{
    if (cell->type == SS_CELL_INTEGER) {
        ss_strbuf_append_format(out, "%" PRId64, cell->integer);
    } else if (cell->type == SS_CELL_TEXT) {
        ss_strbuf_append_view(out, cell->text);
    }
}

static void put_coloured(struct ss_text_table *table, size_t column, const char *colour,
                         struct ss_strbuf *text)
{
    if (text->length > 0) {
        ss_text_table_put(table, column, (struct ss_strview){text->data, text->length}, colour);
    }
    ss_strbuf_fini(text);
}

void ss_report_put_id(struct ss_text_table *table, size_t column, const char *colour,
                      const struct ss_cell *cell)
{
    struct ss_strbuf text;
    ss_strbuf_init(&text, MOST_ID_BYTES);
    append_id(&text, cell);
    put_coloured(table, column, colour, &text);
}

void ss_report_put_owner(struct ss_text_table *table, size_t column, const struct ss_cell *cells)
{
    struct ss_strbuf text;
    ss_strbuf_init(&text, MOST_ID_BYTES);
    append_id(&text, &cells[0]);
    ss_strbuf_append_text(&text, cells[1].type != SS_CELL_ABSENT && text.length > 0 ? "/" : "");
    append_id(&text, &cells[1]);
    if (cells[1].type == SS_CELL_INTEGER && cells[2].type == SS_CELL_TEXT) {
        ss_strbuf_append_char(&text, ' ');
        ss_strbuf_append_view(&text, cells[2].text);
    }
    put_coloured(table, column, "cyan", &text);
}
