/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/call_works.h"

#include "base/alloc.h"

/* Times of works that a range, with its inner ranges, launched. */
struct launched {
    uint64_t all_ns, steady_ns;
};

struct summing {
    const struct ss_launch_places *places;
    const struct ss_calls *calls;
    struct ss_call_works *out;
    uint32_t *claims; /* by range: itself or the nearest one around it with a row, plus one */
    struct launched *launched;
};

/* Outer ranges precede their inner ones. */
static void find_claims(struct summing *summing)
{
    const uint32_t *parents = summing->places->finder.parents;
    size_t count = summing->places->selection->model->ranges.count;
    summing->claims = ss_alloc_zero(count + 1, sizeof *summing->claims);
    for (uint32_t i = 0; i < count; i++) {
        summing->claims[i] = summing->calls->row_of[i] != 0 ? i + 1
                             : parents[i] != 0              ? summing->claims[parents[i] - 1]
                                                            : 0;
    }
}

static void add_self(struct ss_call_work *sum, const struct ss_launch_place *place)
{
    sum->works++;
    sum->self_ns += place->ns;
    sum->steady_self_ns += place->is_steady ? place->ns : 0;
}

static void sum_selves(struct summing *summing, const uint32_t *anchors)
{
    for (size_t i = 0; i < summing->places->rows.count; i++) {
        const struct ss_launch_place *place = &summing->places->rows.data[i];
        if (place->call == 0 || anchors[i] == SS_NO_ANCHOR) {
            continue;
        }
        uint32_t claim = anchors[i] != 0 ? summing->claims[anchors[i] - 1] : 0;
        if (claim == 0) {
            add_self(&summing->out->none, place);
            continue;
        }
        add_self(&summing->out->rows[summing->calls->row_of[claim - 1] - 1], place);
        summing->launched[claim - 1].all_ns += place->ns;
        summing->launched[claim - 1].steady_ns += place->is_steady ? place->ns : 0;
    }
}

static void sum_inner_ranges(struct summing *summing)
{
    const uint32_t *parents = summing->places->finder.parents;
    struct launched *launched = summing->launched;
    for (size_t i = summing->places->selection->model->ranges.count; i-- > 0;) {
        if (parents[i] != 0) {
            launched[parents[i] - 1].all_ns += launched[i].all_ns;
            launched[parents[i] - 1].steady_ns += launched[i].steady_ns;
        }
    }
}

/* Adds what the outermost ranges of each row launched: recursion counts once. */
static void sum_totals(struct summing *summing)
{
    const uint32_t *parents = summing->places->finder.parents;
    const uint32_t *row_of = summing->calls->row_of;
    struct ss_vec_of(uint32_t) open = {0}; /* ranges plus one, the outermost first */
    uint32_t *depths = ss_alloc_zero(summing->calls->rows.count + 1, sizeof *depths);
    for (uint32_t i = 0; i < summing->places->selection->model->ranges.count; i++) {
        while (open.count > 0 && open.data[open.count - 1] != parents[i]) {
            depths[row_of[open.data[--open.count] - 1]]--;
        }
        ss_vec_push(&open, i + 1);
        if (depths[row_of[i]]++ == 0 && row_of[i] != 0) {
            struct ss_call_work *row = &summing->out->rows[row_of[i] - 1];
            row->total_ns += summing->launched[i].all_ns;
            row->steady_total_ns += summing->launched[i].steady_ns;
        }
    }
    ss_vec_fini(&open);
    ss_free(depths);
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
    find_claims(&summing);
    summing.launched =
        ss_alloc_zero(places->selection->model->ranges.count + 1, sizeof *summing.launched);
    sum_selves(&summing, anchors);
    sum_inner_ranges(&summing);
    sum_totals(&summing);
    works->none.total_ns = works->none.self_ns;
    works->none.steady_total_ns = works->none.steady_self_ns;
    ss_free(summing.claims);
    ss_free(summing.launched);
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
