/* SPDX-License-Identifier: Apache-2.0 */
#include "model/core/clock_fit.h"

#include <math.h>
#include <stdlib.h>

#include "base/search.h"

/* Halvings of the time, and the fewest bounds of a part. */
enum { MOST_SPLITS = 10, FEWEST_BOUNDS = 4 };

/* Lines are written as offset = height - drift * at, in ns relative to an origin and to a first
 * difference: small numbers, which doubles hold exactly. A bound is such a line. */
struct line {
    double at, height;
};

struct lines ss_vec_of(struct line);

/* The bounds of a part of the time. `lower`: their maximum over the drift is the least offset;
 * `upper`: their minimum is the greatest. Both only have the lines that matter, by `at`. */
struct region {
    uint64_t origin_ns;
    int64_t base_ns; /* the difference that is subtracted from all others */
    struct lines lower, upper;
    double least_drift, most_drift; /* the region is between them */
};

static double offset_at(const struct line *line, double drift)
{
    return line->height - drift * line->at;
}

/* --- envelopes -------------------------------------------------------------------------------- */

static int compare_lines(const void *left, const void *right)
{
    const struct line *a = left, *b = right;
    if (a->at != b->at) {
        return a->at < b->at ? -1 : 1;
    }
    return (a->height > b->height) - (a->height < b->height);
}

/* Whether `middle` lies nowhere above the other two; they are in order of `at`. */
static bool is_hidden(const struct line *a, const struct line *middle, const struct line *c)
{
    return (middle->height - a->height) * (c->at - a->at) <=
           (c->height - a->height) * (middle->at - a->at);
}

/* Removes the lines that are nowhere the maximum; `sign` -1: the minimum. */
static void make_envelope(struct lines *lines, double sign)
{
    size_t count = 0;
    for (size_t i = 0; i < lines->count; i++) {
        lines->data[i].height *= sign;
    }
    qsort(lines->data, lines->count, sizeof *lines->data, compare_lines);
    for (size_t i = 0; i < lines->count; i++) {
        struct line line = lines->data[i];
        if (count > 0 && lines->data[count - 1].at == line.at) {
            count--; /* the higher one comes last */
        }
        while (count > 1 && is_hidden(&lines->data[count - 2], &lines->data[count - 1], &line)) {
            count--;
        }
        lines->data[count++] = line;
    }
    lines->count = count;
    for (size_t i = 0; i < count; i++) {
        lines->data[i].height *= sign;
    }
}

/* The greatest of the lower bounds, or least of the upper ones, of the offset at a drift. */
static double extreme(const struct lines *lines, double drift, double sign)
{
    double most = -INFINITY;
    for (size_t i = 0; i < lines->count; i++) {
        double value = sign * offset_at(&lines->data[i], drift);
        most = value > most ? value : most;
    }
    return sign * most;
}

static double room(const struct region *region, double drift)
{
    return extreme(&region->upper, drift, -1) - extreme(&region->lower, drift, 1);
}

/* --- the region ------------------------------------------------------------------------------- */

/* The room is a concave function of the drift. */
static double roomiest_drift(const struct region *region)
{
    double from = -SS_CLOCK_MAX_DRIFT, to = SS_CLOCK_MAX_DRIFT;
    for (int i = 0; i < 100; i++) {
        double a = from + (to - from) / 3, b = to - (to - from) / 3;
        if (room(region, a) < room(region, b)) {
            from = a;
        } else {
            to = b;
        }
    }
    return (from + to) / 2;
}

/* The drift between one with room and one without where it ends; a little beyond, so that rounding
 * excludes nothing. */
static double edge_of_room(const struct region *region, double inside, double outside)
{
    if (room(region, outside) >= 0) {
        return outside;
    }
    for (int i = 0; i < 100; i++) {
        double middle = (inside + outside) / 2;
        if (room(region, middle) >= 0) {
            inside = middle;
        } else {
            outside = middle;
        }
    }
    return outside;
}

