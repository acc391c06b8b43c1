/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters, all of them recorded as gauges: increments and decrements are added up here, from the
 * start of the recording on, so that a counter that the program also sets stays correct.
 */
#include <stdio.h>
#include <string.h>

#include "annot/define.h"
#include "inject/itt/itt_functions.h"
#include "inject/itt/itt_names.h"
#include "inject/itt/itt_state.h"
#include "inject/itt/itt_values.h"

enum { COUNTER_SLOTS = 8192 };

/* What identifies a counter: a name and a type; the address of a counter that ITT created before
 * the collector attached; a domain and a string. */
struct key {
    uint64_t kind, a, b;
};

enum { BY_NAME, BY_ADDRESS, BY_STRING };

/* Immutable after insertion, except for `total`. */
struct counter {
    const void *tag; /* &counter_tag; never the first word of a counter that ITT created */
    struct key key;
    uint32_t name;
    int type;
    _Atomic uint64_t total; /* the bits of a double or of an integer, by type */
};

static const char counter_tag;

/* --- the table -------------------------------------------------------------------------------- */

static struct counter *find_or_add(const struct key *key, struct counter *fresh)
{
    static _Atomic(struct counter *) slots[COUNTER_SLOTS];
    uint64_t hash = (key->a ^ key->b * 31 ^ key->kind << 60) * UINT64_C(0x9e3779b97f4a7c15);
    for (uint32_t i = 0; i < COUNTER_SLOTS; i++) {
        _Atomic(struct counter *) *slot = &slots[((hash >> 40) + i) % COUNTER_SLOTS];
        struct counter *counter = atomic_load_explicit(slot, memory_order_acquire);
        if (counter == NULL && fresh != NULL &&
            atomic_compare_exchange_strong_explicit(slot, &counter, fresh, memory_order_release,
                                                    memory_order_acquire)) {
            return fresh;
        }
        if (counter == NULL || memcmp(&counter->key, key, sizeof *key) == 0) {
            return counter;
        }
    }
    return NULL; /* full */
}

static struct counter *add(const struct key *key, uint32_t name, int type)
{
    struct counter *fresh = name != 0 ? ss_itt_allocate(sizeof *fresh) : NULL;
    if (fresh == NULL) {
        return NULL;
    }
    fresh->tag = &counter_tag;
    fresh->key = *key;
    fresh->name = name;
    fresh->type = ss_itt_value_bytes(type) != 0 ? type : SS_ITT_U64;
    ss_define_counter(name, 0, SS_RING_GAUGE);
    return find_or_add(key, fresh);
}

/* "DOMAIN/NAME" */
static uint32_t name_in(const char *domain, const char *name)
{
    char text[SS_RING_MAX_TEXT_BYTES + 1];
    if (name == NULL) {
        return 0;
    }
    if (domain == NULL || domain[0] == '\0') {
        return ss_itt_name_of_text(name);
    }
    int length = snprintf(text, sizeof text, "%.500s/%.500s", domain, name);
    return ss_define_name(text, length > 0 ? (size_t)length : 0);
}

/* A handle is a struct counter of this file or a counter that the program's copy of ITT created. */
static struct counter *counter_of(void *handle)
{
    const void *tag;
    if (handle == NULL) {
        return NULL;
    }
    memcpy(&tag, handle, sizeof tag);
    if (tag == &counter_tag) {
        return handle;
    }
    struct key key = {BY_ADDRESS, (uintptr_t)handle, 0};
    struct counter *counter = find_or_add(&key, NULL);
    if (counter == NULL) {
        const struct ss_itt_counter *made = handle;
        counter = add(&key, name_in(made->domain, made->name), made->type);
    }
    return counter;
}

static struct counter *counter_of_string(ss_itt_in_domain domain, ss_itt_in_string name)
{
    struct key key = {BY_STRING, (uintptr_t)domain, (uintptr_t)name};
    struct counter *counter = name != NULL ? find_or_add(&key, NULL) : NULL;
    if (counter == NULL && name != NULL) {
        counter = add(&key, name_in(domain != NULL ? domain->name : NULL, name->text), SS_ITT_U64);
    }
    return counter;
}

/* --- creation --------------------------------------------------------------------------------- */

/* Returned when no counter can be added: a counter that records nothing. */
static struct counter no_counter = {.tag = &counter_tag};

void *ss_itt_counter_create_typed(const char *name, const char *domain, int type)
{
    if (name == NULL) {
        return NULL;
    }
    uint32_t number = name_in(domain, name);
    struct key key = {BY_NAME, number, (uint64_t)(unsigned)type};
    struct counter *counter = find_or_add(&key, NULL);
    if (counter == NULL) {
        counter = add(&key, number, type);
    }
    return counter != NULL ? counter : &no_counter;
}

