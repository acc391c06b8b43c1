/* SPDX-License-Identifier: Apache-2.0 */
/* Schemas and enumerations that the program registers. */
#include <string.h>

#include "annot/define.h"
#include "inject/nvtx/nvtx_extension.h"
#include "inject/nvtx/nvtx_names.h"
#include "inject/nvtx/nvtx_payload.h"

enum { MAX_LAYOUTS = 512, MAX_ENUMS = 256, MAX_ENUM_VALUES = 8192 };
enum { MAX_CHAIN = 16, MAX_ENTRIES = 1024 };

static struct ss_nvtx_layout layouts[MAX_LAYOUTS];
static _Atomic uint32_t layout_count; /* publishes the entries below it */

static struct enumeration {
    uint64_t id;
    uint32_t domain, size, first, count;
} enums[MAX_ENUMS];
static _Atomic uint32_t enum_count; /* publishes the entries and their values */
static struct enum_value {
    uint64_t value;
    uint32_t name;
} enum_values[MAX_ENUM_VALUES];
static uint32_t enum_value_count;

/* --- types ----------------------------------------------------------------------------------- */

/* By type, in bytes. */
static const uint8_t sizes[] = {[SS_NVTX_TYPE_CHAR] = sizeof(char),
                                [SS_NVTX_TYPE_UCHAR] = sizeof(char),
                                [SS_NVTX_TYPE_SHORT] = sizeof(short),
                                [SS_NVTX_TYPE_USHORT] = sizeof(short),
                                [SS_NVTX_TYPE_INT] = sizeof(int),
                                [SS_NVTX_TYPE_UINT] = sizeof(int),
                                [SS_NVTX_TYPE_LONG] = sizeof(long),
                                [SS_NVTX_TYPE_ULONG] = sizeof(long),
                                [SS_NVTX_TYPE_LONGLONG] = sizeof(long long),
                                [SS_NVTX_TYPE_ULONGLONG] = sizeof(long long),
                                [SS_NVTX_TYPE_INT8] = 1,
                                [SS_NVTX_TYPE_UINT8] = 1,
                                [SS_NVTX_TYPE_INT16] = 2,
                                [SS_NVTX_TYPE_UINT16] = 2,
                                [SS_NVTX_TYPE_INT32] = 4,
                                [SS_NVTX_TYPE_UINT32] = 4,
                                [SS_NVTX_TYPE_INT64] = 8,
                                [SS_NVTX_TYPE_UINT64] = 8,
                                [SS_NVTX_TYPE_FLOAT] = sizeof(float),
                                [SS_NVTX_TYPE_DOUBLE] = sizeof(double),
                                [SS_NVTX_TYPE_LONGDOUBLE] = sizeof(long double),
                                [SS_NVTX_TYPE_SIZE] = sizeof(size_t),
                                [SS_NVTX_TYPE_ADDRESS] = sizeof(void *),
                                [SS_NVTX_TYPE_WCHAR] = sizeof(wchar_t),
                                [SS_NVTX_TYPE_CHAR8] = 1,
                                [SS_NVTX_TYPE_CHAR16] = 2,
                                [SS_NVTX_TYPE_CHAR32] = 4,
                                [SS_NVTX_TYPE_BYTE] = 1,
                                [SS_NVTX_TYPE_INT128] = 16,
                                [SS_NVTX_TYPE_UINT128] = 16,
                                [SS_NVTX_TYPE_FLOAT16] = 2,
                                [SS_NVTX_TYPE_FLOAT32] = 4,
                                [SS_NVTX_TYPE_FLOAT64] = 8,
                                [SS_NVTX_TYPE_FLOAT128] = 16,
                                [SS_NVTX_TYPE_BF16] = 2,
                                [SS_NVTX_TYPE_TF32] = 4,
                                [SS_NVTX_TYPE_CATEGORY] = 4,
                                [SS_NVTX_TYPE_COLOUR] = 4,
                                [SS_NVTX_TYPE_SCOPE] = 8,
                                [SS_NVTX_TYPE_PID32] = 4,
                                [SS_NVTX_TYPE_PID64] = 8,
                                [SS_NVTX_TYPE_TID32] = 4,
                                [SS_NVTX_TYPE_TID64] = 8,
                                [SS_NVTX_TYPE_CSTRING] =
                                    sizeof(char *), /* unless its length is given */
                                [SS_NVTX_TYPE_CSTRING_UTF8] = sizeof(char *),
                                [SS_NVTX_TYPE_CSTRING_UTF16] = sizeof(char *),
                                [SS_NVTX_TYPE_CSTRING_UTF32] = sizeof(char *),
                                [SS_NVTX_TYPE_RANGE_ID] = 8,
                                [SS_NVTX_TYPE_REGISTERED] = sizeof(void *),
                                [SS_NVTX_TYPE_SELECTOR] = 0};

