/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the simulated device: times and data of work on streams, graphs and devices. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#include "client.h"
#include "core.h"

enum { KERNEL_NS = 20000, MIB = 1 << 20 };

static const fake_Kernel *kernel_record(size_t index)
{
    return client_record(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, index);
}

static int start_client(void **state)
{
    (void)state;
    memset(&client, 0, sizeof client);
    assert_int_equal(cuptiActivityRegisterCallbacks(client_request, client_complete),
                     CUPTI_SUCCESS);
    cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY);
    cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY2);
    cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMSET);
    cuptiActivityEnable(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
    cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CUDA_EVENT);
    return 0;
}

static void flush(void)
{
    for (int device = 1; device >= 0; device--) {
        assert_int_equal(cudaSetDevice(device), cudaSuccess);
        assert_int_equal(cudaDeviceSynchronize(), cudaSuccess);
    }
    assert_int_equal(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
}

static int stop_client(void **state)
{
    (void)state;
    flush();
    for (unsigned kind = 1; kind < 60; kind++) {
        cuptiActivityDisable((CUpti_ActivityKind)kind);
    }
    return 0;
}

static cudaStream_t new_stream(unsigned flags)
{
    cudaStream_t stream;
    assert_int_equal(cudaStreamCreateWithFlags(&stream, flags), cudaSuccess);
    return stream;
}

static void patterns_give_durations(void **state)
{
    (void)state;
    launch(kernel_named("ampere_sgemm_nn"), NULL);
    launch(kernel_named("reduce_1"), NULL);
    launch(kernel_named("my_reduce_1"), NULL);
    flush();
    assert_int_equal(kernel_record(0)->end - kernel_record(0)->start, 20000000);
    assert_int_equal(kernel_record(1)->end - kernel_record(1)->start, 5500);
    assert_int_equal(kernel_record(2)->end - kernel_record(2)->start, KERNEL_NS);
}

static void streams_overlap_unless_blocking(void **state)
{
    const void *kernel = kernel_named("overlap");
    cudaStream_t a = new_stream(cudaStreamNonBlocking), b = new_stream(cudaStreamNonBlocking);
    (void)state;
    launch(kernel_named("gemm"), a); /* 20 ms */
    launch(kernel, b);
    launch(kernel, NULL); /* the null stream waits for neither */
    flush();
    /* In the order of their ends. */
    assert_string_equal(kernel_record(2)->name, "gemm");
    assert_true(kernel_record(0)->start < kernel_record(2)->end);
    assert_true(kernel_record(1)->start < kernel_record(2)->end);
    assert_true(kernel_record(0)->streamId != kernel_record(2)->streamId);
}

static void the_null_stream_waits_for_blocking_ones(void **state)
{
    const void *kernel = kernel_named("blocking");
    cudaStream_t a = new_stream(0), b = new_stream(0);
    (void)state;
    launch(kernel_named("gemm"), a);
    launch(kernel, NULL);
    launch(kernel, b);
    flush();
    assert_string_equal(kernel_record(0)->name, "gemm");
    assert_true(kernel_record(1)->start >= kernel_record(0)->end);
    assert_true(kernel_record(2)->start >= kernel_record(1)->end);
    assert_int_equal(kernel_record(1)->streamId, 7);
}

static void events_order_streams_and_measure(void **state)
{
    cudaStream_t a = new_stream(cudaStreamNonBlocking), b = new_stream(cudaStreamNonBlocking);
    cudaEvent_t begin, end;
    float ms = 0;
    (void)state;
    cudaEventCreate(&begin);
    cudaEventCreate(&end);
    launch(kernel_named("gemm"), a);
    cudaEventRecord(begin, a);
    assert_int_equal(cudaEventQuery(begin), cudaErrorNotReady);
    assert_int_equal(cudaGetLastError(), cudaErrorNotReady);
    assert_int_equal(cudaGetLastError(), cudaSuccess);
    cudaStreamWaitEvent(b, begin, 0);
    launch(kernel_named("waits"), b);
    cudaEventRecord(end, b);
    assert_int_equal(cudaEventSynchronize(end), cudaSuccess);
    assert_int_equal(cudaEventElapsedTime(&ms, begin, end), cudaSuccess);
    flush();
    assert_true(kernel_record(1)->start >= kernel_record(0)->end);
    assert_true(ms >= 0.02F && ms < 0.05F);
    const fake_Synchronization *wait = client_record(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, 0);
    assert_int_equal(wait->type, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT);
    const fake_CudaEvent *recorded = client_record(CUPTI_ACTIVITY_KIND_CUDA_EVENT, 0);
    assert_int_equal(recorded->eventId, wait->cudaEventId);
    assert_true(recorded->correlationId != 0 && recorded->correlationId < wait->correlationId);
    wait = client_record(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, 1);
    assert_int_equal(wait->type, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE);
    assert_true(wait->end - wait->start > 100000);
    cudaEventDestroy(begin);
    cudaEventDestroy(end);
}

static void copies_take_time_by_kind_of_memory(void **state)
{
    void *device, *pinned, *pageable = calloc(1, MIB);
    cudaStream_t stream = new_stream(cudaStreamNonBlocking);
    (void)state;
    assert_int_equal(cudaMalloc(&device, MIB), cudaSuccess);
    assert_int_equal(cudaMallocHost(&pinned, MIB), cudaSuccess);
    memset(pinned, 7, MIB);
    assert_int_equal(cudaMemcpyAsync(device, pinned, MIB, cudaMemcpyDefault, stream), cudaSuccess);
    assert_int_equal(cudaMemcpyAsync(pageable, device, MIB, cudaMemcpyDefault, stream),
                     cudaSuccess);
    assert_int_equal(((char *)pageable)[MIB - 1], 7); /* it has waited */
    launch(kernel_named("gemm"), stream);
    assert_int_equal(cudaMemsetAsync(device, 3, MIB, stream), cudaSuccess);
    assert_int_equal(cudaMemcpyAsync(pinned, device, MIB, cudaMemcpyDefault, stream), cudaSuccess);
    assert_int_equal(cudaStreamQuery(stream), cudaErrorNotReady);
    assert_int_equal(cudaStreamSynchronize(stream), cudaSuccess);
    assert_int_equal(((char *)pinned)[MIB - 1], 3);
    flush();
    const fake_Memcpy *to = client_record(CUPTI_ACTIVITY_KIND_MEMCPY, 0);
    const fake_Memcpy *from = client_record(CUPTI_ACTIVITY_KIND_MEMCPY, 1);
    assert_int_equal(to->copyKind, CUPTI_ACTIVITY_MEMCPY_KIND_HTOD);
    assert_int_equal(to->srcKind, CUPTI_ACTIVITY_MEMORY_KIND_PINNED);
    assert_int_equal(to->bytes, MIB);
    assert_in_range(to->end - to->start, 41900, 44000);       /* 25 GB/s */
    assert_in_range(from->end - from->start, 174700, 177000); /* 6 GB/s */
    assert_int_equal(from->dstKind, CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE);
    assert_int_equal(client_count(CUPTI_ACTIVITY_KIND_MEMSET), 1);
    free(pageable);
    cudaFreeHost(pinned);
    cudaFree(device);
}

static void pageable_memory_may_be_reused_at_once(void **state)
{
    char source[64], back[64];
    void *device;
    (void)state;
    memset(source, 1, sizeof source);
    assert_int_equal(cudaMalloc(&device, sizeof source), cudaSuccess);
    launch(kernel_named("gemm"), NULL); /* the copy waits */
    cudaMemcpyAsync(device, source, sizeof source, cudaMemcpyDefault, NULL);
    memset(source, 2, sizeof source);
    assert_int_equal(cudaMemcpy(back, device, sizeof back, cudaMemcpyDefault), cudaSuccess);
    assert_int_equal(back[63], 1);
    cudaFree(device);
}

static void set_flag(void *flag)
{
    *(volatile int *)flag = 1;
}

static void host_functions_run_after_the_work_before_them(void **state)
{
    cudaStream_t stream = new_stream(cudaStreamNonBlocking);
    int flag = 0;
    (void)state;
    launch(kernel_named("gemm"), stream);
    assert_int_equal(cudaLaunchHostFunc(stream, set_flag, &flag), cudaSuccess);
    assert_int_equal(*(volatile int *)&flag, 0);
    cudaStreamSynchronize(stream);
    assert_int_equal(flag, 1);
}

static void devices_copy_between_each_other(void **state)
{
    void *first, *second;
    char there[8] = "abcdefg", back[8] = "";
    (void)state;
    assert_int_equal(cudaSetDevice(2), cudaErrorInvalidDevice);
    cudaMalloc(&first, 8);
    cudaSetDevice(1);
    cudaMalloc(&second, 8);
    launch(kernel_named("on_second"), NULL);
    cudaSetDevice(0);
    cudaMemcpy(first, there, 8, cudaMemcpyHostToDevice);
    assert_int_equal(cudaMemcpyPeerAsync(second, 1, first, 0, 8, NULL), cudaSuccess);
    cudaDeviceSynchronize();
    cudaMemcpy(back, second, 8, cudaMemcpyDeviceToHost);
    assert_string_equal(back, "abcdefg");
    flush();
    const fake_MemcpyPtoP *copy = client_record(CUPTI_ACTIVITY_KIND_MEMCPY2, 0);
    assert_int_equal(copy->srcDeviceId, 0);
    assert_int_equal(copy->dstDeviceId, 1);
    assert_int_equal(kernel_record(0)->deviceId, 1);
    cudaFree(first);
    cudaFree(second);
}

static void the_queue_of_launches_is_limited(void **state)
{
    const void *kernel = kernel_named("queued");
    struct timespec before, after;
    (void)state;
    clock_gettime(CLOCK_MONOTONIC, &before);
    for (int i = 0; i < 2000; i++) {
        launch(kernel, NULL);
    }
    clock_gettime(CLOCK_MONOTONIC, &after);
    int64_t took_us =
        (after.tv_sec - before.tv_sec) * 1000000 + (after.tv_nsec - before.tv_nsec) / 1000;
    assert_true(took_us >= (2000 - 1024 - 1) * 20);
}

struct partner {
    atomic_bool has_come;
    uint64_t start_ns, end_ns;
};

static bool poll_partner(void *argument, uint64_t start_ns, uint64_t *end_ns)
{
    struct partner *partner = argument;
    partner->start_ns = start_ns;
    *end_ns = partner->end_ns = sim_now_ns() + 1000;
    return atomic_load(&partner->has_come);
}

static void what_follows_an_unknown_end_is_deferred(void **state)
{
    cudaStream_t a = new_stream(cudaStreamNonBlocking), b = new_stream(cudaStreamNonBlocking);
    struct partner partner = {0};
    struct sim_kernel kernel = {
        .function = sim_function_named("awaits"), .grid = {1, 1, 1}, .block = {32, 1, 1}};
    cudaEvent_t event;
    (void)state;
    cudaEventCreate(&event);
    assert_int_equal(
        sim_launch_open(sim_stream(a), &kernel, (struct sim_open){poll_partner, &partner}), SIM_OK);
    launch(kernel_named("after"), a);
    cudaEventRecord(event, a);
    cudaStreamWaitEvent(b, event, 0);
    launch(kernel_named("other_stream"), b);
    launch(kernel_named("independent"), NULL);
    assert_int_equal(cudaStreamSynchronize(NULL), cudaSuccess);
    assert_int_equal(cudaEventQuery(event), cudaErrorNotReady);
    assert_int_equal(cudaStreamQuery(b), cudaErrorNotReady);
    cudaGetLastError();
    atomic_store(&partner.has_come, true);
    assert_int_equal(cudaEventSynchronize(event), cudaSuccess);
    flush();
    static const char *const names[] = {"independent", "awaits", "after", "other_stream"};
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(kernel_record(i)->name, names[i]);
        assert_true(i < 2 || kernel_record(i)->start >= kernel_record(i - 1)->end);
    }
    assert_int_equal(kernel_record(1)->end - kernel_record(1)->start,
                     partner.end_ns - partner.start_ns);
    cudaEventDestroy(event);
}

