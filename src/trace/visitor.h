/* SPDX-License-Identifier: Apache-2.0 */
/* What a reader of traces emits: the records, in file order, and at the end a summary. */
#ifndef SS_TRACE_VISITOR_H
#define SS_TRACE_VISITOR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "trace/records.h"

struct ss_trace_damage {
    uint64_t offset;
    uint64_t length;
    const char *reason;
    bool is_cut; /* only a truncation: the file ends within a unit */
};

/* Any member may be NULL. The reader stops at a status other than SS_OK and returns it. */
struct ss_trace_visitor {
    enum ss_status (*attribute)(void *context, const struct ss_trace_attribute *attribute);
    /* source, device, host, context, stream, group: the entities of trace/schema.def. */
#define SS_ENTITY(name, number, when, meaning)                                                     \
    enum ss_status (*name)(void *context, const struct ss_trace_##name *record);
#include "trace/schema.def"
    enum ss_status (*process)(void *context, const struct ss_trace_process *process);
    enum ss_status (*thread)(void *context, const struct ss_trace_thread *thread);
    enum ss_status (*frame)(void *context, const struct ss_trace_frame *frame);
    enum ss_status (*stack)(void *context, const struct ss_trace_stack *stack);
    enum ss_status (*sample)(void *context, const struct ss_trace_sample *sample);
    enum ss_status (*counts)(void *context, const struct ss_trace_counts *counts);
    enum ss_status (*note)(void *context, const struct ss_trace_note *note);
    enum ss_status (*clock)(void *context, const struct ss_trace_clock *clock);
    /* Missing or unreadable bytes at this point of the file. */
    enum ss_status (*damage)(void *context, const struct ss_trace_damage *damage);
    /* Events and counter values come in file order, which is time order except for records that
     * arrived late; events of one track with equal times keep their order. */
    enum ss_status (*track)(void *context, const struct ss_trace_track *track);
    enum ss_status (*name)(void *context, const struct ss_trace_name *name);
    enum ss_status (*event)(void *context, const struct ss_trace_event *event);
    enum ss_status (*counter)(void *context, const struct ss_trace_counter *counter);
    enum ss_status (*line)(void *context, const struct ss_trace_line *line);
    /* After each unit: bytes read so far. */
    void (*progress)(void *context, uint64_t done_bytes, uint64_t all_bytes);
};

struct ss_trace_summary {
    uint64_t file_bytes;
    uint64_t read_bytes;  /* bytes of decoded units */
    uint64_t plain_bytes; /* after inflation */
    uint64_t track_bytes; /* inflated, in packets of events and counter values */
    uint64_t units;       /* complete */
    uint64_t restart_points;
    uint64_t samples;           /* records, not ticks */
    uint64_t lost_samples;      /* readable, but their definitions were in a damaged unit */
    uint64_t first_ns, last_ns; /* of the samples; 0 when there are none */
    uint64_t events;            /* on tracks */
    uint64_t counter_values;
    uint64_t lost_events;                   /* like lost_samples; includes counter values */
    uint64_t first_event_ns, last_event_ns; /* events and counter values; 0 when there are none */
    uint64_t damaged_units;
    uint64_t lost_bytes;          /* skipped because of damage or truncation */
    uint64_t first_damage_offset; /* meaningful when damaged_units or lost_bytes */
    uint64_t whole_bytes;         /* intact prefix: complete units and foreign packets */
    uint32_t next_number;         /* number of the unit after the intact prefix */
    uint64_t units_after_damage;  /* decoded after the first damage */
    bool sealed;                  /* the writer closed the file */
    uint32_t format_version;
    char damage[160]; /* text about the first damage; "" when there is none */
};

#endif
