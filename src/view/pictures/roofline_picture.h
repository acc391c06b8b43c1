/* SPDX-License-Identifier: Apache-2.0 */
/* A roofline that is being drawn. Private to roofline_*.c. */
#ifndef SS_VIEW_PICTURES_ROOFLINE_PICTURE_H
#define SS_VIEW_PICTURES_ROOFLINE_PICTURE_H

#include "analysis/roofline/roofline.h"
#include "view/pictures/roofline_svg.h"

/* Sizes in px. */
enum {
    SS_ROOFLINE_WIDTH = 1180,
    SS_ROOFLINE_HEIGHT = 680,
    SS_ROOFLINE_LEFT = 88,
    SS_ROOFLINE_RIGHT = 800,
    SS_ROOFLINE_TOP = 112,
    SS_ROOFLINE_BOTTOM = 610,
    SS_ROOFLINE_LEGEND = 832
};

/* The decades that an axis shows. */
struct ss_roofline_axis {
    int from, to; /* powers of ten */
};

struct ss_roofline_picture {
    const struct ss_table *families, *kernels;
    struct ss_roofline_axis x, y; /* FLOPs per byte, FLOPs per second */
    struct ss_sink *sink;
};

double ss_roofline_x(const struct ss_roofline_picture *picture, double intensity);
double ss_roofline_y(const struct ss_roofline_picture *picture, double rate);
/* A cell's number; 0: absent. */
static inline double ss_roofline_real(const struct ss_cell *cells, size_t column)
{
    return cells[column].type == SS_CELL_REAL ? cells[column].real : 0;
}
/* Whether a row has a place in the picture. */
static inline bool ss_roofline_is_drawn(const struct ss_cell *cells)
{
    return ss_roofline_real(cells, SS_ROOFLINE_RATE) > 0 &&
           ss_roofline_real(cells, SS_ROOFLINE_INTENSITY) > 0;
}
/* Whether that place is within the axes. */
bool ss_roofline_is_inside(const struct ss_roofline_picture *picture, const struct ss_cell *cells);
/* The colour of what kernels compute, by its name. */
const char *ss_roofline_colour(struct ss_strview family);

void ss_roofline_write_roofs(const struct ss_roofline_picture *picture);
/* Of the roofs; over the dots. */
void ss_roofline_write_labels(const struct ss_roofline_picture *picture);
void ss_roofline_write_points(const struct ss_roofline_picture *picture);
void ss_roofline_write_legend(const struct ss_roofline_picture *picture);

#endif
