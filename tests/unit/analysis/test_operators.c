/* SPDX-License-Identifier: Apache-2.0 */
/* What operators and modules cost, computed by hand: self times, recursion, calls as torch.profiler
 * counts them, what falls into steady-state steps, the backward of modules. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../model_builder.h"
#include "analysis/operators/modules.h"
#include "analysis/operators/operators.h"
#include "analysis/steps/ranges.h"
#include "base/shared_names.h"

/* A training in memory: one process, its main thread and one of autograd. */
struct made {
    struct ss_model model;
    struct ss_selection selection;
    struct ss_step_summary training;
    struct ss_table table;
    uint32_t process, steps, phases, operators, modules, autograd, rss;
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
    uint32_t main_thread =
        BUILD_THREAD(model, .process = made->process, .tid = 42, .is_main = true);
    uint32_t of_autograd = BUILD_THREAD(model, .process = made->process, .tid = 43);
    made->steps = add_track(made, SS_TRACK_STEPS, main_thread, "step");
    made->phases = add_track(made, SS_TRACK_PHASES, main_thread, "phase");
    made->operators = add_track(made, SS_TRACK_RANGES, main_thread, "torch");
    made->modules = add_track(made, SS_TRACK_RANGES, main_thread, "torch.module");
    made->autograd = add_track(made, SS_TRACK_RANGES, of_autograd, "torch");
    made->rss = add_track(made, SS_TRACK_COUNTER, 0, "memory rss");
}

enum { NO_NUMBER = -7 };

/* Returns the path, for what lies within. */
static uint32_t add(struct made *made, uint32_t track, uint32_t around, const char *name,
                    const char *category, uint64_t begin_ns, uint64_t end_ns, int64_t number)
{
    struct ss_model *model = &made->model;
    return BUILD_RANGE(model, .track = track, .around = around, .name = name, .category = category,
                       .begin_ns = begin_ns, .end_ns = end_ns,
                       .payload = number != NO_NUMBER ? build_integer(model, number) : 0);
}

static uint32_t op(struct made *made, uint32_t around, const char *name, uint64_t begin_ns,
                   uint64_t end_ns)
{
    return add(made, made->operators, around, name, "operator", begin_ns, end_ns, NO_NUMBER);
}

static void step(struct made *made, int64_t number, uint64_t begin_ns, uint64_t end_ns)
{
    add(made, made->steps, 0, "step", "", begin_ns, end_ns, number);
}

static void sum_up(struct made *made)
{
    static const struct ss_selection_options all = {.idle = SS_IDLE_ALL};
    static const struct ss_steps_options none = {0};
    assert_int_equal(ss_selection_init(&made->selection, &made->model, &all, NULL), SS_OK);
    ss_step_summary_init(&made->training, &made->selection, &none);
}

static void end(struct made *made)
{
    ss_table_fini(&made->table);
    ss_step_summary_fini(&made->training);
    ss_selection_fini(&made->selection);
    ss_model_fini(&made->model);
}

static const struct ss_cell *cells_of(const struct made *made, const char *name)
{
    for (size_t row = 0; row < made->table.row_count; row++) {
        const struct ss_cell *cells = ss_table_cell(&made->table, row, 0);
        if (ss_strview_equal(cells[0].text, ss_strview_of(name))) {
            return cells;
        }
    }
    fail_msg("no row %s", name);
    return NULL;
}

static void assert_cells(const struct made *made, const char *name, size_t first,
                         const int64_t *wanted, size_t count)
{
    const struct ss_cell *cells = cells_of(made, name);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(cells[first + i].type, SS_CELL_INTEGER);
        assert_int_equal(cells[first + i].integer, wanted[i]);
    }
}

/* linear [100, 200) with t [110, 120) and addmm [130, 190), in which copy [140, 150) and again
 * addmm [150, 180) with a copy [160, 165) beside another [170, 172); then copy [300, 330) whose
 * only inner call is a copy [305, 325), which has a fill [310, 320). */
