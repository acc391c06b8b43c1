/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes events of this process into the calling thread's ring. The runtime's table and the
 * injected interfaces (inject/) use these functions. Any thread, any signal handler; they allocate
 * nothing and preserve errno. Without a recorder an event is a load and a test.
 */
#ifndef SS_ANNOT_EVENTS_H
#define SS_ANNOT_EVENTS_H

#include "annot/thread.h"

enum {
    SS_EVENT_UNMATCHED = -1, /* this thread has no open range of the domain */
    SS_EVENT_OFF = -2        /* not recorded, or dropped */
};

/* A payload: `type` is an enum ss_ring_value, `bits` its 64 bits. */
struct ss_event_value {
    uint64_t bits;
    uint32_t type;
};

static inline bool ss_event_is_on(uint32_t gate_bits)
{
    uint32_t gate = atomic_load_explicit(&ss_process_header->gate, memory_order_relaxed);
    return __builtin_expect((gate & gate_bits) != 0, 1);
}

/* The ring, if one of `gate_bits` is being recorded; else NULL. */
static inline struct ss_thread *ss_event_enter(uint32_t gate_bits, uint64_t *stamp)
{
    uint32_t gate = atomic_load_explicit(&ss_process_header->gate, memory_order_relaxed);
    if (__builtin_expect((gate & gate_bits) == 0, 0)) {
        return NULL;
    }
    *stamp = ss_stamp_now();
    return ss_thread_get(*stamp, gate);
}

static inline void ss_event_write_value(struct ss_thread *thread, uint64_t stamp, uint64_t word,
                                        uint64_t value, uint64_t extra)
{
    struct ss_ring_extra more = {value, extra};
    ss_ring_write_more(&thread->ring, stamp, word, &more, 1);
}

/* Push and pop return the level of the range, from 0 for the outermost, or a value above. */
static inline int ss_event_push(uint32_t domain, uint32_t name)
{
    uint64_t stamp;
    struct ss_thread *thread = ss_event_enter(SS_RING_GATE_RANGES, &stamp);
    if (__builtin_expect(thread == NULL, 0)) {
        return SS_EVENT_OFF;
    }
    uint32_t depth = ss_ring_live_push(&thread->ring, stamp, domain, name);
    ss_ring_write(&thread->ring, stamp, ss_ring_head_word(SS_RING_PUSH, 0, domain, depth, name));
    return (int)depth;
}

static inline int ss_event_pop(uint32_t domain)
{
    uint64_t stamp;
    struct ss_thread *thread = ss_event_enter(SS_RING_GATE_RANGES, &stamp);
    if (__builtin_expect(thread == NULL, 0)) {
        return SS_EVENT_OFF;
    }
    uint32_t depth = ss_ring_live_pop(&thread->ring, domain);
    if (__builtin_expect(depth == 0, 0)) {
        return SS_EVENT_UNMATCHED;
    }
    ss_ring_write(&thread->ring, stamp, ss_ring_head_word(SS_RING_POP, 0, domain, depth, 0));
    return (int)depth - 1;
}

static inline int ss_event_push_value(uint32_t domain, uint32_t name, struct ss_event_value value)
{
    uint64_t stamp;
    struct ss_thread *thread = ss_event_enter(SS_RING_GATE_RANGES, &stamp);
    if (__builtin_expect(thread == NULL, 0)) {
        return SS_EVENT_OFF;
    }
    uint32_t depth = ss_ring_live_push(&thread->ring, stamp, domain, name);
    ss_event_write_value(thread, stamp, ss_ring_head_word(SS_RING_PUSH, 1, domain, depth, name),
                         value.bits, value.type);
    return (int)depth;
}

/* The same for frequent ranges, which are dropped first when the ring fills up. No payload when its
 * type is SS_RING_VALUE_NONE. */
