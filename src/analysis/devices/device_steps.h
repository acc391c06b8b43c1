/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps of a training on its devices. The time of a step, from begin to end on the host, splits
 * exactly into compute, exposed communication, exposed copies and idle time of each device. Work
 * that runs after its step has ended on the host is in the step in which it runs; how much work
 * each step launched is summed beside it. Pure; immutable once built. Borrows the model and the
 * summary of the steps.
 */
#ifndef SS_ANALYSIS_DEVICES_DEVICE_STEPS_H
#define SS_ANALYSIS_DEVICES_DEVICE_STEPS_H

#include "analysis/devices/device_busy.h"
#include "analysis/devices/device_gaps.h"
#include "analysis/devices/device_queue.h"
#include "analysis/steps/step_analysis.h"

/* A step on one device of its process. */
struct ss_device_step {
    size_t step; /* index into the steps of the training */
    size_t part; /* index into works.parts */
    struct ss_busy_times times;
    uint64_t gap_ns[SS_GAP_CAUSES]; /* of the idle time; adds up to it */
    uint64_t launches;              /* works whose call began in the step */
    uint64_t launched_ns;           /* their time, wherever it is */
    uint64_t late_ns;               /* of it, what runs after the step's end */
    uint64_t delay_ns;              /* sum over them: from the start of the call to theirs */
    uint64_t kernels, kernel_ns;    /* that began on the device in the step */
    struct ss_queue_depth queued;   /* works launched that had not begun: find_queues */
};

/* Over all steady-state steps and devices. */
struct ss_device_mean {
    size_t steps; /* with device work; a step on two devices counts twice */
    uint64_t total_ns;
    struct ss_busy_times times;
    uint64_t gap_ns[SS_GAP_CAUSES];
    uint64_t launches, launched_ns, late_ns, delay_ns, kernels, kernel_ns;
};

struct ss_device_summary {
    const struct ss_device_works *works;           /* of the selection */
    struct ss_vec_of(struct ss_device_step) steps; /* by step, then by part */
    struct ss_device_mean mean;
};

/* Built once for each summary of steps. Without work of devices, empty. */
const struct ss_device_summary *ss_steps_devices(const struct ss_selection *selection,
                                                 const struct ss_step_summary *training);
/* The same, of the caller's own. */
void ss_device_summary_init(struct ss_device_summary *summary, const struct ss_selection *selection,
                            const struct ss_step_summary *training);
/* Fills `queued`, which takes memory for each work. */
void ss_device_summary_find_queues(struct ss_device_summary *summary, const struct ss_model *model,
                                   const struct ss_step_summary *training);
void ss_device_summary_fini(struct ss_device_summary *summary);

/* The mean per step. */
static inline double ss_device_per_step(const struct ss_device_summary *summary, uint64_t total)
{
    return summary->mean.steps > 0 ? (double)total / (double)summary->mean.steps : 0;
}
/* Percent of the time of the steady-state steps. */
static inline double ss_device_percent(const struct ss_device_summary *summary, uint64_t total_ns)
{
    return summary->mean.total_ns > 0 ? 100 * (double)total_ns / (double)summary->mean.total_ns : 0;
}

/* One row per step and device; what is unknown is absent. */
enum ss_device_step_column {
    SS_DEVICE_STEP_PID,
    SS_DEVICE_STEP_RANK,
    SS_DEVICE_STEP_DEVICE,
    SS_DEVICE_STEP_NUMBER,
    SS_DEVICE_STEP_KIND,
    SS_DEVICE_STEP_DURATION,
    SS_DEVICE_STEP_WORK,    /* "unknown": the recording lacks kernels of it; else "recorded" */
    SS_DEVICE_STEP_COMPUTE, /* this and the next three add up to the duration */
    SS_DEVICE_STEP_COMMUNICATION,
    SS_DEVICE_STEP_COPY,
    SS_DEVICE_STEP_IDLE,
    SS_DEVICE_STEP_OVERLAP, /* percent of communication; absent: none */
    SS_DEVICE_STEP_INPUT,   /* this and the next six add up to the idle time */
    SS_DEVICE_STEP_WAIT,
    SS_DEVICE_STEP_HOST,
    SS_DEVICE_STEP_DEPENDENCY,
    SS_DEVICE_STEP_GRAPH,
    SS_DEVICE_STEP_LATENCY,
    SS_DEVICE_STEP_UNKNOWN,
    SS_DEVICE_STEP_LAUNCHES,
    SS_DEVICE_STEP_LAUNCHED, /* time of the work that the step launched */
    SS_DEVICE_STEP_LATE,     /* of it, what runs after the step's end */
    SS_DEVICE_STEP_DELAY,    /* mean, from the call's start to the operation's start */
    SS_DEVICE_STEP_QUEUED,   /* works launched that have not begun: the mean, the most at a time */
    SS_DEVICE_STEP_MOST_QUEUED,
    SS_DEVICE_STEP_LOST, /* launches without a kernel in the recording */
    SS_DEVICE_STEP_COLUMNS
};
void ss_device_steps_table(const struct ss_selection *selection,
                           const struct ss_step_summary *training, uint64_t max_rows,
                           struct ss_table *table);

#endif
