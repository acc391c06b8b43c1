/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/table/call_alignment.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/table/distribution.h"
#include "base/alloc.h"

enum {
    MOST_SHIFT = 16, /* calls that one of the ranks may lack at its start */
    MUCH_BETTER = 4, /* times less spread than in the order of the calls */
    LOW_PERCENTILE = 10,
    HIGH_PERCENTILE = 90,
    LEAST_PERCENT =
        80, /* of the calls of the shorter that need a partner: else it is another program */
};

struct alignment {
    const struct ss_aligned_call *a, *b;
    size_t a_count, b_count;
    uint64_t tolerance_ns;
    uint64_t *scratch; /* for as many values as the shorter has calls */
};

/* How well one offset of the clocks fits. */
struct fit {
    size_t matched;
    uint64_t spread_ns; /* between the percentiles of what the ends of partners differ by */
    int64_t offset_ns;  /* of b's clock against a's */
};

static int64_t difference(const struct alignment *of, size_t i, size_t j)
{
    return (int64_t)(of->b[j].end_ns - of->a[i].end_ns);
}

static uint64_t magnitude(int64_t value)
{
    return value < 0 ? -(uint64_t)value : (uint64_t)value;
}

static const uint64_t middle = UINT64_C(1) << 63; /* makes differences sort as unsigned numbers */

static uint64_t spread_of(const struct alignment *of, size_t count)
{
    if (count == 0) {
        return 0;
    }
    ss_sort_u64(of->scratch, count);
    return ss_percentile_u64(of->scratch, count, HIGH_PERCENTILE) -
           ss_percentile_u64(of->scratch, count, LOW_PERCENTILE);
}

/* Half of the usual distance between two calls: what is farther apart is another call. */
static uint64_t tolerance(const struct alignment *of)
{
    size_t count = 0;
    for (size_t i = 1; i < of->a_count && count < of->b_count; i++) {
        of->scratch[count++] = of->a[i].end_ns - of->a[i - 1].end_ns;
    }
    if (count == 0) {
        return UINT64_MAX >> 1;
    }
    ss_sort_u64(of->scratch, count);
    return ss_percentile_u64(of->scratch, count, 50) / 2;
}

/* Matches the calls in their order, at one offset. `partners` may be NULL. */
static struct fit match(const struct alignment *of, int64_t offset_ns, size_t *partners)
{
    struct fit fit = {.offset_ns = offset_ns};
    for (size_t j = 0; partners != NULL && j < of->b_count; j++) {
        partners[j] = SIZE_MAX;
    }
    for (size_t i = 0, j = 0; i < of->a_count && j < of->b_count;) {
        int64_t apart_ns = difference(of, i, j) - offset_ns;
        if (of->a[i].kind == of->b[j].kind && magnitude(apart_ns) <= of->tolerance_ns) {
            of->scratch[fit.matched++] = (uint64_t)apart_ns + middle;
            if (partners != NULL) {
                partners[j] = i;
            }
            i++;
            j++;
        } else if (apart_ns > 0) {
            i++;
        } else {
            j++;
        }
    }
    fit.spread_ns = spread_of(of, fit.matched);
    return fit;
}

/* The usual difference of ends when the first `skip_a` or `skip_b` calls have no partner. */
static int64_t offset_of_shift(const struct alignment *of, size_t skip_a, size_t skip_b)
{
    size_t count = 0;
    for (size_t i = skip_a, j = skip_b; i < of->a_count && j < of->b_count; i++, j++) {
        of->scratch[count++] = (uint64_t)difference(of, i, j) + middle;
    }
    ss_sort_u64(of->scratch, count);
    return count == 0 ? 0 : (int64_t)(ss_percentile_u64(of->scratch, count, 50) - middle);
}

/* More partners; else ends that lie clearly closer together; else clocks that differ less. */
static bool is_better(const struct fit *fit, const struct fit *than)
{
    if (fit->matched != than->matched) {
        return fit->matched > than->matched;
    }
    if (fit->spread_ns > 2 * than->spread_ns || than->spread_ns > 2 * fit->spread_ns) {
        return fit->spread_ns < than->spread_ns;
    }
    return magnitude(fit->offset_ns) < magnitude(than->offset_ns);
}

static struct fit best_fit(const struct alignment *of)
{
    struct fit best = match(of, 0, NULL);
    for (size_t shift = 0; shift <= MOST_SHIFT; shift++) {
        size_t skips[2][2] = {{shift, 0}, {0, shift}};
        for (size_t way = 0; way < 2; way++) {
            if (skips[way][0] < of->a_count && skips[way][1] < of->b_count) {
                struct fit fit = match(of, offset_of_shift(of, skips[way][0], skips[way][1]), NULL);
                best = is_better(&fit, &best) ? fit : best;
            }
        }
    }
    return best;
}

static bool has_same_kinds(const struct alignment *of)
{
    bool same = of->a_count == of->b_count;
    for (size_t i = 0; i < of->a_count && same; i++) {
        same = of->a[i].kind == of->b[i].kind;
    }
    return same;
}

static uint64_t spread_in_order(const struct alignment *of)
{
    for (size_t i = 0; i < of->a_count; i++) {
        of->scratch[i] = (uint64_t)difference(of, i, i) + middle;
    }
    return spread_of(of, of->a_count);
}

void ss_align_calls(const struct ss_aligned_call *a, size_t a_count,
                    const struct ss_aligned_call *b, size_t b_count, size_t *partners)
{
    size_t shorter = a_count < b_count ? a_count : b_count;
    struct alignment of = {.a = a, .b = b, .a_count = a_count, .b_count = b_count};
    of.scratch = ss_alloc_zero(shorter > 0 ? shorter : 1, sizeof *of.scratch);
    of.tolerance_ns = tolerance(&of);
    bool in_order = has_same_kinds(&of);
    uint64_t ordered_ns = in_order ? spread_in_order(&of) : 0;
    if (!in_order || ordered_ns > of.tolerance_ns) {
        struct fit best = best_fit(&of);
        bool is_clear = best.matched + 2 >= shorter && best.spread_ns < ordered_ns / MUCH_BETTER;
        if (!in_order || is_clear) {
            bool is_enough = 100 * best.matched >= LEAST_PERCENT * shorter;
            match(&of, best.offset_ns, partners);
            for (size_t j = 0; j < b_count && !is_enough; j++) {
                partners[j] = SIZE_MAX;
            }
            ss_free(of.scratch);
            return;
        }
    }
    for (size_t j = 0; j < b_count; j++) {
        partners[j] = j;
    }
    ss_free(of.scratch);
}
