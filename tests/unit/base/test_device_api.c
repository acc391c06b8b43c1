/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/device_api.h"

#define RANGE SS_EVENT_TYPE_range
#define LAUNCH SS_EVENT_TYPE_launch
#define WAIT SS_EVENT_TYPE_synchronisation

static void calls_submit_or_wait(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum ss_event_type type;
    } calls[] = {{"cudaLaunchKernel", LAUNCH},
                 {"cudaLaunchKernelExC", LAUNCH},
                 {"cudaLaunchCooperativeKernel", LAUNCH},
                 {"cuLaunchKernel", LAUNCH},
                 {"cuLaunchKernelEx", LAUNCH},
                 {"hipLaunchKernel", LAUNCH},
                 {"hipExtModuleLaunchKernel", LAUNCH},
                 {"hipGraphLaunch", LAUNCH},
                 {"cudaGraphLaunch_v10000", LAUNCH},
                 {"cudaMemcpyAsync", LAUNCH},
                 {"cuMemcpyHtoDAsync_v2", LAUNCH},
                 {"hipMemcpyWithStream", LAUNCH},
                 {"cudaMemsetAsync", LAUNCH},
                 {"cudaStreamSynchronize", WAIT},
                 {"cudaDeviceSynchronize_v3020", WAIT},
                 {"cuCtxSynchronize", WAIT},
                 {"cuEventSynchronize", WAIT},
                 {"hipDeviceSynchronize", WAIT},
                 {"cudaStreamWaitEvent", RANGE}, /* a stream waits, not the thread */
                 {"cudaEventQuery", RANGE},
                 {"cudaMalloc", RANGE},
                 {"cudaOccupancyMaxActiveBlocksPerMultiprocessor", RANGE},
                 {"hipGetDevicePropertiesR0600", RANGE},
                 {"INVALID", RANGE},
                 {"", RANGE}};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        assert_int_equal(ss_device_call_type(ss_strview_of(calls[i].name)), calls[i].type);
    }
}

static void calls_launch_kernels_and_graphs(void **state)
{
    (void)state;
    static const char *const graphs[] = {"cudaGraphLaunch", "cudaGraphLaunch_v10000",
                                         "cuGraphLaunch_ptsz", "hipGraphLaunch"};
    static const char *const others[] = {"cudaMemcpyAsync", "cudaLaunchHostFunc",
                                         "cudaGraphInstantiate", "cudaStreamSynchronize"};
    static const char *const begins[] = {"cudaStreamBeginCapture_v10000",
                                         "cuStreamBeginCaptureToGraph", "hipStreamBeginCapture"};
    static const char *const ends[] = {"cudaStreamEndCapture", "cuStreamEndCapture_ptsz",
                                       "hipStreamEndCapture"};
    assert_true(ss_device_call_launches_kernel(ss_strview_of("hipExtModuleLaunchKernel")));
    for (size_t i = 0; i < 4; i++) {
        assert_true(ss_device_call_launches_graph(ss_strview_of(graphs[i])));
        assert_false(ss_device_call_launches_graph(ss_strview_of(others[i])));
        assert_false(ss_device_call_launches_kernel(ss_strview_of(others[i])));
        assert_false(ss_device_call_begins_capture(ss_strview_of(others[i])));
        assert_false(ss_device_call_ends_capture(ss_strview_of(others[i])));
    }
    for (size_t i = 0; i < 3; i++) {
        assert_true(ss_device_call_begins_capture(ss_strview_of(begins[i])));
        assert_false(ss_device_call_begins_capture(ss_strview_of(ends[i])));
        assert_true(ss_device_call_ends_capture(ss_strview_of(ends[i])));
    }
}

static void work_is_by_default_a_kernel(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum ss_event_type type;
    } work[] = {{"Memcpy HtoD (Pageable -> Device)", SS_EVENT_TYPE_copy},
                {"Memcpy PtoP (Device -> Device)", SS_EVENT_TYPE_copy},
                {"[CUDA memcpy Host-to-Device]", SS_EVENT_TYPE_copy},
                {"CopyDeviceToHost", SS_EVENT_TYPE_copy},
                {"Memset (Device)", SS_EVENT_TYPE_memset},
                {"[CUDA memset]", SS_EVENT_TYPE_memset},
                {"Stream Wait Event", WAIT},
                {"void CopyKernel<float>(float*)", SS_EVENT_TYPE_kernel},
                {"MemcpyKernel", SS_EVENT_TYPE_kernel},
                {"triton_poi_fused_add_0", SS_EVENT_TYPE_kernel},
                {"", SS_EVENT_TYPE_kernel}};
    for (size_t i = 0; i < sizeof work / sizeof *work; i++) {
        assert_int_equal(ss_device_work_type(ss_strview_of(work[i].name)), work[i].type);
    }
}

