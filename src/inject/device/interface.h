/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the writer needs of an interface to the work of devices, such as CUPTI or rocprofiler-sdk:
 * one table of functions for each. All are called on the writer's thread.
 */
#ifndef SS_INJECT_DEVICE_INTERFACE_H
#define SS_INJECT_DEVICE_INTERFACE_H

#include <stdbool.h>
#include <stddef.h>

#include "inject/device/event.h"
#include "inject/device/output.h"

struct ss_device_interface {
    enum ss_device_interface_of number;
    /* The record after `*record` in a full buffer; NULL: the first. false: there is no more. */
    bool (*next_record)(uint8_t *bytes, size_t valid, void **record);
    enum ss_decoded (*decode)(const void *record, size_t bytes, struct ss_device_event *event);
    /* Sets the names and numbers that the record alone does not have. false: another client asked
     * for the record. */
    bool (*complete)(struct ss_device_output *output, struct ss_device_event *event);
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
    /* Operations of a communication library that were launched since the last call, at most `most`;
     * their launches are in the queues (launch_queue.h) before. */
    size_t (*take_collectives)(struct ss_device_collective_message *messages, size_t most);
    /* Where nodes of graphs were made since the last call; NULL: it has no graphs. */
    void (*drain_nodes)(void (*visit)(uint64_t node, uint32_t stack));
    /* Samples of the device's counters. Returns how many were lost; NULL: it has none. */
    uint64_t (*drain_samples)(void (*visit)(struct ss_device_message *message, size_t bytes));
};

#endif
