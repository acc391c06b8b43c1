/* SPDX-License-Identifier: Apache-2.0 */
#include "annot/names.h"

#include <string.h>
#include <sys/mman.h>

enum { TABLE_SLOTS = 1 << 18, STYLED_SLOTS = 1 << 17 }; /* above SS_RING_MAX_NAMES */

/* Maps a name and a style to the name of the combination. */
struct styled {
    _Atomic uint64_t key; /* name << 48 | category << 32 | argb; 0: free. Publishes the rest */
    uint32_t type;        /* of the style */
    uint32_t id;
};
_Static_assert(SS_RING_MAX_NAMES <= 1 << 16, "two names and a colour fit a word");

/* One mapping; untouched pages are never allocated. */
struct names {
    char log[SS_RING_DEFINITIONS_BYTES];
    _Atomic uint32_t table[TABLE_SLOTS]; /* offset of the definition + 1; 0: free */
    struct styled styled[STYLED_SLOTS];
    _Atomic uint32_t offsets[SS_RING_MAX_NAMES]; /* of names' definitions, + 1 */
    uint32_t described[2][SS_RING_MAX_NAMES];    /* hash of a name's style and counter */
    uint32_t log_bytes, names, domains;
};

static struct names *names;

bool ss_names_init(void)
{
    void *memory = mmap(NULL, sizeof *names, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        return false;
    }
    names = memory;
    names->names = names->domains = 1;
    return true;
}

static uint32_t hash_text(uint32_t kind, const char *text, size_t length)
{
    uint64_t hash = kind * UINT64_C(0x9e3779b97f4a7c15) ^ length;
    while (length >= 8) {
        uint64_t word;
        memcpy(&word, text, 8);
        hash = (hash ^ word) * UINT64_C(0xd6e8feb86659fd93);
        hash ^= hash >> 32;
        text += 8;
        length -= 8;
    }
    uint64_t rest = 0;
    memcpy(&rest, text, length);
    hash = (hash ^ rest) * UINT64_C(0xd6e8feb86659fd93);
    return (uint32_t)(hash ^ hash >> 32);
}

static bool matches_definition(uint32_t offset, uint32_t kind, const char *text, size_t length,
                               uint32_t *id)
{
    struct ss_ring_definition head;
    memcpy(&head, names->log + offset, sizeof head);
    *id = head.a;
    return head.kind == kind && head.length == length &&
           memcmp(names->log + offset + sizeof head, text, length) == 0;
}

/* Returns the id; 0: not found, and `*free_slot` is the slot for it. */
static uint32_t find_id(uint32_t kind, const char *text, size_t length, uint32_t *free_slot)
{
    uint32_t slot = hash_text(kind, text, length) & (TABLE_SLOTS - 1);
    for (;;) {
        /* Pairs with the release store in ss_names_add: the definition is complete. */
        uint32_t entry = atomic_load_explicit(&names->table[slot], memory_order_acquire);
        uint32_t id;
        if (entry == 0) {
            *free_slot = slot;
            return 0;
        }
        if (matches_definition(entry - 1, kind, text, length, &id)) {
            return id;
        }
        slot = (slot + 1) & (TABLE_SLOTS - 1);
    }
}

static size_t capped_length(size_t length)
{
    return length < SS_RING_MAX_TEXT_BYTES ? length : SS_RING_MAX_TEXT_BYTES;
}

uint32_t ss_names_find(enum ss_ring_definition_kind kind, const char *text, size_t length)
{
    uint32_t slot;
    return names != NULL ? find_id(kind, text, capped_length(length), &slot) : 0;
}

static bool append(const struct ss_ring_definition *head, const char *text)
{
    size_t bytes = ss_ring_definition_bytes(head->length);
    if (bytes > sizeof names->log - names->log_bytes) {
        return false;
    }
    char *to = names->log + names->log_bytes;
    memcpy(to, head, sizeof *head);
    memcpy(to + sizeof *head, text, head->length);
    names->log_bytes += (uint32_t)bytes;
    return true;
}

/* Adds the next name or domain. 0: no room. */
static uint32_t add(enum ss_ring_definition_kind kind, const char *text, size_t length)
{
    bool is_name = kind == SS_RING_DEFINE_NAME;
    uint32_t *next = is_name ? &names->names : &names->domains;
    uint32_t offset = names->log_bytes;
    struct ss_ring_definition head = {.kind = kind, .length = (uint32_t)length, .a = *next};
    if (*next >= (is_name ? (uint32_t)SS_RING_MAX_NAMES : (uint32_t)SS_RING_MAX_DOMAINS) ||
        !append(&head, text)) {
        return 0;
    }
    if (is_name) { /* pairs with the acquire of ss_names_text */
        atomic_store_explicit(&names->offsets[*next], offset + 1, memory_order_release);
    }
    return (*next)++;
}

