/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../rank_builder.h"
#include "analysis/ranks/stage_frontier.h"
#include "table_checks.h"

#define MS UINT64_C(1000000)

enum { RANKS = 3, STEPS = 20, BATCH = 5, BACKWARD = 10, TRANSFER = 4 };

/* Own work of a rank in a step, in ms. */
struct work {
    unsigned forward, sleep; /* the sleep is in no phase: between backward and the collective */
};
typedef struct work work_of(unsigned rank, unsigned step);

struct made {
    struct ss_model model;
    struct ss_selection selection;
    struct ss_step_summary steps;
    struct ss_stage_frontier frontier;
};

static struct work slow_forward(unsigned rank, unsigned step)
{
    (void)step;
    return (struct work){.forward = rank == 1 ? 50 : 20};
}

static struct work sleeps(unsigned rank, unsigned step)
{
    (void)step;
    return (struct work){.forward = 20, .sleep = rank == 2 ? 30 : 0};
}

/* Each rank is slow in every third step: no rank is the slow one. */
static struct work in_turns(unsigned rank, unsigned step)
{
    return (struct work){.forward = step % RANKS == rank ? 40 : 20};
}

static uint64_t add_phase(struct ss_model *model, uint32_t track, const char *name, uint64_t at_ns,
                          uint64_t length_ns)
{
    if (length_ns > 0) {
        BUILD_RANGE(model, .track = track, .name = name, .begin_ns = at_ns,
                    .end_ns = at_ns + length_ns);
    }
    return at_ns + length_ns;
}

static uint64_t length_of(work_of *work, unsigned rank, unsigned step)
{
    struct work of_rank = work(rank, step);
    return (BATCH + BACKWARD + of_rank.forward + of_rank.sleep) * MS;
}

static uint64_t longest(work_of *work, unsigned step)
{
    uint64_t most_ns = 0;
    for (unsigned r = 0; r < RANKS; r++) {
        uint64_t ns = length_of(work, r, step);
        most_ns = ns > most_ns ? ns : most_ns;
    }
    return most_ns + TRANSFER * MS;
}

/* The clocks of the ranks differ by seconds. */
static uint64_t begin_of(unsigned rank)
{
    return (1000 + 7777 * rank) * MS;
}

/* Steps end with the backward, and begin with the wait for the others. */
static bool waits_first;

static void add_rank(struct ss_model *model, unsigned rank, work_of *work)
{
    uint32_t process = build_rank(model, rank, RANKS);
    uint32_t steps = BUILD_TRACK(model, .kind = SS_TRACK_STEPS, .process = process, .name = "step");
    uint64_t at_ns = begin_of(rank);
    for (unsigned s = 0; s < STEPS; s++) {
        uint64_t end_ns = at_ns + longest(work, s);
        BUILD_RANGE(model, .track = steps, .name = "step", .begin_ns = at_ns, .end_ns = end_ns,
                    .payload = build_integer(model, s));
        at_ns = end_ns;
    }
    uint32_t phases =
        BUILD_TRACK(model, .kind = SS_TRACK_PHASES, .process = process, .name = "phase");
    uint64_t begin_ns = begin_of(rank);
    for (unsigned s = 0; s < STEPS; s++) {
        struct work of_rank = work(rank, s);
        uint64_t wait_ns = waits_first ? longest(work, s) - length_of(work, rank, s) : 0;
        at_ns = add_phase(model, phases, "communication", begin_ns, wait_ns);
        at_ns = add_phase(model, phases, "data", at_ns, BATCH * MS);
        at_ns = add_phase(model, phases, "forward", at_ns, of_rank.forward * MS);
        at_ns = add_phase(model, phases, "backward", at_ns, BACKWARD * MS) + of_rank.sleep * MS;
        begin_ns += longest(work, s);
        add_phase(model, phases, "communication", at_ns, begin_ns - at_ns);
    }
}

static void begin(struct made *made, work_of *work)
{
    struct ss_selection_options all = {.idle = SS_IDLE_ALL};
    struct ss_steps_options none = {0};
    *made = (struct made){0};
    ss_model_init(&made->model);
    for (unsigned r = RANKS; r-- > 0;) { /* not in their order */
        add_rank(&made->model, r, work);
    }
    assert_int_equal(ss_selection_init(&made->selection, &made->model, &all, NULL), SS_OK);
    ss_step_summary_init(&made->steps, &made->selection, &none);
    ss_stage_frontier_init(&made->frontier, &made->selection, &made->steps);
}

static void end(struct made *made)
{
    ss_stage_frontier_fini(&made->frontier);
    ss_step_summary_fini(&made->steps);
    ss_selection_fini(&made->selection);
    ss_model_fini(&made->model);
}

static const struct ss_stage *stage(const struct made *made, enum ss_stage_kind kind,
                                    const char *phase)
{
    for (size_t i = 0; i < made->frontier.rows.count; i++) {
        const struct ss_stage *row = &made->frontier.rows.data[i];
        struct ss_strview text =
            ss_step_phase_text(&made->model, &made->steps.phases.data[row->phase]);
        if (row->kind == kind && ss_strview_equal(text, ss_strview_of(phase))) {
            return row;
        }
    }
    return NULL;
}

static uint64_t sum_of(const struct made *made)
{
    uint64_t sum_ns = 0;
    for (size_t i = 0; i < made->frontier.rows.count; i++) {
        sum_ns += made->frontier.rows.data[i].exposed_ns;
    }
    return sum_ns;
}

