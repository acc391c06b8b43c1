/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a memory grows, step by step, and in which phase. */
#include <stdlib.h>

#include "analysis/memory/memories.h"
#include "analysis/table/distribution.h"
#include "analysis/table/rule_limits.h"
#include "base/alloc.h"

/* All pairs of points are compared; a long series is downsampled to equidistant points. */
enum { MOST_POINTS = 200 };

struct points {
    struct ss_memory_point data[MOST_POINTS];
    size_t count;
};

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* The median of the slopes between all pairs of points [first, end). */
static double slope_of(const struct points *points, size_t first, size_t end)
{
    struct ss_vec_of(double) slopes = {0};
    for (size_t i = first; i < end; i++) {
        for (size_t j = i + 1; j < end; j++) {
            const struct ss_memory_point *from = &points->data[i], *to = &points->data[j];
            ss_vec_push(&slopes, (to->bytes - from->bytes) / (to->place - from->place));
        }
    }
    double median = 0;
    if (slopes.count > 0) {
        qsort(slopes.data, slopes.count, sizeof *slopes.data, compare);
        median = ss_median(slopes.data, slopes.count);
    }
    ss_vec_fini(&slopes);
    return median;
}

/* Kendall's tau: rising minus falling pairs of points, as a share of all pairs. An allocator that
 * reserves and releases memory leaves pairs of both kinds. */
static double kendall_tau(const struct points *points)
{
    double rises = 0, pairs = 0;
    for (size_t i = 0; i < points->count; i++) {
        for (size_t j = i + 1; j < points->count; j++) {
            double more = points->data[j].bytes - points->data[i].bytes;
            rises += (more > 0) - (more < 0);
            pairs++;
        }
    }
    return pairs > 0 ? rises / pairs : 0;
}

/* Memory must rise in each half as well as over all points: a single allocation is not growth. */
static bool is_steady(const struct points *points, double slope)
{
    size_t half = points->count / 2;
    double least = ss_limit_factor(SS_LIMIT_GROWTH_HALF_PERCENT) * slope;
    return kendall_tau(points) >= ss_limit_factor(SS_LIMIT_GROWTH_TAU_PERCENT) &&
           slope_of(points, 0, half) > least && slope_of(points, half, points->count) > least;
}

/* The only phase whose change is about the growth per step; the number of phases: none, or memory
 * is allocated in one phase and mostly released in another. */
static size_t growing_phase(const struct ss_memory *memory, size_t phases)
{
    size_t chosen = phases, count = 0;
    for (size_t i = 0; i < phases; i++) {
        double share = memory->phases[i].change_mean / memory->bytes_per_step;
        if (memory->phases[i].steps > 0 &&
            share >= ss_limit_factor(SS_LIMIT_RETAINED_LEAST_PERCENT) &&
            share <= ss_limit_factor(SS_LIMIT_RETAINED_MOST_PERCENT)) {
            chosen = i;
            count++;
        }
    }
    return count == 1 ? chosen : phases;
}

/* The points without profiled ones, and as if these had not been: what torch.profiler keeps is not
 * the program's. */
static void leave_out_profiled(const struct ss_memory *memory, ss_memory_points *points)
{
    double bytes = 0, places = 0; /* of profiled steps so far */
    for (size_t i = 0; i < memory->points.count; i++) {
        struct ss_memory_point point = memory->points.data[i];
        if (point.is_profiled) {
            const struct ss_memory_point *last = &memory->points.data[i > 0 ? i - 1 : 0];
            bytes += point.bytes - last->bytes;
            places += point.place - last->place;
            continue;
        }
        point.bytes -= bytes;
        point.place -= places;
        ss_vec_push(points, point);
    }
}

void ss_memory_detect_growth(struct ss_memory *memory, size_t phases)
{
    struct points points = {0};
    ss_memory_points own = {0};
    leave_out_profiled(memory, &own);
    size_t count = own.count, first = count / 4, rest = count - first;
    memory->growing_phase = phases;
    points.count = rest < MOST_POINTS ? rest : MOST_POINTS;
    for (size_t i = 0; i < points.count; i++) {
        points.data[i] = own.data[first + i * rest / points.count];
    }
    double steps = count > 0 ? own.data[count - 1].place - own.data[first].place : 0;
    ss_vec_fini(&own);
    if (points.count < SS_LIMIT_GROWTH_FEWEST_STEPS) {
        return;
    }
    memory->bytes_per_step = slope_of(&points, 0, points.count);
    double grown = memory->bytes_per_step * steps;
    memory->grows = grown >= SS_LIMIT_GROWTH_BYTES &&
                    grown >= ss_limit_factor(SS_LIMIT_GROWTH_PERCENT) * memory->last &&
                    is_steady(&points, memory->bytes_per_step);
    memory->growing_phase = memory->grows ? growing_phase(memory, phases) : phases;
}
