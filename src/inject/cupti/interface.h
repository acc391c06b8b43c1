/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the writer needs of an interface to the work of devices, such as CUPTI or rocprofiler-sdk:
 * one table of functions for each. All are called on the writer's thread.
 */
#ifndef SS_INJECT_CUPTI_INTERFACE_H
#define SS_INJECT_CUPTI_INTERFACE_H

#include <stdbool.h>
#include <stddef.h>

#include "inject/cupti/decode.h"
#include "inject/cupti/output.h"

struct ss_device_interface {
    enum ss_device_interface_of number;
    /* The record after `*record` in a full buffer; NULL: the first. false: there is no more. */
    bool (*next_record)(uint8_t *bytes, size_t valid, void **record);
    enum ss_cupti_decoded (*decode)(const void *record, size_t bytes, struct ss_cupti_event *event);
    /* Sets the names and numbers that the record alone does not have. false: another client asked
     * for the record. */
    bool (*complete)(struct ss_cupti_output *output, struct ss_cupti_event *event);
    /* The text of a function's name, by its domain as in struct ss_launch; 0: unknown. */
    uint32_t (*function_name)(int domain, uint32_t function);
    /* Whether a launch is also the record of its call; NULL: none is. */
    bool (*is_call)(int domain, uint32_t function);
    /* The domain of the ring for a domain of struct ss_launch. */
    enum ss_device_domain (*ring_domain)(int domain);
    /* Its own clock. false: it cannot be read. */
    bool (*read_clock)(uint64_t *theirs);
    /* Has complete buffers returned. */
    void (*flush)(void);
    /* Records that it dropped since the last call. */
    uint64_t (*take_dropped)(void);
};

#endif
