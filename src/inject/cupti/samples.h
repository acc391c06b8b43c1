/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters of devices over time: PM sampling of CUPTI 12.6 and later, on each device that this
 * process uses, in a thread of its own. Counters of a device count for all its programs.
 *
 * CUPTI does not say which clock its samples have. Where the first one lies between the start of
 * sampling and now, it is ours; else it is taken to begin when sampling was started.
 */
#ifndef SS_INJECT_CUPTI_SAMPLES_H
#define SS_INJECT_CUPTI_SAMPLES_H

#include <stdbool.h>

#include "inject/cupti/load.h"
#include "ring/device_ring.h"

struct ss_cupti_sampling_hooks {
    bool (*is_open)(void); /* the recording goes on; on the thread of the sampler */
    /* One line: what is sampled, or why nothing is, with the fix. The same thread. */
    void (*describe)(const char *text, bool is_problem);
};

/* Samples devices as soon as the process uses them. false: there is no thread. */
bool ss_cupti_samples_start(const struct ss_cupti *cupti, uint64_t interval_ns,
                            const struct ss_cupti_sampling_hooks *hooks);
/* Waits until the last samples are there, at most so long. */
void ss_cupti_samples_end(unsigned wait_ms);
/* The writer: passes what waits, in its order. Returns how much was lost since the last call. */
uint64_t ss_cupti_samples_drain(void (*visit)(struct ss_device_message *message, size_t bytes));

#endif
