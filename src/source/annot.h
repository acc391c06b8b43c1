/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The annotations of one process: drains its rings, converts the clock, matches ends to begins, and
 * emits events in the time order of each thread. Input from the program is hostile: invalid numbers
 * are dropped and counted, stamps are clamped to the recording, depths are capped.
 *
 * Pushes and pops carry their depth, so that records dropped by a full ring do not corrupt the
 * nesting: a range without pop ends, flagged, at the next record that shows its end.
 *
 * Owned by the recorder's thread; the sink is called synchronously.
 */
#ifndef SS_SOURCE_ANNOT_H
#define SS_SOURCE_ANNOT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/event_types.h"
#include "base/quantities.h"
#include "base/strview.h"
#include "ring/consumer.h"
#include "source/stamp_clock.h"

enum ss_annot_kind {
    SS_ANNOT_RANGE_BEGIN, /* lane, domain, name, value */
    SS_ANNOT_RANGE_END,   /* lane, domain */
    SS_ANNOT_MARK,        /* lane, domain, name, value */
    SS_ANNOT_ASYNC_BEGIN, /* id, domain, name, value */
    SS_ANNOT_ASYNC_END,   /* id */
    SS_ANNOT_FLOW,        /* lane, id, detail; domain and name of the innermost open range */
    SS_ANNOT_COUNT,       /* name, value */
    SS_ANNOT_STEP,        /* value */
    SS_ANNOT_EPOCH,       /* value */
    SS_ANNOT_PHASE,       /* lane, name; 0: no new phase */
    SS_ANNOT_WINDOW,      /* detail: action; value: step; id: window; name: batch of the epoch */
    SS_ANNOT_THREAD_NAME, /* lane, name; detail 1: `tid` is another thread, if it exists */
    SS_ANNOT_FACT,        /* name, value */
    SS_ANNOT_LINE,        /* name: the function; detail: the line; value: ns; id: hits */
    SS_ANNOT_PROCESS_END, /* always the last event */
    SS_ANNOT_STEPS_END /* ends the open step, epoch and phase; from record/windows/window_filter.h
                        */
};

struct ss_annot_event {
    enum ss_annot_kind kind;
    uint32_t window; /* the window of the event, set by record/windows/window_filter.h; else 0 */
    uint32_t window_owner; /* if it is another process; else 0 */
    uint64_t time_ns;
    uint32_t lane;   /* index of the ring; see `thread` below */
    uint32_t thread; /* number of the thread in this process, from 1; never reused */
    int32_t tid;
    uint32_t domain, name;
    uint32_t detail;
    uint64_t id;
    uint32_t closed;   /* WINDOW: the window that ends, if it may have begun on another thread; 0 */
    bool unseen_end;   /* RANGE_END, STEPS_END: the true end is unknown */
    bool unseen_begin; /* RANGE_BEGIN, from record/windows/window_filter.h: began before the window
                        */
    enum ss_ring_value value_type;
    uint64_t value; /* for a double: its bits */
    /* ASYNC_BEGIN of a collective; its value are the bytes. */
    struct {
        bool is_described;            /* else nothing is known of one */
        uint32_t group, datatype;     /* names; 0: not known */
        uint32_t algorithm, protocol; /* names; 0: not known */
        enum ss_ring_library library;
        enum ss_ring_direction direction;
        uint32_t reduction; /* enum ss_ring_reduction */
        uint32_t size;      /* of the group; 0: unknown */
        int64_t sequence;   /* -1: none */
        int64_t root;       /* -1: none */
        uint32_t module;    /* a name: what the data belongs to; 0: not known */
        int64_t tag, self;  /* of a transfer: its tag, the own rank; -1: none */
    } collective;
};

/* A name and its attributes; emitted again when they change. */
struct ss_annot_name {
    uint32_t id;
    struct ss_strview text;
    uint32_t argb;     /* 0: none */
    uint32_t category; /* a name; 0: none */
    uint32_t file;     /* of a function: a name; 0: not a function */
    uint32_t line;     /* where the function begins */
    enum ss_event_type type;
};

struct ss_annot_counter {
    uint32_t name, unit; /* names */
    enum ss_ring_counter kind;
    enum ss_quantity quantity;
};

