/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layout of the memory that a program and its recorder share: one file per process, written by the
 * program's runtime (annot/), read by the recorder (source/). Both run on one machine; the recorder
 * checks the version before it reads anything else.
 *
 *     0           header: one page; the gate that the program tests, and the recorder's request
 *     4096        directory: offsets of the threads' rings
 *     64 KiB      definitions: names, domains, styles, counters; append-only
 *     8 MiB …     segments: one per thread, 4096 bytes of control and live stack, then the slots.
 *                 Each begins at a multiple of 64 KiB, the largest page of Linux (aarch64)
 *
 * The file is sparse. The program allocates pages before it touches them, so that a full tmpfs
 * causes a counted drop and never a SIGBUS. The recorder trusts nothing: it checks each offset,
 * size, index and length at each use, on a copy.
 *
 * Every field has one writer. Words that the other side reads are atomic. A word that "publishes"
 * data is written by a release store, which pairs with the reader's acquire load of that word.
 */
#ifndef SS_RING_LAYOUT_H
#define SS_RING_LAYOUT_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define SS_RING_MAGIC UINT64_C(0x31474e4952535353) /* "SSSRING1" */

enum {
    SS_RING_VERSION = 2,
    SS_RING_BYTE_ORDER = 0x01020304,
    SS_RING_PAGE_BYTES = 4096,
    SS_RING_LINE_BYTES = 64,

    SS_RING_DIRECTORY_AT = 4096,
    SS_RING_MAX_THREADS = 2048, /* rings; a ring is reused when its thread has ended */
    SS_RING_DEFINITIONS_AT = 65536,
    SS_RING_DEFINITIONS_BYTES = 4 << 20,
    SS_RING_DEFINITIONS_CHUNK_BYTES = 65536, /* allocated at a time */
    SS_RING_SEGMENTS_AT = 8 << 20,
    SS_RING_SEGMENTS_ALIGN = 65536,

    SS_RING_MIN_SLOTS_LOG2 = 6,
    SS_RING_MAX_SLOTS_LOG2 = 24,
    SS_RING_DEFAULT_SLOTS_LOG2 = 16, /* 1 MiB: 65 ms at a million records per second */

    SS_RING_DEFAULT_HEARTBEAT_TIMEOUT_MS = 10000,

    SS_RING_LIVE_DEPTH = 64, /* deeper ranges are recorded, but samples do not contain them */
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
 * FOLDER/PID.STARTTIME.N.ring; N starts at 0 and increases with each exec. The folder of a
 * recording also contains "recorder": one page, a header in which only the recorder's line is
 * filled; a starting program copies that line. Beside the ring file: PID.STARTTIME.N.sealed, the
 * recorder's notices to the program (ring/sealed.h), and PID.STARTTIME.N.NUMBER.torch, results of
 * torch.profiler from the program to the recorder (source/torch_profile.h). */

#define SS_RING_RECORDER_FILE "recorder"
#define SS_RING_FILE_SUFFIX ".ring"
#define SS_RING_SEALED_SUFFIX ".sealed"
#define SS_RING_TORCH_SUFFIX ".torch"

/* --- header ---------------------------------------------------------------------------------- */

/* Bits of the gate. The bits above them count the recordings of this process: a thread that reads a
 * new count discards its open ranges. */
enum {
    SS_RING_GATE_RANGES = 1,
    SS_RING_GATE_COUNTERS = 2,
    SS_RING_GATE_MARKS = 4,
    SS_RING_GATE_ALL = 7,
    SS_RING_GATE_RECORDING = 256 /* add this for the next recording */
};

/* In the order of the levels of `record --gpu`. */
enum ss_ring_devices {
    SS_RING_DEVICES_UNSAID, /* as by default */
    SS_RING_DEVICES_OFF,
    SS_RING_DEVICES_LIGHT,
    SS_RING_DEVICES_DEFAULT,
    SS_RING_DEVICES_FULL
};

enum ss_ring_capture {
    SS_RING_NO_CAPTURE, /* none, or the program opens them */
    SS_RING_CAPTURE_CLOSED,
    SS_RING_CAPTURE_OPEN
};

enum ss_ring_mode {
    SS_RING_DROP_NEWEST, /* a full ring drops the new record and counts it */
    SS_RING_OVERWRITE    /* a full ring overwrites the oldest record (flight recorder) */
};

/* The current value of a fact about the program, for a recorder that attaches later. `key` is
 * written once and publishes the rest; `type`, which is NONE during an update, publishes a new
 * value and counts it. */
struct ss_ring_fact {
    _Atomic uint64_t value;
    _Atomic uint32_t key;  /* a name; 0: free, like all entries after it */
    _Atomic uint32_t type; /* changes << 8 | enum ss_ring_value */
};

/* --- windows on demand ------------------------------------------------------------------------
 * The recorder asks for windows by numbers of steps; the program answers as it marks its next step
 * (annot/demands.h). An entry is reused once its answer is read and its steps are over. */

enum { SS_RING_DEMANDS = 8 };

/* Written by the recorder. `number` publishes the rest. */
struct ss_ring_demand {
    _Atomic int64_t first, last; /* steps, both included */
    _Atomic uint32_t number;     /* 0: none yet; else never repeated by this recorder */
};

enum ss_ring_demand_answer {
    SS_RING_DEMAND_PENDING,
    SS_RING_DEMAND_ARMED,
    SS_RING_DEMAND_LATE,    /* `first` had begun already */
    SS_RING_DEMAND_REFUSED, /* the program has a schedule of its own, or none */
    SS_RING_DEMAND_ANSWERS
};

static inline uint64_t ss_ring_demand_answer(uint32_t number, enum ss_ring_demand_answer answer)
{
    return (uint64_t)number << 8 | answer;
}

struct ss_ring_header {
    /* Written by the program, once. `magic` publishes the rest of the line. */
    alignas(SS_RING_LINE_BYTES) _Atomic uint64_t magic;
    uint32_t version;
    uint32_t byte_order;
    uint32_t clock; /* enum ss_ring_clock */
    int32_t pid;    /* in the program's own pid namespace */
    int32_t parent_pid;
    uint32_t generation; /* 0: the program; 1: a child forked from it; 2: a child of that… */
    uint64_t start_time_ticks;
    uint64_t created_ns; /* CLOCK_MONOTONIC */

