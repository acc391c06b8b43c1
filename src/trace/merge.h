/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several traces as one, for viewers that open a single file: one process, thread, track and flow
 * each keeps a number of its own, and all times are on one clock. The inputs are not modified.
 *
 * Processes that several inputs recorded (the windows of one recording, the same launcher) are one;
 * a pid, tid or flow id that another process, thread or input has already gets a new one. Units of
 * all inputs are read in the order of their times; what a unit has is sorted by the writer. Memory
 * is bounded by the definitions, the number of flows (some 32 bytes each) and two units of each
 * input.
 */
#ifndef SS_TRACE_MERGE_H
#define SS_TRACE_MERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Pids of Linux are lower: new ones are not mistaken for them. */
enum { SS_MERGE_FIRST_NEW_NUMBER = (1 << 22) + 1 };
enum { SS_MERGE_MOST_PARTS = 1 << 16 };

struct ss_merge_part {
    const char *path;
    bool is_on_axis; /* its monotonic clock is the axis: its readings of clocks are kept */
};

struct ss_merge_options {
    size_t size; /* sizeof this */
    const char *path;
    bool perf_samples; /* as of the writer, for Perfetto before v58 */
    int compression;   /* as of the writer */
    unsigned threads;  /* as of the writer */
    /* A time of part `part` on the axis; NULL: all parts are on it. */
    uint64_t (*on_axis)(void *context, size_t part, uint64_t time_ns);
    void *context;
    uint64_t clock_error_ns; /* stored in the file; 0: none */
};

struct ss_merge_result {
    uint64_t records;       /* samples, events and counter values */
    size_t parts, repeated; /* read; left out because an earlier part is the same file or has it */
    size_t renumbered;      /* processes and threads */
    uint64_t lost_bytes;    /* damaged, in all parts */
};

/* Writes a closed trace; no file remains on failure. The same inputs in the same order yield the
 * same bytes; a single part that is merged already is copied. */
enum ss_status ss_trace_merge(const struct ss_merge_part *parts, size_t count,
                              const struct ss_merge_options *options,
                              struct ss_merge_result *result, struct ss_error *err);

/* What identifies the content of a trace file: its length, and a hash of its begin and end, which
 * has a random uuid. 0: it cannot be read. */
uint64_t ss_merge_identity(const char *path);

#endif
