/* SPDX-License-Identifier: Apache-2.0 */
/* The payload extension: payloads decoded by their schema, and deferred events. */
#include "inject/nvtx/nvtx_payload.h"

#include <string.h>

#include "annot/define.h"
#include "inject/nvtx/nvtx_event.h"
#include "inject/nvtx/nvtx_extension.h"
#include "inject/nvtx/nvtx_names.h"
#include "inject/nvtx/nvtx_nccl.h"
#include "inject/nvtx/nvtx_tables.h"

enum { MAX_PAYLOADS = 64 };

/* --- values ---------------------------------------------------------------------------------- */

static struct ss_event_value real_value(double real)
{
    struct ss_event_value value = {0, SS_RING_VALUE_DOUBLE};
    memcpy(&value.bits, &real, sizeof real);
    return value;
}

static float float_of_bits(uint32_t bits)
{
    float real;
    memcpy(&real, &bits, sizeof real);
    return real;
}

/* Half precision: 1 sign, 5 exponent, 10 fraction. */
static double half_value(uint16_t bits)
{
    uint32_t exponent = bits >> 10 & 0x1f, fraction = bits & 0x3ff;
    double size;
    if (exponent == 0) {
        size = fraction / 16777216.0;
    } else if (exponent == 31) {
        size = (double)float_of_bits(0x7f800000 | fraction << 13);
    } else {
        size = (double)float_of_bits((exponent + 112) << 23 | fraction << 13);
    }
    return bits >> 15 ? -size : size;
}

static bool is_signed(uint64_t type)
{
    switch (type) {
    case SS_NVTX_TYPE_CHAR:
    case SS_NVTX_TYPE_SHORT:
    case SS_NVTX_TYPE_INT:
    case SS_NVTX_TYPE_LONG:
    case SS_NVTX_TYPE_LONGLONG:
    case SS_NVTX_TYPE_INT8:
    case SS_NVTX_TYPE_INT16:
    case SS_NVTX_TYPE_INT32:
    case SS_NVTX_TYPE_INT64:
        return true;
    default:
        return false;
    }
}

static uint64_t load_unsigned(const void *at, uint32_t size)
{
    uint64_t bits = 0;
    memcpy(&bits, at, size < sizeof bits ? size : sizeof bits); /* the machine is little-endian */
    return bits;
}

static struct ss_event_value integer_value(uint64_t type, const void *at, uint32_t size)
{
    uint64_t bits = load_unsigned(at, size);
    if (!is_signed(type)) {
        return (struct ss_event_value){bits, SS_RING_VALUE_UNSIGNED};
    }
    uint32_t above = 64 - 8 * size;
    return (struct ss_event_value){(uint64_t)((int64_t)(bits << above) >> above),
                                   SS_RING_VALUE_SIGNED};
}

/* Reads a number of a predefined type; `at` holds all of its bytes. */
static bool read_number(uint64_t type, const void *at, struct ss_event_value *value)
{
    uint32_t size = ss_nvtx_type_size(type);
    double real;
    long double long_real;
    switch (type) {
    case SS_NVTX_TYPE_FLOAT:
    case SS_NVTX_TYPE_FLOAT32:
    case SS_NVTX_TYPE_TF32:
        *value = real_value((double)float_of_bits((uint32_t)load_unsigned(at, 4)));
        return true;
    case SS_NVTX_TYPE_DOUBLE:
    case SS_NVTX_TYPE_FLOAT64:
        memcpy(&real, at, sizeof real);
        *value = real_value(real);
        return true;
    case SS_NVTX_TYPE_LONGDOUBLE:
        memcpy(&long_real, at, sizeof long_real);
        *value = real_value((double)long_real);
        return true;
    case SS_NVTX_TYPE_FLOAT16:
        *value = real_value(half_value((uint16_t)load_unsigned(at, 2)));
        return true;
    case SS_NVTX_TYPE_BF16:
        *value = real_value((double)float_of_bits((uint32_t)load_unsigned(at, 2) << 16));
        return true;
    default:
        if (size == 0 || size > 8 ||
            (type >= SS_NVTX_TYPE_CSTRING && type <= SS_NVTX_TYPE_CSTRING_UTF32)) {
            return false;
        }
        *value = integer_value(type, at, size);
        return true;
    }
}

