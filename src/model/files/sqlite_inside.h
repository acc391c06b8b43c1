/* SPDX-License-Identifier: Apache-2.0 */
/* Internals of struct ss_sqlite_file, shared by sqlite_file.c and sqlite_texts.c. */
#ifndef SS_MODEL_FILES_SQLITE_INSIDE_H
#define SS_MODEL_FILES_SQLITE_INSIDE_H

#include <sqlite3.h>

#include "model/files/sqlite_file.h"

struct ss_sqlite_file {
    sqlite3 *database;
    sqlite3_int64 heap_limit_before;
    uint64_t file_bytes, content_bytes; /* content: without holes */
    struct ss_input_budget *budget;     /* NULL: no limits */
    uint64_t rows, text_bytes;          /* read so far */
    bool is_implausible;                /* more of them than the file can hold */
    uint64_t damages;
    char first_damage[256];
};

void ss_sqlite_add_damage(struct ss_sqlite_file *file, const char *table, const char *reason);
/* Counts bytes of a text. False: the file has yielded more than it can hold. */
bool ss_sqlite_is_plausible(struct ss_sqlite_file *file, const char *table, size_t text_bytes);
/* Which of the columns the table has, and whether each is its primary key of type INTEGER, by which
 * SQLite finds a row at once. Returns how many it has. */
size_t ss_sqlite_find_columns(struct ss_sqlite_file *file, const char *table,
                              const char *const *columns, size_t count, bool *has, bool *is_key);
struct ss_strview ss_sqlite_column_text(struct ss_sqlite_file *file, sqlite3_stmt *statement,
                                        int column, const char *table);

#endif
