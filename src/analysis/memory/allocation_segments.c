/* SPDX-License-Identifier: Apache-2.0 */
/* What allocators ask of the device, and how their segments are divided at the peak. */
#include <stdlib.h>
#include <string.h>

#include "analysis/memory/allocation_parts.h"
#include "analysis/table/range_finder.h"
#include "base/alloc.h"
#include "model/core/domains.h"

enum { BLOCK_BYTES = 512 }; /* to a multiple of which PyTorch rounds sizes */

/* --- the blocks at the peak ------------------------------------------------------------------- */

/* Where segments begin or end. */
struct edge {
    uint64_t address;
    int cover;  /* segments that begin minus those that end */
    int begins; /* of segments whose blocks do not join those before it */
};

struct edges ss_vec_of(struct edge);

struct piece {
    uint64_t begin, end;
};

static int compare_edges(const void *left, const void *right)
{
    const struct edge *a = left, *b = right;
    return (a->address > b->address) - (a->address < b->address);
}

static int compare_pieces(const void *left, const void *right)
{
    const struct piece *a = left, *b = right;
    return (a->begin > b->begin) - (a->begin < b->begin);
}

/* What is given back in parts, as of expandable segments, ends inside of what was taken. */
static void add_segment(struct edges *edges, const struct ss_model *model,
                        const struct ss_allocation_event *event)
{
    uint32_t category = model->names.data[model->marks.data[event->mark].name].category;
    bool is_expandable = strcmp(ss_model_text(model, category), SS_CATEGORY_EXPANDABLE) == 0;
    int sign = event->bytes < 0 ? -1 : 1;
    uint64_t bytes = (uint64_t)(event->bytes < 0 ? -event->bytes : event->bytes);
    if (event->has_address && bytes <= UINT64_MAX - event->address) {
        ss_vec_push(edges, (struct edge){event->address, sign, is_expandable ? 0 : sign});
        ss_vec_push(edges, (struct edge){event->address + bytes, -sign, 0});
    }
}

static bool is_segment(const struct ss_allocation_event *event)
{
    return event->kind == SS_ALLOCATION_EVENT_SEGMENT ||
           event->kind == SS_ALLOCATION_EVENT_SEGMENT_BEFORE;
}

static void list_edges(struct edges *edges, const struct ss_model *model,
                       const struct ss_allocation_pool *pool,
                       const struct ss_allocation_pool_events *events)
{
    for (size_t i = 0; i < events->before_count; i++) {
        if (is_segment(&events->before[i])) {
            add_segment(edges, model, &events->before[i]);
        }
    }
    for (size_t i = 0; i < pool->peak && i < events->count; i++) {
        if (is_segment(&events->rows[i])) {
            add_segment(edges, model, &events->rows[i]);
        }
    }
    if (edges->count > 0) {
        qsort(edges->data, edges->count, sizeof *edges->data, compare_edges);
    }
}

/* By address; the caller frees them. */
static struct piece *live_blocks(const struct ss_allocations *allocations,
                                 const struct ss_allocation_pool *pool, size_t *count)
{
    struct piece *blocks = ss_alloc((pool->end - pool->first + 1) * sizeof *blocks);
    *count = 0;
    for (size_t i = pool->first; i < pool->end; i++) {
        const struct ss_allocation *row = &allocations->rows.data[i];
        uint64_t most = UINT64_MAX - row->address;
        uint64_t bytes = row->bytes > most - BLOCK_BYTES
                             ? most
                             : (row->bytes + BLOCK_BYTES - 1) / BLOCK_BYTES * BLOCK_BYTES;
        if (ss_allocation_is_at_peak(pool, row) && most > BLOCK_BYTES) {
            blocks[(*count)++] = (struct piece){row->address, row->address + bytes};
        }
    }
    qsort(blocks, *count, sizeof *blocks, compare_pieces);
    return blocks;
}

static void add_free(struct ss_allocation_pool *pool, uint64_t begin, uint64_t end)
{
    if (end > begin) {
        pool->free_blocks++;
        pool->free_bytes += end - begin;
        pool->largest_free_bytes =
            end - begin > pool->largest_free_bytes ? end - begin : pool->largest_free_bytes;
    }
}

/* The free blocks of one segment; `*at`: the first block that does not end before it. */
static void divide(struct ss_allocation_pool *pool, struct piece segment,
                   const struct piece *blocks, size_t count, size_t *at)
{
    uint64_t free_from = segment.begin;
    pool->segments++;
    while (*at < count && blocks[*at].end <= segment.begin) {
        ++*at;
    }
    while (*at < count && blocks[*at].begin < segment.end) {
        add_free(pool, free_from, blocks[*at].begin);
        free_from = blocks[*at].end > free_from ? blocks[*at].end : free_from;
        if (blocks[*at].end > segment.end) {
            break; /* it reaches into the next segment */
        }
        ++*at;
    }
    add_free(pool, free_from, segment.end);
}

