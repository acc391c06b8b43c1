/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parts of an analysis that several tables, rules and views share, such as device operations joined
 * to their launches. A part is built when it is first asked for, once for each selection or once
 * for each summary of steps (analysis/steps/step_analysis.h), and is freed with it. Building one
 * part may ask for others. Any thread; a second thread waits until the part is built.
 *
 * What each part cost is logged (STEPSCOPE_LOG=analysis:debug).
 */
#ifndef SS_ANALYSIS_SELECTION_ANALYSIS_H
#define SS_ANALYSIS_SELECTION_ANALYSIS_H

/* A kind of part; its address identifies it. `of` is a struct ss_selection, or a struct
 * ss_step_analysis. */
struct ss_analysis_part {
    const char *name; /* "device works" */
    void *(*build)(const void *of);
    void (*free)(void *part);
};

struct ss_analysis;

struct ss_analysis *ss_analysis_new(void);
void ss_analysis_free(struct ss_analysis *analysis); /* NULL: none */

/* The part of this kind; immutable, valid until ss_analysis_free. */
const void *ss_analysis_get(struct ss_analysis *analysis, const struct ss_analysis_part *kind,
                            const void *of);

#endif
