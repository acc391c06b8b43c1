/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/memory/allocations.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/memory/allocation_code.h"
#include "analysis/memory/allocation_parts.h"
#include "base/alloc.h"
#include "base/search.h"

/* --- pairs ------------------------------------------------------------------------------------ */

/* What happens at an address. */
struct change {
    uint64_t address;
    uint32_t number; /* of the event in its pool; 0: before the history */
    uint32_t index;  /* among all events */
};

/* All events, and the code that runs at each. */
struct coded {
    const struct ss_allocation_event *events;
    const struct ss_allocation_code *codes;
};

struct changes ss_vec_of(struct change);

static int compare_changes(const void *left, const void *right)
{
    const struct change *a = left, *b = right;
    if (a->address != b->address) {
        return a->address < b->address ? -1 : 1;
    }
    return (a->number > b->number) - (a->number < b->number);
}

static int compare_rows(const void *left, const void *right)
{
    const struct ss_allocation *a = left, *b = right;
    if (a->begin != b->begin) {
        return a->begin < b->begin ? -1 : 1;
    }
    return (a->address > b->address) - (a->address < b->address);
}

static struct ss_allocation row_of(const struct coded *coded, const struct change *change)
{
    const struct ss_allocation_event *event = &coded->events[change->index];
    return (struct ss_allocation){.bytes = (uint64_t)event->bytes,
                                  .address = event->address,
                                  .begin = change->number,
                                  .end = UINT32_MAX,
                                  .code = coded->codes[change->index],
                                  .category = event->category != 0 ? (uint8_t)(event->category - 1)
                                                                   : SS_ALLOCATION_UNKNOWN};
}

static void end_row(const struct coded *coded, struct ss_allocation *row,
                    const struct change *change)
{
    row->end = change->number;
    row->end_phase = coded->codes[change->index].phase;
}

/* A free without its allocation: of what was allocated before the recording. */
static struct ss_allocation row_before(const struct coded *coded, const struct change *change)
{
    struct ss_allocation row = {.bytes = (uint64_t)-coded->events[change->index].bytes,
                                .address = change->address,
                                .category = SS_ALLOCATION_UNKNOWN};
    end_row(coded, &row, change);
    return row;
}

static void pair(struct ss_allocations *allocations, const struct coded *coded,
                 struct ss_allocation_pool *pool, struct changes *changes)
{
    size_t open = SIZE_MAX; /* row of the allocation at the current address */
    if (changes->count > 0) {
        qsort(changes->data, changes->count, sizeof *changes->data, compare_changes);
    }
    for (size_t i = 0; i < changes->count; i++) {
        const struct change *change = &changes->data[i];
        bool is_allocation = coded->events[change->index].bytes > 0;
        open = i > 0 && change->address != change[-1].address ? SIZE_MAX : open;
        if (open != SIZE_MAX) {
            end_row(coded, &allocations->rows.data[open], change);
            pool->unpaired += is_allocation;
        }
        if (is_allocation) {
            ss_vec_push(&allocations->rows, row_of(coded, change));
        } else if (open == SIZE_MAX) {
            ss_vec_push(&allocations->rows, row_before(coded, change));
        }
        open = is_allocation ? allocations->rows.count - 1 : SIZE_MAX;
    }
    pool->end = allocations->rows.count;
    if (pool->end > pool->first) {
        qsort(allocations->rows.data + pool->first, pool->end - pool->first,
              sizeof *allocations->rows.data, compare_rows);
    }
}

static void add_change(struct changes *changes, const struct coded *coded, size_t index,
                       uint32_t number)
{
    const struct ss_allocation_event *event = &coded->events[index];
    bool is_bytes =
        event->kind == SS_ALLOCATION_EVENT_BYTES || event->kind == SS_ALLOCATION_EVENT_BEFORE;
    if (is_bytes && event->has_address && event->bytes != 0) {
        ss_vec_push(changes, (struct change){event->address, number, (uint32_t)index});
    }
}

/* An allocation without an address: its lifetime is unknown. Where the category is stated, it may
 * be a change of a sum, and no allocation. */
static void add_lone(struct ss_allocations *allocations, const struct coded *coded, size_t index,
                     uint32_t number)
{
    const struct ss_allocation_event *event = &coded->events[index];
    struct change change = {0, number, (uint32_t)index};
    if (event->kind == SS_ALLOCATION_EVENT_BYTES && !event->has_address && event->bytes > 0 &&
        event->category == 0) {
        struct ss_allocation row = row_of(coded, &change);
        row.end = number;
        ss_vec_push(&allocations->rows, row);
    }
}