void ss_allocation_segments_find(struct ss_allocations *allocations,
                                 struct ss_allocation_pool *pool,
                                 const struct ss_allocation_pool_events *events)
{
    struct edges edges = {0};
    size_t count, at = 0;
    list_edges(&edges, allocations->selection->model, pool, events);
    struct piece *blocks = live_blocks(allocations, pool, &count), segment = {0};
    int64_t cover = 0;
    for (size_t i = 0, next; i < edges.count; i = next) {
        int64_t before = cover, begins = 0;
        for (next = i; next < edges.count && edges.data[next].address == edges.data[i].address;
             next++) {
            cover += edges.data[next].cover;
            begins += edges.data[next].begins;
        }
        if (before > 0 && (cover <= 0 || begins > 0)) {
            segment.end = edges.data[i].address;
            divide(pool, segment, blocks, count, &at);
        }
        if (cover > 0 && (before <= 0 || begins > 0)) {
            segment.begin = edges.data[i].address;
        }
    }
    ss_free(blocks);
    ss_vec_fini(&edges);
}

/* --- requests --------------------------------------------------------------------------------- */

static void count_request(struct ss_allocation_pool *pool, const struct ss_step_summary *training,
                          uint64_t time_ns, bool is_return)
{
    bool in_step = training != NULL && ss_step_at(training, pool->process, time_ns) != NULL;
    *(is_return ? &pool->returns : &pool->requests) += 1;
    *(is_return ? &pool->returns_in_steps : &pool->requests_in_steps) += in_step;
}

/* The allocator gives back what it caches and asks again: with nothing in between, and not because
 * the program emptied the cache. */
void ss_allocation_requests_find(const struct ss_allocations *allocations,
                                 struct ss_allocation_pool *pool,
                                 const struct ss_allocation_pool_events *events,
                                 const struct ss_step_summary *training)
{
    bool makes_room = false;
    (void)allocations;
    for (size_t i = 0; i < events->count; i++) {
        const struct ss_allocation_event *event = &events->rows[i];
        bool is_return = event->kind == SS_ALLOCATION_EVENT_SEGMENT && event->bytes < 0;
        if (event->kind == SS_ALLOCATION_EVENT_SEGMENT) {
            pool->retries += makes_room && !is_return;
            count_request(pool, training, event->time_ns, is_return);
        }
        makes_room = is_return && !events->codes[i].empties;
    }
}

static bool is_one_of(const char *const *names, const char *text)
{
    for (; *names != NULL; names++) {
        if (strcmp(*names, text) == 0) {
            return true;
        }
    }
    return false;
}

enum call { OTHER_CALL, REQUEST, RETURN };

static enum call call_of(const char *text)
{
    static const char *const requests[] = {"cudaMalloc",
                                           "cudaMallocAsync",
                                           "cudaMallocFromPoolAsync",
                                           "cuMemAlloc",
                                           "cuMemAlloc_v2",
                                           "cuMemAllocAsync",
                                           "cuMemCreate",
                                           "hipMalloc",
                                           "hipMallocAsync",
                                           "hipMemCreate",
                                           NULL};
    static const char *const returns[] = {
        "cudaFree",     "cudaFreeAsync", "cuMemFree",    "cuMemFree_v2",  "cuMemFreeAsync",
        "cuMemRelease", "hipFree",       "hipFreeAsync", "hipMemRelease", NULL};
    return is_one_of(requests, text) ? REQUEST : is_one_of(returns, text) ? RETURN : OTHER_CALL;
}

/* In one operator, a request after a return is a retry. */
void ss_allocation_calls_find(const struct ss_allocations *allocations,
                              struct ss_allocation_pool *pool,
                              const struct ss_step_summary *training)
{
    const struct ss_model *model = allocations->selection->model;
    struct ss_range_finder finder;
    uint32_t returned_in = 0; /* the operator of the last return, plus one */
    uint8_t *calls = ss_alloc_zero(model->paths.count, sizeof *calls); /* by path */
    for (size_t i = 1; i < model->paths.count; i++) {
        const struct ss_model_name *name = &model->names.data[model->paths.data[i].name];
        calls[i] = (uint8_t)call_of(ss_model_text(model, name->text));
    }
    ss_range_finder_init(&finder, model);
    for (size_t i = 0; i < model->ranges.count; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        enum call call = (enum call)calls[range->path];
        uint32_t around = finder.parents[i];
        bool is_inner = around != 0 && calls[model->ranges.data[around - 1].path] == call;
        if (call == OTHER_CALL || is_inner ||
            model->tracks.data[range->track].process != pool->process) {
            continue;
        }
        count_request(pool, training, range->begin_ns, call == RETURN);
        pool->retries += call == REQUEST && around != 0 && returned_in == around;
        returned_in = call == RETURN ? around : 0;
    }
    ss_range_finder_fini(&finder);
    ss_free(calls);
}
