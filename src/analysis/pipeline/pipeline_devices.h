/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the devices of pipeline stages do in a step: the host only queues their work, and the time
 * that it takes for that says nothing. A kernel belongs to the step and to the phase in which it
 * was launched, wherever it runs. Of several devices of a process, the first counts. Pure;
 * immutable once built. Borrows the model and the summary of the steps.
 */
#ifndef SS_ANALYSIS_PIPELINE_PIPELINE_DEVICES_H
#define SS_ANALYSIS_PIPELINE_PIPELINE_DEVICES_H

#include "analysis/devices/device_busy.h"
#include "analysis/steps/step_parts.h"

/* What a stage does in a step. */
struct ss_pipeline_pass {
    uint64_t first_forward_ns, last_forward_ns, first_backward_ns, last_backward_ns;
    uint64_t work_ns, forwards;
};

struct ss_pipeline_devices {
    const struct ss_step_summary *training;
    const struct ss_device_works *works; /* of the selection */
    struct ss_busy *busy;                /* by process of the model */
    struct ss_pipeline_pass *passes;     /* by step; without work_ns and forwards */
};

/* `forward`, `backward`: phases of the summary, of which `parts` has the times on the host. */
void ss_pipeline_devices_init(struct ss_pipeline_devices *devices,
                              const struct ss_selection *selection,
                              const struct ss_step_summary *training,
                              const struct ss_step_parts *parts, size_t forward, size_t backward);
/* Whether the devices of a process ran kernels, but the recording lacks those of this step. */
bool ss_pipeline_devices_lack(const struct ss_pipeline_devices *devices,
                              const struct ss_step *step);
void ss_pipeline_devices_fini(struct ss_pipeline_devices *devices);

/* Takes the times of a pass from its device. false: its kernels of both phases were not recorded.
 */
bool ss_pipeline_devices_find(const struct ss_pipeline_devices *devices, const struct ss_step *step,
                              struct ss_pipeline_pass *pass);
/* How long the device of a process computes in [from, until). */
uint64_t ss_pipeline_devices_work_ns(const struct ss_pipeline_devices *devices, uint32_t process,
                                     uint64_t from_ns, uint64_t until_ns);

#endif
