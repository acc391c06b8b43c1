/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The annotations of one process: drains its rings, converts the clock, matches ends to begins, and
 * hands out events in the order of each thread's time. What the program says about itself is taken
 * as hostile: numbers that cannot be are dropped and counted, stamps are kept within the recording,
 * depths are capped.
 *
 * Pushes and pops carry their depth, so that records which a full ring dropped do not tangle the
 * rest: a range whose pop is missing ends, flagged, where the next record shows that it is over.
 *
 * Owned by the recorder's thread; the sink is called synchronously.
 */
#ifndef SS_SOURCE_ANNOT_H
#define SS_SOURCE_ANNOT_H

#include <stdbool.h>
#include <stdint.h>

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
    SS_ANNOT_PHASE,       /* lane, name; 0: none begins */
    SS_ANNOT_WINDOW,      /* detail: action; value: step; id: window; name: batch of the epoch */
    SS_ANNOT_THREAD_NAME, /* lane, name; tid: detail 1: of another thread, if there is one */
    SS_ANNOT_FACT,        /* name, value */
    SS_ANNOT_LINE,        /* name: the function; detail: the line; value: ns; id: hits */
    SS_ANNOT_PROCESS_END, /* the last event of all */
    SS_ANNOT_STEPS_END    /* no step, epoch or phase is under way; by record/window_filter.h */
};

struct ss_annot_event {
    enum ss_annot_kind kind;
    uint32_t window; /* that it lies in, when record/window_filter.h says so; else 0 */
    uint32_t leader; /* whose window that is, when it is another process's; else 0 */
    uint64_t time_ns;
    uint32_t lane;   /* which ring; see `thread` below */
    uint32_t thread; /* counts the threads of this process, from 1; never used again */
    int32_t tid;
    uint32_t domain, name;
    uint32_t detail;
    uint64_t id;
    bool unseen_end;   /* RANGE_END, STEPS_END: when it truly ended is not known */
    bool unseen_begin; /* RANGE_BEGIN, by record/window_filter.h: it began before the window */
    enum ss_ring_value value_type;
    uint64_t value; /* a double's bits when it is one */
};

/* A name and what it is shown with; told anew when that changes. */
struct ss_annot_name {
    uint32_t id;
    struct ss_strview text;
    uint32_t argb;     /* 0: none */
    uint32_t category; /* a name; 0: none */
    uint32_t file;     /* of a function: a name; 0: it is none */
    uint32_t line;     /* where the function begins */
};

struct ss_annot_sink {
    void *context;
    void (*name)(void *context, const struct ss_annot_name *name);
    void (*domain)(void *context, uint32_t id, struct ss_strview text);
    void (*counter)(void *context, uint32_t name, uint32_t unit, enum ss_ring_counter kind);
    void (*event)(void *context, const struct ss_annot_event *event);
};

struct ss_annot_totals {
    uint64_t produced, consumed, dropped; /* dropped: for whatever reason it was not consumed */
    uint64_t overrun;                     /* of those dropped: their rings were full */
    uint64_t unbuffered;                  /* of those dropped: their threads had no ring */
    uint64_t damaged, unmatched, lost_names;
    uint64_t begins_lost, ends_lost; /* of ranges, because of drops */
    uint64_t lost_rings;             /* that could not be mapped: nobody knows what is in them */
    uint64_t threads;                /* as wide as the rest: totals are compared as bytes */
};

struct ss_annot;

/* `memory` and `clock` live longer. `since_ns`: nothing is older. */
enum ss_status ss_annot_open(const struct ss_ring_memory *memory,
                             const struct ss_stamp_clock *clock, uint64_t since_ns,
                             const struct ss_annot_sink *sink, struct ss_annot **annot,
                             struct ss_error *err);
/* The header, for looking only. */
const struct ss_ring_header *ss_annot_header(const struct ss_annot *annot);
/* Opens the gate, or keeps it open. `is_new`: the process was not ours before: what lies in its
 * rings is old. */
void ss_annot_start(struct ss_annot *annot, const struct ss_ring_wish *wish, bool is_new);
/* Who takes the events from here on. */
void ss_annot_set_sink(struct ss_annot *annot, const struct ss_annot_sink *sink);
/* Called before each WINDOW event; it may set another sink, which then gets this event. */
void ss_annot_set_window_hook(struct ss_annot *annot, void (*hook)(void *context), void *context);
/* Reads what there is, at most a few rings full. Returns how full the fullest was, in percent. */
uint32_t ss_annot_drain(struct ss_annot *annot, uint64_t now_ns);
/* The same, but some hundred records of each ring at least and no more after `until_ns`
 * (CLOCK_MONOTONIC): others wait for this thread. Then it is behind: not all that was marked before
 * `now_ns` was handed out. The next drain begins with the rings after the one where it stopped. */
uint32_t ss_annot_drain_until(struct ss_annot *annot, uint64_t now_ns, uint64_t until_ns);
bool ss_annot_is_behind(const struct ss_annot *annot);
/* What is free where the rings lie: of that, the size of rings to come depends. */
void ss_annot_tell_room(struct ss_annot *annot, uint64_t room_bytes);
/* The process is to make no system calls of ours any more. */
void ss_annot_confine(struct ss_annot *annot);
void ss_annot_stop(struct ss_annot *annot); /* closes the gate */
/* Does the program wait for a flush? `number` is what answers it when it is done. */
bool ss_annot_wants_flush(const struct ss_annot *annot, uint32_t *number);
void ss_annot_flushed(struct ss_annot *annot, uint32_t number);
/* The process is dead, or the recording over: drains the rest (`is_dead`: what is unfinished stays
 * so) and ends what is open at `last_ns`, when the process was last seen, or at its last record. */
void ss_annot_end(struct ss_annot *annot, uint64_t now_ns, uint64_t last_ns, bool is_dead);
void ss_annot_free(struct ss_annot *annot);

void ss_annot_get_totals(struct ss_annot *annot, struct ss_annot_totals *totals);

/* What a sample of thread `tid` carries; 0 and -1: none. */
struct ss_annot_label {
    int64_t step;
    uint32_t window;
    uint32_t phase, range; /* names */
};
void ss_annot_label(struct ss_annot *annot, int32_t tid, struct ss_annot_label *label);

#endif
