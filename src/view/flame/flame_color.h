/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Colours of a flame graph as CSS classes, each with a light and a dark value. A package has
 * the same hue, and a function the same shade, in every graph. Pure functions over const tables.
 */
#ifndef SS_VIEW_FLAME_FLAME_COLOR_H
#define SS_VIEW_FLAME_FLAME_COLOR_H

#include "view/flame/flame_tree.h"

enum ss_flame_scheme {
    SS_FLAME_BY_MODULE,   /* hue by package; your code and the standard library have their own */
    SS_FLAME_BY_ORIGIN,   /* your code, packages, standard library, native */
    SS_FLAME_BY_FUNCTION, /* hue by function */
    SS_FLAME_WARM         /* the classic reds and yellows */
};
extern const char *const ss_flame_scheme_names[]; /* in that order, NULL-terminated */

/* Dense ids of all classes. */
typedef uint16_t ss_flame_class;
enum { SS_FLAME_MAX_CLASSES = 512, SS_FLAME_DIFF_STEPS = 5 };

ss_flame_class ss_flame_class_of(const struct ss_flame_tree *tree,
                                 const struct ss_flame_label *label, enum ss_flame_scheme scheme);
ss_flame_class ss_flame_class_waiting(void);
ss_flame_class ss_flame_class_folded(void);
/* -SS_FLAME_DIFF_STEPS (shrank) … 0 (no significant difference) … +SS_FLAME_DIFF_STEPS. */
ss_flame_class ss_flame_class_diff(int step);

struct ss_flame_paint {
    char name[8];  /* of the class, without the dot */
    char light[8]; /* "#rrggbb" */
    char dark[8];
};
void ss_flame_paint_of(ss_flame_class class, struct ss_flame_paint *paint);

#endif
