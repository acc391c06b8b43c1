/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a pickle: they are values or an error that says where; values stay inside their
 * tables, and need no more memory than allowed. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wire/pickle.h"

enum { MOST_BYTES = 1 << 22, DEPTH = 6, WIDTH = 64, MOST_VISITS = 100000 };

struct bytes {
    const uint8_t *data;
    size_t length, at;
};

static enum ss_status read_bytes(void *context, char *buffer, size_t capacity, size_t *got,
                                 struct ss_error *err)
{
    struct bytes *bytes = context;
    size_t left = bytes->length - bytes->at;
    (void)err;
    *got = left < capacity ? left : capacity;
    memcpy(buffer, bytes->data + bytes->at, *got);
    bytes->at += *got;
    return SS_OK;
}

static void check(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "broken: %s\n", what);
        abort();
    }
}

/* To a fixed depth and width, and not more than so many: values may contain themselves, and few
 * bytes make many values that contain the same ones. */
static void walk(const struct ss_pickle *pickle, struct ss_pickle_value value, int depth,
                 int *visits)
{
    if (++*visits > MOST_VISITS) {
        return;
    }
    check(value.type > SS_PICKLE_ABSENT && value.type <= SS_PICKLE_DICT, "a value has a type");
    if (value.type == SS_PICKLE_TEXT || value.type == SS_PICKLE_BYTES) {
        check(value.text < pickle->texts.count, "a text is in its table");
    } else if (value.type >= SS_PICKLE_LIST) {
        check(value.object < pickle->objects.count, "an object is in its table");
        const struct ss_pickle_object *object = &pickle->objects.data[value.object];
        check(object->count <= object->capacity, "an object has room for its values");
        check(value.type != SS_PICKLE_DICT || object->count % 2 == 0, "each key has a value");
        for (uint32_t i = 0; depth > 0 && i < object->count && i < WIDTH; i++) {
            walk(pickle, object->values[i], depth - 1, visits);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes bytes = {data, size, 0};
    struct ss_pickle_source source = {read_bytes, &bytes, "input", MOST_BYTES};
    struct ss_pickle pickle;
    struct ss_error err = {0};
    ss_pickle_init(&pickle);
    uint32_t key = ss_pickle_key(&pickle, "segments");
    if (ss_pickle_read(&pickle, &source, &err) == SS_OK) {
        int visits = 0;
        walk(&pickle, pickle.root, DEPTH, &visits);
        struct ss_pickle_value found = ss_pickle_get(&pickle, pickle.root, key);
        for (size_t i = 0; i < ss_pickle_count(&pickle, found); i++) {
            check(ss_pickle_at(&pickle, found, i).type != SS_PICKLE_ABSENT, "items are values");
        }
    } else {
        check(strstr(err.message, "byte ") != NULL, "an error says where");
    }
    ss_pickle_fini(&pickle);
    return 0;
}