struct ss_annot_sink {
    void *context;
    void (*name)(void *context, const struct ss_annot_name *name);
    void (*domain)(void *context, uint32_t id, struct ss_strview text);
    void (*counter)(void *context, const struct ss_annot_counter *counter);
    void (*event)(void *context, const struct ss_annot_event *event);
};

struct ss_annot_totals {
    uint64_t produced, consumed, dropped; /* dropped: not consumed, for any reason */
    uint64_t overrun;                     /* dropped because the ring was full */
    uint64_t unbuffered;                  /* dropped because the thread had no ring */
    uint64_t damaged, unmatched, lost_names;
    uint64_t begins_lost, ends_lost; /* range begins and ends lost to drops */
    uint64_t lost_rings;             /* rings that could not be mapped: content unknown */
    uint64_t threads;                /* 64 bits like the rest: totals are compared as bytes */
};

struct ss_annot;

/* `memory` and `clock` must outlive it. `since_ns`: lower bound for event times. */
enum ss_status ss_annot_open(const struct ss_ring_memory *memory,
                             const struct ss_stamp_clock *clock, uint64_t since_ns,
                             const struct ss_annot_sink *sink, struct ss_annot **annot,
                             struct ss_error *err);
/* The header, read-only. */
const struct ss_ring_header *ss_annot_header(const struct ss_annot *annot);
/* Opens the gate, or keeps it open. `is_new`: the process is new in the recording, and the records
 * in its rings are old. */
void ss_annot_start(struct ss_annot *annot, const struct ss_ring_request *request, bool is_new);
/* The sink of all later events. */
void ss_annot_set_sink(struct ss_annot *annot, const struct ss_annot_sink *sink);
/* Called before each WINDOW event; it may set another sink, which then receives this event. */
void ss_annot_set_window_hook(struct ss_annot *annot, void (*hook)(void *context), void *context);
/* Reads available records, at most a few ring sizes. Returns the highest fill level, in percent. */
uint32_t ss_annot_drain(struct ss_annot *annot, uint64_t now_ns);
/* The same with a deadline `until_ns` (CLOCK_MONOTONIC), but at least some hundred records of each
 * ring. After a missed deadline it is behind: some events before `now_ns` are not emitted yet. The
 * next drain begins with the ring after the one where it stopped. */
uint32_t ss_annot_drain_until(struct ss_annot *annot, uint64_t now_ns, uint64_t until_ns);
bool ss_annot_is_behind(const struct ss_annot *annot);
/* Publishes the free space of the ring directory, which limits the size of new rings. */
void ss_annot_publish_room(struct ss_annot *annot, uint64_t room_bytes);
/* Asks the program for a window of steps, in an entry of the header that is free. `number`: not of
 * an earlier request. */
void ss_annot_post_demand(struct ss_annot *annot, uint32_t slot, uint32_t number, int64_t first,
                          int64_t last);
/* Requests that the runtime in the process makes no more system calls. */
void ss_annot_confine(struct ss_annot *annot);
/* The recorder has opened, or closed, a window in the process. */
void ss_annot_capture(struct ss_annot *annot, bool is_open);
/* The recording is about to end. Whether the program still ends what it collects of devices. */
bool ss_annot_is_ending(struct ss_annot *annot);
void ss_annot_stop(struct ss_annot *annot); /* closes the gate */
/* True when the program waits for a flush; `number` goes to ss_annot_flushed when it is done. */
bool ss_annot_wants_flush(const struct ss_annot *annot, uint32_t *number);
void ss_annot_flushed(struct ss_annot *annot, uint32_t number);
/* The process or the recording has ended: drains the rest (`is_dead`: unfinished records stay
 * unfinished) and ends open ranges at `last_ns`, when the process was last observed, or at the last
 * record, whichever is later. */
void ss_annot_end(struct ss_annot *annot, uint64_t now_ns, uint64_t last_ns, bool is_dead);
void ss_annot_free(struct ss_annot *annot);

void ss_annot_get_totals(struct ss_annot *annot, struct ss_annot_totals *totals);

/* The annotation state for a sample of thread `tid`; 0 and -1: none. */
struct ss_annot_label {
    int64_t step;
    uint32_t window;
    uint32_t phase, range; /* names */
};
void ss_annot_label(struct ss_annot *annot, int32_t tid, struct ss_annot_label *label);

#endif
