/* SPDX-License-Identifier: Apache-2.0 */
#include "timeline/lane.h"

#include "base/alloc.h"
#include "base/search.h"

enum { FANOUT_LOG2 = 4, FANOUT = 1 << FANOUT_LOG2 };

static uint32_t parents_of(uint32_t nodes)
{
    return nodes / FANOUT + (nodes % FANOUT != 0);
}

/* --- the pyramid ------------------------------------------------------------------------------ */

/* Those of all levels above the slices. */
size_t ss_lane_nodes(uint32_t count)
{
    size_t nodes = 0;
    for (uint32_t level = count; level > 1;) {
        level = parents_of(level);
        nodes += level;
    }
    return nodes;
}

static struct ss_lane_sum joined(const struct ss_lane *lane, struct ss_lane_sum a,
                                 struct ss_lane_sum b)
{
    if (a.count == 0 || b.count == 0) {
        return a.count == 0 ? b : a;
    }
    uint64_t of_a = ss_lane_duration(lane, a.longest), of_b = ss_lane_duration(lane, b.longest);
    bool takes_b = of_b > of_a || (of_b == of_a && b.longest < a.longest);
    return (struct ss_lane_sum){a.count + b.count, takes_b ? b.longest : a.longest,
                                a.busy_ns + b.busy_ns};
}

/* A node of a level: `base` is the level's first row of the pyramid; level 0 are the slices. The
 * count is 1 until the caller knows better: only whether it is 0 matters to `joined`. */
static struct ss_lane_sum node(const struct ss_lane *lane, int level, size_t base, uint32_t at)
{
    if (level == 0) {
        return (struct ss_lane_sum){1, at, ss_lane_duration(lane, at)};
    }
    return (struct ss_lane_sum){1, lane->longest[base + at], lane->busy_ns[base + at]};
}

void ss_lane_init(struct ss_lane *lane, const struct ss_model_range *ranges, uint32_t *slices,
                  uint32_t count)
{
    size_t nodes = ss_lane_nodes(count);
    *lane = (struct ss_lane){.ranges = ranges,
                             .slices = slices,
                             .count = count,
                             .longest = ss_alloc((nodes + 1) * sizeof *lane->longest),
                             .busy_ns = ss_alloc((nodes + 1) * sizeof *lane->busy_ns)};
    size_t base = 0, next = 0;
    uint32_t below = count;
    for (int level = 0; below > 1; level++) {
        uint32_t parents = parents_of(below);
        for (uint32_t i = 0; i < parents; i++) {
            struct ss_lane_sum sum = {0};
            for (uint32_t child = i * FANOUT; child < below && child < (i + 1) * FANOUT; child++) {
                sum = joined(lane, sum, node(lane, level, base, child));
            }
            lane->longest[next + i] = sum.longest;
            lane->busy_ns[next + i] = sum.busy_ns;
        }
        base = next;
        next += parents;
        below = parents;
    }
}

void ss_lane_fini(struct ss_lane *lane)
{
    ss_free(lane->slices);
    ss_free(lane->longest);
    ss_free(lane->busy_ns);
    *lane = (struct ss_lane){0};
}

size_t ss_lane_memory(const struct ss_lane *lane)
{
    size_t nodes = ss_lane_nodes(lane->count) + 1;
    return lane->count * sizeof *lane->slices +
           nodes * (sizeof *lane->longest + sizeof *lane->busy_ns);
}

/* --- questions -------------------------------------------------------------------------------- */

uint32_t ss_lane_find(const struct ss_lane *lane, uint64_t time_ns)
{
    return (uint32_t)ss_search(i, 0, lane->count,
                               ss_lane_slice(lane, i)->end_ns <= time_ns &&
                                   ss_lane_slice(lane, i)->begin_ns < time_ns);
}

/* The first position from `first` on that begins at or after the time: near ones are found fast. */
static uint32_t find_begin(const struct ss_lane *lane, uint32_t first, uint64_t time_ns)
{
    uint32_t low = first, high = first, stride = 1;
    while (high < lane->count && ss_lane_slice(lane, high)->begin_ns < time_ns) {
        low = high + 1;
        high = lane->count - high > stride ? high + stride : lane->count;
        stride = stride < UINT32_MAX / 2 ? stride * 2 : stride;
    }
    return (uint32_t)ss_search(i, low, high, ss_lane_slice(lane, i)->begin_ns < time_ns);
}

