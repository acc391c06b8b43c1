/* SPDX-License-Identifier: Apache-2.0 */
/* What operators, modules and phases launched on a device, of a training whose launches are
 * known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../launched_model.h"
#include "analysis/calls/forward_operators.h"
#include "analysis/kernels/launch_places.h"
#include "analysis/operators/modules.h"
#include "analysis/operators/operators.h"

enum { ALL_NS = LAUNCHED_STEPS * LAUNCHED_STEP_NS + LAUNCHED_BEFORE_NS + LAUNCHED_LOST_NS };

static const struct ss_cell *cells_of(const struct ss_table *table, const char *name)
{
    for (size_t row = 0; row < table->row_count; row++) {
        const struct ss_cell *cells = ss_table_cell(table, row, 0);
        if (ss_strview_equal(cells[0].text, ss_strview_of(name))) {
            return cells;
        }
    }
    fail_msg("no row %s", name);
    return NULL;
}

static void assert_cells(const struct ss_table *table, const char *name, size_t first,
                         const int64_t *wanted, size_t count)
{
    const struct ss_cell *cells = cells_of(table, name);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(cells[first + i].type, SS_CELL_INTEGER);
        assert_int_equal(cells[first + i].integer, wanted[i]);
    }
}

static int64_t sum_of(const struct ss_table *table, size_t column)
{
    int64_t sum = 0;
    for (size_t row = 0; row < table->row_count; row++) {
        const struct ss_cell *cell = ss_table_cell(table, row, column);
        sum += cell->type == SS_CELL_INTEGER ? cell->integer : 0;
    }
    return sum;
}

/* The names of the ranges of a place. */
static const char *name_of(const struct launched *made, uint32_t range)
{
    const struct ss_model *model = &made->model;
    uint32_t name = range != 0 ? model->paths.data[model->ranges.data[range - 1].path].name : 0;
    return ss_model_text(model, model->names.data[name].text);
}

static void test_places(void **state)
{
    (void)state;
    struct launched made;
    struct ss_launch_places places;
    launched_init(&made, NULL, NULL);
    ss_launch_places_init(
        &places, &made.selection,
        &(struct ss_launch_places_options){.domain = "torch", .training = &made.training});
    assert_int_equal(places.rows.count, 5 * LAUNCHED_STEPS + 2);
    assert_int_equal(places.all.ns, ALL_NS);
    assert_int_equal(places.unlaunched[SS_LAUNCH_BEFORE].ns, LAUNCHED_BEFORE_NS);
    assert_int_equal(places.unlaunched[SS_LAUNCH_LOST].ns, LAUNCHED_LOST_NS);
    assert_int_equal(places.steps, LAUNCHED_STEPS);
    size_t backward = 0, of_forward = 0;
    for (size_t i = 0; i < places.rows.count; i++) {
        const struct ss_launch_place *place = &places.rows.data[i];
        assert_int_equal(place->is_steady, place->call != 0);
        backward += place->node != 0;
        of_forward += place->forward != 0;
        if (place->forward != 0) {
            assert_string_equal(name_of(&made, place->forward), "addmm");
            assert_string_equal(name_of(&made, place->node), "AddmmBackward0");
            assert_string_equal(name_of(&made, place->op), "mm");
            /* the operator of the same step */
            assert_int_equal(made.model.ranges.data[place->forward - 1].begin_ns / 1000,
                             made.model.ranges.data[place->call - 1].begin_ns / 1000);
        }
    }
    assert_int_equal(backward, 2 * LAUNCHED_STEPS);
    assert_int_equal(of_forward, LAUNCHED_STEPS);
    ss_launch_places_fini(&places);
    launched_fini(&made);
}

/* Work of another thread, or of an unknown one, belongs to no selected thread. */
static void test_places_of_a_thread(void **state)
{
    (void)state;
    struct launched made;
    struct ss_launch_places places;
    launched_init(&made, NULL, "43");
    ss_launch_places_init(&places, &made.selection,
                          &(struct ss_launch_places_options){.domain = "torch"});
    assert_int_equal(places.rows.count, 2 * LAUNCHED_STEPS);
    assert_int_equal(places.all.ns, (50 + 9) * LAUNCHED_STEPS);
    assert_int_equal(places.unlaunched[SS_LAUNCH_BEFORE].count, 0);
    ss_launch_places_fini(&places);
    launched_fini(&made);
}

