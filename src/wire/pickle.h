/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the data of a Python pickle, protocol 2 to 5, without running any of it: dicts, lists,
 * tuples, texts, bytes, numbers, True, False, None, and the memo that shares them. Whatever imports
 * a name or calls something is refused, with its offset. The file is read once, front to back; the
 * values are held in memory, up to a limit. Values may contain each other or themselves: walk to a
 * fixed depth. One owner.
 */
#ifndef SS_WIRE_PICKLE_H
#define SS_WIRE_PICKLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/intern.h"
#include "base/vec.h"

enum ss_pickle_type {
    SS_PICKLE_ABSENT, /* no such item */
    SS_PICKLE_NONE,
    SS_PICKLE_BOOLEAN,
    SS_PICKLE_INTEGER,
    SS_PICKLE_HUGE, /* an integer beyond 63 bits: its value is not kept */
    SS_PICKLE_REAL,
    SS_PICKLE_TEXT,
    SS_PICKLE_BYTES,
    SS_PICKLE_LIST,
    SS_PICKLE_TUPLE,
    SS_PICKLE_DICT
};

struct ss_pickle_value {
    enum ss_pickle_type type;
    union {
        bool boolean;
        int64_t integer;
        double real;
        uint32_t text;   /* TEXT, BYTES: of `texts` */
        uint32_t object; /* LIST, TUPLE, DICT: of `objects` */
    };
};

/* Of a dict, keys and values alternate. */
struct ss_pickle_object {
    struct ss_pickle_value *values; /* in the arena */
    uint32_t count, capacity;
};

struct ss_pickle {
    struct ss_arena arena;
    struct ss_intern texts;
    struct ss_vec_of(struct ss_pickle_object) objects;
    struct ss_pickle_value root;
};

/* Where the bytes come from; `*got` 0: the end. */
struct ss_pickle_source {
    enum ss_status (*read)(void *context, char *buffer, size_t capacity, size_t *got,
                           struct ss_error *err);
    void *context;
    const char *path;  /* for messages */
    size_t most_bytes; /* of memory for the values */
};

void ss_pickle_init(struct ss_pickle *pickle);
void ss_pickle_fini(struct ss_pickle *pickle);

/* SS_E_FORMAT: it is not a pickle, it is cut, or it is more than data. SS_E_LIMIT: the values need
 * more memory than allowed. */
enum ss_status ss_pickle_read(struct ss_pickle *pickle, const struct ss_pickle_source *source,
                              struct ss_error *err);
/* Whether the bytes begin like a pickle of these protocols. */
bool ss_pickle_probe(const char *head, size_t length);

/* The id of a text, for ss_pickle_get. Before or after reading. */
uint32_t ss_pickle_key(struct ss_pickle *pickle, const char *text);
/* The item with this key; ABSENT: there is none, or the value is not a dict. */
struct ss_pickle_value ss_pickle_get(const struct ss_pickle *pickle, struct ss_pickle_value dict,
                                     uint32_t key);
/* Items of a list or tuple; 0 of anything else. */
size_t ss_pickle_count(const struct ss_pickle *pickle, struct ss_pickle_value list);
/* `index` below the count. */
struct ss_pickle_value ss_pickle_at(const struct ss_pickle *pickle, struct ss_pickle_value list,
                                    size_t index);

#endif
