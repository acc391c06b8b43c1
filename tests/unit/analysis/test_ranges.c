/* SPDX-License-Identifier: Apache-2.0 */
/* What ranges and counters cost, computed by hand: percentiles, self times, recursion, grouping,
 * what was cut, payloads, rates. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../trace/sample_recording.h"
#include "analysis/samples/counters.h"
#include "analysis/steps/range_rows.h"
#include "analysis/steps/ranges.h"
#include "analysis/table/distribution.h"
#include "model/core/model.h"
#include "table_checks.h"
#include "trace/writer_tracks.h"

#define START RECORDING_START

/* recording_define: threads 1 and 3 are of process 2, thread 2 of process 1; thread 1 is main. */
enum { MAIN = 1, OTHER, DOMAIN, LOADER, LANES, STEPS, GROUP, TOKENS, TOTAL, LEVEL, OWN_LEVEL };
enum { A = 1, B, C, STYLED_A };

static struct ss_trace_writer *writer;

static void put_track(uint32_t ref, enum ss_track_kind kind, uint32_t thread, const char *name)
{
    PUT(track, writer, .ref = ref, .kind = kind, .thread_ref = thread, .name = ss_strview_of(name));
}

static void put_counter(uint32_t ref, uint32_t process, uint32_t parent, const char *name,
                        enum ss_counter_kind kind)
{
    PUT(track, writer, .ref = ref, .kind = SS_TRACK_COUNTER, .process_ref = process,
        .parent_ref = parent, .name = ss_strview_of(name), .counter = kind);
}

static void put_name(uint32_t ref, const char *text, uint32_t colour)
{
    PUT(name, writer, .ref = ref, .text = ss_strview_of(text), .colour = colour);
}

static void open_writer(const char *path)
{
    writer = recording_open(path);
    PUT(clock, writer, START, START + 5, START - 9, START + (1ull << 60), 50);
    put_track(MAIN, SS_TRACK_RANGES, 1, "");
    put_track(OTHER, SS_TRACK_RANGES, 2, "");
    put_track(DOMAIN, SS_TRACK_RANGES, 1, "io");
    put_track(LOADER, SS_TRACK_RANGES, 3, "");
    put_track(LANES, SS_TRACK_ASYNC, 1, "requests");
    put_track(STEPS, SS_TRACK_STEPS, 1, "step");
    put_name(A, "a", 0);
    put_name(B, "b", 0);
    put_name(C, "c", 0);
    put_name(STYLED_A, "a", 0xff112233);
}

static void close_writer(struct ss_model *model, struct ss_selection *selection, const char *path)
{
    struct ss_selection_options options = {.size = sizeof options, .idle = SS_IDLE_ALL};
    struct ss_model_load load = {.size = sizeof load};
    MUST(ss_trace_writer_close(writer, must_err));
    ss_model_init(model);
    MUST(ss_model_add_input(model, path, &load, must_err));
    MUST(ss_selection_init(selection, model, &options, must_err));
    unlink(path);
}

static void begin(uint64_t time_ns, uint32_t track, uint32_t name, struct ss_trace_value payload)
{
    PUT(event, writer, .time_ns = START + time_ns, .track_ref = track, .lane = track == LANES,
        .name_ref = name, .payload = payload);
}

static void end(uint64_t time_ns, uint32_t track)
{
    PUT(event, writer, .time_ns = START + time_ns, .track_ref = track, .lane = track == LANES,
        .kind = SS_EVENT_END);
}

static void range(uint64_t from_ns, uint64_t to_ns, uint32_t track, uint32_t name)
{
    begin(from_ns, track, name, (struct ss_trace_value){0});
    end(to_ns, track);
}

