/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../rank_builder.h"
#include "analysis/ranks/drifts.h"
#include "table_checks.h"
#include "view/output/sentence_text.h"

#define MS UINT64_C(1000000)
#define US UINT64_C(1000)

enum { RANKS = 3, STEPS = 120, DATA_MS = 5, FORWARD_MS = 40, TRANSFER_MS = 4, HEATS_FROM = 70 };

/* Own time of a rank in a step, beyond what it always takes. */
typedef uint64_t more_of(unsigned rank, unsigned step);

struct made {
    struct ss_model model;
    struct ss_selection selection;
    struct ss_step_summary steps;
    struct ss_drifts drifts;
    unsigned ranks;
};

static bool is_quiet; /* each step takes what it always takes */

/* Up to 1 ms, the same for each run. */
static uint64_t noise(unsigned rank, unsigned step)
{
    return is_quiet ? 0 : (rank * 31 + step) * UINT64_C(2654435761) % 1000 * US;
}

static uint64_t nothing(unsigned rank, unsigned step)
{
    (void)rank;
    (void)step;
    return 0;
}

static uint64_t one_heats(unsigned rank, unsigned step)
{
    return rank == 1 && step >= HEATS_FROM ? 20 * MS : 0;
}

static uint64_t all_grow(unsigned rank, unsigned step)
{
    (void)rank;
    return step * 150 * US;
}

static uint64_t own_of(more_of *more, unsigned rank, unsigned step)
{
    return (DATA_MS + FORWARD_MS) * MS + noise(rank, step) + more(rank, step);
}

/* All ranks wait for the slowest. */
static uint64_t length_of(const struct made *made, more_of *more, unsigned step)
{
    uint64_t most_ns = 0;
    for (unsigned r = 0; r < made->ranks; r++) {
        uint64_t own_ns = own_of(more, r, step);
        most_ns = own_ns > most_ns ? own_ns : most_ns;
    }
    return most_ns + TRANSFER_MS * MS;
}

static void add_rank(struct made *made, unsigned rank, more_of *more)
{
    struct ss_model *model = &made->model;
    uint32_t process = build_rank(model, rank, made->ranks);
    uint32_t steps = BUILD_TRACK(model, .kind = SS_TRACK_STEPS, .process = process, .name = "step");
    uint32_t phases =
        BUILD_TRACK(model, .kind = SS_TRACK_PHASES, .process = process, .name = "phase");
    uint64_t at_ns = 1000 * MS;
    for (unsigned s = 0; s < STEPS; s++) {
        uint64_t end_ns = at_ns + length_of(made, more, s);
        BUILD_RANGE(model, .track = steps, .name = "step", .begin_ns = at_ns, .end_ns = end_ns,
                    .payload = build_integer(model, 1000 + (int64_t)s));
        at_ns = end_ns;
    }
    at_ns = 1000 * MS;
    for (unsigned s = 0; s < STEPS; s++) {
        uint64_t forward_ns = at_ns + DATA_MS * MS, own_ns = at_ns + own_of(more, rank, s);
        uint64_t end_ns = at_ns + length_of(made, more, s);
        BUILD_RANGE(model, .track = phases, .name = "data", .begin_ns = at_ns,
                    .end_ns = forward_ns);
        BUILD_RANGE(model, .track = phases, .name = "forward", .begin_ns = forward_ns,
                    .end_ns = own_ns);
        BUILD_RANGE(model, .track = phases, .name = "communication", .begin_ns = own_ns,
                    .end_ns = end_ns);
        at_ns = end_ns;
    }
}

static void begin(struct made *made, unsigned ranks, more_of *more)
{
    struct ss_selection_options all = {.idle = SS_IDLE_ALL};
    struct ss_steps_options none = {0};
    *made = (struct made){.ranks = ranks};
    ss_model_init(&made->model);
    for (unsigned r = 0; r < ranks; r++) {
        add_rank(made, r, more);
    }
    assert_int_equal(ss_selection_init(&made->selection, &made->model, &all, NULL), SS_OK);
    ss_step_summary_init(&made->steps, &made->selection, &none);
    ss_drifts_init(&made->drifts, &made->model, &made->steps);
}

static void end(struct made *made)
{
    ss_drifts_fini(&made->drifts);
    ss_step_summary_fini(&made->steps);
    ss_selection_fini(&made->selection);
    ss_model_fini(&made->model);
}

static const struct ss_drift_row *row_of(const struct made *made, int64_t rank, const char *stage)
{
    for (size_t i = 0; i < made->drifts.rows.count; i++) {
        const struct ss_drift_row *row = &made->drifts.rows.data[i];
        if (made->model.processes.data[row->process].rank == rank &&
            ss_strview_equal(ss_drift_stage_text(row, &made->model, &made->steps),
                             ss_strview_of(stage))) {
            return row;
        }
    }
    fail_msg("rank %d has no %s", (int)rank, stage);
    return NULL;
}

