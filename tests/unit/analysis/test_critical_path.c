/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../rank_builder.h"
#include "analysis/ranks/critical_path.h"
#include "analysis/ranks/lateness.h"
#include "analysis/ranks/rank_heat.h"
#include "table_checks.h"

#define MS UINT64_C(1000000)

enum { RANKS = 3, STEPS = 20, DATA = 5, TRANSFER = 10 };

/* Own work of a rank in a step, in ms. */
typedef unsigned work_of(unsigned rank, unsigned step);

struct made {
    struct ss_model model;
    struct ss_selection selection;
    struct ss_step_summary steps;
    const struct ss_rank_profiles *profiles;
    const struct ss_lateness *late;
    struct ss_rank_timeline timeline;
};

static unsigned rank_1_is_slow(unsigned rank, unsigned step)
{
    (void)step;
    return (const unsigned[]){20, 50, 30}[rank];
}

/* The slow one changes: rank 2 in every other step. */
static unsigned two_are_slow(unsigned rank, unsigned step)
{
    return step % 2 == 1 && rank == 2 ? 60 : rank_1_is_slow(rank, step);
}

/* Each rank is last in every third step: some rank always is. */
static unsigned slow_in_turns(unsigned rank, unsigned step)
{
    return step % RANKS == rank ? 40 : 20;
}

/* Always the last one, but by 1 ms of 75. */
static unsigned hardly_slow(unsigned rank, unsigned step)
{
    (void)step;
    return rank == 2 ? 61 : 60;
}

static uint64_t longest(work_of *work, unsigned step)
{
    unsigned most = 0;
    for (unsigned r = 0; r < RANKS; r++) {
        most = work(r, step) > most ? work(r, step) : most;
    }
    return most;
}

/* Another collective begins as the first one ends, without own work between them. */
static bool with_second;

/* Each step: its batch, its own work, then a collective that all leave together. */
static void add_rank(struct ss_model *model, unsigned rank, work_of *work)
{
    uint32_t process = build_rank(model, rank, RANKS);
    build_fact(model, process, "model.batch_size", 16 + 8 * (int64_t)rank);
    uint32_t steps = BUILD_TRACK(model, .kind = SS_TRACK_STEPS, .process = process, .name = "step");
    uint64_t begin_ns = 1000 * MS;
    for (unsigned s = 0; s < STEPS; s++) {
        uint64_t end_ns = begin_ns + (DATA + longest(work, s) + TRANSFER) * MS;
        BUILD_RANGE(model, .track = steps, .name = "step", .begin_ns = begin_ns, .end_ns = end_ns,
                    .payload = build_integer(model, s));
        begin_ns = end_ns;
    }
    uint32_t phases =
        BUILD_TRACK(model, .kind = SS_TRACK_PHASES, .process = process, .name = "phase");
    begin_ns = 1000 * MS;
    for (unsigned s = 0; s < STEPS; s++) {
        uint64_t works_ns = begin_ns + DATA * MS, waits_ns = works_ns + work(rank, s) * MS;
        uint64_t end_ns = works_ns + (longest(work, s) + TRANSFER) * MS;
        BUILD_RANGE(model, .track = phases, .name = "data", .begin_ns = begin_ns,
                    .end_ns = works_ns);
        BUILD_RANGE(model, .track = phases, .name = "forward", .begin_ns = works_ns,
                    .end_ns = waits_ns);
        BUILD_RANGE(model, .track = phases, .name = "communication", .begin_ns = waits_ns,
                    .end_ns = end_ns);
        begin_ns = end_ns;
    }
    uint32_t calls = build_collective_track(model, process);
    begin_ns = 1000 * MS;
    for (unsigned s = 0; s < STEPS; s++) {
        uint64_t works_ns = begin_ns + DATA * MS;
        uint64_t end_ns = works_ns + (longest(work, s) + TRANSFER) * MS;
        uint64_t first_end_ns = with_second ? end_ns - TRANSFER / 2 * MS : end_ns;
        BUILD_COLLECTIVE(model, .track = calls, .group = "0", .size = RANKS, .sequence = s,
                         .begin_ns = works_ns + work(rank, s) * MS, .end_ns = first_end_ns);
        if (with_second) { /* clocks of devices are that coarse */
            BUILD_COLLECTIVE(model, .track = calls, .group = "1", .size = RANKS, .sequence = s,
                             .begin_ns = first_end_ns - 1000, .end_ns = end_ns);
        }
        begin_ns = end_ns;
    }
}