static void memory_is_limited(void **state)
{
    void *memory;
    size_t left, total;
    (void)state;
    assert_int_equal(cudaMemGetInfo(&left, &total), cudaSuccess);
    assert_int_equal(total, 64 * MIB);
    assert_int_equal(cudaMalloc(&memory, left + 1), cudaErrorMemoryAllocation);
    assert_int_equal(cudaMalloc(&memory, left), cudaSuccess);
    assert_int_equal(cudaFree((char *)memory + 4096), cudaErrorInvalidValue);
    assert_int_equal(cudaFree(memory), cudaSuccess);
}

/* One node, then two beside each other, then one after both. */
static cudaGraph_t capture_diamond(cudaStream_t a, cudaStream_t b)
{
    cudaEvent_t fork, join;
    cudaGraph_t graph = NULL;
    cudaEventCreate(&fork);
    cudaEventCreate(&join);
    assert_int_equal(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal), cudaSuccess);
    launch(kernel_named("first"), a);
    cudaEventRecord(fork, a);
    cudaStreamWaitEvent(b, fork, 0);
    launch(kernel_named("gemm_left"), a);
    launch(kernel_named("gemm_right"), b);
    cudaEventRecord(join, b);
    cudaStreamWaitEvent(a, join, 0);
    launch(kernel_named("last"), a);
    assert_int_equal(cudaStreamEndCapture(a, &graph), cudaSuccess);
    cudaEventDestroy(fork);
    cudaEventDestroy(join);
    return graph;
}

