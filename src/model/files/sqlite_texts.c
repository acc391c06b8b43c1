/* SPDX-License-Identifier: Apache-2.0 */
/* Texts by number. Where the number is the table's key, SQLite finds it; a copy of a table that has
 * lost its key gets a list of its rows here. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/search.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "model/files/sqlite_inside.h"

struct place {
    int64_t number, row;
};

struct ss_sqlite_texts {
    struct ss_sqlite_file *file;
    const char *table;
    sqlite3_stmt *by_row;                  /* NULL: no such table */
    bool is_keyed;                         /* the number is the row's */
    struct ss_vec_of(struct place) places; /* unless keyed, by number */
};

static int compare_places(const void *left, const void *right)
{
    const struct place *a = left, *b = right;
    return a->number != b->number ? (a->number > b->number) - (a->number < b->number)
                                  : (a->row > b->row) - (a->row < b->row);
}

static void list_places(struct ss_sqlite_texts *texts, const char *number_column)
{
    const char *const columns[] = {number_column, "rowid"};
    struct ss_strbuf query;
    struct ss_sqlite_rows rows = {.file = texts->file, .table = texts->table};
    ss_strbuf_init(&query, 4096);
    ss_strbuf_append_format(&query, "SELECT \"%s\",%s FROM main.\"%s\"", columns[0], columns[1],
                            texts->table);
    if (sqlite3_prepare_v2(texts->file->database, query.data, -1, &rows.statement, NULL) !=
        SQLITE_OK) {
        ss_sqlite_add_damage(texts->file, texts->table, sqlite3_errmsg(texts->file->database));
    }
    ss_strbuf_fini(&query);
    struct place place;
    while (ss_sqlite_next(&rows)) {
        if (ss_sqlite_integer(&rows, 0, &place.number) && ss_sqlite_integer(&rows, 1, &place.row)) {
            ss_vec_push(&texts->places, place);
        }
    }
    ss_sqlite_end(&rows);
    if (texts->places.count > 1) {
        qsort(texts->places.data, texts->places.count, sizeof place, compare_places);
    }
}

static void prepare(struct ss_sqlite_texts *texts, const char *number_column,
                    const char *text_column)
{
    const char *const columns[] = {number_column, text_column};
    bool has[2], is_key[2];
    if (ss_sqlite_find_columns(texts->file, texts->table, columns, 2, has, is_key) != 2) {
        return;
    }
    struct ss_strbuf query;
    texts->is_keyed = is_key[0];
    ss_strbuf_init(&query, 4096);
    ss_strbuf_append_format(&query, "SELECT \"%s\" FROM main.\"%s\" WHERE \"%s\"=?1", text_column,
                            texts->table, texts->is_keyed ? number_column : "rowid");
    if (sqlite3_prepare_v2(texts->file->database, query.data, -1, &texts->by_row, NULL) !=
        SQLITE_OK) {
        ss_sqlite_add_damage(texts->file, texts->table, sqlite3_errmsg(texts->file->database));
    }
    ss_strbuf_fini(&query);
    if (!texts->is_keyed && texts->by_row != NULL) {
        list_places(texts, number_column);
    }
}

struct ss_sqlite_texts *ss_sqlite_texts_new(struct ss_sqlite_file *file, const char *table,
                                            const char *number_column, const char *text_column)
{
    struct ss_sqlite_texts *texts = ss_alloc_zero(1, sizeof *texts);
    texts->file = file;
    texts->table = table;
    prepare(texts, number_column, text_column);
    return texts;
}

void ss_sqlite_texts_free(struct ss_sqlite_texts *texts)
{
    if (texts != NULL) {
        sqlite3_finalize(texts->by_row);
        ss_vec_fini(&texts->places);
        ss_free(texts);
    }
}

/* The first place at or behind the number. */
static size_t find_place(const struct ss_sqlite_texts *texts, int64_t number)
{
    return ss_search(i, 0, texts->places.count, texts->places.data[i].number < number);
}

bool ss_sqlite_texts_get(struct ss_sqlite_texts *texts, int64_t number, struct ss_strview *text)
{
    int64_t row = number;
    if (texts->by_row == NULL) {
        return false;
    }
    if (!texts->is_keyed) {
        size_t at = find_place(texts, number);
        if (at == texts->places.count || texts->places.data[at].number != number) {
            return false;
        }
        row = texts->places.data[at].row;
    }
    sqlite3_reset(texts->by_row);
    sqlite3_bind_int64(texts->by_row, 1, row);
    int code = sqlite3_step(texts->by_row);
    if (code != SQLITE_ROW) {
        if (code != SQLITE_DONE) {
            ss_sqlite_add_damage(texts->file, texts->table, sqlite3_errmsg(texts->file->database));
        }
        return false;
    }
    *text = ss_sqlite_column_text(texts->file, texts->by_row, 0, texts->table);
    return text->length > 0 || sqlite3_column_type(texts->by_row, 0) == SQLITE_TEXT;
}
