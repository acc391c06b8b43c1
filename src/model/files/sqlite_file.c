/* SPDX-License-Identifier: Apache-2.0 */
#include "model/files/sqlite_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <sqlite3.h>

#include "base/alloc.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "model/files/sqlite_inside.h"

static const char magic[] = "SQLite format 3"; /* with its NUL */

/* Of SQLite in this process. A page cache of 16 MB, a schema, and one row need far less. */
static const sqlite3_int64 most_heap_bytes = 128 << 20;
enum { MOST_TEXT_BYTES = 4 << 20 };

bool ss_sqlite_is(const char *head, size_t length)
{
    return length >= sizeof magic && memcmp(head, magic, sizeof magic) == 0;
}

/* --- opening ---------------------------------------------------------------------------------- */

/* "file:" with what SQLite must not change: no locks, no journals. */
static void put_uri(struct ss_strbuf *uri, const char *path)
{
    ss_strbuf_append_text(uri, path[0] == '/' ? "file://" : "file:");
    for (const unsigned char *at = (const unsigned char *)path; *at != '\0'; at++) {
        bool is_plain = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') ||
                        (*at >= '0' && *at <= '9') || strchr("/._-", *at) != NULL;
        ss_strbuf_append_format(uri, is_plain ? "%c" : "%%%02X", *at);
    }
    ss_strbuf_append_text(uri, "?mode=ro&immutable=1");
}

static void forbid_code(sqlite3 *database)
{
    static const int off[] = {
        SQLITE_DBCONFIG_ENABLE_TRIGGER,  SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION,
#ifdef SQLITE_DBCONFIG_ENABLE_VIEW
        SQLITE_DBCONFIG_ENABLE_VIEW,
#endif
#ifdef SQLITE_DBCONFIG_TRUSTED_SCHEMA
        SQLITE_DBCONFIG_TRUSTED_SCHEMA,
#endif
#ifdef SQLITE_DBCONFIG_WRITABLE_SCHEMA
        SQLITE_DBCONFIG_WRITABLE_SCHEMA,
#endif
    };
    for (size_t i = 0; i < sizeof off / sizeof *off; i++) {
        sqlite3_db_config(database, off[i], 0, (int *)NULL);
    }
#ifdef SQLITE_DBCONFIG_DEFENSIVE
    sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, (int *)NULL);
#endif
}

static void limit(sqlite3 *database)
{
    static const struct {
        int what, most;
    } limits[] = {{SQLITE_LIMIT_LENGTH, MOST_TEXT_BYTES},
                  {SQLITE_LIMIT_SQL_LENGTH, 1 << 20},
                  {SQLITE_LIMIT_COLUMN, 500},
                  {SQLITE_LIMIT_EXPR_DEPTH, 100},
                  {SQLITE_LIMIT_COMPOUND_SELECT, 3},
                  {SQLITE_LIMIT_VDBE_OP, 25000},
                  {SQLITE_LIMIT_FUNCTION_ARG, 8},
                  {SQLITE_LIMIT_ATTACHED, 0},
                  {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 64},
                  {SQLITE_LIMIT_VARIABLE_NUMBER, 8},
                  {SQLITE_LIMIT_TRIGGER_DEPTH, 1},
                  {SQLITE_LIMIT_WORKER_THREADS, 0}};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        sqlite3_limit(database, limits[i].what, limits[i].most);
    }
}

/* A file that shrinks while it is mapped would end the process. */
static const char settings[] = "PRAGMA cell_size_check=ON; PRAGMA mmap_size=0;"
                               "PRAGMA cache_size=-16384; PRAGMA temp_store=MEMORY;"
                               "PRAGMA query_only=ON";

static enum ss_status fail_open(struct ss_sqlite_file *file, const char *path, struct ss_error *err)
{
    int code = file->database != NULL ? sqlite3_errcode(file->database) & 0xff : SQLITE_NOMEM;
    const char *reason = file->database != NULL ? sqlite3_errmsg(file->database) : "out of memory";
    enum ss_status status = code == SQLITE_NOMEM      ? SS_E_LIMIT
                            : code == SQLITE_CANTOPEN ? SS_E_IO
                                                      : SS_E_FORMAT;
    return ss_fail(err, status, "cannot read the SQLite file %s: %s", path, reason);
}

