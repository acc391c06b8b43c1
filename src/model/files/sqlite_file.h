/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of SQLite files that other tools wrote. The content is hostile: of the file, only plain
 * tables count. Views, virtual tables, triggers and generated columns run code of the file, so that
 * they are as if absent. The rows and texts that a file can yield are capped by its size, the
 * memory of SQLite by a limit. The file is read as it is, without locks or journals. Owned by one
 * thread; one file is open at a time, because the limit is the process's. Private to model/.
 */
#ifndef SS_MODEL_FILES_SQLITE_FILE_H
#define SS_MODEL_FILES_SQLITE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/strview.h"
#include "model/files/input_budget.h"

enum { SS_SQLITE_MOST_COLUMNS = 32 };

struct ss_sqlite_file;
struct sqlite3_stmt;

/* Whether the first bytes are the magic of an SQLite file. */
bool ss_sqlite_is(const char *head, size_t length);
/* The size that the first bytes, at least SS_SQLITE_HEAD_BYTES, state; 0: none. */
enum { SS_SQLITE_HEAD_BYTES = 32 };
uint64_t ss_sqlite_stated_bytes(const char *head);
/* `name` is that of messages. */
enum ss_status ss_sqlite_open(const char *path, const char *name, struct ss_sqlite_file **file,
                              struct ss_error *err);
void ss_sqlite_close(struct ss_sqlite_file *file);
/* Charges what is read to the input, after whose refusal every table ends. Borrowed. `is_packed`:
 * the file is a copy of an archive's member. */
void ss_sqlite_charge(struct ss_sqlite_file *file, struct ss_input_budget *budget, bool is_packed);

/* Wherever a table is named, a later version of it stands in: NVTX_EVENTS_V2 for NVTX_EVENTS. */
bool ss_sqlite_has_table(struct ss_sqlite_file *file, const char *table);
/* Whether a table's name begins so. */
bool ss_sqlite_has_table_like(struct ss_sqlite_file *file, const char *prefix);
/* The highest row number of the table; 0: no rows, or no table. */
uint64_t ss_sqlite_last_row(struct ss_sqlite_file *file, const char *table);

/* What was read of the file, and what could not be. */
struct ss_sqlite_reading {
    uint64_t file_bytes, rows;
    uint64_t damages;         /* places that could not be read */
    const char *first_damage; /* "TABLE: why"; NULL: none */
};
struct ss_sqlite_reading ss_sqlite_reading(const struct ss_sqlite_file *file);

/* The rows of one table, in the order of the file. */
struct ss_sqlite_rows {
    struct ss_sqlite_file *file;
    struct sqlite3_stmt *statement; /* NULL: no such table */
    const char *table;
};

/* Columns that the table lacks are empty in each row. False: it has no such table, or none of the
 * columns. */
bool ss_sqlite_begin(struct ss_sqlite_rows *rows, struct ss_sqlite_file *file, const char *table,
                     const char *const *columns, size_t count);
/* False at the end of the table, and where it is damaged. */
bool ss_sqlite_next(struct ss_sqlite_rows *rows);
void ss_sqlite_end(struct ss_sqlite_rows *rows);

/* The value of a column in the current row; false, or empty: it has none of this type. */
bool ss_sqlite_integer(const struct ss_sqlite_rows *rows, int column, int64_t *value);
bool ss_sqlite_real(const struct ss_sqlite_rows *rows, int column, double *value);
/* Of texts and blobs; valid until the next row. */
struct ss_strview ss_sqlite_text(struct ss_sqlite_rows *rows, int column);

/* Texts by number: a table with columns for both. */
struct ss_sqlite_texts;
/* Never NULL; without such a table, no number has a text. */
struct ss_sqlite_texts *ss_sqlite_texts_new(struct ss_sqlite_file *file, const char *table,
                                            const char *number_column, const char *text_column);
void ss_sqlite_texts_free(struct ss_sqlite_texts *texts);
/* Valid until the next call; false: the number has no text. */
bool ss_sqlite_texts_get(struct ss_sqlite_texts *texts, int64_t number, struct ss_strview *text);

#endif
