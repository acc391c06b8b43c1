/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The buffers that an interface to devices fills, recycled. CUPTI has one for each thread that
 * launches: beyond the first SS_DEVICE_FEW_BUFFERS they are small. As many bytes as those have may
 * wait for the writer. The interface takes buffers on the program's threads, or its own, and the
 * writer returns them, zeroed, so that CUPTI need not do it on the program's time. Any thread.
 *
 * Without a free one, CUPTI from 12.9 on gets none and counts the records that it drops; earlier
 * ones, which may crash on that, get a buffer that is thrown away.
 */
#ifndef SS_INJECT_DEVICE_POOL_H
#define SS_INJECT_DEVICE_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SS_DEVICE_BUFFER_BYTES = 4 << 20,
    SS_DEVICE_SMALL_BUFFER_BYTES = 512 << 10,
    SS_DEVICE_FEW_BUFFERS = 32,
    SS_DEVICE_MOST_BUFFERS = 512
};

struct ss_device_full {
    uint8_t *bytes;
    size_t valid;
};

/* `takes_none`: the interface accepts that there is no buffer. `most`: 0: the usual number. */
void ss_device_pool_init(bool takes_none, uint32_t most);
/* Unmaps the buffers that the interface has returned. Those that it holds count for the next
 * recording. */
void ss_device_pool_fini(void);
/* NULL: there is none, and the interface accepts that; `size` is 0. */
uint8_t *ss_device_pool_take(size_t *size);
/* The interface has filled it. Wakes the writer. */
void ss_device_pool_put_full(uint8_t *bytes, size_t valid);
/* Waits for a full one, or a call of ss_device_pool_wake, at most `wait_ms`. false: there is none.
 */
bool ss_device_pool_next_full(struct ss_device_full *full, uint32_t wait_ms);
void ss_device_pool_recycle(struct ss_device_full *full);
void ss_device_pool_wake(void);
uint64_t ss_device_pool_refused(void);
/* The interface holds most of the buffers: threads that have ended may have left theirs half full.
 */
bool ss_device_pool_is_scarce(void);
/* Full buffers, and those that the interface holds. */
uint32_t ss_device_pool_full_count(void);

#endif
