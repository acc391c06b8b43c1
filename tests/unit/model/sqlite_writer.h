/* SPDX-License-Identifier: Apache-2.0 */
/* Writes SQLite files by statements, and loads exports of Nsight Systems made of them. */
#ifndef SS_TEST_SQLITE_WRITER_H
#define SS_TEST_SQLITE_WRITER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "model/files/importer.h"

static char path[] = "/tmp/ss_sqlite.XXXXXX";
static struct ss_model model;
static struct ss_error err;

/* A new file of these statements, of pages of 4096 bytes. */
static inline void write_file(const char *statements)
{
    sqlite3 *database;
    char *message = NULL;
    assert_int_equal(truncate(path, 0), 0);
    assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
    sqlite3_exec(database, "PRAGMA page_size=4096; PRAGMA synchronous=OFF;", NULL, NULL, NULL);
    sqlite3_exec(database, statements, NULL, NULL, &message);
    if (message != NULL) {
        fail_msg("%s", message);
    }
    assert_int_equal(sqlite3_close(database), SQLITE_OK);
}

static inline enum ss_status load_file_with(const struct ss_model_load *load)
{
    ss_model_fini(&model);
    ss_model_init(&model);
    err = (struct ss_error){0};
    return ss_import_file(&model, path, true, load, &err);
}

static inline enum ss_status load_file(void)
{
    struct ss_model_load load = {.size = sizeof load, .quiet = true, .keep_samples = true};
    return load_file_with(&load);
}

static inline void load_statements(const char *statements)
{
    write_file(statements);
    enum ss_status status = load_file();
    if (status != SS_OK) {
        fail_msg("%s", err.message);
    }
}

static inline const char *text(uint32_t string)
{
    return ss_model_text(&model, string);
}

static inline const struct ss_model_name *name_of(const struct ss_model_range *range)
{
    return &model.names.data[model.paths.data[range->path].name];
}

static inline size_t count_ranges(const char *name)
{
    size_t count = 0;
    for (size_t i = 0; i < model.ranges.count; i++) {
        count += strcmp(text(name_of(&model.ranges.data[i])->text), name) == 0;
    }
    return count;
}

/* The nth range of this name. */
static inline const struct ss_model_range *find_range(const char *name, size_t nth)
{
    for (size_t i = 0; i < model.ranges.count; i++) {
        const struct ss_model_range *range = &model.ranges.data[i];
        if (strcmp(text(name_of(range)->text), name) == 0 && nth-- == 0) {
            return range;
        }
    }
    fail_msg("no range \"%s\"", name);
    return NULL;
}

static inline const struct ss_model_track *track_of(const struct ss_model_range *range)
{
    return &model.tracks.data[range->track];
}

/* -1: the range does not have the field. */
static inline int64_t field(const struct ss_model_range *range, uint32_t number)
{
    const struct ss_model_field *row = ss_model_field_of(&model, range->payload, number);
    return row != NULL ? row->integer : -1;
}

static inline const char *field_text(const struct ss_model_range *range, uint32_t number)
{
    const struct ss_model_field *row = ss_model_field_of(&model, range->payload, number);
    return row != NULL && row->type == SS_VALUE_TEXT ? text(row->text) : "";
}

static inline int64_t payload(const struct ss_model_range *range)
{
    return model.payloads.data[range->payload].integer;
}

static inline int make_file(void **state)
{
    (void)state;
    int file = mkstemp(path);
    return file < 0 || close(file) != 0;
}

static inline int remove_file(void **state)
{
    (void)state;
    ss_model_fini(&model);
    return unlink(path);
}

#endif