static void make_operators(struct made *made)
{
    begin(made);
    uint32_t linear = op(made, 0, "linear", 100, 200);
    op(made, linear, "t", 110, 120);
    uint32_t addmm = op(made, linear, "addmm", 130, 190);
    op(made, addmm, "copy", 140, 150);
    uint32_t inner = op(made, addmm, "addmm", 150, 180);
    op(made, inner, "copy", 160, 165);
    op(made, inner, "copy", 170, 172);
    uint32_t copy = op(made, 0, "copy", 300, 330);
    uint32_t same = op(made, copy, "copy", 305, 325);
    op(made, same, "fill", 310, 320);
}

static void test_self_total_and_calls(void **state)
{
    (void)state;
    static const struct ss_operators_options options = {.sort = SS_OPERATORS_BY_SELF};
    struct made made;
    make_operators(&made);
    sum_up(&made);
    ss_operators_table(&made.selection, NULL, &options, &made.table);
    assert_int_equal(made.table.row_count, 5);
    assert_int_equal(made.table.whole_ns, 130);
    /* self, backward, total, mean, min, p50, p95, max */
    assert_cells(&made, "linear", SS_OPERATOR_SELF,
                 (int64_t[]){30, 0, 100, 100, 100, 100, 100, 100}, 8);
    assert_cells(&made, "addmm", SS_OPERATOR_SELF, (int64_t[]){43, 0, 60, 30, 30, 45, 60, 60}, 8);
    /* 10 + 5 + 2 + 10 + 10 of themselves; the copy in the copy is one call with it */
    assert_cells(&made, "copy", SS_OPERATOR_SELF, (int64_t[]){37, 0, 47, 11, 2, 7, 30, 30}, 8);
    assert_int_equal(cells_of(&made, "copy")[SS_OPERATOR_CALLS].integer, 4);
    assert_int_equal(cells_of(&made, "addmm")[SS_OPERATOR_CALLS].integer, 2);
    assert_int_equal(cells_of(&made, "linear")[SS_OPERATOR_STEP_PERCENT].type, SS_CELL_ABSENT);
    assert_float_equal((float)cells_of(&made, "fill")[SS_OPERATOR_SELF_PERCENT].real, 1000.0 / 130,
                       1e-4);
    assert_string_equal(ss_table_cell(&made.table, 0, 0)->text.data, "addmm"); /* the largest */
    end(&made);
}

static void test_orders(void **state)
{
    (void)state;
    static const struct {
        enum ss_operator_sort sort;
        const char *first, *last;
    } orders[] = {
        {SS_OPERATORS_BY_TOTAL, "linear", "fill"}, {SS_OPERATORS_BY_CALLS, "copy", "fill"},
        {SS_OPERATORS_BY_MEAN, "linear", "fill"},  {SS_OPERATORS_BY_MIN, "linear", "copy"},
        {SS_OPERATORS_BY_P50, "linear", "copy"},   {SS_OPERATORS_BY_P95, "linear", "fill"},
        {SS_OPERATORS_BY_MAX, "linear", "fill"},   {SS_OPERATORS_BY_STEP, "addmm", "fill"},
        {SS_OPERATORS_BY_NAME, "addmm", "t"}};
    struct made made;
    make_operators(&made);
    sum_up(&made);
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        struct ss_operators_options options = {.sort = orders[i].sort};
        ss_operators_table(&made.selection, NULL, &options, &made.table);
        assert_string_equal(ss_table_cell(&made.table, 0, 0)->text.data, orders[i].first);
        size_t last = made.table.row_count - 1;
        assert_string_equal(ss_table_cell(&made.table, last, 0)->text.data, orders[i].last);
        ss_table_fini(&made.table);
    }
    struct ss_operators_options few = {.max_rows = 2};
    ss_operators_table(&made.selection, NULL, &few, &made.table);
    assert_int_equal(made.table.row_count, 2);
    assert_int_equal(made.table.hidden_rows, 3);
    end(&made);
}

