/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps whose work on devices was recorded. torch.profiler records it in a few steps: then the
 * counter "device work recorded" of the process is 1 from begin to end of such a window, else 0. Of
 * a process without the counter all steps count. Steps that the recorder sums ("detail recorded",
 * recorded_steps.h) lack it. Pure; immutable once built.
 */
#ifndef SS_ANALYSIS_LAUNCHES_RECORDED_DEVICES_H
#define SS_ANALYSIS_LAUNCHES_RECORDED_DEVICES_H

#include "base/vec.h"
#include "model/core/model.h"

struct ss_recorded_window {
    uint32_t process;
    uint64_t begin_ns, end_ns;
};

struct ss_recorded_devices {
    const struct ss_model *model;
    bool *is_partial;                                    /* by process; else all was recorded */
    struct ss_vec_of(struct ss_recorded_window) windows; /* by process, then by begin */
};

void ss_recorded_devices_init(struct ss_recorded_devices *recorded, const struct ss_model *model);
void ss_recorded_devices_fini(struct ss_recorded_devices *recorded);
/* Whether a window has the step, but for a tenth: a profiler starts within its first step, and
 * stops within its last. */
bool ss_recorded_devices_has(const struct ss_recorded_devices *recorded, uint32_t process,
                             uint64_t begin_ns, uint64_t end_ns);

/* The end of the window that has the time; UINT64_MAX: none has. */
uint64_t ss_recorded_devices_until(const struct ss_recorded_devices *recorded, uint32_t process,
                                   uint64_t time_ns);

#endif
