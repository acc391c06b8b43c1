/* SPDX-License-Identifier: Apache-2.0 */
#include "model/nsys/nsys_payloads.h"

#include <stdlib.h>
#include <string.h>

#include "base/device_api.h"
#include "base/search.h"
#include "wire/json_scan.h"

/* NCCL's names of the members. */
static const char *const member_names[SS_NCCL_VALUES] = {
    [SS_NCCL_COMMUNICATOR] = "NCCL communicator ID",
    [SS_NCCL_BYTES] = "Message size [bytes]",
    [SS_NCCL_REDUCTION] = "Reduction operation",
    [SS_NCCL_ROOT] = "Root",
    [SS_NCCL_PEER] = "Peer rank",
    [SS_NCCL_RANKS] = "No. of ranks"};

static bool value_named(struct ss_strview name, enum ss_nccl_value *value)
{
    for (int i = 0; i < SS_NCCL_VALUES; i++) {
        if (ss_strview_equal(name, ss_strview_of(member_names[i]))) {
            *value = (enum ss_nccl_value)i;
            return true;
        }
    }
    return false;
}

/* --- layouts ---------------------------------------------------------------------------------- */

/* NVTX's types of members, by number; from 2^24 on, enumerations of the program. */
static uint32_t size_of_type(int64_t type)
{
    static const uint8_t sizes[] = {0, 1, 1, 2, 2, 4, 4, 8, 8, 8, 8, 1,
                                    1, 2, 2, 4, 4, 8, 8, 0, 0, 0, 8, 8};
    enum { FIRST_OWN_TYPE = 1 << 24 };
    return type >= FIRST_OWN_TYPE                        ? 4
           : type >= 0 && type < (int64_t)(sizeof sizes) ? sizes[type]
                                                         : 0;
}

static int compare_entries(const void *left, const void *right)
{
    const struct ss_nsys_payload_entry *a = left, *b = right;
    if (a->domain != b->domain) {
        return a->domain < b->domain ? -1 : 1;
    }
    return (a->schema > b->schema) - (a->schema < b->schema);
}

void ss_nsys_payloads_init(struct ss_nsys_payloads *payloads, struct ss_nsys_loading *loading)
{
    static const char *const columns[] = {"domainId", "schemaId", "type", "name", "offset"};
    struct ss_sqlite_rows rows;
    *payloads = (struct ss_nsys_payloads){0};
    ss_sqlite_begin(&rows, loading->file, "NVTX_PAYLOAD_SCHEMA_ENTRIES", columns, 5);
    while (ss_nsys_next(loading, &rows)) {
        struct ss_nsys_payload_entry entry;
        int64_t type, offset = 0; /* the first member has none */
        ss_sqlite_integer(&rows, 4, &offset);
        if (!ss_sqlite_integer(&rows, 0, &entry.domain) ||
            !ss_sqlite_integer(&rows, 1, &entry.schema) || !ss_sqlite_integer(&rows, 2, &type) ||
            !value_named(ss_sqlite_text(&rows, 3), &entry.value) || offset < 0 ||
            offset > UINT16_MAX) {
            continue;
        }
        entry.offset = (uint32_t)offset;
        entry.size = size_of_type(type);
        if (entry.size > 0) {
            ss_vec_push(&payloads->entries, entry);
        }
    }
    ss_sqlite_end(&rows);
    if (payloads->entries.count > 1) {
        qsort(payloads->entries.data, payloads->entries.count, sizeof *payloads->entries.data,
              compare_entries);
    }
}

void ss_nsys_payloads_fini(struct ss_nsys_payloads *payloads)
{
    ss_vec_fini(&payloads->entries);
}

/* --- values ----------------------------------------------------------------------------------- */

static uint64_t little_endian(const char *bytes, uint32_t size)
{
    uint64_t value = 0;
    for (uint32_t i = size; i-- > 0;) {
        value = value << 8 | (uint8_t)bytes[i];
    }
    return value;
}

static size_t first_entry(const struct ss_nsys_payloads *payloads, int64_t domain, int64_t schema)
{
    struct ss_nsys_payload_entry key = {.domain = domain, .schema = schema};
    return ss_search(i, 0, payloads->entries.count,
                     compare_entries(&payloads->entries.data[i], &key) < 0);
}

