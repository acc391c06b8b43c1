/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What devices did for one process, from the ring of its collector (ring/device_ring.h): reads it,
 * checks every message and number, and passes it on with its texts. Input is hostile: a message
 * that makes no sense is counted and skipped.
 *
 * Owned by the recorder's thread; the sink is called synchronously.
 */
#ifndef SS_SOURCE_DEVICE_WORK_H
#define SS_SOURCE_DEVICE_WORK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/strview.h"
#include "ring/device_ring.h"

/* Texts, frames and stacks are numbers from 1, defined in order, before they are used; 0: none. */
struct ss_device_sink {
    void *context;
    void (*text)(void *context, uint32_t number, struct ss_strview text);
    void (*frame)(void *context, const struct ss_device_frame_message *frame);
    void (*stack)(void *context, const struct ss_device_stack_message *stack);
    void (*work)(void *context, const struct ss_device_work_message *work);
    void (*call)(void *context, const struct ss_device_call_message *call);
    void (*launch)(void *context, const struct ss_device_launch_message *launch);
    void (*wait)(void *context, const struct ss_device_wait_message *wait);
    void (*device)(void *context, const struct ss_device_device_message *device);
    void (*context_of)(void *context, const struct ss_device_context_message *of);
    void (*switched)(void *context, const struct ss_device_switch_message *to);
    void (*node)(void *context, const struct ss_device_node_message *node);
    void (*collective)(void *context, const struct ss_device_collective_message *collective);
    void (*memory)(void *context, const struct ss_device_memory_message *memory);
    void (*pool)(void *context, const struct ss_device_pool_message *pool);
    void (*external)(void *context, const struct ss_device_external_message *external);
    void (*compilation)(void *context, const struct ss_device_compilation_message *compilation);
    void (*metrics)(void *context, const struct ss_device_metrics_message *metrics,
                    const struct ss_device_metric *values);
    void (*sampler)(void *context, const struct ss_device_sampler_message *sampler);
    void (*sample)(void *context, const struct ss_device_sample_message *sample);
};

/* Since the start of the process. */
struct ss_device_losses {
    uint64_t dropped_records, refused_buffers, untimed_kernels, lost_messages, lost_launches;
    uint64_t unknown_records, bad_messages, overhead_ns;
};

struct ss_device_work_source;

/* `path`: of the file. SS_E_NOTFOUND, SS_E_PERMISSION as ss_ring_file_open; SS_E_FORMAT: it is no
 * such ring. */
enum ss_status ss_device_work_open(const char *path, const struct ss_device_sink *sink,
                                   struct ss_device_work_source **source, struct ss_error *err);
void ss_device_work_close(struct ss_device_work_source *source);
/* Passes on what is there, at most `most` messages. Returns their number. */
uint64_t ss_device_work_drain(struct ss_device_work_source *source, uint64_t most);
/* How full the ring is, in percent. */
uint32_t ss_device_work_fill(const struct ss_device_work_source *source);
void ss_device_work_losses(const struct ss_device_work_source *source,
                           struct ss_device_losses *losses);
/* Version of the interface that the collector uses. */
uint32_t ss_device_work_version(const struct ss_device_work_source *source);
/* What was collected until then has been read. */
uint64_t ss_device_work_flushed_ns(const struct ss_device_work_source *source);
enum ss_device_collector ss_device_work_state(const struct ss_device_work_source *source);
/* Which interface the records are from; an unknown one counts as CUPTI. */
enum ss_device_interface_of ss_device_work_interface(const struct ss_device_work_source *source);

/* For tests: reads from a consumer of the caller. */
struct ss_device_reading {
    struct ss_device_consumer consumer;
    struct ss_device_sink sink;
    uint32_t texts, frames, stacks; /* defined so far */
    uint64_t bad_messages;
};
uint64_t ss_device_reading_drain(struct ss_device_reading *reading, uint64_t most);

#endif