static inline void ss_event_push_minor(uint32_t domain, uint32_t name, struct ss_event_value value)
{
    uint64_t stamp;
    struct ss_thread *thread = ss_event_enter(SS_RING_GATE_RANGES, &stamp);
    if (__builtin_expect(thread == NULL, 0)) {
        return;
    }
    uint32_t depth = ss_ring_live_push(&thread->ring, stamp, domain, name);
    if (!ss_ring_leaves_spare(&thread->ring)) {
        return;
    }
    if (value.type == SS_RING_VALUE_NONE) {
        ss_ring_write(&thread->ring, stamp,
                      ss_ring_head_word(SS_RING_PUSH, 0, domain, depth, name));
    } else {
        ss_event_write_value(thread, stamp, ss_ring_head_word(SS_RING_PUSH, 1, domain, depth, name),
                             value.bits, value.type);
    }
}

static inline void ss_event_pop_minor(uint32_t domain)
{
    uint64_t stamp;
    struct ss_thread *thread = ss_event_enter(SS_RING_GATE_RANGES, &stamp);
    if (__builtin_expect(thread == NULL, 0)) {
        return;
    }
    uint32_t depth = ss_ring_live_pop(&thread->ring, domain);
    if (depth != 0 && ss_ring_leaves_spare(&thread->ring)) {
        ss_ring_write(&thread->ring, stamp, ss_ring_head_word(SS_RING_POP, 0, domain, depth, 0));
    }
}

/* No payload when its type is SS_RING_VALUE_NONE. */
static inline void ss_event_mark(uint32_t domain, uint32_t name, struct ss_event_value value)
{
    uint64_t stamp;
    struct ss_thread *thread = ss_event_enter(SS_RING_GATE_MARKS, &stamp);
    if (thread == NULL) {
        return;
    }
    if (value.type == SS_RING_VALUE_NONE) {
        ss_ring_write(&thread->ring, stamp, ss_ring_head_word(SS_RING_MARK, 0, domain, 0, name));
    } else {
        ss_event_write_value(thread, stamp, ss_ring_head_word(SS_RING_MARK, 1, domain, 0, name),
                             value.bits, value.type);
    }
}

/* A range that any thread may end, with an id that is not in use; false: not recorded. */
static inline bool ss_event_begin_as(uint64_t id, uint32_t domain, uint32_t name)
{
    uint64_t stamp;
    struct ss_thread *thread = ss_event_enter(SS_RING_GATE_RANGES, &stamp);
    if (thread != NULL) {
        ss_event_write_value(thread, stamp, ss_ring_head_word(SS_RING_BEGIN, 1, domain, 0, name),
                             id, SS_RING_VALUE_UNSIGNED);
    }
    return thread != NULL;
}

/* The same with a new id. 0: not recorded. */
static inline uint64_t ss_event_begin(uint32_t domain, uint32_t name, struct ss_event_value value)
{
    uint64_t stamp;
    struct ss_thread *thread = ss_event_enter(SS_RING_GATE_RANGES, &stamp);
    if (thread == NULL) {
        return 0;
    }
    struct ss_ring_extra more[2] = {{ss_process_new_id(), SS_RING_VALUE_UNSIGNED},
                                    {value.bits, value.type}};
    uint32_t count = value.type != SS_RING_VALUE_NONE ? 2 : 1;
    ss_ring_write_more(&thread->ring, stamp,
                       ss_ring_head_word(SS_RING_BEGIN, count, domain, 0, name), more, count);
    return more[0].value;
}

/* What is known of a collective. */
struct ss_event_collective {
    uint32_t group, datatype;     /* names; datatype 0: unknown */
    uint32_t algorithm, protocol; /* names; 0: unknown */
    enum ss_ring_library library;
    enum ss_ring_direction direction;
    uint32_t reduction; /* enum ss_ring_reduction */
    uint32_t size;      /* ranks of the group */
    int64_t sequence;   /* -1: none */
    int64_t bytes;      /* -1: unknown */
    int64_t root;       /* a rank of the world; -1: none, or unknown */
    uint32_t module;    /* a name: what the data belongs to; 0: unknown */
    bool has_tag;       /* a transfer: root is the partner, sequence its number with this tag */
    uint32_t tag;       /* at most SS_RING_MOST_TAG */
    int64_t self;       /* of a transfer: the process's own rank in the world */
};