static void test_operators(void **state)
{
    (void)state;
    static const struct ss_operators_options options = {.sort = SS_OPERATORS_BY_DEVICE_SELF};
    enum { N = LAUNCHED_STEPS };
    struct launched made;
    struct ss_table table;
    launched_init(&made, NULL, NULL);
    ss_operators_table(&made.selection, &made.training, &options, &table);
    assert_int_equal(table.column_count, SS_OPERATOR_DEVICE_COLUMNS);
    assert_string_equal(ss_table_cell(&table, 0, 0)->text.data, "addmm");
    assert_string_equal(ss_table_cell(&table, 1, 0)->text.data, "mm");
    /* self, total, works; per step: self, total */
    assert_cells(&table, "addmm", SS_OPERATOR_DEVICE_SELF,
                 (int64_t[]){60 * N, 60 * N, 2 * N, 60, 60}, 5);
    assert_cells(&table, "linear", SS_OPERATOR_DEVICE_SELF, (int64_t[]){0, 60 * N, 0, 0, 60}, 5);
    assert_cells(&table, "mm", SS_OPERATOR_DEVICE_SELF, (int64_t[]){50 * N, 50 * N, N, 50, 50}, 5);
    assert_cells(&table, "AddmmBackward0", SS_OPERATOR_DEVICE_SELF,
                 (int64_t[]){0, 50 * N, 0, 0, 50}, 5);
    assert_cells(&table, "autograd::engine::evaluate_function: AccumulateGrad",
                 SS_OPERATOR_DEVICE_SELF, (int64_t[]){9 * N, 9 * N, N, 9, 9}, 5);
    /* the call that launches is not an operator */
    assert_cells(&table, "cudaLaunchKernel", SS_OPERATOR_DEVICE_SELF, (int64_t[]){0, 0, 0, 0, 0},
                 5);
    assert_string_equal(cells_of(&table, "cudaLaunchKernel")[SS_OPERATOR_KIND].text.data,
                        "runtime");
    assert_cells(&table, "(in no operator)", SS_OPERATOR_DEVICE_SELF,
                 (int64_t[]){7 * N, 7 * N, N, 7, 7}, 5);
    assert_cells(&table, "(launched before the recording)", SS_OPERATOR_DEVICE_SELF,
                 (int64_t[]){LAUNCHED_BEFORE_NS, LAUNCHED_BEFORE_NS, 1, 0, 0}, 5);
    assert_cells(&table, "(launch not recorded)", SS_OPERATOR_DEVICE_SELF,
                 (int64_t[]){LAUNCHED_LOST_NS, LAUNCHED_LOST_NS, 1, 0, 0}, 5);
    assert_int_equal(sum_of(&table, SS_OPERATOR_DEVICE_SELF), ALL_NS);
    assert_float_equal((float)cells_of(&table, "mm")[SS_OPERATOR_DEVICE_PERCENT].real,
                       100.0 * 50 * N / ALL_NS, 1e-4);
    ss_table_fini(&table);
    launched_fini(&made);
}

/* Limits hide operators, never what belongs to none. */
static void test_hidden_operators(void **state)
{
    (void)state;
    static const struct ss_operators_options options = {.sort = SS_OPERATORS_BY_DEVICE_TOTAL,
                                                        .max_rows = 1};
    struct launched made;
    struct ss_table table;
    launched_init(&made, NULL, NULL);
    ss_operators_table(&made.selection, &made.training, &options, &table);
    assert_int_equal(table.row_count, 1 + 3);
    assert_int_equal(table.hidden_rows, 7);
    ss_table_fini(&table);
    launched_fini(&made);
}

/* Calls of one name within each other: the total has the inner work once, and a call with an only
 * inner call of its name is one with it. */
