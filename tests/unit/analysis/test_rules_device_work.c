/* SPDX-License-Identifier: Apache-2.0 */
/* Rules on what a device does: kernels, copies, communication. Each step of 10 ms is the same
 * (device_shape.h). */
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

/* A kernel of this name, then a matrix product until 9900. */
static struct device_shape running(const char *kernel, uint64_t launch_us, uint64_t us)
{
    struct device_shape shape = device_clean;
    uint64_t end_us = launch_us + 20 + us;
    shape.calls[0] = (struct shaped_call){"cudaLaunchKernel", launch_us, launch_us + 10, 0};
    shape.calls[1] = (struct shaped_call){"cudaLaunchKernel", launch_us + 10, launch_us + 20, 0};
    shape.works[0] = (struct shaped_work){
        .name = kernel, .begin_us = launch_us + 20, .end_us = end_us, .launch = 1};
    shape.works[1] =
        (struct shaped_work){.name = "gemm", .begin_us = end_us, .end_us = 9900, .launch = 2};
    return shape;
}

/* --- pageable-copies -------------------------------------------------------------------------- */

static struct device_shape copying(const char *memory, uint64_t us)
{
    struct device_shape shape = running("Memcpy HtoD", 100, us);
    shape.works[0].from_memory = memory;
    shape.works[0].bytes = 1 << 20;
    return shape;
}

static void rule_pageable_copies_fires(void **state)
{
    (void)state;
    struct device_made made;
    struct device_shape shape = copying("pageable", 400);
    device_make(&made, &shape);
    const struct ss_finding *finding = only_finding(&made.diagnosis, "pageable-copies");
    check_cost(finding, 400, 400, 4);
    check_evidence(finding, "copies a step", 1);
    check_evidence(finding, "size", 1 << 20);
    device_end(&made);
}

static void rule_pageable_copies_just_does_not_fire(void **state)
{
    (void)state;
    struct device_shape shape = copying("pageable", 200); /* 2 % */
    finds(&shape, "pageable-copies");
    shape = copying("pageable", 199);
    finds(&shape, "");
    shape = copying("pinned", 400);
    finds(&shape, "");
    shape = copying("pageable", 400); /* the last 201 of it beside a kernel */
    shape.works[1].begin_us = 120 + 199;
    shape.works[1].stream = 1;
    finds(&shape, "");
    shape.works[1].begin_us = 120 + 200;
    finds(&shape, "pageable-copies");
}

static void rule_pageable_copies_beside_a_larger_one(void **state)
{
    (void)state;
    struct device_made made;
    struct device_shape shape = copying("pageable", 400);
    shape.works[1].name = "softmax_warp_forward";
    device_make(&made, &shape);
    check_findings(&made.diagnosis, "main-kernel pageable-copies");
    check_cost(&made.diagnosis.findings.data[0], 9380, 9380, 93.8); /* 9900 - 520 */
    check_cost(&made.diagnosis.findings.data[1], 400, 400, 4);
    device_end(&made);
}

/* --- device-late-rank ------------------------------------------------------------------------- */

/* Rank 0 reduces from 5000 on. Rank 1 computes for `late_us` more before it does. From there the
 * data take `transfer_us`. */
static struct device_shape reducing(uint64_t late_us, uint64_t transfer_us)
{
    static const char nccl[] = "ncclDevKernel_AllReduce_Sum_f32_RING_LL";
    struct device_shape shape = device_clean;
    for (size_t i = 1; i < 3; i++) {
        shape.calls[i] = (struct shaped_call){"cudaLaunchKernel", 100 + 10 * i, 110 + 10 * i, 0};
    }
    struct shaped_work *const ranks[] = {shape.works, shape.works_of_rank_1};
    for (size_t rank = 0; rank < 2; rank++) {
        uint64_t begin_us = 5000 + (rank == 1 ? late_us : 0);
        uint64_t end_us = 5000 + late_us + transfer_us;
        ranks[rank][0] =
            (struct shaped_work){.name = "gemm", .begin_us = 120, .end_us = begin_us, .launch = 1};
        ranks[rank][1] =
            (struct shaped_work){.name = nccl, .begin_us = begin_us, .end_us = end_us, .launch = 2};
        ranks[rank][2] =
            (struct shaped_work){.name = "gemm", .begin_us = end_us, .end_us = 9900, .launch = 3};
    }
    return shape;
}

