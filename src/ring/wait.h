/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waiting for a word that another process changes, in memory that both have mapped. After a wait,
 * load the word again: a wait orders nothing.
 */
#ifndef SS_RING_WAIT_H
#define SS_RING_WAIT_H

#include <linux/futex.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Returns when the word is not `value`, when it was woken, at a signal, or after `ms`. */
static inline void ss_ring_wait(_Atomic uint32_t *word, uint32_t value, uint32_t ms)
{
    const struct timespec most = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
    syscall(SYS_futex, word, FUTEX_WAIT, value, &most, NULL, 0);
}

static inline void ss_ring_wake(_Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

#endif
