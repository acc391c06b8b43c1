/* SPDX-License-Identifier: Apache-2.0 */
/* Where ring files lie: below a folder that belongs to this user alone. Async-signal-safe; no
 * state. */
#ifndef SS_RING_PLACE_H
#define SS_RING_PLACE_H

#include <stdbool.h>
#include <stddef.h>

enum { SS_RING_PATH_BYTES = 192 };

/* The user's folder in this pid namespace: in /dev/shm, else in /tmp. Made when it is missing.
 * false: none is safe. */
bool ss_ring_place_user(char path[SS_RING_PATH_BYTES]);
/* Is it a folder, no link, of this user, closed to all others? */
bool ss_ring_place_is_safe(const char *path);
/* A regular file, no link, of this user, open to nobody else; -1: no. Read and write. */
int ss_ring_place_open(const char *path);

#endif