/* "path count total self mean p50 p95 max cut" of each row, in the table's order. */
static void check_rows(const struct ss_selection *selection, unsigned grouping, const char *wanted)
{
    struct ss_table table;
    struct ss_ranges_options options = {
        .size = sizeof options, .sort = SS_SORT_TOTAL, .grouping = grouping};
    char got[4096] = "";
    ss_ranges_table(selection, &options, &table);
    for (size_t row = 0; row < table.row_count; row++) {
        const struct ss_cell *cells = ss_table_cell(&table, row, 0);
        const struct ss_cell *path =
            &cells[cells[SS_RANGE_PATH].type == SS_CELL_TEXT ? SS_RANGE_PATH : SS_RANGE_NAME];
        size_t used = strlen(got);
        used += (size_t)snprintf(got + used, sizeof got - used, "%.*s",
                                 path->type == SS_CELL_TEXT ? (int)path->text.length : 1,
                                 path->type == SS_CELL_TEXT ? path->text.data : "*");
        for (size_t i = SS_RANGE_COUNT; i <= SS_RANGE_CUT; i++) {
            used += (size_t)snprintf(got + used, sizeof got - used, " %lld",
                                     (long long)cells[i].integer);
        }
        snprintf(got + used, sizeof got - used, "\n");
    }
    assert_string_equal(got, wanted);
    ss_table_fini(&table);
}

/* Durations of 1 to n: the p-th percentile is the smallest that p % are not above. */
static void test_percentiles(void **state)
{
    (void)state;
    static const struct {
        size_t count;
        uint64_t p50, p95;
    } cases[] = {{1, 1, 1},    {2, 1, 2},     {19, 10, 19},      {20, 10, 19},
                 {21, 11, 20}, {100, 50, 95}, {5000, 2500, 4750}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t count = cases[i].count;
        uint64_t *values = ss_alloc(count * sizeof *values);
        for (size_t at = 0; at < count; at++) {
            values[at] = at * 7919 % count + 1; /* each of them, in no order */
        }
        ss_sort_u64(values, count);
        for (size_t at = 0; at < count; at++) {
            assert_int_equal(values[at], at + 1);
        }
        assert_int_equal(ss_percentile_u64(values, count, 50), cases[i].p50);
        assert_int_equal(ss_percentile_u64(values, count, 95), cases[i].p95);
        assert_int_equal(ss_percentile_u64(values, count, 100), count);
        ss_free(values);
    }
}

/* Sorting by bytes: large, equal and extreme values. */
static void test_sorting(void **state)
{
    (void)state;
    enum { COUNT = 10000 };
    uint64_t *values = ss_alloc(COUNT * sizeof *values), seed = 42;
    for (size_t i = 0; i < COUNT; i++) {
        seed = seed * UINT64_C(6364136223846793005) + 1;
        values[i] = i % 3 == 0 ? UINT64_MAX - i % 7 : i % 3 == 1 ? seed : 5;
    }
    ss_sort_u64(values, COUNT);
    for (size_t i = 1; i < COUNT; i++) {
        assert_true(values[i - 1] <= values[i]);
    }
    assert_true(values[0] <= 5 && values[COUNT - 1] == UINT64_MAX);
    ss_free(values);
}

/* Main thread: a 0–100 with b 10–30, b 40–60 (in it c 45–50) and a (recursion, of another colour)
 * 70–90; a 200–300 still open at 260, where the recording ends. Another domain's a, another
 * process's and another thread's, twice. */
static void open_rows(struct ss_model *model, struct ss_selection *selection)
{
    const char *path = recording_path("ranges");
    open_writer(path);
    begin(0, MAIN, A, (struct ss_trace_value){.type = SS_VALUE_INT, .integer = -3});
    range(10, 30, MAIN, B);
    begin(40, MAIN, B, (struct ss_trace_value){0});
    range(45, 50, MAIN, C);
    end(60, MAIN);
    range(70, 90, MAIN, STYLED_A);
    end(100, MAIN);
    range(5, 6, DOMAIN, A);
    range(0, 7, OTHER, A);
    range(20, 29, OTHER, A);
    range(1, 1, LOADER, A);
    begin(150, LANES, A, (struct ss_trace_value){.type = SS_VALUE_REAL, .real = 0.5});
    end(250, LANES);
    begin(0, STEPS, 0, (struct ss_trace_value){.type = SS_VALUE_INT, .integer = 12});
    end(260, STEPS);
    begin(200, MAIN, STYLED_A, (struct ss_trace_value){.type = SS_VALUE_UINT, .natural = 8});
    close_writer(model, selection, path);
}