static void rule_device_late_rank_fires(void **state)
{
    (void)state;
    struct device_made made;
    struct device_shape shape = reducing(1500, 100);
    device_make(&made, &shape);
    const struct ss_finding *finding = only_finding(&made.diagnosis, "device-late-rank");
    check_cost(finding, 1500, 1500, 15); /* what rank 0 waits for rank 1 */
    check_evidence(finding, "late: rank", 1);
    check_evidence(finding, "the others wait longer by", 1500e3);
    check_evidence(finding, "waits for the last rank", 750e3); /* the mean: rank 1 does not */
    check_evidence(finding, "last in collectives", DEVICE_STEPS);
    check_evidence(finding, "of", DEVICE_STEPS);
    device_end(&made);
}

static void rule_device_late_rank_just_does_not_fire(void **state)
{
    (void)state;
    struct device_shape shape = reducing(500, 100); /* of 10,000 */
    finds(&shape, "device-late-rank");
    shape = reducing(499, 100);
    finds(&shape, "");
}

/* What is neither a wait nor hidden is the transfer itself. */
static void rule_device_late_rank_beside_a_larger_one(void **state)
{
    (void)state;
    struct device_made made;
    struct device_shape shape = reducing(1500, 2000);
    device_make(&made, &shape);
    check_findings(&made.diagnosis, "device-communication device-late-rank");
    check_cost(&made.diagnosis.findings.data[0], 2000, 2000, 20);
    check_cost(&made.diagnosis.findings.data[1], 1500, 1500, 15);
    device_end(&made);
}

/* --- device-communication --------------------------------------------------------------------- */

/* The collective runs beside the matrix product for 200, then `exposed_us` alone. */
static struct device_shape communicating(uint64_t launch_us, uint64_t exposed_us)
{
    struct device_shape shape = running("gemm", launch_us, 7000 - launch_us - 20);
    shape.works[1].begin_us = 7000 + exposed_us;
    shape.calls[2] = (struct shaped_call){"cudaLaunchKernel", launch_us + 20, launch_us + 30, 0};
    shape.works[2] = (struct shaped_work){.name = "ncclDevKernel_AllGather_RING_LL",
                                          .begin_us = 6800,
                                          .end_us = 7000 + exposed_us,
                                          .launch = 3,
                                          .stream = 1};
    return shape;
}

static void rule_device_communication_fires(void **state)
{
    (void)state;
    struct device_made made;
    struct device_shape shape = communicating(100, 1000);
    device_make(&made, &shape);
    const struct ss_finding *finding = only_finding(&made.diagnosis, "device-communication");
    check_cost(finding, 1000, 1000, 10);
    check_evidence(finding, "total communication", 1200e3);
    check_evidence(finding, "hidden behind computation", 100 * 200 / 1200.0);
    assert_null(finding->exposed); /* of no known module */
    device_end(&made);
    shape.works[2].module = "layers.3";
    device_make(&made, &shape);
    finding = only_finding(&made.diagnosis, "device-communication");
    assert_int_equal(finding->exposed->count, DEVICE_STEPS);
    assert_int_equal(finding->exposed->ns, DEVICE_STEPS * UINT64_C(1000000));
    device_end(&made);
}

static void rule_device_communication_just_does_not_fire(void **state)
{
    (void)state;
    struct device_shape shape = communicating(100, 500); /* 5 % */
    finds(&shape, "device-communication");
    shape = communicating(100, 499);
    finds(&shape, "");
}

static void rule_device_communication_beside_a_larger_one(void **state)
{
    (void)state;
    struct device_made made;
    struct device_shape shape = communicating(1500, 1000);
    device_make(&made, &shape);
    check_findings(&made.diagnosis, "launch-bound device-communication");
    check_cost(&made.diagnosis.findings.data[0], 1620, 1620, 16.2); /* 100 + 1500 + 20 */
    check_cost(&made.diagnosis.findings.data[1], 1000, 1000, 10);
    device_end(&made);
}

/* --- main-kernel ------------------------------------------------------------------------------ */

/* Then two matrix products, of which neither takes as long. */
static struct device_shape mainly(uint64_t us)
{
    struct device_shape shape = running("softmax_warp_forward", 100, us);
    shape.works[1].end_us = 7000;
    shape.works[2] =
        (struct shaped_work){.name = "gemv", .begin_us = 7000, .end_us = 9900, .launch = 2};
    return shape;
}

