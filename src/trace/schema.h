/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of the payload that are plain fields of a struct, as data (schema.def): one encoder, one
 * decoder and one documentation for all of them. Immutable.
 */
#ifndef SS_TRACE_SCHEMA_H
#define SS_TRACE_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/proto.h"

enum ss_field_type {
    SS_FIELD_U32,
    SS_FIELD_U64,
    SS_FIELD_I64,  /* zigzag */
    SS_FIELD_ENUM, /* an enum of int's size */
    SS_FIELD_TEXT  /* struct ss_strview: bytes as recorded, not necessarily UTF-8 */
};

struct ss_schema_field {
    const char *name, *unit, *meaning;
    size_t offset; /* in the struct */
    uint32_t number;
    uint32_t count; /* of ENUM: values from it on are read as 0 */
    enum ss_field_type type;
};

struct ss_schema_record {
    const char *name, *meaning;
    const struct ss_schema_field *fields;
    size_t field_count;
    uint32_t number; /* of its field in the payload */
};

/* SS_SCHEMA_source, SS_SCHEMA_device, …: indices of ss_schema. */
enum ss_schema_id {
#define SS_RECORD(name, number, meaning) SS_SCHEMA_##name,
#define SS_FIELD(record, number, member, type, unit, meaning)
#define SS_ENUM_FIELD(record, number, member, count, meaning)
#define SS_RECORD_END(name)
#include "trace/schema.def"
#undef SS_RECORD
#undef SS_FIELD
#undef SS_ENUM_FIELD
#undef SS_RECORD_END
    SS_SCHEMA_COUNT
};
extern const struct ss_schema_record ss_schema[SS_SCHEMA_COUNT];

/* Appends the record as a field of the payload. */
void ss_schema_put(struct ss_wire_buffer *out, enum ss_schema_id id, const void *record);
/* Fills the struct from the content of that field; texts are borrowed from it. Unknown fields and
 * fields of another wire type are skipped. False: it is malformed. */
bool ss_schema_read(enum ss_schema_id id, struct ss_wire_cursor body, void *record);
/* Calls `visit` with each text of the record, which it may replace. */
void ss_schema_each_text(enum ss_schema_id id, void *record,
                         struct ss_strview (*visit)(void *context, struct ss_strview text),
                         void *context);

#endif
