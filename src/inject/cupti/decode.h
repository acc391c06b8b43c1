/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of CUPTI to messages of the device ring. Pure: reads the record alone, of which the
 * caller knows how many bytes exist, and follows no pointer in it. Names stay addresses in the
 * program's memory.
 */
#ifndef SS_INJECT_CUPTI_DECODE_H
#define SS_INJECT_CUPTI_DECODE_H

#include "ring/device_ring.h"

enum ss_cupti_decoded {
    SS_CUPTI_DECODED,  /* `message` and `name` are set */
    SS_CUPTI_TIMELESS, /* work without times: the device had no buffer for them */
    SS_CUPTI_COST,     /* overhead_ns is set */
    SS_CUPTI_UNKNOWN,  /* of a kind that is not read */
    SS_CUPTI_SHORT     /* it ends before the fields that are read */
};

struct ss_cupti_event {
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

/* `bytes`: from the record to the end of the buffer's valid part. */
enum ss_cupti_decoded ss_cupti_decode(const void *record, size_t bytes,
                                      struct ss_cupti_event *event);

#endif