static void rule_main_kernel_fires(void **state)
{
    (void)state;
    struct device_made made;
    struct device_shape shape = mainly(5000);
    device_make(&made, &shape);
    const struct ss_finding *finding = only_finding(&made.diagnosis, "main-kernel");
    check_cost(finding, 5000, 5000, 50);
    check_evidence(finding, "instances a step", 1);
    check_evidence(finding, "mean", 5000e3);
    const struct ss_model *model = &made.timed.model;
    assert_string_equal(ss_model_text(model, model->names.data[finding->kernel].text),
                        "softmax_warp_forward");
    device_end(&made);
}

static void rule_main_kernel_just_does_not_fire(void **state)
{
    (void)state;
    struct device_shape shape = mainly(4000); /* 40 % */
    finds(&shape, "main-kernel");
    shape = mainly(3999);
    finds(&shape, "");
    shape = mainly(5000); /* to be expected of a training */
    shape.works[0].name = "gemm";
    finds(&shape, "");
}

static void rule_main_kernel_beside_a_larger_one(void **state)
{
    (void)state;
    struct device_made made;
    struct device_shape shape = device_clean;
    shape.calls[0] = (struct shaped_call){"cudaLaunchKernel", 10, 20, 0};
    shape.works[0] = (struct shaped_work){
        .name = "softmax_warp_forward", .begin_us = 5000, .end_us = 9100, .launch = 1};
    shape.works[1] =
        (struct shaped_work){.name = "gemm", .begin_us = 9100, .end_us = 9900, .launch = 1};
    device_make(&made, &shape);
    check_findings(&made.diagnosis, "device-unexplained main-kernel");
    check_cost(&made.diagnosis.findings.data[0], 4990, 4990, 49.9); /* 5000 - 10 */
    check_cost(&made.diagnosis.findings.data[1], 4100, 4100, 41);
    device_end(&made);
}

/* --- short-kernels ---------------------------------------------------------------------------- */

/* The gaps between kernels of 9 are what `each_us` leaves; there is one of 20 before the first
 * kernel, and one before the matrix product. */
static struct device_shape short_kernels(uint32_t count, uint64_t each_us)
{
    struct device_shape shape = device_clean;
    uint64_t last_us = FIRST_SHORT_US + SHORT_DELAY_US + (count - 1) * each_us + 9;
    shape.short_kernels = count;
    shape.short_us = 9;
    shape.short_each_us = each_us;
    shape.calls[0] = (struct shaped_call){"cudaLaunchKernel", FIRST_SHORT_US + 10 * count,
                                          FIRST_SHORT_US + 10 * count + 5, 0};
    shape.works[0].begin_us = last_us + 20;
    return shape;
}

static void rule_short_kernels_fires(void **state)
{
    (void)state;
    struct device_made made;
    struct device_shape shape = short_kernels(100, 29);
    device_make(&made, &shape);
    const struct ss_finding *finding = only_finding(&made.diagnosis, "short-kernels");
    /* Kernels of 100 × 9, gaps of 99 × 20 and 2 × 20. */
    check_cost(finding, 2920, 2920, 29.2);
    check_evidence(finding, "kernels a step", 101);
    check_evidence(finding, "of them shorter than 10 µs", 100);
    check_evidence(finding, "gaps between them", 2020e3);
    device_end(&made);
}

static void rule_short_kernels_just_does_not_fire(void **state)
{
    (void)state;
    struct device_shape shape = short_kernels(99, 29); /* 28.91 % of the step, but one too few */
    finds(&shape, "");
    shape = short_kernels(104, 24); /* 104 × 9 + 103 × 15 + 40: 25.21 % */
    finds(&shape, "short-kernels");
    shape = short_kernels(103, 24); /* 24.97 % */
    finds(&shape, "");
    shape = short_kernels(100, 29); /* not shorter than the limit */
    shape.short_us = 10;
    finds(&shape, "");
    shape = short_kernels(100, 29); /* the host is late for 100 + 1919, less than gaps of 2020 */
    shape.works[0].end_us = 8081;
    finds(&shape, "short-kernels");
    shape.works[0].end_us = 8080; /* for as long: that comes first */
    finds(&shape, "launch-bound");
}

static void rule_short_kernels_beside_a_larger_one(void **state)
{
    (void)state;
    struct device_made made;
    struct device_shape shape = short_kernels(100, 29);
    shape.works[0].name = "softmax_warp_forward";
    device_make(&made, &shape);
    check_findings(&made.diagnosis, "main-kernel short-kernels");
    check_cost(&made.diagnosis.findings.data[0], 6880, 6880, 68.8); /* 9900 - 3020 */
    check_cost(&made.diagnosis.findings.data[1], 2920, 2920, 29.2);
    device_end(&made);
}

