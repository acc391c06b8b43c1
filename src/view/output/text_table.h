/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Aligned columns through libsmartcols, fitted to a width: cells of shrinkable columns are cut in
 * the middle, the widest column first. One owner.
 */
#ifndef SS_VIEW_OUTPUT_TEXT_TABLE_H
#define SS_VIEW_OUTPUT_TEXT_TABLE_H

#include <stdbool.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/strview.h"
#include "base/vec.h"

struct ss_text_column {
    const char *title;
    const char *short_title; /* used if the title does not fit; NULL: cuts the title */
    bool right;
    size_t least;   /* minimum width; 0: does not shrink */
    unsigned drops; /* omitted if the width is too small, the highest first; 0: never */
};

struct ss_text_cell {
    const char *text; /* clean; NULL: empty */
    const char *colour;
};

struct ss_text_table {
    struct ss_text_column *columns;
    size_t column_count;
    struct ss_arena arena;
    struct ss_vec_of(struct ss_text_cell) cells;
    struct ss_vec_of(const char *) row_colours; /* NULL: none */
};

/* Copies the columns, not their titles. */
void ss_text_table_init(struct ss_text_table *table, const struct ss_text_column *columns,
                        size_t column_count);
/* With blank columns, for the caller to set; titles may live in `arena`. */
void ss_text_table_init_blank(struct ss_text_table *table, size_t column_count);
void ss_text_table_fini(struct ss_text_table *table);
void ss_text_table_add_row(struct ss_text_table *table, const char *colour);
/* Sets a cell of the newest row; the text is cleaned and copied. `colour` may be NULL. */
void ss_text_table_put(struct ss_text_table *table, size_t column, struct ss_strview text,
                       const char *colour);
void ss_text_table_putf(struct ss_text_table *table, size_t column, const char *colour,
                        const char *format, ...) SS_PRINTF(4, 5);
/* Whether the column draws the number before it; a view that is not a terminal leaves it out. */
bool ss_text_table_is_drawing(const struct ss_text_table *table, size_t column);
/* Whether the column is not a drawing, and has a title or text. */
bool ss_text_table_is_shown(const struct ss_text_table *table, size_t column);
/* `width` 0: no limit. */
enum ss_status ss_text_table_print(const struct ss_text_table *table, FILE *out, size_t width,
                                   bool colour, struct ss_error *err);

#endif