    /* Written by the recorder. The program clears `gate` when the heartbeat stops. */
    alignas(SS_RING_LINE_BYTES) _Atomic uint32_t gate;
    _Atomic uint32_t mode;       /* enum ss_ring_mode; set before the gate opens */
    _Atomic uint32_t slots_log2; /* of new rings; 0: the default */
    _Atomic int32_t recorder_pid;
    _Atomic uint64_t heartbeat_ns;         /* CLOCK_MONOTONIC, updated at least once a second */
    _Atomic uint32_t heartbeat_timeout_ms; /* heartbeat timeout; 0: the default */
    _Atomic uint32_t flush_done;           /* flush requests for which all data is written */
    _Atomic uint64_t room_bytes;           /* free on its file system, about; 0: unknown */
    _Atomic uint32_t is_ending;            /* the recording is about to end; see arms_devices */
    _Atomic uint32_t device_level;         /* what is recorded of devices: enum ss_ring_devices */
    _Atomic uint32_t capture;  /* of windows that the recorder opens: enum ss_ring_capture */
    _Atomic uint32_t confined; /* the program has set a seccomp filter: see annot/process.c */

    /* Written by the program, rarely. */
    alignas(SS_RING_LINE_BYTES) _Atomic uint32_t thread_count; /* publishes directory entries */
    _Atomic uint32_t definition_bytes;                         /* publishes definitions */
    _Atomic uint64_t dropped;    /* by threads without a ring: no space, or exiting */
    _Atomic uint64_t lost_names; /* definitions for which there was no space */
    _Atomic uint32_t orphaned;   /* how often the program closed the gate itself */
    /* Only in the recorder's page: processes without a ring file, which record nothing. */
    _Atomic uint32_t unbuffered_processes;
    /* It has its own devices recorded (inject/cupti/arming.h): 1: and ends that itself, before the
     * recording; 2: and ends that when `is_ending` is set. 0: no, or no more. */
    _Atomic uint32_t arms_devices;

    /* Written by the program: state of the whole process. Read by the sampler. */
    alignas(SS_RING_LINE_BYTES) _Atomic int64_t step; /* -1: none */
    _Atomic int64_t epoch;                            /* -1: none */
    _Atomic uint32_t phase;                           /* name; 0: none */
    _Atomic uint32_t window;                          /* of the schedule; 0: none */
    _Atomic uint32_t action;                          /* of the schedule, now */
    _Atomic uint32_t steps;                           /* complete steps, counted by the schedule */
    _Atomic uint32_t most_steps;                      /* of the longest epoch or run */
    _Atomic uint32_t scheduled;    /* schedules that the program set itself; 0: none */
    _Atomic int64_t batch;         /* of the epoch, from 0 */
    _Atomic uint32_t flush_wanted; /* flush requests so far; see flush_done */

