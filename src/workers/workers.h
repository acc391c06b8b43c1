/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes that one launcher started with the same command, such as `mpiexec -n 8 stepscope report
 * RUN`: the first does the work, and the others load files for it (model/load/load_parts.h). They
 * talk through a plug-in (plugin.h). Where there is none for the launcher, or the launcher joins
 * them with no MPI, the first works alone, and says why. One owner, one thread.
 */
#ifndef SS_WORKERS_WORKERS_H
#define SS_WORKERS_WORKERS_H

#include "base/error.h"
#include "model/load/load_parts.h"

enum ss_workers_role {
    SS_WORKERS_ALONE, /* no launcher, or without a plug-in */
    SS_WORKERS_FIRST, /* of several */
    SS_WORKERS_OTHER, /* loads files for the first */
    SS_WORKERS_IDLE   /* another process does the work, without this one */
};

struct ss_workers;
/* Whether a launcher of MPI started this process itself: the descendants of a program with MPI have
 * its variables, too, and work alone. */
bool ss_workers_may_be(void);
enum ss_workers_role ss_workers_begin(struct ss_workers **workers);
/* For struct ss_model_load, of the first; NULL: alone. */
const struct ss_part_workers *ss_workers_of_load(struct ss_workers *workers);
/* Of the others: loads until the first ends. */
enum ss_status ss_workers_serve(struct ss_workers *workers, struct ss_error *err);
/* The first ends the others. `status` of the process: after a failure of a worker, all are stopped.
 * NULL is fine. */
void ss_workers_end(struct ss_workers *workers, int status);

#endif