static void graphs_keep_dependencies(void **state)
{
    cudaStream_t a = new_stream(cudaStreamNonBlocking), b = new_stream(cudaStreamNonBlocking);
    cudaGraph_t graph = capture_diamond(a, b);
    cudaGraphExec_t exec;
    size_t nodes = 0;
    (void)state;
    assert_int_equal(cudaGraphGetNodes(graph, NULL, &nodes), cudaSuccess);
    assert_int_equal(nodes, 4);
    assert_int_equal(cudaGraphInstantiateWithFlags(&exec, graph, 0), cudaSuccess);
    assert_int_equal(cudaGraphLaunch(exec, a), cudaSuccess);
    flush();
    assert_int_equal(client_count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 4);
    const fake_Kernel *first = kernel_record(0), *left = kernel_record(1),
                      *right = kernel_record(2), *last = kernel_record(3);
    assert_true(left->start >= first->end && right->start >= first->end);
    assert_true(left->start < right->end && right->start < left->end);
    assert_true(last->start >= left->end && last->start >= right->end);
    assert_true(left->graphNodeId != 0 && left->graphNodeId != right->graphNodeId);
    assert_int_equal(left->correlationId, last->correlationId);
    assert_true(left->streamId != right->streamId);

    cuptiActivityEnable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
    client.count = 0;
    assert_int_equal(cudaGraphLaunch(exec, a), cudaSuccess);
    flush();
    const fake_GraphTrace *whole = client_record(CUPTI_ACTIVITY_KIND_GRAPH_TRACE, 0);
    assert_int_equal(client_count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 0);
    assert_in_range(whole->end - whole->start, 20040000, 20045000);
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
}

