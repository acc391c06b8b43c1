/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/ranks/blame.h"

#include "base/alloc.h"

struct wait_span {
    uint64_t begin_ns, end_ns;
};

/* A wait of a rank, and which process counts for it. */
struct wait {
    uint64_t begin_ns, end_ns;
    uint64_t error_ns; /* of the clocks */
    uint32_t group, cause;
};

struct waits ss_vec_of(struct wait);

/* Time that has been counted, as spans that neither overlap nor touch, in order. */
struct counted ss_vec_of(struct wait_span);

/* When a process left its last collective of a group. */
struct left {
    uint32_t group;
    uint64_t end_ns;
};

/* What is known of a process when a collective is reached. */
struct rank {
    struct waits waits;            /* in order of their end */
    struct counted waited, behind; /* that it waited, that it was behind */
    struct ss_vec_of(struct left) left;
};

struct scan {
    struct ss_blame *blame;
    const struct ss_model *model;
    struct rank *ranks; /* by process */
};

static uint64_t end_of_previous(const struct rank *rank, uint32_t group)
{
    for (size_t i = 0; i < rank->left.count; i++) {
        if (rank->left.data[i].group == group) {
            return rank->left.data[i].end_ns;
        }
    }
    return 0;
}

static void leave(struct rank *rank, const struct ss_rank_call *call)
{
    for (size_t i = 0; i < rank->left.count; i++) {
        if (rank->left.data[i].group == call->group) {
            rank->left.data[i].end_ns = call->end_ns;
            return;
        }
    }
    ss_vec_push(&rank->left, (struct left){call->group, call->end_ns});
}

/* What a rank waited in other groups since it last left a collective of this one, before it
 * arrives; and for which rank longest. */
struct passed_on {
    uint64_t ns, longest_ns;
    uint64_t error_ns; /* of the longest */
    uint32_t cause;    /* likewise */
};

static struct passed_on find_passed_on(const struct rank *rank, const struct ss_rank_call *call)
{
    const struct waits *waits = &rank->waits;
    struct passed_on passed_on = {0};
    if (waits->count == 0) {
        return passed_on;
    }
    uint64_t since_ns = end_of_previous(rank, call->group);
    for (size_t i = waits->count; i > 0 && waits->data[i - 1].end_ns > since_ns; i--) {
        const struct wait *wait = &waits->data[i - 1];
        uint64_t from_ns = wait->begin_ns > since_ns ? wait->begin_ns : since_ns;
        uint64_t to_ns = wait->end_ns < call->begin_ns ? wait->end_ns : call->begin_ns;
        uint64_t length_ns = wait->group != call->group && to_ns > from_ns ? to_ns - from_ns : 0;
        passed_on.ns += length_ns;
        if (length_ns > passed_on.longest_ns) {
            passed_on.longest_ns = length_ns;
            passed_on.error_ns = wait->error_ns;
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

static const struct ss_rank_call *call_of_last(const struct scan *scan,
                                               const struct ss_collective *collective)
{
    const struct ss_rank_call *call = &scan->blame->collectives->calls.rows.data[collective->first];
    while (call->process != collective->last) {
        call++;
    }
    return call;
}

static struct ss_blamed blame_last(struct scan *scan, const struct ss_collective *collective)
{
    struct rank *last = &scan->ranks[collective->last];
    struct passed_on passed_on = find_passed_on(last, call_of_last(scan, collective));
    uint64_t behind_ns = count_once(&last->behind, collective->second_ns, collective->last_ns);
    uint64_t not_own_ns = passed_on.ns < behind_ns ? passed_on.ns : behind_ns;
    if (passed_on.cause != 0 &&
        behind_ns - not_own_ns <= passed_on.error_ns + collective->last_error_ns) {
        not_own_ns = behind_ns; /* the clocks do not show that it is late itself */
    }
    return (struct ss_blamed){.own_ns = behind_ns - not_own_ns,
                              .through_ns = not_own_ns,
                              .through = passed_on.cause,
                              .cause =
                                  2 * not_own_ns > behind_ns ? passed_on.cause : collective->last};
}

static void add_waits(const struct scan *scan, const struct ss_collective *collective,
                      uint32_t cause)
{
    const struct ss_collectives *collectives = scan->blame->collectives;
    const struct ss_rank_call *calls = collectives->calls.rows.data;
    for (size_t k = collective->first; k < collective->first + collective->count; k++) {
        struct rank *rank = &scan->ranks[calls[k].process];
        uint64_t wait_ns = collective->last_ns - calls[k].begin_ns;
        uint64_t error_ns =
            ss_collectives_error_ns(collectives, scan->model, collective->last, calls[k].process);
        if (wait_ns > error_ns) {
            struct wait wait = {calls[k].begin_ns, collective->last_ns, error_ns, calls[k].group,
                                cause};
            scan->blame->waited_ns[k] =
                count_once(&rank->waited, calls[k].begin_ns, collective->last_ns);
            ss_vec_push(&rank->waits, wait);
        }
    }
}

static void scan_row(struct scan *scan, size_t row)
{
    const struct ss_collectives *collectives = scan->blame->collectives;
    const struct ss_collective *collective = &collectives->rows.data[row];
    if (ss_collective_counts(collective)) {
        struct ss_blamed *blamed = &scan->blame->rows[row];
        if (ss_collective_is_resolved(collective)) {
            *blamed = blame_last(scan, collective);
        }
        add_waits(scan, collective, blamed->cause != 0 ? blamed->cause : collective->last);
    }
    for (size_t k = collective->first; k < collective->first + collective->count; k++) {
        const struct ss_rank_call *call = &collectives->calls.rows.data[k];
        leave(&scan->ranks[call->process], call);
    }
}

static void *build(const void *of)
{
    const struct ss_selection *selection = of;
    const struct ss_model *model = selection->model;
    struct ss_blame *blame = ss_alloc_zero(1, sizeof *blame);
    const struct ss_collectives *collectives = ss_selection_collectives(selection);
    struct scan scan = {.blame = blame, .model = model};
    blame->collectives = collectives;
    blame->rows = ss_alloc_zero(collectives->rows.count + 1, sizeof *blame->rows);
    blame->waited_ns = ss_alloc_zero(collectives->calls.rows.count + 1, sizeof *blame->waited_ns);
    scan.ranks = ss_alloc_zero(model->processes.count, sizeof *scan.ranks);
    for (size_t i = 0; i < collectives->rows.count; i++) {
        scan_row(&scan, i);
    }
    for (uint32_t i = 0; i < model->processes.count; i++) {
        ss_vec_fini(&scan.ranks[i].waits);
        ss_vec_fini(&scan.ranks[i].left);
        ss_vec_fini(&scan.ranks[i].waited);
        ss_vec_fini(&scan.ranks[i].behind);
    }
    ss_free(scan.ranks);
    return blame;
}

static void free_part(void *part)
{
    struct ss_blame *blame = part;
    ss_free(blame->rows);
    ss_free(blame->waited_ns);
    ss_free(blame);
}

const struct ss_blame *ss_selection_blame(const struct ss_selection *selection)
{
    static const struct ss_analysis_part blame = {"waits of ranks", build, free_part};
    return ss_analysis_get(selection->analysis, &blame, selection);
}
