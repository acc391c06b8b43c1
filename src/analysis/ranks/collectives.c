/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/ranks/collectives.h"

#include <stdlib.h>

#include "analysis/selection/shared_ranges.h"
#include "analysis/table/distribution.h"
#include "base/alloc.h"

enum { ENDS_PERCENTILE = 95 };

/* --- clocks ----------------------------------------------------------------------------------- */

static const struct ss_model_input *input_of(const struct ss_model *model, uint32_t process)
{
    return model->inputs.count > 0 ? &model->inputs.data[model->processes.data[process].input]
                                   : NULL;
}

/* Whether the error of one clock against the other is not in the recordings. */
static bool is_by_wall(const struct ss_model *model, uint32_t a, uint32_t b)
{
    const struct ss_model_input *inputs[] = {input_of(model, a), input_of(model, b)};
    if (inputs[0] == inputs[1] || (inputs[0]->kind != SS_INPUT_IMPORT &&
                                   inputs[0]->clock_domain == inputs[1]->clock_domain)) {
        return false;
    }
    for (size_t i = 0; i < 2; i++) {
        const struct ss_model_clock_domain *domain =
            &model->clock_domains.data[inputs[i]->clock_domain];
        if ((inputs[i]->kind == SS_INPUT_IMPORT && !inputs[i]->alignment.is_fitted) ||
            domain->mapping == SS_CLOCK_BY_WALL) {
            return true;
        }
    }
    return false;
}

/* What is known of it: by readings, and of fitted inputs by collectives. */
static uint64_t known_error_ns(const struct ss_model *model, const struct ss_model_input *input)
{
    return input->alignment.is_fitted ? input->alignment.error_ns
                                      : model->clock_domains.data[input->clock_domain].error_ns;
}

uint64_t ss_collectives_error_ns(const struct ss_collectives *collectives,
                                 const struct ss_model *model, uint32_t a, uint32_t b)
{
    const struct ss_model_input *of_a = input_of(model, a), *of_b = input_of(model, b);
    bool is_one_clock =
        of_a == of_b || (of_a->clock_domain == of_b->clock_domain &&
                         of_a->kind != SS_INPUT_IMPORT && of_b->kind != SS_INPUT_IMPORT);
    uint64_t error_ns =
        is_one_clock ? 0 : known_error_ns(model, of_a) + known_error_ns(model, of_b);
    return is_by_wall(model, a, b) && collectives->ends_ns > error_ns ? collectives->ends_ns
                                                                      : error_ns;
}

/* --- matching --------------------------------------------------------------------------------- */

static bool has_one_kind(const struct ss_model *model, const struct ss_rank_call *calls,
                         size_t count)
{
    for (size_t i = 1; i < count; i++) {
        if (!ss_strview_equal(ss_rank_call_kind(model, &calls[0]),
                              ss_rank_call_kind(model, &calls[i]))) {
            return false;
        }
    }
    return true;
}

/* A number that a process has twice in a group, or more processes than the group has ranks, says
 * nothing: the run was restarted, or runs of one program follow each other in the recording. */
static bool is_unique(const struct ss_rank_call *calls, size_t count)
{
    if (calls->size != 0 && count > calls->size) {
        return false;
    }
    for (size_t i = 1; i < count; i++) {
        if (calls[i].process == calls[i - 1].process) {
            return false;
        }
    }
    return true;
}

