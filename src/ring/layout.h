/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory that a program and its recorder share: one file per process, written by the program's
 * runtime (annot/), read by the recorder (source/). Both sides are of one machine; the version is
 * checked before anything else is believed.
 *
 *     0           header: one page; the gate that the program tests, and what the recorder asks for
 *     4096        directory: where the rings of the threads are
 *     64 KiB      definitions: names, domains, styles, counters; only ever appended to
 *     8 MiB …     segments: one per thread, a page of control and live stack, then the slots
 *
 * The file is sparse. Whatever the program touches was allocated before, so that a full tmpfs costs
 * a counted drop and never a SIGBUS. The recorder believes nothing: each offset, size, index and
 * length is checked at each use, on a copy.
 *
 * Every field has one writer. Words that the other side reads are atomic; a release store in the
 * comment's "publishes" pairs with the reader's acquire load of the same word.
 */
#ifndef SS_RING_LAYOUT_H
#define SS_RING_LAYOUT_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define SS_RING_MAGIC UINT64_C(0x31474e4952535353) /* "SSSRING1" */

enum {
    SS_RING_VERSION = 1,
    SS_RING_BYTE_ORDER = 0x01020304,
    SS_RING_PAGE_BYTES = 4096,
    SS_RING_LINE_BYTES = 64,

    SS_RING_DIRECTORY_AT = 4096,
    SS_RING_MAX_THREADS = 2048, /* rings; those of ended threads are used again */
    SS_RING_DEFINITIONS_AT = 65536,
    SS_RING_DEFINITIONS_BYTES = 4 << 20,
    SS_RING_DEFINITIONS_CHUNK_BYTES = 65536, /* allocated at a time */
    SS_RING_SEGMENTS_AT = 8 << 20,

    SS_RING_MIN_SLOTS_LOG2 = 6,
    SS_RING_MAX_SLOTS_LOG2 = 24,
    SS_RING_DEFAULT_SLOTS_LOG2 = 16, /* 1 MiB: 65 ms of a million records a second */

    SS_RING_DEFAULT_PATIENCE_MS = 10000,

    SS_RING_LIVE_DEPTH = 64, /* deeper ranges are recorded, but a sample does not see them */
    SS_RING_MAX_NAMES = 1 << 16,
    SS_RING_MAX_DOMAINS = 256,
    SS_RING_MAX_TEXT_BYTES = 1023,
    SS_RING_MAX_FACTS = 128
};

enum ss_ring_clock {
    SS_RING_CLOCK_MONOTONIC, /* stamps are ns of CLOCK_MONOTONIC */
    SS_RING_CLOCK_TSC        /* stamps are ticks of the invariant TSC; the recorder converts */
};

/* --- names of files --------------------------------------------------------------------------
 * FOLDER/PID.STARTTIME.N.ring, N from 0: one more for each exec. A recording's own folder also
 * holds "recorder": one page, a header of which only the recorder's line is filled; a program that
 * starts takes over what it says. Beside the ring file lies, as PID.STARTTIME.N.sealed, what the
 * recorder tells the program (ring/sealed.h), and as PID.STARTTIME.N.NUMBER.torch what the program
 * leaves for it of torch.profiler (source/torch_profile.h). */

#define SS_RING_RECORDER_FILE "recorder"
#define SS_RING_FILE_SUFFIX ".ring"
#define SS_RING_SEALED_SUFFIX ".sealed"
#define SS_RING_TORCH_SUFFIX ".torch"

/* --- header ---------------------------------------------------------------------------------- */

/* Bits of the gate. The bits above them count the recordings that took this process: a thread that
 * sees another number than before forgets its open ranges. */
enum {
    SS_RING_GATE_RANGES = 1,
    SS_RING_GATE_COUNTERS = 2,
    SS_RING_GATE_MARKS = 4,
    SS_RING_GATE_ALL = 7,
    SS_RING_GATE_RECORDING = 256 /* add this for the next recording */
};

enum ss_ring_mode {
    SS_RING_DROP_NEWEST, /* a full ring refuses, and counts */
    SS_RING_OVERWRITE    /* a full ring forgets the oldest (flight recorder) */
};

/* What the program told of itself last, for who begins to record it later. `key` is written once
 * and publishes the rest; `type`, which says NONE meanwhile, publishes another value. */
struct ss_ring_fact {
    _Atomic uint64_t value;
    _Atomic uint32_t key;  /* a name; 0: none, nor behind it */
    _Atomic uint32_t type; /* enum ss_ring_value */
};

struct ss_ring_header {
    /* The program, once. `magic` publishes the rest of the line. */
    alignas(SS_RING_LINE_BYTES) _Atomic uint64_t magic;
    uint32_t version;
    uint32_t byte_order;
    uint32_t clock; /* enum ss_ring_clock */
    int32_t pid;    /* in the program's own pid namespace */
    int32_t parent_pid;
    uint32_t generation; /* 0: the program; 1: forked from it; 2: from that… */
    uint64_t start_time_ticks;
    uint64_t created_ns; /* CLOCK_MONOTONIC */