static void test_recursion(void **state)
{
    (void)state;
    static const struct ss_operators_options options = {.sort = SS_OPERATORS_BY_SELF};
    struct launched made;
    struct ss_table table;
    launched_init(&made, NULL, NULL);
    uint32_t thread = BUILD_THREAD(&made.model, .process = made.process, .tid = 44);
    uint32_t track = launched_track(&made, SS_TRACK_RANGES, thread, "torch");
    uint32_t outer = launched_op(&made, track, 0, "copy", "operator", 0, 100, 0);
    uint32_t inner = launched_op(&made, track, outer, "copy", "operator", 10, 50, 0);
    launched_call(&made, track, inner, "cudaLaunchKernel", 20, 501);
    outer = launched_op(&made, track, 0, "sum", "operator", 200, 300, 0);
    launched_call(&made, track, outer, "cudaLaunchKernel", 205, 502);
    inner = launched_op(&made, track, outer, "to", "operator", 220, 290, 0);
    inner = launched_op(&made, track, inner, "sum", "operator", 230, 280, 0);
    launched_call(&made, track, inner, "cudaLaunchKernel", 240, 503);
    ss_vec_push(&made.model.streams, (struct ss_model_stream){.device = 1, .number = 8});
    uint32_t stream = launched_track(&made, SS_TRACK_RANGES, 0, "stream 8");
    made.model.tracks.data[stream].device = 1;
    made.model.tracks.data[stream].stream = 2;
    launched_work(&made, stream, "a", SS_EVENT_TYPE_kernel, 100, 11, 501);
    launched_work(&made, stream, "b", SS_EVENT_TYPE_kernel, 300, 13, 502);
    launched_work(&made, stream, "c", SS_EVENT_TYPE_kernel, 400, 17, 503);
    ss_selection_fini(&made.selection);
    static const struct ss_selection_options all = {.idle = SS_IDLE_ALL};
    assert_int_equal(ss_selection_init(&made.selection, &made.model, &all, NULL), SS_OK);
    ss_operators_table(&made.selection, NULL, &options, &table);
    assert_cells(&table, "copy", SS_OPERATOR_DEVICE_SELF, (int64_t[]){11, 11, 1}, 3);
    assert_cells(&table, "sum", SS_OPERATOR_DEVICE_SELF, (int64_t[]){30, 30, 2}, 3);
    assert_cells(&table, "to", SS_OPERATOR_DEVICE_SELF, (int64_t[]){0, 17, 0}, 3);
    assert_int_equal(cells_of(&table, "copy")[SS_OPERATOR_STEP_DEVICE_SELF].type, SS_CELL_ABSENT);
    assert_int_equal(sum_of(&table, SS_OPERATOR_DEVICE_SELF), ALL_NS + 11 + 13 + 17);
    ss_table_fini(&table);
    launched_fini(&made);
}

static void test_no_device(void **state)
{
    (void)state;
    static const struct ss_operators_options options = {.sort = SS_OPERATORS_BY_DEVICE_SELF};
    struct ss_model model;
    struct ss_selection selection;
    struct ss_table table;
    static const struct ss_selection_options all = {.idle = SS_IDLE_ALL};
    ss_model_init(&model);
    uint32_t process = BUILD_PROCESS(&model, .pid = 1);
    uint32_t thread = BUILD_THREAD(&model, .process = process, .tid = 1);
    uint32_t track = BUILD_TRACK(&model, .kind = SS_TRACK_RANGES, .process = process,
                                 .thread = thread, .name = "torch");
    BUILD_RANGE(&model, .track = track, .name = "add", .category = "operator", .end_ns = 10);
    assert_int_equal(ss_selection_init(&selection, &model, &all, NULL), SS_OK);
    ss_operators_table(&selection, NULL, &options, &table);
    assert_int_equal(table.column_count, SS_OPERATOR_COLUMNS);
    assert_int_equal(table.row_count, 1);
    ss_table_fini(&table);
    ss_key_averages_table(&selection, NULL, &options, &table);
    assert_int_equal(table.column_count, SS_KEY_COUNT + 1);
    ss_table_fini(&table);
    ss_selection_fini(&selection);
    ss_model_fini(&model);
}

static void assert_us(const struct ss_cell *cell, double us)
{
    assert_int_equal(cell->type, SS_CELL_REAL);
    assert_float_equal((float)cell->real, us, 1e-6);
}

/* As torch: operators and, beside them, the work itself by name. */
static void test_key_averages(void **state)
{
    (void)state;
    static const struct ss_operators_options options = {.sort = SS_OPERATORS_BY_DEVICE_SELF};
    enum { N = LAUNCHED_STEPS };
    struct launched made;
    struct ss_table table;
    launched_init(&made, NULL, NULL);
    ss_key_averages_table(&made.selection, &made.training, &options, &table);
    assert_int_equal(table.device_ns, ALL_NS);
    assert_string_equal(ss_table_cell(&table, 0, 0)->text.data, "matmul");
    const struct ss_cell *matmul = cells_of(&table, "matmul"), *linear = cells_of(&table, "linear");
    assert_string_equal(matmul[SS_KEY_DEVICE_TYPE].text.data, "CUDA");
    assert_int_equal(matmul[SS_KEY_COUNT].integer, 2 * N);
    assert_us(&matmul[SS_KEY_SELF], 0);
    assert_us(&matmul[SS_KEY_SELF_DEVICE], 0.09 * N);
    assert_us(&matmul[SS_KEY_DEVICE_TOTAL], 0.09 * N);
    assert_us(&matmul[SS_KEY_DEVICE_MEAN], 0.045);
    assert_string_equal(linear[SS_KEY_DEVICE_TYPE].text.data, "CPU");
    assert_us(&linear[SS_KEY_SELF_DEVICE], 0);
    assert_us(&linear[SS_KEY_DEVICE_TOTAL], 0.06 * N);
    assert_us(&linear[SS_KEY_DEVICE_MEAN], 0.06);
    double on_device = 0;
    for (size_t row = 0; row < table.row_count; row++) {
        const struct ss_cell *cells = ss_table_cell(&table, row, 0);
        bool is_work = strcmp(cells[SS_KEY_DEVICE_TYPE].text.data, "CUDA") == 0;
        on_device += is_work ? cells[SS_KEY_SELF_DEVICE].real : 0;
    }
    assert_float_equal((float)on_device, ALL_NS / 1000.0, 1e-6);
    ss_table_fini(&table);
    launched_fini(&made);
}

