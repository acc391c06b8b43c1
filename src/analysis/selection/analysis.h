/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parts of an analysis that several tables, rules and views share, such as device operations joined
 * to their launches. A part is built when it is first asked for, once for each selection, and is
 * freed with the selection. Building one part may ask for others. Any thread; a second thread waits
 * until the part is built.
 */
#ifndef SS_ANALYSIS_SELECTION_ANALYSIS_H
#define SS_ANALYSIS_SELECTION_ANALYSIS_H

/* A kind of part; its address identifies it. `selection` is a struct ss_selection. */
struct ss_analysis_part {
    void *(*build)(const void *selection);
    void (*free)(void *part);
};

struct ss_analysis;

struct ss_analysis *ss_analysis_new(void);
void ss_analysis_free(struct ss_analysis *analysis); /* NULL: none */

/* The part of this kind; immutable, valid until ss_analysis_free. */
const void *ss_analysis_get(struct ss_analysis *analysis, const struct ss_analysis_part *kind,
                            const void *selection);

#endif
