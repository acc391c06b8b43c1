/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the simulated device: the driver's way of launching, and the kernels that it carries
   out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <cuda.h>

static const char ptx[] = ".version 6.0\n.target sm_50\n"
                          ".visible .entry stepscope_sleep(.param .u64 out, .param .u64 ns) {}\n"
                          ".visible .entry stepscope_copy(.param .u64 to) {}\n"
                          ".visible .entry stepscope_fma(.param .u64 out) {}\n";

static CUmodule module;
static CUdeviceptr memory;

static int start(void **state)
{
    CUcontext context;
    (void)state;
    assert_int_equal(cuInit(0), CUDA_SUCCESS);
    assert_int_equal(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
    assert_int_equal(cuCtxSetCurrent(context), CUDA_SUCCESS);
    assert_int_equal(cuModuleLoadData(&module, ptx), CUDA_SUCCESS);
    return cuMemAlloc(&memory, 4096);
}

static void launch(const char *name, unsigned grid, unsigned block, const uint64_t *arguments)
{
    uint64_t copied[3] = {arguments[0], arguments[1], arguments[2]};
    void *pointers[3] = {&copied[0], &copied[1], &copied[2]};
    CUfunction function;
    assert_int_equal(cuModuleGetFunction(&function, module, name), CUDA_SUCCESS);
    assert_int_equal(cuLaunchKernel(function, grid, 1, 1, block, 1, 1, 0, NULL, pointers, NULL),
                     CUDA_SUCCESS);
    memset(copied, 0, sizeof copied); /* the call has read them */
}

static void a_module_has_the_kernels_of_its_text(void **state)
{
    CUfunction function;
    (void)state;
    assert_int_equal(cuModuleGetFunction(&function, module, "stepscope_sle"), CUDA_ERROR_NOT_FOUND);
    assert_int_equal(cuModuleGetFunction(&function, module, "other"), CUDA_ERROR_NOT_FOUND);
    assert_int_equal(cuModuleGetFunction(&function, module, "stepscope_fma"), CUDA_SUCCESS);
}

static void a_sleep_lasts_as_long_as_asked(void **state)
{
    uint64_t out[2];
    (void)state;
    launch("stepscope_sleep", 1, 1, (uint64_t[]){memory, 3000000, 0});
    assert_int_equal(cuMemcpyDtoH(out, memory, sizeof out), CUDA_SUCCESS);
    assert_int_equal(out[1] - out[0], 3000000);
}

static void a_copy_copies(void **state)
{
    char from[64], to[64] = "";
    (void)state;
    memset(from, 'x', sizeof from);
    assert_int_equal(cuMemcpyHtoD(memory, from, sizeof from), CUDA_SUCCESS);
    launch("stepscope_copy", 1, 32, (uint64_t[]){memory + 1024, memory, 4});
    assert_int_equal(cuMemcpyDtoH(to, memory + 1024, sizeof to), CUDA_SUCCESS);
    assert_memory_equal(from, to, sizeof from);
}

static void multiplications_take_time_by_their_number(void **state)
{
    uint64_t out[4], took_ns[2];
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        launch("stepscope_fma", 108, 256, (uint64_t[]){memory, 20000 << i, 1});
        assert_int_equal(cuMemcpyDtoH(out, memory, sizeof out), CUDA_SUCCESS);
        assert_int_equal(out[3], 36 + 8 * (20000 << i));
        took_ns[i] = out[1] - out[0];
        assert_in_range(out[2] * 1000 / took_ns[i], 1409, 1411); /* MHz */
    }
    assert_in_range(took_ns[1] * 100 / took_ns[0], 198, 201);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_module_has_the_kernels_of_its_text),
        cmocka_unit_test(a_sleep_lasts_as_long_as_asked),
        cmocka_unit_test(a_copy_copies),
        cmocka_unit_test(multiplications_take_time_by_their_number),
    };
    return cmocka_run_group_tests(tests, start, NULL);
}
