/* SPDX-License-Identifier: Apache-2.0 */
/* What a training holds, computed by hand: phases between their readings, whose the peak is, what
 * grows, how far the limit is; and values that are not bytes. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../model_builder.h"
#include "analysis/memory/memories.h"
#include "table_checks.h"

/* A training in memory. Each step takes 1000 ns: data, forward, backward and optimizer 200 each,
 * then other. Tracks are filled one after the other. */
struct made {
    struct ss_model model;
    struct ss_selection selection;
    struct ss_step_summary training;
    struct ss_memories memories;
    uint32_t process, steps, phases, rss, rss_peak, cuda, cuda_peak, seen, total, limit;
};

enum { STEP_NS = 1000, PHASE_NS = 200, PHASES = 4, EDGES = PHASES + 1 };
enum phase { DATA, FORWARD, BACKWARD, OPTIMIZER, OTHER };

static uint32_t add_track(struct made *made, enum ss_track_kind kind, uint32_t process,
                          const char *group, const char *name)
{
    return BUILD_TRACK(&made->model, .kind = kind, .process = process, .group = group,
                       .name = name);
}

static void add_range(struct made *made, uint32_t track, const char *name, uint64_t begin_ns,
                      uint64_t end_ns, int64_t number)
{
    BUILD_RANGE(&made->model, .track = track, .name = name, .begin_ns = begin_ns, .end_ns = end_ns,
                .payload = build_integer(&made->model, number));
}

static uint64_t begin_of(unsigned step)
{
    return 10000 + (uint64_t)step * STEP_NS;
}

static void begin(struct made *made, unsigned steps)
{
    static const char *const names[] = {"data", "forward", "backward", "optimizer"};
    *made = (struct made){0};
    ss_model_init(&made->model);
    made->process = BUILD_PROCESS(&made->model, .pid = 42);
    made->steps = add_track(made, SS_TRACK_STEPS, made->process, NULL, "step");
    made->phases = add_track(made, SS_TRACK_PHASES, made->process, NULL, "phase");
    made->rss = add_track(made, SS_TRACK_COUNTER, made->process, NULL, "memory rss");
    made->rss_peak = add_track(made, SS_TRACK_COUNTER, made->process, NULL, "memory peak");
    made->cuda = add_track(made, SS_TRACK_COUNTER, made->process, NULL, "cuda:1 allocated");
    made->cuda_peak = add_track(made, SS_TRACK_COUNTER, made->process, NULL, "cuda:1 peak");
    made->model.tracks.data[made->cuda].quantity = SS_QUANTITY_DEVICE_ALLOCATED;
    made->model.tracks.data[made->cuda_peak].quantity = SS_QUANTITY_DEVICE_PEAK;
    made->seen = add_track(made, SS_TRACK_COUNTER, made->process, "usage", "resident memory");
    made->total = add_track(made, SS_TRACK_COUNTER, 0, "memory", "total");
    made->limit = add_track(made, SS_TRACK_COUNTER, 0, "container", "memory limit");
    for (unsigned i = 0; i < steps; i++) {
        add_range(made, made->steps, "step", begin_of(i), begin_of(i + 1), i);
    }
    for (unsigned i = 0; i < steps; i++) {
        for (unsigned p = 0; p < PHASES; p++) {
            uint64_t at = begin_of(i) + 10 + p * PHASE_NS;
            add_range(made, made->phases, names[p], at, at + PHASE_NS, 0);
        }
    }
}

static void put(struct made *made, uint32_t track, uint64_t time_ns, double bytes)
{
    build_level(&made->model, track, time_ns, bytes);
}

/* One reading right before each edge of a step, but its start: behind data, forward, …, other. */
static void put_step(struct made *made, uint32_t track, unsigned step, const double *bytes)
{
    for (unsigned p = 0; p < EDGES; p++) {
        uint64_t edge = p < PHASES ? begin_of(step) + 10 + (p + 1) * PHASE_NS : begin_of(step + 1);
        if (p == 0) {
            put(made, track, begin_of(step) + 8, bytes[0]);
        }
        put(made, track, edge - 2, bytes[p]);
    }
}

static void sum_up(struct made *made)
{
    static const struct ss_selection_options all = {.idle = SS_IDLE_ALL};
    static const struct ss_steps_options none = {0};
    assert_int_equal(ss_selection_init(&made->selection, &made->model, &all, NULL), SS_OK);
    ss_step_summary_init(&made->training, &made->selection, &none);
    ss_memories_init(&made->memories, &made->selection, &made->training);
}

static void end(struct made *made)
{
    ss_memories_fini(&made->memories);
    ss_step_summary_fini(&made->training);
    ss_selection_fini(&made->selection);
    ss_model_fini(&made->model);
}

