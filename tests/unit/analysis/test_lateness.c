/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analysis/ranks/joint_communication.h"
#include "analysis/ranks/lateness.h"
#include "simulated_run.h"

#define MS UINT64_C(1000000)

enum { STEPS = 20, MOST_RANKS = 4, EQUALLY = 102 };

/* Per step, in ms: what each rank computes and waits, and which phase is longer. */
struct shape {
    unsigned ranks, steps;
    unsigned data[MOST_RANKS], forward[MOST_RANKS], communication[MOST_RANKS];
    bool is_other_each_time; /* the late one */
    bool has_rank;           /* its rank */
    bool has_collectives;    /* to which all come at once, every EQUALLY ms */
};

struct made {
    struct ss_model model;
    struct ss_selection selection;
    struct ss_step_summary steps;
    const struct ss_lateness *late;
};

static uint64_t add_range(struct ss_model *model, uint32_t track, const char *name,
                          uint64_t begin_ns, uint64_t ns)
{
    BUILD_RANGE(model, .track = track, .name = name, .begin_ns = begin_ns, .end_ns = begin_ns + ns);
    return begin_ns + ns;
}

static void add_rank(struct ss_model *model, const struct shape *shape, unsigned rank)
{
    uint32_t process = BUILD_PROCESS(model, .pid = 40 + (int32_t)rank);
    uint32_t steps = BUILD_TRACK(model, .kind = SS_TRACK_STEPS, .process = process, .name = "step");
    uint32_t phases =
        BUILD_TRACK(model, .kind = SS_TRACK_PHASES, .process = process, .name = "phase");
    if (shape->has_rank) {
        BUILD_NOTE(model, .time_ns = 1, .process = process, .value = rank, .kind = "fact",
                   .text = "torch.rank = n");
    }
    uint64_t at = 1000 * MS;
    for (unsigned i = 0; i < shape->steps; i++) {
        unsigned as = shape->is_other_each_time ? (rank + i) % shape->ranks : rank;
        uint64_t begin = at;
        at = shape->data[as] > 0 ? add_range(model, phases, "data", at, shape->data[as] * MS) : at;
        at = add_range(model, phases, "forward", at, shape->forward[as] * MS);
        if (shape->communication[as] > 0) {
            at = add_range(model, phases, "communication", at, shape->communication[as] * MS);
        }
        BUILD_RANGE(model, .track = steps, .name = "step", .begin_ns = begin, .end_ns = at,
                    .payload = build_integer(model, i));
    }
    uint32_t calls = build_collective_track(model, process);
    for (unsigned i = 0; i < shape->steps && shape->has_collectives; i++) {
        BUILD_COLLECTIVE(model, .track = calls, .group = "0", .size = shape->ranks, .sequence = i,
                         .begin_ns = (1010 + EQUALLY * i) * MS,
                         .end_ns = (1011 + EQUALLY * i) * MS);
    }
}

static void begin(struct made *made, const struct shape *shape)
{
    struct ss_selection_options all = {.idle = SS_IDLE_ALL};
    struct ss_steps_options none = {0};
    ss_model_init(&made->model);
    for (unsigned i = 0; i < shape->ranks; i++) {
        add_rank(&made->model, shape, i);
    }
    assert_int_equal(ss_selection_init(&made->selection, &made->model, &all, NULL), SS_OK);
    ss_step_summary_init(&made->steps, &made->selection, &none);
    made->late = ss_steps_lateness(&made->selection, &made->steps);
}

static void end(struct made *made)
{
    ss_step_summary_fini(&made->steps);
    ss_selection_fini(&made->selection);
    ss_model_fini(&made->model);
}

static int32_t late_pid(const struct shape *shape)
{
    struct made made;
    begin(&made, shape);
    const struct ss_rank_profile *row = made.late->claim.row;
    int32_t pid = row != NULL ? made.model.processes.data[row->process].pid : 0;
    end(&made);
    return pid;
}

static const struct shape late_second = {.ranks = 3,
                                         .steps = STEPS,
                                         .data = {5, 45, 5},
                                         .forward = {50, 50, 50},
                                         .communication = {47, 7, 43}};

static void test_the_rank_that_waits_least(void **state)
{
    (void)state;
    struct made made;
    begin(&made, &late_second);
    const struct ss_lateness *late = made.late;
    assert_int_equal(late->verdict, SS_LATE_ONE);
    assert_int_equal(late->claim.by, SS_LATE_BY_PHASES);
    assert_int_equal(made.model.processes.data[late->claim.row->process].pid, 41);
    assert_int_equal(late->claim.own_ns, 7 * MS);
    assert_int_equal(late->claim.wait_ns, 38 * MS); /* 45, the mean of the others, less 7 */
    assert_int_equal(late->claim.of_ns, 100 * MS);
    assert_true(late->claim.error_ns < 1); /* all steps are alike */
    assert_int_equal(late->more_ns, 40 * MS);
    assert_true(
        ss_strview_equal(ss_step_phase_text(&made.model, &made.steps.phases.data[late->phase]),
                         ss_strview_of("data")));
    assert_int_equal(late->line.frame, 0); /* it has no samples */
    assert_int_equal(late->claim.row->rank, -1);
    end(&made);
}

