/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Payloads of NVTX: bytes with a schema that the program registered. Of a payload an event stores
 * the message, colour, category, times, and the first of the other values: a number, a text, or the
 * name of an enumeration's value.
 *
 * Schemas are added with the process lock held and are immutable afterwards. The bytes belong to
 * the program: nothing is read beyond the size that it states.
 */
#ifndef SS_INJECT_NVTX_NVTX_PAYLOAD_H
#define SS_INJECT_NVTX_NVTX_PAYLOAD_H

#include <stdbool.h>

#include "annot/events.h"
#include "inject/nvtx/nvtx_abi.h"

/* How an event is displayed. */
struct ss_nvtx_style {
    uint32_t argb;     /* 0: none */
    uint32_t category; /* the program's id; 0: none */
    uint32_t message;  /* a name; 0: none */
};

/* The number of `name` in this style. */
uint32_t ss_nvtx_styled(uint32_t domain, uint32_t name, const struct ss_nvtx_style *style);

/* Sets what the payloads contain and leaves the rest unchanged. */
void ss_nvtx_read_payloads(uint32_t domain, const struct ss_nvtx_payload *payloads, size_t count,
                           struct ss_nvtx_style *style, struct ss_event_value *value);

/* --- schemas --------------------------------------------------------------------------------- */

enum ss_nvtx_role {
    SS_NVTX_ROLE_VALUE,
    SS_NVTX_ROLE_MESSAGE,
    SS_NVTX_ROLE_COLOUR,
    SS_NVTX_ROLE_CATEGORY,
    SS_NVTX_ROLE_TIME, /* of the other values */
    SS_NVTX_ROLE_BEGIN,
    SS_NVTX_ROLE_END
};

struct ss_nvtx_field {
    uint32_t offset;
    uint32_t length; /* of a string within the payload, at most; 0: the field is its address */
    uint64_t type;   /* predefined, or an enumeration */
    uint8_t role;    /* enum ss_nvtx_role */
    bool is_pointer; /* the field is the address of the value */
    uint32_t name;
    uint64_t time_domain;
    uint32_t unit, counter_kind; /* of a counter */
};

enum { SS_NVTX_MAX_FIELDS = 24 };

struct ss_nvtx_layout {
    uint64_t id;
    uint32_t domain;
    uint32_t name;
    uint32_t size;  /* 0: variable */
    uint32_t count; /* of fields */
    struct ss_nvtx_field fields[SS_NVTX_MAX_FIELDS];
};

uint64_t ss_nvtx_schema_register(const void *domain, const struct ss_nvtx_schema *schema);
/* Of the first edition of version 1.3, some of whose types have other numbers: 0 for a schema with
 * one of these. */
uint64_t ss_nvtx_schema_register_first(const void *domain, const struct ss_nvtx_schema *schema);
uint64_t ss_nvtx_enum_register(const void *domain, const struct ss_nvtx_enum *values);

/* The size of an enumeration (0: unknown), and the name of one of its values (0: none). */
uint32_t ss_nvtx_enum_size(uint32_t domain, uint64_t id);
uint32_t ss_nvtx_enum_name(uint32_t domain, uint64_t id, uint64_t value);

/* NULL: no such schema of this domain. */
const struct ss_nvtx_layout *ss_nvtx_find_layout(uint32_t domain, uint64_t id);

/* Reads a field of the `size` bytes at `data`. false: absent, or of a type that is not recorded. */
bool ss_nvtx_read_field(uint32_t domain, const struct ss_nvtx_field *field, const void *data,
                        size_t size, struct ss_event_value *value);
/* The size of a predefined type; 0: unknown or variable. */
uint32_t ss_nvtx_type_size(uint64_t type);

/* Read the semantics of a schema entry or a counter. */
const void *ss_nvtx_find_semantics(const struct ss_nvtx_semantics *first, uint16_t id, size_t size);
uint64_t ss_nvtx_time_domain_of(const struct ss_nvtx_semantics *first);
void ss_nvtx_counter_semantics(const struct ss_nvtx_semantics *first, uint32_t *unit,
                               uint32_t *kind);

#endif
