/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of rocprofiler-sdk to messages of the device ring. The SDK's own thread copies what is
 * read of them into buffers (records.c), each behind a head; the writer decodes them. Pure: reads
 * the record alone, of which the caller knows how many bytes exist, and follows no pointer in it.
 */
#ifndef SS_INJECT_ROCM_DECODE_H
#define SS_INJECT_ROCM_DECODE_H

#include "inject/device/event.h"

enum ss_rocm_what {
    SS_ROCM_KERNEL = 1,
    SS_ROCM_COPY,
    SS_ROCM_HIP_CALL,
    SS_ROCM_COMPILER_CALL,
    SS_ROCM_RCCL_CALL,
    SS_ROCM_AGENT
};

/* In a buffer; the SDK's record follows. */
struct ss_rocm_record {
    uint32_t bytes; /* with this head; a multiple of 8 */
    uint32_t what;  /* enum ss_rocm_what */
};

/* How much of a record is read, which says itself that it has `size`; 0: it is too short. */
size_t ss_rocm_read_bytes(enum ss_rocm_what what, uint64_t size);
/* Finds the record after `*record` in a buffer; NULL: the first. false: there is no more. */
bool ss_rocm_next_record(uint8_t *bytes, size_t valid, void **record);
/* `bytes`: from the record to the end of the buffer's valid part. */
enum ss_decoded ss_rocm_decode(const void *record, size_t bytes, struct ss_device_event *event);

#endif
