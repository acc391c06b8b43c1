/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of a model as data (rows.def): what copies rows from one model to another, and writes
 * and reads them as bytes. Private to model/. Immutable.
 */
#ifndef SS_MODEL_CORE_ROWS_H
#define SS_MODEL_CORE_ROWS_H

#include "model/core/model.h"

enum ss_rows_id {
#define SS_ROWS(table, type, none) SS_ROWS_##table,
#include "model/core/rows.def"
    SS_ROWS_COUNT
};

enum ss_member_kind {
    SS_MEMBER_PLAIN,
    SS_MEMBER_TEXT,
    SS_MEMBER_REF,
    SS_MEMBER_TIME,
    SS_MEMBER_KNOWN_TIME,
    SS_MEMBER_FLAG,
    SS_MEMBER_ENUM,
    SS_MEMBER_VALUE,
    SS_MEMBER_CHARS
};

struct ss_member {
    enum ss_member_kind kind;
    uint32_t offset, size;
    uint32_t of; /* REF: enum ss_rows_id; ENUM: values; VALUE: offset of its type */
    uint32_t type_size;
};

struct ss_rows {
    const char *name;
    const struct ss_member *members;
    size_t member_count, row_bytes;
    size_t vec_offset; /* in struct ss_model */
    bool has_none;     /* row 0 is "none" */
};

extern const struct ss_rows ss_rows[SS_ROWS_COUNT];

/* Any of the vectors of a model: a view of it. */
struct ss_rows_view {
    void *data;
    size_t count, capacity;
};
struct ss_rows_view ss_rows_get(const struct ss_model *model, enum ss_rows_id id);
/* Appends rows without content; returns the address of the first. */
void *ss_rows_append(struct ss_model *model, enum ss_rows_id id, size_t count);

/* The new ids of the rows of a model, by table and old id; NULL: the same. */
struct ss_row_maps {
    const uint32_t *texts;
    const uint32_t *rows[SS_ROWS_COUNT];
    int64_t shift_ns; /* of times */
};
/* Changes the refs and times of a row. */
void ss_row_map(enum ss_rows_id id, void *row, const struct ss_row_maps *maps);

/* A number of 1, 2, 4 or 8 bytes. */
uint64_t ss_member_number(const void *row, uint32_t offset, uint32_t size);

#endif
