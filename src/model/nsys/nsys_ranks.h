/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rank of a process by the environment of the command that was recorded, as launchers set it.
 * Private to load_nsys.c and its parts.
 */
#ifndef SS_MODEL_NSYS_NSYS_RANKS_H
#define SS_MODEL_NSYS_NSYS_RANKS_H

#include "model/nsys/nsys_rows.h"

struct ss_nsys_ranks {
    char environment[4096]; /* of the variables that launchers set; entries end in NUL */
    size_t length;
};

/* NAME="value"; other variables are ignored. */
void ss_nsys_ranks_read(struct ss_nsys_ranks *ranks, struct ss_strview variable);
/* When all processes are known. */
void ss_nsys_ranks_put(const struct ss_nsys_ranks *ranks, struct ss_nsys_rows *rows);

#endif