uint32_t ss_nvtx_type_size(uint64_t type)
{
    return type < sizeof sizes ? sizes[type] : 0;
}

static uint32_t character_size(uint64_t type)
{
    switch (type) {
    case SS_NVTX_TYPE_CSTRING:
    case SS_NVTX_TYPE_CSTRING_UTF8:
        return 1;
    case SS_NVTX_TYPE_CSTRING_UTF16:
        return 2;
    case SS_NVTX_TYPE_CSTRING_UTF32:
        return 4;
    default:
        return 0;
    }
}

static const struct enumeration *find_enum(uint32_t domain, uint64_t id)
{
    uint32_t count = atomic_load_explicit(&enum_count, memory_order_acquire);
    for (uint32_t i = 0; i < count; i++) {
        if (enums[i].id == id && (enums[i].domain == domain || id >= SS_NVTX_FIRST_DYNAMIC)) {
            return &enums[i];
        }
    }
    return NULL;
}

uint32_t ss_nvtx_enum_size(uint32_t domain, uint64_t id)
{
    const struct enumeration *found = id >= SS_NVTX_FIRST_STATIC ? find_enum(domain, id) : NULL;
    return found != NULL ? found->size : 0;
}

uint32_t ss_nvtx_enum_name(uint32_t domain, uint64_t id, uint64_t value)
{
    const struct enumeration *found = find_enum(domain, id);
    for (uint32_t i = 0; found != NULL && i < found->count; i++) {
        if (enum_values[found->first + i].value == value) {
            return enum_values[found->first + i].name;
        }
    }
    return 0;
}

const struct ss_nvtx_layout *ss_nvtx_find_layout(uint32_t domain, uint64_t id)
{
    uint32_t count = atomic_load_explicit(&layout_count, memory_order_acquire);
    if (id >= SS_NVTX_FIRST_DYNAMIC) { /* assigned here, after the enumerations' */
        uint64_t at = id - SS_NVTX_FIRST_DYNAMIC - MAX_ENUMS;
        return at < count && layouts[at].id == id ? &layouts[at] : NULL;
    }
    for (uint32_t i = 0; i < count && id >= SS_NVTX_FIRST_STATIC; i++) {
        if (layouts[i].id == id && layouts[i].domain == domain) {
            return &layouts[i];
        }
    }
    return NULL;
}

/* --- semantics ------------------------------------------------------------------------------- */

const void *ss_nvtx_find_semantics(const struct ss_nvtx_semantics *first, uint16_t id, size_t size)
{
    for (int i = 0; first != NULL && i < MAX_CHAIN; i++, first = first->next) {
        if (first->id == id && first->size >= size) {
            return first;
        }
    }
    return NULL;
}

uint64_t ss_nvtx_time_domain_of(const struct ss_nvtx_semantics *first)
{
    const struct ss_nvtx_time_semantics *time =
        ss_nvtx_find_semantics(first, SS_NVTX_SEMANTICS_TIME, sizeof *time);
    return time != NULL ? time->time_domain : SS_NVTX_CLOCK_TOOL;
}

void ss_nvtx_counter_semantics(const struct ss_nvtx_semantics *first, uint32_t *unit,
                               uint32_t *kind)
{
    const struct ss_nvtx_counter_semantics *counter = ss_nvtx_find_semantics(
        first, SS_NVTX_SEMANTICS_COUNTER, offsetof(struct ss_nvtx_counter_semantics, limit_type));
    if (counter == NULL) {
        return;
    }
    bool is_scaled = counter->unit_numerator != counter->unit_denominator;
    if (counter->unit != NULL && counter->unit[0] != '\0' && !is_scaled) {
        *unit = ss_nvtx_name(counter->unit);
    }
    *kind = (counter->flags & SS_NVTX_COUNTER_KIND) == SS_NVTX_COUNTER_DELTA ? SS_RING_DELTA
                                                                             : SS_RING_GAUGE;
}

