/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launches whose kernels the recording lacks. What the device did then is unknown: it is not idle.
 *
 * A call that launches a kernel or a graph counts if no work of a device has its correlation, nor
 * that of a launch within it. Launches into a graph that is captured have no work of their own. No
 * launch counts of a process whose recorder found none without a kernel, or whose work names no
 * launches. Pure.
 */
#ifndef SS_ANALYSIS_LAUNCHES_LOST_KERNELS_H
#define SS_ANALYSIS_LAUNCHES_LOST_KERNELS_H

#include "analysis/launches/recorded_devices.h"
#include "analysis/selection/selection.h"

struct ss_lost_kernel {
    uint32_t process;
    uint64_t launch_ns; /* begin of the call */
    /* When it ran, if the device works in the order of launches: not before the end of the kernel
     * that was launched before, and not after the start of the next. */
    uint64_t from_ns, until_ns; /* UINT64_MAX: to the end of the recording */
    /* No later launch has a kernel, as where a recording ends before its last kernels do. */
    bool is_at_end;
};

struct ss_lost_kernels {
    struct ss_vec_of(struct ss_lost_kernel) rows; /* by process, then by launch */
    uint64_t launches;                            /* of kernels and graphs, with and without work */
    uint64_t at_end;                              /* rows that are at the end */
};

/* Of the processes of the selection; also outside the requested time. A window of `recorded` ends
 * as the recording does. */
void ss_lost_kernels_init(struct ss_lost_kernels *lost, const struct ss_selection *selection,
                          const struct ss_recorded_devices *recorded);
void ss_lost_kernels_fini(struct ss_lost_kernels *lost);

/* Launches without a kernel that begin in [begin, end). */
size_t ss_lost_kernels_count(const struct ss_lost_kernels *lost, uint32_t process,
                             uint64_t begin_ns, uint64_t end_ns);
/* Of this time, how much may have been that of lost kernels. */
uint64_t ss_lost_kernels_time(const struct ss_lost_kernels *lost, uint32_t process,
                              uint64_t begin_ns, uint64_t end_ns);
/* Whether it is unknown what the devices of the process did in [begin, end): a kernel is lost that
 * was launched then, or lost ones may have run for more than a tenth of this time. */
bool ss_lost_kernels_hide(const struct ss_lost_kernels *lost, uint32_t process, uint64_t begin_ns,
                          uint64_t end_ns);

#endif
