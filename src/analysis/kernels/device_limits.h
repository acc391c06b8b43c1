/* SPDX-License-Identifier: Apache-2.0 */
/* What a multiprocessor of NVIDIA's devices can hold (device_limits.def), and so how many blocks of
 * a launch fit: its theoretical occupancy. Pure. */
#ifndef SS_ANALYSIS_KERNELS_DEVICE_LIMITS_H
#define SS_ANALYSIS_KERNELS_DEVICE_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strview.h"

struct ss_device_limits {
    const char *capability; /* "9.0" */
    unsigned warps, blocks; /* resident at once */
    unsigned registers;
    unsigned shared_kib;      /* for blocks, at most */
    unsigned reserved_shared; /* bytes of each block that are the driver's */
    unsigned shared_unit;     /* bytes */
    unsigned parts;
};

/* By what a file says of a device: "GPU of compute capability 7.5", or the driver's name. NULL:
 * unknown, or none of NVIDIA's. */
const struct ss_device_limits *ss_device_limits_of(struct ss_strview model);
const struct ss_device_limits *ss_device_limits_of_capability(struct ss_strview capability);

struct ss_block_needs {
    uint64_t threads;
    uint64_t registers;    /* of a thread; 0: unknown */
    uint64_t shared_bytes; /* of a block */
};

/* Blocks that fit into a multiprocessor by each limit. 0: unknown. */
struct ss_block_limits {
    double by_registers, by_shared, by_warps, by_blocks, by_barriers;
};

/* False: a launch that needs so much does not run on such a device, so something is wrong. */
bool ss_block_limits_find(const struct ss_device_limits *device, const struct ss_block_needs *needs,
                          struct ss_block_limits *limits);
/* The smallest one; 0: none is known. */
double ss_block_limits_least(const struct ss_block_limits *limits);

#endif