/* --- registration ----------------------------------------------------------------------------- */

static enum ss_nvtx_role role_of(const struct ss_nvtx_entry *entry)
{
    if ((entry->flags & SS_NVTX_ENTRY_TIMESTAMP) != 0) {
        uint64_t event = entry->flags & SS_NVTX_ENTRY_EVENT;
        return event == SS_NVTX_ENTRY_BEGIN ? SS_NVTX_ROLE_BEGIN
               : event == SS_NVTX_ENTRY_END ? SS_NVTX_ROLE_END
                                            : SS_NVTX_ROLE_TIME;
    }
    if ((entry->flags & SS_NVTX_ENTRY_MESSAGE) != 0) {
        return SS_NVTX_ROLE_MESSAGE;
    }
    return entry->type == SS_NVTX_TYPE_COLOUR     ? SS_NVTX_ROLE_COLOUR
           : entry->type == SS_NVTX_TYPE_CATEGORY ? SS_NVTX_ROLE_CATEGORY
                                                  : SS_NVTX_ROLE_VALUE;
}

/* The size and alignment of an entry. false: they depend on the data. */
static bool measure(uint32_t domain, const struct ss_nvtx_entry *entry, uint64_t *size,
                    uint64_t *alignment)
{
    uint64_t flags = entry->flags, letter = character_size(entry->type);
    if ((flags & SS_NVTX_ENTRY_POINTER) != 0) {
        *size = *alignment = sizeof(void *);
        return true;
    }
    *size = ss_nvtx_type_size(entry->type);
    *alignment = *size;
    if (letter != 0 && entry->detail > 0 && (flags & SS_NVTX_ENTRY_ARRAY) <= SS_NVTX_ENTRY_FIXED) {
        *size = letter * entry->detail;
        *alignment = letter;
        return entry->detail <= UINT32_MAX / 4;
    }
    if (*size == 0 && entry->type >= SS_NVTX_FIRST_STATIC) {
        const struct enumeration *values = find_enum(domain, entry->type);
        const struct ss_nvtx_layout *nested = ss_nvtx_find_layout(domain, entry->type);
        *size = values != NULL ? values->size : nested != NULL ? nested->size : 0;
        *alignment = values != NULL ? values->size : sizeof(uint64_t);
    }
    if ((flags & SS_NVTX_ENTRY_ARRAY) == SS_NVTX_ENTRY_FIXED) {
        *size *= entry->detail <= UINT32_MAX ? entry->detail : 0;
    }
    return *size > 0 && *size <= UINT32_MAX && (flags & SS_NVTX_ENTRY_ARRAY) <= SS_NVTX_ENTRY_FIXED;
}

static bool is_recorded(const struct ss_nvtx_entry *entry)
{
    bool is_array = (entry->flags & SS_NVTX_ENTRY_ARRAY) != 0 && character_size(entry->type) == 0;
    bool is_elsewhere = (entry->flags & (SS_NVTX_ENTRY_FROM_BASE | SS_NVTX_ENTRY_FROM_HERE)) != 0;
    return !is_array && !is_elsewhere &&
           (entry->flags & SS_NVTX_ENTRY_ARRAY) <= SS_NVTX_ENTRY_TERMINATED;
}

/* Adds the fields of a schema that is nested in another. */
static void add_nested(struct ss_nvtx_layout *layout, const struct ss_nvtx_layout *nested,
                       uint64_t offset, uint32_t name)
{
    for (uint32_t i = 0; i < nested->count && layout->count < SS_NVTX_MAX_FIELDS; i++) {
        struct ss_nvtx_field *field = &layout->fields[layout->count++];
        *field = nested->fields[i];
        field->offset += (uint32_t)offset;
        field->name = nested->count == 1 && name != 0 ? name : field->name;
    }
}

