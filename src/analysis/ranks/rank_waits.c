/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/ranks/rank_waits.h"

#include <math.h>

#include "analysis/table/mean_error.h"
#include "base/alloc.h"

struct ss_collective_step *ss_collective_steps_find(const struct ss_collectives *collectives,
                                                    const struct ss_model *model,
                                                    const struct ss_step_summary *training)
{
    size_t count = collectives->rows.count;
    struct ss_collective_step *steps = ss_alloc_zero(count + 1, sizeof *steps);
    size_t *firsts = ss_alloc_zero(model->processes.count, sizeof *firsts); /* by process */
    for (size_t i = training->steps.count; i > 0; i--) {
        firsts[training->steps.data[i - 1].process] = i - 1;
    }
    for (size_t i = 0; i < count; i++) {
        const struct ss_collective *row = &collectives->rows.data[i];
        const struct ss_step *step = ss_step_at(training, row->last, row->last_ns);
        if (step != NULL && step->kind == SS_STEP_STEADY) {
            int64_t order = step - &training->steps.data[firsts[step->process]];
            steps[i] = (struct ss_collective_step){true, step->number >= 0 ? step->number : order};
        }
    }
    ss_free(firsts);
    return steps;
}

/* --- which collectives ------------------------------------------------------------------------ */

static const struct ss_rank_call *calls_of(const struct ss_wait_scope *scope,
                                           const struct ss_collective *row)
{
    return &scope->blame->collectives->calls.rows.data[row->first];
}

static bool has(const struct ss_wait_scope *scope, size_t row)
{
    const struct ss_collective *collective = &scope->blame->collectives->rows.data[row];
    return calls_of(scope, collective)->job == scope->job &&
           (scope->steps == NULL || scope->steps[row].is_steady);
}

/* The next collective at or after `row` that counts; NULL: none. */
static const struct ss_collective *next_counted(const struct ss_wait_scope *scope, size_t *row)
{
    const struct ss_collectives *collectives = scope->blame->collectives;
    for (; *row < collectives->rows.count; (*row)++) {
        const struct ss_collective *collective = &collectives->rows.data[*row];
        if (ss_collective_counts(collective) && has(scope, *row)) {
            return collective;
        }
    }
    return NULL;
}

/* Whether the step of a collective is the one before; at its edges, ranks may be in the one before
 * that. */
struct stepping {
    int64_t number;
    bool has_begun;
};

static bool is_next_step(struct stepping *stepping, const struct ss_wait_scope *scope, size_t row)
{
    if (scope->steps == NULL) {
        return true;
    }
    int64_t number = scope->steps[row].number;
    bool is_next = !stepping->has_begun || number > stepping->number;
    stepping->number = is_next ? number : stepping->number;
    stepping->has_begun = true;
    return is_next;
}

/* --- sums ------------------------------------------------------------------------------------- */

/* What all ranks together wait for `cause`: `ns` each, but for the last one and the cause. */
static uint64_t wait_of_all(const struct ss_wait_scope *scope, const struct ss_collective *row,
                            uint32_t cause, uint64_t ns)
{
    const struct ss_rank_call *calls = calls_of(scope, row);
    uint64_t sum_ns = 0;
    for (size_t k = 0; k < row->count && ns > 0; k++) {
        bool waits = calls[k].process != row->last && calls[k].process != cause;
        sum_ns += waits ? ss_blame_share_ns(row, &calls[k], ns) : 0;
    }
    return sum_ns;
}

static void add_blamed(struct ss_wait_sums *sums, const struct ss_wait_scope *scope,
                       const struct ss_collective *row, const struct ss_blamed *blamed)
{
    struct ss_rank_waits *last = &sums->ranks[row->last];
    last->times_last += ss_collective_is_resolved(row);
    last->caused_ns += wait_of_all(scope, row, row->last, blamed->own_ns);
    last->passed_on_ns += wait_of_all(scope, row, row->last, blamed->through_ns);
    if (blamed->through != 0) {
        sums->ranks[blamed->through].caused_ns +=
            wait_of_all(scope, row, blamed->through, blamed->through_ns);
    }
}

static void add_counted(struct ss_wait_sums *sums, const struct ss_wait_scope *scope,
                        const struct ss_collective *row, const struct ss_blamed *blamed)
{
    const struct ss_rank_call *calls = calls_of(scope, row);
    const uint64_t *waited_ns = &scope->blame->waited_ns[row->first];
    sums->counted++;
    sums->wait_ns += row->certain_ns;
    if (blamed->cause != 0) {
        sums->resolved++;
        add_blamed(sums, scope, row, blamed);
    } else {
        sums->unresolved++;
        sums->hidden_ns += row->last_error_ns;
    }
    for (size_t k = 0; k < row->count; k++) {
        sums->ranks[calls[k].process].waited_ns += waited_ns[k];
        sums->ranks[calls[k].process].collectives++;
    }
}

