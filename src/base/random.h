/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_BASE_RANDOM_H
#define SS_BASE_RANDOM_H

#include <stdbool.h>
#include <stddef.h>

/* Fills `bytes` with random numbers of the kernel, which are fit for secrets. False: there are
 * none, and the bytes are undefined. Any thread. */
bool ss_random_bytes(void *bytes, size_t size);

#endif
