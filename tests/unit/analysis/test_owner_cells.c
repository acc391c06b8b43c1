/* SPDX-License-Identifier: Apache-2.0 */
/* Processes and threads that a file numbers, names, or neither. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../model_builder.h"
#include "analysis/table/owner_cells.h"

static void check_text(struct ss_cell cell, const char *expected)
{
    assert_int_equal(cell.type, SS_CELL_TEXT);
    assert_true(ss_strview_equal(cell.text, ss_strview_of(expected)));
}

static void a_number_else_a_name(void **state)
{
    (void)state;
    struct ss_model model;
    ss_model_init(&model);
    uint32_t numbered = BUILD_PROCESS(&model, .pid = 7, .name = "python");
    uint32_t named = BUILD_PROCESS(&model, .pid = -1, .name = "rank 0");
    uint32_t neither = BUILD_PROCESS(&model, .pid = -1);
    assert_int_equal(ss_process_cell(&model, numbered).integer, 7);
    check_text(ss_process_cell(&model, named), "rank 0");
    assert_int_equal(ss_process_cell(&model, neither).type, SS_CELL_ABSENT);
    assert_int_equal(ss_process_cell(&model, 0).type, SS_CELL_ABSENT);
    uint32_t thread = BUILD_THREAD(&model, .process = named, .tid = -5, .name = "autograd");
    assert_int_equal(ss_thread_cell(&model, thread).integer, -5); /* of a pthread, truncated */
    thread = BUILD_THREAD(&model, .process = named, .tid = -1, .name = "main loop");
    check_text(ss_thread_cell(&model, thread), "main loop");
    thread = BUILD_THREAD(&model, .process = named, .tid = -1);
    assert_int_equal(ss_thread_cell(&model, thread).type, SS_CELL_ABSENT);
    ss_model_fini(&model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_number_else_a_name)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
