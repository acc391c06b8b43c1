/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/operators/call_works.h"

#include <stdlib.h>

#include "base/alloc.h"

/* A place by the call that anchors it, as a range plus one. */
struct anchored {
    uint32_t anchor, place;
};

/* An open range, and what it and its inner ranges have launched so far. */
struct open_range {
    uint32_t range; /* plus one */
    uint32_t claim; /* row of itself, or of the nearest range around it with one, plus one */
    uint64_t all_ns, steady_ns;
};

/* Memory is that of the places and of the nesting, not of the ranges: recordings have millions. */
struct summing {
    const struct ss_launch_places *places;
    const struct ss_calls *calls;
    struct ss_call_works *out;
    struct ss_vec_of(struct anchored) anchored; /* by anchor */
    struct ss_vec_of(struct open_range) open;   /* the outermost first */
    uint32_t *depths;                           /* by row plus one: open ranges that have it */
};

static int compare_anchored(const void *left, const void *right)
{
    const struct anchored *a = left, *b = right;
    if (a->anchor != b->anchor) {
        return a->anchor < b->anchor ? -1 : 1;
    }
    return (a->place > b->place) - (a->place < b->place);
}

static void add_self(struct ss_call_work *sum, const struct ss_launch_place *place)
{
    sum->works++;
    sum->self_ns += place->ns;
    sum->steady_self_ns += place->is_steady ? place->ns : 0;
}

static void collect(struct summing *summing, const uint32_t *anchors)
{
    for (size_t i = 0; i < summing->places->rows.count; i++) {
        const struct ss_launch_place *place = &summing->places->rows.data[i];
        if (place->call == 0 || anchors[i] == SS_NO_ANCHOR) {
            continue;
        }
        if (anchors[i] == 0) {
            add_self(&summing->out->none, place);
        } else {
            ss_vec_push(&summing->anchored, (struct anchored){anchors[i], (uint32_t)i});
        }
    }
    if (summing->anchored.count > 1) {
        qsort(summing->anchored.data, summing->anchored.count, sizeof *summing->anchored.data,
              compare_anchored);
    }
}

/* What the outermost range of a row launched, with its inner ranges, is in the row's total:
 * recursion counts once. */
static void close_range(struct summing *summing, bool has_outer)
{
    struct open_range *closed = &summing->open.data[--summing->open.count];
    uint32_t row = summing->calls->row_of[closed->range - 1];
    if (--summing->depths[row] == 0 && row != 0) {
        summing->out->rows[row - 1].total_ns += closed->all_ns;
        summing->out->rows[row - 1].steady_total_ns += closed->steady_ns;
    }
    if (has_outer) {
        closed[-1].all_ns += closed->all_ns;
        closed[-1].steady_ns += closed->steady_ns;
    }
}

/* Closes the ranges that do not lie around the next one, whose parent this is; 0: it has none. */
static void close_down_to(struct summing *summing, uint32_t parent)
{
    while (summing->open.count > 0 && summing->open.data[summing->open.count - 1].range != parent) {
        close_range(summing, summing->open.count > 1);
    }
}

static void open_range(struct summing *summing, uint32_t index)
{
    uint32_t row = summing->calls->row_of[index];
    const struct open_range *outer =
        summing->open.count > 0 ? &summing->open.data[summing->open.count - 1] : NULL;
    struct open_range opened = {.range = index + 1,
                                .claim = row != 0        ? row
                                         : outer != NULL ? outer->claim
                                                         : 0};
    ss_vec_push(&summing->open, opened);
    summing->depths[row]++;
}

/* Outer ranges precede their inner ones. */
static void sum_ranges(struct summing *summing)
{
    const uint32_t *parents = summing->places->finder->parents;
    size_t count = summing->places->selection->model->ranges.count, next = 0;
    for (uint32_t i = 0; i < count; i++) {
        close_down_to(summing, parents[i]);
        open_range(summing, i);
        struct open_range *range = &summing->open.data[summing->open.count - 1];
        for (; next < summing->anchored.count && summing->anchored.data[next].anchor == i + 1;
             next++) {
            const struct ss_launch_place *place =
                &summing->places->rows.data[summing->anchored.data[next].place];
            add_self(range->claim != 0 ? &summing->out->rows[range->claim - 1]
                                       : &summing->out->none,
                     place);
            range->all_ns += place->ns;
            range->steady_ns += place->is_steady ? place->ns : 0;
        }
    }
    close_down_to(summing, 0);
}

void ss_call_works_init(struct ss_call_works *works, const struct ss_launch_places *places,
                        const uint32_t *anchors, const struct ss_calls *calls)
{
    struct summing summing = {.places = places, .calls = calls, .out = works};
    *works =
        (struct ss_call_works){.rows = ss_alloc_zero(calls->rows.count + 1, sizeof *works->rows)};
    if (places->rows.count == 0) {
        return;
    }
    summing.depths = ss_alloc_zero(calls->rows.count + 1, sizeof *summing.depths);
    collect(&summing, anchors);
    sum_ranges(&summing);
    works->none.total_ns = works->none.self_ns;
    works->none.steady_total_ns = works->none.steady_self_ns;
    ss_vec_fini(&summing.anchored);
    ss_vec_fini(&summing.open);
    ss_free(summing.depths);
}

void ss_call_works_fini(struct ss_call_works *works)
{
    ss_free(works->rows);
    *works = (struct ss_call_works){0};
}

size_t ss_unattributed_work(const struct ss_launch_places *places,
                            const struct ss_call_works *works, const char *name,
                            struct ss_unattributed *rows)
{
    size_t count = 0;
    if (works->none.works > 0) {
        rows[count++] = (struct ss_unattributed){name, works->none};
    }
    for (int i = SS_LAUNCH_BEFORE; i < SS_LAUNCHES; i++) {
        const struct ss_launch_sum *sum = &places->unlaunched[i];
        if (sum->count > 0) {
            rows[count++] = (struct ss_unattributed){
                ss_launch_name((enum ss_launch)i),
                {.works = sum->count, .self_ns = sum->ns, .total_ns = sum->ns}};
        }
    }
    return count;
}
