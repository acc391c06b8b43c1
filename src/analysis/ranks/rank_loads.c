/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks that compute on more than the others: tokens, padding, examples, or elements of inputs. */
#include <stdlib.h>

#include "analysis/ranks/rank_profiles.h"
#include "analysis/table/distribution.h"
#include "analysis/table/rule_limits.h"
#include "base/alloc.h"

static double value_of(const struct ss_batch_load *load, enum ss_more_work of)
{
    return of == SS_MORE_TOKENS     ? load->tokens
           : of == SS_MORE_EXAMPLES ? load->examples
                                    : load->elements;
}

static int compare(const void *left, const void *right)
{
    const double *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

/* Of the other ranks; 0: not all have a value. */
static double median_of(double *values, size_t count)
{
    qsort(values, count, sizeof *values, compare);
    return count == 0 || values[0] <= 0 ? 0 : ss_median(values, count);
}

static double median_load(const struct ss_rank_profiles *profiles,
                          const struct ss_rank_profile *row, enum ss_more_work of)
{
    size_t count = 0;
    double *values = ss_alloc_zero(profiles->rows.count + 1, sizeof *values);
    for (size_t i = 0; i < profiles->rows.count; i++) {
        const struct ss_rank_profile *other = &profiles->rows.data[i];
        if (other != row) {
            values[count++] = value_of(&other->load, of);
        }
    }
    double median = median_of(values, count);
    ss_free(values);
    return median;
}

static double median_length(const struct ss_rank_profiles *profiles,
                            const struct ss_rank_profile *row)
{
    size_t count = 0;
    double *values = ss_alloc_zero(profiles->rows.count + 1, sizeof *values);
    for (size_t i = 0; i < profiles->rows.count; i++) {
        const struct ss_rank_profile *other = &profiles->rows.data[i];
        if (other != row) {
            values[count++] = other->load.length;
        }
    }
    double median = median_of(values, count);
    ss_free(values);
    return median;
}

double ss_rank_profiles_times(const struct ss_rank_profiles *profiles,
                              const struct ss_rank_profile *row, enum ss_more_work of)
{
    double median = of == SS_MORE_NOTHING ? 0 : median_load(profiles, row, of);
    double own = value_of(&row->load, of);
    return median > 0 && own > 0 ? own / median : 0;
}

static bool is_more(const struct ss_rank_profiles *profiles, const struct ss_rank_profile *row,
                    enum ss_more_work of)
{
    return 100 * ss_rank_profiles_times(profiles, row, of) >= 100 + SS_LIMIT_MORE_WORK_PERCENT;
}

enum ss_more_work ss_rank_profiles_more_work(const struct ss_rank_profiles *profiles,
                                             const struct ss_rank_profile *row)
{
    bool has_tokens = ss_rank_profiles_times(profiles, row, SS_MORE_TOKENS) > 0;
    return row->rank < 0                                             ? SS_MORE_NOTHING
           : is_more(profiles, row, SS_MORE_TOKENS)                  ? SS_MORE_TOKENS
           : has_tokens && is_more(profiles, row, SS_MORE_PADDING)   ? SS_MORE_PADDING
           : !has_tokens && is_more(profiles, row, SS_MORE_EXAMPLES) ? SS_MORE_EXAMPLES
           : !has_tokens && is_more(profiles, row, SS_MORE_ELEMENTS) ? SS_MORE_ELEMENTS
                                                                     : SS_MORE_NOTHING;
}

static void add_lengths(const struct ss_rank_profiles *profiles, const struct ss_rank_profile *row,
                        struct ss_sentence *out)
{
    double length = median_length(profiles, row);
    if (length > 0 && row->load.length > 0) {
        ss_sentence_add(out, ", in sequences of ");
        ss_sentence_add_count(out, (uint64_t)(row->load.length + 0.5));
        ss_sentence_add(out, " instead of ");
        ss_sentence_add_count(out, (uint64_t)(length + 0.5));
    }
}

void ss_rank_profiles_add_work(const struct ss_rank_profiles *profiles,
                               const struct ss_rank_profile *row, enum ss_more_work of,
                               struct ss_sentence *out)
{
    static const char *const texts[] = {
        [SS_MORE_TOKENS] = " times the tokens of the other ranks: ",
        [SS_MORE_PADDING] = " times the elements of the other ranks in its batches, more by "
                            "padding alone: ",
        [SS_MORE_EXAMPLES] = " times the examples of the other ranks: ",
        [SS_MORE_ELEMENTS] = " times the elements of the other ranks in its inputs: "};
    ss_sentence_add(out, "rank ");
    ss_sentence_add_number(out, row->rank);
    ss_sentence_add(out, " has ");
    ss_sentence_add_decimal(out, ss_rank_profiles_times(profiles, row, of), 1);
    ss_sentence_add(out, texts[of]);
    ss_sentence_add_count(out, (uint64_t)(value_of(&row->load, of) + 0.5));
    ss_sentence_add(out, " instead of ");
    ss_sentence_add_count(out, (uint64_t)(median_load(profiles, row, of) + 0.5));
    ss_sentence_add(out, " in a step");
    if (of == SS_MORE_TOKENS || of == SS_MORE_PADDING) {
        add_lengths(profiles, row, out);
    }
}
