/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lines of your own code at which a step spends time that is not PyTorch's computing: the plain
 * statement that needs no rule. Of the phases that compute (forward, backward, optimizer) only time
 * outside of operators counts; of the others all time but that of operators which compute.
 * Evaluation, checkpoints, communication, compilation, logging and the waits for batches and
 * for the GIL are left out: they have rules of their own. A line counts with all that it calls.
 *
 * Which operators compute: those in a phase that computes, and in no phase but between forward,
 * backward and update (losses, clipping) or in a function forward() of your own. Others serve a
 * copy, a metric or a batch, and count. So do those of a line that reads values of tensors,
 * wherever it is. Pure, but for the source of the caller.
 */
#ifndef SS_ANALYSIS_HOT_LINES_H
#define SS_ANALYSIS_HOT_LINES_H

#include "analysis/activities.h"
#include "analysis/steps.h"

enum { SS_MOST_HOT_LINES = 4 };

struct ss_hot_line {
    const struct ss_step_phase *phase;
    struct ss_phase_line line; /* `all`: the samples of the phase */
    uint32_t caller;           /* frame of the loop's line that leads there; 0: it is that line */
    bool is_function;          /* the samples are of the line's whole function: no line has most */
    enum ss_activity activity; /* what most of its samples do */
    uint64_t cost_ns;          /* per step, slow ones too, without warm-up */
    uint64_t error_ns;         /* the sampling error of that, at 95 % */
};

/* The heaviest first; no sample counts for two. */
struct ss_hot_lines {
    struct ss_hot_line rows[SS_MOST_HOT_LINES];
    size_t count;
};

struct ss_hot_lines_options {
    struct ss_activities *activities;
};

/* The model must have been loaded with sample_phases. */
void ss_hot_lines_find(struct ss_hot_lines *lines, const struct ss_selection *selection,
                       const struct ss_step_summary *steps,
                       const struct ss_hot_lines_options *options);

#endif