static void assert_note(const struct ss_table *table, const char *expected)
{
    struct ss_strbuf text;
    ss_strbuf_init(&text, 4096);
    ss_sentence_append_raw(&table->notes.data[0].text, &text);
    if (strstr(text.data, expected) == NULL) {
        fail_msg("\"%s\" lacks \"%s\"", text.data, expected);
    }
    ss_strbuf_fini(&text);
}

/* The steps of all ranks become longer, and the others wait; only rank 1 has longer own time. */
static void one_rank_of_three(void **state)
{
    (void)state;
    struct made made;
    begin(&made, RANKS, one_heats);
    for (int64_t r = 0; r < RANKS; r++) {
        assert_true(row_of(&made, r, "step")->is_drifting);
        assert_int_equal(row_of(&made, r, "own time")->is_drifting, r == 1);
        assert_int_equal(row_of(&made, r, "forward")->is_drifting, r == 1);
        assert_int_equal(row_of(&made, r, "communication")->is_drifting, r != 1);
        assert_false(row_of(&made, r, "data")->is_drifting);
    }
    const struct ss_drift_row *own = row_of(&made, 1, "own time");
    assert_ptr_equal(own, &made.drifts.rows.data[made.drifts.largest]);
    assert_ptr_equal(row_of(&made, 1, "forward"), &made.drifts.rows.data[made.drifts.cause]);
    assert_int_equal(made.drifts.drifting, 1);
    assert_true(own->drift.has_changed_once);
    assert_int_equal(own->change_step, 1000 + HEATS_FROM);
    assert_true(own->drift.after - own->drift.before > 19.5e6 &&
                own->drift.after - own->drift.before < 20.5e6);
    struct ss_table table;
    ss_drift_table(&made.selection, &made.steps, 4, &table);
    assert_int_equal(table.row_count, 4);
    assert_true(table.hidden_rows > 0);
    assert_note(&table, "rank 1 becomes slower by");
    assert_note(&table, "in forward, at step 1070; no other rank drifts by itself");
    ss_table_fini(&table);
    end(&made);
}

static void all_ranks(void **state)
{
    (void)state;
    struct made made;
    begin(&made, RANKS, all_grow);
    assert_int_equal(made.drifts.drifting, RANKS);
    for (int64_t r = 0; r < RANKS; r++) {
        const struct ss_drift *drift = &row_of(&made, r, "own time")->drift;
        assert_true(drift->low < 17.85e6 && 17.85e6 < drift->high && !drift->has_changed_once);
    }
    end(&made);
}

static void one_host(void **state)
{
    (void)state;
    struct made made;
    begin(&made, 1, all_grow);
    assert_int_equal(made.drifts.processes, 1);
    assert_true(row_of(&made, 0, "own time")->is_drifting);
    end(&made);
}

static void a_healthy_run(void **state)
{
    (void)state;
    struct made made;
    begin(&made, RANKS, nothing);
    for (size_t i = 0; i < made.drifts.rows.count; i++) {
        assert_false(made.drifts.rows.data[i].is_drifting);
    }
    assert_int_equal(made.drifts.largest, made.drifts.rows.count);
    struct ss_table table;
    ss_drift_table(&made.selection, &made.steps, 0, &table);
    assert_note(&table, "no process becomes slower by");
    ss_table_fini(&table);
    end(&made);
}

/* From step 1070 on, the forward of rank 1 takes 20 ms longer: it has no drift before or after. */
static void table_drift(void **state)
{
    (void)state;
    struct made made;
    struct built_tables built;
    is_quiet = true;
    begin(&made, RANKS, one_heats);
    is_quiet = false;
    build_tables(&built, "drift", NULL, &made.selection, &made.steps);
    const struct ss_table *table = &built.tables[0];
    assert_int_equal(table->row_count, 18); /* of each rank 6 stages */
    check_cells(table, 0,                   /* it waits for rank 1: its step is as long */
                "rank=0; pid=100; stage=step; drift=slower; median_ns=49000000; "
                "change_ns=20000000; since_step=1070; before_ns=49000000; after_ns=69000000");
    check_cells(table, 3, /* 20 of 49 ms */
                "rank=1; pid=101; stage=own time; drift=slower; median_ns=45000000; "
                "change_ns=20000000; of_step_percent=40.8163; since_step=1070; "
                "before_ns=45000000; after_ns=65000000; steps=120");
    check_cells(table, 4, "rank=1; stage=forward; before_ns=40000000; after_ns=60000000");
    check_cells(table, 7,
                "rank=0; stage=own time; drift=steady; median_ns=45000000; change_ns=0; "
                "since_step=-; before_ns=-");
    fini_tables(&built);
    end(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_rank_of_three), cmocka_unit_test(all_ranks),
        cmocka_unit_test(one_host),          cmocka_unit_test(a_healthy_run),
        cmocka_unit_test(table_drift),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