    /* Written by the program, rarely. */
    alignas(SS_RING_LINE_BYTES) struct ss_ring_fact facts[SS_RING_MAX_FACTS];

    /* Written by the recorder: windows on demand. `demand_count` publishes that one is new. */
    alignas(SS_RING_LINE_BYTES) _Atomic uint32_t demand_count;
    struct ss_ring_demand demands[SS_RING_DEMANDS];

    /* Written by the program: ss_ring_demand_answer of each. */
    alignas(SS_RING_LINE_BYTES) _Atomic uint64_t demand_answers[SS_RING_DEMANDS];
};

/* --- directory ------------------------------------------------------------------------------- */

/* Offset of a segment (a multiple of the page) | log2 of its slots; 0: none. Written once. */
typedef _Atomic uint64_t ss_ring_directory_entry;

#define SS_RING_ENTRY_SLOTS_LOG2(entry) ((uint32_t)((entry) & (SS_RING_PAGE_BYTES - 1)))
#define SS_RING_ENTRY_OFFSET(entry) ((entry) & ~(uint64_t)(SS_RING_PAGE_BYTES - 1))

/* --- segment --------------------------------------------------------------------------------- */

enum ss_ring_thread_state {
    SS_RING_FREE,   /* set by the recorder when a closed ring is drained */
    SS_RING_OPEN,   /* set by the program */
    SS_RING_CLOSED, /* set by the program: the thread has ended */
    SS_RING_CLAIMED /* set by the program: from FREE; its next owner is not known yet */
};

/* An open range, for the sampler. */
struct ss_ring_live {
    _Atomic uint64_t stamp;
    _Atomic uint64_t name_domain; /* name << 8 | domain */
};

struct ss_ring_thread {
    /* Written by the owning thread. `head` counts slots since the ring was created and publishes
     * them; records produced = head - continuation_slots. */
    alignas(SS_RING_LINE_BYTES) _Atomic uint64_t head;
    _Atomic uint64_t continuation_slots;
    _Atomic uint64_t dropped;   /* records that found the ring full */
    _Atomic uint64_t unmatched; /* pops without a push */
    /* changes << 16 | depth; publishes stack[0 … depth). A reader loads it, copies the stack and
     * loads it again: equal words mean a consistent copy. */
    _Atomic uint64_t live;
    _Atomic uint32_t phase; /* name; 0: the phase of the process */

    /* Written by the recorder: slots consumed. */
    alignas(SS_RING_LINE_BYTES) _Atomic uint64_t tail;

    /* `state` publishes the line. */
    alignas(SS_RING_LINE_BYTES) _Atomic uint32_t state; /* enum ss_ring_thread_state */
    _Atomic int32_t tid;
    _Atomic uint32_t owner; /* number of threads that have owned this ring */

    alignas(SS_RING_LINE_BYTES) struct ss_ring_live stack[SS_RING_LIVE_DEPTH];
};
_Static_assert(sizeof(struct ss_ring_thread) <= SS_RING_PAGE_BYTES, "control fits its page");
_Static_assert(sizeof(struct ss_ring_header) <= SS_RING_PAGE_BYTES, "the header fits its page");

/* A record is a head slot and up to three continuation slots.
 *   head slot          word0 = stamp
 *                      word1 = name 24 | detail 16 | domain 8 | lap 8 | continuations 2 | type 6
 *   continuation slot  word0 = value
 *                      word1 = extra 48 | lap 8 | continuations 2 (0) | type 6 (CONTINUATION)
 * lap = low 8 bits of (slot number >> slots_log2) + 1: an unwritten slot still has the lap of its
 * previous content. word1 is written last. */
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
                       A second continuation: value batch of the epoch, extra the window that ends
                       now, if a thread that may not have begun it ends it; 0 */
    SS_RING_THREAD_NAME, /* name: of this thread, or of the thread whose id is the value */
    SS_RING_FACT,        /* name: key; value, extra its type (a fact of the process) */
    SS_RING_LINE, /* name: of a function; value: ticks spent on one of its lines since the previous
                     record, extra the line; a second continuation: value hits */
    SS_RING_COLLECTIVE, /* a BEGIN of a collective, or of a transfer between two ranks. detail:
                           rank of the root or the partner, plus one; 0: none. Value id, extra the
                           datatype, enum ss_ring_library << 16, enum ss_ring_direction << 18, and
                           the algorithm << 24, names; then value number in the group,
                           or among the transfers of its ranks and tag, -1: none, extra the name of
                           the group, and its size << 24; then value bytes, extra flags (enum
                           ss_ring_collective), and the protocol << 24, a name */
    SS_RING_TYPE_COUNT,
    SS_RING_CONTINUATION = 63
};

