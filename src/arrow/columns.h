/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table as Arrow columns: contiguous buffers, and a bitmap of the cells that have a value. It is
 * built row by row by one thread; ss_columns_finish makes it immutable, and from then on any thread
 * may read, share, export (exported.h) and release it. It owns all of its memory and refers to no
 * model. Texts become valid UTF-8.
 */
#ifndef SS_ARROW_COLUMNS_H
#define SS_ARROW_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/intern.h"
#include "base/strview.h"
#include "base/vec.h"

enum ss_column_type {
    SS_COLUMN_NULL, /* without any value */
    SS_COLUMN_BOOLEAN,
    SS_COLUMN_INT32,
    SS_COLUMN_INT64,
    SS_COLUMN_FLOAT64,
    SS_COLUMN_TEXT,
    SS_COLUMN_WORDS /* texts that recur: indexes into a dictionary */
};

struct ss_column_kind {
    const char *key;
    const char *unit; /* NULL: none */
    enum ss_column_type type;
};

/* Consecutive texts: text i is bytes[ends[i - 1]] to bytes[ends[i]]. */
struct ss_column_texts {
    struct ss_vec_of(char) bytes;
    struct ss_vec_of(int64_t) ends; /* begins with 0 */
    int32_t *narrow_ends;           /* after finish: the same, unless there are 2 GiB of bytes */
};

/* A column, as finish leaves it. */
struct ss_arrow_column {
    const char *key, *unit; /* owned by the table; unit NULL: none */
    enum ss_column_type type;
    int64_t null_count;
    uint8_t *validity;            /* bit i: row i has a value; NULL: all have */
    void *values;                 /* of WORDS: int32_t indexes; of TEXT: NULL */
    struct ss_column_texts texts; /* TEXT: by row; WORDS: the dictionary */
    /* While building. */
    int64_t present;
    struct ss_intern words;
    struct ss_vec_of(uint32_t) word_of; /* by key: word, 0: not seen yet */
};

struct ss_columns {
    unsigned references;
    struct ss_arena arena;
    const char *name;
    size_t row_count, row_capacity, column_count;
    struct ss_arrow_column *columns;
};

/* Without rows; the caller owns one reference. Names, keys and units are copied. */
struct ss_columns *ss_columns_new(const char *name, const struct ss_column_kind *kinds,
                                  size_t count);
/* Appends a column; before the first row. Returns its index. */
size_t ss_columns_add(struct ss_columns *columns, const struct ss_column_kind *kind);
/* Appends a row of absent cells, which the functions below fill. */
void ss_columns_add_row(struct ss_columns *columns);
void ss_columns_put_boolean(struct ss_columns *columns, size_t column, bool value);
/* Of INT32 and INT64; an INT32 column keeps a cell absent that is too large for it. */
void ss_columns_put_integer(struct ss_columns *columns, size_t column, int64_t value);
/* Values above INT64_MAX become INT64_MAX. */
void ss_columns_put_natural(struct ss_columns *columns, size_t column, uint64_t value);
void ss_columns_put_real(struct ss_columns *columns, size_t column, double value);
void ss_columns_put_text(struct ss_columns *columns, size_t column, struct ss_strview text);
/* Of WORDS. `key` is small and stands for the same text in the whole column. Empty texts are
 * absent. */
void ss_columns_put_word(struct ss_columns *columns, size_t column, uint32_t key,
                         struct ss_strview text);
/* The same for a key that was put before; false: it was not. */
bool ss_columns_put_again(struct ss_columns *columns, size_t column, uint32_t key);
void ss_columns_finish(struct ss_columns *columns);

struct ss_columns *ss_columns_share(struct ss_columns *columns); /* returns its argument */
void ss_columns_release(struct ss_columns *columns);             /* NULL is fine */

static inline bool ss_column_has(const struct ss_arrow_column *column, size_t row)
{
    return column->type != SS_COLUMN_NULL &&
           (column->validity == NULL || (column->validity[row / 8] >> (row % 8) & 1) != 0);
}

/* Text of a cell that has one (TEXT, WORDS), after finish. */
struct ss_strview ss_column_text(const struct ss_arrow_column *column, size_t row);
/* The number of texts: rows, or words. */
static inline size_t ss_column_text_count(const struct ss_column_texts *texts)
{
    return texts->ends.count - 1;
}

#endif