static const double level[EDGES] = {1000, 1500, 1100, 1100, 1000};

static void test_phases_lie_between_their_readings(void **state)
{
    (void)state;
    struct made made;
    begin(&made, 6);
    put(&made, made.rss, begin_of(0) - 5, 1000);
    for (unsigned i = 0; i < 6; i++) {
        put_step(&made, made.rss, i, level);
    }
    sum_up(&made);
    assert_int_equal(made.memories.rows.count, 1);
    const struct ss_memory *memory = &made.memories.rows.data[0];
    static const double ends[] = {1000, 1500, 1100, 1100, 1000};
    static const double changes[] = {0, 500, -400, 0, -100};
    static const double peaks[] = {1000, 1500, 1500, 1100, 1100};
    for (unsigned p = 0; p < EDGES; p++) {
        assert_int_equal(memory->phases[p].steps, 6);
        assert_true(memory->phases[p].end_mean == ends[p]);
        assert_true(memory->phases[p].change_mean == changes[p]);
        assert_true(memory->phases[p].peak_mean == peaks[p]);
        assert_true(memory->phases[p].peak_max == peaks[p]);
    }
    /* Backward begins as high, but memory does not rise in it. */
    assert_int_equal(memory->peak_phase, FORWARD);
    assert_true(memory->peak == 1500);
    assert_int_equal(memory->steps_read, 6);
    assert_true(ss_memories_main(&made.memories) == memory);
    end(&made);
}

static void test_memory_that_was_not_read_has_no_rows(void **state)
{
    (void)state;
    struct made made;
    begin(&made, 6);
    put(&made, made.rss, begin_of(0) - 5, 1000);
    for (unsigned i = 0; i < 6; i++) {
        if (i < 2 || i > 3) {
            put_step(&made, made.rss, i, level);
        } else { /* what came too fast: a value as the step ends, high as it is */
            put(&made, made.rss, begin_of(i + 1) - 2, i == 2 ? 9000 : 1000);
        }
    }
    sum_up(&made);
    const struct ss_memory *memory = &made.memories.rows.data[0];
    assert_int_equal(memory->steps, 6);
    assert_int_equal(memory->steps_read, 4);
    assert_int_equal(memory->points.count, 6);
    assert_true(memory->phases[OTHER].end_max == 1000);
    assert_true(memory->peak == 9000);
    assert_int_equal(memory->peak_phase, made.training.phases.count);
    assert_false(memory->was_before);
    end(&made);
}

/* The process's own peak rises once, in the second step's backward; the sampler sees more of
 * optimizer in the fourth. */
static void test_a_peak_between_readings(void **state)
{
    (void)state;
    struct made made;
    begin(&made, 6);
    put(&made, made.rss, begin_of(0) - 5, 1000);
    for (unsigned i = 0; i < 6; i++) {
        put_step(&made, made.rss, i, level);
    }
    put(&made, made.rss_peak, begin_of(0) - 5, 1500);
    for (unsigned i = 0; i < 6; i++) {
        double old = i == 0 ? 1500 : 5000;
        put_step(&made, made.rss_peak, i,
                 i == 1 ? (double[]){1500, 1500, 5000, 5000, 5000}
                        : (double[]){old, old, old, old, old});
    }
    put(&made, made.seen, begin_of(3) + 10 + 3 * PHASE_NS + 50, 4990);
    sum_up(&made);
    const struct ss_memory *memory = &made.memories.rows.data[0];
    assert_true(memory->phases[BACKWARD].peak_max == 5000);
    assert_true(memory->phases[BACKWARD].peak_mean == (5 * 1500 + 5000) / 6.0);
    assert_true(memory->phases[OPTIMIZER].peak_max == 4990);
    assert_true(memory->phases[FORWARD].peak_max == 1500);
    assert_int_equal(memory->peak_phase, BACKWARD);
    assert_int_equal(memory->peak_step, 1);
    assert_true(memory->peak == 5000);
    end(&made);
}

static void test_a_peak_from_before(void **state)
{
    (void)state;
    struct made made;
    begin(&made, 3);
    put(&made, made.rss, begin_of(0) - 5, 1000);
    for (unsigned i = 0; i < 3; i++) {
        put_step(&made, made.rss, i, level);
    }
    put(&made, made.rss_peak, begin_of(0) - 5, 7000);
    put(&made, made.total, 1, 28000);
    put(&made, made.limit, 1, 14000);
    sum_up(&made);
    const struct ss_memory *memory = &made.memories.rows.data[0];
    assert_int_equal(memory->peak_phase, made.training.phases.count);
    assert_true(memory->was_before);
    assert_true(memory->limit == 14000);
    assert_string_equal(memory->limit_of, "the container's limit");
    struct ss_table table;
    ss_memory_table(&made.memories, &made.selection, &made.training, &table);
    const struct ss_cell *cells = ss_table_cell(&table, 0, 0);
    assert_int_equal(cells[SS_MEMORY_PEAK_PHASE].type, SS_CELL_ABSENT);
    assert_float_equal((float)cells[SS_MEMORY_LIMIT_PERCENT].real, 50, 1e-4);
    ss_table_fini(&table);
    end(&made);
}

