/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The profiler interface of NCCL (2.23 and later), versions 1 to 5, as far as it is needed here: a
 * plugin exports a table for each version, of which NCCL takes the newest that it knows. NCCL's own
 * headers are not needed to build. tests/e2e/test_nccl_layout.py compares these declarations with
 * them.
 */
#ifndef SS_INJECT_NCCL_NCCL_ABI_H
#define SS_INJECT_NCCL_NCCL_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SS_NCCL_OK = 0, SS_NCCL_REFUSED = 3 /* an internal error: NCCL runs without a plugin */ };

enum ss_nccl_event_kind {
    SS_NCCL_GROUP = 1 << 0,
    SS_NCCL_COLLECTIVE = 1 << 1,
    SS_NCCL_MESSAGE = 1 << 2,
    SS_NCCL_CHANNEL = 1 << 6 /* the part of a kernel on one channel */
};

enum { SS_NCCL_CHANNEL_STOP = 22 /* a state of SS_NCCL_CHANNEL, with the device's time */ };

struct ss_nccl_coll_v1 {
    const char *comm_name;
    uint64_t comm_hash, number;
    uint8_t function;
    const void *from;
    void *to;
    size_t count;
    int root;
    uint8_t datatype;
    uint32_t reduction;
    size_t traffic_bytes;
    uint8_t channels, warps, algorithm, protocol;
    int is_collnet, is_nvls;
};

struct ss_nccl_coll_v2 {
    const char *comm_name;
    uint64_t comm_hash, number;
    const char *function;
    const void *from;
    void *to;
    size_t count;
    int root;
    const char *datatype;
    size_t traffic_bytes;
    uint8_t channels, warps;
    const char *algorithm, *protocol;
};

struct ss_nccl_coll_v3 {
    const char *comm_name;
    uint64_t comm_hash, number;
    const char *function;
    const void *from;
    void *to;
    size_t count;
    int root;
    const char *datatype;
    uint8_t channels, warps;
    const char *algorithm, *protocol;
};

struct ss_nccl_coll_v4 {
    uint64_t number;
    const char *function;
    const void *from;
    void *to;
    size_t count;
    int root;
    const char *datatype;
    uint8_t channels, warps;
    const char *algorithm, *protocol;
};

struct ss_nccl_message_v1 {
    const char *comm_name;
    uint64_t comm_hash;
    uint8_t function;
    void *memory;
    uint8_t datatype;
    size_t count;
    int peer;
};

struct ss_nccl_message_v2 {
    const char *comm_name;
    uint64_t comm_hash;
    const char *function;
    void *memory;
    const char *datatype;
    size_t count;
    int peer;
};

struct ss_nccl_message_v4 {
    const char *function;
    void *memory;
    const char *datatype;
    size_t count;
    int peer;
    uint8_t channels;
};

struct ss_nccl_channel_v4 {
    uint8_t channel;
    uint64_t timer; /* ns on the device's clock, at its start */
};

/* The union of each version begins at the same place; the kind was a byte up to version 4. */
#define SS_NCCL_DESCRIPTION(version, kind_type, coll_version, message_version)                     \
    struct ss_nccl_description_v##version {                                                        \
        kind_type kind; /* enum ss_nccl_event_kind */                                              \
        void *parent;   /* the handle of the event that it belongs to */                           \
        int rank;                                                                                  \
        union {                                                                                    \
            struct ss_nccl_coll_v##coll_version coll;                                              \
            struct ss_nccl_message_v##message_version message;                                     \
            struct ss_nccl_channel_v4 channel; /* v3: without the timer */                         \
        };                                                                                         \
    }
SS_NCCL_DESCRIPTION(1, uint8_t, 1, 1);
SS_NCCL_DESCRIPTION(2, uint8_t, 2, 2);
SS_NCCL_DESCRIPTION(3, uint8_t, 3, 2);
SS_NCCL_DESCRIPTION(4, uint8_t, 4, 4);
SS_NCCL_DESCRIPTION(5, uint64_t, 4, 4); /* what follows in its unions is not needed */
#undef SS_NCCL_DESCRIPTION

_Static_assert(offsetof(struct ss_nccl_description_v1, coll) == 24, "the same in all versions");
_Static_assert(offsetof(struct ss_nccl_description_v5, coll) == 24, "the same in all versions");

/* Of SS_NCCL_CHANNEL_STOP, in versions 4 and 5. */
struct ss_nccl_state {
    uint64_t timer;
};

struct ss_nccl_calls {
    int (*start)(void *context, void **handle, const void *description);
    int (*stop)(void *handle);
    int (*record_state)(void *handle, int state, const void *values);
    int (*finalize)(void *context);
};

/* Version 1 to 3: `init` gets no communicator; the descriptions name it. */
struct ss_nccl_profiler_v3 {
    const char *name;
    int (*init)(void **context, int *mask);
    struct ss_nccl_calls calls;
};

struct ss_nccl_profiler_v4 {
    const char *name;
    int (*init)(void **context, int *mask, const char *comm_name, uint64_t comm_hash, int nodes,
                int ranks, int rank, void *log);
    struct ss_nccl_calls calls;
};

struct ss_nccl_profiler_v5 {
    const char *name;
    int (*init)(void **context, uint64_t comm_hash, int *mask, const char *comm_name, int nodes,
                int ranks, int rank, void *log);
    struct ss_nccl_calls calls;
};

#endif
