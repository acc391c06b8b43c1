/* SPDX-License-Identifier: Apache-2.0 */
/* FLOPs of a step, computed by hand: which steps count, whose a backward is, and the peaks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../model_builder.h"
#include "analysis/operators/flops.h"
#include "table_checks.h"

/* One process, whose autograd has a thread of its own. */
struct made {
    struct ss_model model;
    struct ss_selection selection;
    struct ss_step_summary training;
    struct ss_table table;
    uint32_t process, trains, differentiates;
    uint32_t steps, operators, modules, nodes, marks, node_marks, counted, compiling;
};

static uint32_t add_track(struct made *made, enum ss_track_kind kind, uint32_t thread,
                          const char *name)
{
    return BUILD_TRACK(&made->model, .kind = kind, .process = made->process, .thread = thread,
                       .name = name);
}

static void begin(struct made *made)
{
    memset(made, 0, sizeof *made);
    ss_model_init(&made->model);
    struct ss_model *model = &made->model;
    made->process = BUILD_PROCESS(model, .pid = 42);
    made->trains = BUILD_THREAD(model, .process = made->process, .tid = 42, .is_main = true);
    made->differentiates = BUILD_THREAD(model, .process = made->process, .tid = 43);
    made->steps = add_track(made, SS_TRACK_STEPS, made->trains, "step");
    made->operators = add_track(made, SS_TRACK_RANGES, made->trains, "torch");
    made->modules = add_track(made, SS_TRACK_RANGES, made->trains, "torch.module");
    made->nodes = add_track(made, SS_TRACK_RANGES, made->differentiates, "torch");
    made->compiling = add_track(made, SS_TRACK_RANGES, made->trains, "torch.compile");
    made->counted = add_track(made, SS_TRACK_ASYNC, 0, "torch.flops");
    made->marks = add_track(made, SS_TRACK_RANGES, made->trains, "torch.flops");
    made->node_marks = add_track(made, SS_TRACK_RANGES, made->differentiates, "torch.flops");
}

enum { NO_NUMBER = -1 };

/* Returns the path, for what lies within. */
static uint32_t add(struct made *made, uint32_t track, uint32_t around, const char *name,
                    const char *category, uint64_t begin_ns, uint64_t end_ns, int64_t number)
{
    struct ss_model *model = &made->model;
    return BUILD_RANGE(model, .track = track, .around = around, .name = name, .category = category,
                       .begin_ns = begin_ns, .end_ns = end_ns, .lane = track == made->counted,
                       .payload = number != NO_NUMBER ? build_integer(model, number) : 0);
}

static void mark(struct made *made, uint32_t track, const char *name, uint64_t time_ns,
                 int64_t flops)
{
    BUILD_MARK(&made->model, .track = track, .name = name, .time_ns = time_ns,
               .payload = build_integer(&made->model, flops));
}

static void fact(struct made *made, const char *text, int64_t value)
{
    BUILD_NOTE(&made->model, .process = made->process, .kind = "fact", .text = text,
               .value = value);
}

static void make_table(struct made *made, uint64_t max_rows)
{
    static const struct ss_selection_options all = {.idle = SS_IDLE_ALL};
    static const struct ss_steps_options none = {0};
    assert_int_equal(ss_selection_init(&made->selection, &made->model, &all, NULL), SS_OK);
    ss_step_summary_init(&made->training, &made->selection, &none);
    ss_flops_table(&made->selection, &made->training, max_rows, &made->table);
}

static void end(struct made *made)
{
    ss_table_fini(&made->table);
    ss_step_summary_fini(&made->training);
    ss_selection_fini(&made->selection);
    ss_model_fini(&made->model);
}

static const struct ss_cell *row_of(const struct made *made, const char *kind, const char *name)
{
    for (size_t row = 0; row < made->table.row_count; row++) {
        const struct ss_cell *cells = ss_table_cell(&made->table, row, 0);
        if (ss_strview_equal(cells[SS_FLOPS_KIND].text, ss_strview_of(kind)) &&
            (name == NULL || ss_strview_equal(cells[SS_FLOPS_NAME].text, ss_strview_of(name)))) {
            return cells;
        }
    }
    fail_msg("no row %s %s", kind, name != NULL ? name : "");
    return NULL;
}

/* Steps of 1 µs. In the second and third, which are counted, Net calls inner; mm of 600 within
 * inner and addmm of 300 behind it; the backward of mm, 1000, on the other thread. */
