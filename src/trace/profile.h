/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stepscope's extension of a Perfetto trace: its identity and the limits shared by writer and
 * reader, described in docs/trace-format.md; schema.def has the fields of its payload. Values only.
 */
#ifndef SS_TRACE_PROFILE_H
#define SS_TRACE_PROFILE_H

#include <stdint.h>

#include "base/intern.h"
#include "trace/schema.h"

/* TracePacket extension of our payload. Perfetto assigns 1000 to 1999 in ascending order. */
enum { SS_EXTENSION = 1990 };

/* The first field of the payload: 'S' in the low seven bits, the version above. */
enum { SS_FORMAT_VERSION = 2, SS_FORMAT_MAGIC = 'S' };
static inline uint64_t ss_format_word(unsigned version)
{
    return SS_FORMAT_MAGIC | (uint64_t)version << 7;
}

/* From version 2 on, what a launch and its work share, their correlation, is a Perfetto flow, which
 * viewers draw as an arrow: the low half of its id; the high half is the process's. 0: none. The
 * flows from forward operators to backward ones have the other sign; only viewers need them. */
static inline uint64_t ss_launch_flows(uint64_t process_uuid)
{
    const uint64_t half = UINT64_C(1) << 32;
    return process_uuid != 0 ? (ss_hash_u64(process_uuid) | half) & ~(half - 1) : 0;
}
static inline uint64_t ss_autograd_flows(uint64_t launches)
{
    return launches ^ UINT64_C(1) << 63;
}

/* The first packet of a unit begins with packet tag, length, marker field. The marker comes from
 * Perfetto, so that its tools find the same boundaries. */
enum { SS_MARKER_BYTES = 19 }; /* tag (2), length (1), the 16 bytes */
extern const uint8_t ss_marker[SS_MARKER_BYTES];

/* Limits of the format: the writer stays below them, the reader rejects anything above. */
enum {
    SS_MAX_UNIT_BYTES = 2 * 1024 * 1024,  /* as stored */
    SS_MAX_PLAIN_BYTES = 4 * 1024 * 1024, /* of one compressed packet, inflated */
    SS_MAX_TEXT_BYTES = 16 * 1024,
    SS_MAX_INLINE_TEXT_BYTES = 64, /* of fields of events; longer ones are interned */
    SS_MAX_STACK_DEPTH = 16 * 1024,
    SS_MAX_IID = 1 << 22,
    SS_MAX_TRACKS = 1 << 20,
    SS_MAX_TRACK_DEPTH = 8, /* nesting of groups */
    SS_MAX_LANES = 1024,    /* of one track */
    /* The main sequence, and the last track sequence. */
    SS_SEQUENCE = 1,
    SS_MAX_SEQUENCE = 1000
};

/* Viewers show this folder around the tracks of the host. */
#define SS_HOST_TRACK_NAME "host"

#endif
