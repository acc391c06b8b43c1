/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/ranks/critical_path.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/search.h"

/* --- steps ------------------------------------------------------------------------------------ */

/* A step of all ranks that have it. */
struct joint_step {
    int64_t number;
    uint64_t begin_ns, end_ns;
    size_t last; /* row of the rank that ends last */
};

struct joint_steps ss_vec_of(struct joint_step);

static int compare_joint(const void *left, const void *right)
{
    const struct joint_step *a = left, *b = right;
    if (a->number != b->number) {
        return a->number < b->number ? -1 : 1;
    }
    return (a->end_ns > b->end_ns) - (a->end_ns < b->end_ns);
}

/* One row for each number. */
static void join_steps(struct joint_steps *steps)
{
    size_t count = 0;
    if (steps->count > 1) {
        qsort(steps->data, steps->count, sizeof *steps->data, compare_joint);
    }
    for (size_t i = 0; i < steps->count; i++) {
        struct joint_step step = steps->data[i];
        if (count > 0 && steps->data[count - 1].number == step.number) {
            struct joint_step *joint = &steps->data[count - 1];
            joint->begin_ns = step.begin_ns < joint->begin_ns ? step.begin_ns : joint->begin_ns;
            joint->end_ns = step.end_ns; /* sorted: the later one */
            joint->last = step.last;
        } else {
            steps->data[count++] = step;
        }
    }
    steps->count = count;
}

static void find_steps(struct joint_steps *steps, const struct ss_rank_profiles *profiles,
                       const struct ss_step_summary *training)
{
    for (size_t i = 0; i < training->steps.count; i++) {
        const struct ss_step *step = &training->steps.data[i];
        const struct ss_rank_profile *row =
            step->kind == SS_STEP_STEADY ? ss_rank_profile_of(profiles, step->process) : NULL;
        if (row != NULL) { /* else it is not compared */
            struct joint_step joint = {step->number, step->begin_ns, step->end_ns,
                                       (size_t)(row - profiles->rows.data)};
            ss_vec_push(steps, joint);
        }
    }
    join_steps(steps);
}

/* --- the walk --------------------------------------------------------------------------------- */

struct walk {
    struct ss_critical_path *path;
    const struct ss_rank_timeline *timeline;
    const struct ss_rank_profiles *profiles;
    size_t rank;
    uint64_t at_ns, until_ns; /* goes back from `at` to `until` */
};

static void add(struct walk *walk, size_t part, uint64_t to_ns)
{
    to_ns = to_ns > walk->until_ns ? to_ns : walk->until_ns;
    if (to_ns < walk->at_ns) {
        walk->path->part_ns[walk->rank * walk->path->parts + part] += walk->at_ns - to_ns;
        walk->at_ns = to_ns;
    }
}

/* The piece of own work or waiting in which the rank was just before; NULL: none. */
static const struct ss_piece *piece_before(const struct walk *walk)
{
    const struct ss_rank_timeline *timeline = walk->timeline;
    size_t first = timeline->first[walk->rank];
    size_t low = ss_search(i, first, timeline->first[walk->rank + 1],
                           timeline->pieces.data[i].begin_ns < walk->at_ns);
    while (low > first && timeline->pieces.data[low - 1].kind == SS_PIECE_ARRIVE) {
        low--;
    }
    const struct ss_piece *piece = low > first ? &timeline->pieces.data[low - 1] : NULL;
    return piece != NULL && piece->end_ns >= walk->at_ns ? piece : NULL;
}

/* Back to the arrival of the last rank, and on with it. */
static void step_back_wait(struct walk *walk, const struct ss_piece *piece)
{
    size_t communication = walk->timeline->phases + SS_PATH_COMMUNICATION;
    const struct ss_collective *row =
        piece->collective != 0 ? &walk->profiles->collectives->rows.data[piece->collective - 1]
                               : NULL;
    const struct ss_rank_profile *last =
        row != NULL ? ss_rank_profile_of(walk->profiles, row->last) : NULL;
    size_t next = last != NULL ? (size_t)(last - walk->profiles->rows.data) : walk->rank;
    bool passes_on = row != NULL && next != walk->rank && row->last_ns < walk->at_ns &&
                     row->last_ns > piece->begin_ns && ss_collective_is_resolved(row);
    add(walk, communication, passes_on ? row->last_ns : piece->begin_ns);
    walk->rank = passes_on ? next : walk->rank;
}

static void walk_step(struct walk *walk)
{
    size_t outside = walk->timeline->phases + SS_PATH_OUTSIDE;
    while (walk->at_ns > walk->until_ns) {
        const struct ss_piece *piece = piece_before(walk);
        if (piece == NULL) {
            add(walk, outside, walk->until_ns);
        } else if (piece->kind == SS_PIECE_OWN) {
            add(walk, piece->phase, piece->begin_ns);
        } else {
            step_back_wait(walk, piece);
        }
    }
}

void ss_critical_path_init(struct ss_critical_path *path, const struct ss_rank_timeline *timeline,
                           const struct ss_rank_profiles *profiles,
                           const struct ss_step_summary *training)
{
    struct joint_steps steps = {0};
    *path = (struct ss_critical_path){.ranks = timeline->ranks,
                                      .parts = timeline->phases + SS_PATH_PARTS};
    path->part_ns = ss_alloc_zero(path->ranks * path->parts + 1, sizeof *path->part_ns);
    find_steps(&steps, profiles, training);
    for (size_t i = 0; i < steps.count; i++) {
        const struct joint_step *step = &steps.data[i];
        struct walk walk = {path, timeline, profiles, step->last, step->end_ns, step->begin_ns};
        walk_step(&walk);
        path->steps++;
        path->total_ns += step->end_ns - step->begin_ns;
    }
    ss_vec_fini(&steps);
}

void ss_critical_path_fini(struct ss_critical_path *path)
{
    ss_free(path->part_ns);
    *path = (struct ss_critical_path){0};
}