static void test_key_averages(void **state)
{
    (void)state;
    static const struct ss_operators_options options = {.sort = SS_OPERATORS_BY_TOTAL};
    struct made made;
    make_operators(&made);
    sum_up(&made);
    ss_key_averages_table(&made.selection, NULL, &options, &made.table);
    const struct ss_cell *cells = cells_of(&made, "addmm");
    assert_float_equal((float)cells[SS_KEY_SELF].real, 0.043, 1e-6);
    assert_float_equal((float)cells[SS_KEY_SELF_PERCENT].real, 4300.0 / 130, 1e-4);
    assert_float_equal((float)cells[SS_KEY_TOTAL].real, 0.060, 1e-6);
    assert_float_equal((float)cells[SS_KEY_TOTAL_PERCENT].real, 6000.0 / 130, 1e-4);
    assert_float_equal((float)cells[SS_KEY_MEAN].real, 0.030, 1e-6);
    assert_int_equal(cells[SS_KEY_COUNT].integer, 2);
    end(&made);
}

static uint32_t profiled(struct made *made, uint32_t track, uint32_t around, const char *name,
                         uint64_t begin_ns, uint64_t end_ns, const char *details)
{
    struct ss_model *model = &made->model;
    return BUILD_RANGE(model, .track = track, .around = around, .name = name,
                       .category = "operator", .begin_ns = begin_ns, .end_ns = end_ns,
                       .payload = build_words(model, details));
}

/* linear, which allocated 8 itself, with an addmm in it, and one more addmm of other shapes. */
static void test_key_averages_know_what_torch_profiler_saw(void **state)
{
    (void)state;
    struct ss_operators_options options = {.sort = SS_OPERATORS_BY_TOTAL};
    struct made made;
    begin(&made);
    op(&made, 0, "aten::not_in_a_window", 0, 10);
    uint32_t track = add_track(&made, SS_TRACK_RANGES, 1, "torch.profiler");
    uint32_t linear = profiled(&made, track, 0, "linear", 100, 200, "{\"cpu_bytes\":40}");
    profiled(&made, track, linear, "addmm", 110, 150,
             "{\"shapes\":[[2,3],[]],\"flops\":12,\"stack\":[\"a.py: \\\"flops\\\":7\"],"
             "\"cpu_bytes\":32}");
    profiled(&made, track, 0, "addmm", 300, 350, "{\"shapes\":[[5]],\"flops\":5}");
    sum_up(&made);
    ss_key_averages_table(&made.selection, NULL, &options, &made.table);
    assert_int_equal(made.table.row_count, 2);
    const struct ss_cell *cells = cells_of(&made, "linear");
    assert_int_equal(cells[SS_KEY_CPU_BYTES].integer, 40);
    assert_int_equal(cells[SS_KEY_SELF_CPU_BYTES].integer, 8);
    assert_int_equal(cells[SS_KEY_DEVICE_BYTES].type, SS_CELL_ABSENT);
    cells = cells_of(&made, "addmm");
    assert_int_equal(cells[SS_KEY_COUNT].integer, 2);
    assert_int_equal(cells[SS_KEY_FLOPS].integer, 17);
    assert_int_equal(cells[SS_KEY_SHAPES].type, SS_CELL_ABSENT);
    ss_table_fini(&made.table);
    options.grouping = SS_CALLS_BY_SHAPES;
    ss_key_averages_table(&made.selection, NULL, &options, &made.table);
    assert_int_equal(made.table.row_count, 3);
    cells = cells_of(&made, "addmm"); /* the first, which takes longer */
    assert_int_equal(cells[SS_KEY_COUNT].integer, 1);
    assert_int_equal(cells[SS_KEY_FLOPS].integer, 5);
    assert_string_equal(cells[SS_KEY_SHAPES].text.data, "[[5]]");
    end(&made);
}

/* Steps [0, 100), [100, 200), … of which the first takes 1000 more: it is warm-up. */
static void make_steps(struct made *made)
{
    step(made, 0, 0, 1100);
    for (int64_t i = 1; i < 9; i++) {
        step(made, i, 1000 + (uint64_t)i * 100, 1100 + (uint64_t)i * 100);
    }
}