/* The program resets its device's peak with each step, as many do to print it. */
static void test_a_device_whose_peak_is_reset(void **state)
{
    (void)state;
    struct made made;
    begin(&made, 5);
    put(&made, made.cuda, begin_of(0) - 5, 1000);
    for (unsigned i = 0; i < 5; i++) {
        put_step(&made, made.cuda, i, level);
    }
    put(&made, made.cuda_peak, begin_of(0) - 5, 1000);
    for (unsigned i = 0; i < 5; i++) {
        put_step(&made, made.cuda_peak, i, (double[]){1000, 1500, 3000, 3000, 1100});
    }
    build_fact(&made.model, made.process, "cuda:1.total_memory", 12000);
    sum_up(&made);
    const struct ss_memory *memory = &made.memories.rows.data[0];
    assert_true(memory->is_device);
    assert_int_equal(memory->peak_phase, BACKWARD);
    assert_true(memory->phases[BACKWARD].peak_mean == 3000);
    assert_true(memory->phases[FORWARD].peak_mean == 1500);
    assert_true(memory->phases[OTHER].peak_mean == 1100); /* in which it was reset */
    assert_true(memory->limit == 12000);
    end(&made);
}

static void grow(struct made *made, unsigned steps, enum phase where)
{
    begin(made, steps);
    put(made, made->rss, begin_of(0) - 5, 1e8);
    for (unsigned i = 0; i < steps; i++) {
        double bytes[EDGES];
        for (unsigned p = 0; p < EDGES; p++) { /* activations come and go */
            bytes[p] = 1e8 + level[p] * 1e4 + 1e6 * (i + (p >= where));
        }
        put_step(made, made->rss, i, bytes);
    }
    sum_up(made);
}

static void test_growth_has_a_phase(void **state)
{
    (void)state;
    struct made made;
    grow(&made, 40, OPTIMIZER);
    const struct ss_memory *memory = &made.memories.rows.data[0];
    assert_true(memory->grows);
    assert_float_equal((float)memory->bytes_per_step, 1e6F, 1);
    assert_int_equal(memory->growing_phase, OPTIMIZER);
    end(&made);
    grow(&made, 40, FORWARD); /* six come, five go: it might be either */
    assert_true(made.memories.rows.data[0].grows);
    assert_int_equal(made.memories.rows.data[0].growing_phase, made.training.phases.count);
    end(&made);
}

/* torch.profiler keeps events from step 10 to 29; `own` is what the program keeps of each step. */
static void grow_profiled(struct made *made, double own)
{
    begin(made, 60);
    uint32_t records = add_track(made, SS_TRACK_COUNTER, made->process, NULL, "profiler records");
    put(made, made->rss, begin_of(0) - 5, 1e8);
    for (unsigned i = 0; i < 60; i++) {
        unsigned profiled = i < 10 ? 0 : i < 30 ? i - 9 : 20;
        double bytes = 1e8 + own * i + 4e7 * profiled;
        put_step(made, made->rss, i, (double[]){bytes, bytes, bytes, bytes, bytes});
    }
    put(made, records, begin_of(10) + 5, 1);
    put(made, records, begin_of(30) - 5, 0);
    sum_up(made);
}

static void test_what_a_profiler_keeps_is_no_growth(void **state)
{
    (void)state;
    struct made made;
    grow_profiled(&made, 0);
    assert_false(made.memories.rows.data[0].grows);
    end(&made);
    grow_profiled(&made, 3e6);
    assert_true(made.memories.rows.data[0].grows);
    assert_float_equal((float)made.memories.rows.data[0].bytes_per_step, 3e6F, 1);
    end(&made);
}

