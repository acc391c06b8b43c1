/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a writer: writer.c makes units of it, writer_records.c takes the records in.
 * Private to the two. */
#ifndef SS_TRACE_WRITER_STATE_H
#define SS_TRACE_WRITER_STATE_H

#include "base/clock.h"
#include "base/vec.h"
#include "trace/definitions.h"
#include "trace/output.h"
#include "trace/unit.h"
#include "trace/writer.h"

struct ss_writer_process {
    struct ss_trace_process record; /* its texts are interned; ref 0: not known */
    uint64_t uuid;
    uint32_t period; /* written in */
};

struct ss_writer_thread {
    struct ss_trace_thread record;
    uint64_t uuid;
    struct ss_period_iid iid;
    bool changed;
};

struct ss_writer_counts {
    struct ss_trace_counts record;
    bool pending;
};

struct ss_trace_writer {
    struct ss_output output;
    struct ss_trace_writer_options options;
    struct ss_deflater *deflater; /* NULL: compression is off */
    struct ss_definitions definitions;
    struct ss_vec_of(struct ss_writer_process) processes; /* by ref */
    struct ss_vec_of(struct ss_writer_thread) threads;    /* by ref */
    struct ss_vec_of(struct ss_trace_source) sources;
    struct ss_vec_of(struct ss_trace_attribute) attributes;
    struct ss_vec_of(struct ss_writer_counts) counts;
    uint64_t trace_uuid[2];
    uint64_t lost_shown; /* last value of the counter track, plus 1; 0: none yet */
    uint32_t next_thread_iid;

    struct ss_unit unit;
    struct ss_clock_reading clock; /* when the unit began */
    bool has_clock;
    bool unit_restarts, unit_has_gap;
    bool restarted_untold;
    uint32_t unit_number;
    uint64_t period_began_ns;
    uint64_t period_bytes;
    struct ss_trace_writer_stats stats;
    struct ss_error failure; /* sticky */
};

/* The sticky failure, SS_OK while there is none. */
enum ss_status ss_writer_failed(const struct ss_trace_writer *writer, struct ss_error *err);
/* Before an event: closes the unit when it is full, restarts when that cannot wait. */
enum ss_status ss_writer_make_room(struct ss_trace_writer *writer, struct ss_error *err);

/* The tracks that belong to the recording as a whole. */
enum { SS_LOST_TRACK = 1, SS_NOTES_TRACK = 2 };
uint64_t ss_writer_track_uuid(const struct ss_trace_writer *writer, uint64_t which);

uint64_t ss_writer_process_uuid(const struct ss_trace_writer *writer, uint32_t ref); /* 0: none */
void ss_writer_put_process(struct ss_trace_writer *writer, struct ss_writer_process *entry);
/* Makes sure that the period knows the process that something refers to. */
void ss_writer_use_process(struct ss_trace_writer *writer, uint32_t ref);

#endif