static void a_delay_counts_once_where_it_arises(void **state)
{
    (void)state;
    struct made made;
    begin(&made, slow_forward);
    uint64_t steps = made.frontier.steps;
    assert_true(steps >= STEPS - 2);
    assert_int_equal(made.frontier.skipped, 0);
    assert_int_equal(made.frontier.total_ns, steps * longest(slow_forward, 0));
    assert_int_equal(sum_of(&made), made.frontier.total_ns);
    const struct ss_stage *forward = stage(&made, SS_STAGE_PHASE, "forward");
    assert_int_equal(forward->exposed_ns, steps * 50 * MS);
    assert_int_equal(forward->median_ns, steps * 20 * MS);
    assert_int_equal(forward->delay_ns, steps * 30 * MS);
    assert_int_equal(forward->rank, 1);
    assert_int_equal(forward->rank_ns, forward->delay_ns);
    assert_int_equal(forward->rank_steps, steps);
    assert_int_equal(forward - made.frontier.rows.data, made.frontier.worst);
    /* The others' waits of 34 ms add nothing but the transfer. */
    const struct ss_stage *waits = stage(&made, SS_STAGE_COMMUNICATION, "backward");
    assert_int_equal(waits->exposed_ns, steps * TRANSFER * MS);
    assert_int_equal(waits->median_ns, steps * (30 + TRANSFER) * MS);
    assert_int_equal(waits->delay_ns, 0);
    end(&made);
}

static void own_time_outside_phases_has_its_place(void **state)
{
    (void)state;
    struct made made;
    begin(&made, sleeps);
    uint64_t steps = made.frontier.steps;
    const struct ss_stage *other = stage(&made, SS_STAGE_OTHER, "backward");
    assert_non_null(other);
    assert_int_equal(other->exposed_ns, steps * 30 * MS);
    assert_int_equal(other->delay_ns, steps * 30 * MS);
    assert_int_equal(other->rank, 2);
    assert_int_equal(other - made.frontier.rows.data, made.frontier.worst);
    assert_int_equal(stage(&made, SS_STAGE_COMMUNICATION, "backward")->exposed_ns,
                     steps * TRANSFER * MS);
    assert_int_equal(sum_of(&made), made.frontier.total_ns);
    end(&made);
}

static void ranks_that_are_slow_in_turns_are_not_named(void **state)
{
    (void)state;
    struct made made;
    begin(&made, in_turns);
    const struct ss_stage *forward = stage(&made, SS_STAGE_PHASE, "forward");
    assert_int_equal(forward->delay_ns, made.frontier.steps * 20 * MS);
    assert_true(2 * forward->rank_ns < forward->delay_ns);
    assert_int_equal(made.frontier.worst, made.frontier.rows.count);
    end(&made);
}

static void a_rank_that_waits_for_others_is_not_named(void **state)
{
    (void)state;
    struct made made;
    waits_first = true;
    begin(&made, slow_forward);
    waits_first = false;
    const struct ss_stage *waits = &made.frontier.rows.data[0];
    assert_int_equal(waits->kind, SS_STAGE_COMMUNICATION);
    assert_true(waits->exposed_ns > 0);
    assert_true(made.frontier.worst == made.frontier.rows.count ||
                made.frontier.rows.data[made.frontier.worst].rank == 1);
    end(&made);
}

static void steps_that_a_rank_lacks_are_left_out(void **state)
{
    (void)state;
    struct made made;
    begin(&made, slow_forward);
    uint64_t steps = made.frontier.steps;
    for (size_t i = 0; i < made.steps.steps.count; i++) {
        struct ss_step *step = &made.steps.steps.data[i];
        if (step->number == 12 && made.model.processes.data[step->process].rank == 2) {
            step->kind = SS_STEP_CUT;
        }
    }
    ss_stage_frontier_fini(&made.frontier);
    ss_stage_frontier_init(&made.frontier, &made.selection, &made.steps);
    assert_int_equal(made.frontier.steps, steps - 1);
    assert_int_equal(made.frontier.skipped, 1);
    end(&made);
}

/* 5 + 50 + 10 + 4 ms: the forward of rank 1 takes 30 ms longer than that of the median rank. */
static void table_stage(void **state)
{
    (void)state;
    struct made made;
    struct built_tables built;
    begin(&made, slow_forward);
    build_tables(&built, "stage", NULL, &made.selection, &made.steps);
    assert_int_equal(built.tables[0].row_count, 4);
    check_cells(&built.tables[0], 1,
                "stage=forward; exposed_percent=72.4638; exposed_step_ns=50000000; "
                "median_rank_ns=20000000; delay_step_ns=30000000; rank=1; rank_percent=100");
    check_cells(&built.tables[0], 3,
                "stage=communication; behind=backward; exposed_step_ns=4000000; "
                "median_rank_ns=34000000; delay_step_ns=0");
    fini_tables(&built);
    end(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_delay_counts_once_where_it_arises),
        cmocka_unit_test(own_time_outside_phases_has_its_place),
        cmocka_unit_test(ranks_that_are_slow_in_turns_are_not_named),
        cmocka_unit_test(a_rank_that_waits_for_others_is_not_named),
        cmocka_unit_test(steps_that_a_rank_lacks_are_left_out),
        cmocka_unit_test(table_stage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