/* Of a call without a match, the others lack theirs. A rank that is alone in its group has no
 * other.
 */
static void count_calls(struct ss_wait_sums *sums, const struct ss_wait_scope *scope)
{
    const struct ss_collectives *collectives = scope->blame->collectives;
    uint64_t matched = 0;
    for (size_t i = 0; i < collectives->calls.rows.count; i++) {
        const struct ss_rank_call *call = &collectives->calls.rows.data[i];
        sums->calls += call->job == scope->job && call->size != 1;
    }
    for (size_t i = 0; i < collectives->rows.count; i++) {
        const struct ss_collective *row = &collectives->rows.data[i];
        bool has_row = calls_of(scope, row)->job == scope->job;
        matched += has_row ? row->count : 0;
        sums->lacking += has_row ? row->missing : 0;
    }
    sums->lacking += sums->calls > matched ? sums->calls - matched : 0;
}

void ss_wait_sums_init(struct ss_wait_sums *sums, const struct ss_wait_scope *scope,
                       const struct ss_model *model)
{
    const struct ss_collectives *collectives = scope->blame->collectives;
    struct stepping stepping = {0};
    *sums =
        (struct ss_wait_sums){.ranks = ss_alloc_zero(model->processes.count, sizeof *sums->ranks)};
    for (size_t i = 0; i < collectives->rows.count; i++) {
        const struct ss_collective *row = &collectives->rows.data[i];
        if (has(scope, i) && ss_collective_counts(row)) {
            sums->steps += is_next_step(&stepping, scope, i);
            add_counted(sums, scope, row, &scope->blame->rows[i]);
        } else if (has(scope, i)) {
            sums->unresolved += row->synchronises;
        }
    }
    count_calls(sums, scope);
}

void ss_wait_sums_fini(struct ss_wait_sums *sums)
{
    ss_free(sums->ranks);
    *sums = (struct ss_wait_sums){0};
}

void ss_rank_waits_for(const struct ss_wait_scope *scope, uint32_t process, uint64_t *on)
{
    const struct ss_collective *row;
    for (size_t i = 0; (row = next_counted(scope, &i)) != NULL; i++) {
        const struct ss_blamed *blamed = &scope->blame->rows[i];
        uint64_t ns = (row->last == process ? blamed->own_ns : 0) +
                      (blamed->through == process ? blamed->through_ns : 0);
        const struct ss_rank_call *calls = calls_of(scope, row);
        for (size_t k = 0; k < row->count && ns > 0; k++) {
            bool waits = calls[k].process != row->last && calls[k].process != process;
            on[calls[k].process] += waits ? ss_blame_share_ns(row, &calls[k], ns) : 0;
        }
    }
}

/* --- chance ----------------------------------------------------------------------------------- */

static double excess_in(const struct ss_wait_scope *scope, const struct ss_collective *row,
                        const struct ss_blamed *blamed, uint32_t process, size_t ranks)
{
    uint64_t own_ns = wait_of_all(scope, row, row->last, blamed->own_ns);
    uint64_t through_ns =
        blamed->through != 0 ? wait_of_all(scope, row, blamed->through, blamed->through_ns) : 0;
    uint64_t by_it_ns =
        (row->last == process ? own_ns : 0) + (blamed->through == process ? through_ns : 0);
    return (double)by_it_ns - (double)(own_ns + through_ns - by_it_ns) / (double)(ranks - 1);
}

struct ss_wait_excess ss_wait_excess_of(const struct ss_wait_scope *scope, uint32_t process,
                                        size_t ranks)
{
    struct ss_wait_excess excess = {0, NAN};
    struct stepping stepping = {0};
    size_t count = 0;
    if (ranks <= 1) {
        return excess;
    }
    double *values = ss_alloc_zero(scope->blame->collectives->rows.count + 1, sizeof *values);
    const struct ss_collective *row;
    for (size_t i = 0; (row = next_counted(scope, &i)) != NULL; i++) {
        count += is_next_step(&stepping, scope, i);
        values[count - 1] += excess_in(scope, row, &scope->blame->rows[i], process, ranks);
    }
    for (size_t i = 0; i < count; i++) {
        excess.ns += values[i] / (double)count;
    }
    excess.error_ns = ss_mean_error(values, count);
    ss_free(values);
    return excess;
}