static void test_modules(void **state)
{
    (void)state;
    static const struct ss_operators_options options = {.sort = SS_OPERATORS_BY_DEVICE_SELF};
    enum { N = LAUNCHED_STEPS };
    struct launched made;
    struct ss_table table;
    launched_init(&made, NULL, NULL);
    ss_modules_table(&made.selection, &made.training, &options, &table);
    assert_string_equal(ss_table_cell(&table, 0, 0)->text.data, "Linear");
    /* forward, self, backward, self; per step: forward, backward */
    assert_cells(&table, "Linear", SS_MODULE_DEVICE,
                 (int64_t[]){60 * N, 60 * N, 50 * N, 50 * N, 60, 50}, 6);
    assert_cells(&table, "Net", SS_MODULE_DEVICE, (int64_t[]){60 * N, 0, 50 * N, 0, 60, 50}, 6);
    assert_cells(&table, "(in no module)", SS_MODULE_DEVICE,
                 (int64_t[]){16 * N, 16 * N, 0, 0, 16, 0}, 6);
    assert_int_equal(sum_of(&table, SS_MODULE_DEVICE_SELF) +
                         sum_of(&table, SS_MODULE_DEVICE_BACKWARD_SELF),
                     ALL_NS);
    ss_table_fini(&table);
    launched_fini(&made);
}

static void test_phases(void **state)
{
    (void)state;
    enum { N = LAUNCHED_STEPS };
    struct launched made;
    struct ss_table table;
    launched_init(&made, NULL, NULL);
    ss_phases_table(&made.training, &made.selection, &table);
    assert_int_equal(table.column_count, SS_PHASE_DEVICE_COLUMNS);
    assert_cells(&table, "forward", SS_PHASE_DEVICE_TOTAL, (int64_t[]){67 * N, 67}, 2);
    assert_cells(&table, "backward", SS_PHASE_DEVICE_TOTAL, (int64_t[]){59 * N, 59}, 2);
    assert_cells(&table, "other", SS_PHASE_DEVICE_TOTAL, (int64_t[]){0, 0}, 2);
    assert_float_equal((float)cells_of(&table, "forward")[SS_PHASE_DEVICE_STEP_WORKS].real, 3,
                       1e-6);
    assert_float_equal((float)cells_of(&table, "forward")[SS_PHASE_DEVICE_PERCENT].real,
                       100.0 * 67 / LAUNCHED_STEP_NS, 1e-4);
    assert_int_equal(table.notes.count, 1); /* what was not launched in these steps */
    ss_table_fini(&table);
    launched_fini(&made);
}

/* Numbers of calls of the runtime are correlations: they name no operator. */
static void test_numbers(void **state)
{
    (void)state;
    struct launched made;
    struct ss_forward_operators operators;
    launched_init(&made, NULL, NULL);
    uint8_t *kinds = ss_call_kinds(&made.model);
    ss_forward_operators_init(&operators, &made.model, "torch", kinds, NULL);
    assert_int_equal(operators.rows.count, LAUNCHED_STEPS);
    assert_null(ss_forward_operator_of(&operators, made.process, 5, 110));
    const struct ss_forward_operator *found =
        ss_forward_operator_of(&operators, made.process, 5, 111);
    assert_non_null(found);
    assert_string_equal(name_of(&made, found->range + 1), "addmm");
    assert_null(ss_forward_operator_of(&operators, made.process, 1, 5000));
    assert_null(ss_forward_operator_of(&operators, made.process + 1, 5, 5000));
    ss_forward_operators_fini(&operators);
    ss_free(kinds);
    launched_fini(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_places),       cmocka_unit_test(test_places_of_a_thread),
        cmocka_unit_test(test_operators),    cmocka_unit_test(test_hidden_operators),
        cmocka_unit_test(test_recursion),    cmocka_unit_test(test_no_device),
        cmocka_unit_test(test_key_averages), cmocka_unit_test(test_modules),
        cmocka_unit_test(test_phases),       cmocka_unit_test(test_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
