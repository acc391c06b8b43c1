/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters. All of them are levels for us: what a program adds is added up here, from the beginning
 * of the recording on, so that one that also sets values stays right.
 */
#include <stdio.h>
#include <string.h>

#include "annot/define.h"
#include "inject/itt_functions.h"
#include "inject/itt_names.h"
#include "inject/itt_state.h"
#include "inject/itt_values.h"

enum { ROWS = 8192 };

/* Of which counter a row is: of a name and a type; of one that was made before we came (its
 * address); of a domain's string. */
struct key {
    uint64_t kind, a, b;
};

enum { BY_NAME, BY_ADDRESS, BY_STRING };

/* Immutable once it is in the table, but for the total. */
struct row {
    const void *tag; /* &row_tag: no counter of a copy of ITT begins so */
    struct key key;
    uint32_t name;
    int type;
    _Atomic uint64_t total; /* bits of the type's class */
};

static const char row_tag;

/* --- the table -------------------------------------------------------------------------------- */

static struct row *find_or_add(const struct key *key, struct row *fresh)
{
    static _Atomic(struct row *) rows[ROWS];
    uint64_t hash = (key->a ^ key->b * 31 ^ key->kind << 60) * UINT64_C(0x9e3779b97f4a7c15);
    for (uint32_t i = 0; i < ROWS; i++) {
        _Atomic(struct row *) *slot = &rows[((hash >> 40) + i) % ROWS];
        struct row *row = atomic_load_explicit(slot, memory_order_acquire);
        if (row == NULL && fresh != NULL &&
            atomic_compare_exchange_strong_explicit(slot, &row, fresh, memory_order_release,
                                                    memory_order_acquire)) {
            return fresh;
        }
        if (row == NULL || memcmp(&row->key, key, sizeof *key) == 0) {
            return row;
        }
    }
    return NULL; /* full */
}

static struct row *add(const struct key *key, uint32_t name, int type)
{
    struct row *fresh = name != 0 ? ss_itt_allocate(sizeof *fresh) : NULL;
    if (fresh == NULL) {
        return NULL;
    }
    fresh->tag = &row_tag;
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

/* The handle that the program gave us is a row, or what its copy of ITT made. */
static struct row *row_of(void *handle)
{
    const void *tag;
    if (handle == NULL) {
        return NULL;
    }
    memcpy(&tag, handle, sizeof tag);
    if (tag == &row_tag) {
        return handle;
    }
    struct key key = {BY_ADDRESS, (uintptr_t)handle, 0};
    struct row *row = find_or_add(&key, NULL);
    if (row == NULL) {
        const struct ss_itt_counter *made = handle;
        row = add(&key, name_in(made->domain, made->name), made->type);
    }
    return row;
}

static struct row *row_of_string(ss_itt_in_domain domain, ss_itt_in_string name)
{
    struct key key = {BY_STRING, (uintptr_t)domain, (uintptr_t)name};
    struct row *row = name != NULL ? find_or_add(&key, NULL) : NULL;
    if (row == NULL && name != NULL) {
        row = add(&key, name_in(domain != NULL ? domain->name : NULL, name->text), SS_ITT_U64);
    }
    return row;
}

/* --- making ----------------------------------------------------------------------------------- */

/* What is returned when there is no room: a counter that counts nothing. */
static struct row nobody = {.tag = &row_tag};

void *ss_itt_counter_create_typed(const char *name, const char *domain, int type)
{
    if (name == NULL) {
        return NULL;
    }
    uint32_t number = name_in(domain, name);
    struct key key = {BY_NAME, number, (uint64_t)(unsigned)type};
    struct row *row = find_or_add(&key, NULL);
    if (row == NULL) {
        row = add(&key, number, type);
    }
    return row != NULL ? row : &nobody;
}

void *ss_itt_counter_create(const char *name, const char *domain)
{
    return ss_itt_counter_create_typed(name, domain, SS_ITT_U64);
}

void *ss_itt_counter_create_v3(ss_itt_in_domain domain, const char *name, int type)
{
    return ss_itt_counter_create_typed(name, domain != NULL ? domain->name : NULL, type);
}

/* --- counting --------------------------------------------------------------------------------- */

/* The trace keeps whole numbers below 2^63. */
static struct ss_event_value shown(struct ss_event_value value)
{
    if (value.type == SS_RING_VALUE_UNSIGNED && value.bits > INT64_MAX) {
        return ss_itt_real((double)value.bits);
    }
    return value;
}

static void tell(const struct row *row, struct ss_event_value value)
{
    if (row->name != 0 && ss_itt_wants(SS_RING_GATE_COUNTERS)) {
        ss_event_count(row->name, shown(value));
    }
}

static bool is_real(const struct row *row)
{
    return row->type == SS_ITT_FLOAT || row->type == SS_ITT_DOUBLE;
}

static bool is_signed(const struct row *row)
{
    return row->type == SS_ITT_S64 || row->type == SS_ITT_S32 || row->type == SS_ITT_S16;
}

static struct ss_event_value add_up_real(struct row *row, double amount)
{
    uint64_t before = atomic_load_explicit(&row->total, memory_order_relaxed);
    struct ss_event_value after;
    do {
        double total;
        memcpy(&total, &before, sizeof total);
        after = ss_itt_real(total + amount);
    } while (!atomic_compare_exchange_weak_explicit(&row->total, &before, after.bits,
                                                    memory_order_relaxed, memory_order_relaxed));
    return after;
}

static void change(struct row *row, bool grows, uint64_t amount)
{
    if (row == NULL) {
        return;
    }
    if (is_real(row)) {
        tell(row, add_up_real(row, grows ? (double)amount : -(double)amount));
        return;
    }
    uint64_t by = grows ? amount : -amount;
    uint64_t total = atomic_fetch_add_explicit(&row->total, by, memory_order_relaxed) + by;
    /* One that was decremented before it was incremented is below zero, not near 2^64. */
    bool below = is_signed(row) || (int64_t)total < 0;
    tell(row, below ? ss_itt_integer((int64_t)total) : ss_itt_natural(total));
}

static void set(void *counter, const void *at)
{
    struct row *row = at != NULL && ss_event_is_on(SS_RING_GATE_COUNTERS) ? row_of(counter) : NULL;
    if (row != NULL) {
        struct ss_event_value value = ss_itt_value(row->type != 0 ? row->type : SS_ITT_U64, at, 0);
        atomic_store_explicit(&row->total, value.bits, memory_order_relaxed);
        tell(row, value);
    }
}

static void change_handle(void *counter, bool grows, uint64_t amount)
{
    if (ss_event_is_on(SS_RING_GATE_COUNTERS)) {
        change(row_of(counter), grows, amount);
    }
}

static void change_string(ss_itt_in_domain domain, ss_itt_in_string name, bool grows,
                          uint64_t amount)
{
    if (ss_event_is_on(SS_RING_GATE_COUNTERS)) {
        change(row_of_string(domain, name), grows, amount);
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
