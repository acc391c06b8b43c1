/* SPDX-License-Identifier: Apache-2.0 */
/* The memory that this process may use: the machine's, or less in a container or a batch job. */
#ifndef SS_PLATFORM_MEMORY_LIMIT_H
#define SS_PLATFORM_MEMORY_LIMIT_H

#include <stdint.h>

/* 0: unknown. */
uint64_t ss_memory_limit_bytes(void);
/* The same, with another folder than /proc. */
uint64_t ss_memory_limit_in(const char *proc_root);

#endif
