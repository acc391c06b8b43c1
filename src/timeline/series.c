/* SPDX-License-Identifier: Apache-2.0 */
#include "timeline/series.h"

#include "base/alloc.h"
#include "base/search.h"

enum { FANOUT = 16 };

static uint32_t parents_of(uint32_t nodes)
{
    return nodes / FANOUT + (nodes % FANOUT != 0);
}

static struct ss_series_extremes joined(struct ss_series_extremes a, struct ss_series_extremes b)
{
    return (struct ss_series_extremes){b.low < a.low ? b.low : a.low,
                                       b.high > a.high ? b.high : a.high};
}

static struct ss_series_extremes node(const struct ss_series *series, int level, size_t base,
                                      uint32_t at)
{
    if (level > 0) {
        return series->nodes[base + at];
    }
    double real = ss_model_real(&series->values[at]);
    return (struct ss_series_extremes){real, real};
}

void ss_series_init(struct ss_series *series, const struct ss_model_value *values, uint32_t count)
{
    size_t nodes = 1, base = 0, next = 0;
    for (uint32_t level = count; level > 1; nodes += level) {
        level = parents_of(level);
    }
    *series = (struct ss_series){values, count, ss_alloc(nodes * sizeof *series->nodes)};
    uint32_t below = count;
    for (int level = 0; below > 1; level++) {
        uint32_t parents = parents_of(below);
        for (uint32_t i = 0; i < parents; i++) {
            struct ss_series_extremes all = node(series, level, base, i * FANOUT);
            for (uint32_t j = i * FANOUT + 1; j < below && j < (i + 1) * FANOUT; j++) {
                all = joined(all, node(series, level, base, j));
            }
            series->nodes[next + i] = all;
        }
        base = next;
        next += parents;
        below = parents;
    }
}

void ss_series_fini(struct ss_series *series)
{
    ss_free(series->nodes);
    *series = (struct ss_series){0};
}

struct ss_series_extremes ss_series_extremes(const struct ss_series *series, uint32_t first,
                                             uint32_t end)
{
    struct ss_series_extremes all = node(series, 0, 0, first);
    uint32_t below = series->count;
    size_t base = 0, next = 0;
    for (int level = 0; first < end; level++) {
        while (first < end && first % FANOUT != 0) {
            all = joined(all, node(series, level, base, first++));
        }
        while (first < end && end % FANOUT != 0 && end != below) {
            all = joined(all, node(series, level, base, --end));
        }
        if (first == end || below == 1) {
            return first == end ? all : joined(all, node(series, level, base, first));
        }
        first /= FANOUT;
        end = parents_of(end);
        below = parents_of(below);
        base = next;
        next += below;
    }
    return all;
}

/* The first position from `first` on at or after the time. */
static uint32_t find(const struct ss_series *series, uint32_t first, uint64_t time_ns)
{
    return (uint32_t)ss_search(i, first, series->count, series->values[i].time_ns < time_ns);
}

size_t ss_series_points(const struct ss_series *series, uint64_t from_ns, uint64_t to_ns,
                        uint64_t bucket_ns, struct ss_series_point *points, size_t most)
{
    size_t count = 0;
    uint32_t at = find(series, 0, from_ns - from_ns % bucket_ns);
    at -= at > 0;
    while (at < series->count && series->values[at].time_ns < to_ns) {
        if (count == most) {
            return count + 1;
        }
        uint64_t time_ns = series->values[at].time_ns, left_ns = bucket_ns - time_ns % bucket_ns;
        uint64_t next_ns = time_ns > UINT64_MAX - left_ns ? UINT64_MAX : time_ns + left_ns;
        uint32_t end = find(series, at + 1, next_ns);
        struct ss_series_extremes extremes = ss_series_extremes(series, at, end);
        points[count++] = (struct ss_series_point){time_ns, end - at, extremes.low, extremes.high,
                                                   ss_model_real(&series->values[end - 1])};
        at = end;
    }
    return count;
}
