/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A strict consumer of the Arrow C data interface, by its specification: checks a schema and an
 * array against each other, down to every offset, index and bit.
 */
#ifndef SS_TESTS_ARROW_CONSUMER_H
#define SS_TESTS_ARROW_CONSUMER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "arrow/abi.h"
#include "base/utf8.h"

/* NULL: all is well. Otherwise what is wrong. */
static const char *consumer_check(const struct ArrowSchema *schema, const struct ArrowArray *array);

static inline bool consumer_has(const struct ArrowArray *array, int64_t row)
{
    const uint8_t *bits = array->buffers[0];
    return bits == NULL || (bits[row / 8] >> (row % 8) & 1) != 0;
}

static const char *consumer_check_nulls(const struct ArrowArray *array)
{
    int64_t nulls = 0;
    for (int64_t row = 0; row < array->length; row++) {
        nulls += !consumer_has(array, row);
    }
    return nulls == array->null_count ? NULL : "the count of nulls is that of the bitmap";
}

static int64_t consumer_end(const struct ArrowSchema *schema, const struct ArrowArray *array,
                            int64_t at)
{
    return schema->format[0] == 'u' ? ((const int32_t *)array->buffers[1])[at]
                                    : ((const int64_t *)array->buffers[1])[at];
}

static const char *consumer_check_texts(const struct ArrowSchema *schema,
                                        const struct ArrowArray *array)
{
    const char *bytes = array->buffers[2];
    if (array->n_buffers != 3 || bytes == NULL || consumer_end(schema, array, 0) != 0) {
        return "texts have three buffers, and offsets from 0";
    }
    for (int64_t row = 0; row < array->length; row++) {
        int64_t begin = consumer_end(schema, array, row);
        int64_t end = consumer_end(schema, array, row + 1);
        if (end < begin || !ss_utf8_valid(bytes + begin, (size_t)(end - begin))) {
            return "offsets grow, and texts are UTF-8";
        }
        if (!consumer_has(array, row) && end != begin) {
            return "an absent text is empty";
        }
    }
    return NULL;
}

static const char *consumer_check_words(const struct ArrowSchema *schema,
                                        const struct ArrowArray *array)
{
    const int32_t *indexes = array->buffers[1];
    if (schema->dictionary == NULL || array->dictionary == NULL) {
        return "schema and array both have the dictionary";
    }
    for (int64_t row = 0; row < array->length; row++) {
        if (consumer_has(array, row) &&
            (indexes[row] < 0 || indexes[row] >= array->dictionary->length)) {
            return "indexes are within the dictionary";
        }
    }
    return consumer_check(schema->dictionary, array->dictionary);
}

static const char *consumer_check_struct(const struct ArrowSchema *schema,
                                         const struct ArrowArray *array)
{
    if (array->n_buffers != 1 || array->buffers[0] != NULL ||
        array->n_children != schema->n_children) {
        return "a struct has its children and no nulls";
    }
    for (int64_t i = 0; i < array->n_children; i++) {
        const char *wrong = array->children[i]->length == array->length
                                ? consumer_check(schema->children[i], array->children[i])
                                : "a column is as long as the table";
        if (wrong != NULL) {
            return wrong;
        }
    }
    return NULL;
}

static const char *consumer_check(const struct ArrowSchema *schema, const struct ArrowArray *array)
{
    if (schema->release == NULL || array->release == NULL || schema->name == NULL ||
        array->offset != 0) {
        return "schema and array are alive";
    }
    switch (schema->format[0]) {
    case '+':
        return consumer_check_struct(schema, array);
    case 'n':
        return array->n_buffers == 0 && array->null_count == array->length
                   ? NULL
                   : "a column of nulls has no buffers";
    case 'u':
    case 'U': {
        const char *wrong = consumer_check_texts(schema, array);
        return wrong != NULL ? wrong : consumer_check_nulls(array);
    }
    case 'i':
        if (schema->dictionary != NULL) {
            const char *wrong = consumer_check_words(schema, array);
            return wrong != NULL ? wrong : consumer_check_nulls(array);
        }
        break;
    case 'b':
    case 'l':
    case 'g':
        break;
    default:
        return "the format is known";
    }
    return array->n_buffers == 2 && array->buffers[1] != NULL ? consumer_check_nulls(array)
                                                              : "values have a buffer";
}

#endif
