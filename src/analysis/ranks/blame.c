/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/ranks/blame.h"

#include <math.h>

#include "analysis/table/mean_error.h"
#include "base/alloc.h"

struct wait_span {
    uint64_t begin_ns, end_ns;
};

/* A wait of a rank, and which process counts for it. */
struct wait {
    uint64_t begin_ns, end_ns;
    uint32_t group, cause;
};

struct waits ss_vec_of(struct wait);

/* Time that has been counted, as spans that neither overlap nor touch, in order. */
struct counted ss_vec_of(struct wait_span);

/* What a collective causes: by the rank that is last, and through it by another one. */
struct caused {
    uint32_t last, cause;
    uint64_t own_ns, through_ns;
    bool is_steady;
    int64_t step; /* if it is steady */
};

struct scan {
    struct ss_blame *blame;
    const struct ss_model *model;
    const struct ss_collectives *collectives;
    struct waits *waits;                  /* by process, in order of their end */
    struct counted *waited, *behind;      /* by process: that it waited, that it was behind */
    struct ss_vec_of(struct caused) rows; /* those that count, in order */
};

/* What `process` waited in other groups since it last left a collective of this one, as far as it
 * is after `from_ns`; and for which rank longest. */
struct passed_on {
    uint64_t ns, longest_ns;
    uint32_t cause;
};

static uint64_t end_of_previous(const struct scan *scan, size_t row, uint32_t process)
{
    const struct ss_collectives *collectives = scan->collectives;
    const struct ss_rank_call *calls = collectives->calls.rows.data;
    uint32_t group = calls[collectives->rows.data[row].first].group;
    while (row-- > 0) {
        const struct ss_collective *before = &collectives->rows.data[row];
        for (size_t k = before->first; k < before->first + before->count; k++) {
            if (calls[k].group == group && calls[k].process == process) {
                return calls[k].end_ns;
            }
        }
    }
    return 0;
}

static struct passed_on find_passed_on(const struct scan *scan, size_t row, uint32_t process)
{
    const struct ss_collective *collective = &scan->collectives->rows.data[row];
    const struct waits *waits = &scan->waits[process];
    uint32_t group = scan->collectives->calls.rows.data[collective->first].group;
    struct passed_on passed_on = {0};
    if (waits->count == 0) {
        return passed_on;
    }
    uint64_t since_ns = end_of_previous(scan, row, process);
    for (size_t i = waits->count; i > 0 && waits->data[i - 1].end_ns > since_ns; i--) {
        const struct wait *wait = &waits->data[i - 1];
        uint64_t from_ns = wait->begin_ns > since_ns ? wait->begin_ns : since_ns;
        uint64_t to_ns = wait->end_ns < collective->last_ns ? wait->end_ns : collective->last_ns;
        uint64_t length_ns = wait->group != group && to_ns > from_ns ? to_ns - from_ns : 0;
        passed_on.ns += length_ns;
        if (length_ns > passed_on.longest_ns) {
            passed_on.longest_ns = length_ns;
            passed_on.cause = wait->cause;
        }
    }
    return passed_on;
}

/* Collectives that are under way at once make a rank wait once: counts a span, whose end is not
 * before those of the earlier ones, and returns what of it had not been counted. */
static uint64_t count_once(struct counted *counted, uint64_t begin_ns, uint64_t end_ns)
{
    struct wait_span span = {begin_ns, end_ns};
    uint64_t new_ns = end_ns - begin_ns;
    while (counted->count > 0 && counted->data[counted->count - 1].end_ns >= span.begin_ns) {
        struct wait_span last = counted->data[--counted->count];
        uint64_t from_ns = last.begin_ns > begin_ns ? last.begin_ns : begin_ns;
        uint64_t to_ns = last.end_ns < end_ns ? last.end_ns : end_ns;
        new_ns -= to_ns > from_ns ? to_ns - from_ns : 0;
        span.begin_ns = last.begin_ns < span.begin_ns ? last.begin_ns : span.begin_ns;
        span.end_ns = last.end_ns > span.end_ns ? last.end_ns : span.end_ns;
    }
    ss_vec_push(counted, span);
    return new_ns;
}

static uint32_t blame_last(struct scan *scan, size_t row)
{
    const struct ss_collective *collective = &scan->collectives->rows.data[row];
    struct ss_rank_waits *ranks = scan->blame->ranks;
    struct passed_on passed_on = find_passed_on(scan, row, collective->last);
    uint64_t behind_ns =
        count_once(&scan->behind[collective->last], collective->second_ns, collective->last_ns);
    uint64_t not_own_ns = passed_on.ns < behind_ns ? passed_on.ns : behind_ns;
    uint64_t others = collective->count - 1;
    ranks[collective->last].times_last++;
    ranks[collective->last].caused_ns += others * (behind_ns - not_own_ns);
    ranks[collective->last].passed_on_ns += others * not_own_ns;
    ranks[passed_on.cause].caused_ns += passed_on.cause != 0 ? others * not_own_ns : 0;
    ss_vec_push(&scan->rows, (struct caused){collective->last, passed_on.cause,
                                             others * (behind_ns - not_own_ns), others * not_own_ns,
                                             collective->is_steady, collective->step});
    return 2 * not_own_ns > behind_ns ? passed_on.cause : collective->last;
}