/* A head of 32 bytes: domain, flags, schema, flags, and the sizes of payload and whole. */
void ss_nsys_payload_read(const struct ss_nsys_payloads *payloads, struct ss_strview bytes,
                          struct ss_nccl_payload *payload)
{
    enum { HEAD_BYTES = 32, SCHEMA_AT = 8, MOST_MEMBERS = 64 };
    if (bytes.length < HEAD_BYTES) {
        return;
    }
    int64_t domain = (int64_t)little_endian(bytes.data, 4);
    int64_t schema = (int64_t)little_endian(bytes.data + SCHEMA_AT, 4);
    size_t first = first_entry(payloads, domain, schema);
    for (size_t i = first; i < payloads->entries.count && i < first + MOST_MEMBERS; i++) {
        const struct ss_nsys_payload_entry *entry = &payloads->entries.data[i];
        if (entry->domain != domain || entry->schema != schema) {
            break;
        }
        if (HEAD_BYTES + (size_t)entry->offset + entry->size <= bytes.length) {
            payload->has[entry->value] = true;
            payload->values[entry->value] =
                little_endian(bytes.data + HEAD_BYTES + entry->offset, entry->size);
        }
    }
}

/* Communicators have all 64 bits. */
static bool read_natural(struct ss_strview token, uint64_t *number)
{
    *number = 0;
    for (size_t i = 0; i < token.length; i++) {
        char c = token.data[i];
        if (c < '0' || c > '9' || __builtin_mul_overflow(*number, 10, number) ||
            __builtin_add_overflow(*number, (uint64_t)(c - '0'), number)) {
            return false;
        }
    }
    return token.length > 0;
}

void ss_nsys_payload_read_json(struct ss_strview json, struct ss_nccl_payload *payload)
{
    struct ss_json_cursor cursor = {json.data, json.data + json.length};
    struct ss_json_text key, text;
    struct ss_strview token;
    bool is_end = false;
    if (ss_json_peek(&cursor) != SS_JSON_OBJECT) {
        return;
    }
    cursor.at++;
    while (ss_json_read_key(&cursor, &key, &is_end) == SS_JSON_OK && !is_end) {
        enum ss_nccl_value value;
        uint64_t number;
        bool is_text = ss_json_peek(&cursor) == SS_JSON_STRING;
        enum ss_json_result result =
            is_text ? ss_json_read_string(&cursor, &text) : ss_json_skip(&cursor, &token);
        if (result != SS_JSON_OK) {
            return;
        }
        if (value_named(key.raw, &value) && read_natural(is_text ? text.raw : token, &number)) {
            payload->has[value] = true;
            payload->values[value] = number;
        }
    }
}

/* --- the model -------------------------------------------------------------------------------- */

static uint32_t group_of(const struct ss_nccl_payload *payload, struct ss_nsys_rows *rows)
{
    uint64_t number = payload->values[SS_NCCL_COMMUNICATOR];
    uint32_t known = *ss_nsys_entry(rows, SS_NSYS_GROUP_OF_RANKS, (int64_t)number, 0, 0);
    uint64_t ranks = payload->has[SS_NCCL_RANKS] ? payload->values[SS_NCCL_RANKS] : 0;
    if (known == 0 || ranks > 0) {
        struct ss_trace_group row = {.kind = SS_GROUP_NCCL,
                                     .number = number,
                                     .name = {"", 0},
                                     .size = ranks <= INT32_MAX ? (uint32_t)ranks : 0,
                                     .ranks = {"", 0}};
        known = ss_model_builder_group(rows->builder, known, &row);
        *ss_nsys_entry(rows, SS_NSYS_GROUP_OF_RANKS, (int64_t)number, 0, 0) = known;
    }
    return known;
}

void ss_nsys_payload_put(const struct ss_nccl_payload *payload, struct ss_nsys_rows *rows,
                         struct ss_nsys_fields *fields, struct ss_builder_range *range)
{
    const uint64_t *values = payload->values;
    if (payload->has[SS_NCCL_COMMUNICATOR] && values[SS_NCCL_COMMUNICATOR] != 0) {
        ss_nsys_add_natural(fields, SS_EVENT_FIELD_group, group_of(payload, rows));
    }
    if (payload->has[SS_NCCL_BYTES] && values[SS_NCCL_BYTES] <= INT64_MAX) {
        range->payload =
            (struct ss_trace_value){SS_VALUE_INT, {.integer = (int64_t)values[SS_NCCL_BYTES]}};
    }
    struct ss_strview reduction =
        ss_nccl_reduction(payload->has[SS_NCCL_REDUCTION] ? values[SS_NCCL_REDUCTION] + 1 : 0);
    if (reduction.length > 0) {
        ss_nsys_add_text(fields, SS_EVENT_FIELD_reduction, reduction);
    }
    if (payload->has[SS_NCCL_ROOT]) {
        ss_nsys_add_natural(fields, SS_EVENT_FIELD_root, values[SS_NCCL_ROOT]);
    }
    if (payload->has[SS_NCCL_PEER]) {
        ss_nsys_add_natural(fields, SS_EVENT_FIELD_peer, values[SS_NCCL_PEER]);
    }
}