static inline uint64_t ss_event_collective_flags(const struct ss_event_collective *collective)
{
    bool has_self =
        collective->has_tag && collective->self >= 0 && collective->self <= SS_RING_MOST_SELF;
    uint64_t above = has_self              ? (uint64_t)collective->self + 1
                     : collective->has_tag ? 0
                                           : collective->module & (SS_RING_MAX_NAMES - 1);
    return above << SS_RING_SELF_SHIFT | (collective->bytes >= 0 ? SS_RING_HAS_BYTES : 0) |
           (collective->has_tag ? SS_RING_HAS_TAG : 0) |
           (collective->module != 0 ? SS_RING_HAS_MODULE : 0) |
           (uint64_t)collective->reduction << SS_RING_REDUCTION_SHIFT;
}

/* As ss_event_begin. */
static inline uint64_t ss_event_begin_collective(uint32_t domain, uint32_t name,
                                                 const struct ss_event_collective *collective)
{
    uint64_t stamp;
    struct ss_thread *thread = ss_event_enter(SS_RING_GATE_RANGES, &stamp);
    if (thread == NULL) {
        return 0;
    }
    bool has_root = collective->root >= 0 && collective->root < UINT16_MAX;
    uint32_t root = has_root ? (uint32_t)collective->root + 1 : 0;
    uint64_t algorithm = collective->has_tag ? collective->tag : collective->algorithm;
    uint64_t protocol = collective->has_tag ? collective->module : collective->protocol;
    struct ss_ring_extra more[3] = {
        {ss_process_new_id(), (collective->datatype & (SS_RING_MAX_NAMES - 1)) |
                                  (uint64_t)collective->library << SS_RING_LIBRARY_SHIFT |
                                  (uint64_t)collective->direction << SS_RING_DIRECTION_SHIFT |
                                  algorithm << 24},
        {(uint64_t)collective->sequence, collective->group | (uint64_t)(collective->size & 0xffffff)
                                                                 << 24},
        {(uint64_t)collective->bytes, ss_event_collective_flags(collective) | protocol << 24}};
    ss_ring_write_more(&thread->ring, stamp,
                       ss_ring_head_word(SS_RING_COLLECTIVE, 3, domain, root, name), more, 3);
    return more[0].value;
}

static inline void ss_event_end(uint64_t id)
{
    uint64_t stamp;
    struct ss_thread *thread = id != 0 ? ss_event_enter(SS_RING_GATE_RANGES, &stamp) : NULL;
    if (thread != NULL) {
        ss_event_write_value(thread, stamp, ss_ring_head_word(SS_RING_END, 1, 0, 0, 0), id, 0);
    }
}

static inline void ss_event_count(uint32_t name, struct ss_event_value value)
{
    uint64_t stamp;
    struct ss_thread *thread = ss_event_enter(SS_RING_GATE_COUNTERS, &stamp);
    if (thread != NULL) {
        ss_event_write_value(thread, stamp, ss_ring_head_word(SS_RING_COUNT, 1, 0, 0, name),
                             value.bits, value.type);
    }
}

static inline void ss_event_fact(uint32_t key, struct ss_event_value value)
{
    uint64_t stamp;
    struct ss_thread *thread = ss_event_enter(SS_RING_GATE_ALL, &stamp);
    if (thread != NULL) {
        ss_event_write_value(thread, stamp, ss_ring_head_word(SS_RING_FACT, 1, 0, 0, key),
                             value.bits, value.type);
    }
}

