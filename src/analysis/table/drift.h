/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a series drifts: rises or falls from its start to its end. Pure.
 *
 * Steps in a row are joined to at most SS_DRIFT_POINTS points, each the median of its steps, so
 * that slow single steps do not count. The slope is that of Theil and Sen: the median of the slopes
 * between all pairs of points. Its interval is Sen's, from the variance of Kendall's S; since steps
 * resemble their neighbours, that variance is multiplied by what the correlation of the ranks adds
 * (Hamed and Rao 1998), of what the closest series leaves that only rises, or only falls. A drift
 * is certain only if S excludes chance at 99.9 %: a run has many series, of each rank and stage. In
 * simulations (tests/unit/analysis/test_drift.c) of healthy runs of 40 to 400 steps whose
 * neighbours correlate by at most 0.8, at most 1.5 % were called drifting.
 *
 * Where the series fits two levels better than a line (by the sum of the absolute differences), it
 * changed at one step, and the step is searched among the single ones. Ranks do not show how far
 * the levels are apart: a change that is much larger than what the points differ from their levels,
 * each of a fifth of the points or more, is certain by that alone. It is then the difference of the
 * levels, and its interval that of 95 % of the points of each.
 */
#ifndef SS_ANALYSIS_TABLE_DRIFT_H
#define SS_ANALYSIS_TABLE_DRIFT_H

#include <stdbool.h>
#include <stddef.h>

enum { SS_DRIFT_POINTS = 100, SS_DRIFT_FEWEST = 40 };

struct ss_drift {
    size_t count;          /* of values; with fewer than SS_DRIFT_FEWEST, nothing else is known */
    double median;         /* of the values */
    double change;         /* slope times the time from the first to the last, or of the levels */
    double low, high;      /* of the change, at 95 % */
    double tau;            /* Kendall's, of the points: -1 to 1 */
    bool is_certain;       /* at 99.9 % */
    bool has_changed_once; /* two levels fit better than a line */
    size_t change_at;      /* the first value of the second level */
    double before, after;  /* the levels; without a change point the ends of the line */
};

/* `times` ascend; both have `count` entries. */
void ss_drift_find(const double *times, const double *values, size_t count, struct ss_drift *drift);

#endif
