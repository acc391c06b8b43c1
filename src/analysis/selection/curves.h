/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters over the time of a recording, as curves of pictures: those that measure one thing in one
 * unit share a picture. Of more values than a picture has room for, the lowest and the highest of
 * each piece of time remain. Texts are borrowed from the model. Pure; immutable once built.
 */
#ifndef SS_ANALYSIS_SELECTION_CURVES_H
#define SS_ANALYSIS_SELECTION_CURVES_H

#include "analysis/selection/selection.h"
#include "base/vec.h"

enum { SS_CURVE_POINTS_MOST = 240, SS_CURVES_MOST = 8, SS_CURVE_PICTURES_MOST = 16 };

struct ss_curve_point {
    uint64_t time_ns; /* since the first value of all curves */
    double low, high;
};

struct ss_curve {
    struct ss_strview name;
    struct ss_vec_of(struct ss_curve_point) points;
};

struct ss_curve_picture {
    struct ss_strview group; /* "memory"; empty: the counters of a process alone */
    struct ss_strview unit;
    int64_t pid; /* of their process; -1: of the host */
    struct ss_vec_of(struct ss_curve) curves;
    size_t hidden; /* curves that do not fit */
};

struct ss_curves {
    struct ss_vec_of(struct ss_curve_picture) pictures;
    uint64_t end_ns; /* of the time axis */
    size_t hidden;   /* pictures that do not fit */
};

void ss_curves_init(struct ss_curves *curves, const struct ss_selection *selection);
void ss_curves_fini(struct ss_curves *curves);

#endif