/* --- totals ----------------------------------------------------------------------------------- */

/* What is alive at the start, as far as events name it. */
struct begin {
    int64_t allocated, reserved;
    bool has_before, has_segments;
};

static int64_t add_bytes(int64_t sum, int64_t bytes)
{
    int64_t result;
    return __builtin_add_overflow(sum, bytes, &result) ? sum : result;
}

static uint64_t plain(int64_t bytes)
{
    return bytes > 0 ? (uint64_t)bytes : 0;
}

static struct begin begin_of(const struct ss_allocations *allocations,
                             const struct ss_allocation_pool *pool,
                             const struct ss_allocation_pool_events *events)
{
    struct begin begin = {.has_before = events->before_count > 0};
    for (size_t i = 0; i < events->before_count; i++) {
        const struct ss_allocation_event *event = &events->before[i];
        bool is_segment = event->kind == SS_ALLOCATION_EVENT_SEGMENT_BEFORE;
        int64_t *sum = is_segment ? &begin.reserved : &begin.allocated;
        *sum = is_segment || !event->has_address ? add_bytes(*sum, event->bytes) : *sum;
        begin.has_segments = begin.has_segments || is_segment;
    }
    for (size_t i = pool->first; i < pool->end && allocations->rows.data[i].begin == 0; i++) {
        begin.allocated = add_bytes(begin.allocated, (int64_t)allocations->rows.data[i].bytes);
    }
    for (size_t i = 0; i < events->count; i++) {
        begin.has_segments =
            begin.has_segments || events->rows[i].kind == SS_ALLOCATION_EVENT_SEGMENT;
    }
    return begin;
}

/* Whether each allocation comes with the total after it. */
static bool has_totals(const struct ss_allocation_pool_events *events)
{
    bool has_any = false;
    for (size_t i = 0; i < events->count; i++) {
        bool is_bytes = events->rows[i].kind == SS_ALLOCATION_EVENT_BYTES;
        if (is_bytes && !events->rows[i].has_totals) {
            return false;
        }
        has_any = has_any || is_bytes;
    }
    return has_any;
}

static int64_t change_at(const struct ss_allocation_pool *pool, size_t number)
{
    return (int64_t)pool->points.data[number].allocated;
}

static void change_by(struct ss_allocation_pool *pool, size_t number, int64_t bytes)
{
    pool->points.data[number].allocated = (uint64_t)add_bytes(change_at(pool, number), bytes);
}

/* The points, which hold at first what each event adds to what is allocated: a free as much as was
 * allocated at its address, since it may state another size. */
static void begin_points(const struct ss_allocations *allocations, struct ss_allocation_pool *pool,
                         const struct ss_allocation_pool_events *events)
{
    ss_vec_resize(&pool->points, events->count + 1);
    for (size_t i = 0; i < events->count; i++) {
        const struct ss_allocation_event *event = &events->rows[i];
        pool->points.data[i + 1].time_ns = event->time_ns;
        if (event->kind == SS_ALLOCATION_EVENT_BYTES && !event->has_address) {
            change_by(pool, i + 1, event->bytes);
        }
    }
    for (size_t i = pool->first; i < pool->end; i++) {
        const struct ss_allocation *row = &allocations->rows.data[i];
        if (row->begin == row->end) {
            continue;
        }
        if (row->begin > 0) {
            change_by(pool, row->begin, (int64_t)row->bytes);
        }
        if (row->end != UINT32_MAX) {
            change_by(pool, row->end, -(int64_t)row->bytes);
        }
    }
}

/* What is missing at the start: by the first total; else as much as is freed in excess. */
static uint64_t base_of(const struct ss_model *model, const struct ss_allocation_pool *pool,
                        const struct ss_allocation_pool_events *events, const struct begin *begin,
                        bool by_totals)
{
    int64_t running = begin->allocated, least = 0;
    for (size_t i = 0; i < events->count; i++) {
        const struct ss_allocation_event *event = &events->rows[i];
        if (by_totals && event->kind == SS_ALLOCATION_EVENT_BYTES) {
            uint64_t stated =
                ss_allocation_event_natural(model, event, SS_EVENT_FIELD_allocated_bytes);
            int64_t total = stated < INT64_MAX ? (int64_t)stated : INT64_MAX;
            return plain(add_bytes(add_bytes(total, -event->bytes), -begin->allocated));
        }
        running = add_bytes(running, change_at(pool, i + 1));
        least = running < least ? running : least;
    }
    return plain(-least);
}

