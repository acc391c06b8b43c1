/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/kernels/device_limits.h"

#include <stddef.h>
#include <string.h>

#include "analysis/kernels/device_peaks.h"

enum { WARP = 32, REGISTER_UNIT = 256 };

static const struct ss_device_limits known[] = {
#define SS_DEVICE_LIMITS(capability, warps, blocks, registers, shared, reserved, unit, parts)      \
    {capability, warps, blocks, registers, shared, reserved, unit, parts},
#include "analysis/kernels/device_limits.def"
};

static const struct {
    const char *capability, *word, *other; /* NULL: no more */
} names[] = {
#define SS_DEVICE_CAPABILITY(capability, word, other) {capability, word, other},
#include "analysis/kernels/device_limits.def"
};

const struct ss_device_limits *ss_device_limits_of_capability(struct ss_strview capability)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (ss_strview_equal(capability, ss_strview_of(known[i].capability))) {
            return &known[i];
        }
    }
    return NULL;
}

const struct ss_device_limits *ss_device_limits_of(struct ss_strview model)
{
    static const char prefix[] = "GPU of compute capability ";
    size_t length = sizeof prefix - 1;
    if (model.length > length && memcmp(model.data, prefix, length) == 0) {
        return ss_device_limits_of_capability(
            (struct ss_strview){model.data + length, model.length - length});
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (ss_device_name_has(model, names[i].word) &&
            (names[i].other == NULL || ss_device_name_has(model, names[i].other))) {
            return ss_device_limits_of_capability(ss_strview_of(names[i].capability));
        }
    }
    return NULL;
}

static uint64_t rounded_up(uint64_t value, uint64_t unit)
{
    return (value + unit - 1) / unit * unit;
}

/* A warp's registers are in one part of the multiprocessor. */
static uint64_t warps_by_registers(const struct ss_device_limits *device, uint64_t registers)
{
    uint64_t of_warp = rounded_up(registers * WARP, REGISTER_UNIT);
    return device->registers / device->parts / of_warp * device->parts;
}

bool ss_block_limits_find(const struct ss_device_limits *device, const struct ss_block_needs *needs,
                          struct ss_block_limits *limits)
{
    *limits = (struct ss_block_limits){.by_blocks = 0};
    if (needs->threads == 0 || needs->threads > (uint64_t)device->warps * WARP ||
        needs->registers > 255 || needs->shared_bytes > (uint64_t)device->shared_kib << 10) {
        return false;
    }
    uint64_t warps = (needs->threads + WARP - 1) / WARP;
    uint64_t shared =
        rounded_up(needs->shared_bytes + device->reserved_shared, device->shared_unit);
    limits->by_blocks = device->blocks;
    limits->by_warps = (double)(device->warps / warps);
    limits->by_shared = shared > 0 ? (double)(((uint64_t)device->shared_kib << 10) / shared)
                                   : (double)device->blocks;
    limits->by_registers =
        needs->registers > 0 ? (double)(warps_by_registers(device, needs->registers) / warps) : 0;
    return limits->by_shared >= 1 && (needs->registers == 0 || limits->by_registers >= 1);
}

double ss_block_limits_least(const struct ss_block_limits *limits)
{
    const double all[] = {limits->by_registers, limits->by_shared, limits->by_warps,
                          limits->by_blocks, limits->by_barriers};
    double least = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        least = all[i] > 0 && (least == 0 || all[i] < least) ? all[i] : least;
    }
    return least;
}