enum ss_ring_collective {
    SS_RING_HAS_BYTES = 1,
    SS_RING_HAS_TAG = 2,    /* it is a transfer: the place of the algorithm has its tag */
    SS_RING_HAS_MODULE = 4, /* of a transfer, the place of the protocol has what its data belongs
                               to, a name; of a collective, the place of the own rank */
    SS_RING_REDUCTION_SHIFT = 3, /* enum ss_ring_reduction, of 3 bits */
    SS_RING_SELF_SHIFT = 8,      /* of a transfer: the process's own rank, plus one; 0: unknown */
    SS_RING_MOST_TAG = 0xffffff,
    SS_RING_MOST_SELF = 0xfffe
};

/* Whose a collective is. */
enum ss_ring_library { SS_RING_OTHER_LIBRARY, SS_RING_NCCL, SS_RING_MPI, SS_RING_GLOO };
enum ss_ring_direction {
    SS_RING_OF_ALL, /* ranks of its group */
    SS_RING_SENDS,  /* to one partner */
    SS_RING_RECEIVES,
    SS_RING_OF_TWO /* with one partner, in any direction */
};
enum { SS_RING_LIBRARY_SHIFT = 16, SS_RING_DIRECTION_SHIFT = 18 };

/* What a collective makes of the ranks' values. */
enum ss_ring_reduction {
    SS_RING_NO_REDUCTION, /* none, or not known */
    SS_RING_SUM,
    SS_RING_PRODUCT,
    SS_RING_MAX,
    SS_RING_MIN,
    SS_RING_AVERAGE,
    SS_RING_REDUCTIONS
};

enum {
    SS_RING_STEP_OVERRULES = 1 /* the program's first explicit step, after automatic steps */
};

/* In the detail of MARK, BEGIN, END and COUNT: the event happened before it was written; one more
 * continuation, the last, contains its stamp. */
enum { SS_RING_OWN_TIME = 0x8000 };

/* Actions of WINDOW, as those of schedules (annot/schedule.h). */
enum { SS_RING_SKIPS = 0, SS_RING_RECORDS = 2 };

enum { SS_RING_WINDOW_ACTION = 0xff, SS_RING_WINDOW_CUT = 0x100 /* the ending window was cut */ };

/* Types of payloads and values, in `extra` of their continuation. */
enum ss_ring_value {
    SS_RING_VALUE_NONE,
    SS_RING_VALUE_UNSIGNED,
    SS_RING_VALUE_SIGNED,
    SS_RING_VALUE_DOUBLE, /* the bits of a double */
    SS_RING_VALUE_NAME,   /* a name */
    SS_RING_VALUE_FLOW,   /* of PUSH: the id of a flow that starts in the range, not a payload */
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
    SS_RING_DEFINE_NAME = 1, /* a: its id, the previous id + 1; text */
    SS_RING_DEFINE_DOMAIN,   /* a: its id, the previous id + 1; text */
    SS_RING_DEFINE_STYLE,    /* a: name; b: 0xAARRGGBB, 0 none; c: category, a name, 0 none; d: kind
                                of its events, enum ss_event_type */
    SS_RING_DEFINE_COUNTER,  /* a: name; b: unit, a name; c: enum ss_ring_counter; d: what it
                                measures, enum ss_quantity */
    SS_RING_DEFINE_FUNCTION, /* as NAME, of the function that begins at line c of the file
                                named b */
    SS_RING_DEFINE_KIND_COUNT
};

enum ss_ring_counter { SS_RING_GAUGE, SS_RING_DELTA, SS_RING_CUMULATIVE, SS_RING_COUNTER_COUNT };

/* Followed by `length` bytes of text, padded to 8. */
struct ss_ring_definition {
    uint32_t kind;
    uint32_t length;
    uint32_t a, b, c, d;
};

static inline size_t ss_ring_definition_bytes(size_t length)
{
    return sizeof(struct ss_ring_definition) + ((length + 7) & ~(size_t)7);
}

#endif