static void end_points(const struct ss_model *model, struct ss_allocation_pool *pool,
                       const struct ss_allocation_pool_events *events, const struct begin *begin,
                       bool by_totals)
{
    int64_t allocated = add_bytes(begin->allocated, (int64_t)pool->base_bytes);
    int64_t reserved = begin->reserved;
    uint64_t known_reserved =
        events->count > 0
            ? ss_allocation_event_natural(model, events->rows, SS_EVENT_FIELD_reserved_bytes)
            : 0;
    pool->points.data[0].allocated = plain(allocated);
    pool->points.data[0].reserved = begin->has_segments ? plain(reserved) : known_reserved;
    for (size_t i = 0; i < events->count; i++) {
        const struct ss_allocation_event *event = &events->rows[i];
        if (event->kind == SS_ALLOCATION_EVENT_BYTES) {
            uint64_t stated =
                ss_allocation_event_natural(model, event, SS_EVENT_FIELD_allocated_bytes);
            allocated = by_totals ? (int64_t)(stated & INT64_MAX)
                                  : add_bytes(allocated, change_at(pool, i + 1));
            known_reserved =
                ss_allocation_event_natural(model, event, SS_EVENT_FIELD_reserved_bytes);
        } else if (event->kind == SS_ALLOCATION_EVENT_SEGMENT) {
            reserved = add_bytes(reserved, event->bytes);
        }
        struct ss_allocation_point *point = &pool->points.data[i + 1];
        point->allocated = plain(allocated);
        point->reserved = begin->has_segments ? plain(reserved) : known_reserved;
    }
}

static void find_peak(struct ss_allocation_pool *pool,
                      const struct ss_allocation_pool_events *events)
{
    for (size_t i = 0; i < pool->points.count; i++) {
        const struct ss_allocation_point *point = &pool->points.data[i];
        pool->peak = point->allocated > pool->points.data[pool->peak].allocated ? i : pool->peak;
        pool->reserved_peak =
            point->reserved > pool->reserved_peak ? point->reserved : pool->reserved_peak;
    }
    if (pool->peak > 0) {
        pool->peak_code = events->codes[pool->peak - 1];
    }
}

/* --- what is alive ---------------------------------------------------------------------------- */

/* Of events without addresses, as far as they state their category. */
static void add_stated(struct ss_allocation_pool *pool,
                       const struct ss_allocation_pool_events *events)
{
    int64_t sums[SS_ALLOCATION_CATEGORIES] = {0};
    for (size_t i = 0; i < events->before_count; i++) {
        const struct ss_allocation_event *event = &events->before[i];
        if (event->kind == SS_ALLOCATION_EVENT_BEFORE && !event->has_address &&
            event->category != 0) {
            sums[event->category - 1] = add_bytes(sums[event->category - 1], event->bytes);
        }
    }
    for (size_t i = 0; i < pool->peak; i++) {
        const struct ss_allocation_event *event = &events->rows[i];
        if (event->kind == SS_ALLOCATION_EVENT_BYTES && !event->has_address &&
            event->category != 0) {
            sums[event->category - 1] = add_bytes(sums[event->category - 1], event->bytes);
        }
    }
    for (size_t i = 0; i < SS_ALLOCATION_CATEGORIES; i++) {
        pool->peak_bytes[i] += plain(sums[i]);
    }
}

static void add_alive(const struct ss_allocations *allocations, struct ss_allocation_pool *pool,
                      const struct ss_allocation_pool_events *events)
{
    uint64_t known = 0;
    pool->peak_bytes[SS_ALLOCATION_BEFORE] = pool->base_bytes;
    for (size_t i = pool->first; i < pool->end; i++) {
        const struct ss_allocation *row = &allocations->rows.data[i];
        if (ss_allocation_is_at_peak(pool, row)) {
            pool->peak_bytes[row->category] += row->bytes;
        }
    }
    add_stated(pool, events);
    for (size_t i = 0; i < SS_ALLOCATION_CATEGORIES; i++) {
        known += pool->peak_bytes[i];
    }
    uint64_t all = ss_allocation_pool_peak(pool)->allocated;
    pool->peak_bytes[SS_ALLOCATION_UNKNOWN] += all > known ? all - known : 0;
}

