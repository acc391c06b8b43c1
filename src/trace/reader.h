/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a trace file front to back and hands each record to a visitor, with refs that are dense
 * and unique in the file (re-interned across restart points). Definitions come before their first
 * use; a process, thread or source may come again with more known. Memory is bounded by the
 * definitions (capped) plus two units. Input is hostile: the reader never trusts a length.
 *
 * A damaged or cut part costs that unit: reading goes on at the next synchronization marker and
 * the loss is reported in the summary. One reader per thread; the file may still be growing.
 */
#ifndef SS_TRACE_READER_H
#define SS_TRACE_READER_H

#include <stddef.h>

#include "base/error.h"
#include "trace/records.h"

struct ss_trace_damage {
    uint64_t offset;
    uint64_t length;
    const char *reason;
    bool is_cut; /* the file ends within a unit: nothing wrong but that */
};

/* Any member may be NULL. A visitor that does not return SS_OK ends the reading with its status. */
struct ss_trace_visitor {
    enum ss_status (*attribute)(void *context, const struct ss_trace_attribute *attribute);
    enum ss_status (*source)(void *context, const struct ss_trace_source *source);
    enum ss_status (*process)(void *context, const struct ss_trace_process *process);
    enum ss_status (*thread)(void *context, const struct ss_trace_thread *thread);
    enum ss_status (*frame)(void *context, const struct ss_trace_frame *frame);
    enum ss_status (*stack)(void *context, const struct ss_trace_stack *stack);
    enum ss_status (*sample)(void *context, const struct ss_trace_sample *sample);
    enum ss_status (*counts)(void *context, const struct ss_trace_counts *counts);
    enum ss_status (*note)(void *context, const struct ss_trace_note *note);
    enum ss_status (*clock)(void *context, const struct ss_trace_clock *clock);
    /* Bytes of the file are missing or unreadable here. */
    enum ss_status (*damage)(void *context, const struct ss_trace_damage *damage);
    /* What lies on tracks comes in the order of the file, which is that of time but for what was
     * recorded late; events of one track with equal times keep their order. */
    enum ss_status (*track)(void *context, const struct ss_trace_track *track);
    enum ss_status (*name)(void *context, const struct ss_trace_name *name);
    enum ss_status (*event)(void *context, const struct ss_trace_event *event);
    enum ss_status (*counter)(void *context, const struct ss_trace_counter *counter);
    enum ss_status (*line)(void *context, const struct ss_trace_line *line);
    /* After each unit: how much of the file is read. */
    void (*progress)(void *context, uint64_t done_bytes, uint64_t all_bytes);
};

struct ss_trace_summary {
    uint64_t file_bytes;
    uint64_t read_bytes;  /* of them, understood */
    uint64_t plain_bytes; /* after inflation */
    uint64_t track_bytes; /* of them, in packets of events and counter values */
    uint64_t units;       /* complete */
    uint64_t restart_points;
    uint64_t samples;           /* records, not ticks */
    uint64_t lost_samples;      /* in whole units, but their definitions were in a damaged one */
    uint64_t first_ns, last_ns; /* of the samples; 0 when there are none */
    uint64_t events;            /* on tracks */
    uint64_t counter_values;
    uint64_t lost_events;                   /* as lost_samples, counter values among them */
    uint64_t first_event_ns, last_event_ns; /* of both; 0 when there are none */
    uint64_t damaged_units;
    uint64_t lost_bytes;          /* skipped because of damage, cut tail included */
    uint64_t first_damage_offset; /* meaningful when damaged_units or lost_bytes */
    uint64_t whole_bytes;         /* from the start on, all of them whole units (or foreign) */
    uint32_t next_number;         /* of the unit that would follow there */
    uint64_t units_behind_damage; /* behind the first */
    bool sealed;                  /* the writer closed the file in order */
    uint32_t format_version;
    char damage[160]; /* the first damage, for people; "" when there is none */
};

/* True when the bytes look like one of our traces (first ≤ 64 bytes suffice). */
bool ss_trace_is_trace(const void *bytes, size_t length);

/* SS_OK also for a cut or damaged file of which something could be read (see the summary);
 * SS_E_FORMAT with the byte offset when nothing could. */
enum ss_status ss_trace_read(const char *path, const struct ss_trace_visitor *visitor,
                             void *context, struct ss_trace_summary *summary, struct ss_error *err);
/* The same over memory, for fuzzing and tests. */
enum ss_status ss_trace_read_memory(const void *bytes, size_t length,
                                    const struct ss_trace_visitor *visitor, void *context,
                                    struct ss_trace_summary *summary, struct ss_error *err);

#endif