static void test_only_time_in_steady_steps_counts_for_them(void **state)
{
    (void)state;
    static const struct ss_operators_options options = {.sort = SS_OPERATORS_BY_STEP};
    struct made made;
    begin(&made);
    make_steps(&made);
    op(&made, 0, "mm", 50, 950); /* all in the warm-up */
    uint32_t scope = add(&made, made.operators, 0, "epoch", "scope", 1050, 1250, NO_NUMBER);
    op(&made, scope, "mm", 1080, 1120); /* 20 of it in step 1 */
    op(&made, scope, "mm", 1130, 1140);
    op(&made, scope, "add", 1240, 1250);
    op(&made, 0, "add", 1895, 2000); /* 5 of it in step 8, then none */
    op(&made, 0, "add", 2000, 2100);
    sum_up(&made);
    assert_int_equal(made.training.steady, 8);
    assert_int_equal(made.training.total_ns, 800);
    ss_operators_table(&made.selection, &made.training, &options, &made.table);
    const struct ss_cell *mm = cells_of(&made, "mm"), *add = cells_of(&made, "add");
    const struct ss_cell *epoch = cells_of(&made, "epoch");
    assert_int_equal(mm[SS_OPERATOR_SELF].integer, 950);
    assert_float_equal((float)mm[SS_OPERATOR_STEP_PERCENT].real, 30.0 / 8, 1e-4);
    assert_int_equal(mm[SS_OPERATOR_STEP_SELF].integer, 30 / 8);
    assert_float_equal((float)mm[SS_OPERATOR_STEP_CALLS].real, 1.0 / 8, 1e-6); /* by its start */
    assert_float_equal((float)add[SS_OPERATOR_STEP_PERCENT].real, 15.0 / 8, 1e-4);
    assert_float_equal((float)add[SS_OPERATOR_STEP_CALLS].real, 2.0 / 8, 1e-6);
    /* 150 of its 200 lie in steps 1 and 2, 40 of those in others */
    assert_int_equal(epoch[SS_OPERATOR_STEP_TOTAL].integer, 150 / 8);
    assert_float_equal((float)epoch[SS_OPERATOR_STEP_PERCENT].real, 110.0 / 8, 1e-4);
    assert_string_equal(epoch[SS_OPERATOR_KIND].text.data, "scope");
    assert_string_equal(ss_table_cell(&made.table, 0, 0)->text.data, "epoch");
    end(&made);
}

/* Operators of steps 0, 1, 4 and 5 only; modules, and backward with the operators. */
static void test_steps_without_operators_count_for_nothing(void **state)
{
    (void)state;
    static const struct ss_operators_options options = {.sort = SS_OPERATORS_BY_STEP};
    struct made made;
    begin(&made);
    make_steps(&made);
    uint32_t counter = add_track(&made, SS_TRACK_COUNTER, 0, "operators recorded");
    for (int64_t i = 0; i < 9; i++) { /* emitted shortly after the step has begun */
        uint64_t at = i == 0 ? 1 : 1001 + (uint64_t)i * 100;
        build_count(&made.model, counter, at, i % 4 < 2 && i < 8);
        uint64_t begin_ns = i == 0 ? 0 : 1000 + (uint64_t)i * 100;
        add(&made, made.modules, 0, "Net", "", begin_ns + 10, begin_ns + 50, NO_NUMBER);
    }
    for (int64_t i = 0; i < 8; i++) {
        uint64_t begin_ns = i == 0 ? 0 : 1000 + (uint64_t)i * 100;
        if (i % 4 < 2) {
            add(&made, made.operators, 0, "mm", "operator", begin_ns + 20, begin_ns + 30, i);
            add(&made, made.operators, 0, "MmBackward0", "backward", begin_ns + 60, begin_ns + 80,
                i);
        }
    }
    sum_up(&made);
    assert_int_equal(made.training.steady, 8);
    ss_operators_table(&made.selection, &made.training, &options, &made.table);
    assert_int_equal(made.table.steps, 9);
    assert_int_equal(made.table.steps_recorded, 4);
    const struct ss_cell *mm = cells_of(&made, "mm");
    assert_float_equal((float)mm[SS_OPERATOR_STEP_CALLS].real, 1, 1e-6);
    assert_float_equal((float)mm[SS_OPERATOR_STEP_PERCENT].real, 10, 1e-4);
    assert_int_equal(mm[SS_OPERATOR_STEP_SELF].integer, 10);
    ss_table_fini(&made.table);
    ss_modules_table(&made.selection, &made.training, &options, &made.table);
    const struct ss_cell *net = cells_of(&made, "Net");
    assert_int_equal(net[SS_MODULE_STEP_TOTAL].integer, 40);
    assert_int_equal(net[SS_MODULE_STEP_BACKWARD].integer, 20);
    assert_float_equal((float)net[SS_MODULE_STEP_PERCENT].real, 60, 1e-4);
    assert_int_equal(made.table.steps_recorded, 4);
    end(&made);
}