static void add_waits(const struct scan *scan, const struct ss_collective *collective,
                      uint32_t cause, bool counts)
{
    const struct ss_rank_call *calls = scan->collectives->calls.rows.data;
    for (size_t k = collective->first; k < collective->first + collective->count; k++) {
        uint32_t process = calls[k].process;
        uint64_t wait_ns = collective->last_ns - calls[k].begin_ns;
        uint64_t error_ns =
            ss_collectives_error_ns(scan->collectives, scan->model, collective->last, process);
        if (wait_ns > error_ns) {
            struct wait wait = {calls[k].begin_ns, collective->last_ns, calls[k].group, cause};
            if (counts) {
                scan->blame->ranks[process].waited_ns +=
                    count_once(&scan->waited[process], calls[k].begin_ns, collective->last_ns);
            }
            ss_vec_push(&scan->waits[process], wait);
        }
        scan->blame->ranks[process].collectives += counts;
    }
}

static void scan_row(struct scan *scan, size_t row, bool only_steady)
{
    const struct ss_collective *collective = &scan->collectives->rows.data[row];
    struct ss_blame *blame = scan->blame;
    bool counts = collective->is_steady || !only_steady;
    uint32_t cause = collective->last;
    if (!ss_collective_counts(collective)) {
        blame->unresolved += counts && collective->synchronises;
        return;
    }
    if (counts && ss_collective_is_resolved(collective)) {
        cause = blame_last(scan, row);
        blame->causes[row] = cause;
    } else if (counts) {
        blame->unresolved++;
        ss_vec_push(&scan->rows,
                    (struct caused){.is_steady = collective->is_steady, .step = collective->step});
    }
    add_waits(scan, collective, cause, counts);
}

static double excess_in(const struct scan *scan, const struct caused *row, size_t ranks)
{
    uint64_t all_ns = row->own_ns + (row->cause != 0 ? row->through_ns : 0);
    uint64_t most_ns = (row->last == scan->blame->most ? row->own_ns : 0) +
                       (row->cause == scan->blame->most ? row->through_ns : 0);
    return (double)most_ns - (double)(all_ns - most_ns) / (double)(ranks - 1);
}

/* Sums for each step; at its edges, ranks may be in the one before. Returns how many there are. */
static size_t sum_steps(const struct scan *scan, double *values)
{
    size_t ranks = scan->collectives->ranks, count = 0;
    int64_t step = 0;
    bool is_first = true;
    for (size_t i = 0; i < scan->rows.count; i++) {
        const struct caused *row = &scan->rows.data[i];
        bool goes_on = !is_first && row->is_steady && row->step <= step;
        count += !goes_on;
        values[count - 1] += excess_in(scan, row, ranks);
        is_first = !row->is_steady;
        step = goes_on ? step : row->step;
    }
    return count;
}

static void find_excess(struct scan *scan)
{
    struct ss_blame *blame = scan->blame;
    blame->excess_error_ns = NAN;
    if (blame->most == 0 || scan->collectives->ranks < 2) {
        return;
    }
    double *values = ss_alloc_zero(scan->rows.count + 1, sizeof *values);
    size_t count = sum_steps(scan, values);
    for (size_t i = 0; i < count; i++) {
        blame->excess_ns += values[i] / (double)count;
    }
    blame->excess_error_ns = ss_mean_error(values, count);
    ss_free(values);
}

void ss_blame_init(struct ss_blame *blame, const struct ss_model *model,
                   const struct ss_collectives *collectives, bool only_steady)
{
    struct scan scan = {.blame = blame, .model = model, .collectives = collectives};
    *blame = (struct ss_blame){
        .ranks = ss_alloc_zero(model->processes.count, sizeof *blame->ranks),
        .causes = ss_alloc_zero(collectives->rows.count + 1, sizeof *blame->causes)};
    scan.waits = ss_alloc_zero(model->processes.count, sizeof *scan.waits);
    scan.waited = ss_alloc_zero(model->processes.count, sizeof *scan.waited);
    scan.behind = ss_alloc_zero(model->processes.count, sizeof *scan.behind);
    for (size_t i = 0; i < collectives->rows.count; i++) {
        scan_row(&scan, i, only_steady);
    }
    for (uint32_t i = 1; i < model->processes.count; i++) {
        blame->caused_ns += blame->ranks[i].caused_ns;
        if (blame->ranks[i].caused_ns > blame->ranks[blame->most].caused_ns) {
            blame->most = i;
        }
        ss_vec_fini(&scan.waits[i]);
        ss_vec_fini(&scan.waited[i]);
        ss_vec_fini(&scan.behind[i]);
    }
    find_excess(&scan);
    ss_vec_fini(&scan.rows);
    ss_free(scan.waits);
    ss_free(scan.waited);
    ss_free(scan.behind);
}

void ss_blame_fini(struct ss_blame *blame)
{
    ss_free(blame->ranks);
    ss_free(blame->causes);
    *blame = (struct ss_blame){0};
}