static void kernels_communicate_by_their_names(void **state)
{
    (void)state;
    static const char *const those_that_do[] = {
        "ncclDevKernel_Generic",
        "ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)",
        "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
        "void rccl::ncclDevKernel_Generic<1>(int)",
        "rcclGenericKernel",
        "void (anonymous namespace)::multimem_all_reduce_kernel<16>(float*)",
        "void vllm::cross_device_reduce_2stage<__half, 8>(int)"};
    static const char *const others[] = {"triton_poi_fused_all_reduce_0",
                                         "void at::native::reduce_kernel<512, 1>(int)",
                                         "void cutlass::Kernel2<cutlass_80_tensorop>", ""};
    for (size_t i = 0; i < sizeof those_that_do / sizeof *those_that_do; i++) {
        assert_true(ss_device_kernel_communicates(ss_strview_of(those_that_do[i])));
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        assert_false(ss_device_kernel_communicates(ss_strview_of(others[i])));
    }
}

static void check_memories(const char *name, const char *from, const char *to)
{
    struct ss_device_memories memories = ss_device_memories_of(ss_strview_of(name));
    assert_string_equal(memories.from != NULL ? memories.from : "", from);
    assert_string_equal(memories.to != NULL ? memories.to : "", to);
}

static void copies_have_memories(void **state)
{
    (void)state;
    check_memories("Memcpy HtoD (Pageable -> Device)", "pageable", "device");
    check_memories("Memcpy DtoH (Device -> Pinned)", "device", "pinned");
    check_memories("Memcpy DtoH (Device -> Unknown)", "device", "host");
    check_memories("Memcpy HtoD (Host -> Device)", "host", "device");
    check_memories("Memcpy DtoD", "device", "device");
    check_memories("[CUDA memcpy Device-to-Host]", "device", "host");
    check_memories("Memset (Device)", "", "device");
    check_memories("Memset (Unknown)", "", "");
    check_memories("kernel(int -> int)", "", "");
    check_memories("(", "", "");
    check_memories("()", "", "");
    check_memories("", "", "");
}

static void counters_of_devices_measure_memory(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum ss_quantity quantity;
    } counters[] = {{"cuda allocated", SS_QUANTITY_DEVICE_ALLOCATED},
                    {"cuda:12 reserved", SS_QUANTITY_DEVICE_RESERVED},
                    {"cuda:1 peak", SS_QUANTITY_DEVICE_PEAK},
                    {"cuda utilisation", SS_QUANTITY_NONE},
                    {"barracuda allocated", SS_QUANTITY_NONE},
                    {"memory rss", SS_QUANTITY_NONE},
                    {"", SS_QUANTITY_NONE}};
    for (size_t i = 0; i < sizeof counters / sizeof *counters; i++) {
        assert_int_equal(ss_device_counter_quantity(ss_strview_of(counters[i].name)),
                         counters[i].quantity);
    }
}

static void scopes_of_collectives_begin_with_their_backend(void **state)
{
    (void)state;
    assert_true(ss_collective_scope(ss_strview_of("nccl:all_reduce")));
    assert_true(ss_collective_scope(ss_strview_of("c10d::allreduce_")));
    assert_false(ss_collective_scope(ss_strview_of("nccl")));
    assert_false(ss_collective_scope(ss_strview_of("my nccl:all_reduce")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_submit_or_wait),
        cmocka_unit_test(calls_launch_kernels_and_graphs),
        cmocka_unit_test(work_is_by_default_a_kernel),
        cmocka_unit_test(kernels_communicate_by_their_names),
        cmocka_unit_test(copies_have_memories),
        cmocka_unit_test(counters_of_devices_measure_memory),
        cmocka_unit_test(scopes_of_collectives_begin_with_their_backend),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
