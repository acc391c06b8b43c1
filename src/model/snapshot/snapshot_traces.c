/* SPDX-License-Identifier: Apache-2.0 */
/* The events of a device in a snapshot. A history has a start: what is there at its end but was not
 * taken in it, or is given back in it but was not taken, was there before. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/search.h"
#include "model/snapshot/snapshot_rows.h"

enum { NO_TIME_NS = 1 }; /* of all events without times, which have an order alone */

enum kind { NO_KIND, ALLOC, FREE, SEGMENT_ALLOC, SEGMENT_FREE, SEGMENT_MAP, SEGMENT_UNMAP, OOM };

/* Blocks and segments lead lives of their own at an address. */
enum subject { BLOCKS, SEGMENTS, OTHERS };

/* An event of the trace; sorted by address for what each address went through. */
struct action {
    uint64_t address, bytes;
    uint32_t index;
    enum kind kind;
    struct ss_pickle_value frames;
};

struct history {
    struct ss_snapshot_rows *rows;
    uint64_t device, begin_ns;
    struct ss_vec_of(struct action) actions; /* by index */
    struct ss_vec_of(uint64_t) times;        /* of actions */
    struct action *by_address;               /* sorted by address, subject, index */
};

static enum subject subject_of(enum kind kind)
{
    return kind == ALLOC || kind == FREE                   ? BLOCKS
           : kind == SEGMENT_ALLOC || kind == SEGMENT_FREE ? SEGMENTS
                                                           : OTHERS;
}

static int compare(const void *left, const void *right)
{
    const struct action *a = left, *b = right;
    if (a->address != b->address) {
        return a->address < b->address ? -1 : 1;
    }
    enum subject of_a = subject_of(a->kind), of_b = subject_of(b->kind);
    if (of_a != of_b) {
        return of_a < of_b ? -1 : 1;
    }
    return (a->index > b->index) - (a->index < b->index);
}

static enum kind kind_of(const struct ss_snapshot_words *words, struct ss_pickle_value action)
{
    return ss_snapshot_is(action, words->alloc)            ? ALLOC
           : ss_snapshot_is(action, words->free_requested) ? FREE
           : ss_snapshot_is(action, words->segment_alloc)  ? SEGMENT_ALLOC
           : ss_snapshot_is(action, words->segment_free)   ? SEGMENT_FREE
           : ss_snapshot_is(action, words->segment_map)    ? SEGMENT_MAP
           : ss_snapshot_is(action, words->segment_unmap)  ? SEGMENT_UNMAP
           : ss_snapshot_is(action, words->oom)            ? OOM
                                                           : NO_KIND;
}

/* --- reading ---------------------------------------------------------------------------------- */

static uint64_t time_of(struct history *history, struct ss_pickle_value entry)
{
    struct ss_snapshot_rows *rows = history->rows;
    uint64_t us = ss_snapshot_number(rows, entry, rows->words.time_us, 0);
    if (us == 0 || us > UINT64_MAX / 2000) {
        return NO_TIME_NS;
    }
    rows->has_times = true;
    return us * 1000;
}

static enum ss_status read_trace(struct history *history, struct ss_pickle_value trace,
                                 struct ss_error *err)
{
    struct ss_snapshot_rows *rows = history->rows;
    const struct ss_snapshot_words *words = &rows->words;
    size_t count = ss_pickle_count(rows->pickle, trace);
    for (size_t i = 0; i < count; i++) {
        struct ss_pickle_value entry = ss_pickle_at(rows->pickle, trace, i);
        SS_TRY(ss_snapshot_charge(rows, entry, err));
        struct ss_pickle_value name = ss_pickle_get(rows->pickle, entry, words->action);
        struct action action = {.index = (uint32_t)i, .kind = kind_of(words, name)};
        if (name.type != SS_PICKLE_TEXT) {
            return ss_fail(err, SS_E_FORMAT, "event %zu of device %" PRIu64 " has no action", i,
                           history->device);
        }
        action.address = ss_snapshot_number(
            rows, entry, action.kind == OOM ? words->device_free : words->addr, 0);
        action.bytes = ss_snapshot_number(rows, entry, words->size, 0) & INT64_MAX;
        action.frames = ss_pickle_get(rows->pickle, entry, words->frames);
        uint64_t time_ns = time_of(history, entry);
        history->begin_ns = i == 0 || time_ns < history->begin_ns ? time_ns : history->begin_ns;
        ss_vec_push(&history->actions, action);
        ss_vec_push(&history->times, time_ns);
    }
    return SS_OK;
}

static void sort_actions(struct history *history)
{
    size_t count = history->actions.count;
    history->by_address = ss_alloc((count + 1) * sizeof *history->by_address);
    for (size_t i = 0; i < count; i++) {
        history->by_address[i] = history->actions.data[i];
    }
    qsort(history->by_address, count, sizeof *history->by_address, compare);
}

