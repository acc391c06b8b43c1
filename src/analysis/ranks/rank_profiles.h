/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ranks of a run: what a steady-state step of each consists of, what it waited for others and
 * what others waited for it. Of the phases of a rank, the one in which it exceeds the median of the
 * ranks by most is its stage: there it is slow. Pure; immutable once built. Borrows the model and
 * the summary of the steps.
 */
#ifndef SS_ANALYSIS_RANKS_RANK_PROFILES_H
#define SS_ANALYSIS_RANKS_RANK_PROFILES_H

#include "analysis/devices/device_steps.h"
#include "analysis/ranks/rank_waits.h"
#include "analysis/steps/batch_loads.h"

/* Means per step. */
struct ss_rank_profile {
    uint32_t process;
    int64_t rank;          /* -1: unknown */
    uint64_t steps;        /* whole steps, without warm-up; 0: it marks none */
    uint64_t device_steps; /* of them, those whose device work is known */
    uint64_t step_ns;
    uint64_t compute_ns; /* of its devices; without, its phases forward, backward, optimizer */
    uint64_t communication_ns; /* exposed: of its devices; without, its phase communication */
    uint64_t data_ns;
    uint64_t phase_ns[SS_STEP_MAX_PHASES];
    uint64_t batch; /* examples in a batch, as the process states it; 0: unknown */
    struct ss_batch_load load;
    size_t stage;      /* phase; the number of phases: it exceeds the median in none */
    uint64_t stage_ns; /* by how much */
};

struct ss_rank_profiles {
    struct ss_vec_of(struct ss_rank_profile) rows; /* by rank, then by process */
    const struct ss_collectives *collectives;
    struct ss_wait_scope scope; /* collectives of steady-state steps; all, where none is in one */
    struct ss_wait_sums waits;  /* of these */
    bool has_steps;
    bool has_devices;    /* compute and communication are of devices */
    size_t processes;    /* of the model */
    uint64_t steps;      /* of the rank with most */
    size_t jobs;         /* whose ranks there are */
    size_t left_out;     /* ranks of other jobs than the largest */
    uint32_t world_size; /* of the ranks, as all of them state it; 0: unknown */
};

/* Built once for each summary of steps. */
const struct ss_rank_profiles *ss_steps_ranks(const struct ss_selection *selection,
                                              const struct ss_step_summary *training);

/* NULL: the process is not a rank. */
const struct ss_rank_profile *ss_rank_profile_of(const struct ss_rank_profiles *profiles,
                                                 uint32_t process);
/* What a rank computes on more than the others: tokens; at equal tokens, padding; where tokens are
 * unknown, examples, else elements of its inputs. */
enum ss_more_work {
    SS_MORE_NOTHING,
    SS_MORE_TOKENS,
    SS_MORE_PADDING,
    SS_MORE_EXAMPLES,
    SS_MORE_ELEMENTS
};
/* NOTHING: it has not clearly more, or is not a rank. */
enum ss_more_work ss_rank_profiles_more_work(const struct ss_rank_profiles *profiles,
                                             const struct ss_rank_profile *row);
/* How many times the median of the other ranks it has in a step; 0: unknown. */
double ss_rank_profiles_times(const struct ss_rank_profiles *profiles,
                              const struct ss_rank_profile *row, enum ss_more_work of);
/* "rank 3 has 1.8 times the tokens of the other ranks: …"; of something. */
void ss_rank_profiles_add_work(const struct ss_rank_profiles *profiles,
                               const struct ss_rank_profile *row, enum ss_more_work of,
                               struct ss_sentence *out);

enum ss_rank_column {
    SS_RANK_NUMBER,
    SS_RANK_PID,
    SS_RANK_STEPS,
    SS_RANK_BATCH,    /* examples; absent: unknown */
    SS_RANK_EXAMPLES, /* of a step; this and the next three: absent where unknown */
    SS_RANK_TOKENS,
    SS_RANK_LENGTH, /* of a sequence */
    SS_RANK_ELEMENTS,
    SS_RANK_STEP,
    SS_RANK_COMPUTE,
    SS_RANK_DATA,
    SS_RANK_COMMUNICATION,
    SS_RANK_WAITED,    /* this and the next two: in all collectives that count */
    SS_RANK_CAUSED,    /* on all others together */
    SS_RANK_PASSED_ON, /* what others caused through it */
    SS_RANK_WAITED_STEP,
    SS_RANK_CAUSED_STEP,
    SS_RANK_LAST,
    SS_RANK_COLLECTIVES,
    SS_RANK_STAGE,
    SS_RANK_STAGE_MORE,
    SS_RANK_COLUMNS
};
void ss_rank_table(const struct ss_selection *selection, const struct ss_step_summary *training,
                   uint64_t max_rows, struct ss_table *table);

#endif
