/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The groups of communicators: which communicator has which one, and how many collectives each has
 * had. A group is named after its ranks in the world, so that all its ranks give it the same name
 * without a word to each other: "world", "0-3", "0,2,4 #2" for the second communicator of the same
 * ranks at once. A communicator that takes the place of one that was freed continues its numbers.
 *
 * Any thread. Looking up takes no lock; adding and removing does.
 */
#ifndef SS_INJECT_MPI_GROUPS_H
#define SS_INJECT_MPI_GROUPS_H

#include "inject/mpi/recorder.h"

/* As in struct ss_mpi_recorder. */
struct ss_mpi_group *ss_mpi_find_group(uint64_t key);
struct ss_mpi_group *ss_mpi_add_group(uint64_t key, const int *ranks, uint32_t size, bool is_world);
void ss_mpi_remove_group(uint64_t key);
uint32_t ss_mpi_group_size(const struct ss_mpi_group *group);
int *ss_mpi_lock_ranks(uint32_t size);
void ss_mpi_unlock_ranks(void);

/* In the world; -1: unknown. */
int32_t ss_mpi_world_rank(const struct ss_mpi_group *group, int32_t rank);

#endif
