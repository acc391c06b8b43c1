/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operations of NCCL: what its profiler interface says of each, its number in its communicator,
 * and the call of torch.distributed that it belongs to, which began on the same thread before. NCCL
 * describes an operation on the launching thread, right after it launched the kernel: with the work
 * of devices recorded, the operation goes to the recorder beside that launch (inject/device/), and
 * its kernel gets what is known of it. Otherwise it is a range: from the start of its first channel
 * to the end of its last, as NCCL's proxy thread sees them, or where channels are not described,
 * the time in which it was queued.
 *
 * Any thread; a lock is held for a moment. A handle is the number of an operation and names it
 * for as long as it is remembered: nothing is allocated, and a handle that is old does no harm.
 */
#ifndef SS_INJECT_NCCL_OPERATIONS_H
#define SS_INJECT_NCCL_OPERATIONS_H

#include "annot/events.h"
#include "ring/device_ring.h"

/* Members that are texts are names of annot/define.h. */
struct ss_nccl_operation {
    uint32_t function; /* "ncclAllReduce" */
    uint32_t group, datatype, algorithm, protocol;
    uint32_t module; /* what the data belongs to; 0: unknown */
    uint32_t size;   /* ranks of the group; 0: unknown */
    uint32_t channels;
    uint32_t reduction; /* enum ss_ring_reduction */
    int64_t sequence;   /* -1: a message between two ranks, which has none */
    int64_t bytes;      /* -1: unknown */
    int64_t root;       /* a rank of the world; -1: none, or unknown */
};

struct ss_nccl_communicator;

/* --- for the plugin --------------------------------------------------------------------------- */

/* `hash`, `ranks`: 0: unknown yet. `has_channels`: the interface can describe them. NULL: too many.
 */
struct ss_nccl_communicator *ss_nccl_communicator_new(uint64_t hash, const char *name, int ranks,
                                                      bool has_channels);
/* Versions 1 to 3 name the communicator in each description. */
void ss_nccl_communicator_identify(struct ss_nccl_communicator *communicator, uint64_t hash,
                                   const char *name);
void ss_nccl_communicator_free(struct ss_nccl_communicator *communicator);

/* As NCCL describes an operation; texts may be NULL. */
struct ss_nccl_described {
    const char *function, *datatype, *algorithm, *protocol;
    size_t count;
    uint32_t channels;  /* 0: unknown */
    uint32_t reduction; /* enum ss_ring_reduction */
    bool is_message;
};
/* Returns its handle; 0: it is not recorded. */
uint64_t ss_nccl_begin(struct ss_nccl_communicator *communicator,
                       const struct ss_nccl_described *described);
/* `timer`: ns on the device's clock; 0: unknown. Returns a handle, as ss_nccl_begin. */
uint64_t ss_nccl_begin_channel(uint64_t operation, uint64_t timer);
/* The end of a channel on the device's clock; before ss_nccl_end. */
void ss_nccl_time_channel(uint64_t handle, uint64_t timer);
/* Of an operation or a channel. */
void ss_nccl_end(uint64_t handle);

/* The kinds of events that NCCL is asked for, at this address, from now on; they change with
 * ss_nccl_want_channels. */
void ss_nccl_set_mask(int *mask);

/* Says in the recording what describes the process's operations; once for each. Without a lock. */
void ss_nccl_set_source(const char *source);
/* Whether NCCL has described a communicator: its calls (calls.h) are then no operations. */
bool ss_nccl_has_plugin(void);

/* --- for other collectors --------------------------------------------------------------------- */

/* Whether channels shall be described, because the work of devices is not recorded. */
void ss_nccl_want_channels(bool wanted);
/* A collective of torch.distributed begins on this thread. */
void ss_nccl_torch_begins(const struct ss_event_collective *collective);

/* Takes at most `most` of the operations that were launched since, as messages for the recorder.
 * Their launches are in the queues of inject/device/launch_queue.h before. */
size_t ss_nccl_take(struct ss_device_collective_message *messages, size_t most);

#endif
