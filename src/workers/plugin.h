/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a plug-in provides: messages between the processes that a launcher started. There is one for
 * each ABI of MPI (workers-mpich.so, workers-openmpi.so), the only files that are linked with an
 * MPI; stepscope loads one at run time where such a launcher started it. One thread.
 */
#ifndef SS_WORKERS_PLUGIN_H
#define SS_WORKERS_PLUGIN_H

#include <stdbool.h>
#include <stdint.h>

#define SS_WORKERS_PLUGIN_VERSION 1
#define SS_WORKERS_PLUGIN_SYMBOL "ss_workers_plugin"

#define SS_WORKERS_PIECE_BYTES (UINT64_C(1) << 30)

struct ss_workers_plugin {
    uint32_t version;
    /* false: it cannot be started. */
    bool (*begin)(int *rank, int *size);
    /* Waits until the message is taken, or buffered. */
    bool (*send)(int to, const void *bytes, uint64_t length);
    /* Whether a message of `from` has arrived. `*length` is its size. false: none yet. */
    bool (*poll)(int from, uint64_t *length);
    /* Begins to receive a piece of the message that poll has found: the next
     * SS_WORKERS_PIECE_BYTES, or what is left. One at a time. */
    bool (*receive)(int from, void *bytes, uint64_t length);
    /* Whether the piece is there; its sender may be stopped meanwhile. */
    bool (*has_received)(void);
    /* All processes call it. */
    void (*end)(void);
    /* Ends the processes of all ranks. */
    void (*stop)(int status);
};

#endif