/* The first action of blocks, or of whole segments, at the address; NULL: none. */
static const struct action *first_action(const struct history *history, uint64_t address,
                                         enum subject subject)
{
    size_t low = ss_search(i, 0, history->actions.count,
                           history->by_address[i].address < address ||
                               (history->by_address[i].address == address &&
                                subject_of(history->by_address[i].kind) < subject));
    const struct action *found = &history->by_address[low];
    return low < history->actions.count && found->address == address &&
                   subject_of(found->kind) == subject
               ? found
               : NULL;
}

/* A free without frames takes the frames of its allocation. */
static void drop_borrowed_frames(struct history *history)
{
    const struct action *alloc = NULL;
    for (size_t i = 0; i < history->actions.count; i++) {
        const struct action *action = &history->by_address[i];
        if (action->kind == ALLOC) {
            alloc = action;
        } else if (action->kind == FREE && alloc != NULL && alloc->address == action->address &&
                   alloc->frames.type == action->frames.type &&
                   alloc->frames.type == SS_PICKLE_LIST &&
                   alloc->frames.object == action->frames.object) {
            history->actions.data[action->index].frames.type = SS_PICKLE_ABSENT;
        }
    }
}

/* --- what was there before -------------------------------------------------------------------- */

static void add_before(struct history *history, enum ss_snapshot_mark mark, uint64_t address,
                       uint64_t bytes, struct ss_pickle_value frames)
{
    if (bytes > 0) {
        ss_snapshot_add(history->rows,
                        &(struct ss_snapshot_event){.mark = mark,
                                                    .time_ns = history->begin_ns,
                                                    .device = history->device,
                                                    .bytes = (int64_t)(bytes & INT64_MAX),
                                                    .address = address,
                                                    .frames = frames});
    }
}

/* Of a block in use: what was requested, and by which frames. Before 2.1 they lie in a list. */
static void add_block_before(struct history *history, struct ss_pickle_value block,
                             uint64_t address, uint64_t size)
{
    const struct ss_snapshot_rows *rows = history->rows;
    const struct ss_snapshot_words *words = &rows->words;
    struct ss_pickle_value frames = ss_pickle_get(rows->pickle, block, words->frames);
    struct ss_pickle_value list = ss_pickle_get(rows->pickle, block, words->history);
    uint64_t bytes = ss_snapshot_number(rows, block, words->requested_size, size);
    if (ss_pickle_count(rows->pickle, list) > 0) {
        struct ss_pickle_value newest = ss_pickle_at(rows->pickle, list, 0);
        frames = ss_pickle_get(rows->pickle, newest, words->frames);
        bytes = ss_snapshot_number(rows, newest, words->real_size, bytes);
    }
    if (first_action(history, address, BLOCKS) == NULL) {
        add_before(history, SS_SNAPSHOT_BEFORE, address, bytes, frames);
    }
}

static enum ss_status add_blocks_before(struct history *history, struct ss_pickle_value segment,
                                        uint64_t address, struct ss_error *err)
{
    const struct ss_snapshot_rows *rows = history->rows;
    const struct ss_snapshot_words *words = &rows->words;
    struct ss_pickle_value blocks = ss_pickle_get(rows->pickle, segment, words->blocks);
    for (size_t i = 0; i < ss_pickle_count(rows->pickle, blocks); i++) {
        struct ss_pickle_value block = ss_pickle_at(rows->pickle, blocks, i);
        SS_TRY(ss_snapshot_charge(rows, block, err));
        uint64_t size = ss_snapshot_number(rows, block, words->size, 0);
        if (ss_snapshot_is(ss_pickle_get(rows->pickle, block, words->state),
                           words->active_allocated)) {
            add_block_before(history, block,
                             ss_snapshot_number(rows, block, words->address, address), size);
        }
        address += size; /* before 2.1, blocks have no address: they lie one behind the other */
    }
    return SS_OK;
}

/* Where parts of segments that grow begin or end. */
struct edge {
    uint64_t address;
    int cover;
};

struct edges ss_vec_of(struct edge);

static void add_edges(struct edges *edges, uint64_t address, uint64_t bytes, int cover)
{
    if (bytes > 0 && bytes <= UINT64_MAX - address) {
        ss_vec_push(edges, (struct edge){address, cover});
        ss_vec_push(edges, (struct edge){address + bytes, -cover});
    }
}

static int compare_edges(const void *left, const void *right)
{
    const struct edge *a = left, *b = right;
    return (a->address > b->address) - (a->address < b->address);
}

/* Of the end, without what was mapped, with what was unmapped. */
static void add_parts_before(struct history *history, struct edges *edges)
{
    int64_t cover = 0;
    uint64_t begin = 0;
    for (size_t i = 0; i < history->actions.count; i++) {
        const struct action *action = &history->actions.data[i];
        if (action->kind == SEGMENT_MAP || action->kind == SEGMENT_UNMAP) {
            add_edges(edges, action->address, action->bytes, action->kind == SEGMENT_MAP ? -1 : 1);
        }
    }
    if (edges->count > 0) {
        qsort(edges->data, edges->count, sizeof *edges->data, compare_edges);
    }
    for (size_t i = 0, next; i < edges->count; i = next) {
        int64_t before = cover;
        for (next = i; next < edges->count && edges->data[next].address == edges->data[i].address;
             next++) {
            cover += edges->data[next].cover;
        }
        if (before <= 0 && cover > 0) {
            begin = edges->data[i].address;
        } else if (before > 0 && cover <= 0) {
            add_before(history, SS_SNAPSHOT_SEGMENT_PART_BEFORE, begin,
                       edges->data[i].address - begin, (struct ss_pickle_value){0});
        }
    }
}