static void make_training(struct made *made)
{
    for (uint64_t s = 0; s < 4; s++) {
        uint64_t at = 1000 * s;
        add(made, made->steps, 0, "step", "", at, at + 1000, (int64_t)s);
    }
    for (uint64_t s = 1; s < 3; s++) {
        uint64_t at = 1000 * s;
        int64_t node = (int64_t)s * 10;
        add(made, made->operators, 0, "aten::add", "operator", at + 50, at + 60, node);
        uint32_t outer =
            add(made, made->operators, 0, "aten::matmul", "operator", at + 100, at + 220, node);
        add(made, made->operators, outer, "aten::mm", "operator", at + 110, at + 210, node);
        add(made, made->operators, 0, "aten::addmm", "operator", at + 300, at + 350, node + 1);
    }
    for (uint64_t s = 1; s < 3; s++) {
        uint64_t at = 1000 * s;
        uint32_t net = add(made, made->modules, 0, "Net", "", at + 80, at + 400, NO_NUMBER);
        add(made, made->modules, net, "inner (Linear)", "", at + 90, at + 250, NO_NUMBER);
    }
    for (uint64_t s = 1; s < 3; s++) {
        uint64_t at = 1000 * s;
        uint32_t node = add(made, made->nodes, 0, "MmBackward0", "backward", at + 500, at + 700,
                            (int64_t)s * 10);
        add(made, made->nodes, node, "aten::mm", "operator", at + 510, at + 690, NO_NUMBER);
    }
    add(made, made->counted, 0, "counted", "", 990, 3010, NO_NUMBER);
    for (uint64_t s = 0; s < 4; s++) { /* those of the first and last step are not of whole ones */
        mark(made, made->marks, "aten::mm", 1000 * s + 112, 600);
        mark(made, made->marks, "aten::addmm", 1000 * s + 301, 300);
        mark(made, made->node_marks, "aten::mm", 1000 * s + 511, 1000);
    }
}

static void test_counted_steps_represent_all(void **state)
{
    (void)state;
    struct made made;
    begin(&made);
    make_training(&made);
    make_table(&made, 0);
    const struct ss_cell *step = row_of(&made, "step", NULL);
    assert_int_equal(step[SS_FLOPS_STEPS].integer, 2);
    assert_float_equal(step[SS_FLOPS_COUNT].real, 1900, 0);
    assert_float_equal(step[SS_FLOPS_CALLS].real, 3, 0);
    assert_int_equal(step[SS_FLOPS_TIME].integer, 1000);
    assert_float_equal(step[SS_FLOPS_RATE].real, 1900e6, 1);
    assert_int_equal(step[SS_FLOPS_PEAK].type, SS_CELL_ABSENT); /* the device is unknown */
    const struct ss_cell *mm = row_of(&made, "operator", "aten::mm");
    assert_float_equal(mm[SS_FLOPS_COUNT].real, 1600, 0);
    assert_int_equal(mm[SS_FLOPS_TIME].integer, 100 + 180);
    assert_float_equal(mm[SS_FLOPS_PERCENT].real, 100.0 * 1600 / 1900, 1e-9);
    end(&made);
}

static void test_backward_belongs_to_the_modules_of_its_forward(void **state)
{
    (void)state;
    struct made made;
    begin(&made);
    make_training(&made);
    make_table(&made, 1);
    assert_float_equal(row_of(&made, "module", "Net")[SS_FLOPS_COUNT].real, 1900, 0);
    assert_int_equal(made.table.row_count, 3); /* of operators and modules the largest */
    assert_int_equal(made.table.hidden_rows, 2);
    ss_table_fini(&made.table);
    ss_flops_table(&made.selection, &made.training, 0, &made.table);
    assert_float_equal(row_of(&made, "module", "inner (Linear)")[SS_FLOPS_COUNT].real, 1600, 0);
    end(&made);
}

static void test_what_a_compiler_runs_does_not_count(void **state)
{
    (void)state;
    struct made made;
    begin(&made);
    make_training(&made);
    add(&made, made.compiling, 0, "compile", "", 1290, 1310, NO_NUMBER);
    make_table(&made, 0);
    assert_float_equal(row_of(&made, "operator", "aten::addmm")[SS_FLOPS_COUNT].real, 150, 0);
    end(&made);
}

