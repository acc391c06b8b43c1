/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/nvtx/nvtx_names.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "annot/define.h"
#include "annot/names.h"
#include "inject/nvtx/nvtx_extension.h"

enum { SEEN_SLOTS = 4096, CATEGORY_SLOTS = 8192, MAX_CATEGORIES = 6144 };

/* --- texts ----------------------------------------------------------------------------------- */

/* Cache: the last name of the message at an address. Most programs pass literals. */
static _Atomic uint16_t seen[SEEN_SLOTS];
_Static_assert(SS_RING_MAX_NAMES <= UINT16_MAX + 1, "a name fits the slot");

static bool is_text(uint32_t name, const char *text)
{
    size_t length;
    const char *known = ss_names_text(name, &length);
    return known != NULL && strncmp(text, known, length) == 0 && text[length] == '\0';
}

static uint64_t number_of(const char *digits)
{
    uint64_t number = 0;
    while (*digits >= '0' && *digits <= '9' && number < UINT64_MAX / 10) {
        number = number * 10 + (uint64_t)(*digits++ - '0');
    }
    return number;
}

/* The offset of ", seq = 12", or of ", op_id = 34" if there is no seq; 0: neither. */
static size_t find_number(const char *text, size_t length, struct ss_event_value *value)
{
    static const char *const before[] = {", seq = ", ", op_id = "};
    for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
        const char *at = memmem(text, length, before[i], strlen(before[i]));
        const char *digits = at != NULL ? at + strlen(before[i]) : NULL;
        if (digits != NULL && at > text && digits[0] >= '0' && digits[0] <= '9') {
            *value = (struct ss_event_value){number_of(digits), SS_RING_VALUE_UNSIGNED};
            return (size_t)(at - text);
        }
    }
    return 0;
}

static _Atomic uint16_t *slot_of(const char *text)
{
    uintptr_t address = (uintptr_t)text;
    return &seen[(address ^ address >> 12) % SEEN_SLOTS];
}

uint32_t ss_nvtx_name_cached(const char *text)
{
    uint32_t name = atomic_load_explicit(slot_of(text), memory_order_relaxed);
    return __builtin_expect(text != NULL && name != 0 && is_text(name, text), 1) ? name : 0;
}

/* `value` NULL: the whole text is the name. */
static uint32_t name_of(const char *text, struct ss_event_value *value)
{
    uint32_t name = ss_nvtx_name_cached(text);
    if (name != 0 || text == NULL) {
        return name;
    }
    size_t length = strnlen(text, SS_RING_MAX_TEXT_BYTES + 1);
    size_t cut = value != NULL ? find_number(text, length, value) : 0;
    name = ss_define_name(text, cut > 0 ? cut : length);
    if (cut == 0 && length <= SS_RING_MAX_TEXT_BYTES) {
        atomic_store_explicit(slot_of(text), (uint16_t)name, memory_order_relaxed);
    }
    return name;
}

uint32_t ss_nvtx_name(const char *text)
{
    return name_of(text, NULL);
}

uint32_t ss_nvtx_name_numbered(const char *text, struct ss_event_value *value)
{
    return name_of(text, value);
}

static size_t put_utf8(uint32_t character, char *to, size_t room)
{
    unsigned char bytes[4];
    size_t count = character < 0x80 ? 1 : character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
    static const unsigned char first[5] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = count; i-- > 1;) {
        bytes[i] = (unsigned char)(0x80 | (character & 0x3f));
        character >>= 6;
    }
    bytes[0] = (unsigned char)(first[count] | character);
    if (count > room) {
        return 0;
    }
    memcpy(to, bytes, count);
    return count;
}

static uint32_t valid_or_replaced(uint32_t character)
{
    return character > 0x10ffff || (character >= 0xd800 && character < 0xe000) ? 0xfffd : character;
}

size_t ss_nvtx_utf8_from_wide(const wchar_t *text, size_t length, char *to, size_t size)
{
    size_t used = 0, more = 1;
    for (size_t i = 0; i < length && text[i] != L'\0' && more > 0; i++) {
        more = put_utf8(valid_or_replaced((uint32_t)text[i]), to + used, size - used);
        used += more;
    }
    return used;
}

size_t ss_nvtx_utf8_from_utf16(const uint16_t *text, size_t length, char *to, size_t size)
{
    size_t used = 0, more = 1;
    for (size_t i = 0; i < length && text[i] != 0 && more > 0; i++) {
        uint32_t character = text[i];
        bool is_pair = character >= 0xd800 && character < 0xdc00 && i + 1 < length &&
                       text[i + 1] >= 0xdc00 && text[i + 1] < 0xe000;
        if (is_pair) {
            character = 0x10000 + ((character - 0xd800) << 10) + (text[++i] - 0xdc00U);
        }
        more = put_utf8(valid_or_replaced(character), to + used, size - used);
        used += more;
    }
    return used;
}

uint32_t ss_nvtx_name_wide(const wchar_t *text)
{
    char bytes[SS_RING_MAX_TEXT_BYTES];
    if (text == NULL) {
        return 0;
    }
    size_t length = ss_nvtx_utf8_from_wide(text, sizeof bytes, bytes, sizeof bytes);
    return ss_define_name(bytes, length);
}

