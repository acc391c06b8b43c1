/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/devices/device_busy.h"

#include "analysis/table/distribution.h"
#include "base/alloc.h"
#include "base/search.h"

/* The times at which work of a class begins and ends, each sorted. */
struct edges {
    uint64_t *begins, *ends;
    size_t count, next_begin, next_end;
    size_t active;
};

static void collect_edges(struct edges *edges, const struct ss_device_work *works, size_t count)
{
    size_t counts[SS_WORK_CLASSES] = {0};
    for (size_t i = 0; i < count; i++) {
        counts[works[i].work_class] += works[i].end_ns > works[i].begin_ns;
    }
    for (size_t i = 0; i < SS_WORK_CLASSES; i++) {
        edges[i] = (struct edges){.begins = ss_alloc((counts[i] + 1) * sizeof(uint64_t)),
                                  .ends = ss_alloc((counts[i] + 1) * sizeof(uint64_t))};
    }
    for (size_t i = 0; i < count; i++) {
        struct edges *of = &edges[works[i].work_class];
        if (works[i].end_ns > works[i].begin_ns) {
            of->begins[of->count] = works[i].begin_ns;
            of->ends[of->count++] = works[i].end_ns;
        }
    }
    for (size_t i = 0; i < SS_WORK_CLASSES; i++) {
        ss_sort_u64(edges[i].ends, edges[i].count); /* begins are in order */
    }
}

/* The next time at which anything begins or ends; UINT64_MAX: none. */
static uint64_t next_time(const struct edges *edges)
{
    uint64_t time_ns = UINT64_MAX;
    for (size_t i = 0; i < SS_WORK_CLASSES; i++) {
        const struct edges *of = &edges[i];
        if (of->next_begin < of->count && of->begins[of->next_begin] < time_ns) {
            time_ns = of->begins[of->next_begin];
        }
        if (of->next_end < of->count && of->ends[of->next_end] < time_ns) {
            time_ns = of->ends[of->next_end];
        }
    }
    return time_ns;
}

/* The classes that run from `time_ns` on. */
static uint8_t pass_edges(struct edges *edges, uint64_t time_ns)
{
    uint8_t classes = 0;
    for (size_t i = 0; i < SS_WORK_CLASSES; i++) {
        struct edges *of = &edges[i];
        while (of->next_begin < of->count && of->begins[of->next_begin] <= time_ns) {
            of->next_begin++;
            of->active++;
        }
        while (of->next_end < of->count && of->ends[of->next_end] <= time_ns) {
            of->next_end++;
            of->active--;
        }
        classes = (uint8_t)(classes | (of->active > 0) << i);
    }
    return classes;
}

void ss_busy_init(struct ss_busy *busy, const struct ss_device_work *works, size_t count)
{
    struct edges edges[SS_WORK_CLASSES];
    *busy = (struct ss_busy){0};
    collect_edges(edges, works, count);
    for (uint64_t at_ns = next_time(edges); at_ns != UINT64_MAX;) {
        uint8_t classes = pass_edges(edges, at_ns);
        uint64_t next_ns = next_time(edges);
        struct ss_busy_segment *last =
            busy->segments.count > 0 ? &busy->segments.data[busy->segments.count - 1] : NULL;
        if (classes != 0 && last != NULL && last->end_ns == at_ns && last->classes == classes) {
            last->end_ns = next_ns;
        } else if (classes != 0) {
            ss_vec_push(&busy->segments, (struct ss_busy_segment){at_ns, next_ns, classes});
        }
        at_ns = next_ns;
    }
    for (size_t i = 0; i < SS_WORK_CLASSES; i++) {
        ss_free(edges[i].begins);
        ss_free(edges[i].ends);
    }
}

void ss_busy_fini(struct ss_busy *busy)
{
    ss_vec_fini(&busy->segments);
}

size_t ss_busy_find(const struct ss_busy *busy, uint64_t time_ns)
{
    return ss_search(i, 0, busy->segments.count, busy->segments.data[i].end_ns <= time_ns);
}

void ss_busy_add_between(const struct ss_busy *busy, uint64_t begin_ns, uint64_t end_ns,
                         struct ss_busy_times *times)
{
    uint64_t busy_ns = 0;
    if (end_ns <= begin_ns) {
        return;
    }
    for (size_t i = ss_busy_find(busy, begin_ns); i < busy->segments.count; i++) {
        const struct ss_busy_segment *segment = &busy->segments.data[i];
        if (segment->begin_ns >= end_ns) {
            break;
        }
        uint64_t from_ns = segment->begin_ns > begin_ns ? segment->begin_ns : begin_ns;
        uint64_t to_ns = segment->end_ns < end_ns ? segment->end_ns : end_ns;
        uint64_t length_ns = to_ns - from_ns;
        bool computes = (segment->classes & 1 << SS_WORK_COMPUTE) != 0;
        bool communicates = (segment->classes & 1 << SS_WORK_COMMUNICATION) != 0;
        times->class_ns[ss_busy_class(segment->classes)] += length_ns;
        times->communication_ns += communicates ? length_ns : 0;
        times->overlap_ns += communicates && computes ? length_ns : 0;
        busy_ns += length_ns;
    }
    times->idle_ns += end_ns - begin_ns - busy_ns;
}