/* Long: the two sides. */
static bool region_init(struct region *region, const struct ss_clock_bound *bounds, size_t count)
{
    *region = (struct region){0};
    if (count == 0) {
        return false;
    }
    region->origin_ns = bounds[count / 2].time_ns;
    region->base_ns = bounds[count / 2].difference_ns;
    for (size_t i = 0; i < count; i++) {
        uint64_t ahead_ns = bounds[i].time_ns - region->origin_ns;
        uint64_t more_ns = (uint64_t)bounds[i].difference_ns - (uint64_t)region->base_ns;
        struct line line = {(double)(int64_t)ahead_ns, (double)(int64_t)more_ns};
        if (bounds[i].is_upper) {
            ss_vec_push(&region->upper, line);
        } else {
            ss_vec_push(&region->lower, line);
        }
    }
    if (region->upper.count == 0 || region->lower.count == 0) {
        return false;
    }
    make_envelope(&region->lower, 1);
    make_envelope(&region->upper, -1);
    double inside = roomiest_drift(region);
    if (room(region, inside) < 0) {
        return false;
    }
    region->least_drift = edge_of_room(region, inside, -SS_CLOCK_MAX_DRIFT);
    region->most_drift = edge_of_room(region, inside, SS_CLOCK_MAX_DRIFT);
    return true;
}

static void region_fini(struct region *region)
{
    ss_vec_fini(&region->lower);
    ss_vec_fini(&region->upper);
}

/* The drift at which a line and the next one of an envelope cross. */
static double crossing(const struct lines *lines, size_t i)
{
    const struct line *a = &lines->data[i], *b = &lines->data[i + 1];
    return (b->height - a->height) / (b->at - a->at);
}

/* The largest distance at `at` of a line of the region from the one with this drift and offset: a
 * corner of the region has it. */
static double distance_at(const struct region *region, double at, double drift, double offset)
{
    const struct lines *sides[] = {&region->lower, &region->upper};
    double here = offset + drift * at, most = 0;
    for (int side = 0; side < 2; side++) {
        double sign = side == 0 ? 1 : -1;
        for (size_t i = 0; i < sides[side]->count + 1; i++) {
            double corner = i == 0 ? region->least_drift : region->most_drift;
            if (i > 0 && i < sides[side]->count) {
                corner = crossing(sides[side], i - 1);
            }
            if (corner >= region->least_drift && corner <= region->most_drift) {
                double there = extreme(sides[side], corner, sign) + corner * at;
                most = fabs(there - here) > most ? fabs(there - here) : most;
            }
        }
    }
    return most;
}

/* --- the estimate ----------------------------------------------------------------------------- */

struct sums {
    double weight, x, y, xx, xy;
};

/* A pair of neighbours, one bound of each side: the true difference is between them. */
static void add_pairs(struct sums *sums, const struct region *region,
                      const struct ss_clock_bound *bounds, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        const struct ss_clock_bound *a = &bounds[i - 1], *b = &bounds[i];
        if (a->is_upper == b->is_upper) {
            continue;
        }
        double x = ((double)(int64_t)(a->time_ns - region->origin_ns) +
                    (double)(int64_t)(b->time_ns - region->origin_ns)) /
                   2;
        double of_a = (double)(int64_t)((uint64_t)a->difference_ns - (uint64_t)region->base_ns);
        double of_b = (double)(int64_t)((uint64_t)b->difference_ns - (uint64_t)region->base_ns);
        double width = fabs(of_a - of_b) + 1, weight = 1 / (width * width);
        double y = (of_a + of_b) / 2;
        sums->weight += weight;
        sums->x += weight * x;
        sums->y += weight * y;
        sums->xx += weight * x * x;
        sums->xy += weight * x * y;
    }
}

/* Moved into the region: first the drift, then the offset. */
static void estimate(const struct region *region, const struct ss_clock_bound *bounds, size_t count,
                     double *drift, double *offset)
{
    struct sums sums = {0};
    add_pairs(&sums, region, bounds, count);
    double spread = sums.weight * sums.xx - sums.x * sums.x;
    double middle = (region->least_drift + region->most_drift) / 2;
    *drift = spread > 0 ? (sums.weight * sums.xy - sums.x * sums.y) / spread : middle;
    *drift = *drift < region->least_drift  ? region->least_drift
             : *drift > region->most_drift ? region->most_drift
                                           : *drift;
    double least = extreme(&region->lower, *drift, 1), most = extreme(&region->upper, *drift, -1);
    *offset = sums.weight > 0 ? (sums.y - *drift * sums.x) / sums.weight : (least + most) / 2;
    *offset = *offset < least ? least : *offset > most ? most : *offset;
}

