/* SPDX-License-Identifier: Apache-2.0 */
/* Internals of ss_trace_merge. Private to merge*.c. */
#ifndef SS_TRACE_MERGE_INSIDE_H
#define SS_TRACE_MERGE_INSIDE_H

#include "base/intern.h"
#include "base/vec.h"
#include "trace/entities.h"
#include "trace/merge.h"
#include "trace/reader.h"
#include "trace/ref_maps.h"
#include "trace/ticks.h"
#include "trace/writer.h"

/* A thing that several parts may define. A part that defines one identity twice (a thread id that
 * the kernel reused) has two of them. */
struct ss_merge_row {
    uint32_t ref; /* of the output */
    uint32_t part;
};
struct ss_merge_table {
    struct ss_intern keys;
    struct ss_vec_of(struct ss_merge_row) rows; /* by key */
};

struct ss_merge_attributes ss_vec_of(struct ss_trace_attribute); /* their texts are interned */

struct ss_merge;

struct ss_merge_input {
    struct ss_merge *merge;
    size_t number, option; /* among those that are read; among the caller's */
    const char *path;
    bool is_on_axis;
    struct ss_trace_reader *reader;
    uint64_t next_ns;                   /* of its next unit */
    struct ss_ref_maps refs;            /* of the output */
    struct ss_strview boot, host, rank; /* interned; "": unknown */
    struct ss_merge_attributes attributes;
    struct ss_vec_of(uint64_t) merged; /* identities of the files that it was merged from */
    uint64_t identity;
    uint32_t host_ref;
    bool is_window; /* its counts are totals of the recorder, not of the file */
};

struct ss_merge_pid {
    int32_t recorded, new;
};

/* Open addressing: which part uses a flow id, or what it became. */
struct ss_merge_flow {
    uint64_t id, new_id;
    uint32_t part; /* + 1; 0: free */
};

/* Totals of sources, per part; the writer keeps their sums. */
struct ss_merge_counts {
    struct ss_intern keys;                          /* part and source */
    struct ss_vec_of(struct ss_trace_counts) parts; /* by key */
    struct ss_vec_of(struct ss_trace_counts) sums;  /* by source of the output */
};

struct ss_merge {
    const struct ss_merge_options *options;
    struct ss_trace_writer *writer;
    struct ss_error *err; /* of records */
    struct ss_intern strings;
    struct ss_vec_of(struct ss_merge_input) inputs;
    struct ss_vec_of(uint32_t) heap;             /* inputs by next_ns */
    struct ss_merge_table tables[SS_SCHEMA_ALL]; /* by kind */
    uint32_t next_ref[SS_SCHEMA_ALL];
    struct ss_intern numbers;             /* pids and tids of the output, as 4 bytes */
    struct ss_vec_of(uint64_t) number_of; /* by number: process << 32 | thread; thread 0: a pid */
    struct ss_vec_of(struct ss_merge_pid) pids;     /* by process of the output */
    struct ss_vec_of(int32_t) tids;                 /* by thread of the output */
    struct ss_newest_samples newest;                /* by thread of the output */
    struct ss_wire_buffer key;                      /* scratch */
    struct ss_vec_of(struct ss_event_value) fields; /* scratch */
    int32_t next_number;
    struct ss_merge_flow *flows;
    size_t flow_count, flow_room;
    struct ss_merge_attributes written;
    struct ss_merge_counts counts;
    struct ss_vec_of(uint64_t) identities; /* of all files that are in the output */
    uint64_t last_clock_ns;
    uint64_t newest_ns;
    bool has_several_hosts;
    struct ss_merge_result result;
};

extern const struct ss_trace_visitor ss_merge_visitor;

/* merge_maps.c */
void ss_merge_maps_init(struct ss_merge *merge);
void ss_merge_maps_fini(struct ss_merge *merge);
void ss_merge_input_fini(struct ss_merge_input *input);
/* The output's ref for an identity that `input` defines. */
uint32_t ss_merge_find(struct ss_merge_input *input, enum ss_schema_id kind,
                       const struct ss_wire_buffer *key);
/* The same for identities that a part may define any number of times. */
uint32_t ss_merge_share(struct ss_merge *merge, enum ss_schema_id kind,
                        const struct ss_wire_buffer *key);
/* A number for a pid (thread 0) or tid, the wanted one if it is free. */
int32_t ss_merge_number(struct ss_merge *merge, int32_t wanted, uint32_t process, uint32_t thread);
uint64_t ss_merge_flow_id(struct ss_merge *merge, size_t part, uint64_t id);

/* merge_attributes.c */
enum ss_status ss_merge_on_attribute(void *input, const struct ss_trace_attribute *attribute);
/* Writes the attributes that all parts have with one value, and those of the axis, of which some
 * may have come after the first units. */
enum ss_status ss_merge_put_attributes(struct ss_merge *merge, struct ss_error *err);
/* Which files the output has. */
enum ss_status ss_merge_put_identities(struct ss_merge *merge, struct ss_error *err);

#endif