/* Segments that are gone at the end. */
static void add_freed_before(struct history *history)
{
    for (size_t i = 0; i < history->actions.count; i++) {
        const struct action *action = &history->by_address[i];
        if (action->kind == SEGMENT_FREE &&
            first_action(history, action->address, SEGMENTS)->index == action->index) {
            add_before(history, SS_SNAPSHOT_SEGMENT_BEFORE, action->address, action->bytes,
                       (struct ss_pickle_value){0});
        }
    }
}

static enum ss_status add_segment_before(struct history *history, struct ss_pickle_value segment,
                                         struct edges *edges, struct ss_error *err)
{
    const struct ss_snapshot_rows *rows = history->rows;
    const struct ss_snapshot_words *words = &rows->words;
    uint64_t address = ss_snapshot_number(rows, segment, words->address, 0);
    uint64_t bytes = ss_snapshot_number(rows, segment, words->total_size, 0);
    struct ss_pickle_value grows = ss_pickle_get(rows->pickle, segment, words->is_expandable);
    if (grows.type == SS_PICKLE_BOOLEAN && grows.boolean) {
        add_edges(edges, address, bytes, 1);
    } else if (first_action(history, address, SEGMENTS) == NULL) {
        add_before(history, SS_SNAPSHOT_SEGMENT_BEFORE, address, bytes,
                   ss_pickle_get(rows->pickle, segment, words->frames));
    }
    return add_blocks_before(history, segment, address, err);
}

static enum ss_status add_all_before(struct history *history, struct ss_pickle_value segments,
                                     struct ss_error *err)
{
    enum ss_status status = SS_OK;
    const struct ss_snapshot_rows *rows = history->rows;
    struct edges edges = {0};
    for (size_t i = 0; i < ss_pickle_count(rows->pickle, segments) && status == SS_OK; i++) {
        struct ss_pickle_value segment = ss_pickle_at(rows->pickle, segments, i);
        status = ss_snapshot_charge(rows, segment, err);
        if (status == SS_OK &&
            ss_snapshot_number(rows, segment, rows->words.device, 0) == history->device) {
            status = add_segment_before(history, segment, &edges, err);
        }
    }
    add_parts_before(history, &edges);
    add_freed_before(history);
    ss_vec_fini(&edges);
    return status;
}

/* --- events ----------------------------------------------------------------------------------- */

static void add_action(struct history *history, const struct action *action)
{
    static const struct {
        enum ss_snapshot_mark mark;
        int sign;
    } marks[] = {[ALLOC] = {SS_SNAPSHOT_ALLOC, 1},
                 [FREE] = {SS_SNAPSHOT_ALLOC, -1},
                 [SEGMENT_ALLOC] = {SS_SNAPSHOT_SEGMENT, 1},
                 [SEGMENT_FREE] = {SS_SNAPSHOT_SEGMENT, -1},
                 [SEGMENT_MAP] = {SS_SNAPSHOT_SEGMENT_PART, 1},
                 [SEGMENT_UNMAP] = {SS_SNAPSHOT_SEGMENT_PART, -1},
                 [OOM] = {SS_SNAPSHOT_OOM, 1}};
    if (action->kind == NO_KIND) {
        return; /* free_completed follows from free_requested, snapshot changes nothing */
    }
    uint64_t bytes = action->kind == OOM ? action->address & INT64_MAX : action->bytes;
    ss_snapshot_add(history->rows,
                    &(struct ss_snapshot_event){.mark = marks[action->kind].mark,
                                                .time_ns = history->times.data[action->index],
                                                .device = history->device,
                                                .bytes = (int64_t)bytes * marks[action->kind].sign,
                                                .address = action->address,
                                                .requested = action->bytes,
                                                .frames = action->frames});
}

enum ss_status ss_snapshot_add_device(struct ss_snapshot_rows *rows, uint64_t device,
                                      struct ss_pickle_value segments, struct ss_pickle_value trace,
                                      struct ss_error *err)
{
    struct history history = {.rows = rows, .device = device, .begin_ns = NO_TIME_NS};
    enum ss_status status = read_trace(&history, trace, err);
    if (status == SS_OK) {
        sort_actions(&history);
        drop_borrowed_frames(&history);
        status = add_all_before(&history, segments, err);
        for (size_t i = 0; i < history.actions.count && status == SS_OK; i++) {
            add_action(&history, &history.actions.data[i]);
            status = ss_input_budget_check(rows->budget, err);
        }
    }
    ss_vec_fini(&history.actions);
    ss_vec_fini(&history.times);
    ss_free(history.by_address);
    return status;
}
