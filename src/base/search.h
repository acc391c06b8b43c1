/* SPDX-License-Identifier: Apache-2.0 */
/* The binary search of sorted arrays, whatever they hold. */
#ifndef SS_BASE_SEARCH_H
#define SS_BASE_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The first index of [first, end) for which `is_before`, an expression in `i`, is false; `end` if
 * there is none. It must be true up to some index and false from there on:
 *
 *     size_t next = ss_search(i, 0, steps->count, steps->data[i].begin_ns <= time_ns);
 */
#define ss_search(i, first, end, is_before)                                                        \
    __extension__({                                                                                \
        size_t ss_search_low_ = (first), ss_search_high_ = (end);                                  \
        while (ss_search_low_ < ss_search_high_) {                                                 \
            const size_t i = ss_search_low_ + (ss_search_high_ - ss_search_low_) / 2;              \
            if (is_before) {                                                                       \
                ss_search_low_ = i + 1;                                                            \
            } else {                                                                               \
                ss_search_high_ = i;                                                               \
            }                                                                                      \
        }                                                                                          \
        ss_search_low_;                                                                            \
    })

/* Whether (first, second) comes before, or not after, another pair: of arrays that are sorted by
 * two numbers, such as a process and a time. */
static inline bool ss_pair_less(uint64_t first, uint64_t second, uint64_t of_first,
                                uint64_t of_second)
{
    return first != of_first ? first < of_first : second < of_second;
}

static inline bool ss_pair_at_most(uint64_t first, uint64_t second, uint64_t of_first,
                                   uint64_t of_second)
{
    return first != of_first ? first < of_first : second <= of_second;
}

#endif
