/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the payload of a trace contains, as data (schema.def): one encoder, one decoder and one
 * documentation for all records. Immutable.
 */
#ifndef SS_TRACE_SCHEMA_H
#define SS_TRACE_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/proto.h"

enum ss_field_type {
    SS_FIELD_ID, /* u64 of the file, without a member */
    SS_FIELD_U32,
    SS_FIELD_U64,
    SS_FIELD_I32, /* zigzag */
    SS_FIELD_I64, /* zigzag */
    SS_FIELD_BOOL,
    SS_FIELD_FIXED32,
    SS_FIELD_ENUM,   /* an enum of int's size */
    SS_FIELD_KIND,   /* the same; unknown values are read as `count`, not as 0 */
    SS_FIELD_REF,    /* to an entity */
    SS_FIELD_PACKED, /* struct ss_strview of varints */
    SS_FIELD_TEXT,   /* struct ss_strview: bytes as recorded, not necessarily UTF-8 */
    SS_FIELD_TYPE_COUNT
};

struct ss_schema_field {
    const char *name, *unit, *meaning;
    size_t offset;     /* in the struct; of ID: index in the ids */
    size_t has_offset; /* of the member that is true when the field is present; 0: none */
    size_t ref_offset; /* of ID: of the member that refers to the same; 0: none */
    uint32_t number;
    /* Of ENUM and KIND: values from it on are unknown. Of REF, and of ID with a member that refers
     * to the same: to what, enum ss_schema_id. */
    uint32_t count;
    enum ss_field_type type;
    bool is_key; /* written even when it is 0 */
};

/* When an entity is written. */
enum ss_entity_writing { SS_ENTITY_NONE, SS_ENTITY_ALWAYS, SS_ENTITY_USED };

struct ss_schema_record {
    const char *name, *meaning;
    const struct ss_schema_field *fields;
    size_t field_count;
    uint32_t number; /* of its field in the payload */
    enum ss_entity_writing entity;
};

/* SS_SCHEMA_source, SS_SCHEMA_device, …: indices of ss_schema. Records that only Perfetto's
 * messages contain, SS_SCHEMA_sample, …, come after them. */
enum ss_schema_id {
#define SS_RECORD(name, number, meaning) SS_SCHEMA_##name,
#include "trace/schema.def"
    SS_SCHEMA_COUNT,
    SS_SCHEMA_BEFORE_NATIVE = SS_SCHEMA_COUNT - 1,
#define SS_NATIVE(name) SS_SCHEMA_##name,
#include "trace/schema.def"
    SS_SCHEMA_ALL
};
extern const struct ss_schema_record ss_schema[SS_SCHEMA_COUNT];

/* Fields of the payload: SS_PAYLOAD_window, and those of records: SS_PAYLOAD_source, … */
enum ss_payload {
#define SS_PAYLOAD_FIELD(name, number, type, meaning) SS_PAYLOAD_##name = (number),
#define SS_RECORD(name, number, meaning) SS_PAYLOAD_##name = (number),
#include "trace/schema.def"
};

struct ss_payload_field {
    const char *name, *type, *meaning;
    uint32_t number;
};
/* The fields that are not records. The last row has no name. */
extern const struct ss_payload_field ss_payload_fields[];

/* Indices of the ids of a record, SS_ID_process_uuid, …, and their count, SS_IDS_process. */
#define SS_RECORD(name, number, meaning)                                                           \
    enum ss_ids_of_##name                                                                          \
    {
#define SS_ID(record, number, name, meaning) SS_ID_##record##_##name,
#define SS_RECORD_END(name)                                                                        \
    SS_IDS_##name                                                                                  \
    }                                                                                              \
    ;
#include "trace/schema.def"

/* Appends the record as a field of the payload. `ids`: those of the record; NULL when it has none.
 */
void ss_schema_put(struct ss_wire_buffer *out, enum ss_schema_id id, const void *record,
                   const uint64_t *ids);
/* Fills the struct and the ids from the content of that field; texts are borrowed from it. Skips
 * unknown fields and fields of another wire type. False: it is malformed. */
bool ss_schema_read(enum ss_schema_id id, struct ss_wire_cursor body, void *record, uint64_t *ids);
/* The member of a REF, or the one that stands for an OWNER. */
uint32_t *ss_schema_ref(const struct ss_schema_field *field, void *record);
/* Calls `visit` with each text of the record, which it may replace. */
void ss_schema_each_text(enum ss_schema_id id, void *record,
                         struct ss_strview (*visit)(void *context, struct ss_strview text),
                         void *context);

/* The members of a record that are refs, and its times. */
struct ss_schema_member {
    uint16_t offset;
    uint8_t target;     /* of refs: to what, enum ss_schema_id */
    bool is_zero_known; /* of times: 0 is a time too */
};
struct ss_schema_links {
    const struct ss_schema_member *refs, *times;
    uint16_t ref_count, time_count;
};
extern const struct ss_schema_links ss_schema_links[SS_SCHEMA_ALL];

static inline uint32_t *ss_schema_ref_at(const struct ss_schema_member *member, void *record)
{
    return (uint32_t *)(void *)((char *)record + member->offset);
}

/* The next known time of the record; `*at` is 0 before the first. NULL: there is none. */
static inline uint64_t *ss_schema_next_time(enum ss_schema_id id, void *record, uint32_t *at)
{
    const struct ss_schema_links *links = &ss_schema_links[id];
    while (*at < links->time_count) {
        const struct ss_schema_member *member = &links->times[(*at)++];
        uint64_t *time_ns = (uint64_t *)(void *)((char *)record + member->offset);
        if (*time_ns != 0 || member->is_zero_known) {
            return time_ns;
        }
    }
    return NULL;
}

#endif