static void test_backward_and_rows_apart(void **state)
{
    (void)state;
    struct ss_operators_options options = {.sort = SS_OPERATORS_BY_NAME};
    struct made made;
    begin(&made);
    add(&made, made.phases, 0, "forward", "", 0, 50, NO_NUMBER);
    add(&made, made.phases, 0, "backward", "", 50, 100, NO_NUMBER);
    op(&made, 0, "mm", 0, 10);
    op(&made, 0, "mm", 120, 130); /* in no phase */
    uint32_t node = add(&made, made.autograd, 0, "MmBackward0", "backward", 50, 90, 3);
    add(&made, made.autograd, node, "mm", "operator", 60, 85, NO_NUMBER);
    sum_up(&made);
    ss_operators_table(&made.selection, &made.training, &options, &made.table);
    assert_int_equal(made.table.row_count, 2);
    assert_cells(&made, "mm", SS_OPERATOR_SELF, (int64_t[]){45, 25, 45}, 3);
    assert_cells(&made, "MmBackward0", SS_OPERATOR_SELF, (int64_t[]){15, 15, 40}, 3);
    assert_string_equal(cells_of(&made, "MmBackward0")[SS_OPERATOR_KIND].text.data, "backward");
    ss_table_fini(&made.table);
    options.grouping = SS_CALLS_BY_PHASE;
    ss_operators_table(&made.selection, &made.training, &options, &made.table);
    static const char *const phases[] = {"backward", "forward", "other", "backward"};
    assert_int_equal(made.table.row_count, 4); /* the node; mm by self: 25, 10, 10 */
    for (size_t i = 0; i < 4; i++) {
        const struct ss_cell *cells = ss_table_cell(&made.table, i, 0);
        const char *wanted = i == 0 ? "backward" : phases[(i + 2) % 3];
        assert_string_equal(cells[SS_OPERATOR_PHASE].text.data, wanted);
    }
    ss_table_fini(&made.table);
    options.grouping = SS_CALLS_BY_THREAD;
    ss_operators_table(&made.selection, &made.training, &options, &made.table);
    assert_int_equal(made.table.row_count, 3);
    assert_int_equal(cells_of(&made, "MmBackward0")[SS_OPERATOR_TID].integer, 43);
    assert_int_equal(cells_of(&made, "MmBackward0")[SS_OPERATOR_PID].integer, 42);
    end(&made);
}

/* Net [0, 100) with conv [10, 40) and fc [50, 90); their operators have numbers 1 to 4, of which 3
 * is emitted twice: the last time within fc. The loss, 5, is in none. */
static void make_modules(struct made *made)
{
    begin(made);
    uint32_t net = add(made, made->modules, 0, "Net", "", 0, 100, NO_NUMBER);
    add(made, made->modules, net, "conv (Conv2d)", "", 10, 40, NO_NUMBER);
    add(made, made->modules, net, "fc (Linear)", "", 50, 90, NO_NUMBER);
    static const struct {
        int64_t number;
        uint64_t at;
    } operators[] = {{1, 5}, {2, 20}, {3, 41}, {3, 60}, {4, 70}, {5, 120}, {-1, 125}};
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
        add(made, made->operators, 0, "mm", "operator", operators[i].at, operators[i].at + 2,
            operators[i].number);
    }
    /* Backward, the other way round, on a thread of its own. Each node in what evaluates it. */
    static const struct {
        int64_t number;
        uint64_t begin, end;
    } nodes[] = {{5, 200, 210}, {4, 210, 230}, {3, 230, 233},
                 {2, 240, 280}, {1, 280, 281}, {9, 281, 290}};
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++) {
        uint32_t outer = add(made, made->autograd, 0, "evaluate_function: MmBackward0", "backward",
                             nodes[i].begin, nodes[i].end, nodes[i].number);
        add(made, made->autograd, outer, "MmBackward0", "backward", nodes[i].begin, nodes[i].end,
            nodes[i].number);
    }
}