static struct ss_collective join(const struct ss_rank_call *calls, size_t first, size_t count)
{
    struct ss_collective row = {
        .first = first, .count = count, .first_ns = UINT64_MAX, .first_end_ns = UINT64_MAX};
    for (size_t i = first; i < first + count; i++) {
        const struct ss_rank_call *call = &calls[i];
        row.first_ns = call->begin_ns < row.first_ns ? call->begin_ns : row.first_ns;
        row.first_end_ns = call->end_ns < row.first_end_ns ? call->end_ns : row.first_end_ns;
        row.last_end_ns = call->end_ns > row.last_end_ns ? call->end_ns : row.last_end_ns;
        if (row.last == 0 || call->begin_ns > row.last_ns) {
            row.second = row.last;
            row.second_ns = row.last_ns;
            row.last = call->process;
            row.last_ns = call->begin_ns;
        } else if (row.second == 0 || call->begin_ns > row.second_ns) {
            row.second = call->process;
            row.second_ns = call->begin_ns;
        }
    }
    for (size_t i = first; i < first + count; i++) {
        row.wait_ns += row.last_ns - calls[i].begin_ns;
    }
    return row;
}

static size_t end_of_number(const struct ss_rank_calls *calls, size_t first)
{
    const struct ss_rank_call *row = &calls->rows.data[first];
    size_t end = first + 1;
    while (end < calls->rows.count && calls->rows.data[end].job == row->job &&
           calls->rows.data[end].group == row->group &&
           calls->rows.data[end].is_counted == row->is_counted &&
           calls->rows.data[end].sequence == row->sequence) {
        end++;
    }
    return end;
}

static size_t end_of_group(const struct ss_rank_calls *calls, size_t first)
{
    const struct ss_rank_call *row = &calls->rows.data[first];
    size_t end = first + 1;
    while (end < calls->rows.count && calls->rows.data[end].job == row->job &&
           calls->rows.data[end].group == row->group &&
           calls->rows.data[end].is_counted == row->is_counted) {
        end++;
    }
    return end;
}

/* Where numbers are counted, kinds that differ mean that the ranks were not recorded from the same
 * collective on. */
static bool group_matches(const struct ss_rank_calls *calls, const struct ss_model *model,
                          size_t first, size_t end)
{
    if (!calls->rows.data[first].is_counted) {
        return true;
    }
    for (size_t at = first; at < end; at = end_of_number(calls, at)) {
        if (!has_one_kind(model, &calls->rows.data[at], end_of_number(calls, at) - at)) {
            return false;
        }
    }
    return !calls->is_ambiguous;
}

static void match_group(struct ss_collectives *collectives, size_t first, size_t end)
{
    const struct ss_rank_calls *calls = &collectives->calls;
    size_t row = collectives->rows.count, most = 0, size = calls->rows.data[first].size;
    for (size_t at = first, next; at < end; at = next) {
        next = end_of_number(calls, at);
        if (next - at > 1 && is_unique(&calls->rows.data[at], next - at)) {
            ss_vec_push(&collectives->rows, join(calls->rows.data, at, next - at));
            most = next - at > most ? next - at : most;
        } else if (calls->rows.data[at].size != 1) { /* alone, a rank has no other */
            collectives->unmatched += next - at;
        }
    }
    size = most > size ? most : size;
    for (; row < collectives->rows.count; row++) {
        struct ss_collective *collective = &collectives->rows.data[row];
        collective->is_whole = collective->count == size;
        collective->missing = most - collective->count;
    }
}

static int compare_rows(const void *left, const void *right)
{
    const struct ss_collective *a = left, *b = right;
    if (a->last_ns != b->last_ns) {
        return a->last_ns < b->last_ns ? -1 : 1;
    }
    return a->first < b->first ? -1 : a->first > b->first;
}

static void match(struct ss_collectives *collectives, const struct ss_model *model)
{
    const struct ss_rank_calls *calls = &collectives->calls;
    for (size_t first = 0, end; first < calls->rows.count; first = end) {
        end = end_of_group(calls, first);
        if (group_matches(calls, model, first, end)) {
            match_group(collectives, first, end);
        } else {
            collectives->unmatched += end - first;
        }
    }
    if (collectives->rows.count > 1) {
        qsort(collectives->rows.data, collectives->rows.count, sizeof *collectives->rows.data,
              compare_rows);
    }
}

/* --- errors ----------------------------------------------------------------------------------- */

