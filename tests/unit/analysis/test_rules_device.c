/* SPDX-License-Identifier: Apache-2.0 */
/* Rules on what keeps a device from computing. Each step of 10 ms is the same (device_shape.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "device_shape.h"
#include "diagnosis_checks.h"

static void finds(const struct device_shape *shape, const char *wanted)
{
    struct device_made made;
    device_make(&made, shape);
    check_findings(&made.diagnosis, wanted);
    device_end(&made);
}

static void test_clean(void **state)
{
    (void)state;
    finds(&device_clean, "");
}

/* The matrix product begins 20 µs after its launch. */
static struct device_shape launched_at(uint64_t launch_us)
{
    struct device_shape shape = device_clean;
    shape.calls[0] = (struct shaped_call){"cudaLaunchKernel", launch_us, launch_us + 10, 0};
    shape.works[0].begin_us = launch_us + 20;
    return shape;
}

/* --- device-input ----------------------------------------------------------------------------- */

/* A batch is fetched for `data_us`, then work is launched. */
static struct device_shape fetching(uint64_t data_us, uint64_t launch_us)
{
    struct device_shape shape = launched_at(launch_us);
    shape.phases[0] = (struct shaped_phase){"data", 0, data_us};
    shape.data_samples = 40;
    return shape;
}

static void rule_device_input_fires(void **state)
{
    (void)state;
    struct device_made made;
    struct device_shape shape = fetching(1000, 1000);
    device_make(&made, &shape);
    const struct ss_finding *finding = only_finding(&made.diagnosis, "device-input");
    check_cost(finding, 1000, 1000, 10); /* the fetch, of 10 ms */
    /* 100 before the step's end, the fetch, 20 of latency. */
    check_evidence(finding, "idle", 1120e3);
    assert_ptr_equal(finding->phase, ss_training_phase(&made.facts, "data"));
    assert_int_equal(made.timed.model.frames.data[finding->line->frame].line, 12);
    assert_int_equal(finding->line->samples, 40);
    device_end(&made);
}

static void rule_device_input_just_does_not_fire(void **state)
{
    (void)state;
    struct device_shape shape = fetching(500, 500); /* 5 % */
    finds(&shape, "device-input");
    shape = fetching(499, 499);
    finds(&shape, "");
}

static void rule_device_input_beside_a_larger_one(void **state)
{
    (void)state;
    struct device_made made;
    struct device_shape shape = fetching(1000, 3000); /* and 2 ms until the launch */
    device_make(&made, &shape);
    check_findings(&made.diagnosis, "launch-bound device-input");
    check_cost(&made.diagnosis.findings.data[0], 2120, 2120, 21.2); /* 2000 + 100 + 20 */
    check_cost(&made.diagnosis.findings.data[1], 1000, 1000, 10);
    device_end(&made);
}

/* --- launch-bound ----------------------------------------------------------------------------- */

static void rule_launch_bound_fires(void **state)
{
    (void)state;
    struct device_made made;
    struct device_shape shape = launched_at(1500);
    device_make(&made, &shape);
    const struct ss_finding *finding = only_finding(&made.diagnosis, "launch-bound");
    check_cost(finding, 1620, 1620, 16.2); /* 100 before the step, 1500 in it, 20 of latency */
    check_evidence(finding, "launches a step", 1);
    check_evidence(finding, "median kernel", 8380e3); /* 9900 - 1520 */
    check_evidence(finding, "computing on the device", 8380e3);
    device_end(&made);
}

static void rule_launch_bound_just_does_not_fire(void **state)
{
    (void)state;
    struct device_shape shape = launched_at(880); /* 100 + 880 + 20: 10 % */
    finds(&shape, "launch-bound");
    shape = launched_at(879);
    finds(&shape, "");
}

