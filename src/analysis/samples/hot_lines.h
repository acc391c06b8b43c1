/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hot lines: the lines of user code at which a step spends time that is not PyTorch's computing.
 * Reporting them needs no rule. In phases that compute (forward, backward, optimizer) only time
 * outside operators counts; in other phases all time but that of operators that compute.
 * Evaluation, checkpoints, communication, compilation, logging and the waits for batches and for
 * the GIL are left out: rules of their own cover them. A line counts with all that it calls.
 *
 * Operators that compute: those in a phase that computes, and those in no phase, between forward,
 * backward and update (losses, clipping) or in a function forward() of user code. All others serve
 * a copy, a metric or a batch, and count. Those of a line that reads tensor values count wherever
 * no phase computes. Pure, except for the caller's source.
 */
#ifndef SS_ANALYSIS_SAMPLES_HOT_LINES_H
#define SS_ANALYSIS_SAMPLES_HOT_LINES_H

#include "analysis/samples/activities.h"
#include "analysis/steps/steps.h"

enum { SS_MAX_HOT_LINES = 4 };

struct ss_hot_line {
    const struct ss_step_phase *phase;
    struct ss_phase_line line; /* `all`: the samples of the phase */
    uint32_t caller;           /* frame of the heaviest line, if it calls this line; else 0 */
    bool is_function; /* the samples are of the line's whole function: no line has most of them */
    enum ss_activity activity; /* of most of its samples */
    uint64_t cost_ns;          /* mean over steady-state steps and outliers */
    uint64_t error_ns;         /* sampling error of cost_ns, at 95 % */
};

/* The heaviest first; each sample counts for one line. */
struct ss_hot_lines {
    struct ss_hot_line rows[SS_MAX_HOT_LINES];
    size_t count;
};

struct ss_hot_lines_options {
    struct ss_activities *activities;
    bool is_disturbed; /* by other programs: samples that wait for a core say nothing of the line */
};

/* The model must have been loaded with sample_phases. */
void ss_hot_lines_find(struct ss_hot_lines *lines, const struct ss_selection *selection,
                       const struct ss_step_summary *steps,
                       const struct ss_hot_lines_options *options);

#endif