struct nodes {
    unsigned made, cloned, executables;
    uint64_t clones[8], originals[8];
};

static void on_graph(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
                     const void *data)
{
    const CUpti_ResourceData *resource = data;
    const CUpti_GraphData *graph = resource->resourceDescriptor;
    struct nodes *nodes = user;
    (void)domain;
    if (cbid == CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED) {
        cuptiGetGraphNodeId(graph->node, &nodes->originals[nodes->made++]);
        assert_int_equal(graph->nodeType, CU_GRAPH_NODE_TYPE_KERNEL);
    } else if (cbid == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED) {
        uint64_t original;
        cuptiGetGraphNodeId(graph->originalNode, &original);
        assert_int_equal(original, nodes->originals[nodes->cloned]);
        cuptiGetGraphNodeId(graph->node, &nodes->clones[nodes->cloned++]);
    } else if (cbid == CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED) {
        nodes->executables++;
    }
}

static void nodes_can_be_followed_from_capture_to_kernel(void **state)
{
    cudaStream_t a = new_stream(cudaStreamNonBlocking), b = new_stream(cudaStreamNonBlocking);
    CUpti_SubscriberHandle handle;
    struct nodes nodes = {0};
    cudaGraphExec_t exec;
    (void)state;
    assert_int_equal(cuptiSubscribe(&handle, on_graph, &nodes), CUPTI_SUCCESS);
    cuptiEnableCallback(1, handle, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED);
    cuptiEnableCallback(1, handle, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED);
    cuptiEnableCallback(1, handle, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED);
    cudaGraph_t graph = capture_diamond(a, b);
    assert_int_equal(cudaGraphInstantiateWithFlags(&exec, graph, 0), cudaSuccess);
    size_t count = 8;
    uint64_t id = 0;
    cudaGraphNode_t known[8];
    assert_int_equal(cudaGraphGetNodes(graph, known, &count), cudaSuccess);
    assert_int_equal(count, 4);
    cuptiGetGraphNodeId((CUgraphNode)known[3], &id);
    assert_int_equal(id, nodes.originals[3]);
    cuptiUnsubscribe(handle);
    cudaGraphLaunch(exec, a);
    flush();
    assert_int_equal(nodes.made, 4);
    assert_int_equal(nodes.cloned, 4);
    assert_int_equal(nodes.executables, 1);
    assert_string_equal(kernel_record(3)->name, "last");
    assert_int_equal(kernel_record(3)->graphNodeId, nodes.clones[3]);
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
}

