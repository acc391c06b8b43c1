/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The counter extension. A counter of a domain is named "DOMAIN/NAME", those of a group
 * "DOMAIN/GROUP/FIELD".
 */
#include <stdio.h>
#include <string.h>

#include "annot/define.h"
#include "annot/names.h"
#include "inject/nvtx/nvtx_extension.h"
#include "inject/nvtx/nvtx_names.h"
#include "inject/nvtx/nvtx_payload.h"
#include "inject/nvtx/nvtx_tables.h"

enum { MAX_COUNTERS = 1024 };

/* Filled with the process lock held; immutable afterwards. */
struct counter {
    uint64_t id, schema, time_domain;
    uint32_t domain;
    double scale;                       /* 1: the values are not scaled */
    uint32_t names[SS_NVTX_MAX_FIELDS]; /* one per field of the group; 0: not a value */
};
static struct counter counters[MAX_COUNTERS];
static _Atomic uint32_t counter_count; /* publishes the entries below it */

static const struct counter *find(uint32_t domain, uint64_t id)
{
    uint32_t count = atomic_load_explicit(&counter_count, memory_order_acquire);
    if (id >= SS_NVTX_FIRST_DYNAMIC) {
        uint64_t at = id - SS_NVTX_FIRST_DYNAMIC;
        return at < count && counters[at].id == id ? &counters[at] : NULL;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (counters[i].id == id && counters[i].domain == domain) {
            return &counters[i];
        }
    }
    return NULL;
}

/* --- registration ----------------------------------------------------------------------------- */

static uint32_t join_names(uint32_t first, uint32_t second)
{
    char text[2 * SS_RING_MAX_TEXT_BYTES + 2];
    size_t lengths[2] = {0, 0};
    const char *texts[2] = {ss_names_text(first, &lengths[0]), ss_names_text(second, &lengths[1])};
    if (texts[0] == NULL || texts[1] == NULL) {
        return texts[0] != NULL ? first : second;
    }
    int length = snprintf(text, sizeof text, "%.*s/%.*s", (int)lengths[0], texts[0],
                          (int)lengths[1], texts[1]);
    return ss_define_name(text, (size_t)length);
}

static double scale_of(const struct ss_nvtx_semantics *first)
{
    const struct ss_nvtx_counter_semantics *counter = ss_nvtx_find_semantics(
        first, SS_NVTX_SEMANTICS_COUNTER, offsetof(struct ss_nvtx_counter_semantics, limit_type));
    bool is_scaled = counter != NULL && counter->unit_numerator != 0 &&
                     counter->unit_denominator != 0 &&
                     counter->unit_numerator != counter->unit_denominator;
    return is_scaled ? (double)counter->unit_numerator / (double)counter->unit_denominator : 1;
}

static void define_counter(struct counter *counter, const struct ss_nvtx_counter *attributes)
{
    uint32_t name =
        join_names(ss_nvtx_domain_name(counter->domain), ss_nvtx_name(attributes->name));
    uint32_t unit = 0, kind = SS_RING_GAUGE;
    const struct ss_nvtx_layout *layout = ss_nvtx_find_layout(counter->domain, attributes->schema);
    ss_nvtx_counter_semantics(attributes->semantics, &unit, &kind);
    counter->names[0] = name;
    if (layout == NULL) {
        ss_define_counter(name, unit, kind);
    }
    for (uint32_t i = 0; layout != NULL && i < layout->count; i++) {
        const struct ss_nvtx_field *field = &layout->fields[i];
        counter->names[i] = field->role == SS_NVTX_ROLE_VALUE ? join_names(name, field->name) : 0;
        ss_define_counter(counter->names[i], field->unit != 0 ? field->unit : unit,
                          field->counter_kind != 0 ? field->counter_kind : kind);
    }
}

