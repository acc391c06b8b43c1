/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the rings of one process. All that lies there is taken as hostile: it costs counts, never
 * a crash, an endless loop or memory without bound. What is read is copied once and judged on the
 * copy.
 *
 * Owned by one thread. The memory comes from the caller: a mapped file (source/ring_file.h), plain
 * memory in tests.
 */
#ifndef SS_RING_CONSUMER_H
#define SS_RING_CONSUMER_H

#include <stdbool.h>

#include "base/error.h"
#include "base/strview.h"
#include "base/vec.h"
#include "ring/layout.h"

/* `map` gives `bytes` bytes at `offset`, valid and at the same place until the consumer is closed;
 * NULL when they do not exist. */
struct ss_ring_memory {
    void *context;
    void *(*map)(void *context, uint64_t offset, size_t bytes);
};

struct ss_ring_record {
    uint64_t stamp;
    uint8_t type; /* enum ss_ring_type; never NOTHING or CONTINUATION */
    uint8_t domain;
    uint16_t detail;
    uint32_t name;
    uint8_t more; /* how many of these follow */
    uint64_t value[SS_RING_MAX_CONTINUATIONS];
    uint64_t extra[SS_RING_MAX_CONTINUATIONS];
};

/* Of one ring since it was opened here. At every time produced = consumed + dropped + overwritten +
 * torn: what waits in the ring is not counted yet. */
struct ss_ring_counts {
    uint64_t produced; /* tried: also the dropped ones */
    uint64_t consumed;
    uint64_t dropped;     /* the ring was full */
    uint64_t overwritten; /* overwrite mode: gone before they were read */
    uint64_t torn;        /* begun and never finished: killed within, or left by longjmp */
    uint64_t damaged;     /* slots that make no record */
    uint64_t unmatched;   /* pops without a push (they make no record) */
};

/* Our view of one ring. */
struct ss_ring_lane {
    struct ss_ring_thread *thread;
    struct ss_ring_slot *slots;
    uint32_t slots_log2;
    uint64_t tail;
    uint64_t torn;                                       /* met while reading */
    uint64_t base_records, base_dropped, base_unmatched; /* of before we came */
    struct ss_ring_counts counts;
    /* As last looked at. */
    uint32_t state, owner;
    int32_t tid;
};

struct ss_ring_consumer {
    struct ss_ring_memory memory;
    struct ss_ring_header *header;
    const ss_ring_directory_entry *directory;
    const char *definitions;
    uint32_t clock; /* enum ss_ring_clock */
    uint32_t definition_at;
    uint32_t names, domains; /* defined so far; ids are below */
    bool definitions_broken;
    bool is_overwriting;
    struct ss_vec_of(struct ss_ring_lane) lanes;
};

/* SS_E_AGAIN: the program has not finished it yet. SS_E_FORMAT: it is none of ours, or of another
 * version. */
enum ss_status ss_ring_consumer_open(const struct ss_ring_memory *memory,
                                     struct ss_ring_consumer *consumer, struct ss_error *err);
void ss_ring_consumer_close(struct ss_ring_consumer *consumer);

/* Opens the gate. `gate`: SS_RING_GATE_… bits. What lies in rings from before is not read. */
struct ss_ring_wish {
    uint32_t gate;
    enum ss_ring_mode mode;
    uint32_t slots_log2; /* 0: the default */
    int32_t recorder_pid;
    uint64_t room_bytes; /* free where the file lies; 0: unknown */
    uint64_t now_ns;
};
void ss_ring_consumer_start(struct ss_ring_consumer *consumer, const struct ss_ring_wish *wish);
void ss_ring_consumer_heartbeat(struct ss_ring_consumer *consumer, uint64_t now_ns);
void ss_ring_consumer_stop(struct ss_ring_consumer *consumer); /* closes the gate */

/* Takes in new rings, and state and owner of the known ones. */
void ss_ring_consumer_look(struct ss_ring_consumer *consumer);

/* Moves at most `capacity` records of one lane to `records`. `is_final`: the program is dead, what
 * is unfinished stays so and is stepped over. */
size_t ss_ring_consumer_read(struct ss_ring_consumer *consumer, uint32_t lane,
                             struct ss_ring_record *records, size_t capacity, bool is_final);
/* Steps over a record at the tail that was begun and is not going to be finished, though the
 * program lives: a signal handler left by longjmp, say. It counts as torn. */
void ss_ring_consumer_step_over(struct ss_ring_consumer *consumer, uint32_t lane);
/* Brings `counts` of the lane up to date. */
const struct ss_ring_counts *ss_ring_consumer_count(struct ss_ring_consumer *consumer,
                                                    uint32_t lane);
/* A lane that was CLOSED at the last look and is drained: the program may use the ring again. */
void ss_ring_consumer_release(struct ss_ring_consumer *consumer, uint32_t lane);

/* Hands out definitions that are new, in order. Call after ss_ring_consumer_read: the definitions
 * of all names that were read are there then. */
struct ss_ring_defined {
    enum ss_ring_definition_kind kind;
    uint32_t a, b, c;
    struct ss_strview text;
};
typedef void ss_ring_define_visit(void *context, const struct ss_ring_defined *defined);
void ss_ring_consumer_define(struct ss_ring_consumer *consumer, ss_ring_define_visit *visit,
                             void *context);

/* --- live stack ------------------------------------------------------------------------------ */

struct ss_ring_live_copy {
    uint32_t depth; /* at most SS_RING_LIVE_DEPTH */
    uint32_t phase; /* 0: none */
    struct {
        uint64_t stamp;
        uint32_t name, domain;
    } range[SS_RING_LIVE_DEPTH]; /* outermost first */
};
/* false: it changed each time it was read (a few tries). */
bool ss_ring_read_live(const struct ss_ring_thread *thread, struct ss_ring_live_copy *copy);
/* Only the innermost range: what a sample carries. Name 0 when none is open. */
bool ss_ring_read_innermost(const struct ss_ring_thread *thread, uint32_t *name, uint32_t *domain);

#endif