static double joint_share(const struct shape *shape)
{
    struct made made;
    begin(&made, shape);
    double share = ss_joint_communication_share(&made.selection, &made.steps);
    end(&made);
    return share;
}

static void test_how_long_all_communicate_at_once(void **state)
{
    (void)state;
    struct shape shape = {.ranks = 2,
                          .steps = STEPS,
                          .data = {5, 35},
                          .forward = {50, 50},
                          .communication = {45, 15}};
    assert_in_range(joint_share(&shape) * 1000, 149, 151); /* 15 of 100 ms */
    shape.is_other_each_time = true;
    assert_in_range(joint_share(&shape) * 1000, 149, 151);
    shape.is_other_each_time = false;
    shape.communication[1] = 0; /* one of them waits alone */
    shape.data[1] = 50;
    assert_true(joint_share(&shape) == 0);
    shape.ranks = 1; /* it waits for ranks that are not recorded */
    assert_true(joint_share(&shape) < 0);
    struct shape three = {.ranks = 3,
                          .steps = STEPS,
                          .data = {5, 35, 45},
                          .forward = {50, 50, 50},
                          .communication = {45, 15, 5}};
    assert_in_range(joint_share(&three) * 1000, 49, 51);
}

static void test_the_rank_has_its_number(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = late_second;
    shape.has_rank = true;
    begin(&made, &shape);
    assert_int_equal(made.late->claim.row->rank, 1);
    end(&made);
}

static void test_who_is_not_late(void **state)
{
    (void)state;
    struct shape shape = late_second;
    shape.steps = 3; /* too few to judge */
    assert_int_equal(late_pid(&shape), 0);
    shape = late_second;
    shape.ranks = 1;
    assert_int_equal(late_pid(&shape), 0);
    shape = late_second;
    shape.communication[1] = 30; /* it waits much itself: that is the network */
    assert_int_equal(late_pid(&shape), 0);
    shape = late_second;
    shape.is_other_each_time = true;
    assert_int_equal(late_pid(&shape), 0);
    shape = late_second;
    shape.communication[0] = shape.communication[1] = shape.communication[2] = 0;
    assert_int_equal(late_pid(&shape), 0);
    shape = late_second;
    shape.communication[1] = 0; /* the others wait for it alone */
    assert_int_equal(late_pid(&shape), 41);
}

/* --- one kind of evidence after the other ----------------------------------------------------- */

static const struct run_shape simulated = {.ranks = 4,
                                           .steps = 20,
                                           .buckets = 2,
                                           .late = 2,
                                           .others_late = RUN_NO_RANK,
                                           .place = RUN_FORWARD,
                                           .late_ns = 8 * RUN_MS,
                                           .noise_ns = 100 * RUN_US,
                                           .has_phases = true,
                                           .has_numbers = true};

static void begin_run(struct made *made, const struct run_shape *shape)
{
    struct ss_selection_options all = {.idle = SS_IDLE_ALL};
    struct ss_steps_options none = {0};
    ss_model_init(&made->model);
    run_build(&made->model, shape, 1);
    assert_int_equal(ss_selection_init(&made->selection, &made->model, &all, NULL), SS_OK);
    ss_step_summary_init(&made->steps, &made->selection, &none);
    made->late = ss_steps_lateness(&made->selection, &made->steps);
}

/* Checks which rank is named, RUN_NO_RANK for none, and on what evidence. */
static void check_run(const struct run_shape *shape, enum ss_late_verdict verdict,
                      enum ss_late_evidence by, int rank)
{
    struct made made;
    begin_run(&made, shape);
    const struct ss_late_claim *claim = &made.late->claim;
    assert_int_equal(made.late->verdict, verdict);
    assert_int_equal(claim->by, by);
    assert_int_equal(claim->row != NULL ? claim->row->rank : RUN_NO_RANK, rank);
    if (rank != RUN_NO_RANK && shape->lost_percent == 0) {
        assert_in_range(claim->wait_ns, 7 * MS, 9 * MS);
    }
    end(&made);
}

