/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that programs take from their devices and give back (cudaMalloc, cudaFree and their
 * peers), which is not what an allocator within the program makes of it: how much is held, when
 * most, what is taken and given back within steps, and what is never given back. And what the
 * driver compiled meanwhile. Pure. Borrows the model.
 *
 * A release whose allocation was before the recording takes nothing from what is held.
 */
#ifndef SS_ANALYSIS_DEVICES_DEVICE_MEMORY_H
#define SS_ANALYSIS_DEVICES_DEVICE_MEMORY_H

#include "analysis/steps/steps.h"
#include "analysis/table/table.h"

/* One row for each kind of memory of a process on a device. */
struct ss_held_memory_kind {
    uint32_t process, device; /* of the model */
    uint32_t memory;          /* string: device, pinned, managed; 0: unknown */
    bool is_pooled;           /* from a pool: cudaMallocAsync */
    uint64_t allocations, releases, allocated_bytes;
    uint64_t held_bytes, peak_bytes; /* at the end, at most */
    uint64_t peak_ns;
    uint64_t kept, kept_bytes;            /* never given back */
    uint64_t in_steps, in_steps_bytes;    /* allocations within steady-state steps */
    uint64_t pool_bytes, pool_peak_bytes; /* reserved by the pool; 0: unknown */
};

/* A step of a process on a device, all memory of the device itself together. */
struct ss_held_memory_step {
    uint32_t process, device;
    int64_t number;
    enum ss_step_kind kind;
    uint64_t allocations, releases, allocated_bytes;
    uint64_t peak_bytes, end_bytes;
};

struct ss_held_memories {
    struct ss_vec_of(struct ss_held_memory_kind) kinds; /* the largest peak first */
    struct ss_vec_of(struct ss_held_memory_step) steps;
};

void ss_held_memories_init(struct ss_held_memories *memories, const struct ss_selection *selection,
                           const struct ss_step_summary *training);
void ss_held_memories_fini(struct ss_held_memories *memories);

enum ss_device_memory_column {
    SS_DEVICE_MEMORY_DEVICE,
    SS_DEVICE_MEMORY_PID,
    SS_DEVICE_MEMORY_RANK,
    SS_DEVICE_MEMORY_KIND,
    SS_DEVICE_MEMORY_POOLED,
    SS_DEVICE_MEMORY_ALLOCATIONS,
    SS_DEVICE_MEMORY_RELEASES,
    SS_DEVICE_MEMORY_ALLOCATED,
    SS_DEVICE_MEMORY_PEAK,
    SS_DEVICE_MEMORY_PEAK_STEP, /* absent: in no step */
    SS_DEVICE_MEMORY_END,
    SS_DEVICE_MEMORY_KEPT,
    SS_DEVICE_MEMORY_KEPT_BYTES,
    SS_DEVICE_MEMORY_STEP_ALLOCATIONS, /* in a steady-state step; this and the next */
    SS_DEVICE_MEMORY_STEP_BYTES,
    SS_DEVICE_MEMORY_POOL_PEAK,
    SS_DEVICE_MEMORY_COLUMNS
};

enum ss_device_memory_step_column {
    SS_DEVICE_MEMORY_STEP_DEVICE,
    SS_DEVICE_MEMORY_STEP_PID,
    SS_DEVICE_MEMORY_STEP_NUMBER,
    SS_DEVICE_MEMORY_STEP_COUNT,
    SS_DEVICE_MEMORY_STEP_RELEASES,
    SS_DEVICE_MEMORY_STEP_ALLOCATED,
    SS_DEVICE_MEMORY_STEP_PEAK,
    SS_DEVICE_MEMORY_STEP_END,
    SS_DEVICE_MEMORY_STEP_COLUMNS
};

/* Two tables: memory by kind, and over time by step; the second only with steps. Returns their
 * number. */
size_t ss_device_memory_tables(const struct ss_selection *selection,
                               const struct ss_step_summary *training, uint64_t max_rows,
                               struct ss_table *tables);

/* Modules that the driver compiled while the program ran. */
struct ss_compilations {
    uint64_t count, ns; /* of compilations */
    uint64_t loads;     /* from the cache */
    uint64_t in_steps_ns;
};
struct ss_compilations ss_compilations_of(const struct ss_selection *selection,
                                          const struct ss_step_summary *training);

#endif
