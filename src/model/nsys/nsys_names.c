/* SPDX-License-Identifier: Apache-2.0 */
#include "model/nsys/nsys_names.h"

#include "base/alloc.h"
#include "base/device_api.h"

enum { CACHED = 1 << 14 };

void ss_nsys_names_init(struct ss_nsys_names *names, struct ss_sqlite_file *file,
                        struct ss_nsys_rows *rows)
{
    *names =
        (struct ss_nsys_names){.rows = rows,
                               .strings = ss_sqlite_texts_new(file, "StringIds", "id", "value"),
                               .cache = ss_alloc_zero(CACHED, sizeof *names->cache)};
}

void ss_nsys_names_fini(struct ss_nsys_names *names)
{
    ss_sqlite_texts_free(names->strings);
    ss_free(names->cache);
}

static struct ss_nsys_cached_name *slot_of(const struct ss_nsys_names *names, int64_t number,
                                           uint32_t key)
{
    uint64_t hash = ss_hash_u64((uint64_t)number ^ (uint64_t)key << 48);
    return &names->cache[hash & (CACHED - 1)];
}

uint32_t ss_nsys_names_cached(const struct ss_nsys_names *names, int64_t number, uint32_t key)
{
    const struct ss_nsys_cached_name *slot = slot_of(names, number, key);
    return slot->key == key && slot->number == number ? slot->row : 0;
}

void ss_nsys_names_cache(struct ss_nsys_names *names, int64_t number, uint32_t key, uint32_t row)
{
    *slot_of(names, number, key) = (struct ss_nsys_cached_name){number, key, row};
}

struct ss_strview ss_nsys_string(struct ss_nsys_names *names, int64_t number)
{
    struct ss_strview text;
    bool has = ss_sqlite_texts_get(names->strings, number, &text);
    return has ? text : (struct ss_strview){"", 0};
}

struct ss_strview ss_nsys_without_version(struct ss_strview call)
{
    size_t length = call.length;
    while (length > 0 && call.data[length - 1] >= '0' && call.data[length - 1] <= '9') {
        length--;
    }
    bool has_version = length < call.length && length > 2 && call.data[length - 1] == 'v' &&
                       call.data[length - 2] == '_';
    return has_version ? (struct ss_strview){call.data, length - 2} : call;
}

uint32_t ss_nsys_name(struct ss_nsys_names *names, enum ss_nsys_name_kind kind, int64_t number)
{
    uint32_t row = ss_nsys_names_cached(names, number, kind + 1);
    if (row != 0) {
        return row;
    }
    struct ss_trace_name name = {.text = ss_nsys_string(names, number), .category = {"", 0}};
    if (name.text.length == 0) {
        return 0;
    }
    if (kind == SS_NSYS_KERNEL_NAME) {
        name.category = ss_strview_of("kernel");
        name.type = SS_EVENT_TYPE_kernel;
    } else if (kind == SS_NSYS_CALL_NAME) {
        name.text = ss_nsys_without_version(name.text);
        name.category = ss_strview_of("runtime");
        name.type = ss_device_call_type(name.text);
    } else if (kind == SS_NSYS_COLLECTIVE_NAME) {
        name.type = SS_EVENT_TYPE_collective;
    }
    row = ss_nsys_put_name(names->rows, &name);
    ss_nsys_names_cache(names, number, kind + 1, row);
    return row;
}
