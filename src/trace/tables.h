/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader's definitions of a file: equal frames, stacks, processes and threads of all restart
 * periods share one dense ref. The reader compares ss_tables_memory with a cap. One owner.
 */
#ifndef SS_TRACE_TABLES_H
#define SS_TRACE_TABLES_H

#include "base/intern.h"
#include "base/vec.h"
#include "trace/records.h"
#include "trace/schema.h"

struct ss_frame_row {
    uint32_t function, name, file; /* strings */
    uint32_t short_file_offset;
    int32_t line, first_line;
    uint32_t kind;
    bool is_installed;
};

struct ss_stack_row {
    uint32_t parent, frame;
};

/* An open-addressing set of row numbers (from 1; 0: free). */
struct ss_row_set {
    uint32_t *slots;
    uint32_t slot_count; /* a power of two */
    uint32_t used;
};

/* A known process, thread, source or attribute: its key and a digest of its content, to detect
 * changes when it repeats. */
struct ss_known_row {
    uint64_t key;
    uint64_t digest;
};

struct ss_known {
    struct ss_vec_of(struct ss_known_row) rows; /* row 0 is unused */
    struct ss_row_set set;
};

struct ss_name_row {
    uint32_t text, category; /* strings */
    uint32_t colour;
    uint32_t file, line; /* of functions; a string */
    uint32_t type;       /* enum ss_event_type */
};

/* The track of a Perfetto track uuid. */
struct ss_track_target {
    uint32_t track; /* ref; 0: a foreign track */
    uint32_t lane;
};

struct ss_track_row {
    uint64_t launches; /* ids of the flows of its process, from ss_launch_flows */
    uint32_t parent;
    uint8_t kind;
    uint8_t depth; /* number of ancestors */
};

struct ss_tables {
    struct ss_intern strings;
    struct ss_vec_of(struct ss_frame_row) frames; /* row 0 is unused */
    struct ss_row_set frame_set;
    struct ss_vec_of(struct ss_stack_row) stacks; /* row 0 is unused */
    struct ss_row_set stack_set;
    struct ss_known processes, threads, attributes;
    struct ss_known entities[SS_SCHEMA_COUNT];  /* by kind */
    struct ss_vec_of(struct ss_name_row) names; /* row 0 is unused */
    struct ss_row_set name_set;
    struct ss_known track_uuids;
    struct ss_vec_of(struct ss_track_target) targets; /* by row of track_uuids */
    struct ss_vec_of(struct ss_track_row) tracks;     /* by ref; row 0 is unused */
};

void ss_tables_init(struct ss_tables *tables);
void ss_tables_fini(struct ss_tables *tables);
size_t ss_tables_memory(const struct ss_tables *tables);

/* The ref of an equal row; sets `*is_new` when it was added. */
uint32_t ss_tables_put_frame(struct ss_tables *tables, const struct ss_frame_row *row,
                             bool *is_new);
uint32_t ss_tables_put_stack(struct ss_tables *tables, uint32_t parent, uint32_t frame,
                             bool *is_new);
uint32_t ss_tables_put_name(struct ss_tables *tables, const struct ss_name_row *row, bool *is_new);
/* The target of a uuid; the caller fills a new one. */
struct ss_track_target *ss_tables_put_target(struct ss_tables *tables, uint64_t uuid,
                                             uint64_t digest, bool *is_changed);
/* NULL: unknown. */
const struct ss_track_target *ss_tables_find_target(const struct ss_tables *tables, uint64_t uuid);
/* The ref of a key, added when unknown; `*is_changed`: it is new, or its digest differs. */
uint32_t ss_known_put(struct ss_known *known, uint64_t key, uint64_t digest, bool *is_changed);
uint32_t ss_known_find(const struct ss_known *known, uint64_t key); /* 0: unknown */

#endif
