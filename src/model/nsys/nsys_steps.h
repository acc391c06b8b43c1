/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps among the NVTX ranges of a file: ranges with names such as "iteration 12", "train_step 12",
 * "ProfilerStep#12" or "Step 10 to 20" that follow each other on a thread. Of the loops of a
 * process, that whose ranges take the longest in all has the steps; the ranges of the others remain
 * ranges. Owned by one loader. Private to model/.
 */
#ifndef SS_MODEL_NSYS_NSYS_STEPS_H
#define SS_MODEL_NSYS_NSYS_STEPS_H

#include "model/nsys/nsys_rows.h"

struct ss_nsys_step_name {
    char stem[24]; /* "trainstep": letters in lower case */
    bool is_epoch, is_profiler_step;
    bool has_number; /* else they are numbered by their order */
    int64_t number;
};

/* False: the range is not a step by its name. */
bool ss_nsys_step_name_read(struct ss_strview text, struct ss_nsys_step_name *name);

/* A loop, if its ranges follow each other. */
struct ss_nsys_family {
    uint32_t thread, process; /* index of the thread; row of the process */
    bool is_epoch, is_profiler_step;
    uint32_t count;
    uint64_t total_ns, last_end_ns;
    bool overlaps; /* then it is none */
    bool is_chosen;
};

struct ss_nsys_candidate {
    uint64_t begin_ns, end_ns;
    int64_t number; /* -1: by its order */
    uint32_t family;
    uint32_t track, name; /* as a plain range */
};

struct ss_nsys_step {
    uint64_t begin_ns, end_ns;
    int64_t number;
    uint32_t process;
};

struct ss_nsys_steps {
    struct ss_vec_of(struct ss_nsys_family) families;
    struct ss_vec_of(struct ss_nsys_candidate) candidates;
    struct ss_vec_of(struct ss_nsys_step) steps; /* by process, then begin */
};

/* Keeps a range that is named like a step. */
void ss_nsys_steps_add(struct ss_nsys_steps *steps, struct ss_nsys_rows *rows, uint32_t thread,
                       const struct ss_nsys_step_name *name, const struct ss_builder_range *range);
/* When all ranges are read: adds them to the model, as steps or as ranges. */
void ss_nsys_steps_put(struct ss_nsys_steps *steps, struct ss_nsys_rows *rows);
/* The number of the step of a process at this time; -1: none. */
int64_t ss_nsys_step_at(const struct ss_nsys_steps *steps, uint32_t process, uint64_t time_ns);
void ss_nsys_steps_fini(struct ss_nsys_steps *steps);

#endif