static void add_field(struct ss_nvtx_layout *layout, const struct ss_nvtx_entry *entry,
                      uint64_t offset)
{
    const struct ss_nvtx_layout *nested = ss_nvtx_find_layout(layout->domain, entry->type);
    if (layout->count >= SS_NVTX_MAX_FIELDS || !is_recorded(entry)) {
        return;
    }
    bool is_text = character_size(entry->type) != 0 && (entry->flags & SS_NVTX_ENTRY_POINTER) == 0;
    bool is_terminated = (entry->flags & SS_NVTX_ENTRY_ARRAY) == SS_NVTX_ENTRY_TERMINATED;
    uint32_t length = entry->detail < UINT32_MAX ? (uint32_t)entry->detail : UINT32_MAX;
    uint32_t name = ss_nvtx_name(entry->name);
    if (nested != NULL && (entry->flags & SS_NVTX_ENTRY_POINTER) == 0) {
        add_nested(layout, nested, offset, name);
        return;
    }
    struct ss_nvtx_field *field = &layout->fields[layout->count++];
    *field = (struct ss_nvtx_field){.offset = (uint32_t)offset,
                                    .length = !is_text        ? 0
                                              : is_terminated ? UINT32_MAX
                                                              : length,
                                    .type = entry->type,
                                    .role = (uint8_t)role_of(entry),
                                    .is_pointer = (entry->flags & SS_NVTX_ENTRY_POINTER) != 0,
                                    .name = name,
                                    .time_domain = ss_nvtx_time_domain_of(entry->semantics)};
    ss_nvtx_counter_semantics(entry->semantics, &field->unit, &field->counter_kind);
}

/* Whether this entry is the length of an array, and therefore not a value. */
static bool is_length(const struct ss_nvtx_schema *schema, size_t number)
{
    for (size_t i = 0; i < schema->entry_count && i < MAX_ENTRIES; i++) {
        const struct ss_nvtx_entry *entry = &schema->entries[i];
        if ((entry->flags & SS_NVTX_ENTRY_ARRAY) == SS_NVTX_ENTRY_LENGTH_INDEX &&
            entry->detail == number) {
            return true;
        }
    }
    return false;
}

/* Reads entries up to the first whose size depends on the data. */
static void read_entries(struct ss_nvtx_layout *layout, const struct ss_nvtx_schema *schema)
{
    bool is_packed = (schema->fields & SS_NVTX_SCHEMA_HAS_ALIGNMENT) != 0 && schema->alignment > 0;
    uint64_t at = 0;
    for (size_t i = 0; i < schema->entry_count && i < MAX_ENTRIES; i++) {
        const struct ss_nvtx_entry *entry = &schema->entries[i];
        uint64_t size = 0, alignment = 1;
        bool is_known = measure(layout->domain, entry, &size, &alignment);
        alignment = is_packed && schema->alignment < alignment ? schema->alignment : alignment;
        if (entry->offset != 0) {
            at = entry->offset;
        } else if (alignment > 1) {
            at = (at + alignment - 1) / alignment * alignment;
        }
        if (at > UINT32_MAX / 4) {
            layout->size = 0;
            return;
        }
        if ((is_known || character_size(entry->type) != 0) && !is_length(schema, i)) {
            add_field(layout, entry, at);
        }
        if (!is_known) {
            layout->size = 0;
            return;
        }
        at += size;
        layout->size = (uint32_t)at;
    }
}

/* Returns its id; 0: there is no room. */
static uint64_t add_layout(struct ss_nvtx_layout *layout)
{
    if (!ss_nvtx_lock()) {
        return 0;
    }
    uint32_t index = atomic_load_explicit(&layout_count, memory_order_relaxed);
    const struct ss_nvtx_layout *known =
        layout->id != 0 ? ss_nvtx_find_layout(layout->domain, layout->id) : NULL;
    uint64_t id = 0;
    if (known != NULL) {
        id = known->id; /* another shared object registered it */
    } else if (index < MAX_LAYOUTS) {
        layout->id = layout->id != 0 ? layout->id : SS_NVTX_FIRST_DYNAMIC + MAX_ENUMS + index;
        layouts[index] = *layout;
        id = layout->id;
        atomic_store_explicit(&layout_count, index + 1, memory_order_release);
    }
    ss_nvtx_unlock();
    return id;
}