static void test_the_line_through_steps(void **state)
{
    (void)state;
    struct made made;
    begin(&made, 9);
    put(&made, made.rss, 10, 1000);
    for (unsigned i = 0; i < 9; i++) {
        if (i == 5) {
            put(&made, made.rss, begin_of(i) + 500, 5000);
        }
        put(&made, made.rss, begin_of(i + 1) - 1, 2000 + 10 * (double)i);
    }
    sum_up(&made);
    struct ss_table table;
    ss_memory_table(&made.memories, &made.selection, &made.training, &table);
    assert_int_equal(table.row_count, 1);
    const struct ss_cell *cells = ss_table_cell(&table, 0, 0);
    static const int64_t wanted[] = {42, 1000, 2080, 5000};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(cells[SS_MEMORY_PID + i].integer, wanted[i]);
    }
    assert_float_equal((float)cells[SS_MEMORY_PER_STEP].real, 10, 1e-4);
    ss_table_fini(&table);
    ss_memory_phases_table(&made.memories, NULL, &made.selection, &made.training, &table);
    assert_int_equal(table.row_count, 0);
    ss_table_fini(&table);
    assert_null(ss_memories_main(&made.memories));
    end(&made);
}

/* Values beyond what memory can be: their steps are not read, and no sum is spoilt. */
static void test_what_is_no_number_of_bytes(void **state)
{
    (void)state;
    static const double odd[] = {(double)NAN, (double)INFINITY, -1, 1e300, -1e300, 9.3e18};
    struct made made;
    begin(&made, 8);
    put(&made, made.rss, begin_of(0) - 5, 1000);
    for (unsigned i = 0; i < 8; i++) {
        double bytes[EDGES] = {1000, 1500, 1100, 1100, 1000};
        if (i < 6) {
            bytes[1] = odd[i];
        }
        put_step(&made, made.rss, i, bytes);
    }
    put(&made, made.rss_peak, begin_of(0) - 5, -1e300);
    put(&made, made.rss_peak, begin_of(7) + 300, (double)NAN);
    put(&made, made.seen, begin_of(7) + 300, (double)INFINITY);
    put(&made, made.total, 1, (double)NAN);
    sum_up(&made);
    const struct ss_memory *memory = &made.memories.rows.data[0];
    assert_int_equal(memory->steps_read, 2);
    assert_true(memory->phases[FORWARD].end_mean == 1500);
    assert_true(memory->phases[FORWARD].peak_max == 1500);
    assert_true(memory->peak == 1500);
    assert_true(memory->limit == 0);
    end(&made);
    begin(&made, 3);
    put(&made, made.rss, begin_of(0) - 5, (double)NAN); /* the first or last of them */
    put(&made, made.rss, begin_of(1), 1000);
    sum_up(&made);
    assert_int_equal(made.memories.rows.count, 0);
    end(&made);
}

static void test_no_steps(void **state)
{
    (void)state;
    struct made made;
    begin(&made, 0);
    put(&made, made.rss, 10, 1000);
    put(&made, made.rss, 20, 3000);
    sum_up(&made);
    assert_int_equal(made.memories.rows.count, 1);
    assert_true(made.memories.rows.data[0].peak == 3000);
    ss_memories_fini(&made.memories);
    ss_memories_init(&made.memories, &made.selection, NULL);
    assert_int_equal(made.memories.rows.count, 1);
    end(&made);
}

static void table_memory(void **state)
{
    (void)state;
    struct made made;
    struct built_tables built;
    begin(&made, 6);
    put(&made, made.rss, begin_of(0) - 5, 1000);
    for (unsigned i = 0; i < 6; i++) {
        put_step(&made, made.rss, i, level);
    }
    sum_up(&made);
    build_tables(&built, "memory", NULL, &made.selection, &made.training);
    assert_int_equal(built.count, 2);
    check_cells(&built.tables[0], 0,
                "name=memory rss; pid=42; start_bytes=1000; end_bytes=1000; peak_bytes=1500; "
                "peak_phase=forward; limit_bytes=-");
    assert_int_equal(built.tables[1].row_count, EDGES);
    check_cells(&built.tables[1], 1,
                "phase=forward; steps=6; end_mean_bytes=1500; end_max_bytes=1500; "
                "change_mean_bytes=500; peak_mean_bytes=1500; peak_max_bytes=1500");
    check_cells(&built.tables[1], 2,
                "phase=backward; end_mean_bytes=1100; change_mean_bytes=-400; "
                "peak_mean_bytes=1500");
    fini_tables(&built);
    end(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_phases_lie_between_their_readings),
        cmocka_unit_test(test_memory_that_was_not_read_has_no_rows),
        cmocka_unit_test(test_a_peak_between_readings),
        cmocka_unit_test(test_a_peak_from_before),
        cmocka_unit_test(test_a_device_whose_peak_is_reset),
        cmocka_unit_test(test_growth_has_a_phase),
        cmocka_unit_test(test_what_a_profiler_keeps_is_no_growth),
        cmocka_unit_test(test_the_line_through_steps),
        cmocka_unit_test(test_what_is_no_number_of_bytes),
        cmocka_unit_test(test_no_steps),
        cmocka_unit_test(table_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