static void test_modules_and_their_backward(void **state)
{
    (void)state;
    static const struct ss_operators_options options = {.sort = SS_OPERATORS_BY_TOTAL};
    struct made made;
    make_modules(&made);
    sum_up(&made);
    ss_modules_table(&made.selection, &made.training, &options, &made.table);
    assert_int_equal(made.table.row_count, 3);
    /* calls, self, total, backward, backward self, mean */
    assert_cells(&made, "Net", SS_MODULE_CALLS, (int64_t[]){1, 30, 100, 64, 1, 100}, 6);
    assert_cells(&made, "conv (Conv2d)", SS_MODULE_CALLS, (int64_t[]){1, 30, 30, 40, 40, 30}, 6);
    assert_cells(&made, "fc (Linear)", SS_MODULE_CALLS, (int64_t[]){1, 40, 40, 23, 23, 40}, 6);
    assert_string_equal(ss_table_cell(&made.table, 1, 0)->text.data, "conv (Conv2d)");
    end(&made);
}

/* Checkpointing: the forward again within a node, with numbers of its own; its backward too. */
static void test_a_node_within_a_node_is_charged_once(void **state)
{
    (void)state;
    static const struct ss_operators_options options = {0};
    struct made made;
    begin(&made);
    add(&made, made.modules, 0, "block", "", 0, 100, NO_NUMBER);
    add(&made, made.modules, 0, "block", "", 210, 250, NO_NUMBER);
    op(&made, 0, "no number", 0, 10);
    add(&made, made.operators, 0, "CheckpointFunction", "operator", 10, 90, 1);
    uint32_t outer =
        add(&made, made.operators, 0, "CheckpointFunctionBackward", "backward", 200, 400, 1);
    add(&made, made.operators, outer, "mm", "operator", 220, 230, 2);
    add(&made, made.operators, outer, "MmBackward0", "backward", 300, 350, 2);
    sum_up(&made);
    ss_modules_table(&made.selection, &made.training, &options, &made.table);
    assert_cells(&made, "block", SS_MODULE_CALLS, (int64_t[]){2, 140, 140, 200, 200}, 5);
    end(&made);
}

/* As in PyTorch: what evaluates a node has no number, the node in it has; what the engine
 * does beside the node is the module's too. The sums of gradients belong to no module. */
static void test_the_node_says_the_number_of_what_evaluates_it(void **state)
{
    (void)state;
    static const struct ss_operators_options options = {0};
    struct made made;
    begin(&made);
    add(&made, made.modules, 0, "fc", "", 0, 100, NO_NUMBER);
    add(&made, made.operators, 0, "addmm", "operator", 10, 20, 7);
    static const char outer[] = "autograd::engine::evaluate_function: AddmmBackward0";
    static const char adding[] = "autograd::engine::evaluate_function: AccumulateGrad";
    uint32_t around = add(&made, made.operators, 0, outer, "operator", 200, 260, NO_NUMBER);
    add(&made, made.operators, around, "AddmmBackward0", "backward", 205, 225, 7);
    add(&made, made.operators, around, "sum", "operator", 230, 250, NO_NUMBER);
    around = add(&made, made.operators, 0, adding, "operator", 270, 280, NO_NUMBER);
    add(&made, made.operators, around, "AccumulateGrad", "backward", 271, 279, NO_NUMBER);
    sum_up(&made);
    ss_modules_table(&made.selection, &made.training, &options, &made.table);
    assert_cells(&made, "fc", SS_MODULE_CALLS, (int64_t[]){1, 100, 100, 60, 60}, 5);
    ss_table_fini(&made.table);
    ss_operators_table(&made.selection, NULL, &options, &made.table);
    assert_string_equal(cells_of(&made, outer)[SS_OPERATOR_KIND].text.data, "backward");
    assert_cells(&made, "sum", SS_OPERATOR_SELF, (int64_t[]){20, 20, 20}, 3);
    end(&made);
}

