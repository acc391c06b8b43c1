/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers that are the same in every run: xorshift64. Set `random_state` to begin a series. */
#ifndef SS_TESTS_RANDOM_H
#define SS_TESTS_RANDOM_H

#include <stdint.h>

static uint64_t random_state = 88172645463325252u;

static inline uint64_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

#endif