/* --- float32-products ------------------------------------------------------------------------- */

static struct device_shape multiplying(uint64_t launch_us, uint64_t us)
{
    struct device_shape shape = running("ampere_sgemm_128x64_tn", launch_us, us);
    shape.model = "NVIDIA A100-SXM4-40GB";
    return shape;
}

static void rule_float32_products_fires(void **state)
{
    (void)state;
    struct device_made made;
    struct device_shape shape = multiplying(100, 2000);
    device_make(&made, &shape);
    const struct ss_finding *finding = only_finding(&made.diagnosis, "float32-products");
    check_cost(finding, 2000, 1740, 20); /* 87 % of it */
    check_evidence(finding, "in these kernels", 2000e3);
    device_end(&made);
}

static void rule_float32_products_just_does_not_fire(void **state)
{
    (void)state;
    struct device_shape shape = multiplying(100, 1000); /* 10 % */
    finds(&shape, "float32-products");
    shape = multiplying(100, 999);
    finds(&shape, "");
    shape = multiplying(100, 2000);
    shape.model = "Tesla P100-PCIE-16GB"; /* it has no matrix units */
    finds(&shape, "");
}

static void rule_float32_products_beside_a_larger_one(void **state)
{
    (void)state;
    struct device_made made;
    struct device_shape shape = multiplying(2500, 2000);
    device_make(&made, &shape);
    check_findings(&made.diagnosis, "launch-bound float32-products");
    check_cost(&made.diagnosis.findings.data[0], 2620, 2620, 26.2); /* 100 + 2500 + 20 */
    check_cost(&made.diagnosis.findings.data[1], 2000, 1740, 20);
    device_end(&made);
}

/* --- conversions ------------------------------------------------------------------------------ */

static void rule_conversions_fires(void **state)
{
    (void)state;
    struct device_made made;
    struct device_shape shape = running("nchwToNhwcKernel", 100, 1000);
    device_make(&made, &shape);
    const struct ss_finding *finding = only_finding(&made.diagnosis, "conversions");
    check_cost(finding, 1000, 1000, 10);
    check_evidence(finding, "kernels a step", 1);
    device_end(&made);
}

static void rule_conversions_just_does_not_fire(void **state)
{
    (void)state;
    struct device_shape shape = running("nchwToNhwcKernel", 100, 500); /* 5 % */
    finds(&shape, "conversions");
    shape = running("nchwToNhwcKernel", 100, 499);
    finds(&shape, "");
}

static void rule_conversions_beside_a_larger_one(void **state)
{
    (void)state;
    struct device_made made;
    struct device_shape shape = running("nchwToNhwcKernel", 1500, 1000);
    device_make(&made, &shape);
    check_findings(&made.diagnosis, "launch-bound conversions");
    check_cost(&made.diagnosis.findings.data[0], 1620, 1620, 16.2); /* 100 + 1500 + 20 */
    check_cost(&made.diagnosis.findings.data[1], 1000, 1000, 10);
    device_end(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rule_pageable_copies_fires),
        cmocka_unit_test(rule_pageable_copies_just_does_not_fire),
        cmocka_unit_test(rule_pageable_copies_beside_a_larger_one),
        cmocka_unit_test(rule_device_late_rank_fires),
        cmocka_unit_test(rule_device_late_rank_just_does_not_fire),
        cmocka_unit_test(rule_device_late_rank_beside_a_larger_one),
        cmocka_unit_test(rule_device_communication_fires),
        cmocka_unit_test(rule_device_communication_just_does_not_fire),
        cmocka_unit_test(rule_device_communication_beside_a_larger_one),
        cmocka_unit_test(rule_main_kernel_fires),
        cmocka_unit_test(rule_main_kernel_just_does_not_fire),
        cmocka_unit_test(rule_main_kernel_beside_a_larger_one),
        cmocka_unit_test(rule_short_kernels_fires),
        cmocka_unit_test(rule_short_kernels_just_does_not_fire),
        cmocka_unit_test(rule_short_kernels_beside_a_larger_one),
        cmocka_unit_test(rule_float32_products_fires),
        cmocka_unit_test(rule_float32_products_just_does_not_fire),
        cmocka_unit_test(rule_float32_products_beside_a_larger_one),
        cmocka_unit_test(rule_conversions_fires),
        cmocka_unit_test(rule_conversions_just_does_not_fire),
        cmocka_unit_test(rule_conversions_beside_a_larger_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