struct ss_lane_sum ss_lane_sum(const struct ss_lane *lane, uint32_t first, uint32_t end)
{
    struct ss_lane_sum sum = {0};
    uint32_t low = first, high = end, below = lane->count;
    size_t base = 0, next = 0;
    for (int level = 0; low < high; level++) {
        while (low < high && low % FANOUT != 0) {
            sum = joined(lane, sum, node(lane, level, base, low++));
        }
        /* The last node of a level may have fewer children: it is whole all the same. */
        while (low < high && high % FANOUT != 0 && high != below) {
            sum = joined(lane, sum, node(lane, level, base, --high));
        }
        if (low < high && below == 1) {
            sum = joined(lane, sum, node(lane, level, base, low++));
        }
        if (low == high) {
            break;
        }
        low /= FANOUT;
        high = parents_of(high);
        below = parents_of(below);
        base = next;
        next += below;
    }
    sum.count = end > first ? end - first : 0;
    return sum;
}

uint64_t ss_lane_busy_ns(const struct ss_lane *lane, uint64_t from_ns, uint64_t to_ns)
{
    uint32_t first = ss_lane_find(lane, from_ns), end = find_begin(lane, first, to_ns);
    if (first >= end) {
        return 0;
    }
    uint64_t busy_ns = ss_lane_sum(lane, first, end).busy_ns;
    uint64_t begin_ns = ss_lane_slice(lane, first)->begin_ns;
    uint64_t end_ns = ss_lane_slice(lane, end - 1)->end_ns;
    busy_ns -= begin_ns < from_ns ? from_ns - begin_ns : 0;
    return busy_ns - (end_ns > to_ns ? end_ns - to_ns : 0);
}

/* The end of the short slices that share a rectangle with the one at `first`. At most the last that
 * begins in a bucket reaches beyond it. */
static uint32_t end_of_short(const struct ss_lane *lane, uint32_t first, uint64_t bucket_ns)
{
    uint64_t begin_ns = ss_lane_slice(lane, first)->begin_ns;
    uint64_t left_ns = bucket_ns - begin_ns % bucket_ns;
    uint64_t next_ns = begin_ns > UINT64_MAX - left_ns ? UINT64_MAX : begin_ns + left_ns;
    uint32_t end = find_begin(lane, first + 1, next_ns);
    bool ends_long = end - 1 > first && ss_lane_duration(lane, end - 1) >= bucket_ns;
    return ends_long ? end - 1 : end;
}

/* Where the first rectangle begins: a short slice that reaches into the time range may share one
 * with slices before it. */
static uint32_t find_first(const struct ss_lane *lane, uint64_t from_ns, uint64_t bucket_ns)
{
    uint32_t at = ss_lane_find(lane, from_ns);
    if (at < lane->count && ss_lane_duration(lane, at) < bucket_ns) {
        uint64_t begin_ns = ss_lane_slice(lane, at)->begin_ns;
        at = find_begin(lane, 0, begin_ns - begin_ns % bucket_ns);
    }
    return at;
}

size_t ss_lane_rects(const struct ss_lane *lane, uint64_t from_ns, uint64_t to_ns,
                     uint64_t bucket_ns, struct ss_lane_rect *rects, size_t most)
{
    size_t count = 0;
    uint64_t over_ns = to_ns % bucket_ns;
    from_ns -= from_ns % bucket_ns;
    to_ns += over_ns != 0 && to_ns <= UINT64_MAX - bucket_ns ? bucket_ns - over_ns : 0;
    uint32_t at = find_first(lane, from_ns, bucket_ns);
    while (at < lane->count && ss_lane_slice(lane, at)->begin_ns < to_ns) {
        if (count == most) {
            return count + 1;
        }
        bool is_short = ss_lane_duration(lane, at) < bucket_ns;
        uint32_t end = is_short ? end_of_short(lane, at, bucket_ns) : at + 1;
        rects[count++] = (struct ss_lane_rect){.begin_ns = ss_lane_slice(lane, at)->begin_ns,
                                               .end_ns = ss_lane_slice(lane, end - 1)->end_ns,
                                               .first = at,
                                               .sum = ss_lane_sum(lane, at, end)};
        at = end;
    }
    return count;
}
