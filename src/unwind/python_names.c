/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Thread names: sys.modules["threading"]._active maps thread identifiers to Thread objects, whose
 * attribute _name is the name. Every step is a read that can fail; the thread then has no name.
 */
#include <string.h>

#include "base/strbuf.h"
#include "unwind/cpython_text.h"
#include "unwind/python_state.h"

enum {
    MAX_ENTRIES = 65536,
    MAX_LOG2_SIZE = 20,
    MAX_NAME_CHARS = 256,
    MAX_KEY_CHARS = 64,
    INLINE_VALUES = 1 << 2, /* Py_TPFLAGS_INLINE_VALUES, 3.13 */
    MANAGED_DICT = 1 << 4,  /* Py_TPFLAGS_MANAGED_DICT, 3.11 */
    DIGIT_BITS = 30,
    ENTRY_WORDS_UNICODE = 2, /* key, value */
    ENTRY_WORDS_GENERAL = 3, /* hash, key, value */
};

static bool read_word(struct ss_python *python, uint64_t address, uint64_t *value)
{
    return ss_memory_read(python->reader, address, value, sizeof *value);
}

/* The entries of a dict's key table. */
struct key_table {
    uint64_t entries;
    uint64_t count;
    unsigned words; /* per entry */
};

static bool open_keys(struct ss_python *python, uint64_t keys, struct key_table *table)
{
    const struct ss_cpython_layout *layout = &python->layout;
    uint8_t head[64];
    uint64_t index_bytes;
    size_t needed = (size_t)layout->keys_indices;
    if (keys == 0 || needed > sizeof head || !ss_memory_read(python->reader, keys, head, needed)) {
        return false;
    }
    table->words = ENTRY_WORDS_GENERAL;
    if (layout->keys_log2_index_bytes != SS_ABSENT) {
        uint8_t log2 = head[layout->keys_log2_index_bytes];
        if (log2 > MAX_LOG2_SIZE + 3) {
            return false;
        }
        index_bytes = UINT64_C(1) << log2;
        if (head[layout->keys_kind] != 0) {
            table->words = ENTRY_WORDS_UNICODE;
        }
    } else {
        uint64_t size = ss_word(head, layout->keys_size);
        if (size > UINT64_C(1) << MAX_LOG2_SIZE) {
            return false;
        }
        index_bytes = size * (size <= 0xff ? 1 : size <= 0xffff ? 2 : 4);
    }
    table->count = ss_word(head, layout->keys_nentries);
    table->entries = keys + needed + index_bytes;
    return table->count <= MAX_ENTRIES;
}

struct entry {
    uint64_t key, value;
};

static bool read_entry(struct ss_python *python, const struct key_table *table, uint64_t index,
                       struct entry *entry)
{
    uint64_t words[ENTRY_WORDS_GENERAL];
    if (!ss_memory_read(python->reader, table->entries + index * table->words * 8, words,
                        table->words * sizeof words[0])) {
        return false;
    }
    entry->key = words[table->words - 2];
    entry->value = words[table->words - 1];
    return true;
}

static bool is_text(struct ss_python *python, uint64_t object, const char *wanted)
{
    struct ss_strbuf text;
    ss_strbuf_init(&text, MAX_KEY_CHARS * 4);
    bool same = ss_cpython_text(python->reader, &python->layout, object, MAX_KEY_CHARS, &text) &&
                strcmp(text.data, wanted) == 0;
    ss_strbuf_fini(&text);
    return same;
}

/* Finds a str key by a linear scan. `values`: the value array of a split table, else 0. */
static bool find_in_keys(struct ss_python *python, uint64_t keys, uint64_t values,
                         const char *wanted, uint64_t *value)
{
    struct key_table table;
    if (!open_keys(python, keys, &table)) {
        return false;
    }
    for (uint64_t i = 0; i < table.count; i++) {
        struct entry entry;
        if (!read_entry(python, &table, i, &entry)) {
            return false;
        }
        if (entry.key == 0 || !is_text(python, entry.key, wanted)) {
            continue;
        }
        *value = entry.value;
        return values == 0
                   ? entry.value != 0
                   : read_word(python, values + (uint64_t)python->layout.values_data + i * 8,
                               value) &&
                         *value != 0;
    }
    return false;
}

static bool find_in_dict(struct ss_python *python, uint64_t dict, const char *wanted,
                         uint64_t *value)
{
    uint64_t keys, values;
    return dict != 0 && read_word(python, dict + (uint64_t)python->layout.dict_keys, &keys) &&
           read_word(python, dict + (uint64_t)python->layout.dict_values, &values) &&
           find_in_keys(python, keys, values, wanted, value);
}

/* Finds an attribute of an instance with a value array; the keys are in its class. */
static bool find_in_values(struct ss_python *python, uint64_t type, uint64_t values,
                           const char *wanted, uint64_t *value)
{
    uint64_t keys;
    return values != 0 &&
           read_word(python, type + (uint64_t)python->layout.type_cached_keys, &keys) &&
           find_in_keys(python, keys, values, wanted, value);
}