/* The name of thread `tid` of this process. */
static inline void ss_event_thread_name(int32_t tid, uint32_t name)
{
    uint64_t stamp;
    struct ss_thread *thread = ss_event_enter(SS_RING_GATE_ALL, &stamp);
    if (thread == NULL) {
        return;
    }
    if (atomic_load_explicit(&thread->ring.thread->tid, memory_order_relaxed) == tid) {
        ss_ring_write(&thread->ring, stamp, ss_ring_head_word(SS_RING_THREAD_NAME, 0, 0, 0, name));
    } else {
        ss_event_write_value(thread, stamp, ss_ring_head_word(SS_RING_THREAD_NAME, 1, 0, 0, name),
                             (uint32_t)tid, SS_RING_VALUE_SIGNED);
    }
}

/* --- events with an earlier timestamp -------------------------------------------------------- */

/* `then`: an earlier value of ss_stamp_now. */
static inline void ss_event_mark_at(uint64_t then, uint32_t domain, uint32_t name,
                                    struct ss_event_value value)
{
    uint64_t stamp;
    struct ss_thread *thread = ss_event_enter(SS_RING_GATE_MARKS, &stamp);
    if (thread != NULL) {
        struct ss_ring_extra more[2] = {{value.bits, value.type}, {then, 0}};
        uint32_t skipped = value.type == SS_RING_VALUE_NONE;
        ss_ring_write_more(
            &thread->ring, stamp,
            ss_ring_head_word(SS_RING_MARK, 2 - skipped, domain, SS_RING_OWN_TIME, name),
            more + skipped, 2 - skipped);
    }
}

/* Ends a range of ss_event_begin. */
static inline void ss_event_end_at(uint64_t then, uint64_t id)
{
    uint64_t stamp;
    struct ss_thread *thread = id != 0 ? ss_event_enter(SS_RING_GATE_RANGES, &stamp) : NULL;
    if (thread != NULL) {
        struct ss_ring_extra more[2] = {{id, SS_RING_VALUE_UNSIGNED}, {then, 0}};
        ss_ring_write_more(&thread->ring, stamp,
                           ss_ring_head_word(SS_RING_END, 2, 0, SS_RING_OWN_TIME, 0), more, 2);
    }
}

/* A complete range. */
static inline void ss_event_range_at(uint64_t begin, uint64_t end, uint32_t domain, uint32_t name,
                                     struct ss_event_value value)
{
    uint64_t stamp;
    struct ss_thread *thread = ss_event_enter(SS_RING_GATE_RANGES, &stamp);
    if (thread == NULL) {
        return;
    }
    struct ss_ring_extra more[3] = {
        {ss_process_new_id(), SS_RING_VALUE_UNSIGNED}, {value.bits, value.type}, {begin, 0}};
    uint32_t count = value.type != SS_RING_VALUE_NONE ? 3 : 2;
    more[count - 1] = more[2];
    ss_ring_write_more(&thread->ring, stamp,
                       ss_ring_head_word(SS_RING_BEGIN, count, domain, SS_RING_OWN_TIME, name),
                       more, count);
    more[1] = (struct ss_ring_extra){end, 0};
    ss_ring_write_more(&thread->ring, stamp,
                       ss_ring_head_word(SS_RING_END, 2, domain, SS_RING_OWN_TIME, 0), more, 2);
}

static inline void ss_event_count_at(uint64_t then, uint32_t name, struct ss_event_value value)
{
    uint64_t stamp;
    struct ss_thread *thread = ss_event_enter(SS_RING_GATE_COUNTERS, &stamp);
    if (thread != NULL) {
        struct ss_ring_extra more[2] = {{value.bits, value.type}, {then, 0}};
        ss_ring_write_more(&thread->ring, stamp,
                           ss_ring_head_word(SS_RING_COUNT, 2, 0, SS_RING_OWN_TIME, name), more, 2);
    }
}

#endif
