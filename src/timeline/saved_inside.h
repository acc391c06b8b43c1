/* SPDX-License-Identifier: Apache-2.0 */
/* Private to saved*.c: what the file consists of. A header and the key; each table with a header of
 * its own, in the order of `enum ss_saved_table`; the CRC-32C of all of it. */
#ifndef SS_TIMELINE_SAVED_INSIDE_H
#define SS_TIMELINE_SAVED_INSIDE_H

#include "timeline/saved.h"

enum { SS_SAVED_FORMAT = 2, SS_SAVED_MOST_LANES = 1 << 24 /* of a track */ };

enum ss_saved_table {
    SS_SAVED_NONE, /* a rule without a table */
    SS_SAVED_WHOLE,
    SS_SAVED_MESSAGES,
    SS_SAVED_STRING_LENGTHS,
    SS_SAVED_STRINGS, /* their bytes, one behind the other */
    SS_SAVED_INPUTS,
    SS_SAVED_CLOCK_DOMAINS,
    SS_SAVED_PROCESSES,
    SS_SAVED_THREADS,
    SS_SAVED_FRAMES,
    SS_SAVED_DEVICES,
    SS_SAVED_STREAMS,
    SS_SAVED_MODEL_TRACKS,
    SS_SAVED_NAMES,
    SS_SAVED_PATHS,
    SS_SAVED_PAYLOADS,
    SS_SAVED_FIELDS,
    SS_SAVED_VALUES,
    SS_SAVED_RANGES,
    SS_SAVED_OWN,
    SS_SAVED_FORTH,
    SS_SAVED_BACK,
    SS_SAVED_STEPS,
    SS_SAVED_TRACKS,
    SS_SAVED_GROUPS,
    SS_SAVED_LANES,
    SS_SAVED_SLICES, /* of all lanes, one behind the other; so are their pyramids */
    SS_SAVED_LONGEST,
    SS_SAVED_BUSY,
    SS_SAVED_TABLES
};

struct ss_saved_header {
    char magic[8];
    uint32_t format, key_bytes;
};

struct ss_saved_rows {
    uint32_t table, row_bytes;
    uint64_t count;
};

/* The one row of SS_SAVED_WHOLE. */
struct ss_saved_whole {
    uint64_t duration_ns, slices, hidden;
    uint64_t outliers;
    int64_t exit_status;
};

struct ss_saved_input {
    uint32_t kind, path, clock_domain;
};

struct ss_saved_track {
    uint32_t kind, naming, track, thread, group, lanes, values;
    uint32_t is_own; /* its ranges are the timeline's */
    uint64_t base_ns, slices, first_range, end_range, first_value;
};

extern const char ss_saved_magic[9];

#endif
