/* SPDX-License-Identifier: Apache-2.0 */
/* The events of MPI's calls. Any thread. */
#ifndef SS_INJECT_MPI_CALLS_H
#define SS_INJECT_MPI_CALLS_H

#include "inject/mpi/recorder.h"

/* As in struct ss_mpi_recorder. */
uint64_t ss_mpi_begin(const struct ss_mpi_call *call);
void ss_mpi_end(uint64_t id);

#endif
