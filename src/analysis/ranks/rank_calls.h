/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls of collectives: what each process of a run has of them, as its devices executed them
 * or, in a recording without such work, as its host did (Gloo, MPI). A call of NCCL on the host
 * only queues the collective, and counts for nothing. Sends and receives are not collectives. Pure;
 * immutable once built. Borrows the model.
 */
#ifndef SS_ANALYSIS_RANKS_RANK_CALLS_H
#define SS_ANALYSIS_RANKS_RANK_CALLS_H

#include "analysis/launches/device_work.h"
#include "analysis/selection/range_runs.h"

struct ss_rank_call {
    uint64_t begin_ns, end_ns;
    uint32_t range;   /* index into model->ranges */
    uint32_t process; /* of the model */
    uint32_t name;    /* index into model->names */
    uint32_t job;     /* analysis/selection/jobs.h */
    uint32_t group;   /* string: the name of its group; 0: unknown */
    uint32_t size;    /* ranks of the group; 0: unknown */
    int64_t sequence; /* number in its group */
    /* The number was not recorded: it is that of the call with which it was aligned
     * (analysis/table/call_alignment.h). */
    bool is_counted;
};

struct ss_rank_calls {
    struct ss_vec_of(struct ss_rank_call) rows; /* by job, group, sequence, process */
    bool is_of_devices;
    uint32_t jobs;     /* whose calls there are */
    size_t copies;     /* processes whose calls are there twice: left out */
    size_t unaligned;  /* calls of ranks whose clock fits no other: left out */
    bool is_ambiguous; /* without numbers, and a process has them on several devices */
};

/* `runs`: of the model. Only processes of the selection. */
void ss_rank_calls_init(struct ss_rank_calls *calls, const struct ss_selection *selection,
                        const struct ss_device_works *works, const struct ss_range_runs *runs);
void ss_rank_calls_fini(struct ss_rank_calls *calls);

/* "all_reduce", or the base name of a kernel. */
struct ss_strview ss_rank_call_kind(const struct ss_model *model, const struct ss_rank_call *call);
/* Whether all of its ranks wait for each other. A broadcast, a scatter, a reduction to one rank and
 * a gather go one way: ranks may leave before others arrive. */
bool ss_rank_call_synchronises(const struct ss_model *model, const struct ss_rank_call *call);
/* What it transfers; -1: unknown. */
int64_t ss_rank_call_bytes(const struct ss_model *model, const struct ss_rank_call *call);

#endif