static void test_rows(void **state)
{
    (void)state;
    struct ss_model model;
    struct ss_selection selection;
    open_rows(&model, &selection);
    check_rows(&selection, 0,
               "step 1 260 260 260 260 260 260 0\n"
               "a 2 160 100 80 80 100 100 1\n"
               "a 1 100 100 100 100 100 100 0\n" /* the request */
               "a;b 2 40 35 20 20 20 20 0\n"
               "a;a 1 20 20 20 20 20 20 0\n"
               "a 2 16 16 8 8 9 9 0\n"
               "a;b;c 1 5 5 5 5 5 5 0\n"
               "a 1 1 1 1 1 1 1 0\n"
               "a 1 0 0 0 0 0 0 0\n");
    /* Of all threads, domains and paths: the inner a is in the outer one's total, not in the
     * count's way. Self times are 160 − 45 + 16 + 1. */
    check_rows(&selection, SS_GROUP_NAME,
               "step 1 260 260 260 260 260 260 0\n"
               "a 7 177 137 28 9 100 100 1\n"
               "a 1 100 100 100 100 100 100 0\n"
               "b 2 40 35 20 20 20 20 0\n"
               "c 1 5 5 5 5 5 5 0\n");
    check_rows(&selection, SS_GROUP_PROCESS | SS_GROUP_DOMAIN,
               "* 1 260 260 260 260 260 260 0\n"
               "* 7 160 160 32 20 100 100 1\n"
               "* 1 100 100 100 100 100 100 0\n"
               "* 2 16 16 8 8 9 9 0\n"
               "* 1 1 1 1 1 1 1 0\n");
    struct ss_table table;
    ss_ranges_table(&selection,
                    &(struct ss_ranges_options){.sort = SS_SORT_TOTAL, .grouping = SS_GROUP_NAME},
                    &table);
    const struct ss_cell *cells = ss_table_cell(&table, 1, 0);
    assert_int_equal(cells[SS_RANGE_PAYLOADS].integer, 2);
    assert_int_equal(cells[SS_RANGE_PAYLOAD_SUM].integer, 5);
    assert_int_equal(cells[SS_RANGE_PAYLOAD_MIN].integer, -3);
    assert_int_equal(cells[SS_RANGE_PAYLOAD_MAX].integer, 8);
    assert_true(cells[SS_RANGE_PAYLOAD_MEAN].real == 2.5);
    assert_int_equal(cells[SS_RANGE_TID].type, SS_CELL_ABSENT);
    assert_int_equal(ss_table_cell(&table, 0, SS_RANGE_PAYLOADS)->integer, 0); /* a step's number */
    ss_table_fini(&table);
    ss_selection_fini(&selection);
    ss_model_fini(&model);
}

static void value(uint64_t seconds, uint32_t track, int64_t integer)
{
    PUT(counter, writer, .time_ns = START + seconds * RECORDING_SECOND, .track_ref = track,
        .is_integer = true, .integer = integer);
}

static double real_of(const struct ss_cell *cell)
{
    return cell->type == SS_CELL_REAL ? cell->real : (double)cell->integer;
}

static void check_counter(const struct ss_table *table, const char *name, const double wanted[7])
{
    for (size_t row = 0; row < table->row_count; row++) {
        const struct ss_cell *cells = ss_table_cell(table, row, 0);
        if (!ss_strview_equal(cells[SS_COUNTER_NAME].text, ss_strview_of(name))) {
            continue;
        }
        for (size_t i = 0; i < 7; i++) {
            assert_true(real_of(&cells[SS_COUNTER_COUNT + i]) == wanted[i]);
        }
        return;
    }
    fail_msg("no counter %s", name);
}

static void open_counters(struct ss_model *model, struct ss_selection *selection)
{
    const char *path = recording_path("counters");
    open_writer(path);
    PUT(track, writer, .ref = GROUP, .kind = SS_TRACK_GROUP, .process_ref = 1,
        .name = ss_strview_of("usage"));
    put_counter(TOKENS, 1, 0, "tokens", SS_COUNTER_DELTA);
    put_counter(TOTAL, 1, 0, "total", SS_COUNTER_CUMULATIVE);
    put_counter(LEVEL, 1, GROUP, "memory", SS_COUNTER_GAUGE);
    put_counter(OWN_LEVEL, 1, 0, "queue", SS_COUNTER_GAUGE);
    for (uint64_t i = 0; i < 4; i++) {
        value(i, TOKENS, 100 * (int64_t)(i + 1)); /* 100, 200, 300, 400 */
        value(i, TOTAL, (int64_t)(1000 + i * i)); /* grew by 1, 3, 5 */
        value(i, OWN_LEVEL, (int64_t)(3 - i));    /* 3, 2, 1, 0 */
    }
    value(0, LEVEL, 10); /* for 1 s */
    value(1, LEVEL, 30); /* for 3 s */
    value(4, LEVEL, 0);  /* the process has ended */
    close_writer(model, selection, path);
}

