/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between mpi.so (forward.c) and the libraries that observe an implementation of MPI (observe.c).
 * mpi.so is in every process, an observer only in processes of its implementation.
 */
#ifndef SS_INJECT_MPI_OBSERVER_H
#define SS_INJECT_MPI_OBSERVER_H

#include "inject/mpi/recorder.h"

/* An observed function. */
struct ss_mpi_observed {
    const char *name;
    void *wrapper;
    void **next; /* gets what the wrapper calls */
};

/* Exported by each observer as ss_mpi_observe. `find` finds the functions of MPI. Returns a list
 * that ends with a NULL name; NULL: it observes nothing. */
typedef const struct ss_mpi_observed *ss_mpi_observer(const struct ss_mpi_recorder *recorder,
                                                      void *(*find)(const char *name));

#endif