static uint64_t counter_register(const void *handle, const struct ss_nvtx_counter *attributes)
{
    if (attributes == NULL || attributes->size < offsetof(struct ss_nvtx_counter, id) ||
        attributes->name == NULL) {
        return 0;
    }
    struct counter counter = {.domain = ss_nvtx_domain(handle),
                              .schema = attributes->schema,
                              .scale = scale_of(attributes->semantics),
                              .time_domain = ss_nvtx_time_domain_of(attributes->semantics)};
    if (attributes->size >= sizeof *attributes && attributes->id >= SS_NVTX_FIRST_STATIC &&
        attributes->id < SS_NVTX_FIRST_DYNAMIC) {
        counter.id = attributes->id;
    }
    define_counter(&counter, attributes);
    if (!ss_nvtx_lock()) {
        return 0;
    }
    uint32_t index = atomic_load_explicit(&counter_count, memory_order_relaxed);
    uint64_t id = counter.id != 0 && find(counter.domain, counter.id) != NULL ? counter.id : 0;
    if (id == 0 && index < MAX_COUNTERS) {
        id = counter.id = counter.id != 0 ? counter.id : SS_NVTX_FIRST_DYNAMIC + index;
        counters[index] = counter;
        atomic_store_explicit(&counter_count, index + 1, memory_order_release);
    }
    ss_nvtx_unlock();
    return id;
}

/* --- samples --------------------------------------------------------------------------------- */

static double as_real(struct ss_event_value value)
{
    double real = 0;
    if (value.type == SS_RING_VALUE_DOUBLE) {
        memcpy(&real, &value.bits, sizeof real);
        return real;
    }
    return value.type == SS_RING_VALUE_SIGNED ? (double)(int64_t)value.bits : (double)value.bits;
}

/* `stamp` 0: now. */
static void emit(const struct counter *counter, uint32_t name, struct ss_event_value value,
                 uint64_t stamp)
{
    if (name == 0 || value.type == SS_RING_VALUE_NAME) {
        return;
    }
    bool is_large = value.type == SS_RING_VALUE_UNSIGNED && value.bits >> 63 != 0;
    if (counter->scale != 1 || is_large) {
        double real = as_real(value) * counter->scale;
        value.type = SS_RING_VALUE_DOUBLE;
        memcpy(&value.bits, &real, sizeof real);
    }
    if (stamp == 0) {
        ss_event_count(name, value);
    } else {
        ss_event_count_at(stamp, name, value);
    }
}

/* Records all values of a sample. `stamp` 0: the time in the sample, if it has one, else now. */
static void record_sample(const struct counter *counter, const void *data, size_t size,
                          uint64_t stamp)
{
    const struct ss_nvtx_layout *layout = ss_nvtx_find_layout(counter->domain, counter->schema);
    struct ss_event_value value;
    if (layout == NULL) {
        struct ss_nvtx_field field = {.type = counter->schema};
        if (ss_nvtx_read_field(counter->domain, &field, data, size, &value)) {
            emit(counter, counter->names[0], value, stamp);
        }
        return;
    }
    for (uint32_t i = 0; stamp == 0 && i < layout->count; i++) {
        const struct ss_nvtx_field *field = &layout->fields[i];
        if (field->role == SS_NVTX_ROLE_TIME &&
            ss_nvtx_read_field(counter->domain, field, data, size, &value) &&
            !ss_nvtx_time_stamp(counter->domain, field->time_domain, (int64_t)value.bits, &stamp)) {
            ss_process_count_dropped();
            return;
        }
    }
    for (uint32_t i = 0; i < layout->count; i++) {
        if (layout->fields[i].role == SS_NVTX_ROLE_VALUE &&
            ss_nvtx_read_field(counter->domain, &layout->fields[i], data, size, &value)) {
            emit(counter, counter->names[i], value, stamp);
        }
    }
}

/* NULL: counters are not recorded now, or the counter is unknown (counted as a drop). */
static const struct counter *find_recorded(const void *handle, uint64_t id)
{
    if (!ss_event_is_on(SS_RING_GATE_COUNTERS)) {
        return NULL;
    }
    const struct counter *counter = find(ss_nvtx_domain(handle), id);
    if (counter == NULL) {
        ss_process_count_dropped();
    }
    return counter;
}

