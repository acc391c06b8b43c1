/* SPDX-License-Identifier: Apache-2.0 */
/* What a record of an interface to devices is decoded to: a message of the device ring, and what
 * its collector must still look up. */
#ifndef SS_INJECT_DEVICE_EVENT_H
#define SS_INJECT_DEVICE_EVENT_H

#include "ring/device_ring.h"

enum ss_decoded {
    SS_DECODED_EVENT,    /* `message` and `name` are set */
    SS_DECODED_TIMELESS, /* work without times: the device had no buffer for them */
    SS_DECODED_COST,     /* overhead_ns is set */
    SS_DECODED_RECORD,   /* message.wait has an event, and the correlation of the call that recorded
                            it */
    SS_DECODED_UNKNOWN,  /* of a kind that is not read */
    SS_DECODED_SHORT     /* it ends before the fields that are read */
};

struct ss_device_event {
    union {
        struct ss_device_message head;
        struct ss_device_work_message work;
        struct ss_device_call_message call;
        struct ss_device_wait_message wait;
        struct ss_device_device_message device;
        struct ss_device_context_message context;
        struct ss_device_memory_message memory;
        struct ss_device_pool_message pool;
        struct ss_device_external_message external;
        struct ss_device_compilation_message compilation;
    } message;         /* without texts */
    size_t bytes;      /* of the message */
    uint64_t name;     /* address of a text; 0: none. Of a kernel or a device */
    uint32_t function; /* of a call: its number in the domain */
    uint64_t overhead_ns;
    /* Of rocprofiler-sdk, whose numbers the writer replaces by ours; 0: unknown. */
    uint64_t agent, other_agent, queue, external;
};

#endif