static void test_nothing_counted_is_no_row(void **state)
{
    (void)state;
    struct made made;
    begin(&made);
    for (uint64_t s = 0; s < 4; s++) {
        add(&made, made.steps, 0, "step", "", 1000 * s, 1000 * s + 1000, (int64_t)s);
    }
    make_table(&made, 0);
    assert_int_equal(made.table.row_count, 0);
    end(&made);
}

static void test_a_known_device_has_a_peak(void **state)
{
    (void)state;
    struct made made;
    begin(&made);
    make_training(&made);
    fact(&made, "torch.threads = 2", 2);
    fact(&made, "cpu.capability = AVX2", 0);
    fact(&made, "cpu.mhz = 2500", 2500);
    make_table(&made, 0);
    const struct ss_cell *step = row_of(&made, "step", NULL);
    assert_float_equal(step[SS_FLOPS_PEAK].real, 2 * 2.5e9 * 32, 1);
    assert_float_equal(step[SS_FLOPS_PEAK_PERCENT].real, 100 * 1900e6 / 160e9, 1e-6);
    ss_table_fini(&made.table);
    fact(&made, "torch.device = NVIDIA H100 80GB HBM3", 0);
    ss_flops_table(&made.selection, &made.training, 0, &made.table);
    step = row_of(&made, "step", NULL);
    assert_float_equal(step[SS_FLOPS_PEAK].real, 989.4e12, 1e6);
    /* Operators are asked for by then, not done. */
    assert_int_equal(row_of(&made, "operator", "aten::mm")[SS_FLOPS_TIME].type, SS_CELL_ABSENT);
    end(&made);
}

static void test_peaks_are_by_whole_words(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        double tflops_per_s;
    } cases[] = {{"NVIDIA A100-SXM4-80GB", 312},
                 {"NVIDIA A10", 125},
                 {"NVIDIA H100 PCIe", 756.5},
                 {"NVIDIA H100 NVL", 835.5},
                 {"NVIDIA H200", 989.4},
                 {"Tesla V100-SXM2-16GB", 125},
                 {"Tesla T4", 65},
                 {"NVIDIA L40S", 362},
                 {"NVIDIA L4", 121},
                 {"NVIDIA A1000", 0},
                 {"", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ss_peak peak = ss_peak_of_gpu(ss_strview_of(cases[i].name));
        assert_float_equal(peak.flops_per_s, cases[i].tflops_per_s * 1e12, 1e6);
    }
    assert_float_equal(ss_peak_of_cpu(ss_strview_of("AVX512"), 3000, 8).flops_per_s, 8 * 3e9 * 64,
                       1);
    assert_float_equal(ss_peak_of_cpu(ss_strview_of("DEFAULT"), 3000, 8).flops_per_s, 0, 0);
    assert_float_equal(ss_peak_of_cpu(ss_strview_of("AVX2"), 0, 8).flops_per_s, 0, 0);
}

static void table_flops(void **state)
{
    (void)state;
    struct made made;
    struct built_tables built;
    begin(&made);
    make_training(&made);
    make_table(&made, 0);
    build_tables(&built, "flops", NULL, &made.selection, &made.training);
    assert_int_equal(built.tables[0].row_count, 5);
    check_cells(&built.tables[0], 0,
                "kind=step; flops_per_step=1900; calls_per_step=3; time_per_step_ns=1000; "
                "flops_per_s=1.9e+09; peak_flops_per_s=-; counted_steps=2");
    check_cells(&built.tables[0], 1, /* 600 forward, 1000 backward, in 100 and 180 ns */
                "kind=operator; name=aten::mm; flops_per_step=1600; percent=84.2105; "
                "calls_per_step=2; time_per_step_ns=280");
    check_cells(&built.tables[0], 2, "kind=operator; name=aten::addmm; flops_per_step=300");
    check_cells(&built.tables[0], 3, "kind=module; name=Net; flops_per_step=1900; percent=100");
    fini_tables(&built);
    end(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counted_steps_represent_all),
        cmocka_unit_test(test_backward_belongs_to_the_modules_of_its_forward),
        cmocka_unit_test(test_what_a_compiler_runs_does_not_count),
        cmocka_unit_test(test_nothing_counted_is_no_row),
        cmocka_unit_test(test_a_known_device_has_a_peak),
        cmocka_unit_test(test_peaks_are_by_whole_words),
        cmocka_unit_test(table_flops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