/* The head of an SQLite file: the size of its pages, and their number. */
uint64_t ss_sqlite_stated_bytes(const char *head)
{
    const unsigned char *bytes = (const unsigned char *)head;
    enum { PAGE_SIZE_AT = 16, PAGES_AT = 28 };
    uint64_t page = (uint64_t)bytes[PAGE_SIZE_AT] << 8 | bytes[PAGE_SIZE_AT + 1];
    uint64_t pages = 0;
    for (int i = 0; i < 4; i++) {
        pages = pages << 8 | bytes[PAGES_AT + i];
    }
    return (page == 1 ? 65536 : page) * pages;
}

/* SQLite would only say that the file is malformed. */
static enum ss_status check_size(const char *path, const char *name, uint64_t file_bytes,
                                 struct ss_error *err)
{
    char head[SS_SQLITE_HEAD_BYTES] = "";
    FILE *file = fopen(path, "rbe");
    size_t got = file != NULL ? fread(head, 1, sizeof head, file) : 0;
    if (file != NULL) {
        fclose(file);
    }
    if (got == sizeof head && ss_sqlite_is(head, got) &&
        ss_sqlite_stated_bytes(head) > file_bytes) {
        return ss_fail(err, SS_E_FORMAT,
                       "%s is cut: %" PRIu64 " of %" PRIu64 " bytes; copy or export it again", name,
                       file_bytes, ss_sqlite_stated_bytes(head));
    }
    return SS_OK;
}

static enum ss_status open_database(struct ss_sqlite_file *file, const char *path, const char *name,
                                    struct ss_error *err)
{
    struct ss_strbuf uri;
    ss_strbuf_init(&uri, 1 << 18);
    put_uri(&uri, path);
    int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX;
    int code = sqlite3_open_v2(uri.data, &file->database, flags, NULL);
    ss_strbuf_fini(&uri);
    if (code != SQLITE_OK) {
        return fail_open(file, name, err);
    }
    forbid_code(file->database);
    limit(file->database);
    sqlite3_stmt *schema = NULL;
    if (sqlite3_exec(file->database, settings, NULL, NULL, NULL) != SQLITE_OK ||
        sqlite3_prepare_v2(file->database, "SELECT count(*) FROM main.sqlite_master", -1, &schema,
                           NULL) != SQLITE_OK ||
        sqlite3_step(schema) != SQLITE_ROW) {
        enum ss_status status = fail_open(file, name, err);
        sqlite3_finalize(schema);
        return status;
    }
    sqlite3_finalize(schema);
    return SS_OK;
}

static sqlite3_int64 set_heap_limit(sqlite3_int64 bytes)
{
#if SQLITE_VERSION_NUMBER >= 3031000
    return sqlite3_hard_heap_limit64(bytes);
#else
    return sqlite3_soft_heap_limit64(bytes);
#endif
}

enum ss_status ss_sqlite_open(const char *path, const char *name, struct ss_sqlite_file **opened,
                              struct ss_error *err)
{
    struct stat status;
    *opened = NULL;
    if (stat(path, &status) != 0) {
        return ss_fail_errno(err, errno, "cannot open %s", name);
    }
    if (!S_ISREG(status.st_mode)) {
        return ss_fail(err, SS_E_FORMAT,
                       "%s is an SQLite file, which must be a regular file: "
                       "write it to one",
                       name);
    }
    SS_TRY(check_size(path, name, (uint64_t)status.st_size, err));
    struct ss_sqlite_file *file = ss_alloc_zero(1, sizeof *file);
    file->file_bytes = file->content_bytes = (uint64_t)status.st_size;
    file->heap_limit_before = set_heap_limit(most_heap_bytes);
    enum ss_status result = open_database(file, path, name, err);
    if (result != SS_OK) {
        ss_sqlite_close(file);
        return result;
    }
    *opened = file;
    return SS_OK;
}

void ss_sqlite_close(struct ss_sqlite_file *file)
{
    if (file == NULL) {
        return;
    }
    sqlite3_close(file->database);
    set_heap_limit(file->heap_limit_before);
    ss_free(file);
}

void ss_sqlite_charge(struct ss_sqlite_file *file, struct ss_input_budget *budget, bool is_packed)
{
    file->budget = budget;
    if (budget != NULL && !is_packed) {
        file->content_bytes = budget->stored_bytes;
    }
}

/* --- damage ----------------------------------------------------------------------------------- */

void ss_sqlite_add_damage(struct ss_sqlite_file *file, const char *table, const char *reason)
{
    if (file->damages++ == 0) {
        snprintf(file->first_damage, sizeof file->first_damage, "%s: %s", table, reason);
    }
}

struct ss_sqlite_reading ss_sqlite_reading(const struct ss_sqlite_file *file)
{
    return (struct ss_sqlite_reading){.file_bytes = file->file_bytes,
                                      .rows = file->rows,
                                      .damages = file->damages,
                                      .first_damage =
                                          file->damages > 0 ? file->first_damage : NULL};
}