static void collectives_decide_first(void **state)
{
    (void)state;
    struct run_shape shape = simulated;
    check_run(&shape, SS_LATE_ONE, SS_LATE_BY_COLLECTIVES, 2);
    shape.has_phases = false;
    check_run(&shape, SS_LATE_ONE, SS_LATE_BY_COLLECTIVES, 2);
    shape.lost_percent = 12;
    check_run(&shape, SS_LATE_ONE, SS_LATE_BY_COLLECTIVES, 2);
    shape = simulated;
    shape.late = RUN_NO_RANK;
    check_run(&shape, SS_LATE_NONE, SS_LATE_BY_COLLECTIVES, RUN_NO_RANK);
    shape.noise_ns = 6 * RUN_MS;
    check_run(&shape, SS_LATE_VARIES, SS_LATE_BY_COLLECTIVES, RUN_NO_RANK);
}

static void phases_decide_below_the_resolution_of_clocks(void **state)
{
    (void)state;
    struct run_shape shape = simulated;
    shape.clock_ns = 40 * RUN_MS;
    check_run(&shape, SS_LATE_ONE, SS_LATE_BY_PHASES, 2);
    shape.late = RUN_NO_RANK; /* then the stages say that none is */
    check_run(&shape, SS_LATE_NONE, SS_LATE_BY_STAGES, RUN_NO_RANK);
}

static void ranks_that_lack_calls_are_not_compared_by_phases(void **state)
{
    (void)state;
    struct run_shape shape = simulated;
    shape.clock_ns = 40 * RUN_MS;
    shape.lost_percent = 12;
    check_run(&shape, SS_LATE_UNKNOWN, SS_LATE_BY_NOTHING, RUN_NO_RANK);
}

/* Steps of the host do not show what it waits for its device. */
static void stages_and_then_devices_decide(void **state)
{
    (void)state;
    struct run_shape shape = simulated;
    shape.clock_ns = 40 * RUN_MS;
    shape.is_on_devices = true;
    check_run(&shape, SS_LATE_ONE, SS_LATE_BY_STAGES, 2);
    shape.place = RUN_OTHER;
    shape.has_pairs = true;
    shape.ranks = 2;
    shape.late = 1;
    check_run(&shape, SS_LATE_ONE, SS_LATE_BY_DEVICES, 1);
}

/* Two jobs are two runs: the larger one counts. */
static void a_rank_of_another_job_is_not_named(void **state)
{
    (void)state;
    struct run_shape shape = simulated;
    shape.late = RUN_NO_RANK;
    shape.others = 3;
    shape.others_late = 1;
    check_run(&shape, SS_LATE_NONE, SS_LATE_BY_COLLECTIVES, RUN_NO_RANK);
    shape.clock_ns = 40 * RUN_MS;
    check_run(&shape, SS_LATE_NONE, SS_LATE_BY_STAGES, RUN_NO_RANK);
    shape.late = 2;
    check_run(&shape, SS_LATE_ONE, SS_LATE_BY_PHASES, 2);
}

/* One of a pair waits for the other and passes its lateness on, whatever their clocks show of their
 * order. */
static void a_neighbour_that_waits_is_not_named(void **state)
{
    (void)state;
    struct run_shape shape = simulated;
    shape.has_pairs = true;
    for (unsigned i = 0; i < 2 * shape.ranks; i++) {
        struct made made;
        shape.late = (int)(i / 2);
        shape.clock_ns = i % 2 * 2 * RUN_MS;
        begin_run(&made, &shape);
        const struct ss_rank_profile *row = made.late->claim.row;
        assert_true(row != NULL || shape.clock_ns > 0);
        assert_true(row == NULL || row->rank == shape.late);
        end(&made);
    }
}

static void evidence_that_counts_less_may_disagree(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = late_second;
    shape.has_collectives = true;
    begin(&made, &shape);
    assert_int_equal(made.late->verdict, SS_LATE_NONE);
    assert_int_equal(made.late->claim.by, SS_LATE_BY_COLLECTIVES);
    assert_true(ss_lateness_disagrees(made.late));
    assert_int_equal(made.late->other.by, SS_LATE_BY_PHASES);
    assert_int_equal(made.model.processes.data[made.late->other.row->process].pid, 41);
    end(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_rank_that_waits_least),
        cmocka_unit_test(test_the_rank_has_its_number),
        cmocka_unit_test(test_who_is_not_late),
        cmocka_unit_test(test_how_long_all_communicate_at_once),
        cmocka_unit_test(collectives_decide_first),
        cmocka_unit_test(phases_decide_below_the_resolution_of_clocks),
        cmocka_unit_test(ranks_that_lack_calls_are_not_compared_by_phases),
        cmocka_unit_test(stages_and_then_devices_decide),
        cmocka_unit_test(a_rank_of_another_job_is_not_named),
        cmocka_unit_test(a_neighbour_that_waits_is_not_named),
        cmocka_unit_test(evidence_that_counts_less_may_disagree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