static void broken_captures_fail(void **state)
{
    cudaStream_t a = new_stream(cudaStreamNonBlocking), b = new_stream(cudaStreamNonBlocking);
    cudaEvent_t fork;
    cudaGraph_t graph;
    (void)state;
    cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal);
    assert_int_equal(cudaStreamSynchronize(a), cudaErrorStreamCaptureUnsupported);
    assert_int_equal(cudaStreamEndCapture(a, &graph), cudaErrorStreamCaptureInvalidated);
    cudaEventCreate(&fork);
    cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal);
    cudaEventRecord(fork, a);
    cudaStreamWaitEvent(b, fork, 0);
    launch(kernel_named("unjoined"), b);
    assert_int_equal(cudaStreamEndCapture(a, &graph), cudaErrorStreamCaptureUnjoined);
    assert_int_equal(cudaStreamEndCapture(a, &graph), cudaErrorStreamCaptureUnmatched);
    launch(kernel_named("again"), b);
    flush();
    assert_int_equal(client_count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 1);
    cudaEventDestroy(fork);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(patterns_give_durations, start_client, stop_client),
        cmocka_unit_test_setup_teardown(streams_overlap_unless_blocking, start_client, stop_client),
        cmocka_unit_test_setup_teardown(the_null_stream_waits_for_blocking_ones, start_client,
                                        stop_client),
        cmocka_unit_test_setup_teardown(events_order_streams_and_measure, start_client,
                                        stop_client),
        cmocka_unit_test_setup_teardown(copies_take_time_by_kind_of_memory, start_client,
                                        stop_client),
        cmocka_unit_test_setup_teardown(pageable_memory_may_be_reused_at_once, start_client,
                                        stop_client),
        cmocka_unit_test_setup_teardown(host_functions_run_after_the_work_before_them, start_client,
                                        stop_client),
        cmocka_unit_test_setup_teardown(devices_copy_between_each_other, start_client, stop_client),
        cmocka_unit_test_setup_teardown(the_queue_of_launches_is_limited, start_client,
                                        stop_client),
        cmocka_unit_test_setup_teardown(what_follows_an_unknown_end_is_deferred, start_client,
                                        stop_client),
        cmocka_unit_test_setup_teardown(memory_is_limited, start_client, stop_client),
        cmocka_unit_test_setup_teardown(graphs_keep_dependencies, start_client, stop_client),
        cmocka_unit_test_setup_teardown(nodes_can_be_followed_from_capture_to_kernel, start_client,
                                        stop_client),
        cmocka_unit_test_setup_teardown(broken_captures_fail, start_client, stop_client),
    };
    setenv("FAKE_CUDA_DEVICES", "2", 1);
    setenv("FAKE_CUDA_MEMORY_MB", "64", 1);
    setenv("FAKE_CUDA_DURATIONS", "gemm=20ms,reduce_?=5.5us,*e_1=20us", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