void *ss_itt_counter_create(const char *name, const char *domain)
{
    return ss_itt_counter_create_typed(name, domain, SS_ITT_U64);
}

void *ss_itt_counter_create_v3(ss_itt_in_domain domain, const char *name, int type)
{
    return ss_itt_counter_create_typed(name, domain != NULL ? domain->name : NULL, type);
}

/* --- values ----------------------------------------------------------------------------------- */

/* The trace stores integers below 2^63; larger ones become doubles. */
static struct ss_event_value storable(struct ss_event_value value)
{
    if (value.type == SS_RING_VALUE_UNSIGNED && value.bits > INT64_MAX) {
        return ss_itt_real((double)value.bits);
    }
    return value;
}

static void emit(const struct counter *counter, struct ss_event_value value)
{
    if (counter->name != 0 && ss_itt_is_recorded(SS_RING_GATE_COUNTERS)) {
        ss_event_count(counter->name, storable(value));
    }
}

static bool is_real(const struct counter *counter)
{
    return counter->type == SS_ITT_FLOAT || counter->type == SS_ITT_DOUBLE;
}

static bool is_signed(const struct counter *counter)
{
    return counter->type == SS_ITT_S64 || counter->type == SS_ITT_S32 ||
           counter->type == SS_ITT_S16;
}

static struct ss_event_value add_up_real(struct counter *counter, double amount)
{
    uint64_t before = atomic_load_explicit(&counter->total, memory_order_relaxed);
    struct ss_event_value after;
    do {
        double total;
        memcpy(&total, &before, sizeof total);
        after = ss_itt_real(total + amount);
    } while (!atomic_compare_exchange_weak_explicit(&counter->total, &before, after.bits,
                                                    memory_order_relaxed, memory_order_relaxed));
    return after;
}

static void change(struct counter *counter, bool grows, uint64_t amount)
{
    if (counter == NULL) {
        return;
    }
    if (is_real(counter)) {
        emit(counter, add_up_real(counter, grows ? (double)amount : -(double)amount));
        return;
    }
    uint64_t by = grows ? amount : -amount;
    uint64_t total = atomic_fetch_add_explicit(&counter->total, by, memory_order_relaxed) + by;
    /* A counter that is decremented before it is incremented is negative, not near 2^64. */
    bool below = is_signed(counter) || (int64_t)total < 0;
    emit(counter, below ? ss_itt_integer((int64_t)total) : ss_itt_natural(total));
}

static void set(void *handle, const void *at)
{
    struct counter *counter =
        at != NULL && ss_event_is_on(SS_RING_GATE_COUNTERS) ? counter_of(handle) : NULL;
    if (counter != NULL) {
        struct ss_event_value value =
            ss_itt_value(counter->type != 0 ? counter->type : SS_ITT_U64, at, 0);
        atomic_store_explicit(&counter->total, value.bits, memory_order_relaxed);
        emit(counter, value);
    }
}

static void change_handle(void *handle, bool grows, uint64_t amount)
{
    if (ss_event_is_on(SS_RING_GATE_COUNTERS)) {
        change(counter_of(handle), grows, amount);
    }
}

static void change_string(ss_itt_in_domain domain, ss_itt_in_string name, bool grows,
                          uint64_t amount)
{
    if (ss_event_is_on(SS_RING_GATE_COUNTERS)) {
        change(counter_of_string(domain, name), grows, amount);
    }
}

void ss_itt_counter_inc(void *counter)
{
    change_handle(counter, true, 1);
}

void ss_itt_counter_inc_delta(void *counter, unsigned long long value)
{
    change_handle(counter, true, value);
}

void ss_itt_counter_dec(void *counter)
{
    change_handle(counter, false, 1);
}

void ss_itt_counter_dec_delta(void *counter, unsigned long long value)
{
    change_handle(counter, false, value);
}

void ss_itt_counter_inc_v3(ss_itt_in_domain domain, ss_itt_in_string name)
{
    change_string(domain, name, true, 1);
}

void ss_itt_counter_inc_delta_v3(ss_itt_in_domain domain, ss_itt_in_string name,
                                 unsigned long long value)
{
    change_string(domain, name, true, value);
}

void ss_itt_counter_dec_v3(ss_itt_in_domain domain, ss_itt_in_string name)
{
    change_string(domain, name, false, 1);
}

void ss_itt_counter_dec_delta_v3(ss_itt_in_domain domain, ss_itt_in_string name,
                                 unsigned long long value)
{
    change_string(domain, name, false, value);
}

void ss_itt_counter_set_value(void *counter, const void *value)
{
    set(counter, value);
}

void ss_itt_counter_set_value_ex(void *counter, void *clock, unsigned long long time,
                                 const void *value)
{
    (void)clock;
    (void)time;
    set(counter, value);
}

void ss_itt_counter_set_value_v3(void *counter, const void *value)
{
    set(counter, value);
}
