/* SPDX-License-Identifier: Apache-2.0 */
/* Which line of Python launched the work of a device: by calls of functions, by stacks of
 * operators, and of the backward pass by its forward. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../launched_model.h"
#include "analysis/kernels/kernel_lines.h"

enum {
    N = LAUNCHED_STEPS,
    ALL_NS = LAUNCHED_STEPS * LAUNCHED_STEP_NS + LAUNCHED_BEFORE_NS + LAUNCHED_LOST_NS
};

static void make(struct launched *made, const char *stack,
                 const struct ss_kernel_lines_options *options, struct ss_table *table)
{
    launched_init(made, stack, NULL);
    ss_kernel_lines_table(&made->selection, &made->training, options, table);
}

static void end(struct launched *made, struct ss_table *table)
{
    ss_table_fini(table);
    launched_fini(made);
}

static void assert_line(const struct ss_table *table, size_t row, const char *path, int64_t line,
                        const char *function)
{
    const struct ss_cell *cells = ss_table_cell(table, row, 0);
    if (path == NULL) {
        assert_int_equal(cells[SS_KERNEL_LINE_PATH].type, SS_CELL_ABSENT);
    } else {
        assert_string_equal(cells[SS_KERNEL_LINE_PATH].text.data, path);
        assert_int_equal(cells[SS_KERNEL_LINE_NUMBER].integer, line);
    }
    assert_string_equal(cells[SS_KERNEL_LINE_FUNCTION].text.data, function);
}

static void assert_times(const struct ss_table *table, size_t row, const int64_t *wanted)
{
    static const size_t columns[] = {SS_KERNEL_LINE_TOTAL,    SS_KERNEL_LINE_KERNELS,
                                     SS_KERNEL_LINE_WORKS,    SS_KERNEL_LINE_STEP_TIME,
                                     SS_KERNEL_LINE_BACKWARD, SS_KERNEL_LINE_COMMUNICATION,
                                     SS_KERNEL_LINE_COPY};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        const struct ss_cell *cell = ss_table_cell(table, row, columns[i]);
        assert_int_equal(cell->type, SS_CELL_INTEGER);
        assert_int_equal(cell->integer, wanted[i]);
    }
}

static void assert_whole(const struct ss_table *table)
{
    int64_t sum = 0;
    for (size_t row = 0; row < table->row_count; row++) {
        sum += ss_table_cell(table, row, SS_KERNEL_LINE_TOTAL)->integer;
    }
    assert_int_equal(sum, ALL_NS);
    assert_int_equal(table->whole_ns, ALL_NS);
}

/* The innermost function of the user's is forward, whatever it calls; its backward is its own. */
static void test_calls_of_functions(void **state)
{
    (void)state;
    static const struct ss_kernel_lines_options options = {0};
    struct launched made;
    struct ss_table table;
    make(&made, NULL, &options, &table);
    assert_int_equal(table.row_count, 5);
    assert_line(&table, 0, "train.py", 10, "forward");
    assert_times(&table, 0, (int64_t[]){110 * N, 2 * N, 3 * N, 110, 50 * N, 0, 20 * N});
    assert_line(&table, 1, "train.py", 80, "main");
    assert_times(&table, 1, (int64_t[]){7 * N, N, N, 7, 0, 0, 0});
    assert_line(&table, 2, NULL, 0, "(no line known)");
    assert_times(&table, 2, (int64_t[]){9 * N, N, N, 9, 9 * N, 9 * N, 0});
    assert_line(&table, 3, NULL, 0, "(launched before the recording)");
    assert_times(&table, 3, (int64_t[]){LAUNCHED_BEFORE_NS, 1, 1, 0, 0, 0, 0});
    assert_line(&table, 4, NULL, 0, "(launch not recorded)");
    const struct ss_cell *cells = ss_table_cell(&table, 0, 0);
    assert_string_equal(cells[SS_KERNEL_LINE_HEAVIEST].text.data, "matmul");
    assert_int_equal(cells[SS_KERNEL_LINE_HEAVIEST_TIME].integer, 90 * N);
    assert_float_equal((float)cells[SS_KERNEL_LINE_STEP_KERNELS].real, 2, 1e-6);
    assert_whole(&table);
    end(&made, &table);
}