/* --- segments --------------------------------------------------------------------------------- */

static double behind_origin(const struct region *region, uint64_t time_ns)
{
    return (double)(int64_t)(time_ns - region->origin_ns);
}

/* The largest error of an estimate between two times. */
static double error_between(const struct region *region, uint64_t from_ns, uint64_t to_ns,
                            double drift, double offset)
{
    double at_begin = distance_at(region, behind_origin(region, from_ns), drift, offset);
    double at_end = distance_at(region, behind_origin(region, to_ns), drift, offset);
    return at_begin > at_end ? at_begin : at_end;
}

/* Bounds of a file may be any numbers. */
static const double most_ns = 4e18;

/* The line through the middles, or the middle of the region, whichever is closer to all of it. */
static bool fit_part(const struct ss_clock_bound *bounds, size_t count, uint64_t from_ns,
                     uint64_t to_ns, struct ss_clock_segments *segments)
{
    struct region region;
    if (!region_init(&region, bounds, count)) {
        region_fini(&region);
        return false;
    }
    double drift, offset, middle = (region.least_drift + region.most_drift) / 2;
    double central =
        nearbyint((extreme(&region.lower, middle, 1) + extreme(&region.upper, middle, -1)) / 2);
    estimate(&region, bounds, count, &drift, &offset);
    offset = nearbyint(offset);
    double error = error_between(&region, from_ns, to_ns, drift, offset);
    double other = error_between(&region, from_ns, to_ns, middle, central);
    if (other < error) {
        drift = middle;
        offset = central;
        error = other;
    }
    bool is_sane = fabs(offset) < most_ns && error < most_ns;
    if (is_sane) {
        ss_vec_push(segments,
                    (struct ss_clock_segment){.from_ns = from_ns,
                                              .origin_ns = region.origin_ns,
                                              .offset_ns = (int64_t)((uint64_t)region.base_ns +
                                                                     (uint64_t)(int64_t)offset),
                                              .drift = drift,
                                              .error_ns = (uint64_t)ceil(error + 1)});
    }
    region_fini(&region);
    return is_sane;
}

static bool fit_split(const struct ss_clock_bound *bounds, size_t count, uint64_t from_ns,
                      uint64_t to_ns, int splits, struct ss_clock_segments *segments)
{
    if (fit_part(bounds, count, from_ns, to_ns, segments)) {
        return true;
    }
    if (splits == 0 || count < 2 * FEWEST_BOUNDS) {
        return false;
    }
    size_t half = count / 2;
    uint64_t middle_ns = bounds[half].time_ns;
    return fit_split(bounds, half, from_ns, middle_ns, splits - 1, segments) &&
           fit_split(bounds + half, count - half, middle_ns, to_ns, splits - 1, segments);
}

static int compare_bounds(const void *left, const void *right)
{
    const struct ss_clock_bound *a = left, *b = right;
    if (a->time_ns != b->time_ns) {
        return a->time_ns < b->time_ns ? -1 : 1;
    }
    return a->is_upper - b->is_upper;
}

bool ss_clock_fit(struct ss_clock_bounds *bounds, uint64_t from_ns, uint64_t to_ns,
                  struct ss_clock_segments *segments)
{
    size_t before = segments->count;
    if (bounds->count > 1) {
        qsort(bounds->data, bounds->count, sizeof *bounds->data, compare_bounds);
    }
    if (!fit_split(bounds->data, bounds->count, from_ns, to_ns, MOST_SPLITS, segments)) {
        segments->count = before;
        return false;
    }
    return true;
}

const struct ss_clock_segment *ss_clock_fit_segment(const struct ss_clock_segment *segments,
                                                    size_t count, uint64_t time_ns)
{
    size_t next = count > 0 ? ss_search(i, 1, count, segments[i].from_ns <= time_ns) : 1;
    return &segments[next - 1];
}

uint64_t ss_clock_fit_map(const struct ss_clock_segment *segments, size_t count, uint64_t time_ns)
{
    const struct ss_clock_segment *segment = ss_clock_fit_segment(segments, count, time_ns);
    double ahead = (double)(int64_t)(time_ns - segment->origin_ns) * segment->drift;
    return time_ns + (uint64_t)segment->offset_ns + (uint64_t)(int64_t)nearbyint(ahead);
}