static bool get_managed(struct ss_python *python, uint64_t object, uint64_t type, uint64_t flags,
                        const char *wanted, uint64_t *value)
{
    const struct ss_cpython_layout *layout = &python->layout;
    uint64_t dict;
    if (!read_word(python, object + (uint64_t)(int64_t)layout->managed_dict, &dict)) {
        return false;
    }
    if (layout->managed_is_tagged == 1) { /* 3.12: a dict, or the address of the values - 1 */
        return (dict & 1) != 0 ? find_in_values(python, type, dict + 1, wanted, value)
                               : find_in_dict(python, dict, wanted, value);
    }
    if (dict != 0) {
        return find_in_dict(python, dict, wanted, value);
    }
    uint64_t values = 0;
    if (layout->managed_values != SS_ABSENT) { /* 3.11 */
        return read_word(python, object + (uint64_t)(int64_t)layout->managed_values, &values) &&
               find_in_values(python, type, values, wanted, value);
    }
    if ((flags & INLINE_VALUES) != 0) { /* 3.13: after the object */
        uint64_t size;
        return read_word(python, type + (uint64_t)layout->type_basicsize, &size) && size < 4096 &&
               find_in_values(python, type, object + size, wanted, value);
    }
    return false;
}

static bool get_attribute(struct ss_python *python, uint64_t object, const char *wanted,
                          uint64_t *value)
{
    const struct ss_cpython_layout *layout = &python->layout;
    uint64_t type, flags, offset, dict;
    if (!read_word(python, object + (uint64_t)layout->object_type, &type) ||
        !read_word(python, type + (uint64_t)layout->type_flags, &flags)) {
        return false;
    }
    if (layout->managed_dict != SS_ABSENT && (flags & MANAGED_DICT) != 0) {
        return get_managed(python, object, type, flags, wanted, value);
    }
    return read_word(python, type + (uint64_t)layout->type_dictoffset, &offset) && offset > 0 &&
           offset < 4096 && read_word(python, object + offset, &dict) &&
           find_in_dict(python, dict, wanted, value);
}

/* A non-negative int that fits 64 bits. */
static bool read_integer(struct ss_python *python, uint64_t object, uint64_t *value)
{
    const struct ss_cpython_layout *layout = &python->layout;
    bool has_tag = layout->long_tag != SS_ABSENT;
    uint64_t size;
    uint32_t digits[3] = {0};
    if (!read_word(python, object + (uint64_t)(has_tag ? layout->long_tag : layout->var_size),
                   &size)) {
        return false;
    }
    size = has_tag ? size >> 3 : size;
    if (size == 0 || size > 3 ||
        !ss_memory_read(python->reader, object + (uint64_t)layout->long_digits, digits,
                        (size_t)size * 4)) {
        return false;
    }
    *value =
        (uint64_t)digits[2] << (2 * DIGIT_BITS) | (uint64_t)digits[1] << DIGIT_BITS | digits[0];
    return true;
}

static void name_thread(struct ss_python *python, const struct entry *entry,
                        void (*name)(void *context, uint64_t pthread, struct ss_strview text),
                        void *context)
{
    uint64_t pthread, object;
    if (entry->key == 0 || entry->value == 0 || !read_integer(python, entry->key, &pthread) ||
        !get_attribute(python, entry->value, "_name", &object)) {
        return;
    }
    struct ss_strbuf text;
    ss_strbuf_init(&text, MAX_NAME_CHARS * 4);
    if (ss_cpython_text(python->reader, &python->layout, object, MAX_NAME_CHARS, &text)) {
        name(context, pthread, (struct ss_strview){text.data, text.length});
    }
    ss_strbuf_fini(&text);
}

void ss_python_thread_names(struct ss_python *python,
                            void (*name)(void *context, uint64_t pthread, struct ss_strview text),
                            void *context)
{
    const struct ss_cpython_layout *layout = &python->layout;
    for (size_t i = python->interpreters.count; i-- > 0;) { /* the main interpreter is the last */
        uint64_t modules, threading, dict, active, keys;
        struct key_table table;
        uint64_t interpreter = python->interpreters.data[i].address;
        if (!read_word(python, interpreter + (uint64_t)layout->interp_modules, &modules) ||
            !find_in_dict(python, modules, "threading", &threading) ||
            !read_word(python, threading + (uint64_t)layout->module_dict, &dict) ||
            !find_in_dict(python, dict, "_active", &active) ||
            !read_word(python, active + (uint64_t)layout->dict_keys, &keys) ||
            !open_keys(python, keys, &table)) {
            continue;
        }
        for (uint64_t k = 0; k < table.count; k++) {
            struct entry entry;
            if (read_entry(python, &table, k, &entry)) {
                name_thread(python, &entry, name, context);
            }
        }
    }
}