static void begin(struct made *made, work_of *work)
{
    struct ss_selection_options all = {.idle = SS_IDLE_ALL};
    struct ss_steps_options none = {0};
    *made = (struct made){0};
    ss_model_init(&made->model);
    for (unsigned r = 0; r < RANKS; r++) {
        add_rank(&made->model, r, work);
    }
    assert_int_equal(ss_selection_init(&made->selection, &made->model, &all, NULL), SS_OK);
    ss_step_summary_init(&made->steps, &made->selection, &none);
    made->profiles = ss_steps_ranks(&made->selection, &made->steps);
    made->late = ss_steps_lateness(&made->selection, &made->steps);
    ss_rank_timeline_init(&made->timeline, &made->selection, &made->steps);
}

static void end(struct made *made)
{
    ss_rank_timeline_fini(&made->timeline);
    ss_step_summary_fini(&made->steps);
    ss_selection_fini(&made->selection);
    ss_model_fini(&made->model);
}

static size_t phase(const struct made *made, const char *name)
{
    for (size_t p = 0; p < made->steps.phases.count; p++) {
        if (ss_strview_equal(ss_step_phase_text(&made->model, &made->steps.phases.data[p]),
                             ss_strview_of(name))) {
            return p;
        }
    }
    fail();
    return 0;
}

static uint64_t sum_of(const struct ss_critical_path *path)
{
    uint64_t sum_ns = 0;
    for (size_t i = 0; i < path->ranks * path->parts; i++) {
        sum_ns += path->part_ns[i];
    }
    return sum_ns;
}

static void the_path_is_that_of_the_slow_rank(void **state)
{
    (void)state;
    struct made made;
    struct ss_critical_path path;
    begin(&made, rank_1_is_slow);
    ss_critical_path_init(&path, &made.timeline, made.profiles, &made.steps);
    assert_int_equal(path.steps, made.steps.steady / RANKS);
    assert_int_equal(sum_of(&path), path.total_ns);
    assert_int_equal(path.total_ns, path.steps * (DATA + 50 + TRANSFER) * MS);
    const uint64_t *of_slow = &path.part_ns[1 * path.parts];
    assert_int_equal(of_slow[phase(&made, "forward")], path.steps * 50 * MS);
    assert_int_equal(of_slow[phase(&made, "data")], path.steps * DATA * MS);
    assert_int_equal(path.part_ns[0 * path.parts + phase(&made, "forward")], 0);
    assert_int_equal(path.part_ns[2 * path.parts + phase(&made, "forward")], 0);
    ss_critical_path_fini(&path);
    end(&made);
}

static void the_path_changes_the_rank_with_the_steps(void **state)
{
    (void)state;
    struct made made;
    struct ss_critical_path path;
    begin(&made, two_are_slow);
    ss_critical_path_init(&path, &made.timeline, made.profiles, &made.steps);
    assert_int_equal(sum_of(&path), path.total_ns);
    uint64_t first_ns = path.part_ns[1 * path.parts + phase(&made, "forward")];
    uint64_t second_ns = path.part_ns[2 * path.parts + phase(&made, "forward")];
    assert_int_equal(first_ns / (50 * MS) + second_ns / (60 * MS), path.steps);
    assert_true(first_ns > 0 && second_ns > 0);
    ss_critical_path_fini(&path);
    end(&made);
}

static uint64_t replay_ns(const struct made *made, struct ss_what_if what)
{
    return ss_what_if_replay(&made->timeline, made->profiles, &what);
}