/* --- texts ----------------------------------------------------------------------------------- */

/* Reads at most `room` bytes at `at`, which may be unaligned. */
static uint32_t read_text(uint64_t type, const char *at, size_t room)
{
    char bytes[SS_RING_MAX_TEXT_BYTES];
    size_t length;
    uint16_t letters16[SS_RING_MAX_TEXT_BYTES];
    wchar_t letters32[SS_RING_MAX_TEXT_BYTES];
    size_t letter = type == SS_NVTX_TYPE_CSTRING_UTF16   ? sizeof *letters16
                    : type == SS_NVTX_TYPE_CSTRING_UTF32 ? sizeof *letters32
                                                         : 1;
    size_t most = room / letter < sizeof bytes ? room / letter : sizeof bytes;
    if (letter == 1) {
        length = strnlen(at, most);
        return length == 0 ? 0 : ss_define_name(at, length);
    }
    /* One by one: memory behind the end may be unmapped. */
    for (length = 0; length < most; length++) {
        uint64_t one = load_unsigned(at + length * letter, (uint32_t)letter);
        if (one == 0) {
            break;
        }
        letters16[length] = (uint16_t)one;
        letters32[length] = (wchar_t)one;
    }
    length = letter == sizeof *letters16
                 ? ss_nvtx_utf8_from_utf16(letters16, length, bytes, sizeof bytes)
                 : ss_nvtx_utf8_from_wide(letters32, length, bytes, sizeof bytes);
    return length == 0 ? 0 : ss_define_name(bytes, length);
}

static bool is_text_type(uint64_t type)
{
    return type >= SS_NVTX_TYPE_CSTRING && type <= SS_NVTX_TYPE_CSTRING_UTF32;
}

static bool name_value(uint32_t name, struct ss_event_value *value)
{
    *value = (struct ss_event_value){name, SS_RING_VALUE_NAME};
    return name != 0;
}

/* --- fields ---------------------------------------------------------------------------------- */

/* Loads the address at `at`; NULL: none. */
static const char *load_address(const char *at, size_t room)
{
    const char *to = NULL;
    if (room >= sizeof to) {
        memcpy(&to, at, sizeof to);
    }
    return to;
}

bool ss_nvtx_read_field(uint32_t domain, const struct ss_nvtx_field *field, const void *data,
                        size_t size, struct ss_event_value *value)
{
    if (field->offset >= size) {
        return false;
    }
    const char *at = (const char *)data + field->offset;
    size_t room = size - field->offset;
    bool is_text = is_text_type(field->type);
    if (field->is_pointer || (is_text && field->length == 0)) {
        at = load_address(at, room);
        room = SIZE_MAX; /* the program guarantees that a text ends and a value is complete */
        if (at == NULL) {
            return false;
        }
    } else if (is_text) {
        size_t letter = field->type == SS_NVTX_TYPE_CSTRING_UTF16   ? 2
                        : field->type == SS_NVTX_TYPE_CSTRING_UTF32 ? 4
                                                                    : 1;
        room = room / letter > field->length ? field->length * letter : room;
    }
    if (is_text) {
        return name_value(read_text(field->type, at, room), value);
    }
    uint32_t enum_size = ss_nvtx_enum_size(domain, field->type);
    if (enum_size > 0 && enum_size <= room) {
        uint64_t bits = load_unsigned(at, enum_size);
        uint32_t name = ss_nvtx_enum_name(domain, field->type, bits);
        *value = name != 0 ? (struct ss_event_value){name, SS_RING_VALUE_NAME}
                           : (struct ss_event_value){bits, SS_RING_VALUE_UNSIGNED};
        return true;
    }
    if (ss_nvtx_type_size(field->type) == 0 || ss_nvtx_type_size(field->type) > room) {
        return false;
    }
    if (field->type == SS_NVTX_TYPE_REGISTERED) {
        return name_value(ss_nvtx_string_name(load_address(at, room)), value);
    }
    return read_number(field->type, at, value);
}

/* --- whole payloads -------------------------------------------------------------------------- */

/* The times of a deferred event. */
struct times {
    bool has_begin, has_end, has_time, is_unknown;
    uint64_t begin, end, time; /* stamps */
};

