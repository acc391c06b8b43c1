/* SPDX-License-Identifier: Apache-2.0 */
/* A flame graph that is being rendered to SVG: state shared by flame_svg.c, flame_facts.c,
 * flame_static.c and flame_data.c. Private to flame_*.c. */
#ifndef SS_VIEW_FLAME_FLAME_SVG_PICTURE_H
#define SS_VIEW_FLAME_FLAME_SVG_PICTURE_H

#include "view/flame/flame_layout.h"
#include "view/flame/flame_svg.h"

enum { SS_FLAME_MAX_FACTS = 12, SS_FLAME_MAX_LEGEND = 10 };

/* Sizes in px; viewer/flame.js has the same. */
enum {
    SS_FLAME_ROW = 18,
    SS_FLAME_BOX = 17,
    SS_FLAME_MARGIN = 12,
    SS_FLAME_FACT_LINE = 17,
    SS_FLAME_LEGEND_LINE = 20
};

struct ss_flame_legend {
    ss_flame_class paint;
    struct ss_strview text; /* borrowed from the tree, or static */
    uint64_t samples;       /* self time; 0 in the legend of a difference */
};

struct ss_flame_picture {
    const struct ss_flame_options *options;
    const struct ss_selection *now, *base;
    struct ss_flame_tree tree;
    struct ss_flame_layout layout;
    ss_flame_class *label_class; /* by label */
    struct ss_strbuf title;
    struct ss_strbuf facts[SS_FLAME_MAX_FACTS];
    int fact_count;
    struct ss_flame_legend legend[SS_FLAME_MAX_LEGEND];
    int legend_count;
    double width_px;
    double rate_hz; /* 0: unknown, or different between inputs */
    double asked_minimum_share;
};

bool ss_flame_is_diff(const struct ss_flame_picture *picture);
/* Widths are time on devices, not samples. */
bool ss_flame_is_of_device(const struct ss_flame_picture *picture);
/* Idle in more than half of its samples: shown in grey. */
bool ss_flame_is_waiting(const struct ss_flame_node *node);
ss_flame_class ss_flame_cell_class(const struct ss_flame_picture *picture,
                                   const struct ss_flame_cell *cell);

void ss_flame_put_facts(struct ss_flame_picture *picture);
void ss_flame_put_legend(struct ss_flame_picture *picture);

/* The static picture: head, legend, rectangles and labels; its height is in px. */
double ss_flame_height(const struct ss_flame_picture *picture);
void ss_flame_write_static(const struct ss_flame_picture *picture, struct ss_sink *sink);
/* The data for the script. */
void ss_flame_write_data(const struct ss_flame_picture *picture, struct ss_sink *sink);

#endif
