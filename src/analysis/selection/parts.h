/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parts of an analysis that several tables, rules and views share, such as device operations joined
 * to their launches. A part is built when it is first asked for, once for each selection, and is
 * freed with the selection. Building one part may ask for others. Any thread; a second thread waits
 * until the part is built.
 */
#ifndef SS_ANALYSIS_SELECTION_PARTS_H
#define SS_ANALYSIS_SELECTION_PARTS_H

/* A kind of part; its address identifies it. `selection` is a struct ss_selection. */
struct ss_part_kind {
    void *(*build)(const void *selection);
    void (*free)(void *part);
};

struct ss_parts;

struct ss_parts *ss_parts_new(void);
void ss_parts_free(struct ss_parts *parts); /* NULL: none */

/* The part of this kind; immutable, valid until ss_parts_free. */
const void *ss_parts_get(struct ss_parts *parts, const struct ss_part_kind *kind,
                         const void *selection);

#endif
