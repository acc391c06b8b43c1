! SPDX-License-Identifier: Apache-2.0
program ranks
    implicit none
    include 'mpif.h'
    integer :: error, rank, total
    call MPI_Init(error)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
    call MPI_Allreduce(rank, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
    if (rank == 0) print *, 'total', total
    call MPI_Finalize(error)
end program
