/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/kernels/device_peaks.h"

static const uint64_t gib = UINT64_C(1) << 30;

/* Names as drivers state them. */
static void devices_are_known_by_name_and_memory(void **state)
{
    (void)state;
    static const struct {
        const char *driver;
        unsigned memory_gib; /* 0: unknown */
        const char *name;
        double bf16_tflops, gb_per_s;
    } cases[] = {
        {"NVIDIA A100-SXM4-40GB", 39, "A100 SXM 40 GB", 312, 1555},
        {"NVIDIA A100-SXM4-80GB", 79, "A100 SXM 80 GB", 312, 2039},
        {"NVIDIA A100-SXM4-80GB", 0, "A100 SXM 80 GB", 312, 2039},
        {"NVIDIA A100-SXM4-40GB", 0, "A100 SXM 40 GB", 312, 1555},
        {"NVIDIA A100-PCIE-40GB", 0, "A100 PCIe 40 GB", 312, 1555},
        {"NVIDIA A100 80GB PCIe", 79, "A100 PCIe 80 GB", 312, 1935},
        {"NVIDIA A100-PG509-200", 39, "A100 SXM 40 GB", 312, 1555},
        {"NVIDIA H100 80GB HBM3", 79, "H100 SXM", 989.4, 3350},
        {"NVIDIA H100 PCIe", 79, "H100 PCIe", 756.5, 2039},
        {"NVIDIA H100 NVL", 93, "H100 NVL", 835.5, 3900},
        {"NVIDIA H200", 140, "H200", 989.4, 4800},
        {"NVIDIA GH200 480GB", 95, "GH200 96 GB", 989.4, 4000},
        {"NVIDIA B200", 178, "B200", 2250, 8000},
        {"NVIDIA GB200", 185, "GB200", 2500, 8000},
        {"NVIDIA L40S", 44, "L40S", 362, 864},
        {"NVIDIA L4", 22, "L4", 121, 300},
        {"NVIDIA A10G", 22, "A10G", 70, 600},
        {"NVIDIA A10", 22, "A10", 125, 600},
        {"NVIDIA A30", 23, "A30", 165, 933},
        {"NVIDIA A40", 44, "A40", 149.7, 696},
        {"NVIDIA RTX A6000", 47, "RTX A6000", 154.8, 768},
        {"NVIDIA RTX 6000 Ada Generation", 47, "RTX 6000 Ada", 364.2, 960},
        {"NVIDIA GeForce RTX 3090 Ti", 23, "RTX 3090 Ti", 80, 1008},
        {"NVIDIA GeForce RTX 4090", 23, "RTX 4090", 165.2, 1008},
        {"AMD Instinct MI300X", 191, "MI300X", 1307.4, 5325},
        {"AMD Instinct MI325X", 255, "MI325X", 1307.4, 6000},
        {"AMD Instinct MI355X", 287, "MI355X", 2516.6, 8000},
        {"AMD Instinct MI250X", 63, "one half of an MI250X", 191.5, 1638.4},
        {"AMD Instinct MI210", 63, "MI210", 181, 1638.4},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct ss_device_peaks *peaks =
            ss_device_peaks_of(ss_strview_of(cases[i].driver), cases[i].memory_gib * gib);
        assert_non_null(peaks);
        assert_string_equal(peaks->name, cases[i].name);
        assert_float_equal(ss_device_peak(peaks, SS_DATATYPE_BF16, true),
                           cases[i].bf16_tflops * 1e12, 1);
        assert_float_equal(ss_device_bandwidth(peaks), cases[i].gb_per_s * 1e9, 1);
    }
}

static void other_devices_have_no_peak(void **state)
{
    (void)state;
    static const char *const names[] = {
        "",      "NVIDIA A1000", "NVIDIA H1000",           "XMI300X",
        "Intel", "NVIDIA RTX",   "NVIDIA GeForce GTX 1080"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_null(ss_device_peaks_of(ss_strview_of(names[i]), 0));
    }
    assert_float_equal(ss_device_peak(NULL, SS_DATATYPE_FP32, true), 0, 0);
    assert_float_equal(ss_device_bandwidth(NULL), 0, 0);
}

