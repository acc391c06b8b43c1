/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/ranks/stage_frontier.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/selection/program_facts.h"
#include "analysis/steps/step_parts.h"
#include "analysis/table/distribution.h"
#include "analysis/table/mean_error.h"
#include "analysis/table/rule_limits.h"
#include "base/alloc.h"
#include "base/shared_names.h"

/* Slots of a step: one for each stage that may occur. Of phases: for each place, which is the start
 * of the step or a phase, its own time, the other time and the communication behind it. */
enum { KINDS = 3, DEVICE_SLOTS = 4 };

struct building {
    struct ss_stage_frontier *frontier;
    const struct ss_model *model;
    const struct ss_step_summary *training;
    size_t slots, phases, communication; /* phases without "other" */
    bool is_of_devices;
    uint64_t *times; /* [steps][slots] */
    size_t *order;   /* of slots that have any time */
    size_t ordered;
};

/* --- the times of each step ------------------------------------------------------------------- */

static size_t slot_of(size_t place, enum ss_stage_kind kind)
{
    return place * KINDS + kind;
}

static bool is_counted(const struct ss_step *step)
{
    return step->kind == SS_STEP_STEADY || step->kind == SS_STEP_OUTLIER;
}

/* `begins_ns`, by place: sums of when it begins in a step, for their order. */
static void split(const struct building *building, const struct ss_step_parts *parts, size_t index,
                  double *begins_ns, uint64_t *begins)
{
    const struct ss_step *step = &building->training->steps.data[index];
    uint64_t *times = &building->times[index * building->slots];
    uint64_t seen = 0, at_ns = step->begin_ns;
    size_t place = 0, i = ss_step_parts_first(parts, step->process, step->begin_ns);
    for (; i < parts->count && parts->data[i].process == step->process; i++) {
        const struct ss_step_part *part = &parts->data[i];
        uint64_t from_ns = part->begin_ns > at_ns ? part->begin_ns : at_ns;
        uint64_t to_ns = part->end_ns < step->end_ns ? part->end_ns : step->end_ns;
        if (part->begin_ns >= step->end_ns || from_ns >= to_ns) {
            if (part->begin_ns >= step->end_ns) {
                break;
            }
            continue;
        }
        times[slot_of(place, SS_STAGE_OTHER)] += from_ns - at_ns;
        if (part->phase == building->communication) {
            times[slot_of(place, SS_STAGE_COMMUNICATION)] += to_ns - from_ns;
        } else if (part->phase < building->phases) {
            place = part->phase + 1;
            times[slot_of(place, SS_STAGE_PHASE)] += to_ns - from_ns;
            if ((seen >> part->phase & 1) == 0) {
                begins_ns[place] += (double)(from_ns - step->begin_ns);
                begins[place]++;
                seen |= UINT64_C(1) << part->phase;
            }
        } else {
            times[slot_of(place, SS_STAGE_OTHER)] += to_ns - from_ns;
        }
        at_ns = to_ns;
    }
    times[slot_of(place, SS_STAGE_OTHER)] += step->end_ns - at_ns;
}

/* Places in the order in which steps begin them; one that comes first in each step is first. */
static void order_slots(struct building *building, const double *begins_ns, const uint64_t *begins)
{
    size_t places = building->phases + 1;
    size_t *sorted = ss_alloc_zero(places, sizeof *sorted);
    for (size_t i = 1; i < places; i++) {
        size_t at = i;
        double key = begins[i] > 0 ? begins_ns[i] / (double)begins[i] : 0;
        for (; at > 1; at--) {
            size_t before = sorted[at - 1];
            double other = begins[before] > 0 ? begins_ns[before] / (double)begins[before] : 0;
            if (other <= key) {
                break;
            }
            sorted[at] = before;
        }
        sorted[at] = i;
    }
    for (size_t i = 0; i < places; i++) {
        for (size_t kind = 0; kind < KINDS; kind++) {
            building->order[building->ordered++] = slot_of(sorted[i], (enum ss_stage_kind)kind);
        }
    }
    ss_free(sorted);
}

static void split_by_phases(struct building *building, const struct ss_selection *selection)
{
    const struct ss_step_summary *training = building->training;
    struct ss_step_parts parts;
    double *begins_ns = ss_alloc_zero(building->phases + 1, sizeof *begins_ns);
    uint64_t *begins = ss_alloc_zero(building->phases + 1, sizeof *begins);
    ss_step_parts_init(&parts, training, selection);
    for (size_t i = 0; i < training->steps.count; i++) {
        split(building, &parts, i, begins_ns, begins);
    }
    order_slots(building, begins_ns, begins);
    ss_step_parts_fini(&parts);
    ss_free(begins_ns);
    ss_free(begins);
}