static void what_if_has_the_known_answers(void **state)
{
    (void)state;
    struct made made;
    begin(&made, rank_1_is_slow);
    struct ss_what_if nothing = {.without_phase = made.steps.phases.count, .rank_at_median = RANKS};
    uint64_t measured_ns = ss_what_if_measured(&made.timeline);
    assert_int_equal(measured_ns, STEPS * (DATA + 50 + TRANSFER) * MS);
    assert_int_equal(replay_ns(&made, nothing), measured_ns);
    struct ss_what_if what = nothing;
    what.no_transfers = true;
    assert_int_equal(replay_ns(&made, what), STEPS * (DATA + 50) * MS);
    what = nothing;
    what.without_phase = phase(&made, "data");
    assert_int_equal(replay_ns(&made, what), STEPS * (50 + TRANSFER) * MS);
    what = nothing;
    what.rank_at_median = 1;
    assert_int_equal(replay_ns(&made, what), STEPS * (DATA + 30 + TRANSFER) * MS);
    what.rank_at_median = 0; /* it is no slower than the median */
    assert_int_equal(replay_ns(&made, what), measured_ns);
    what = nothing;
    what.all_at_median = true; /* the median is that of rank 2: 30 ms */
    assert_int_equal(replay_ns(&made, what), STEPS * (DATA + 30 + TRANSFER) * MS);
    end(&made);
}

static void a_collective_behind_another_comes_earlier_with_it(void **state)
{
    (void)state;
    struct made made;
    with_second = true;
    begin(&made, rank_1_is_slow);
    with_second = false;
    struct ss_what_if what = {.without_phase = made.steps.phases.count, .rank_at_median = RANKS};
    uint64_t measured_ns = ss_what_if_measured(&made.timeline);
    assert_int_equal(replay_ns(&made, what), measured_ns);
    what.rank_at_median = 1;
    assert_int_equal(replay_ns(&made, what), STEPS * (DATA + 30 + TRANSFER) * MS);
    end(&made);
}

static void own_times_make_the_heat(void **state)
{
    (void)state;
    struct made made;
    struct ss_rank_heat heat;
    begin(&made, two_are_slow);
    ss_rank_heat_init(&heat, &made.selection, &made.steps);
    assert_int_equal(heat.ranks, RANKS);
    assert_int_equal(heat.steps, STEPS);
    for (size_t s = 1; s < STEPS; s++) {
        for (unsigned r = 0; r < RANKS; r++) {
            double own_ms = heat.own_ns[r * heat.steps + s] / 1e6;
            assert_true(fabs(own_ms - (double)(DATA + two_are_slow(r, (unsigned)s))) < 1e-6);
        }
    }
    ss_rank_heat_fini(&heat);
    end(&made);
}

static void the_stage_of_the_slow_rank_is_its_forward(void **state)
{
    (void)state;
    struct made made;
    begin(&made, rank_1_is_slow);
    const struct ss_rank_profile *slowest = made.late->claim.row;
    assert_int_equal(made.late->verdict, SS_LATE_ONE);
    assert_int_equal(made.late->claim.by, SS_LATE_BY_COLLECTIVES);
    assert_int_equal(made.late->claim.wait_ns, 20 * MS);
    assert_int_equal(made.late->phase, phase(&made, "forward"));
    assert_int_equal(made.late->more_ns, 20 * MS);
    assert_int_equal(slowest->rank, 1);
    assert_int_equal(slowest->stage, phase(&made, "forward"));
    assert_int_equal(slowest->stage_ns, 20 * MS);
    assert_int_equal(slowest->communication_ns, TRANSFER * MS);
    uint64_t steps = made.profiles->waits.counted;
    assert_int_equal(made.profiles->waits.ranks[slowest->process].caused_ns, steps * 2 * 20 * MS);
    end(&made);
}

static void no_rank_is_named_for_what_chance_explains(void **state)
{
    (void)state;
    struct made made;
    begin(&made, slow_in_turns);
    const struct ss_wait_scope *scope = &made.profiles->scope;
    for (size_t i = 0; i < RANKS; i++) {
        uint32_t process = made.profiles->rows.data[i].process;
        struct ss_wait_excess excess = ss_wait_excess_of(scope, process, RANKS);
        assert_true(made.profiles->waits.ranks[process].caused_ns > 0);
        assert_true(excess.ns < excess.error_ns);
    }
    assert_int_equal(made.late->verdict, SS_LATE_VARIES);
    assert_null(made.late->claim.row);
    end(&made);
}