static void add_failures(const struct ss_model *model, struct ss_allocation_pool *pool,
                         const struct ss_allocation_pool_events *events)
{
    for (size_t i = 0; i < events->count; i++) {
        const struct ss_allocation_event *event = &events->rows[i];
        if (event->kind == SS_ALLOCATION_EVENT_FAILURE) {
            ss_vec_push(&pool->failures, (struct ss_allocation_failure){
                                             .time_ns = event->time_ns,
                                             .requested_bytes = ss_allocation_event_natural(
                                                 model, event, SS_EVENT_FIELD_bytes),
                                             .device_free_bytes = plain(event->bytes),
                                             .allocated = pool->points.data[i].allocated,
                                             .reserved = pool->points.data[i].reserved,
                                             .code = events->codes[i]});
        }
    }
}

/* --- pools ------------------------------------------------------------------------------------ */

struct building {
    struct ss_allocations *allocations;
    const struct ss_step_summary *training;
    struct ss_allocation_events events;
    struct ss_allocation_code *codes; /* by event */
    struct ss_allocation_way way;
    struct ss_allocation_progress *last; /* by process */
};

static void count_events(struct ss_allocation_pool *pool,
                         const struct ss_allocation_pool_events *events)
{
    for (size_t i = 0; i < events->count; i++) {
        const struct ss_allocation_event *event = &events->rows[i];
        bool is_sum = event->category != 0 && !event->has_address; /* of a timeline */
        if (event->kind == SS_ALLOCATION_EVENT_BYTES && event->bytes > 0 && !is_sum) {
            pool->allocations++;
            pool->allocated_bytes += (uint64_t)event->bytes;
        }
        pool->has_addresses = pool->has_addresses || event->has_address;
    }
    for (size_t i = 0; i < events->before_count; i++) {
        pool->has_addresses = pool->has_addresses || events->before[i].has_address;
    }
}

static void find_rows(struct building *building, struct ss_allocation_pool *pool,
                      const struct ss_allocation_pool_events *events, size_t first)
{
    const struct coded coded = {building->events.rows.data, building->codes};
    struct changes changes = {0};
    size_t late = first + events->before_count;
    for (size_t i = 0; i < events->before_count; i++) {
        add_change(&changes, &coded, first + i, 0);
    }
    for (size_t i = 0; i < events->count; i++) {
        add_change(&changes, &coded, late + i, (uint32_t)i + 1);
        add_lone(building->allocations, &coded, late + i, (uint32_t)i + 1);
    }
    pair(building->allocations, &coded, pool, &changes);
    ss_vec_fini(&changes);
}

/* The events [first, end) are those of one process on one device. */
static void add_pool(struct building *building, size_t first, size_t end)
{
    struct ss_allocations *allocations = building->allocations;
    const struct ss_allocation_event *rows = building->events.rows.data;
    struct ss_allocation_pool pool = {.process = rows[first].process,
                                      .device = rows[first].device,
                                      .first = allocations->rows.count};
    size_t late = first;
    while (late < end && rows[late].kind < SS_ALLOCATION_EVENT_BYTES) {
        late++;
    }
    struct ss_allocation_pool_events events = {.rows = rows + late,
                                               .codes = building->codes + late,
                                               .steps = building->way.steps.data,
                                               .step_of = building->way.step_of + late,
                                               .count = end - late,
                                               .before = rows + first,
                                               .before_count = late - first};
    ss_vec_push(&pool.points, (struct ss_allocation_point){.time_ns = rows[first].time_ns});
    count_events(&pool, &events);
    find_rows(building, &pool, &events, first);
    struct begin begin = begin_of(allocations, &pool, &events);
    bool by_totals = has_totals(&events);
    const struct ss_model *model = allocations->selection->model;
    begin_points(allocations, &pool, &events);
    pool.base_bytes = base_of(model, &pool, &events, &begin, by_totals);
    pool.is_whole = by_totals || begin.has_before || begin.has_segments;
    end_points(model, &pool, &events, &begin, by_totals);
    find_peak(&pool, &events);
    ss_allocation_categorise(allocations, &pool, &events, building->last);
    add_alive(allocations, &pool, &events);
    add_failures(model, &pool, &events);
    pool.has_segments = begin.has_segments;
    ss_allocation_segments_find(allocations, &pool, &events);
    if (begin.has_segments) {
        ss_allocation_requests_find(allocations, &pool, &events, building->training);
    }
    ss_vec_push(&allocations->pools, pool);
}

