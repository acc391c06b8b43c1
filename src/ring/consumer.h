/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The consumer: reads the rings of one process. Their content is untrusted: bad data is counted and
 * never causes a crash, an endless loop or unbounded memory. Each slot is copied once and checked
 * on the copy.
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

/* `map` returns `bytes` bytes at `offset`, valid at the same address until the consumer is closed;
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
    uint8_t more; /* continuations: entries of the arrays in use */
    uint64_t value[SS_RING_MAX_CONTINUATIONS];
    uint64_t extra[SS_RING_MAX_CONTINUATIONS];
};

/* Counts of one ring since this consumer opened it. Always produced = consumed + dropped +
 * overwritten + torn: records still in the ring are not counted yet. */
struct ss_ring_counts {
    uint64_t produced; /* including dropped records */
    uint64_t consumed;
    uint64_t dropped;     /* the ring was full */
    uint64_t overwritten; /* overwrite mode: lost before they were read */
    uint64_t torn;        /* begun and never finished: the thread was killed, or left by longjmp */
    uint64_t damaged;     /* slots that form no record */
    uint64_t unmatched;   /* pops without a push (they write no record) */
};

/* The consumer's view of one ring. */
struct ss_ring_lane {
    struct ss_ring_thread *thread;
    struct ss_ring_slot *slots;
    uint32_t slots_log2;
    uint64_t tail;
    uint64_t torn;                                       /* detected while reading */
    uint64_t base_records, base_dropped, base_unmatched; /* counts at the start of the recording */
    struct ss_ring_counts counts;
    /* As of the last refresh; `owner` and `tid` of the last one that found the ring owned. */
    uint32_t state, owner;
    int32_t tid;
};

/* Whether its records are those of `owner`. Else they are of a thread that is not known yet. */
static inline bool ss_ring_lane_is_owned(const struct ss_ring_lane *lane)
{
    return lane->state == SS_RING_OPEN || lane->state == SS_RING_CLOSED;
}

struct ss_ring_consumer {
    struct ss_ring_memory memory;
    struct ss_ring_header *header;
    const ss_ring_directory_entry *directory;
    const char *definitions;
    uint32_t clock; /* enum ss_ring_clock */
    uint32_t definition_at;
    uint32_t names, domains; /* defined so far; all ids are below */
    bool definitions_broken;
    bool is_overwriting;
    struct ss_vec_of(struct ss_ring_lane) lanes;
};

/* SS_E_AGAIN: the program has not written the header yet. SS_E_FORMAT: not a ring file of
 * stepscope, or of another version. */
enum ss_status ss_ring_consumer_open(const struct ss_ring_memory *memory,
                                     struct ss_ring_consumer *consumer, struct ss_error *err);
void ss_ring_consumer_close(struct ss_ring_consumer *consumer);

/* Opens the gate. `gate`: SS_RING_GATE_… bits. Records already in the rings are skipped. */
struct ss_ring_request {
    uint32_t gate;
    enum ss_ring_mode mode;
    uint32_t slots_log2; /* 0: the default */
    int32_t recorder_pid;
    uint64_t room_bytes; /* free on the file system of the ring file; 0: unknown */
    uint32_t device_level;
    uint32_t capture; /* enum ss_ring_capture */
    uint64_t now_ns;
};
void ss_ring_consumer_start(struct ss_ring_consumer *consumer,
                            const struct ss_ring_request *request);
void ss_ring_consumer_heartbeat(struct ss_ring_consumer *consumer, uint64_t now_ns);
/* Asks the program to end what it collects of devices. false: it does not, or has ended it. */
bool ss_ring_consumer_is_ending(struct ss_ring_consumer *consumer);
void ss_ring_consumer_stop(struct ss_ring_consumer *consumer); /* closes the gate */

/* Refreshes the lanes: adds new rings, and reads state and owner of all. */
void ss_ring_consumer_refresh(struct ss_ring_consumer *consumer);

/* Moves at most `capacity` records of one lane to `records`. `is_final`: the program has exited;
 * unfinished records are skipped and counted as torn. */
size_t ss_ring_consumer_read(struct ss_ring_consumer *consumer, uint32_t lane,
                             struct ss_ring_record *records, size_t capacity, bool is_final);
/* Skips a record at the tail that the running program will never finish, for example because a
 * signal handler left by longjmp. It counts as torn. */
void ss_ring_consumer_skip_torn(struct ss_ring_consumer *consumer, uint32_t lane);
/* Updates and returns the counts of the lane. */
const struct ss_ring_counts *ss_ring_consumer_count(struct ss_ring_consumer *consumer,
                                                    uint32_t lane);
/* Releases a drained lane that was CLOSED at the last refresh: the program may reuse the ring. */
void ss_ring_consumer_release(struct ss_ring_consumer *consumer, uint32_t lane);

/* Passes new definitions to `visit`, in order. Call it after ss_ring_consumer_read: the
 * definitions of all names in the records read so far are then published. */
struct ss_ring_defined {
    enum ss_ring_definition_kind kind;
    uint32_t a, b, c, d;
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
/* false: the stack changed during each of a few tries. */
bool ss_ring_read_live(const struct ss_ring_thread *thread, struct ss_ring_live_copy *copy);
/* Only the innermost range, as samples need it. Name 0: no range is open. */
bool ss_ring_read_innermost(const struct ss_ring_thread *thread, uint32_t *name, uint32_t *domain);
/* The current step (-1: none) and its window (0: none), read at the same instant. */
int64_t ss_ring_read_step(const struct ss_ring_header *header, uint32_t *window);
/* The value of a fact. SS_RING_VALUE_NONE: it changes right now. */
enum ss_ring_value ss_ring_read_fact(const struct ss_ring_fact *fact, uint64_t *value);
/* Asks for the steps `first` to `last`, both included, in an entry whose answer has been read. */
void ss_ring_post_demand(struct ss_ring_header *header, uint32_t entry, uint32_t number,
                         int64_t first, int64_t last);

#endif
