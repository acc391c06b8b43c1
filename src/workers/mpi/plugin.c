/* SPDX-License-Identifier: Apache-2.0 */
/* The plug-in for one ABI of MPI. MPI counts in int: a message is its length, then pieces. */
#include <mpi.h>
#include <stddef.h>
#include <time.h>

#include "workers/plugin.h"

enum { TAG_LENGTH = 1, TAG_PIECE };

static bool begin(int *rank, int *size)
{
    int is_initialized = 0;
    MPI_Initialized(&is_initialized);
    if (!is_initialized && MPI_Init(NULL, NULL) != MPI_SUCCESS) {
        return false;
    }
    return MPI_Comm_rank(MPI_COMM_WORLD, rank) == MPI_SUCCESS &&
           MPI_Comm_size(MPI_COMM_WORLD, size) == MPI_SUCCESS;
}

static int piece_of(uint64_t length, uint64_t done)
{
    return (int)(length - done < SS_WORKERS_PIECE_BYTES ? length - done : SS_WORKERS_PIECE_BYTES);
}

static bool send_message(int to, const void *bytes, uint64_t length)
{
    bool is_sent =
        MPI_Send(&length, 1, MPI_UINT64_T, to, TAG_LENGTH, MPI_COMM_WORLD) == MPI_SUCCESS;
    for (uint64_t done = 0; is_sent && done < length; done += SS_WORKERS_PIECE_BYTES) {
        is_sent = MPI_Send((const char *)bytes + done, piece_of(length, done), MPI_BYTE, to,
                           TAG_PIECE, MPI_COMM_WORLD) == MPI_SUCCESS;
    }
    return is_sent;
}

static bool poll_message(int from, uint64_t *length)
{
    int has = 0;
    return MPI_Iprobe(from, TAG_LENGTH, MPI_COMM_WORLD, &has, MPI_STATUS_IGNORE) == MPI_SUCCESS &&
           has != 0 &&
           MPI_Recv(length, 1, MPI_UINT64_T, from, TAG_LENGTH, MPI_COMM_WORLD, MPI_STATUS_IGNORE) ==
               MPI_SUCCESS;
}

static MPI_Request receiving = MPI_REQUEST_NULL;

static bool receive_piece(int from, void *bytes, uint64_t length)
{
    return MPI_Irecv(bytes, (int)length, MPI_BYTE, from, TAG_PIECE, MPI_COMM_WORLD, &receiving) ==
           MPI_SUCCESS;
}

static bool has_received(void)
{
    int is_done = 0;
    return MPI_Test(&receiving, &is_done, MPI_STATUS_IGNORE) == MPI_SUCCESS && is_done != 0;
}

#ifdef OPEN_MPI
static void settle(void)
{
}
#else
enum { SETTLE_NS = 300000000 };

static bool is_one_node(void)
{
    MPI_Comm node;
    int here = 0, all = 0;
    if (MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node) !=
        MPI_SUCCESS) {
        return true;
    }
    MPI_Comm_size(node, &here);
    MPI_Comm_size(MPI_COMM_WORLD, &all);
    MPI_Comm_free(&node);
    return here == all;
}

/* MPI_Finalize of MPICH 4.0 over TCP (UCX) waits for an answer of each process that this one has
 * sent anything, and a process that has all of its own answers gives no more. None is missing if
 * all begin it at the same time, and answer nothing between their last message and that. */
static void settle(void)
{
    const struct timespec pause = {0, SETTLE_NS};
    if (!is_one_node()) {
        MPI_Barrier(MPI_COMM_WORLD);
        nanosleep(&pause, NULL);
    }
}
#endif

static void end(void)
{
    settle();
    MPI_Finalize();
}

static void stop(int status)
{
    MPI_Abort(MPI_COMM_WORLD, status);
}

__attribute__((visibility("default"))) extern const struct ss_workers_plugin ss_workers_plugin;
const struct ss_workers_plugin ss_workers_plugin = {
    .version = SS_WORKERS_PLUGIN_VERSION,
    .begin = begin,
    .send = send_message,
    .poll = poll_message,
    .receive = receive_piece,
    .has_received = has_received,
    .end = end,
    .stop = stop,
};
