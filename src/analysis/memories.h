/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the processes of a training hold: counters of bytes, read right before each phase and step
 * begins (src/inject/torch_memory.c), of every step or of some. A step is read when there is a
 * value at each edge of its phases; only such steps tell of phases. Pure.
 *
 * A phase's peak is the largest of what was held at its edges, what the host's sampler saw
 * meanwhile, and the process's (the device allocator's) own peak where that changed in the phase.
 * So where a phase passes the peak of all phases before it, that is exact; else it is what was
 * seen. Values that are no number of bytes are left out.
 */
#ifndef SS_ANALYSIS_MEMORIES_H
#define SS_ANALYSIS_MEMORIES_H

#include "analysis/steps.h"

/* Tracks that it is taken from, for struct ss_model_load. */
#define SS_MEMORY_TRACKS                                                                           \
    "memory rss", "memory peak", "cuda*", "resident memory", "memory limit", "total"

/* Bytes. Means are over the usual steps that were read, NAN without any; maxima over all whole
 * steps that were. */
struct ss_memory_phase {
    uint64_t steps;             /* that were read and have the phase */
    double end_mean, end_max;   /* where the phase ended last in the step, in steps that have it */
    double peak_mean, peak_max; /* in steps that have it */
    double change_mean;         /* 0 in steps without it: those of all phases are the step's */
    double change_max;
    double rising_peak; /* the highest peak to which memory rose from the phase's begin; 0: none */
    int64_t rising_step;
};

/* What was held as a step ended. */
struct ss_memory_point {
    double place; /* the step, counted over all of its process from 0 */
    double bytes;
    bool is_usual;
};

struct ss_memory {
    uint32_t process, name; /* string of the counter: "memory rss", "cuda allocated" */
    bool is_device;
    double first, last, peak;
    uint64_t steps, steps_read;                        /* whole ones */
    struct ss_memory_phase phases[SS_STEP_MAX_PHASES]; /* as in the summary */
    struct ss_vec_of(struct ss_memory_point) points;
    /* Which phase made the peak, and in which step it did last: memory rose in it by a hundredth
     * of the peak at least, to within a hundredth of it. */
    size_t peak_phase; /* the number of phases: none did */
    int64_t peak_step;
    bool was_before;       /* the peak is from before the first reading */
    double bytes_per_step; /* the median slope, the first quarter of the steps left out */
    bool grows;            /* steadily, and by more than noise */
    size_t growing_phase;  /* the one that keeps it; the number of phases: not one alone */
    double limit;          /* of the container, machine or device; 0: not known */
    const char *limit_of;  /* "the container's limit" */
};

struct ss_memories {
    struct ss_vec_of(struct ss_memory) rows;
};

/* Of all processes with such counters; those without steps have no phases. `training` may be NULL.
 */
void ss_memories_init(struct ss_memories *memories, const struct ss_selection *selection,
                      const struct ss_step_summary *training);
void ss_memories_fini(struct ss_memories *memories);
/* Finds out whether it grows. Belongs to ss_memories_init. */
void ss_memory_judge(struct ss_memory *memory, size_t phases);
/* That by which people judge the process that comes first: a device's, else the process's own.
 * NULL: none whose phases are known. */
const struct ss_memory *ss_memories_main(const struct ss_memories *memories);

/* One row for each memory of each process. */
enum ss_memory_column {
    SS_MEMORY_NAME, /* of the counter: "memory rss", "cuda allocated", … */
    SS_MEMORY_PID,
    SS_MEMORY_START, /* first value */
    SS_MEMORY_END,   /* last value */
    SS_MEMORY_PEAK,
    SS_MEMORY_PER_STEP,   /* slope of the straight line through the values at the ends of usual
                             steps (least squares); absent on fewer than three */
    SS_MEMORY_PEAK_PHASE, /* absent: no phase made it */
    SS_MEMORY_PEAK_STEP,
    SS_MEMORY_LIMIT,         /* absent: not known */
    SS_MEMORY_LIMIT_PERCENT, /* that the peak is of it */
    SS_MEMORY_COLUMNS
};
void ss_memory_table(const struct ss_memories *memories, const struct ss_selection *selection,
                     const struct ss_step_summary *training, struct ss_table *table);

/* One for each phase of these: bytes. */
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
/* `only`: of this one alone; NULL: of all. */
void ss_memory_phases_table(const struct ss_memories *memories, const struct ss_memory *only,
                            const struct ss_selection *selection,
                            const struct ss_step_summary *training, struct ss_table *table);
/* The same, shorter, into the table of phases: of what ss_memories_main has, the means over the
 * processes, the peak of any. */
void ss_memory_put_phases(const struct ss_memories *memories, const struct ss_selection *selection,
                          struct ss_table *phases);

#endif
