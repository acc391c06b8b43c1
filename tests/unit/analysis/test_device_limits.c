/* SPDX-License-Identifier: Apache-2.0 */
/* How many blocks fit into a multiprocessor, by hand from the limits that NVIDIA publishes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analysis/kernels/device_limits.h"

static struct ss_block_limits limits;

static bool find(const char *capability, uint64_t threads, uint64_t registers, uint64_t shared)
{
    const struct ss_device_limits *device =
        ss_device_limits_of_capability(ss_strview_of(capability));
    assert_non_null(device);
    struct ss_block_needs needs = {threads, registers, shared};
    return ss_block_limits_find(device, &needs, &limits);
}

static void assert_limits(double registers, double shared, double warps, double blocks)
{
    assert_true(limits.by_registers == registers);
    assert_true(limits.by_shared == shared);
    assert_true(limits.by_warps == warps);
    assert_true(limits.by_blocks == blocks);
}

static void registers_are_allocated_to_warps(void **state)
{
    (void)state;
    assert_true(find("7.5", 256, 32, 0)); /* what Nsight Compute says of such a kernel on a T4 */
    assert_limits(8, 16, 4, 16);
    assert_true(find("9.0", 128, 168, 0)); /* 168 × 32 = 21 × 256: 3 warps in a quarter */
    assert_true(limits.by_registers == 3);
    assert_true(find("8.0", 96, 33, 0)); /* 1056 → 1280: 12 warps in a quarter, 48 in all */
    assert_true(limits.by_registers == 16);
    assert_true(ss_block_limits_least(&limits) == 16);
}

static void the_driver_takes_shared_memory_of_each_block(void **state)
{
    (void)state;
    assert_true(find("9.0", 256, 32, 48 << 10)); /* 49 KiB of 228 */
    assert_true(limits.by_shared == 4);
    assert_true(find("7.0", 256, 32, 48 << 10)); /* 48 KiB of 96 */
    assert_true(limits.by_shared == 2);
    assert_true(find("8.0", 32, 16, 0));
    assert_true(limits.by_shared == 164);
    assert_true(ss_block_limits_least(&limits) == 32);
}

static void impossible_launches_have_no_limits(void **state)
{
    (void)state;
    assert_false(find("9.0", 0, 32, 0));
    assert_false(find("9.0", UINT64_MAX, 32, 0));
    assert_false(find("9.0", 1024, 255, 0)); /* 2 warps in a quarter, 8 in all, of 32 */
    assert_false(find("9.0", 128, 256, 0));
    assert_false(find("9.0", 128, 32, UINT64_MAX));
    assert_true(find("9.0", 128, 0, 0)); /* unknown */
    assert_true(limits.by_registers == 0);
}

static const char *capability_of(const char *model)
{
    const struct ss_device_limits *device = ss_device_limits_of(ss_strview_of(model));
    return device != NULL ? device->capability : "";
}

static void devices_are_known_by_their_names(void **state)
{
    (void)state;
    assert_string_equal(capability_of("NVIDIA H200"), "9.0");
    assert_string_equal(capability_of("NVIDIA A100-SXM4-80GB"), "8.0");
    assert_string_equal(capability_of("NVIDIA A100-PG509-200"), "8.0");
    assert_string_equal(capability_of("NVIDIA A10G"), "8.6");
    assert_string_equal(capability_of("Tesla V100-SXM2-32GB"), "7.0");
    assert_string_equal(capability_of("Tesla T4"), "7.5");
    assert_string_equal(capability_of("NVIDIA RTX 6000 Ada Generation"), "8.9");
    assert_string_equal(capability_of("GPU of compute capability 12.0"), "12.0");
    assert_string_equal(capability_of("GPU of compute capability 99.0"), "");
    assert_string_equal(capability_of("AMD Instinct MI300X"), "");
    assert_string_equal(capability_of(""), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(registers_are_allocated_to_warps),
        cmocka_unit_test(the_driver_takes_shared_memory_of_each_block),
        cmocka_unit_test(impossible_launches_have_no_limits),
        cmocka_unit_test(devices_are_known_by_their_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
