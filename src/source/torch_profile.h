/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events of torch.profiler for a few steps, from the file that the program writes beside its ring
 * (python/stepscope/_torch_profiler.py), and their conversion to nested ranges.
 *
 *     magic, 8 bytes
 *     16 numbers             the members of struct ss_torch_profile_head, in their order
 *     `texts` numbers        the length of each text
 *     the texts, UTF-8
 *     `events` × 8 numbers   the members of struct ss_torch_event, in their order
 *     magic                  again, marks a complete file
 *
 * Numbers are int64 in host byte order. Times are CLOCK_REALTIME in ns, as from torch; two readings
 * of both CLOCK_REALTIME and CLOCK_MONOTONIC, at start and stop of the profiler, define the
 * conversion. Input is hostile: sizes are checked, no value is trusted. Pure.
 */
#ifndef SS_SOURCE_TORCH_PROFILE_H
#define SS_SOURCE_TORCH_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/strview.h"

enum { SS_TORCH_PROFILE_VERSION = 1, SS_TORCH_PROFILE_MAX_BYTES = 256 << 20 };

struct ss_torch_profile_head {
    int64_t version;
    int64_t first_step, last_step; /* observed from begin to end */
    int64_t window;                /* of the schedule; 0: none */
    int64_t real_begin_ns, monotonic_begin_ns;
    int64_t real_end_ns, monotonic_end_ns;
    int64_t pause_ns;   /* duration of the stop and of writing this file */
    int64_t events;     /* in this file */
    int64_t texts;      /* in this file */
    int64_t left_out;   /* events above the limit */
    int64_t reason;     /* text: why it did not run to the end of its steps; 0: it did */
    int64_t details;    /* text: the requested details, "shapes, memory" */
    int64_t is_instead; /* not requested: the fallback for recording operators */
    int64_t unused;
};

enum ss_torch_kind {
    SS_TORCH_OPERATOR,
    SS_TORCH_BACKWARD,
    SS_TORCH_SCOPE,        /* record_function */
    SS_TORCH_RUNTIME,      /* a call of the device runtime */
    SS_TORCH_DEVICE,       /* on the device: a kernel, a copy */
    SS_TORCH_MEMORY,       /* an instant: memory was allocated or freed */
    SS_TORCH_DEVICE_SCOPE, /* on the device: the extent of a scope's work */
    SS_TORCH_KINDS
};

struct ss_torch_event {
    int64_t kind;
    int64_t name;    /* text, from 1 */
    int64_t details; /* text, from 1: members of a JSON object; 0: none */
    int64_t lane;    /* thread id; on the device: the stream */
    int64_t begin_ns, duration_ns;
    int64_t device; /* on the device: its number; SS_TORCH_MEMORY: 0 is the CPU */
    /* SS_TORCH_MEMORY: allocated bytes, negative: freed. Up to SS_TORCH_SCOPE: the id shared by a
     * forward operator and its backward node, negative: none. SS_TORCH_RUNTIME and SS_TORCH_DEVICE:
     * the id shared by a launch and the work that it submits; 0 or negative: none. */
    int64_t number;
};

struct ss_torch_profile {
    struct ss_torch_profile_head head;
    const uint8_t *events; /* borrowed */
    const char *texts;     /* borrowed */
    uint64_t *text_ends;   /* texts + 1 entries, the first is 0 */
};

/* `data` is borrowed and must outlive the profile. Nothing to free on failure. */
enum ss_status ss_torch_profile_read(const void *data, size_t size,
                                     struct ss_torch_profile *profile, struct ss_error *err);
void ss_torch_profile_fini(struct ss_torch_profile *profile);
/* "" for 0 and for an invalid number. */
struct ss_strview ss_torch_profile_text(const struct ss_torch_profile *profile, int64_t text);
/* Converts a torch time to CLOCK_MONOTONIC; 0 for a time before its zero. */
uint64_t ss_torch_profile_monotonic(const struct ss_torch_profile *profile, int64_t real_ns);

/* Sorted by lane: threads, then streams. In a lane by begin, outer ranges first; they nest. */
struct ss_torch_range {
    uint64_t begin_ns, end_ns; /* CLOCK_MONOTONIC */
    int64_t lane, device;
    int64_t cpu_bytes, device_bytes; /* allocated - freed while open, on its thread */
    int64_t name, details;
    int64_t sequence;     /* shared by forward operator and backward node; negative: none */
    uint64_t correlation; /* shared by a launch and the work that it submits; 0: none */
    enum ss_torch_kind kind;
};

static inline bool ss_torch_range_is_on_device(const struct ss_torch_range *range)
{
    return range->kind == SS_TORCH_DEVICE || range->kind == SS_TORCH_DEVICE_SCOPE;
}

struct ss_torch_ranges {
    struct ss_torch_range *data;
    size_t count;
    bool has_memory;
};

void ss_torch_ranges_init(struct ss_torch_ranges *ranges, const struct ss_torch_profile *profile);
void ss_torch_ranges_fini(struct ss_torch_ranges *ranges);

#endif