static void test_without_numbers_there_is_no_backward(void **state)
{
    (void)state;
    static const struct ss_operators_options options = {0};
    struct made made;
    begin(&made);
    make_steps(&made);
    add(&made, made.modules, 0, "Net", "", 1150, 1190, NO_NUMBER);
    op(&made, 0, "mm", 1160, 1170);
    add(&made, made.operators, 0, "MmBackward0", "backward", 1190, 1199, NO_NUMBER);
    sum_up(&made);
    ss_modules_table(&made.selection, &made.training, &options, &made.table);
    const struct ss_cell *net = cells_of(&made, "Net");
    assert_int_equal(net[SS_MODULE_BACKWARD].type, SS_CELL_ABSENT);
    assert_int_equal(net[SS_MODULE_STEP_BACKWARD].type, SS_CELL_ABSENT);
    assert_float_equal((float)net[SS_MODULE_STEP_PERCENT].real, 40.0 / 8, 1e-4);
    assert_int_equal(net[SS_MODULE_STEP_TOTAL].integer, 5);
    end(&made);
}

/* --- steps that are not in full --------------------------------------------------------------- */

/* A sum of so many calls; kinds are those of names, which BUILD_MARK has none of. */
static void sum(struct made *made, uint32_t track, const char *name, uint64_t calls,
                uint64_t self_ns, uint64_t total_ns)
{
    const struct ss_model_field fields[] = {
        {SS_EVENT_FIELD_calls, SS_VALUE_UINT, .natural = calls},
        {SS_EVENT_FIELD_self_ns, SS_VALUE_UINT, .natural = self_ns},
        {SS_EVENT_FIELD_total_ns, SS_VALUE_UINT, .natural = total_ns},
        {0}};
    struct ss_model *model = &made->model;
    ss_vec_push(&model->payloads,
                (struct ss_model_payload){.first_field = (uint32_t)model->fields.count});
    for (size_t i = 0; i < 4; i++) {
        ss_vec_push(&model->fields, fields[i]);
    }
    BUILD_MARK(model, .track = track, .name = name, .time_ns = 1800,
               .payload = (uint32_t)model->payloads.count - 1);
}

/* Steps 1 to 3 are in full, 4 to 6 are sums, the program recorded the operators of two of them; 7
 * stood out. */
static void make_sums(struct made *made)
{
    begin(made);
    make_steps(made);
    uint32_t detail = add_track(made, SS_TRACK_COUNTER, 0, ss_counter_detail_recorded);
    uint32_t sums = add_track(made, SS_TRACK_RANGES, 0, ss_domain_torch_sums);
    uint32_t module_sums = add_track(made, SS_TRACK_RANGES, 0, ss_domain_torch_module_sums);
    build_count(&made->model, detail, 1400, 0);
    build_count(&made->model, detail, 1700, 2);
    build_count(&made->model, detail, 1800, 1);
    for (uint64_t i = 1; i < 4; i++) {
        op(made, 0, "mm", 1000 + i * 100, 1010 + i * 100);
        add(made, made->modules, 0, "net", "", 1000 + i * 100, 1020 + i * 100, NO_NUMBER);
    }
    op(made, 0, "mm", 1710, 1790); /* in full, but it does not represent the others */
    sum(made, sums, ss_mark_summed_steps, 3, 0, 300);
    sum(made, sums, ss_mark_summed_operator_steps, 2, 0, 200);
    sum(made, sums, "mm", 4, 60, 80);
    sum(made, sums, "only summed", 2, 8, 8);
    sum(made, module_sums, "net", 3, 30, 90);
    build_sort_ranges(&made->model);
    sum_up(made);
}

