/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ranges of a model in runs of one track each, in the model's order, with what the track is: a
 * search for a few phases does not pass over millions of operators. A track has one run, except
 * with lanes. Pure; immutable once built. Borrows the model.
 */
#ifndef SS_ANALYSIS_SELECTION_RANGE_RUNS_H
#define SS_ANALYSIS_SELECTION_RANGE_RUNS_H

#include "model/core/model.h"

enum ss_track_role {
    SS_ROLE_OTHER,
    SS_ROLE_STEPS,       /* of a process */
    SS_ROLE_PHASES,      /* of a process, or of none */
    SS_ROLE_OPERATORS,   /* the domain "torch" */
    SS_ROLE_MODULES,     /* "torch.module" */
    SS_ROLE_LOADER,      /* "torch.data" */
    SS_ROLE_COLLECTIVES, /* asynchronous ranges of "torch", "nccl" and "MPI" */
    SS_ROLE_WAITS,       /* "torch.waits" */
    SS_ROLE_RANGES       /* of any other domain */
};

struct ss_range_run {
    enum ss_track_role role;
    uint32_t track;
    size_t first, end; /* ranges of the model */
};

/* All ranges of a track lie between these; end 0: it has none. */
struct ss_track_span {
    size_t first, end;
};

struct ss_range_runs {
    struct ss_vec_of(struct ss_range_run) rows;
    struct ss_track_span *spans; /* by track */
};

void ss_range_runs_init(struct ss_range_runs *runs, const struct ss_model *model);
void ss_range_runs_fini(struct ss_range_runs *runs);

/* Iterates the runs of a role: `run` is NULL at first, and after the last. */
const struct ss_range_run *ss_range_runs_next(const struct ss_range_runs *runs,
                                              const struct ss_range_run *run,
                                              enum ss_track_role role);

/* The process of a run: its thread's, where the track has one. */
uint32_t ss_range_run_process(const struct ss_model *model, const struct ss_range_run *run);

#endif