static void read_time(uint32_t domain, const struct ss_nvtx_field *field,
                      const struct ss_event_value *value, struct times *times)
{
    bool *has = field->role == SS_NVTX_ROLE_BEGIN ? &times->has_begin
                : field->role == SS_NVTX_ROLE_END ? &times->has_end
                                                  : &times->has_time;
    uint64_t *stamp = field->role == SS_NVTX_ROLE_BEGIN ? &times->begin
                      : field->role == SS_NVTX_ROLE_END ? &times->end
                                                        : &times->time;
    *has = ss_nvtx_time_stamp(domain, field->time_domain, (int64_t)value->bits, stamp);
    times->is_unknown |= !*has;
}

static void read_field(uint32_t domain, const struct ss_nvtx_field *field, const void *data,
                       size_t size, struct ss_nvtx_style *style, struct ss_event_value *value,
                       struct times *times)
{
    struct ss_event_value found;
    bool is_time = field->role >= SS_NVTX_ROLE_TIME;
    bool is_further_value = field->role == SS_NVTX_ROLE_VALUE && value->type != SS_RING_VALUE_NONE;
    if ((is_time && times == NULL) || is_further_value ||
        !ss_nvtx_read_field(domain, field, data, size, &found)) {
        return;
    }
    if (is_time) {
        read_time(domain, field, &found, times);
    } else if (field->role == SS_NVTX_ROLE_VALUE) {
        *value = found;
    } else if (field->role == SS_NVTX_ROLE_COLOUR) {
        style->argb = (uint32_t)found.bits;
    } else if (field->role == SS_NVTX_ROLE_CATEGORY) {
        style->category = (uint32_t)found.bits;
    } else if (found.type == SS_RING_VALUE_NAME) {
        style->message = (uint32_t)found.bits;
    }
}

static void read_payload(uint32_t domain, const struct ss_nvtx_payload *payload,
                         struct ss_nvtx_style *style, struct ss_event_value *value,
                         struct times *times)
{
    const struct ss_nvtx_layout *layout = ss_nvtx_find_layout(domain, payload->schema);
    size_t size = payload->size;
    if (payload->data == NULL) {
        return;
    }
    if (layout == NULL) { /* one value of a predefined type, or of an enumeration */
        struct ss_nvtx_field field = {.type = payload->schema, .length = UINT32_MAX};
        uint32_t own = ss_nvtx_type_size(payload->schema);
        own = own != 0 ? own : ss_nvtx_enum_size(domain, payload->schema);
        size = size != SIZE_MAX || is_text_type(payload->schema) ? size : own;
        read_field(domain, &field, payload->data, size, style, value, times);
        return;
    }
    size = size != SIZE_MAX ? size : layout->size;
    for (uint32_t i = 0; i < layout->count; i++) {
        read_field(domain, &layout->fields[i], payload->data, size, style, value, times);
    }
}

static void read_all(uint32_t domain, const struct ss_nvtx_payload *payloads, size_t count,
                     struct ss_nvtx_style *style, struct ss_event_value *value, struct times *times)
{
    for (size_t i = 0; payloads != NULL && i < count && i < MAX_PAYLOADS; i++) {
        read_payload(domain, &payloads[i], style, value, times);
    }
}

void ss_nvtx_read_payloads(uint32_t domain, const struct ss_nvtx_payload *payloads, size_t count,
                           struct ss_nvtx_style *style, struct ss_event_value *value)
{
    read_all(domain, payloads, count, style, value, NULL);
}

static uint32_t schema_name(uint32_t domain, const struct ss_nvtx_payload *payloads, size_t count)
{
    const struct ss_nvtx_layout *layout =
        payloads != NULL && count > 0 ? ss_nvtx_find_layout(domain, payloads[0].schema) : NULL;
    return layout != NULL && layout->name != 0 ? layout->name : ss_nvtx_name_none();
}

/* An event whose message is in its payloads: the message field, else a text value, else the name of
 * the schema. */
static struct ss_nvtx_attributes read_event(uint32_t domain, const struct ss_nvtx_payload *payloads,
                                            size_t count, struct times *times)
{
    struct ss_nvtx_style style = {0};
    struct ss_nvtx_attributes attributes = {0};
    read_all(domain, payloads, count, &style, &attributes.value, times);
    if (style.message == 0 && attributes.value.type == SS_RING_VALUE_NAME) {
        style.message = (uint32_t)attributes.value.bits;
        attributes.value.type = SS_RING_VALUE_NONE;
    }
    uint32_t name = style.message != 0 ? style.message : schema_name(domain, payloads, count);
    attributes.name = ss_nvtx_styled(domain, name, &style);
    return attributes;
}

