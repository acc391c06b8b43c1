/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/table/drift.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/alloc.h"

enum { PAIRS = SS_DRIFT_POINTS * (SS_DRIFT_POINTS - 1) / 2, LEAST_LEVEL = 5 };

/* The correlation of what a fit leaves is too small by so much over n (in simulations). */
static const double lost_lags = 9;
/* Two levels that are so many mean absolute differences from them apart are not noise. */
static const double clear_jump = 8;
/* Of the normal distribution: 97.5 % and 99.95 %. */
static const double quantile_95 = 1.959964, quantile_999 = 3.290527;

struct points {
    size_t count;
    size_t first[SS_DRIFT_POINTS + 1]; /* value with which each begins; the end */
    double time[SS_DRIFT_POINTS], value[SS_DRIFT_POINTS];
};

/* The value that would be at `place` if they were sorted (Hoare's FIND). Reorders them. */
static double select_at(double *values, size_t count, size_t place)
{
    ptrdiff_t first = 0, last = (ptrdiff_t)count - 1, wanted = (ptrdiff_t)place;
    while (first < last) {
        double pivot = values[wanted];
        ptrdiff_t low = first, high = last;
        while (low <= high) {
            while (values[low] < pivot) {
                low++;
            }
            while (pivot < values[high]) {
                high--;
            }
            if (low <= high) {
                double value = values[low];
                values[low++] = values[high];
                values[high--] = value;
            }
        }
        first = high < wanted ? low : first;
        last = wanted < low ? high : last;
    }
    return values[wanted];
}

/* Reorders them. */
static double median_of(double *values, size_t count)
{
    double upper = select_at(values, count, count / 2);
    return count % 2 == 1 ? upper : (select_at(values, count, count / 2 - 1) + upper) / 2;
}

static void join(const double *times, const double *values, size_t count, struct points *points)
{
    double *copy = ss_alloc(count * sizeof *copy);
    points->count = count < SS_DRIFT_POINTS ? count : SS_DRIFT_POINTS;
    for (size_t i = 0; i <= points->count; i++) {
        points->first[i] = i * count / points->count;
    }
    for (size_t i = 0; i < points->count; i++) {
        size_t first = points->first[i], length = points->first[i + 1] - first;
        memcpy(copy, times + first, length * sizeof *copy);
        points->time[i] = median_of(copy, length);
        memcpy(copy, values + first, length * sizeof *copy);
        points->value[i] = median_of(copy, length);
    }
    ss_free(copy);
}

/* --- slope ------------------------------------------------------------------------------------ */

/* In no order. Returns Kendall's S. */
static double find_slopes(const struct points *points, double *slopes, size_t *count)
{
    double s = 0;
    *count = 0;
    for (size_t i = 0; i < points->count; i++) {
        for (size_t j = i + 1; j < points->count; j++) {
            double apart = points->time[j] - points->time[i];
            double more = points->value[j] - points->value[i];
            s += (more > 0) - (more < 0);
            if (apart > 0) {
                slopes[(*count)++] = more / apart;
            }
        }
    }
    return s;
}

/* About their mean. */
static void rank_values(const struct points *points, double sign, double *ranks)
{
    for (size_t i = 0; i < points->count; i++) {
        double below = 0, equal = 0;
        for (size_t j = 0; j < points->count; j++) {
            below += points->value[j] < points->value[i];
            equal += points->value[j] == points->value[i];
        }
        ranks[i] = sign * (below + (equal + 1) / 2 - ((double)points->count + 1) / 2);
    }
}

/* Leaves what differs from the closest series that only rises: neighbours that violate the order
 * are pooled to their mean. A drift of any form leaves nothing, noise nearly all. */
static void subtract_monotone(double *ranks, size_t points)
{
    double mean[SS_DRIFT_POINTS];
    size_t length[SS_DRIFT_POINTS], count = 0;
    for (size_t i = 0; i < points; i++) {
        mean[count] = ranks[i];
        length[count++] = 1;
        while (count > 1 && mean[count - 2] >= mean[count - 1]) {
            double a = (double)length[count - 2], b = (double)length[count - 1];
            mean[count - 2] = (a * mean[count - 2] + b * mean[count - 1]) / (a + b);
            length[count - 2] += length[count - 1];
            count--;
        }
    }
    for (size_t k = 0, at = 0; k < count; k++) {
        for (size_t i = 0; i < length[k]; i++, at++) {
            ranks[at] -= mean[k];
        }
    }
}

static double correlation_at(const double *ranks, size_t count, size_t lag)
{
    double both = 0, all = 0;
    for (size_t i = 0; i < count; i++) {
        both += i + lag < count ? ranks[i] * ranks[i + lag] : 0;
        all += ranks[i] * ranks[i];
    }
    return all > 0 ? both / all : -1; /* a drift without noise */
}

/* By how much correlated points vary more than independent ones. Correlation counts up to the first
 * lag without any. */
static double variance_factor(const struct points *points, double s)
{
    double ranks[SS_DRIFT_POINTS], n = (double)points->count, sum = 0;
    rank_values(points, s < 0 ? -1 : 1, ranks);
    subtract_monotone(ranks, points->count);
    for (size_t lag = 1; lag < points->count / 4; lag++) {
        double k = (double)lag;
        double correlation = correlation_at(ranks, points->count, lag) + lost_lags / n;
        if (correlation <= 0) {
            break;
        }
        sum += (n - k) * (n - k - 1) * (n - k - 2) * correlation;
    }
    return 1 + 2 * sum / (n * (n - 1) * (n - 2));
}

static double slope_at(double *slopes, size_t count, double place)
{
    double at = place < 0 ? 0 : place > (double)(count - 1) ? (double)(count - 1) : place;
    return select_at(slopes, count, (size_t)at);
}

