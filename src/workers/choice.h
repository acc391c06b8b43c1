/* SPDX-License-Identifier: Apache-2.0 */
/* Which MPI joins the processes of a launcher, from the variables that it set. Pure. */
#ifndef SS_WORKERS_CHOICE_H
#define SS_WORKERS_CHOICE_H

#include "base/launchers.h"

enum ss_workers_mpi {
    SS_WORKERS_NONE, /* no launcher of MPI */
    SS_WORKERS_MPICH,
    SS_WORKERS_OPENMPI,
    SS_WORKERS_UNJOINED /* processes of one command that no MPI can join: srun --mpi=none */
};

/* `facts` are those of the same variables. */
enum ss_workers_mpi ss_workers_choose(const struct ss_rank_facts *facts, ss_variable_get *get,
                                      void *context);
/* Whether a process of this name starts the processes of a launcher; as the kernel has it, cut off
 * after 15 characters. */
bool ss_workers_is_launcher(const char *name);

#endif