static void add_pools(struct building *building)
{
    const struct ss_allocation_event *rows = building->events.rows.data;
    for (size_t first = 0, end; first < building->events.rows.count; first = end) {
        for (end = first + 1; end < building->events.rows.count &&
                              rows[end].process == rows[first].process &&
                              rows[end].device == rows[first].device;) {
            end++;
        }
        add_pool(building, first, end);
    }
}

static int compare_pools(const void *left, const void *right)
{
    const struct ss_allocation_pool *a = left, *b = right;
    uint64_t a_bytes = ss_allocation_pool_peak(a)->allocated;
    uint64_t b_bytes = ss_allocation_pool_peak(b)->allocated;
    if ((a->device != 0) != (b->device != 0)) {
        return a->device != 0 ? -1 : 1;
    }
    if (a_bytes != b_bytes) {
        return a_bytes > b_bytes ? -1 : 1;
    }
    return a->process != b->process ? (a->process < b->process ? -1 : 1)
                                    : (a->device > b->device) - (a->device < b->device);
}

/* The process's first pool of a device; NULL: none, or it has events of segments. */
static struct ss_allocation_pool *device_pool_of(struct ss_allocations *allocations,
                                                 uint32_t process)
{
    struct ss_allocation_pool *first = NULL;
    for (size_t i = 0; i < allocations->pools.count; i++) {
        struct ss_allocation_pool *pool = &allocations->pools.data[i];
        if (pool->process == process && pool->has_segments) {
            return NULL;
        }
        first = pool->process == process && pool->device != 0 && first == NULL ? pool : first;
    }
    return first;
}

/* Calls of the device's runtime do not say which device: they count for a process's first one. */
static void find_calls(struct ss_allocations *allocations, const struct ss_step_summary *training)
{
    for (size_t i = 0; i < allocations->pools.count; i++) {
        struct ss_allocation_pool *pool = &allocations->pools.data[i];
        if (device_pool_of(allocations, pool->process) == pool) {
            ss_allocation_calls_find(allocations, pool, training);
        }
    }
}

void ss_allocations_init(struct ss_allocations *allocations, const struct ss_selection *selection,
                         const struct ss_step_summary *training)
{
    struct building building = {.allocations = allocations, .training = training};
    struct ss_allocation_coder coder;
    *allocations = (struct ss_allocations){.selection = selection};
    ss_intern_init(&allocations->texts);
    ss_vec_push_zero(&allocations->lines);
    ss_allocation_events_init(&building.events, selection);
    size_t count = building.events.rows.count;
    if (count > 0) {
        building.codes = ss_alloc_zero(count, sizeof *building.codes);
        building.way.step_of = ss_alloc_zero(count, sizeof *building.way.step_of);
        building.last = ss_alloc_zero(selection->model->processes.count + 1, sizeof *building.last);
        ss_allocation_coder_init(&coder, selection, training, allocations);
        for (size_t i = 0; i < count; i++) {
            building.codes[i] = ss_allocation_code_of(&coder, &building.events.rows.data[i]);
        }
        ss_allocation_coder_fini(&coder);
        ss_allocation_progress_find(&building.events, building.codes, &building.way, building.last);
        add_pools(&building);
        find_calls(allocations, training);
        qsort(allocations->pools.data, allocations->pools.count, sizeof *allocations->pools.data,
              compare_pools);
    }
    ss_allocation_events_fini(&building.events);
    ss_free(building.codes);
    ss_vec_fini(&building.way.steps);
    ss_free(building.way.step_of);
    ss_free(building.last);
}

void ss_allocations_fini(struct ss_allocations *allocations)
{
    for (size_t i = 0; i < allocations->pools.count; i++) {
        ss_vec_fini(&allocations->pools.data[i].points);
        ss_vec_fini(&allocations->pools.data[i].failures);
    }
    ss_vec_fini(&allocations->pools);
    ss_vec_fini(&allocations->rows);
    ss_vec_fini(&allocations->lines);
    ss_intern_fini(&allocations->texts);
}

const struct ss_allocation_point *ss_allocation_pool_peak_in(const struct ss_allocation_pool *pool,
                                                             uint64_t from_ns, uint64_t to_ns)
{
    const struct ss_allocation_point *points = pool->points.data, *peak = NULL;
    /* The first that lies behind from_ns. */
    size_t low = ss_search(i, 0, pool->points.count, points[i].time_ns <= from_ns);
    for (size_t i = low > 0 ? low - 1 : 0; i < pool->points.count && points[i].time_ns < to_ns;
         i++) {
        peak = peak == NULL || points[i].allocated > peak->allocated ? &points[i] : peak;
    }
    return peak;
}
