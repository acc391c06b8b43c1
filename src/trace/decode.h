/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes the packets of complete flush units into records: resolves interning, clocks and dense
 * refs. Private to trace/. One owner.
 */
#ifndef SS_TRACE_DECODE_H
#define SS_TRACE_DECODE_H

#include "trace/scan.h"
#include "trace/tables.h"
#include "trace/visitor.h"
#include "wire/deflate.h"

struct ss_id_map ss_vec_of(uint32_t); /* by iid: ref or string + 1; 0: not defined */

/* The state of a packet sequence in the current restart period. */
struct ss_decoder_sequence {
    uint64_t time_ns;              /* the incremental clock */
    struct ss_id_map names;        /* by iid: ref of the name */
    struct ss_id_map fields;       /* by iid: enum ss_event_field_id */
    struct ss_id_map texts;        /* of fields, by iid: string + 1 */
    struct ss_track_target target; /* default track of the sequence */
};

struct ss_decoder {
    const struct ss_trace_visitor *visitor;
    void *context;
    struct ss_trace_summary *summary;
    struct ss_tables tables;
    /* State of the current restart period. */
    uint32_t period;
    struct ss_id_map functions, paths, frames, stacks, tasks;
    /* Samples for older viewers (rewrite.h) name their thread by its tid. */
    struct ss_intern tids;
    struct ss_id_map thread_of_tid; /* by tid's id */
    struct ss_inflater *inflater;
    struct ss_wire_buffer plain;
    struct ss_vec_of(struct ss_decoder_sequence) sequences; /* by id; 0 and 1: main sequence */
    struct ss_vec_of(uint32_t) scratch;
    struct ss_vec_of(struct ss_event_value) fields; /* of the current event */
};

void ss_decoder_init(struct ss_decoder *decoder, const struct ss_trace_visitor *visitor,
                     void *context, struct ss_trace_summary *summary);
void ss_decoder_fini(struct ss_decoder *decoder);
/* Calls the visitor for each record of the unit. Sets `*malformed` to a reason when the content is
 * invalid despite a valid checksum; the decoder then skips the rest of the unit. */
enum ss_status ss_decoder_unit(struct ss_decoder *decoder, const struct ss_scan_unit *unit,
                               const char **malformed, struct ss_error *err);
size_t ss_decoder_memory(const struct ss_decoder *decoder);

#endif