static void a_rank_that_costs_a_little_is_not_named(void **state)
{
    (void)state;
    struct made made;
    begin(&made, hardly_slow);
    uint32_t process = made.profiles->rows.data[2].process;
    struct ss_wait_excess excess = ss_wait_excess_of(&made.profiles->scope, process, RANKS);
    assert_true(excess.ns > 2 * excess.error_ns);
    assert_true(made.late->claim.wait_ns > MS / 2 && made.late->claim.wait_ns <= MS);
    assert_int_equal(made.late->verdict, SS_LATE_NONE);
    assert_null(made.late->claim.row);
    end(&made);
}

static void the_table_of_ranks_has_their_batches(void **state)
{
    (void)state;
    struct made made;
    struct ss_table table;
    begin(&made, rank_1_is_slow);
    ss_rank_table(&made.selection, &made.steps, 0, &table);
    assert_int_equal(table.row_count, RANKS);
    for (size_t r = 0; r < RANKS; r++) {
        assert_int_equal(ss_table_cell(&table, r, SS_RANK_BATCH)->integer, 16 + 8 * r);
    }
    assert_int_equal(table.notes.data[0].severity, SS_NOTE_FACT); /* they differ */
    ss_table_fini(&table);
    end(&made);
}

/* Rank 1 works for 50 ms, the others for 20 and 30. */
static void table_rank(void **state)
{
    (void)state;
    struct made made;
    struct built_tables built;
    begin(&made, rank_1_is_slow);
    build_tables(&built, "rank", NULL, &made.selection, &made.steps);
    assert_int_equal(built.tables[0].row_count, RANKS);
    check_cells(&built.tables[0], 0,
                "rank=0; pid=100; steps=20; batch_size=16; step_ns=65000000; data_ns=5000000; "
                "compute_ns=20000000; communication_ns=40000000; times_last=0; slower_in=-");
    check_cells(&built.tables[0], 1,
                "rank=1; batch_size=24; compute_ns=50000000; communication_ns=10000000; "
                "waited_step_ns=0; caused_step_ns=40000000; times_last=20; "
                "collectives=20; slower_in=forward; slower_by_ns=20000000");
    fini_tables(&built);
    end(&made);
}

static void table_critical_path(void **state)
{
    (void)state;
    struct made made;
    struct built_tables built;
    begin(&made, rank_1_is_slow);
    build_tables(&built, "critical-path", NULL, &made.selection, &made.steps);
    assert_int_equal(built.count, 2);
    assert_int_equal(built.tables[0].row_count, 3);
    check_cells(&built.tables[0], 0, /* of 5 + 50 + 10 ms */
                "rank=1; pid=101; part=forward; percent=76.9231; step_ns=50000000");
    check_cells(&built.tables[0], 1, "part=communication; percent=15.3846; step_ns=10000000");
    check_cells(&built.tables[0], 2, "part=data; percent=7.69231; step_ns=5000000");
    check_cells(&built.tables[1], 0, /* as fast as rank 2 */
                "what_if=rank as fast as the median; rank=1; saved_percent=30.7692; "
                "saved_step_ns=20000000");
    fini_tables(&built);
    end(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_path_is_that_of_the_slow_rank),
        cmocka_unit_test(the_path_changes_the_rank_with_the_steps),
        cmocka_unit_test(what_if_has_the_known_answers),
        cmocka_unit_test(a_collective_behind_another_comes_earlier_with_it),
        cmocka_unit_test(own_times_make_the_heat),
        cmocka_unit_test(the_stage_of_the_slow_rank_is_its_forward),
        cmocka_unit_test(the_table_of_ranks_has_their_batches),
        cmocka_unit_test(no_rank_is_named_for_what_chance_explains),
        cmocka_unit_test(a_rank_that_costs_a_little_is_not_named),
        cmocka_unit_test(table_rank),
        cmocka_unit_test(table_critical_path),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
