/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Typed growable arrays:   struct ss_vec_of(uint32_t) ids = {0};
 *                          ss_vec_push(&ids, 7);   ids.data[0]   ids.count   ss_vec_fini(&ids);
 *
 * Zero-initialised is empty. Owned by the owner of the struct; no concurrent use.
 * ss_vec_of makes an anonymous struct type: name it with a typedef or a field to pass it around.
 */
#ifndef SS_BASE_VEC_H
#define SS_BASE_VEC_H

#include <stddef.h>
#include <string.h>

#include "base/alloc.h"

#define ss_vec_of(type)                                                                            \
    {                                                                                              \
        type *data;                                                                                \
        size_t count;                                                                              \
        size_t capacity;                                                                           \
    }

/* Room for at least `wanted` elements. */
#define ss_vec_reserve(vec, wanted)                                                                \
    do {                                                                                           \
        size_t ss_vec_wanted_ = (wanted);                                                          \
        if ((vec)->capacity < ss_vec_wanted_) {                                                    \
            size_t ss_vec_capacity_ = (vec)->capacity ? (vec)->capacity * 2 : 8;                   \
            if (ss_vec_capacity_ < ss_vec_wanted_) {                                               \
                ss_vec_capacity_ = ss_vec_wanted_;                                                 \
            }                                                                                      \
            (vec)->data = ss_realloc((vec)->data, ss_vec_capacity_, sizeof *(vec)->data);          \
            (vec)->capacity = ss_vec_capacity_;                                                    \
        }                                                                                          \
    } while (0)

#define ss_vec_push(vec, ...)                                                                      \
    do {                                                                                           \
        ss_vec_reserve((vec), (vec)->count + 1);                                                   \
        (vec)->data[(vec)->count++] = (__VA_ARGS__);                                               \
    } while (0)

/* Appends one zeroed element; its address is &vec->data[vec->count - 1]. */
#define ss_vec_push_zero(vec)                                                                      \
    do {                                                                                           \
        ss_vec_reserve((vec), (vec)->count + 1);                                                   \
        memset(&(vec)->data[(vec)->count++], 0, sizeof *(vec)->data);                              \
    } while (0)

/* Sets the count; new elements are zeroed. */
#define ss_vec_resize(vec, new_count)                                                              \
    do {                                                                                           \
        size_t ss_vec_new_ = (new_count);                                                          \
        ss_vec_reserve((vec), ss_vec_new_);                                                        \
        if (ss_vec_new_ > (vec)->count) {                                                          \
            memset((vec)->data + (vec)->count, 0,                                                  \
                   (ss_vec_new_ - (vec)->count) * sizeof *(vec)->data);                            \
        }                                                                                          \
        (vec)->count = ss_vec_new_;                                                                \
    } while (0)

#define ss_vec_clear(vec) ((void)((vec)->count = 0))

#define ss_vec_fini(vec)                                                                           \
    do {                                                                                           \
        ss_free((vec)->data);                                                                      \
        (vec)->data = NULL;                                                                        \
        (vec)->count = 0;                                                                          \
        (vec)->capacity = 0;                                                                       \
    } while (0)

#endif
