# SPDX-License-Identifier: Apache-2.0
"""Ranks of mpi4py: arrays and objects, a communicator of each half; rank 1 is late in each step."""
import array
import time

from mpi4py import MPI

world = MPI.COMM_WORLD
rank, size = world.Get_rank(), world.Get_size()
half = world.Split(rank // 2, rank)
numbers, total = array.array("d", [1.0] * 1000), array.array("d", [0.0] * 1000)
for step in range(10):
    time.sleep(0.06 if rank == 1 else 0.002)
    world.Allreduce(numbers, total)
world.bcast({"step": step}, root=0)
half.Bcast(numbers, root=1)
request = world.Iallreduce(numbers, total)
request.Wait()
if rank == 0:
    print("total", total[0])