uint32_t ss_names_add(enum ss_ring_definition_kind kind, const char *text, size_t length)
{
    uint32_t slot = 0;
    length = capped_length(length);
    uint32_t id = names != NULL ? find_id(kind, text, length, &slot) : 0;
    if (id != 0 || names == NULL) {
        return id;
    }
    uint32_t offset = names->log_bytes;
    id = add(kind, text, length);
    if (id != 0) {
        atomic_store_explicit(&names->table[slot], offset + 1, memory_order_release);
    }
    return id;
}

const char *ss_names_text(uint32_t name, size_t *length)
{
    uint32_t entry = names != NULL && name < SS_RING_MAX_NAMES
                         ? atomic_load_explicit(&names->offsets[name], memory_order_acquire)
                         : 0;
    if (entry == 0) {
        return NULL;
    }
    struct ss_ring_definition head;
    memcpy(&head, names->log + entry - 1, sizeof head);
    *length = head.length;
    return names->log + entry - 1 + sizeof head;
}

static uint64_t styled_key(uint32_t name, struct ss_name_style style)
{
    return (uint64_t)(name & 0xffff) << 48 | (uint64_t)(style.category & 0xffff) << 32 | style.argb;
}

/* Returns the id; 0: not found, and `*free_slot` is the slot for it. */
static uint32_t find_styled_id(uint32_t name, struct ss_name_style style, struct styled **free_slot)
{
    uint64_t wanted = styled_key(name, style);
    uint64_t hash = wanted * UINT64_C(0x9e3779b97f4a7c15);
    uint32_t slot = (uint32_t)(hash >> 32) & (STYLED_SLOTS - 1);
    for (;;) {
        struct styled *entry = &names->styled[slot];
        /* Pairs with the release store in ss_names_add_styled. */
        uint64_t key = atomic_load_explicit(&entry->key, memory_order_acquire);
        if (key == wanted && entry->type == (uint32_t)style.type) {
            return entry->id;
        }
        if (key == 0) {
            *free_slot = entry;
            return 0;
        }
        slot = (slot + 1) & (STYLED_SLOTS - 1);
    }
}

uint32_t ss_names_find_styled(uint32_t name, struct ss_name_style style)
{
    struct styled *slot;
    return names != NULL && name != 0 ? find_styled_id(name, style, &slot) : 0;
}

uint32_t ss_names_add_styled(uint32_t name, struct ss_name_style style)
{
    struct styled *slot = NULL;
    size_t length = 0;
    const char *text = ss_names_text(name, &length);
    uint32_t id = text != NULL ? find_styled_id(name, style, &slot) : 0;
    if (slot == NULL) {
        return id;
    }
    id = style.category < names->names ? add(SS_RING_DEFINE_NAME, text, length) : 0;
    if (id != 0) {
        struct ss_ring_definition head = {.kind = SS_RING_DEFINE_STYLE,
                                          .a = id,
                                          .b = style.argb,
                                          .c = style.category,
                                          .d = (uint32_t)style.type};
        append(&head, "");
        slot->id = id;
        slot->type = (uint32_t)style.type;
        atomic_store_explicit(&slot->key, styled_key(name, style), memory_order_release);
    }
    return id;
}

uint32_t ss_names_add_function(const char *text, size_t length, uint32_t file, uint32_t line)
{
    if (names == NULL || names->names >= SS_RING_MAX_NAMES || file >= names->names) {
        return 0;
    }
    struct ss_ring_definition head = {.kind = SS_RING_DEFINE_FUNCTION,
                                      .length = (uint32_t)capped_length(length),
                                      .a = names->names,
                                      .b = file,
                                      .c = line};
    uint32_t offset = names->log_bytes;
    if (!append(&head, text)) {
        return 0;
    }
    atomic_store_explicit(&names->offsets[names->names], offset + 1, memory_order_release);
    return names->names++;
}

bool ss_names_describe(enum ss_ring_definition_kind kind, uint32_t name, uint32_t b, uint32_t c,
                       uint32_t d)
{
    if (names == NULL || name == 0 || name >= names->names || c >= names->names ||
        (kind == SS_RING_DEFINE_COUNTER && (b >= names->names || c >= SS_RING_COUNTER_COUNT))) {
        return false;
    }
    uint32_t words[3] = {b, c, d};
    uint32_t hash = hash_text(kind, (const char *)words, sizeof words) | 1;
    uint32_t *known = &names->described[kind == SS_RING_DEFINE_COUNTER][name];
    struct ss_ring_definition head = {.kind = kind, .a = name, .b = b, .c = c, .d = d};
    if (*known == hash || !append(&head, "")) {
        return false;
    }
    *known = hash;
    return true;
}

const char *ss_names_log(void)
{
    return names != NULL ? names->log : NULL;
}

uint32_t ss_names_log_bytes(void)
{
    return names != NULL ? names->log_bytes : 0;
}