static void test_counters(void **state)
{
    (void)state;
    struct ss_model model;
    struct ss_selection selection;
    struct ss_table table;
    open_counters(&model, &selection);
    ss_counters_table(&selection, &(struct ss_counters_options){0}, &table);
    /* count min mean p50 p95 max last, then the rate */
    check_counter(&table, "tokens", (double[]){4, 100, 250, 250, 400, 400, 1000});
    check_counter(&table, "total", (double[]){3, 1, 3, 3, 5, 5, 1009});
    check_counter(&table, "memory", (double[]){2, 10, 25, 30, 30, 30, 30});
    check_counter(&table, "queue", (double[]){4, 0, 1.5, 1.5, 3, 3, 0});
    for (size_t row = 0; row < table.row_count; row++) {
        const struct ss_cell *cells = ss_table_cell(&table, row, 0);
        enum ss_cell_type type = cells[SS_COUNTER_RATE].type;
        switch (cells[SS_COUNTER_NAME].text.data[1]) {
        case 'o': /* tokens, total: 900 and 9 in 3 s */
            assert_true(cells[SS_COUNTER_RATE].real == (row == 0 ? 300 : 3));
            break;
        default:
            assert_int_equal(type, SS_CELL_ABSENT);
        }
    }
    ss_table_fini(&table);
    ss_counters_table(&selection, &(struct ss_counters_options){.prefix = "to"}, &table);
    assert_int_equal(table.row_count, 2); /* tokens, total */
    ss_table_fini(&table);
    ss_selection_fini(&selection);
    ss_model_fini(&model);
}

static void table_range(void **state)
{
    (void)state;
    struct ss_model model;
    struct ss_selection selection;
    struct built_tables built;
    open_rows(&model, &selection);
    build_tables(&built, "range", NULL, &selection, NULL);
    const struct ss_table *table = &built.tables[0];
    assert_int_equal(table->row_count, 9);
    check_cells(table, 0, "name=step; kind=step; count=1; total_ns=260; self_ns=260; cut=0");
    check_cells(table, 1,
                "name=a; path=a; kind=range; count=2; total_ns=160; self_ns=100; mean_ns=80; "
                "p50_ns=80; p95_ns=100; max_ns=100; cut=1");
    check_cells(table, 3,
                "name=b; path=a;b; count=2; total_ns=40; self_ns=35; mean_ns=20; max_ns=20; cut=0");
    ss_selection_fini(&selection);
    ss_model_fini(&model);
    fini_tables(&built);
}

static void table_counter(void **state)
{
    (void)state;
    struct ss_model model;
    struct ss_selection selection;
    struct built_tables built;
    open_counters(&model, &selection);
    build_tables(&built, "counter", NULL, &selection, NULL);
    const struct ss_table *table = &built.tables[0];
    assert_int_equal(table->row_count, 4);
    check_cells(table, 0,
                "name=tokens; group=-; count=4; min=100; mean=250; p50=250; p95=400; max=400; "
                "last=1000; rate_per_s=300");
    check_cells(table, 1, "name=total; count=3; min=1; mean=3; max=5; last=1009; rate_per_s=3");
    check_cells(table, 2, "name=queue; count=4; min=0; mean=1.5; p50=1.5; max=3; last=0");
    check_cells(table, 3,
                "name=memory; group=usage; count=2; min=10; mean=25; max=30; rate_per_s=-");
    ss_selection_fini(&selection);
    ss_model_fini(&model);
    fini_tables(&built);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_percentiles), cmocka_unit_test(test_sorting),
        cmocka_unit_test(test_rows),        cmocka_unit_test(test_counters),
        cmocka_unit_test(table_range),      cmocka_unit_test(table_counter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