    /* The recorder. The program clears `gate` when the heartbeat has stopped. */
    alignas(SS_RING_LINE_BYTES) _Atomic uint32_t gate;
    _Atomic uint32_t mode;       /* enum ss_ring_mode, before the gate opens */
    _Atomic uint32_t slots_log2; /* of rings to come; 0: the default */
    _Atomic int32_t recorder_pid;
    _Atomic uint64_t heartbeat_ns; /* CLOCK_MONOTONIC, once a second at least */
    _Atomic uint32_t patience_ms;  /* without a heartbeat; 0: the default */
    _Atomic uint32_t flush_done;   /* the flush_wanted up to which everything is written */
    _Atomic uint64_t room_bytes;   /* free where the file lies, about; 0: unknown */
    _Atomic uint32_t
        confined; /* the program has set a filter of system calls: see annot/process.c */

    /* The program, rarely. */
    alignas(SS_RING_LINE_BYTES) _Atomic uint32_t thread_count; /* publishes directory entries */
    _Atomic uint32_t definition_bytes;                         /* publishes definitions */
    _Atomic uint64_t dropped;    /* by threads that have no ring: no room, or ending */
    _Atomic uint64_t lost_names; /* definitions that found no room */
    _Atomic uint32_t orphaned;   /* times that the program closed the gate itself */
    /* In the recorder's page alone: processes that could make no file, and record nothing. */
    _Atomic uint32_t homeless;

    /* The program: what the whole process is doing. Read by the sampler. */
    alignas(SS_RING_LINE_BYTES) _Atomic int64_t step; /* -1: none */
    _Atomic int64_t epoch;                            /* -1: none */
    _Atomic uint32_t phase;                           /* name; 0: none */
    _Atomic uint32_t window;                          /* of the schedule; 0: none */
    _Atomic uint32_t action;                          /* of the schedule, now */
    _Atomic uint32_t steps;                           /* whole ones that the schedule has seen */
    _Atomic uint32_t most_steps;                      /* of one epoch, or of the run */
    _Atomic uint32_t scheduled;    /* schedules that the program brought itself; 0: none */
    _Atomic int64_t batch;         /* of the epoch, from 0 */
    _Atomic uint32_t flush_wanted; /* counts what was asked for; see flush_done */

    /* The program, rarely. */
    alignas(SS_RING_LINE_BYTES) struct ss_ring_fact facts[SS_RING_MAX_FACTS];
};

/* --- directory ------------------------------------------------------------------------------- */

/* Offset of a segment (a multiple of the page) | log2 of its slots; 0: none. Written once. */
typedef _Atomic uint64_t ss_ring_directory_entry;

#define SS_RING_ENTRY_SLOTS_LOG2(entry) ((uint32_t)((entry) & (SS_RING_PAGE_BYTES - 1)))
#define SS_RING_ENTRY_OFFSET(entry) ((entry) & ~(uint64_t)(SS_RING_PAGE_BYTES - 1))

/* --- segment --------------------------------------------------------------------------------- */

enum ss_ring_thread_state {
    SS_RING_FREE,  /* by the recorder, when a closed ring is drained */
    SS_RING_OPEN,  /* by the program */
    SS_RING_CLOSED /* by the program: the thread has ended */
};

/* An open range as the sampler sees it. */
struct ss_ring_live {
    _Atomic uint64_t stamp;
    _Atomic uint64_t name_domain; /* name << 8 | domain */
};

struct ss_ring_thread {
    /* The program's thread. `head` counts slots since the ring was made and publishes them; records
     * produced = head - continuation_slots. */
    alignas(SS_RING_LINE_BYTES) _Atomic uint64_t head;
    _Atomic uint64_t continuation_slots;
    _Atomic uint64_t dropped;   /* records that found the ring full */
    _Atomic uint64_t unmatched; /* pops without a push */
    /* changes << 16 | depth; publishes stack[0 … depth): read, copy the stack, read again, and
     * equal words mean that the copy is one state. */
    _Atomic uint64_t live;
    _Atomic uint32_t phase; /* name; 0: that of the process */

    /* The recorder: slots that it is done with. */
    alignas(SS_RING_LINE_BYTES) _Atomic uint64_t tail;

    /* `state` publishes the line. */
    alignas(SS_RING_LINE_BYTES) _Atomic uint32_t state; /* enum ss_ring_thread_state */
    _Atomic int32_t tid;
    _Atomic uint32_t owner; /* counts the threads that had this ring */

    alignas(SS_RING_LINE_BYTES) struct ss_ring_live stack[SS_RING_LIVE_DEPTH];
};
_Static_assert(sizeof(struct ss_ring_thread) <= SS_RING_PAGE_BYTES, "control fits its page");
_Static_assert(sizeof(struct ss_ring_header) <= SS_RING_PAGE_BYTES, "the header fits its page");

