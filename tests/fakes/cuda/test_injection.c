/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the simulated device: the library of CUDA_INJECTION64_PATH, from cuInit to the exit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "client.h"

#include <cuda.h>

enum { LAUNCHES = 5 };

static void use_runtime(void)
{
    const void *kernel = kernel_named("by_runtime");
    for (int i = 0; i < LAUNCHES; i++) {
        launch(kernel, NULL);
    }
}

static void use_driver(void)
{
    CUmodule module;
    CUfunction function = NULL;
    if (cuCtxSynchronize() != CUDA_ERROR_NOT_INITIALIZED || cuInit(0) != CUDA_SUCCESS) {
        _exit(1);
    }
    cuModuleLoadData(&module, "any");
    cuModuleGetFunction(&function, module, "by_driver");
    for (int i = 0; i < LAUNCHES; i++) {
        cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL);
    }
}

struct counts {
    unsigned kernels, runtime_launches, driver_launches, same_correlation;
};

/* What the injected library counted in a process of its own. */
static struct counts counts_of(void (*program)(void), const char *nested_driver)
{
    struct counts counts = {0};
    char path[] = "/tmp/injected-XXXXXX";
    int status = -1, file = mkstemp(path);
    assert_true(file >= 0);
    pid_t child = fork();
    if (child == 0) {
        setenv("CUDA_INJECTION64_PATH", INJECTED_LIBRARY, 1);
        setenv("INJECTED_OUTPUT", path, 1);
        setenv("FAKE_CUDA_NESTED_DRIVER", nested_driver, 1);
        program();
        exit(0);
    }
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    FILE *output = fdopen(file, "r");
    assert_non_null(output);
    assert_int_equal(fscanf(output, "%u %u %u %u", &counts.kernels, &counts.runtime_launches,
                            &counts.driver_launches, &counts.same_correlation),
                     4);
    fclose(output);
    unlink(path);
    return counts;
}

static void launches_of_the_runtime_arrive(void **state)
{
    struct counts counts = counts_of(use_runtime, "0");
    (void)state;
    assert_int_equal(counts.kernels, LAUNCHES);
    assert_int_equal(counts.runtime_launches, LAUNCHES);
    assert_int_equal(counts.driver_launches, 0);
}

static void launches_of_the_driver_arrive(void **state)
{
    struct counts counts = counts_of(use_driver, "0");
    (void)state;
    assert_int_equal(counts.kernels, LAUNCHES);
    assert_int_equal(counts.runtime_launches, 0);
    assert_int_equal(counts.driver_launches, LAUNCHES);
}

static void the_runtime_may_call_the_driver(void **state)
{
    struct counts counts = counts_of(use_runtime, "1");
    (void)state;
    assert_int_equal(counts.kernels, LAUNCHES);
    assert_int_equal(counts.runtime_launches, LAUNCHES);
    assert_int_equal(counts.driver_launches, LAUNCHES);
    assert_int_equal(counts.same_correlation, LAUNCHES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(launches_of_the_runtime_arrive),
        cmocka_unit_test(launches_of_the_driver_arrive),
        cmocka_unit_test(the_runtime_may_call_the_driver),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