static bool is_row_by_wall(const struct ss_collectives *collectives, const struct ss_model *model,
                           const struct ss_collective *row)
{
    const struct ss_rank_call *calls = &collectives->calls.rows.data[row->first];
    for (size_t i = 0; i < row->count; i++) {
        if (is_by_wall(model, row->last, calls[i].process)) {
            return true;
        }
    }
    return false;
}

static void find_ends(struct ss_collectives *collectives, const struct ss_model *model)
{
    struct ss_vec_of(uint64_t) ends = {0};
    for (size_t i = 0; i < collectives->rows.count; i++) {
        const struct ss_collective *row = &collectives->rows.data[i];
        if (is_row_by_wall(collectives, model, row)) {
            ss_vec_push(&ends, row->last_end_ns - row->first_end_ns);
        }
    }
    if (ends.count > 0) {
        ss_sort_u64(ends.data, ends.count);
        collectives->ends_ns = ss_percentile_u64(ends.data, ends.count, ENDS_PERCENTILE);
        collectives->is_wall = true;
    }
    ss_vec_fini(&ends);
}

/* A rank that ends before another arrives did not take part in the same collective, or the clocks
 * differ by more than they should. */
static void judge(struct ss_collectives *collectives, const struct ss_model *model)
{
    for (size_t i = 0; i < collectives->rows.count; i++) {
        struct ss_collective *row = &collectives->rows.data[i];
        const struct ss_rank_call *calls = &collectives->calls.rows.data[row->first];
        row->last_error_ns = ss_collectives_error_ns(collectives, model, row->last, row->second);
        for (size_t k = 0; k < row->count; k++) {
            uint64_t error_ns =
                ss_collectives_error_ns(collectives, model, row->last, calls[k].process);
            uint64_t wait_ns = row->last_ns - calls[k].begin_ns;
            row->error_ns = error_ns > row->error_ns ? error_ns : row->error_ns;
            row->certain_ns += wait_ns > error_ns ? wait_ns : 0;
        }
        row->synchronises = ss_rank_call_synchronises(model, calls);
        row->is_violated = row->synchronises && row->first_end_ns + row->error_ns < row->last_ns;
        collectives->violated += row->is_violated;
        collectives->error_ns =
            row->error_ns > collectives->error_ns ? row->error_ns : collectives->error_ns;
    }
}

/* --- sums ------------------------------------------------------------------------------------- */

static void count_ranks(struct ss_collectives *collectives, const struct ss_model *model)
{
    bool *is_rank = ss_alloc_zero(model->processes.count, sizeof *is_rank);
    for (size_t i = 0; i < collectives->rows.count; i++) {
        const struct ss_collective *row = &collectives->rows.data[i];
        for (size_t k = row->first; k < row->first + row->count; k++) {
            uint32_t process = collectives->calls.rows.data[k].process;
            collectives->ranks += !is_rank[process];
            is_rank[process] = true;
        }
    }
    ss_free(is_rank);
}

static void init(struct ss_collectives *collectives, const struct ss_selection *selection)
{
    ss_rank_calls_init(&collectives->calls, selection, ss_selection_works(selection),
                       ss_selection_runs(selection));
    match(collectives, selection->model);
    find_ends(collectives, selection->model);
    judge(collectives, selection->model);
    count_ranks(collectives, selection->model);
}

static void *build(const void *of)
{
    struct ss_collectives *collectives = ss_alloc_zero(1, sizeof *collectives);
    init(collectives, of);
    return collectives;
}

static void free_part(void *part)
{
    struct ss_collectives *collectives = part;
    ss_vec_fini(&collectives->rows);
    ss_rank_calls_fini(&collectives->calls);
    ss_free(collectives);
}

const struct ss_collectives *ss_selection_collectives(const struct ss_selection *selection)
{
    static const struct ss_analysis_part collectives = {"collectives", build, free_part};
    return ss_analysis_get(selection->analysis, &collectives, selection);
}