static void sample_int64(const void *handle, uint64_t id, int64_t value)
{
    const struct counter *counter = find_recorded(handle, id);
    if (counter != NULL) {
        emit(counter, counter->names[0],
             (struct ss_event_value){(uint64_t)value, SS_RING_VALUE_SIGNED}, 0);
    }
}

static void sample_float64(const void *handle, uint64_t id, double real)
{
    const struct counter *counter = find_recorded(handle, id);
    struct ss_event_value value = {0, SS_RING_VALUE_DOUBLE};
    memcpy(&value.bits, &real, sizeof real);
    if (counter != NULL) {
        emit(counter, counter->names[0], value, 0);
    }
}

static void sample(const void *handle, uint64_t id, const void *values, size_t size)
{
    const struct counter *counter = find_recorded(handle, id);
    if (counter != NULL && values != NULL) {
        record_sample(counter, values, size, 0);
    }
}

/* An unchanged value needs no event. For an unavailable one the ring has no event. */
static void sample_no_value(const void *handle, uint64_t id, uint8_t reason)
{
    if (reason == SS_NVTX_SAMPLE_ZERO) {
        sample_int64(handle, id, 0);
    }
}

/* The time of sample `number`; 0: the batch has no times. false: unusable times. */
static bool time_of(const struct counter *counter, const struct ss_nvtx_counter_batch *batch,
                    size_t number, size_t samples, uint64_t *stamp)
{
    size_t times = batch->timestamps != NULL ? batch->timestamps_size / sizeof(int64_t) : 0;
    bool from_begin = (batch->flags & SS_NVTX_BATCH_FROM_BEGIN) != 0;
    bool to_end = (batch->flags & SS_NVTX_BATCH_TO_END) != 0;
    int64_t time;
    *stamp = 0;
    if (times == 0) {
        return true;
    }
    if (times >= samples && !from_begin && !to_end) {
        time = batch->timestamps[number];
    } else if (times == 2) { /* the headers' flag for it is 0 with most compilers */
        uint64_t steps = to_end ? -(uint64_t)(samples - 1 - number) : (uint64_t)number;
        time = (int64_t)((uint64_t)batch->timestamps[0] + (uint64_t)batch->timestamps[1] * steps);
    } else {
        return false;
    }
    return ss_nvtx_time_stamp(counter->domain, counter->time_domain, time, stamp);
}

static void batch_submit(const void *handle, const struct ss_nvtx_counter_batch *batch)
{
    const struct counter *counter = batch != NULL ? find_recorded(handle, batch->counter) : NULL;
    if (counter == NULL || batch->values == NULL) {
        return;
    }
    const struct ss_nvtx_layout *layout = ss_nvtx_find_layout(counter->domain, counter->schema);
    size_t size = layout != NULL ? layout->size : ss_nvtx_type_size(counter->schema);
    size_t samples = size > 0 ? batch->values_size / size : 0;
    for (size_t i = 0; i < samples; i++) {
        uint64_t stamp;
        if (time_of(counter, batch, i, samples, &stamp)) {
            record_sample(counter, (const char *)batch->values + i * size, size, stamp);
        } else {
            ss_process_count_dropped();
        }
    }
}

static const ss_nvtx_function functions[SS_NVTX_COUNTERS_COUNT] = {
    [SS_NVTX_COUNTER_REGISTER] = (ss_nvtx_function)counter_register,
    [SS_NVTX_COUNTER_INT64] = (ss_nvtx_function)sample_int64,
    [SS_NVTX_COUNTER_FLOAT64] = (ss_nvtx_function)sample_float64,
    [SS_NVTX_COUNTER_SAMPLE] = (ss_nvtx_function)sample,
    [SS_NVTX_COUNTER_NO_VALUE] = (ss_nvtx_function)sample_no_value,
    [SS_NVTX_COUNTER_BATCH] = (ss_nvtx_function)batch_submit};
const struct ss_nvtx_table ss_nvtx_counters = {functions, SS_NVTX_COUNTERS_COUNT};
