/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks that compute on more tokens than the others. */
#include <stdio.h>
#include <stdlib.h>

#include "analysis/rank_profiles.h"
#include "base/alloc.h"

static int compare(const void *left, const void *right)
{
    const double *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

/* Of the other ranks, the median of what `of` gives; 0: not all have tokens. */
static double median_of(const struct ss_rank_profiles *profiles, const struct ss_rank_profile *row,
                        bool of_length)
{
    size_t count = 0;
    double *values = ss_alloc_zero(profiles->rows.count + 1, sizeof *values);
    for (size_t i = 0; i < profiles->rows.count; i++) {
        const struct ss_rank_profile *other = &profiles->rows.data[i];
        if (other != row) {
            values[count++] = of_length ? other->load.length : other->load.tokens;
        }
    }
    qsort(values, count, sizeof *values, compare);
    double median =
        count == 0 || values[0] <= 0 ? 0 : (values[(count - 1) / 2] + values[count / 2]) / 2;
    ss_free(values);
    return median;
}

double ss_rank_profiles_tokens(const struct ss_rank_profiles *profiles,
                               const struct ss_rank_profile *row)
{
    double median = median_of(profiles, row, false);
    return median > 0 && row->load.tokens > 0 ? row->load.tokens / median : 0;
}

void ss_rank_profiles_add_tokens(const struct ss_rank_profiles *profiles,
                                 const struct ss_rank_profile *row, struct ss_sentence *out)
{
    double length = median_of(profiles, row, true);
    ss_sentence_add(out, "rank ");
    ss_sentence_add_number(out, row->rank);
    ss_sentence_add(out, " has ");
    ss_sentence_add_decimal(out, ss_rank_profiles_tokens(profiles, row), 1);
    ss_sentence_add(out, " times the tokens of the other ranks: ");
    ss_sentence_add_count(out, (uint64_t)(row->load.tokens + 0.5));
    ss_sentence_add(out, " instead of ");
    ss_sentence_add_count(out, (uint64_t)(median_of(profiles, row, false) + 0.5));
    ss_sentence_add(out, " in a step");
    if (length > 0 && row->load.length > 0) {
        ss_sentence_add(out, ", in sequences of ");
        ss_sentence_add_count(out, (uint64_t)(row->load.length + 0.5));
        ss_sentence_add(out, " instead of ");
        ss_sentence_add_count(out, (uint64_t)(length + 0.5));
    }
}