static void rule_launch_bound_beside_a_larger_one(void **state)
{
    (void)state;
    struct device_made made;
    struct device_shape shape = fetching(3000, 4500);
    device_make(&made, &shape);
    check_findings(&made.diagnosis, "device-input launch-bound");
    check_cost(&made.diagnosis.findings.data[0], 3000, 3000, 30);
    check_cost(&made.diagnosis.findings.data[1], 1620, 1620, 16.2); /* 100 + 1500 + 20 */
    device_end(&made);
}

/* --- device-wait ------------------------------------------------------------------------------ */

/* Until 8010 the host waits for a kernel that ends at 8000, then it launches another one. */
static struct device_shape waiting(uint64_t first_us, uint64_t launch_us)
{
    struct device_shape shape = launched_at(first_us);
    shape.works[0].end_us = 8000;
    shape.calls[1] = (struct shaped_call){"cudaStreamSynchronize", first_us + 100, 8010, 0};
    shape.calls[2] = (struct shaped_call){"cudaLaunchKernel", launch_us, launch_us + 10, 0};
    shape.works[1] = (struct shaped_work){
        .name = "gemm", .begin_us = launch_us + 20, .end_us = 9900, .launch = 3};
    return shape;
}

static void rule_device_wait_fires(void **state)
{
    (void)state;
    struct device_made made;
    struct device_shape shape = waiting(100, 8300);
    device_make(&made, &shape);
    const struct ss_finding *finding = only_finding(&made.diagnosis, "device-wait");
    check_cost(finding, 300, 300, 3); /* from the kernel's end to the launch */
    check_evidence(finding, "waits a step", 1);
    check_evidence(finding, "the host waits", 7810e3); /* 8010 - 200 */
    const struct ss_model *model = &made.timed.model;
    assert_string_equal(ss_model_text(model, model->names.data[finding->wait->call].text),
                        "cudaStreamSynchronize");
    assert_string_equal(ss_model_text(model, model->names.data[finding->wait->work].text), "gemm");
    assert_int_equal(finding->wait->steady_count, DEVICE_STEPS);
    device_end(&made);
}

static void rule_device_wait_just_does_not_fire(void **state)
{
    (void)state;
    struct device_shape shape = waiting(100, 8200); /* 2 % */
    finds(&shape, "device-wait");
    shape = waiting(100, 8199);
    finds(&shape, "");
}

static void rule_device_wait_beside_a_larger_one(void **state)
{
    (void)state;
    struct device_made made;
    struct device_shape shape = waiting(1500, 8300);
    device_make(&made, &shape);
    check_findings(&made.diagnosis, "launch-bound device-wait");
    check_cost(&made.diagnosis.findings.data[0], 1640, 1640, 16.4); /* 100 + 1500 + 2 × 20 */
    check_cost(&made.diagnosis.findings.data[1], 300, 300, 3);
    device_end(&made);
}

/* --- device-unexplained ----------------------------------------------------------------------- */

/* Launched at 10, the kernel begins much later; no other work is recorded. */
static struct device_shape delayed(const char *kernel, uint64_t begin_us)
{
    struct device_shape shape = launched_at(10);
    shape.works[0].name = kernel;
    shape.works[0].begin_us = begin_us;
    return shape;
}

static void rule_device_unexplained_fires(void **state)
{
    (void)state;
    struct device_made made;
    struct device_shape shape = delayed("gemm", 2520);
    device_make(&made, &shape);
    const struct ss_finding *finding = only_finding(&made.diagnosis, "device-unexplained");
    check_cost(finding, 2510, 2510, 25.1);
    check_evidence(finding, "total idle", 2620e3); /* 100 + 10 + 2510 */
    assert_null(finding->wait);
    device_end(&made);
    shape.calls[1] = (struct shaped_call){"cudaStreamSynchronize", 2600, 2900, 0};
    shape.calls[2] = (struct shaped_call){"cudaDeviceSynchronize", 3000, 9000, 0};
    device_make(&made, &shape);
    finding = only_finding(&made.diagnosis, "device-unexplained");
    check_evidence(finding, "the host waits", 6300e3);
    assert_int_equal(finding->wait->steady_ns, DEVICE_STEPS * UINT64_C(6000000));
    device_end(&made);
}