/* A record is a head slot and up to three continuation slots.
 *   head slot          word0 = stamp
 *                      word1 = name 24 | detail 16 | domain 8 | lap 8 | continuations 2 | type 6
 *   continuation slot  word0 = value
 *                      word1 = extra 48 | lap 8 | continuations 2 (0) | type 6 (CONTINUATION)
 * lap = (slot number >> slots_log2) + 1, its low 8 bits: a slot that is not written yet says so by
 * the lap of its former content. word1 is written last. */
struct ss_ring_slot {
    _Atomic uint64_t word0;
    _Atomic uint64_t word1;
};

enum ss_ring_type {
    SS_RING_NOTHING, /* never written */
    SS_RING_PUSH,    /* name, domain; detail: depth before. Payload: 1 continuation */
    SS_RING_POP,     /* domain; detail: depth before */
    SS_RING_MARK,    /* name, domain. Payload: 1 continuation */
    SS_RING_BEGIN,   /* name, domain; value id. Payload: a second continuation */
    SS_RING_END,     /* value id */
    SS_RING_FLOW,    /* detail: 0 start, 1 step, 2 end; value id */
    SS_RING_COUNT,   /* name; value, extra its type */
    SS_RING_STEP,    /* value: the step that begins now. detail: SS_RING_STEP_… */
    SS_RING_EPOCH,   /* value: the epoch that begins now */
    SS_RING_PHASE,   /* name: the phase that begins now; 0: none */
    SS_RING_WINDOW, /* detail: action that begins now (SS_RING_WINDOW_…); value step, extra window.
                       A second continuation: value batch of the epoch */
    SS_RING_THREAD_NAME, /* name: of this thread, or of the one whose id is the value */
    SS_RING_FACT,        /* name: key; value, extra its type (a fact of the process) */
    SS_RING_LINE, /* name: of a function; value: ticks spent on one of its lines since the record
                     before, extra the line; a second continuation: value hits */
    SS_RING_TYPE_COUNT,
    SS_RING_CONTINUATION = 63
};

enum {
    SS_RING_STEP_OVERRULES = 1 /* the first of the program's own, behind some that were found */
};

/* In the detail of MARK, BEGIN, END and COUNT: what is told happened before; one more continuation,
 * the last, has its stamp. */
enum { SS_RING_OWN_TIME = 0x8000 };

enum { SS_RING_WINDOW_ACTION = 0xff, SS_RING_WINDOW_CUT = 0x100 /* the one that ends was cut */ };

/* Types of payloads and values: in `extra` of their continuation. */
enum ss_ring_value {
    SS_RING_VALUE_NONE,
    SS_RING_VALUE_UNSIGNED,
    SS_RING_VALUE_SIGNED,
    SS_RING_VALUE_DOUBLE, /* the bits of a double */
    SS_RING_VALUE_NAME,   /* a name */
    SS_RING_VALUE_FLOW,   /* of PUSH: no payload, but the id of a flow that starts in the range */
    SS_RING_VALUE_COUNT
};

enum { SS_RING_MAX_CONTINUATIONS = 3 };

static inline uint64_t ss_ring_head_word(enum ss_ring_type type, uint32_t continuations,
                                         uint32_t domain, uint32_t detail, uint32_t name)
{
    return (uint64_t)type | (uint64_t)continuations << 6 | (uint64_t)(domain & 0xff) << 16 |
           (uint64_t)(detail & 0xffff) << 24 | (uint64_t)name << 40;
}

static inline uint64_t ss_ring_lap_bits(uint64_t slot_number, uint32_t slots_log2)
{
    return (((slot_number >> slots_log2) + 1) & 0xff) << 8;
}

/* --- definitions ----------------------------------------------------------------------------- */

enum ss_ring_definition_kind {
    SS_RING_DEFINE_NAME = 1, /* a: its id, one more than the last; text */
    SS_RING_DEFINE_DOMAIN,   /* a: its id, one more than the last; text */
    SS_RING_DEFINE_STYLE,    /* a: name; b: 0xAARRGGBB, 0 none; c: category, a name, 0 none */
    SS_RING_DEFINE_COUNTER,  /* a: name; b: unit, a name; c: enum ss_ring_counter */
    SS_RING_DEFINE_FUNCTION, /* a name, as NAME, of the function that begins in line c of the file
                                whose name is b */
    SS_RING_DEFINE_KIND_COUNT
};

enum ss_ring_counter { SS_RING_GAUGE, SS_RING_DELTA, SS_RING_CUMULATIVE, SS_RING_COUNTER_COUNT };

/* Followed by `length` bytes of text, padded to 8. */
struct ss_ring_definition {
    uint32_t kind;
    uint32_t length;
    uint32_t a, b, c;
    uint32_t reserved;
};

static inline size_t ss_ring_definition_bytes(size_t length)
{
    return sizeof(struct ss_ring_definition) + ((length + 7) & ~(size_t)7);
}

#endif