/* Pages that refer to one page many times make billions of rows out of few bytes. */
bool ss_sqlite_is_plausible(struct ss_sqlite_file *file, const char *table, size_t text_bytes)
{
    enum { LEAST_ROW_BYTES = 4, MOST_READINGS_OF_A_TEXT = 4, FREE_BYTES = 1 << 20 };
    file->text_bytes += text_bytes;
    bool is_plausible =
        file->rows <= file->content_bytes / LEAST_ROW_BYTES &&
        file->text_bytes <= MOST_READINGS_OF_A_TEXT * file->content_bytes + FREE_BYTES;
    if (!is_plausible && !file->is_implausible) {
        file->is_implausible = true;
        ss_sqlite_add_damage(file, table, "more content than the file has bytes");
    }
    return is_plausible;
}

/* --- rows ------------------------------------------------------------------------------------- */

enum { MOST_NAME_BYTES = 80 };

static bool is_plain_name(const char *name)
{
    return name != NULL && strlen(name) < MOST_NAME_BYTES &&
           name[strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_")] ==
               '\0';
}

/* The first table that the query, which has one parameter, names. A plain table has a page; a
 * virtual one has none. */
static bool find_table(struct ss_sqlite_file *file, const char *query, const char *parameter,
                       char name[MOST_NAME_BYTES])
{
    sqlite3_stmt *statement = NULL;
    const char *found = NULL;
    if (sqlite3_prepare_v2(file->database, query, -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_bind_text(statement, 1, parameter, -1, SQLITE_STATIC) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW) {
        found = (const char *)sqlite3_column_text(statement, 0);
    }
    bool is_found = is_plain_name(found);
    if (is_found) {
        snprintf(name, MOST_NAME_BYTES, "%s", found);
    }
    sqlite3_finalize(statement);
    return is_found;
}

/* The table, or a later version of it: NVTX_EVENTS_V2 for NVTX_EVENTS. */
static bool table_name(struct ss_sqlite_file *file, const char *table, char name[MOST_NAME_BYTES])
{
    static const char query[] =
        "SELECT name FROM main.sqlite_master WHERE type='table' AND rootpage>0 AND "
        "(name=?1 OR name GLOB ?1||'_V[0-9]*') ORDER BY name<>?1, name DESC LIMIT 1";
    return find_table(file, query, table, name);
}

bool ss_sqlite_has_table(struct ss_sqlite_file *file, const char *table)
{
    char name[MOST_NAME_BYTES];
    return table_name(file, table, name);
}

bool ss_sqlite_has_table_like(struct ss_sqlite_file *file, const char *prefix)
{
    static const char query[] = "SELECT name FROM main.sqlite_master WHERE type='table' AND "
                                "rootpage>0 AND name GLOB ?1||'*' LIMIT 1";
    char name[MOST_NAME_BYTES];
    return find_table(file, query, prefix, name);
}

/* `columns` are names of our own. */
static sqlite3_stmt *prepare(struct ss_sqlite_file *file, const char *format, const char *table)
{
    struct ss_strbuf query;
    sqlite3_stmt *statement = NULL;
    ss_strbuf_init(&query, 4096);
    ss_strbuf_append_text(&query, format);
    ss_strbuf_append_format(&query, "\"%s\"", table);
    if (sqlite3_prepare_v2(file->database, query.data, -1, &statement, NULL) != SQLITE_OK) {
        ss_sqlite_add_damage(file, table, sqlite3_errmsg(file->database));
    }
    ss_strbuf_fini(&query);
    return statement;
}

uint64_t ss_sqlite_last_row(struct ss_sqlite_file *file, const char *table)
{
    char name[MOST_NAME_BYTES];
    sqlite3_stmt *statement =
        table_name(file, table, name) ? prepare(file, "SELECT max(rowid) FROM main.", name) : NULL;
    bool has = statement != NULL && sqlite3_step(statement) == SQLITE_ROW;
    sqlite3_int64 last = has ? sqlite3_column_int64(statement, 0) : 0;
    sqlite3_finalize(statement);
    return last > 0 ? (uint64_t)last : 0;
}

size_t ss_sqlite_find_columns(struct ss_sqlite_file *file, const char *table,
                              const char *const *columns, size_t count, bool *has, bool *is_key)
{
    char pragma[128], name_in_file[MOST_NAME_BYTES];
    sqlite3_stmt *statement = NULL;
    size_t found = 0;
    memset(has, 0, count * sizeof *has);
    memset(is_key, 0, count * sizeof *is_key);
    /* Neither generated nor hidden columns are in the list. */
    if (!table_name(file, table, name_in_file)) {
        return 0;
    }
    snprintf(pragma, sizeof pragma, "PRAGMA main.table_info(\"%s\")", name_in_file);
    if (sqlite3_prepare_v2(file->database, pragma, -1, &statement, NULL) != SQLITE_OK) {
        return 0;
    }
    while (sqlite3_step(statement) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(statement, 1);
        const char *type = (const char *)sqlite3_column_text(statement, 2);
        for (size_t i = 0; i < count && name != NULL; i++) {
            if (strcmp(name, columns[i]) == 0) {
                has[i] = true;
                is_key[i] = sqlite3_column_int(statement, 5) == 1 && type != NULL &&
                            sqlite3_stricmp(type, "INTEGER") == 0;
                found++;
            }
        }
    }
    sqlite3_finalize(statement);
    return found;
}

bool ss_sqlite_begin(struct ss_sqlite_rows *rows, struct ss_sqlite_file *file, const char *table,
                     const char *const *columns, size_t count)
{
    bool has[SS_SQLITE_MOST_COLUMNS], is_key[SS_SQLITE_MOST_COLUMNS];
    *rows = (struct ss_sqlite_rows){.file = file, .table = table};
    if (count > SS_SQLITE_MOST_COLUMNS) {
        ss_bug("%zu columns of %s", count, table);
    }
    if (ss_sqlite_find_columns(file, table, columns, count, has, is_key) == 0) {
        return false;
    }
    struct ss_strbuf query;
    char name[MOST_NAME_BYTES];
    ss_strbuf_init(&query, 4096);
    for (size_t i = 0; i < count; i++) {
        ss_strbuf_append_text(&query, i == 0 ? "SELECT " : ",");
        ss_strbuf_append_format(&query, has[i] ? "\"%s\"" : "NULL", columns[i]);
    }
    ss_strbuf_append_text(&query, " FROM main.");
    rows->statement = table_name(file, table, name) ? prepare(file, query.data, name) : NULL;
    ss_strbuf_fini(&query);
    return rows->statement != NULL;
}

/* False: the input costs too much, which the importer's caller reports. */
static bool is_affordable(const struct ss_sqlite_file *file)
{
    return ss_input_budget_check(file->budget, NULL) == SS_OK;
}

bool ss_sqlite_next(struct ss_sqlite_rows *rows)
{
    struct ss_sqlite_file *file = rows->file;
    int code = rows->statement != NULL ? sqlite3_step(rows->statement) : SQLITE_DONE;
    if (code == SQLITE_ROW) {
        file->rows++;
        return ss_sqlite_is_plausible(file, rows->table, 0) && is_affordable(file);
    }
    if (code != SQLITE_DONE) {
        ss_sqlite_add_damage(file, rows->table, sqlite3_errmsg(file->database));
    }
    return false;
}

void ss_sqlite_end(struct ss_sqlite_rows *rows)
{
    sqlite3_finalize(rows->statement);
    rows->statement = NULL;
}

bool ss_sqlite_integer(const struct ss_sqlite_rows *rows, int column, int64_t *value)
{
    if (sqlite3_column_type(rows->statement, column) != SQLITE_INTEGER) {
        return false;
    }
    *value = sqlite3_column_int64(rows->statement, column);
    return true;
}

bool ss_sqlite_real(const struct ss_sqlite_rows *rows, int column, double *value)
{
    int type = sqlite3_column_type(rows->statement, column);
    if (type != SQLITE_INTEGER && type != SQLITE_FLOAT) {
        return false;
    }
    *value = sqlite3_column_double(rows->statement, column);
    return true;
}

struct ss_strview ss_sqlite_column_text(struct ss_sqlite_file *file, sqlite3_stmt *statement,
                                        int column, const char *table)
{
    int type = sqlite3_column_type(statement, column);
    if (type != SQLITE_TEXT && type != SQLITE_BLOB) {
        return (struct ss_strview){"", 0};
    }
    const void *data = type == SQLITE_TEXT ? (const void *)sqlite3_column_text(statement, column)
                                           : sqlite3_column_blob(statement, column);
    size_t length = (size_t)sqlite3_column_bytes(statement, column);
    if (data == NULL || !ss_sqlite_is_plausible(file, table, length)) {
        return (struct ss_strview){"", 0};
    }
    return (struct ss_strview){data, length};
}

struct ss_strview ss_sqlite_text(struct ss_sqlite_rows *rows, int column)
{
    return ss_sqlite_column_text(rows->file, rows->statement, column, rows->table);
}
