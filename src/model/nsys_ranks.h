/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rank of a process by the environment of the command that was recorded, as launchers set it.
 * It holds only where one process used a device: torchrun starts further ones below the command,
 * with an environment of their own. Owned by one loader. Private to model/.
 */
#ifndef SS_MODEL_NSYS_RANKS_H
#define SS_MODEL_NSYS_RANKS_H

#include "model/nsys_rows.h"

enum ss_nsys_rank_kind {
    SS_NSYS_RANK_OF_WORLD,
    SS_NSYS_LOCAL_RANK,
    SS_NSYS_WORLD_SIZE,
    SS_NSYS_RANK_KINDS
};

struct ss_nsys_ranks {
    int64_t numbers[SS_NSYS_RANK_KINDS];
    int places[SS_NSYS_RANK_KINDS]; /* of the variable among those of its kind, plus one; 0: none */
};

/* NAME="value"; other variables are ignored. */
void ss_nsys_ranks_read(struct ss_nsys_ranks *ranks, struct ss_strview variable);
/* When all processes are known. */
void ss_nsys_ranks_put(const struct ss_nsys_ranks *ranks, struct ss_nsys_rows *rows);

#endif