static void the_units_decide_the_peak(void **state)
{
    (void)state;
    const struct ss_device_peaks *v100 =
                                     ss_device_peaks_of(ss_strview_of("Tesla V100-SXM2-16GB"), 0),
                                 *h100 = ss_device_peaks_of(ss_strview_of("NVIDIA H100"), 0),
                                 *mi210 =
                                     ss_device_peaks_of(ss_strview_of("AMD Instinct MI210"), 0);
    assert_float_equal(ss_device_peak(v100, SS_DATATYPE_FP16, true), 125e12, 1);
    assert_float_equal(ss_device_peak(v100, SS_DATATYPE_BF16, true), 0,
                       0); /* it has no such units */
    assert_float_equal(ss_device_peak(v100, SS_DATATYPE_TF32, true), 0, 0);
    assert_float_equal(ss_device_peak(v100, SS_DATATYPE_FP16, false), 15.7e12, 1);
    assert_float_equal(ss_device_peak(v100, SS_DATATYPE_FP64, false), 7.8e12, 1);
    assert_float_equal(ss_device_peak(h100, SS_DATATYPE_FP32, true), 67e12, 1);
    assert_float_equal(ss_device_peak(h100, SS_DATATYPE_TF32, true), 494.7e12, 1);
    assert_float_equal(ss_device_peak(h100, SS_DATATYPE_FP64, false), 34e12, 1);
    assert_float_equal(ss_device_peak(h100, SS_DATATYPE_FP64, true), 67e12, 1);
    assert_float_equal(ss_device_peak(mi210, SS_DATATYPE_FP32, true), 45.3e12, 1);
    assert_float_equal(ss_device_peak(mi210, SS_DATATYPE_FP32, false), 22.6e12, 1);
    assert_float_equal(ss_device_peak(mi210, SS_DATATYPE_UNKNOWN, true), 0, 0);
}

/* What the vendors' data sheets have in common. */
static void every_row_is_plausible(void **state)
{
    (void)state;
    for (const struct ss_device_peaks *peaks = ss_device_peaks_known; peaks->name != NULL;
         peaks++) {
        const double *tflops = peaks->tflops_per_s;
        assert_non_null(peaks->words[0]);
        assert_true(strlen(peaks->source) > 10);
        assert_true(peaks->gb_per_s >= 300 && peaks->gb_per_s <= 8000);
        assert_true(tflops[SS_PEAK_FP32] >= 8 && tflops[SS_PEAK_FP64] <= tflops[SS_PEAK_FP32]);
        assert_true(tflops[SS_PEAK_FP16] > tflops[SS_PEAK_FP32]);
        assert_true(tflops[SS_PEAK_BF16] == 0 || tflops[SS_PEAK_BF16] == tflops[SS_PEAK_FP16]);
        assert_true(tflops[SS_PEAK_TF32] <= tflops[SS_PEAK_FP16]);
        assert_true(tflops[SS_PEAK_FP8] == 0 || tflops[SS_PEAK_FP8] >= tflops[SS_PEAK_FP16]);
    }
}

static void formats_are_known_by_the_names_of_types_and_kernels(void **state)
{
    (void)state;
    assert_int_equal(ss_element_of(ss_strview_of("c10::BFloat16")).type, SS_DATATYPE_BF16);
    assert_int_equal(ss_element_of(ss_strview_of("c10::Float8_e4m3fn")).bytes, 1);
    assert_int_equal(ss_element_of(ss_strview_of("long int")).bytes, 8);
    assert_int_equal(ss_element_of(ss_strview_of("Scalar")).bytes, 0);
    static const struct {
        const char *kernel;
        enum ss_datatype of_float32, of_unknown;
    } cases[] = {
        {"ampere_sgemm_128x64_nn", SS_DATATYPE_FP32, SS_DATATYPE_FP32},
        {"void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_64x64_32x6_tn_align4>",
         SS_DATATYPE_TF32, SS_DATATYPE_TF32},
        {"sm80_xmma_gemm_f32f32_tf32f32_f32_tn_n", SS_DATATYPE_TF32, SS_DATATYPE_TF32},
        {"sm80_xmma_gemm_f32f32_f32f32_f32_tn_n", SS_DATATYPE_FP32, SS_DATATYPE_FP32},
        {"nvjet_tst_64x64_64x16_2x1_v_bz_TNT", SS_DATATYPE_TF32, SS_DATATYPE_BF16},
        {"Cijk_Ailk_Bljk_BBS_BH_MT128x128x32", SS_DATATYPE_FP32, SS_DATATYPE_BF16},
        {"volta_h884gemm_64x128_ldg8_nn", SS_DATATYPE_FP32, SS_DATATYPE_FP16},
        {"my_kernel", SS_DATATYPE_FP32, SS_DATATYPE_UNKNOWN},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ss_strview kernel = ss_strview_of(cases[i].kernel);
        assert_int_equal(ss_kernel_refine_datatype(SS_DATATYPE_FP32, kernel), cases[i].of_float32);
        assert_int_equal(ss_kernel_refine_datatype(SS_DATATYPE_UNKNOWN, kernel),
                         cases[i].of_unknown);
        assert_int_equal(ss_kernel_refine_datatype(SS_DATATYPE_FP64, kernel), SS_DATATYPE_FP64);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(devices_are_known_by_name_and_memory),
        cmocka_unit_test(other_devices_have_no_peak),
        cmocka_unit_test(the_units_decide_the_peak),
        cmocka_unit_test(every_row_is_plausible),
        cmocka_unit_test(formats_are_known_by_the_names_of_types_and_kernels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