static void rule_device_unexplained_just_does_not_fire(void **state)
{
    (void)state;
    struct device_shape shape = delayed("gemm", 2010); /* 20 % */
    finds(&shape, "device-unexplained");
    shape = delayed("gemm", 2009);
    finds(&shape, "");
}

static void rule_device_unexplained_beside_a_larger_one(void **state)
{
    (void)state;
    struct device_made made;
    struct device_shape shape = delayed("softmax_warp_forward", 2520);
    device_make(&made, &shape);
    check_findings(&made.diagnosis, "main-kernel device-unexplained");
    check_cost(&made.diagnosis.findings.data[0], 7380, 7380, 73.8); /* 9900 - 2520 */
    check_cost(&made.diagnosis.findings.data[1], 2510, 2510, 25.1);
    device_end(&made);
}

/* --- device-allocations ----------------------------------------------------------------------- */

static struct device_shape allocating(uint64_t launch_us, uint64_t us, uint32_t each)
{
    struct device_shape shape = launched_at(launch_us);
    shape.calls[1] =
        (struct shaped_call){"cudaMalloc", launch_us + 100, launch_us + 100 + us, each};
    return shape;
}

static void rule_device_allocations_fires(void **state)
{
    (void)state;
    struct device_made made;
    struct device_shape shape = allocating(100, 400, 0);
    device_make(&made, &shape);
    const struct ss_finding *finding = only_finding(&made.diagnosis, "device-allocations");
    check_cost(finding, 400, 400, 4);
    check_evidence(finding, "calls a step", 1);
    assert_int_equal(finding->evidence_count, 1); /* no bytes were recorded */
    device_end(&made);
    shape.allocated_bytes = 1 << 20;
    device_make(&made, &shape);
    finding = only_finding(&made.diagnosis, "device-allocations");
    check_evidence(finding, "allocated a step", 1 << 20);
    device_end(&made);
}

static void rule_device_allocations_just_does_not_fire(void **state)
{
    (void)state;
    struct device_shape shape = allocating(100, 200, 0); /* 2 % */
    finds(&shape, "device-allocations");
    shape = allocating(100, 199, 0);
    finds(&shape, "");
    shape = allocating(100, 800, 2); /* 4 %, but not in every step */
    finds(&shape, "");
}

static void rule_device_allocations_beside_a_larger_one(void **state)
{
    (void)state;
    struct device_made made;
    struct device_shape shape = allocating(1500, 400, 0);
    device_make(&made, &shape);
    check_findings(&made.diagnosis, "launch-bound device-allocations");
    check_cost(&made.diagnosis.findings.data[0], 1620, 1620, 16.2);
    check_cost(&made.diagnosis.findings.data[1], 400, 400, 4);
    device_end(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clean),
        cmocka_unit_test(rule_device_input_fires),
        cmocka_unit_test(rule_device_input_just_does_not_fire),
        cmocka_unit_test(rule_device_input_beside_a_larger_one),
        cmocka_unit_test(rule_launch_bound_fires),
        cmocka_unit_test(rule_launch_bound_just_does_not_fire),
        cmocka_unit_test(rule_launch_bound_beside_a_larger_one),
        cmocka_unit_test(rule_device_wait_fires),
        cmocka_unit_test(rule_device_wait_just_does_not_fire),
        cmocka_unit_test(rule_device_wait_beside_a_larger_one),
        cmocka_unit_test(rule_device_unexplained_fires),
        cmocka_unit_test(rule_device_unexplained_just_does_not_fire),
        cmocka_unit_test(rule_device_unexplained_beside_a_larger_one),
        cmocka_unit_test(rule_device_allocations_fires),
        cmocka_unit_test(rule_device_allocations_just_does_not_fire),
        cmocka_unit_test(rule_device_allocations_beside_a_larger_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
