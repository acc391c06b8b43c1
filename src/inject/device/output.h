/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The device ring of this process, and what goes into it: texts, frames and stacks before the
 * messages that refer to them. Used by the writer's thread, which waits for room while the recorder
 * reads.
 */
#ifndef SS_INJECT_DEVICE_OUTPUT_H
#define SS_INJECT_DEVICE_OUTPUT_H

#include <stdbool.h>

#include "inject/device/texts.h"
#include "ring/device_ring.h"

struct ss_device_output {
    struct ss_device_producer ring;
    struct ss_device_text_counts defined; /* so far */
    bool is_patient;                      /* waits for room */
    struct ss_device_name_cache *names;
};

/* Creates and maps the file. false: `problem` says why. */
bool ss_device_output_open(struct ss_device_output *output, enum ss_device_interface_of interface,
                           uint32_t version, char *problem, size_t size);
/* The recorder has its own mapping. */
void ss_device_output_close(struct ss_device_output *output);
void ss_device_output_put(struct ss_device_output *output, struct ss_device_message *message,
                          size_t bytes);
/* The message and its `count` values. */
void ss_device_output_put_metrics(struct ss_device_output *output,
                                  struct ss_device_metrics_message *message,
                                  const struct ss_device_metric *values);
/* The number of a text at an address in this process, such as the name of a kernel. */
uint32_t ss_device_output_name(struct ss_device_output *output, uint64_t address);

#endif
