/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/kernels/kernel_names.h"

static const struct {
    const char *name, *base, *brief;
} cases[] = {
    {"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
     "at::detail::Array<char*, 3> >(int, at::native::CUDAFunctor_add<float>, "
     "at::detail::Array<char*, 3>)",
     "vectorized_elementwise_kernel",
     "vectorized_elementwise_kernel<4, CUDAFunctor_add<float>, Array<char*, 3> >"},
    {"ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)",
     "ncclKernel_AllReduce_RING_LL_Sum_float", "ncclKernel_AllReduce_RING_LL_Sum_float"},
    {"cask_cudnn::computeOffsetsKernel(cask_cudnn::ComputeOffsetsParams)", "computeOffsetsKernel",
     "computeOffsetsKernel"},
    {"void at::native::(anonymous namespace)::CatArrayBatchedCopy<int, 1>(int*)",
     "CatArrayBatchedCopy", "CatArrayBatchedCopy<int, 1>"},
    {"void cub::Policy<int>::Kernel<2>(int)", "Kernel", "Kernel<2>"},
    {"volta_sgemm_128x64_nt", "volta_sgemm_128x64_nt", "volta_sgemm_128x64_nt"},
    {"triton_red_fused_add_mean_0", "triton_red_fused_add_mean_0", "triton_red_fused_add_mean_0"},
    {"Memcpy HtoD (Pageable -> Device)", "Memcpy HtoD (Pageable -> Device)",
     "Memcpy HtoD (Pageable -> Device)"},
    {"void f<(a)1, g<int>>()", "f", "f<(a)1, g<int>>"},
    {"void broken<int(", "broken", "broken<int("},
    {"<lambda>", "<lambda>", "<lambda>"},
    {"(", "(", ""},
    {"", "", ""},
};

static void names_are_shortened(void **state)
{
    (void)state;
    struct ss_strbuf brief;
    ss_strbuf_init(&brief, 1000);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ss_strview name = ss_strview_of(cases[i].name), base = ss_kernel_base_name(name);
        assert_int_equal(base.length, strlen(cases[i].base));
        assert_memory_equal(base.data, cases[i].base, base.length);
        ss_strbuf_clear(&brief);
        ss_kernel_short_name(name, &brief);
        assert_string_equal(brief.data, cases[i].brief);
    }
    ss_strbuf_fini(&brief);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(names_are_shortened)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