uint32_t ss_nvtx_name_none(void)
{
    static const char text[] = "<no message>";
    static _Atomic uint32_t known;
    uint32_t name = atomic_load_explicit(&known, memory_order_relaxed);
    if (name == 0) {
        name = ss_define_name(text, sizeof text - 1);
        atomic_store_explicit(&known, name, memory_order_relaxed);
    }
    return name;
}

uint32_t ss_nvtx_name_message(int32_t type, union ss_nvtx_message message)
{
    switch (type) {
    case SS_NVTX_ASCII:
        return message.ascii != NULL ? ss_nvtx_name(message.ascii) : ss_nvtx_name_none();
    case SS_NVTX_WIDE:
        return message.wide != NULL ? ss_nvtx_name_wide(message.wide) : ss_nvtx_name_none();
    case SS_NVTX_REGISTERED:
        return ss_nvtx_string_name(message.registered);
    default:
        return ss_nvtx_name_none();
    }
}

/* --- handles --------------------------------------------------------------------------------- */

static const uintptr_t STRING_TAG = (uintptr_t)0x73737472 << 32; /* no address of a program */

const void *ss_nvtx_string_handle(uint32_t name)
{
    return (const void *)(STRING_TAG | name); /* NOLINT(performance-no-int-to-ptr): no address */
}

uint32_t ss_nvtx_string_name(const void *handle)
{
    uintptr_t bits = (uintptr_t)handle;
    return (bits ^ STRING_TAG) < SS_RING_MAX_NAMES ? (uint32_t)(bits ^ STRING_TAG) : 0;
}

static const char domains[SS_RING_MAX_DOMAINS];

const void *ss_nvtx_domain_handle(uint32_t domain)
{
    return &domains[domain < SS_RING_MAX_DOMAINS ? domain : 0];
}

uint32_t ss_nvtx_domain(const void *handle)
{
    uintptr_t at = (uintptr_t)handle - (uintptr_t)domains;
    return at < SS_RING_MAX_DOMAINS ? (uint32_t)at : 0;
}

static _Atomic uint32_t domain_names[SS_RING_MAX_DOMAINS];

uint32_t ss_nvtx_domain_create(const char *name)
{
    size_t length = name != NULL ? strnlen(name, SS_RING_MAX_TEXT_BYTES) : 0;
    uint32_t domain = length > 0 ? ss_define_domain(name, length) : 0;
    if (domain > 0 && domain < SS_RING_MAX_DOMAINS) {
        atomic_store_explicit(&domain_names[domain], ss_define_name(name, length),
                              memory_order_relaxed);
    }
    return domain;
}

uint32_t ss_nvtx_domain_name(uint32_t domain)
{
    return domain < SS_RING_MAX_DOMAINS
               ? atomic_load_explicit(&domain_names[domain], memory_order_relaxed)
               : 0;
}

/* --- categories ------------------------------------------------------------------------------ */

/* Entries are added with the process lock held, and never removed. */
static struct category {
    _Atomic uint64_t key; /* 1 << 63 | domain << 32 | id; 0: free */
    _Atomic uint32_t name;
} categories[CATEGORY_SLOTS];
static uint32_t category_count;

static struct category *find_category(uint64_t key)
{
    uint32_t slot = (uint32_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 40) % CATEGORY_SLOTS;
    for (;;) {
        /* Pairs with the release in ss_nvtx_name_category. */
        uint64_t there = atomic_load_explicit(&categories[slot].key, memory_order_acquire);
        if (there == key || there == 0) {
            return &categories[slot];
        }
        slot = (slot + 1) % CATEGORY_SLOTS;
    }
}

static uint64_t category_key(uint32_t domain, uint32_t id)
{
    return UINT64_C(1) << 63 | (uint64_t)domain << 32 | id;
}

void ss_nvtx_name_category(uint32_t domain, uint32_t id, uint32_t name)
{
    uint64_t key = category_key(domain, id);
    if (id == 0 || name == 0 || !ss_nvtx_lock()) {
        return;
    }
    struct category *entry = find_category(key);
    bool is_new = atomic_load_explicit(&entry->key, memory_order_relaxed) == 0;
    if (!is_new || category_count < MAX_CATEGORIES) {
        category_count += is_new;
        atomic_store_explicit(&entry->name, name, memory_order_relaxed);
        atomic_store_explicit(&entry->key, key, memory_order_release);
    }
    ss_nvtx_unlock();
}

uint32_t ss_nvtx_category(uint32_t domain, uint32_t id)
{
    if (id == 0) {
        return 0;
    }
    const struct category *entry = find_category(category_key(domain, id));
    uint32_t name = atomic_load_explicit(&entry->name, memory_order_relaxed);
    if (atomic_load_explicit(&entry->key, memory_order_relaxed) != 0) {
        return name;
    }
    char number[16];
    int length = snprintf(number, sizeof number, "%u", id);
    name = ss_define_name(number, (size_t)length);
    ss_nvtx_name_category(domain, id, name);
    return name;
}