/* Without calls of functions, the stack of the operator: the innermost frame of the user's. */
static void test_stacks_of_operators(void **state)
{
    (void)state;
    static const char stack[] =
        "[\"<built-in function linear>\", \"torch/nn/modules/linear.py(114): forward\", "
        "\"model.py(33): forward\", \"train.py(80): main\"]";
    static const struct ss_kernel_lines_options options = {0};
    struct launched made;
    struct ss_table table;
    make(&made, stack, &options, &table);
    assert_int_equal(table.row_count, 4);
    assert_line(&table, 0, "model.py", 33, "forward");
    assert_times(&table, 0, (int64_t[]){110 * N, 2 * N, 3 * N, 110, 50 * N, 0, 20 * N});
    assert_line(&table, 1, NULL, 0, "(no line known)");
    assert_times(&table, 1, (int64_t[]){16 * N, 2 * N, 2 * N, 16, 9 * N, 9 * N, 0});
    assert_whole(&table);
    end(&made, &table);
}

/* Of libraries alone, that which is not PyTorch; of PyTorch alone, the innermost. */
static void test_stacks_without_own_code(void **state)
{
    (void)state;
    static const struct {
        const char *stack, *path, *function;
        int64_t line;
    } cases[] = {
        {"[\"torch/_ops.py(9): __call__\", \"vllm/layer.py(7): apply\", \"vllm/run.py(1): run\"]",
         "vllm/layer.py", "apply", 7},
        {"[\"torch/_ops.py(9): __call__\", \"threading.py(1): run\"]", "torch/_ops.py", "__call__",
         9},
        {"[\"/usr/lib/python3/site-packages/torch/_ops.py(9): __call__\"]", "torch/_ops.py",
         "__call__", 9},
        {"[\"/tmp/torchinductor_me/ab/cab.py(5): call\", \"vllm/run.py(1): run\"]", "vllm/run.py",
         "run", 1}};
    static const struct ss_kernel_lines_options options = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct launched made;
        struct ss_table table;
        make(&made, cases[i].stack, &options, &table);
        assert_line(&table, 0, cases[i].path, cases[i].line, cases[i].function);
        end(&made, &table);
    }
}

static void test_damaged_stacks(void **state)
{
    (void)state;
    static const char *const stacks[] = {
        "[\"a.py(1): f\"", "{}",           "[1, null, [\"a.py(1): f\"]]",
        "[\"a.py(): f\"]", "[\"(1): f\"]", "[\"a.py(99999999999): f\"]"};
    static const struct ss_kernel_lines_options options = {0};
    for (size_t i = 0; i < sizeof stacks / sizeof *stacks; i++) {
        struct launched made;
        struct ss_table table;
        make(&made, stacks[i], &options, &table);
        assert_line(&table, 0, NULL, 0, "(no line known)");
        assert_int_equal(table.notes.count, 1); /* how to record frames */
        assert_whole(&table);
        end(&made, &table);
    }
}

static void test_order_and_limit(void **state)
{
    (void)state;
    static const struct ss_kernel_lines_options by_copy = {.sort = SS_KERNEL_LINES_BY_COPY,
                                                           .max_rows = 1};
    struct launched made;
    struct ss_table table;
    make(&made, NULL, &by_copy, &table);
    assert_int_equal(table.row_count, 4);
    assert_int_equal(table.hidden_rows, 1);
    assert_line(&table, 0, "train.py", 10, "forward");
    assert_line(&table, 1, NULL, 0, "(no line known)");
    end(&made, &table);
}

static void test_frame_parts(void **state)
{
    (void)state;
    struct ss_frame_parts parts = ss_frame_parts_of(ss_strview_of("a (b).py(12): f(x): g"));
    assert_int_equal(parts.line, 12);
    assert_true(ss_strview_equal(parts.path, ss_strview_of("a (b).py")));
    assert_true(ss_strview_equal(parts.function, ss_strview_of("f(x): g")));
    parts = ss_frame_parts_of(ss_strview_of("<built-in function len>"));
    assert_int_equal(parts.path.length, 0);
    assert_true(ss_strview_equal(parts.function, ss_strview_of("<built-in function len>")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calls_of_functions),      cmocka_unit_test(test_stacks_of_operators),
        cmocka_unit_test(test_stacks_without_own_code), cmocka_unit_test(test_damaged_stacks),
        cmocka_unit_test(test_order_and_limit),         cmocka_unit_test(test_frame_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
