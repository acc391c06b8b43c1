/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The vocabulary of a trace, second part: what lies on tracks. Ranges, instants, flows, counters,
 * steps and phases. As in records.h: plain values, borrowed strings, `ref`s from 1.
 */
#ifndef SS_TRACE_TRACK_RECORDS_H
#define SS_TRACE_TRACK_RECORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strview.h"

enum ss_track_kind {
    SS_TRACK_RANGES,  /* nested ranges and instants: a stack of open ranges */
    SS_TRACK_ASYNC,   /* ranges that may overlap in any way */
    SS_TRACK_COUNTER, /* one series of values */
    SS_TRACK_STEPS,   /* ranges with numbers: the payload is the number, the track's name says of
                         what ("step", "epoch") */
    SS_TRACK_PHASES,  /* ranges that name the part of a step */
    SS_TRACK_GROUP,   /* holds other tracks: "host", "disk nvme0n1", "GPU 0" */
    SS_TRACK_KIND_COUNT
};

/* What a counter's values are. The writer takes them as they come, the reader gives: */
enum ss_counter_kind {
    SS_COUNTER_GAUGE,      /* levels; as written */
    SS_COUNTER_DELTA,      /* written as changes, read as the running total */
    SS_COUNTER_CUMULATIVE, /* ever-growing totals; as written */
    SS_COUNTER_KIND_COUNT
};

/*
 * Whose a track is: a thread's when thread_ref is given, else a process's when process_ref is,
 * else the host's. A thread's RANGES track without a name is the thread's own row; one with a name
 * (an annotation domain) is a row below it. Sent once more, with the same ref and kind, when its
 * name becomes known later.
 */
struct ss_trace_track {
    uint32_t ref;
    enum ss_track_kind kind;
    uint32_t process_ref;
    uint32_t thread_ref;
    uint32_t parent_ref;    /* a GROUP track, of the same owner; 0: right below the owner */
    struct ss_strview name; /* RANGES, ASYNC: the domain; COUNTER: of the series */
    struct ss_strview unit; /* COUNTER: "ns", "count", "bytes", "%", "bytes/s"…; may be empty */
    enum ss_counter_kind counter;
    int32_t rank; /* among its siblings, smallest on top; 0: by kind */
};

/* The name of ranges and instants, with what always comes with it. */
struct ss_trace_name {
    uint32_t ref;
    struct ss_strview text;
    struct ss_strview category;
    uint32_t colour;        /* 0xAARRGGBB; 0: none */
    struct ss_strview file; /* of a function: where it is written; empty: it is none */
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

enum ss_event_kind { SS_EVENT_BEGIN, SS_EVENT_END, SS_EVENT_INSTANT, SS_EVENT_KIND_COUNT };

enum ss_event_flag {
    /* END: the true end was not seen; the time is the last at which anything was. */
    SS_EVENT_END_UNSEEN = 1,
    /* BEGIN: it began before the recording did; the time is the earliest known. */
    SS_EVENT_BEGIN_UNSEEN = 2
};

/* An arrow from one event to the next of the same flow id. */
enum ss_flow { SS_FLOW_NONE, SS_FLOW_THROUGH /* also the first */, SS_FLOW_END };

struct ss_trace_event {
    uint64_t time_ns;
    uint32_t track_ref;
    uint32_t lane;     /* ASYNC: from 1; ranges of one lane never overlap */
    uint32_t name_ref; /* not of END; 0 on STEPS tracks */
    enum ss_event_kind kind;
    uint8_t flags; /* enum ss_event_flag */
    enum ss_flow flow;
    uint64_t flow_id; /* not of END */
    struct ss_trace_value payload;
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

/* Of one line of a function, in one process: what was added since the record before. The time of a
 * line is that from where it began to where another began or the function was left, with all that
 * it called. */
struct ss_trace_line {
    uint64_t time_ns;
    uint32_t process_ref;
    uint32_t name_ref; /* of the function; it says file and first line */
    uint32_t line;
    uint64_t hits;
    uint64_t total_ns;
};

#endif