/* --- events ---------------------------------------------------------------------------------- */

static int push_payload(const void *handle, const struct ss_nvtx_payload *payloads, size_t count)
{
    if (!ss_event_is_on(SS_RING_GATE_RANGES)) {
        return SS_NVTX_NOT_TRACKED;
    }
    uint32_t domain = ss_nvtx_domain(handle);
    return ss_nvtx_push(domain, read_event(domain, payloads, count, NULL));
}

/* A range keeps the name of its start; the payloads of its end are not recorded. */
static int pop_payload(const void *handle, const struct ss_nvtx_payload *payloads, size_t count)
{
    if (ss_nvtx_is_nccl(handle) && ss_nvtx_nccl_pop(ss_nvtx_domain(handle), payloads, count)) {
        return SS_NVTX_NOT_TRACKED;
    }
    return ss_nvtx_level(ss_event_pop(ss_nvtx_domain(handle)));
}

static uint64_t start_payload(const void *handle, const struct ss_nvtx_payload *payloads,
                              size_t count)
{
    if (!ss_event_is_on(SS_RING_GATE_RANGES)) {
        return 0;
    }
    uint32_t domain = ss_nvtx_domain(handle);
    struct ss_nvtx_attributes attributes = read_event(domain, payloads, count, NULL);
    return ss_event_begin(domain, attributes.name, attributes.value);
}

static void end_payload(const void *handle, uint64_t id, const struct ss_nvtx_payload *payloads,
                        size_t count)
{
    (void)handle;
    (void)payloads;
    (void)count;
    ss_event_end(id);
}

static void mark_payload(const void *handle, const struct ss_nvtx_payload *payloads, size_t count)
{
    if (ss_event_is_on(SS_RING_GATE_MARKS)) {
        uint32_t domain = ss_nvtx_domain(handle);
        struct ss_nvtx_attributes attributes = read_event(domain, payloads, count, NULL);
        ss_event_mark(domain, attributes.name, attributes.value);
    }
}

/* A complete range or a mark in the past. An event whose times cannot be converted is dropped. */
static void submit(uint32_t domain, const struct ss_nvtx_payload *payloads, size_t count)
{
    struct times times = {0};
    struct ss_nvtx_attributes attributes = read_event(domain, payloads, count, &times);
    if (times.is_unknown || times.has_begin != times.has_end) {
        ss_process_count_dropped();
    } else if (times.has_begin) {
        ss_event_range_at(times.begin, times.end, domain, attributes.name, attributes.value);
    } else if (times.has_time) {
        ss_event_mark_at(times.time, domain, attributes.name, attributes.value);
    } else {
        ss_event_mark(domain, attributes.name, attributes.value);
    }
}

static void event_submit(const void *handle, const struct ss_nvtx_payload *payloads, size_t count)
{
    if (ss_event_is_on(SS_RING_GATE_RANGES)) {
        submit(ss_nvtx_domain(handle), payloads, count);
    }
}

static void event_batch(const void *handle, const struct ss_nvtx_event_batch *batch)
{
    if (batch == NULL || batch->events == NULL || !ss_event_is_on(SS_RING_GATE_RANGES)) {
        return;
    }
    uint32_t domain = ss_nvtx_domain(handle);
    const struct ss_nvtx_layout *layout = ss_nvtx_find_layout(domain, batch->schema);
    if (layout == NULL || layout->size == 0) {
        ss_process_count_dropped();
        return;
    }
    for (size_t at = 0; batch->size - at >= layout->size; at += layout->size) {
        struct ss_nvtx_payload payload = {batch->schema, layout->size,
                                          (const char *)batch->events + at};
        submit(domain, &payload, 1);
    }
}

/* Also while nothing is recorded: programs ask once, and a recording may start later. */
static uint8_t domain_is_enabled(const void *handle)
{
    (void)handle;
    return 1;
}