/* Of several devices of a process, the first. */
static void split_by_devices(struct building *building, const struct ss_device_summary *devices)
{
    for (size_t i = devices->steps.count; i > 0; i--) {
        const struct ss_device_step *on = &devices->steps.data[i - 1];
        uint64_t *times = &building->times[on->step * building->slots];
        times[0] = on->times.idle_ns;
        times[1] = on->times.class_ns[SS_WORK_COMPUTE];
        times[2] = on->times.class_ns[SS_WORK_COPY];
        times[3] = on->times.class_ns[SS_WORK_COMMUNICATION];
    }
    for (size_t i = 0; i < DEVICE_SLOTS; i++) {
        building->order[building->ordered++] = i;
    }
}

/* --- ranks and rows --------------------------------------------------------------------------- */

static void list_ranks(struct building *building, const struct ss_rank_profiles *profiles)
{
    for (size_t i = 0; i < profiles->rows.count; i++) {
        uint32_t process = profiles->rows.data[i].process;
        if (ss_step_has_process(building->training, process)) {
            ss_vec_push(&building->frontier->ranks, process);
        }
    }
}

static struct ss_stage stage_of(const struct building *building, size_t slot)
{
    struct ss_stage stage = {.phase = building->phases};
    if (building->is_of_devices) {
        stage.kind = (enum ss_stage_kind)(SS_STAGE_IDLE + slot);
        return stage;
    }
    size_t place = slot / KINDS;
    stage.kind = (enum ss_stage_kind)(slot % KINDS);
    stage.phase = place > 0 ? place - 1 : building->phases;
    return stage;
}

/* Drops slots without any time. */
static void list_rows(struct building *building)
{
    size_t count = 0, steps = building->training->steps.count;
    for (size_t k = 0; k < building->ordered; k++) {
        size_t slot = building->order[k], i = 0;
        while (i < steps && building->times[i * building->slots + slot] == 0) {
            i++;
        }
        if (i < steps) {
            building->order[count++] = slot;
            ss_vec_push(&building->frontier->rows, stage_of(building, slot));
        }
    }
    building->ordered = count;
}

/* --- the frontier ----------------------------------------------------------------------------- */

/* A step of a rank: of all ranks, those with one number. */
struct member {
    int64_t number;
    size_t rank, step;
};

struct members ss_vec_of(struct member);

/* The delay that arises in a stage of a step. */
struct cause {
    size_t rank;
    uint64_t ns;
};

struct walk {
    const struct building *building;
    uint64_t *reached_ns, *sorted;         /* by rank */
    struct ss_vec_of(struct cause) causes; /* [steps][rows] */
};

static int compare_members(const void *left, const void *right)
{
    const struct member *a = left, *b = right;
    if (a->number != b->number) {
        return a->number < b->number ? -1 : 1;
    }
    return a->rank < b->rank ? -1 : a->rank > b->rank;
}

static uint64_t median_of(uint64_t *values, size_t count)
{
    ss_sort_u64(values, count);
    return values[(count - 1) / 2];
}

/* One step: from stage to stage, the rank that has needed most time so far. */
static void walk_step(struct walk *walk, const struct member *members)
{
    const struct building *building = walk->building;
    struct ss_stage_frontier *frontier = building->frontier;
    size_t ranks = frontier->ranks.count;
    uint64_t front_ns = 0, ahead_ns = 0;
    for (size_t r = 0; r < ranks; r++) {
        walk->reached_ns[r] = 0;
    }
    for (size_t k = 0; k < building->ordered; k++) {
        struct ss_stage *row = &frontier->rows.data[k];
        size_t front = 0;
        for (size_t r = 0; r < ranks; r++) {
            uint64_t ns = building->times[members[r].step * building->slots + building->order[k]];
            walk->sorted[r] = ns;
            walk->reached_ns[r] += ns;
            front = walk->reached_ns[r] > walk->reached_ns[front] ? r : front;
        }
        row->median_ns += median_of(walk->sorted, ranks);
        for (size_t r = 0; r < ranks; r++) {
            walk->sorted[r] = walk->reached_ns[r];
        }
        uint64_t before_ns = ahead_ns;
        ahead_ns = walk->reached_ns[front] - median_of(walk->sorted, ranks);
        row->exposed_ns += walk->reached_ns[front] - front_ns;
        front_ns = walk->reached_ns[front];
        struct cause cause = {front, ahead_ns > before_ns ? ahead_ns - before_ns : 0};
        row->delay_ns += cause.ns;
        ss_vec_push(&walk->causes, cause);
    }
    frontier->total_ns += front_ns;
    frontier->steps++;
}