/* --- change point ----------------------------------------------------------------------------- */

static double differences_from(const double *values, size_t count, double level)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += fabs(values[i] - level);
    }
    return sum;
}

/* Values in ascending order, to which one after the other is added. */
struct ascending {
    size_t count;
    double values[SS_DRIFT_POINTS];
};

/* Returns the median of all so far. */
static double add_value(struct ascending *ascending, double value)
{
    double *values = ascending->values;
    size_t at = ascending->count++, count = ascending->count;
    for (; at > 0 && values[at - 1] > value; at--) {
        values[at] = values[at - 1];
    }
    values[at] = value;
    return count % 2 == 1 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

/* 0: there is no room for two levels. */
static size_t best_split(const struct points *points, double *spread, double *before, double *after)
{
    struct ascending lower = {.count = 0}, upper = {.count = 0};
    double low[SS_DRIFT_POINTS + 1],
        high[SS_DRIFT_POINTS + 1]; /* medians on both sides of a split */
    size_t best = 0, count = points->count;
    for (size_t i = 0; i < count; i++) {
        low[i + 1] = add_value(&lower, points->value[i]);
        high[count - 1 - i] = add_value(&upper, points->value[count - 1 - i]);
    }
    for (size_t i = LEAST_LEVEL; i + LEAST_LEVEL <= count; i++) {
        double sum = differences_from(points->value, i, low[i]) +
                     differences_from(points->value + i, count - i, high[i]);
        if (best == 0 || sum < *spread) {
            best = i;
            *spread = sum;
            *before = low[i];
            *after = high[i];
        }
    }
    return best;
}

/* The single value at which the second level begins: in the point before or behind the split. */
static size_t split_values(const double *values, const struct points *points, size_t split,
                           double before, double after)
{
    size_t first = points->first[split - 1], best = first;
    size_t end = points->first[split + 1 <= points->count ? split + 1 : split];
    double sum = 0, least = 0;
    for (size_t i = first; i < end; i++) {
        sum += fabs(values[i] - before) - fabs(values[i] - after);
        if (sum < least) {
            least = sum;
            best = i + 1;
        }
    }
    return best;
}

/* Of a series with few values, the first and the last are the quantiles. */
static void quantiles_of(const double *values, size_t count, double *low, double *high)
{
    double copy[SS_DRIFT_POINTS];
    size_t left_out = count / 40;
    memcpy(copy, values, count * sizeof *copy);
    *low = select_at(copy, count, left_out);
    *high = select_at(copy, count, count - 1 - left_out);
}

/* Where two levels are far apart, ranks say too little: the slopes within them are as many as those
 * between them. */
static void set_clear_jump(const struct points *points, size_t split, double spread,
                           struct ss_drift *drift)
{
    size_t behind = points->count - split, least = points->count / 5;
    double low_before, high_before, low_after, high_after;
    drift->change = drift->after - drift->before;
    drift->is_certain = drift->change != 0 && split >= least && behind >= least &&
                        fabs(drift->change) >= clear_jump * spread;
    quantiles_of(points->value, split, &low_before, &high_before);
    quantiles_of(points->value + split, behind, &low_after, &high_after);
    drift->low = low_after - high_before;
    drift->high = high_after - low_before;
}

static void find_levels(const double *values, const struct points *points, double slope,
                        struct ss_drift *drift)
{
    double left[SS_DRIFT_POINTS], ordered[SS_DRIFT_POINTS], spread = 0, before = 0, after = 0;
    for (size_t i = 0; i < points->count; i++) {
        left[i] = points->value[i] - slope * points->time[i];
    }
    memcpy(ordered, left, points->count * sizeof *left);
    double origin = median_of(ordered, points->count);
    double line = differences_from(left, points->count, origin);
    size_t split = best_split(points, &spread, &before, &after);
    drift->before = origin + slope * points->time[0];
    drift->after = origin + slope * points->time[points->count - 1];
    if (split > 0 && spread < line) {
        drift->has_changed_once = true;
        drift->before = before;
        drift->after = after;
        drift->change_at = split_values(values, points, split, before, after);
        set_clear_jump(points, split, spread / (double)points->count, drift);
    }
}

/* `span`: from the first to the last time. */
static void find_change(const double *values, const struct points *points, double span,
                        struct ss_drift *drift)
{
    double *slopes = ss_alloc(PAIRS * sizeof *slopes);
    size_t count;
    double s = find_slopes(points, slopes, &count), n = (double)points->count;
    if (count > 0) {
        double slope = median_of(slopes, count);
        find_levels(values, points, slope, drift);
        double deviation = sqrt(n * (n - 1) * (2 * n + 5) / 18 * variance_factor(points, s));
        double pairs = (double)count, wide = quantile_95 * deviation;
        drift->tau = 2 * s / (n * (n - 1));
        if (!drift->is_certain) {
            drift->change = slope * span;
            drift->low = span * slope_at(slopes, count, floor((pairs - wide) / 2));
            drift->high = span * slope_at(slopes, count, ceil((pairs + wide) / 2));
            drift->is_certain = fabs(s) > quantile_999 * deviation;
        }
    }
    ss_free(slopes);
}

void ss_drift_find(const double *times, const double *values, size_t count, struct ss_drift *drift)
{
    *drift = (struct ss_drift){.count = count};
    if (count == 0) {
        return;
    }
    double *copy = ss_alloc(count * sizeof *copy);
    memcpy(copy, values, count * sizeof *copy);
    drift->median = median_of(copy, count);
    ss_free(copy);
    if (count >= SS_DRIFT_FEWEST) {
        struct points points;
        join(times, values, count, &points);
        find_change(values, &points, times[count - 1] - times[0], drift);
    }
}