/* Scopes are not recorded; the program only gets an id. */
static uint64_t scope_register(const void *handle, const struct ss_nvtx_scope *scope)
{
    static _Atomic uint64_t scopes;
    (void)handle;
    if (scope == NULL || scope->size < sizeof *scope) {
        return 0;
    }
    bool has_id = scope->id >= SS_NVTX_FIRST_STATIC && scope->id < SS_NVTX_FIRST_DYNAMIC;
    return has_id ? scope->id
                  : SS_NVTX_FIRST_DYNAMIC +
                        atomic_fetch_add_explicit(&scopes, 1, memory_order_relaxed);
}

static const ss_nvtx_function functions[SS_NVTX_PAYLOAD_COUNT] = {
    [SS_NVTX_SCHEMA_REGISTER] = (ss_nvtx_function)ss_nvtx_schema_register,
    [SS_NVTX_ENUM_REGISTER] = (ss_nvtx_function)ss_nvtx_enum_register,
    [SS_NVTX_MARK_PAYLOAD] = (ss_nvtx_function)mark_payload,
    [SS_NVTX_PUSH_PAYLOAD] = (ss_nvtx_function)push_payload,
    [SS_NVTX_POP_PAYLOAD] = (ss_nvtx_function)pop_payload,
    [SS_NVTX_START_PAYLOAD] = (ss_nvtx_function)start_payload,
    [SS_NVTX_END_PAYLOAD] = (ss_nvtx_function)end_payload,
    [SS_NVTX_DOMAIN_ENABLED] = (ss_nvtx_function)domain_is_enabled,
    [SS_NVTX_TIMESTAMP_GET] = (ss_nvtx_function)ss_nvtx_time_get,
    [SS_NVTX_TIME_DOMAIN_REGISTER] = (ss_nvtx_function)ss_nvtx_time_register,
    [SS_NVTX_TIMER_SOURCE] = (ss_nvtx_function)ss_nvtx_time_source,
    [SS_NVTX_TIMER_SOURCE_DATA] = (ss_nvtx_function)ss_nvtx_time_source_data,
    [SS_NVTX_SCOPE_REGISTER] = (ss_nvtx_function)scope_register,
    [SS_NVTX_SYNC_POINT] = (ss_nvtx_function)ss_nvtx_time_sync,
    [SS_NVTX_SYNC_POINT_TABLE] = (ss_nvtx_function)ss_nvtx_time_sync_table,
    [SS_NVTX_CONVERSION_FACTOR] = (ss_nvtx_function)ss_nvtx_time_conversion,
    [SS_NVTX_EVENT_SUBMIT] = (ss_nvtx_function)event_submit,
    [SS_NVTX_EVENT_BATCH] = (ss_nvtx_function)event_batch};
const struct ss_nvtx_table ss_nvtx_payload = {functions, SS_NVTX_PAYLOAD_COUNT};

/* Version 1.3: its times are of another kind. The first edition has the first two functions only.
 */
static const ss_nvtx_function older[SS_NVTX_TIMESTAMP_GET] = {
    [SS_NVTX_SCHEMA_REGISTER] = (ss_nvtx_function)ss_nvtx_schema_register,
    [SS_NVTX_ENUM_REGISTER] = (ss_nvtx_function)ss_nvtx_enum_register,
    [SS_NVTX_MARK_PAYLOAD] = (ss_nvtx_function)mark_payload,
    [SS_NVTX_PUSH_PAYLOAD] = (ss_nvtx_function)push_payload,
    [SS_NVTX_POP_PAYLOAD] = (ss_nvtx_function)pop_payload,
    [SS_NVTX_START_PAYLOAD] = (ss_nvtx_function)start_payload,
    [SS_NVTX_END_PAYLOAD] = (ss_nvtx_function)end_payload,
    [SS_NVTX_DOMAIN_ENABLED] = (ss_nvtx_function)domain_is_enabled};
static const ss_nvtx_function first_edition[SS_NVTX_ENUM_REGISTER + 1] = {
    [SS_NVTX_SCHEMA_REGISTER] = (ss_nvtx_function)ss_nvtx_schema_register_first,
    [SS_NVTX_ENUM_REGISTER] = (ss_nvtx_function)ss_nvtx_enum_register};
const struct ss_nvtx_table ss_nvtx_payload_older = {older, SS_NVTX_TIMESTAMP_GET};
const struct ss_nvtx_table ss_nvtx_payload_first = {first_edition, SS_NVTX_ENUM_REGISTER + 1};
