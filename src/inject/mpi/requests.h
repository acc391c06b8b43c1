/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests under way: each has the event that ends when the program learns that it is complete, or,
 * if it is persistent, the call that it starts again and again. The place of a request is found by
 * its handle, among eight places; implementations give many requests that were complete at once one
 * and the same handle, so that handles may repeat.
 *
 * Any thread. A request is waited for by one thread at a time, as MPI demands; where a program does
 * otherwise, events end twice or late.
 */
#ifndef SS_INJECT_MPI_REQUESTS_H
#define SS_INJECT_MPI_REQUESTS_H

#include "inject/mpi/recorder.h"

/* As in struct ss_mpi_recorder. */
void ss_mpi_put_request(uint64_t key, uint64_t id);
void ss_mpi_put_persistent(uint64_t key, const struct ss_mpi_call *call);
void ss_mpi_start_request(uint64_t key);
void ss_mpi_free_request(uint64_t key);
void ss_mpi_claim(struct ss_mpi_claims *claims, uint64_t key, uint32_t index);
void ss_mpi_complete(struct ss_mpi_claims *claims, int index);
void ss_mpi_release(struct ss_mpi_claims *claims);
/* How many found no place: their events ended at once. */
uint64_t ss_mpi_lost_requests(void);

#endif