static void list_members(const struct building *building, struct members *members)
{
    const struct ss_stage_frontier *frontier = building->frontier;
    size_t *ranks = ss_alloc_zero(building->model->processes.count, sizeof *ranks);
    for (size_t r = 0; r < frontier->ranks.count; r++) {
        ranks[frontier->ranks.data[r]] = r + 1;
    }
    for (size_t i = 0; i < building->training->steps.count; i++) {
        const struct ss_step *step = &building->training->steps.data[i];
        size_t rank = ranks[step->process];
        if (rank > 0 && is_counted(step) && (!building->is_of_devices || step->has_device_work)) {
            ss_vec_push(members, (struct member){step->number, rank - 1, i});
        }
    }
    if (members->count > 1) {
        qsort(members->data, members->count, sizeof *members->data, compare_members);
    }
    ss_free(ranks);
}

/* A number that a rank lacks, or has twice, belongs to no one step. */
static bool is_complete(const struct member *members, size_t count, size_t ranks)
{
    for (size_t i = 0; i < count && count == ranks; i++) {
        if (members[i].rank != i) {
            return false;
        }
    }
    return count == ranks;
}

static void walk_steps(struct walk *walk)
{
    struct ss_stage_frontier *frontier = walk->building->frontier;
    struct members members = {0};
    list_members(walk->building, &members);
    for (size_t first = 0, end; first < members.count; first = end) {
        for (end = first + 1;
             end < members.count && members.data[end].number == members.data[first].number;) {
            end++;
        }
        if (is_complete(&members.data[first], end - first, frontier->ranks.count)) {
            walk_step(walk, &members.data[first]);
        } else {
            frontier->skipped++;
        }
    }
    ss_vec_fini(&members);
}

/* The rank that causes most of the delay of a stage. */
static void find_rank(struct ss_stage_frontier *frontier, const struct walk *walk, size_t k)
{
    struct ss_stage *row = &frontier->rows.data[k];
    uint64_t *sums = &frontier->rank_ns[k * frontier->ranks.count];
    for (size_t s = 0; s < frontier->steps; s++) {
        const struct cause *cause = &walk->causes.data[s * frontier->rows.count + k];
        sums[cause->rank] += cause->ns;
    }
    for (size_t r = 0; r < frontier->ranks.count; r++) {
        if (sums[r] > row->rank_ns) {
            row->rank = r;
            row->rank_ns = sums[r];
        }
    }
    for (size_t s = 0; s < frontier->steps; s++) {
        const struct cause *cause = &walk->causes.data[s * frontier->rows.count + k];
        row->rank_steps += cause->rank == row->rank && cause->ns > 0;
    }
}

/* What the rank of a stage causes in each step beyond the mean of the others, as in blame.h. */
static bool is_beyond_chance(const struct ss_stage_frontier *frontier, const struct walk *walk,
                             size_t k)
{
    const struct ss_stage *row = &frontier->rows.data[k];
    double *values = ss_alloc_zero(frontier->steps + 1, sizeof *values), mean = 0;
    double others = (double)(frontier->ranks.count - 1);
    for (size_t s = 0; s < frontier->steps; s++) {
        const struct cause *cause = &walk->causes.data[s * frontier->rows.count + k];
        values[s] = (double)cause->ns * (cause->rank == row->rank ? 1 : -1 / others);
        mean += values[s] / (double)frontier->steps;
    }
    double error = ss_mean_error(values, frontier->steps);
    ss_free(values);
    return isnan(error) || mean > SS_LIMIT_SLOW_RANK_ERRORS * error;
}

/* Others cause it: a rank that waits at the start of a step, as for the end of the others' one
 * before, is ahead of them only then. */
static bool is_waiting(const struct ss_stage *row)
{
    return row->kind == SS_STAGE_COMMUNICATION || row->kind == SS_STAGE_EXPOSED;
}