uint64_t ss_nvtx_schema_register(const void *handle, const struct ss_nvtx_schema *schema)
{
    static const uint64_t needed = SS_NVTX_SCHEMA_HAS_ENTRIES | SS_NVTX_SCHEMA_HAS_COUNT;
    if (schema == NULL || (schema->fields & needed) != needed || schema->entries == NULL) {
        return 0;
    }
    struct ss_nvtx_layout layout = {.domain = ss_nvtx_domain(handle)};
    if ((schema->fields & SS_NVTX_SCHEMA_HAS_NAME) != 0) {
        layout.name = ss_nvtx_name(schema->name);
    }
    bool is_struct = (schema->fields & SS_NVTX_SCHEMA_HAS_TYPE) == 0 ||
                     schema->type == SS_NVTX_SCHEMA_STATIC ||
                     schema->type == SS_NVTX_SCHEMA_DYNAMIC;
    if (is_struct) { /* unions are not recorded */
        read_entries(&layout, schema);
    }
    if ((schema->fields & SS_NVTX_SCHEMA_HAS_SIZE) != 0 && schema->size_bytes > 0) {
        layout.size = schema->size_bytes <= UINT32_MAX / 2 ? (uint32_t)schema->size_bytes : 0;
    }
    if ((schema->fields & SS_NVTX_SCHEMA_HAS_ID) != 0 && schema->id >= SS_NVTX_FIRST_STATIC &&
        schema->id < SS_NVTX_FIRST_DYNAMIC) {
        layout.id = schema->id;
    }
    return add_layout(&layout);
}

/* Normalised numbers, categories and colours, and times. */
uint64_t ss_nvtx_schema_register_first(const void *handle, const struct ss_nvtx_schema *schema)
{
    static const struct {
        uint64_t first, last;
    } others[] = {{61, 68}, {90, 92}, {128, 255}};
    size_t count = schema != NULL && schema->entries != NULL ? schema->entry_count : 0;
    for (size_t i = 0; i < count && i < MAX_ENTRIES; i++) {
        uint64_t type = schema->entries[i].type;
        for (size_t at = 0; at < sizeof others / sizeof *others; at++) {
            if (type >= others[at].first && type <= others[at].last) {
                return 0;
            }
        }
    }
    return ss_nvtx_schema_register(handle, schema);
}

uint64_t ss_nvtx_enum_register(const void *handle, const struct ss_nvtx_enum *attributes)
{
    static const uint64_t needed = SS_NVTX_ENUM_HAS_ENTRIES | SS_NVTX_ENUM_HAS_COUNT;
    if (attributes == NULL || (attributes->fields & needed) != needed ||
        attributes->entries == NULL || attributes->entry_count > MAX_ENUM_VALUES) {
        return 0;
    }
    bool has_size = (attributes->fields & SS_NVTX_ENUM_HAS_SIZE) != 0;
    bool has_id = (attributes->fields & SS_NVTX_ENUM_HAS_ID) != 0 &&
                  attributes->id >= SS_NVTX_FIRST_STATIC && attributes->id < SS_NVTX_FIRST_DYNAMIC;
    struct enumeration added = {.domain = ss_nvtx_domain(handle),
                                .size = has_size && attributes->size_bytes <= 8
                                            ? (uint32_t)attributes->size_bytes
                                            : sizeof(int),
                                .count = (uint32_t)attributes->entry_count};
    for (size_t i = 0; i < attributes->entry_count; i++) {
        ss_nvtx_name(attributes->entries[i].name); /* under the lock, only known ones are found */
    }
    if (!ss_nvtx_lock()) {
        return 0;
    }
    uint32_t index = atomic_load_explicit(&enum_count, memory_order_relaxed);
    if (index >= MAX_ENUMS || enum_value_count + added.count > MAX_ENUM_VALUES) {
        ss_nvtx_unlock();
        return 0;
    }
    added.id = has_id ? attributes->id : SS_NVTX_FIRST_DYNAMIC + index;
    added.first = enum_value_count;
    for (uint32_t i = 0; i < added.count; i++) {
        enum_values[enum_value_count++] = (struct enum_value){
            attributes->entries[i].value, ss_nvtx_name(attributes->entries[i].name)};
    }
    enums[index] = added;
    atomic_store_explicit(&enum_count, index + 1, memory_order_release);
    ss_nvtx_unlock();
    return added.id;
}