static void test_sums_count_for_steps_that_are_not_in_full(void **state)
{
    (void)state;
    static const struct ss_operators_options options = {.sort = SS_OPERATORS_BY_STEP};
    struct made made;
    make_sums(&made);
    assert_int_equal(made.training.summed, 3);
    assert_int_equal(made.training.stood_out, 1);
    ss_operators_table(&made.selection, &made.training, &options, &made.table);
    const struct ss_cell *mm = cells_of(&made, "mm"), *other = cells_of(&made, "only summed");
    /* Of steps 1 to 3 and 8, and of two in sums. */
    assert_int_equal(mm[SS_OPERATOR_STEP_SELF].integer, (30 + 60) / 6);
    assert_int_equal(mm[SS_OPERATOR_STEP_TOTAL].integer, (30 + 80) / 6);
    assert_float_equal((float)mm[SS_OPERATOR_STEP_CALLS].real, 7.0 / 6, 1e-6);
    assert_float_equal((float)mm[SS_OPERATOR_STEP_PERCENT].real, 100 * 90.0 / 600, 1e-4);
    assert_int_equal(mm[SS_OPERATOR_CALLS].integer, 4 + 4);
    assert_int_equal(mm[SS_OPERATOR_SELF].integer, 30 + 80 + 60);
    assert_int_equal(mm[SS_OPERATOR_P50].integer, 10); /* of those in full */
    assert_int_equal(other[SS_OPERATOR_TOTAL].integer, 8);
    assert_int_equal(other[SS_OPERATOR_P50].type, SS_CELL_ABSENT);
    assert_int_equal(made.table.steps_summed, 2);
    ss_table_fini(&made.table);
    ss_modules_table(&made.selection, &made.training, &options, &made.table);
    const struct ss_cell *net = cells_of(&made, "net");
    assert_int_equal(net[SS_MODULE_STEP_TOTAL].integer, (60 + 90) / 7);
    assert_int_equal(net[SS_MODULE_CALLS].integer, 6);
    end(&made);
}

/* A table of what is in the file only, says so. */
static void test_ranges_are_those_in_full(void **state)
{
    (void)state;
    static const struct ss_ranges_options options = {0};
    struct made made;
    make_sums(&made);
    ss_ranges_table(&made.selection, &options, &made.table);
    assert_int_equal(made.table.notes.count, 1);
    end(&made);
    begin(&made);
    op(&made, 0, "mm", 100, 110);
    sum_up(&made);
    ss_ranges_table(&made.selection, &options, &made.table);
    assert_int_equal(made.table.notes.count, 0);
    end(&made);
}

static void test_sums_fit_no_thread_and_no_phase(void **state)
{
    (void)state;
    static const struct ss_operators_options options = {.grouping = SS_CALLS_BY_THREAD};
    struct made made;
    make_sums(&made);
    ss_operators_table(&made.selection, &made.training, &options, &made.table);
    assert_int_equal(made.table.row_count, 1);
    assert_int_equal(cells_of(&made, "mm")[SS_OPERATOR_CALLS].integer, 4);
    end(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_self_total_and_calls),
        cmocka_unit_test(test_orders),
        cmocka_unit_test(test_key_averages),
        cmocka_unit_test(test_key_averages_know_what_torch_profiler_saw),
        cmocka_unit_test(test_only_time_in_steady_steps_counts_for_them),
        cmocka_unit_test(test_steps_without_operators_count_for_nothing),
        cmocka_unit_test(test_backward_and_rows_apart),
        cmocka_unit_test(test_modules_and_their_backward),
        cmocka_unit_test(test_a_node_within_a_node_is_charged_once),
        cmocka_unit_test(test_the_node_says_the_number_of_what_evaluates_it),
        cmocka_unit_test(test_without_numbers_there_is_no_backward),
        cmocka_unit_test(test_sums_count_for_steps_that_are_not_in_full),
        cmocka_unit_test(test_sums_fit_no_thread_and_no_phase),
        cmocka_unit_test(test_ranges_are_those_in_full),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