static void find_causes(struct ss_stage_frontier *frontier, const struct walk *walk)
{
    size_t cells = frontier->rows.count * frontier->ranks.count;
    frontier->rank_ns = ss_alloc_zero(cells + 1, sizeof *frontier->rank_ns);
    frontier->worst = frontier->rows.count;
    for (size_t k = 0; k < frontier->rows.count && frontier->ranks.count > 1; k++) {
        find_rank(frontier, walk, k);
        bool is_worse =
            frontier->worst == frontier->rows.count ||
            frontier->rows.data[k].rank_ns > frontier->rows.data[frontier->worst].rank_ns;
        if (frontier->rows.data[k].rank_ns > 0 && is_worse &&
            !is_waiting(&frontier->rows.data[k]) && is_beyond_chance(frontier, walk, k)) {
            frontier->worst = k;
        }
    }
}

void ss_stage_frontier_init(struct ss_stage_frontier *frontier,
                            const struct ss_selection *selection,
                            const struct ss_step_summary *training)
{
    const struct ss_device_summary *devices = ss_steps_devices(selection, training);
    *frontier = (struct ss_stage_frontier){0};
    if (training->steps.count == 0) {
        return;
    }
    struct building building = {
        .frontier = frontier,
        .model = selection->model,
        .training = training,
        .phases = training->phases.count - 1,
        .communication = ss_step_phase_named(training, selection->model, ss_phase_communication)};
    building.is_of_devices = building.phases == 0 && devices->steps.count > 0;
    building.slots = building.is_of_devices ? DEVICE_SLOTS : KINDS * (building.phases + 1);
    building.times = ss_alloc_zero(training->steps.count * building.slots, sizeof *building.times);
    building.order = ss_alloc_zero(building.slots, sizeof *building.order);
    list_ranks(&building, ss_steps_ranks(selection, training));
    if (building.is_of_devices) {
        split_by_devices(&building, devices);
    } else {
        split_by_phases(&building, selection);
    }
    list_rows(&building);
    size_t ranks = frontier->ranks.count;
    struct walk walk = {.building = &building,
                        .reached_ns = ss_alloc_zero(ranks, sizeof *walk.reached_ns),
                        .sorted = ss_alloc_zero(ranks, sizeof *walk.sorted)};
    walk_steps(&walk);
    find_causes(frontier, &walk);
    ss_free(walk.reached_ns);
    ss_free(walk.sorted);
    ss_vec_fini(&walk.causes);
    ss_free(building.times);
    ss_free(building.order);
}

void ss_stage_frontier_fini(struct ss_stage_frontier *frontier)
{
    ss_vec_fini(&frontier->rows);
    ss_vec_fini(&frontier->ranks);
    ss_free(frontier->rank_ns);
    *frontier = (struct ss_stage_frontier){0};
}

static void *build(const void *of)
{
    const struct ss_step_analysis *steps = of;
    struct ss_stage_frontier *frontier = ss_alloc_zero(1, sizeof *frontier);
    ss_stage_frontier_init(frontier, steps->selection, steps->training);
    return frontier;
}

static void free_part(void *part)
{
    ss_stage_frontier_fini(part);
    ss_free(part);
}

const struct ss_stage_frontier *ss_steps_frontier(const struct ss_selection *selection,
                                                  const struct ss_step_summary *training)
{
    static const struct ss_analysis_part frontier = {"stages of ranks", build, free_part};
    return ss_step_analysis_get(selection, training, &frontier);
}

const struct ss_stage *ss_stage_frontier_behind(const struct ss_stage_frontier *frontier)
{
    if (frontier->worst >= frontier->rows.count) {
        return NULL;
    }
    const struct ss_stage *stage = &frontier->rows.data[frontier->worst];
    bool is_large = 100 * stage->rank_ns >= SS_LIMIT_GAIN_PERCENT * frontier->total_ns;
    return is_large && 2 * stage->rank_ns >= stage->delay_ns ? stage : NULL;
}

const struct ss_stage *ss_stage_frontier_of(const struct ss_stage_frontier *frontier,
                                            uint32_t process, uint64_t *delay_ns)
{
    const struct ss_stage *most = NULL;
    size_t ranks = frontier->ranks.count, rank = 0;
    *delay_ns = 0;
    while (rank < ranks && frontier->ranks.data[rank] != process) {
        rank++;
    }
    for (size_t k = 0; k < frontier->rows.count && rank < ranks; k++) {
        uint64_t ns = frontier->rank_ns[k * ranks + rank];
        if (ns > *delay_ns && !is_waiting(&frontier->rows.data[k])) {
            most = &frontier->rows.data[k];
            *delay_ns = ns;
        }
    }
    return most;
}
