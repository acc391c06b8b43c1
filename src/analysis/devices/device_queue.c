/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/devices/device_queue.h"

#include "analysis/table/distribution.h"
#include "base/alloc.h"
#include "base/search.h"

/* Adds what changes at the next time of the two lists. */
static void add_change(struct ss_device_queue *queue, uint64_t time_ns, uint64_t depth)
{
    const struct ss_queue_change *last =
        queue->changes.count > 0 ? &queue->changes.data[queue->changes.count - 1] : NULL;
    double sum =
        last != NULL ? last->sum + (double)last->depth * (double)(time_ns - last->time_ns) : 0;
    ss_vec_push(&queue->changes,
                (struct ss_queue_change){.time_ns = time_ns, .depth = depth, .sum = sum});
}

void ss_device_queue_init(struct ss_device_queue *queue, const struct ss_model *model,
                          const struct ss_device_works *works, const struct ss_device_part *part)
{
    size_t count = 0, launched = 0, begun = 0;
    uint64_t *launches = ss_alloc((part->end - part->first + 1) * sizeof *launches);
    uint64_t *begins = ss_alloc((part->end - part->first + 1) * sizeof *begins);
    *queue = (struct ss_device_queue){0};
    for (size_t i = part->first; i < part->end; i++) {
        const struct ss_device_work *work = &works->works.data[i];
        uint64_t launch_ns = work->launch != 0 ? model->ranges.data[work->launch - 1].begin_ns : 0;
        if (work->launch != 0 && launch_ns < work->begin_ns) {
            launches[count] = launch_ns;
            begins[count++] = work->begin_ns; /* in order, as the works are */
        }
    }
    ss_sort_u64(launches, count);
    while (begun < count) { /* each is launched before it begins */
        uint64_t time_ns = launched < count && launches[launched] < begins[begun]
                               ? launches[launched]
                               : begins[begun];
        for (; launched < count && launches[launched] == time_ns; launched++) {
        }
        for (; begun < count && begins[begun] == time_ns; begun++) {
        }
        add_change(queue, time_ns, launched - begun);
    }
    ss_free(launches);
    ss_free(begins);
}

void ss_device_queue_fini(struct ss_device_queue *queue)
{
    ss_vec_fini(&queue->changes);
}

/* Index of the first change after the time. */
static size_t find_after(const struct ss_device_queue *queue, uint64_t time_ns)
{
    return ss_search(i, 0, queue->changes.count, queue->changes.data[i].time_ns <= time_ns);
}

static double sum_until(const struct ss_device_queue *queue, size_t after, uint64_t time_ns)
{
    const struct ss_queue_change *change = after > 0 ? &queue->changes.data[after - 1] : NULL;
    return change != NULL
               ? change->sum + (double)change->depth * (double)(time_ns - change->time_ns)
               : 0;
}

struct ss_queue_depth ss_device_queue_between(const struct ss_device_queue *queue,
                                              uint64_t begin_ns, uint64_t end_ns)
{
    struct ss_queue_depth depth = {0};
    if (end_ns <= begin_ns) {
        return depth;
    }
    size_t first = find_after(queue, begin_ns), i = first;
    depth.most = first > 0 ? queue->changes.data[first - 1].depth : 0;
    for (; i < queue->changes.count && queue->changes.data[i].time_ns < end_ns; i++) {
        uint64_t other = queue->changes.data[i].depth;
        depth.most = other > depth.most ? other : depth.most;
    }
    depth.sum = sum_until(queue, i, end_ns) - sum_until(queue, first, begin_ns);
    return depth;
}
