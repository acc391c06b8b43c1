/* SPDX-License-Identifier: Apache-2.0 */
/* Lays the ranges of a row out, so that those of one tid nest: readers drop what only overlaps, or
 * read it wrong. Tools measure calls of Python and operators with different clock reads, so that
 * a few overlap at their edges. */
#include <stdlib.h>

#include "base/alloc.h"
#include "view/export/kineto_inside.h"

/* Beyond these, a range is shortened to nest. */
enum { MOST_LANES = 64, UNPLACED = UINT16_MAX };

/* What stays in the first lane, when two ranges overlap. */
static int rank_of(const struct ss_kineto_item *item)
{
    enum ss_kineto_kind kind = (enum ss_kineto_kind)item->kind;
    return ss_kineto_is_work(kind)                                ? 4
           : kind == SS_KINETO_STEP                               ? 3
           : kind == SS_KINETO_PYTHON || kind == SS_KINETO_MODULE ? 1
                                                                  : 2;
}

/* Outer before inner. Work lies beside other work: an empty one before the next. */
static int compare_items(const void *left, const void *right)
{
    const struct ss_kineto_item *a = left, *b = right;
    bool is_work_a = ss_kineto_is_work((enum ss_kineto_kind)a->kind);
    bool is_work_b = ss_kineto_is_work((enum ss_kineto_kind)b->kind);
    if (a->begin_ns != b->begin_ns) {
        return a->begin_ns < b->begin_ns ? -1 : 1;
    }
    if (is_work_a != is_work_b) {
        return is_work_a ? 1 : -1;
    }
    if (a->end_ns != b->end_ns) {
        return (a->end_ns > b->end_ns) != is_work_a ? -1 : 1;
    }
    int a_rank = rank_of(a), b_rank = rank_of(b);
    if (a_rank != b_rank) {
        return a_rank > b_rank ? -1 : 1;
    }
    return a->range < b->range ? -1 : a->range > b->range;
}

struct placing {
    struct ss_kineto_item *items;
    struct ss_vec_of(uint32_t) open; /* of the lane */
    size_t open_work;
    uint16_t lane;
};

static struct ss_kineto_item *pop(struct placing *placing)
{
    struct ss_kineto_item *top = &placing->items[placing->open.data[--placing->open.count]];
    placing->open_work -= ss_kineto_is_work((enum ss_kineto_kind)top->kind);
    return top;
}

static void close_before(struct placing *placing, uint64_t begin_ns)
{
    while (placing->open.count > 0 &&
           placing->items[placing->open.data[placing->open.count - 1]].end_ns <= begin_ns) {
        pop(placing);
    }
}

/* How many of the open items remain when this one is placed; those above overlap it and give way.
 * False: one of them does not. */
static bool makes_way(const struct placing *placing, const struct ss_kineto_item *item,
                      size_t *remaining)
{
    size_t count = placing->open.count;
    if (ss_kineto_is_work((enum ss_kineto_kind)item->kind) && placing->open_work > 0) {
        return false;
    }
    for (; count > 0; count--) {
        const struct ss_kineto_item *top = &placing->items[placing->open.data[count - 1]];
        if (top->end_ns >= item->end_ns) {
            break;
        }
        if (rank_of(top) >= rank_of(item)) {
            return false;
        }
    }
    *remaining = count;
    return true;
}

static void place(struct placing *placing, uint32_t index, bool is_last)
{
    struct ss_kineto_item *item = &placing->items[index];
    size_t remaining = 0;
    close_before(placing, item->begin_ns);
    if (makes_way(placing, item, &remaining) && !(is_last && remaining < placing->open.count)) {
        while (placing->open.count > remaining) {
            pop(placing)->lane = UNPLACED;
        }
    } else if (is_last) {
        uint64_t end_ns = placing->items[placing->open.data[placing->open.count - 1]].end_ns;
        item->end_ns = item->end_ns < end_ns ? item->end_ns : end_ns;
    } else {
        return;
    }
    item->lane = placing->lane;
    placing->open_work += ss_kineto_is_work((enum ss_kineto_kind)item->kind);
    ss_vec_push(&placing->open, index);
}

void ss_kineto_place_items(ss_kineto_items *items)
{
    if (items->count == 0) {
        return;
    }
    struct placing placing = {.items = items->data};
    struct ss_vec_of(uint32_t) left = {0};
    qsort(items->data, items->count, sizeof *items->data, compare_items);
    ss_vec_reserve(&left, items->count);
    for (uint32_t i = 0; i < items->count; i++) {
        items->data[i].lane = UNPLACED;
        ss_vec_push(&left, i);
    }
    for (; left.count > 0; placing.lane++) {
        size_t kept = 0;
        ss_vec_clear(&placing.open);
        placing.open_work = 0;
        for (size_t i = 0; i < left.count; i++) {
            place(&placing, left.data[i], placing.lane == MOST_LANES - 1);
        }
        for (size_t i = 0; i < left.count; i++) {
            if (items->data[left.data[i]].lane == UNPLACED) {
                left.data[kept++] = left.data[i];
            }
        }
        left.count = kept;
    }
    ss_vec_fini(&left);
    ss_vec_fini(&placing.open);
}
