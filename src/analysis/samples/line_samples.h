/* SPDX-License-Identifier: Apache-2.0 */
/* The hot line of user code of each group of samples. Private to analysis/. */
#ifndef SS_ANALYSIS_SAMPLES_LINE_SAMPLES_H
#define SS_ANALYSIS_SAMPLES_LINE_SAMPLES_H

#include "analysis/steps/steps.h"

/* Samples of one group at one line, with one leaf. */
struct ss_line_sample {
    size_t group;
    uint32_t frame, leaf; /* leaf 0: the frame itself */
    uint64_t samples;
};

struct ss_line_samples {
    struct ss_vec_of(struct ss_line_sample) rows;
    uint32_t *own; /* by stack: its line */
};

/* The line of a stack is its innermost frame of user code; without any, the leaf. */
void ss_line_samples_init(struct ss_line_samples *lines, const struct ss_model *model);
void ss_line_samples_fini(struct ss_line_samples *lines);
/* Adds a total to the group, and its samples to `line`, the group's. */
void ss_line_samples_add(struct ss_line_samples *lines, const struct ss_model *model, size_t group,
                         const struct ss_model_total *total, struct ss_phase_line *line);
/* Sets frame, leaf and samples of the group's line. */
void ss_line_samples_find(struct ss_line_samples *lines, size_t group, struct ss_phase_line *line);

#endif
