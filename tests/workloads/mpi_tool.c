/* SPDX-License-Identifier: Apache-2.0 */
/* A tool of the user's, as LD_PRELOAD loads it: it counts reductions through the profiling
 * interface of MPI, and communicates within its wrapper. */
#include <mpi.h>
#include <stdio.h>

static int reductions;

int MPI_Allreduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm)
{
    reductions++;
    PMPI_Barrier(comm);
    return PMPI_Allreduce(from, to, count, type, op, comm);
}

int MPI_Finalize(void)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        printf("tool: %d reductions\n", reductions);
    }
    return PMPI_Finalize();
}
