/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The records of tracks: ranges, instants, flows, counter values, steps and phases. As in
 * records.h: plain values, borrowed strings, `ref`s from 1.
 */
#ifndef SS_TRACE_TRACK_RECORDS_H
#define SS_TRACE_TRACK_RECORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/event_types.h"
#include "base/quantities.h"
#include "base/strview.h"

enum ss_track_kind {
    SS_TRACK_RANGES,  /* nested ranges and instants: a stack of open ranges */
    SS_TRACK_ASYNC,   /* ranges that may overlap in any way */
    SS_TRACK_COUNTER, /* one series of values */
    SS_TRACK_STEPS,   /* numbered ranges: the payload is the number, the track name is the kind
                         ("step", "epoch") */
    SS_TRACK_PHASES,  /* ranges that name the part of a step */
    SS_TRACK_GROUP,   /* holds other tracks: "host", "disk nvme0n1", "GPU 0" */
    SS_TRACK_KIND_COUNT
};

/* The kind of values of a counter series, as written and as read. */
enum ss_counter_kind {
    SS_COUNTER_GAUGE,      /* levels; read as written */
    SS_COUNTER_DELTA,      /* written as changes, read as the running total */
    SS_COUNTER_CUMULATIVE, /* growing totals; read as written */
    SS_COUNTER_KIND_COUNT
};

/*
 * The owner of a track is its thread if thread_ref is set, else its process if process_ref is set,
 * else the host. A RANGES track of a thread without a name is the track of the thread itself; with
 * a name (an annotation domain) it is a child of that track. Repeated with the same ref and kind
 * when its name becomes known later.
 */
struct ss_trace_track {
    uint32_t ref;
    enum ss_track_kind kind;
    uint32_t process_ref;
    uint32_t thread_ref;
    uint32_t device_ref;    /* the device that it is about; 0: none */
    uint32_t stream_ref;    /* the stream whose work it has; 0: none */
    uint32_t parent_ref;    /* a GROUP track of the same owner; 0: directly below the owner */
    struct ss_strview name; /* RANGES, ASYNC: the domain; COUNTER: of the series */
    struct ss_strview unit; /* COUNTER: "ns", "count", "bytes", "%", "bytes/s"…; may be empty */
    enum ss_counter_kind counter;
    int32_t rank;              /* order among siblings, ascending; 0: by kind */
    enum ss_quantity quantity; /* COUNTER: what it measures */
};

/* The name of ranges and instants, with its attributes. */
struct ss_trace_name {
    uint32_t ref;
    enum ss_event_type type;
    struct ss_strview text;
    struct ss_strview category;
    uint32_t colour;        /* 0xAARRGGBB; 0: none */
    struct ss_strview file; /* of a function: its source file; empty: not a function */
    uint32_t line;          /* where the function begins */
};

enum ss_value_type { SS_VALUE_NONE, SS_VALUE_INT, SS_VALUE_UINT, SS_VALUE_REAL, SS_VALUE_TEXT };

struct ss_trace_value {
    enum ss_value_type type;
    union {
        int64_t integer;
        uint64_t natural;
        double real;
        struct ss_strview text;
    };
};

/* A typed field of an event (trace/event_fields.h). Refs to entities are UINT. */
struct ss_event_value {
    uint32_t field; /* enum ss_event_field_id */
    struct ss_trace_value value;
};
enum { SS_MAX_EVENT_FIELDS = 32 /* of one event */ };

enum ss_event_kind { SS_EVENT_BEGIN, SS_EVENT_END, SS_EVENT_INSTANT, SS_EVENT_KIND_COUNT };

enum ss_event_flag {
    /* END: the true end was not observed; the time is of the last observation. */
    SS_EVENT_END_UNSEEN = 1,
    /* BEGIN: the range began before the recording; the time is the earliest known. */
    SS_EVENT_BEGIN_UNSEEN = 2
};

/* An arrow from one event to the next of the same flow id. */
enum ss_flow { SS_FLOW_NONE, SS_FLOW_THROUGH /* also for the first event */, SS_FLOW_END };

struct ss_trace_event {
    uint64_t time_ns;
    uint32_t track_ref;
    uint32_t lane;     /* ASYNC: from 1; ranges of one lane never overlap */
    uint32_t name_ref; /* not of END; 0 on STEPS tracks */
    enum ss_event_kind kind;
    uint8_t flags; /* enum ss_event_flag */
    enum ss_flow flow;
    uint64_t flow_id;
    struct ss_trace_value payload;
    const struct ss_event_value *fields; /* borrowed, as texts are */
    uint32_t field_count;
};

struct ss_trace_counter {
    uint64_t time_ns;
    uint32_t track_ref;
    bool is_integer;
    union {
        int64_t integer;
        double real;
    };
};

/* Hits and time of one line of a function in one process, added since the previous record. The time
 * of a line lasts from its start to the start of another line or the return of the function,
 * including callees. */
struct ss_trace_line {
    uint64_t time_ns;
    uint32_t process_ref;
    uint32_t name_ref; /* of the function; has file and first line */
    uint32_t line;
    uint64_t hits;
    uint64_t total_ns;
};

#endif
