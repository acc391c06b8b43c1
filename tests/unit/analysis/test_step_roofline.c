/* SPDX-License-Identifier: Apache-2.0 */
/* Rooflines of steps, computed by hand: what a step's FLOPs are, and whose. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "roofline_builder.h"
#include "table_checks.h"

static void the_backward_counts_by_its_own_shapes(void **state)
{
    (void)state;
    struct made made;
    begin(&made, "NVIDIA A100-SXM4-80GB");
    make_training(&made, true, false);
    make_table(&made, SS_ROOFLINE_BY_MODULE);
    struct ss_roofline_steps steps = steps_of(&made);
    assert_int_equal(steps.steps, made.training.steady);
    assert_false(steps.is_assumed || steps.is_forward_only);
    assert_float_equal(steps.flops, 3 * product_flops * (double)steps.steps, 1);
    assert_float_equal(steps.backward_flops, 2 * product_flops * (double)steps.steps, 1);
    assert_float_equal(steps.unknown_percent, 0, 0);
    assert_int_equal(steps.type, SS_DATATYPE_BF16);
    assert_float_equal(ss_roofline_mfu(&steps), 100 * 3 * product_flops / 100e-6 / 312e12, 1e-9);
    /* Of both modules, with their backward. */
    assert_real(&row_of(&made, "Linear", "bf16")[SS_ROOFLINE_FLOPS], 12 * product_flops);
    assert_real(&row_of(&made, "Net", "bf16")[SS_ROOFLINE_FLOPS], 12 * product_flops);
    end(&made);
}

static void a_backward_without_shapes_is_assumed(void **state)
{
    (void)state;
    struct made made;
    begin(&made, "NVIDIA A100-SXM4-80GB");
    make_training(&made, false, false);
    make_table(&made, SS_ROOFLINE_BY_FAMILY);
    struct ss_roofline_steps steps = steps_of(&made);
    assert_true(steps.is_assumed);
    assert_float_equal(steps.flops, 3 * product_flops * (double)steps.steps, 1);
    end(&made);
}

static void what_is_computed_again_is_not_the_model(void **state)
{
    (void)state;
    struct made made;
    begin(&made, "NVIDIA A100-SXM4-80GB");
    make_training(&made, true, true);
    make_table(&made, SS_ROOFLINE_BY_FAMILY);
    struct ss_roofline_steps steps = steps_of(&made);
    assert_float_equal(steps.flops, 3 * product_flops * (double)steps.steps, 1);
    assert_float_equal(steps.again_flops, product_flops * (double)steps.steps, 1);
    /* The device did it all the same. */
    assert_real(&row_of(&made, "matrix product", "bf16")[SS_ROOFLINE_FLOPS], 16 * product_flops);
    end(&made);
}

static void an_unknown_device_has_no_utilisation(void **state)
{
    (void)state;
    struct made made;
    begin(&made, "");
    make_training(&made, true, false);
    make_table(&made, SS_ROOFLINE_BY_FAMILY);
    struct ss_roofline_steps steps = steps_of(&made);
    assert_float_equal(ss_roofline_mfu(&steps), 0, 0);
    assert_float_equal(ss_roofline_rate(&steps), 3 * product_flops / 100e-6, 1e3);
    end(&made);
}

/* Kernels of 10 µs begin every 20 µs: in the first step of 100 µs five of these products. */
static void table_step_roofline(void **state)
{
    (void)state;
    struct made made;
    struct built_tables built;
    begin(&made, "NVIDIA A100-SXM4-80GB");
    make_training(&made, true, false);
    make_table(&made, SS_ROOFLINE_BY_FAMILY);
    build_tables(&built, "step-roofline", NULL, &made.selection, &made.training);
    check_cells(&built.tables[0], 0,
                "step=0; kind=steady; pid=42; source=sum of kernels; kernels=5; time_ns=100000; "
                "kernel_ns=50000; known_percent=100; flops=1.07374e+10; bytes=3.67002e+07; "
                "flops_per_s=1.07374e+14; flops_per_byte=292.571; compute_percent=34.4148; "
                "bound=compute");
    fini_tables(&built);
    end(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_backward_counts_by_its_own_shapes),
        cmocka_unit_test(a_backward_without_shapes_is_assumed),
        cmocka_unit_test(what_is_computed_again_is_not_the_model),
        cmocka_unit_test(an_unknown_device_has_no_utilisation),
        cmocka_unit_test(table_step_roofline),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
