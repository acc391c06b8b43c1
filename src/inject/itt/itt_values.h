/* SPDX-License-Identifier: Apache-2.0 */
/* ITT's values, read by type and address. Pure. */
#ifndef SS_INJECT_ITT_ITT_VALUES_H
#define SS_INJECT_ITT_ITT_VALUES_H

#include <stddef.h>
#include <string.h>

#include "annot/events.h"
#include "inject/itt/itt.h"

/* 0: unknown type. */
static inline size_t ss_itt_value_bytes(int type)
{
    static const unsigned char bytes[] = {0, 8, 8, 4, 4, 2, 2, 4, 8};
    return type > 0 && type < (int)sizeof bytes ? bytes[type] : 0;
}

static inline struct ss_event_value ss_itt_real(double real)
{
    struct ss_event_value value = {.type = SS_RING_VALUE_DOUBLE};
    memcpy(&value.bits, &real, sizeof real);
    return value;
}

static inline struct ss_event_value ss_itt_natural(uint64_t natural)
{
    return (struct ss_event_value){natural, SS_RING_VALUE_UNSIGNED};
}

static inline struct ss_event_value ss_itt_integer(int64_t integer)
{
    return (struct ss_event_value){(uint64_t)integer, SS_RING_VALUE_SIGNED};
}

/* Reads value number `index` at `data`, aligned or not. The type must be known. */
static inline struct ss_event_value ss_itt_value(int type, const void *data, size_t index)
{
    const char *at = (const char *)data + index * ss_itt_value_bytes(type);
    union {
        uint64_t u64;
        int64_t s64;
        uint32_t u32;
        int32_t s32;
        uint16_t u16;
        int16_t s16;
        float single;
        double real;
    } read = {0};
    memcpy(&read, at, ss_itt_value_bytes(type));
    switch (type) {
    case SS_ITT_S64:
        return ss_itt_integer(read.s64);
    case SS_ITT_U32:
        return ss_itt_natural(read.u32);
    case SS_ITT_S32:
        return ss_itt_integer(read.s32);
    case SS_ITT_U16:
        return ss_itt_natural(read.u16);
    case SS_ITT_S16:
        return ss_itt_integer(read.s16);
    case SS_ITT_FLOAT:
        return ss_itt_real((double)read.single);
    case SS_ITT_DOUBLE:
        return ss_itt_real(read.real);
    default:
        return ss_itt_natural(read.u64);
    }
}

#endif
