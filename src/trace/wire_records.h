/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of schema.def that only the file contains: the framing of its units, and what Perfetto's
 * messages have no field for. As in records.h: plain values, borrowed strings.
 */
#ifndef SS_TRACE_WIRE_RECORDS_H
#define SS_TRACE_WIRE_RECORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strview.h"

struct ss_trace_unit {
    uint32_t number;
    uint32_t period; /* hash: unlikely to equal the hash of another period or trace */
    bool restart, gap;
};

struct ss_trace_trailer {
    uint64_t first_ns, span_ns;
    uint64_t events, samples, plain_bytes;
    uint32_t number;
    uint32_t crc;
    bool sealed;
};

/* The plain name is nearly always a suffix of the qualified name ("Layer.forward"); its length is
 * then sufficient. */
struct ss_trace_frame_rest {
    struct ss_strview name;
    int64_t above_line; /* line of the frame - first line of the function */
    uint32_t name_tail;
    uint32_t short_file_offset;
    bool has_name_tail, has_name, has_above_line;
    bool is_installed, has_is_installed;
};

/* To Perfetto each lane of an ASYNC track is a separate track. */
struct ss_trace_lane {
    uint32_t number;
};

#endif
