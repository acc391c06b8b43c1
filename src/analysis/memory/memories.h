/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of a training's processes: byte counters, read right before each phase and step begins
 * (src/inject/torch/torch_memory.c), in every step or in some. A step counts as read when every
 * edge of its phases has a value; only such steps have figures by phase. Pure.
 *
 * A phase's peak is the largest of the values at its edges, the values that the host's sampler read
 * in between, and the peak of the process (of the device allocator) where that peak changed in the
 * phase. So where a phase exceeds the peak of all phases before it, its peak is exact; else it is
 * the largest value seen. Values that are not valid numbers of bytes are left out.
 */
#ifndef SS_ANALYSIS_MEMORY_MEMORIES_H
#define SS_ANALYSIS_MEMORY_MEMORIES_H

#include "analysis/steps/steps.h"
#include "base/shared_names.h"

/* Tracks that these figures need, for struct ss_model_load. */
#define SS_MEMORY_TRACKS                                                                           \
    "memory rss", ss_counter_memory_peak, "resident memory", "memory limit", "total",              \
        ss_counter_profiler_records
#define SS_MEMORY_QUANTITIES                                                                       \
    (1u << SS_QUANTITY_DEVICE_ALLOCATED | 1u << SS_QUANTITY_DEVICE_RESERVED |                      \
     1u << SS_QUANTITY_DEVICE_PEAK)

/* Bytes. Means are over the steady-state steps that were read, NAN without any; maxima over all
 * whole steps that were read. */
struct ss_memory_phase {
    uint64_t steps;             /* that were read and have the phase */
    double end_mean, end_max;   /* at the last end of the phase in the step, in steps that have
                                 * it */
    double peak_mean, peak_max; /* in steps that have it */
    double change_mean;         /* 0 in steps without it, so that the changes of all phases add up
                                 * to the step's */
    double change_max;
    double rising_peak; /* the highest peak to which memory rose from the phase's begin; 0: none */
    int64_t rising_step;
};

/* Memory at the end of a step. */
struct ss_memory_point {
    double place; /* index of the step among all steps of its process, from 0 */
    double bytes;
    bool is_steady;
    bool is_profiled; /* torch.profiler kept events in the step, or freed them */
};

typedef struct ss_vec_of(struct ss_memory_point) ss_memory_points;

struct ss_memory {
    uint32_t process, name; /* string of the counter: "memory rss", "cuda allocated" */
    bool is_device;
    double first, last, peak;
    uint64_t steps, steps_read;                        /* whole steps */
    struct ss_memory_phase phases[SS_STEP_MAX_PHASES]; /* as in the step summary */
    ss_memory_points points;
    /* The phase that reaches the peak, and the step in which it rises highest: memory rises in it
     * by at least a hundredth of its peak, to within a hundredth of the overall peak. */
    size_t peak_phase; /* the number of phases: none */
    int64_t peak_step;
    bool was_before;       /* the peak was reached before the first reading */
    double bytes_per_step; /* the median slope, without the first quarter of the steps and
                            * without profiled ones */
    bool grows;            /* steadily, and by more than noise */
    size_t growing_phase;  /* the phase that retains the memory; the number of phases: no single
                            * phase */
    double limit;          /* of the container, machine or device; 0: unknown */
    const char *limit_of;  /* "the container's limit" */
};

struct ss_memories {
    struct ss_vec_of(struct ss_memory) rows;
};

/* One row for each such counter of each process; processes without steps have no phases. `training`
 * may be NULL. */
void ss_memories_init(struct ss_memories *memories, const struct ss_selection *selection,
                      const struct ss_step_summary *training);
void ss_memories_fini(struct ss_memories *memories);
/* Determines whether the memory grows. Called by ss_memories_init only. */
void ss_memory_detect_growth(struct ss_memory *memory, size_t phases);
/* The memory to show for the first process: a device's, else the process's own. NULL: none has
 * steps that were read. */
const struct ss_memory *ss_memories_main(const struct ss_memories *memories);

/* One row for each memory of each process. */
enum ss_memory_column {
    SS_MEMORY_NAME, /* of the counter: "memory rss", "cuda allocated", … */
    SS_MEMORY_PID,
    SS_MEMORY_START, /* first value */
    SS_MEMORY_END,   /* last value */
    SS_MEMORY_PEAK,
    SS_MEMORY_PER_STEP,   /* least-squares slope of the values at the ends of steady-state steps;
                           * absent with fewer than three */
    SS_MEMORY_PEAK_PHASE, /* absent: no phase reaches the peak */
    SS_MEMORY_PEAK_STEP,
    SS_MEMORY_LIMIT,         /* absent: unknown */
    SS_MEMORY_LIMIT_PERCENT, /* the peak as a share of the limit */
    SS_MEMORY_COLUMNS
};
void ss_memory_table(const struct ss_memories *memories, const struct ss_selection *selection,
                     const struct ss_step_summary *training, struct ss_table *table);

/* One row for each phase of each memory; bytes. */
enum ss_memory_phase_column {
    SS_MEMORY_PHASE_NAME, /* of the counter */
    SS_MEMORY_PHASE_PID,
    SS_MEMORY_PHASE,
    SS_MEMORY_PHASE_STEPS,
    SS_MEMORY_PHASE_END,
    SS_MEMORY_PHASE_END_MAX,
    SS_MEMORY_PHASE_CHANGE,
    SS_MEMORY_PHASE_CHANGE_MAX,
    SS_MEMORY_PHASE_PEAK,
    SS_MEMORY_PHASE_PEAK_MAX,
    SS_MEMORY_PHASE_COLUMNS
};
/* `only`: the one memory to list; NULL: all. */
void ss_memory_phases_table(const struct ss_memories *memories, const struct ss_memory *only,
                            const struct ss_selection *selection,
                            const struct ss_step_summary *training, struct ss_table *table);
/* Fills the memory columns of the table of phases from the counter that ss_memories_main chooses:
 * means over the processes, the highest peak of any process. */
void ss_memory_put_phases(const struct ss_memories *memories, const struct ss_selection *selection,
                          struct ss_table *phases);

#endif
