/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What torch.profiler saw of a few steps, as the program leaves it in a file beside its ring
 * (python/stepscope/_torch_profiler.py), and the nested ranges that it amounts to.
 *
 *     magic, 8 bytes
 *     16 numbers             the members of struct ss_torch_profile_head, in their order
 *     `texts` numbers        the length of each text
 *     the texts, UTF-8
 *     `events` × 8 numbers   the members of struct ss_torch_event, in their order
 *     magic                  again: it is whole
 *
 * Numbers are int64 of the machine. Times are those of torch, CLOCK_REALTIME in ns; two readings of
 * it beside CLOCK_MONOTONIC, one when the profiler was started and one when it was stopped, say
 * how to convert them. Input is hostile: sizes are checked, nothing is believed. Pure.
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
    int64_t first_step, last_step; /* seen from begin to end */
    int64_t window;                /* of the schedule; 0: none */
    int64_t real_begin_ns, monotonic_begin_ns;
    int64_t real_end_ns, monotonic_end_ns;
    int64_t pause_ns;   /* that it took to stop and to write this */
    int64_t events;     /* in this file */
    int64_t texts;      /* in this file */
    int64_t left_out;   /* events that were too many */
    int64_t reason;     /* text: why it did not run, or not to the end of its steps; 0: it did */
    int64_t details;    /* text: what was asked for, "shapes, memory" */
    int64_t is_instead; /* nobody asked for it: operators cannot be recorded otherwise */
    int64_t unused;
};

enum ss_torch_kind {
    SS_TORCH_OPERATOR,
    SS_TORCH_BACKWARD,
    SS_TORCH_SCOPE,   /* record_function */
    SS_TORCH_RUNTIME, /* a call of the device's runtime */
    SS_TORCH_DEVICE,  /* on the device: a kernel, a copy */
    SS_TORCH_MEMORY,  /* an instant: memory was allocated or freed */
    SS_TORCH_KINDS
};

struct ss_torch_event {
    int64_t kind;
    int64_t name;    /* text, from 1 */
    int64_t details; /* text, from 1: members of a JSON object; 0: none */
    int64_t lane;    /* thread id; SS_TORCH_DEVICE: the stream */
    int64_t begin_ns, duration_ns;
    int64_t device; /* SS_TORCH_DEVICE: its number; SS_TORCH_MEMORY: 0 is the CPU */
    /* SS_TORCH_MEMORY: bytes that were allocated, below 0 freed. Up to SS_TORCH_SCOPE: what a
     * forward operator and the node of its backward have in common, below 0 nothing. */
    int64_t number;
};

struct ss_torch_profile {
    struct ss_torch_profile_head head;
    const uint8_t *events; /* borrowed */
    const char *texts;     /* borrowed */
    uint64_t *text_ends;   /* texts + 1 of them, from 0 */
};

/* `data` is borrowed and must outlive the profile. On failure there is nothing to free. */
enum ss_status ss_torch_profile_read(const void *data, size_t size,
                                     struct ss_torch_profile *profile, struct ss_error *err);
void ss_torch_profile_fini(struct ss_torch_profile *profile);
/* "" for 0 and for what is not there. */
struct ss_strview ss_torch_profile_text(const struct ss_torch_profile *profile, int64_t text);
/* A time of torch's as CLOCK_MONOTONIC; 0 for one before that. */
uint64_t ss_torch_profile_monotonic(const struct ss_torch_profile *profile, int64_t real_ns);

/* Ranges, by lane: threads first, then streams. In a lane by begin, outer ones first; they nest. */
struct ss_torch_range {
    uint64_t begin_ns, end_ns; /* CLOCK_MONOTONIC */
    int64_t lane, device;
    int64_t cpu_bytes, device_bytes; /* allocated less freed while it was open, on its thread */
    int64_t name, details;
    int64_t sequence; /* a forward operator's and its node's; below 0: none */
    enum ss_torch_kind kind;
};

struct ss_torch_ranges {
    struct ss_torch_range *data;
    size_t count;
    bool has_memory;
};

void ss_torch_ranges_init(struct ss_torch_ranges *ranges, const struct ss_torch_profile *profile);
void ss_torch_ranges_fini(struct ss_torch_ranges *ranges);

#endif
