/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the simulated device: what a program does arrives at a client of CUPTI. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#include "client.h"

static int start_client(void **state)
{
    static const CUpti_ActivityKind kinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                               CUPTI_ACTIVITY_KIND_MEMCPY,
                                               CUPTI_ACTIVITY_KIND_MEMCPY2,
                                               CUPTI_ACTIVITY_KIND_MEMSET,
                                               CUPTI_ACTIVITY_KIND_RUNTIME,
                                               CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
                                               CUPTI_ACTIVITY_KIND_OVERHEAD,
                                               CUPTI_ACTIVITY_KIND_MEMORY2,
                                               CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION};
    (void)state;
    memset(&client, 0, sizeof client);
    assert_int_equal(cuptiActivityRegisterCallbacks(client_request, client_complete),
                     CUPTI_SUCCESS);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        assert_int_equal(cuptiActivityEnable(kinds[i]), CUPTI_SUCCESS);
    }
    return 0;
}

static void flush(void)
{
    assert_int_equal(cudaDeviceSynchronize(), cudaSuccess);
    assert_int_equal(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
}

static int stop_client(void **state)
{
    (void)state;
    cudaDeviceSynchronize();
    for (unsigned kind = 1; kind < 60; kind++) {
        cuptiActivityDisable((CUpti_ActivityKind)kind);
    }
    cuptiActivityFlushAll(1);
    cudaSetDevice(0);
    return 0;
}

static const CUpti_ActivityAPI *call_of(uint32_t correlation)
{
    const CUpti_ActivityAPI *call;
    for (size_t i = 0; (call = client_record(CUPTI_ACTIVITY_KIND_RUNTIME, i)) != NULL; i++) {
        if (call->correlationId == correlation) {
            return call;
        }
    }
    return NULL;
}

static void a_launch_gives_a_kernel_and_its_call(void **state)
{
    const void *kernel = kernel_named("_Z6squarePf");
    (void)state;
    assert_int_equal(launch(kernel, NULL), cudaSuccess);
    flush();
    const fake_Kernel *record = client_record(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 0);
    assert_non_null(record);
    assert_string_equal(record->name, "_Z6squarePf");
    assert_int_equal(record->end - record->start, 20000);
    assert_int_equal(record->gridX, 4);
    assert_int_equal(record->blockX, 128);
    const CUpti_ActivityAPI *call = call_of(record->correlationId);
    assert_non_null(call);
    assert_int_equal(call->cbid, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000);
    assert_true(call->start <= call->end && call->start < record->start);
    assert_int_equal(client_count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 1);
}

static void no_launch_is_lost_in_many(void **state)
{
    const void *kernel = kernel_named("many");
    size_t dropped = 1;
    (void)state;
    for (int i = 0; i < 300; i++) {
        assert_int_equal(launch(kernel, NULL), cudaSuccess);
    }
    flush();
    assert_int_equal(client_count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 300);
    assert_true(client.buffers > 10);
    assert_int_equal(cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped), CUPTI_SUCCESS);
    assert_int_equal(dropped, 0);
    const fake_Kernel *before = client_record(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 0);
    for (size_t i = 1; i < 300; i++) {
        const fake_Kernel *next = client_record(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, i);
        assert_true(next->start >= before->end);
        before = next;
    }
}

static void refused_buffers_are_counted(void **state)
{
    const void *kernel = kernel_named("refused");
    size_t dropped = 0;
    (void)state;
    cuptiActivityFlushAll(0);
    client.refuses_buffers = 1;
    assert_int_equal(launch(kernel, NULL), cudaSuccess);
    flush();
    assert_int_equal(client_count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 0);
    assert_int_equal(cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped), CUPTI_SUCCESS);
    assert_true(dropped >= 2); /* the kernel and its call */
    assert_int_equal(cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped), CUPTI_SUCCESS);
    assert_int_equal(dropped, 0);
}

static void external_ids_are_of_the_calls(void **state)
{
    const void *kernel = kernel_named("external");
    uint64_t last = 0;
    (void)state;
    cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, 77);
    assert_int_equal(launch(kernel, NULL), cudaSuccess);
    cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, &last);
    assert_int_equal(last, 77);
    flush();
    const fake_Kernel *record = client_record(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 0);
    const CUpti_ActivityExternalCorrelation *external =
        client_record(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION, 0);
    assert_int_equal(external->externalId, 77);
    assert_int_equal(external->correlationId, record->correlationId);
    assert_int_equal(client_count(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION), 1);
}

static uint64_t ticks(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 3 * ((uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec);
}

static void times_are_those_of_the_clients_clock(void **state)
{
    const void *kernel = kernel_named("timed");
    (void)state;
    stop_client(state);
    assert_int_equal(cuptiActivityRegisterTimestampCallback(ticks), CUPTI_SUCCESS);
    start_client(state);
    uint64_t before = ticks(), now;
    assert_int_equal(launch(kernel, NULL), cudaSuccess);
    flush();
    const fake_Kernel *record = client_record(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 0);
    assert_in_range(record->start, before, ticks());
    assert_in_range(record->end - record->start, 57000, 63000); /* 20 us */
    assert_int_equal(cuptiGetTimestamp(&now), CUPTI_SUCCESS);
    assert_in_range(now, record->end, ticks() + 3000);
    stop_client(state);
    assert_int_equal(cuptiActivityRegisterTimestampCallback(NULL), CUPTI_SUCCESS);
}

struct seen {
    unsigned enters, exits;
    uint32_t correlation;
    const char *symbol;
};

static void on_call(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
                    const void *data)
{
    const CUpti_CallbackData *call = data;
    struct seen *seen = user;
    if (domain != CUPTI_CB_DOMAIN_RUNTIME_API ||
        cbid != CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000) {
        return;
    }
    if (call->callbackSite == CUPTI_API_ENTER) {
        const cudaLaunchKernel_v7000_params *params = call->functionParams;
        assert_int_equal(params->gridDim.x, 4);
        *call->correlationData = 5;
        seen->enters++;
        seen->correlation = call->correlationId;
        seen->symbol = call->symbolName;
    } else {
        assert_int_equal(*call->correlationData, 5);
        assert_int_equal(*(const cudaError_t *)call->functionReturnValue, cudaSuccess);
        seen->exits++;
    }
}

static void a_subscriber_sees_launches(void **state)
{
    const void *kernel = kernel_named("seen");
    CUpti_SubscriberHandle handle, second;
    struct seen seen = {0};
    (void)state;
    assert_int_equal(cuptiSubscribe(&handle, on_call, &seen), CUPTI_SUCCESS);
    assert_int_equal(cuptiSubscribe(&second, on_call, &seen),
                     CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
    assert_int_equal(cuptiEnableCallback(1, handle, CUPTI_CB_DOMAIN_RUNTIME_API,
                                         CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000),
                     CUPTI_SUCCESS);
    assert_int_equal(launch(kernel, NULL), cudaSuccess);
    assert_int_equal(cuptiUnsubscribe(handle), CUPTI_SUCCESS);
    assert_int_equal(launch(kernel, NULL), cudaSuccess);
    flush();
    const fake_Kernel *record = client_record(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 0);
    assert_int_equal(seen.enters, 1);
    assert_int_equal(seen.exits, 1);
    assert_int_equal(seen.correlation, record->correlationId);
    assert_string_equal(seen.symbol, "seen");
}

struct resources {
    unsigned streams, ended_streams, synchronized;
};

static void on_resource(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
                        const void *data)
{
    struct resources *seen = user;
    (void)data;
    if (domain == CUPTI_CB_DOMAIN_RESOURCE) {
        seen->streams += cbid == CUPTI_CBID_RESOURCE_STREAM_CREATED;
        seen->ended_streams += cbid == CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING;
    } else if (domain == CUPTI_CB_DOMAIN_SYNCHRONIZE) {
        seen->synchronized += cbid == CUPTI_CBID_SYNCHRONIZE_STREAM_SYNCHRONIZED;
    }
}

static void resources_and_waits_raise_callbacks(void **state)
{
    CUpti_SubscriberHandle handle;
    struct resources seen = {0};
    cudaStream_t stream;
    (void)state;
    assert_int_equal(cuptiSubscribe(&handle, on_resource, &seen), CUPTI_SUCCESS);
    assert_int_equal(cuptiEnableDomain(1, handle, CUPTI_CB_DOMAIN_RESOURCE), CUPTI_SUCCESS);
    assert_int_equal(cuptiEnableDomain(1, handle, CUPTI_CB_DOMAIN_SYNCHRONIZE), CUPTI_SUCCESS);
    cudaStreamCreate(&stream);
    cudaStreamSynchronize(stream);
    cudaStreamDestroy(stream);
    cuptiUnsubscribe(handle);
    assert_int_equal(seen.streams, 1);
    assert_int_equal(seen.ended_streams, 1);
    assert_int_equal(seen.synchronized, 1);
}

static void entities_and_memory_have_records(void **state)
{
    cudaStream_t stream;
    void *memory;
    uint32_t id = 0;
    (void)state;
    cuptiActivityEnable(CUPTI_ACTIVITY_KIND_DEVICE);
    cuptiActivityEnableAndDump(CUPTI_ACTIVITY_KIND_CONTEXT);
    cuptiActivityEnable(CUPTI_ACTIVITY_KIND_STREAM);
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    cudaMalloc(&memory, 10000);
    cudaFree(memory);
    flush();
    const fake_Device *device = client_record(CUPTI_ACTIVITY_KIND_DEVICE, 0);
    const fake_Context *context = client_record(CUPTI_ACTIVITY_KIND_CONTEXT, 0);
    const CUpti_ActivityStream *record = client_record(CUPTI_ACTIVITY_KIND_STREAM, 0);
    const fake_Memory *allocated = client_record(CUPTI_ACTIVITY_KIND_MEMORY2, 0);
    const fake_Memory *released = client_record(CUPTI_ACTIVITY_KIND_MEMORY2, 1);
    assert_int_equal(device->globalMemorySize, (uint64_t)16 << 30);
    assert_int_equal(context->nullStreamId, 7);
    assert_int_equal(cuptiGetStreamId(NULL, (CUstream)stream, &id), CUPTI_SUCCESS);
    assert_int_equal(record->streamId, id);
    assert_int_equal(record->flag, CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NON_BLOCKING);
    assert_int_equal(allocated->memoryOperationType,
                     CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION);
    assert_int_equal(released->memoryOperationType, CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE);
    assert_int_equal(allocated->address, (uintptr_t)memory);
    assert_int_equal(allocated->bytes, released->bytes);
}

static void flushes_are_overhead(void **state)
{
    (void)state;
    launch(kernel_named("overhead"), NULL);
    flush();
    const fake_Overhead *record = client_record(CUPTI_ACTIVITY_KIND_OVERHEAD, 0);
    assert_int_equal(record->overheadKind, CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH);
    assert_true(record->start <= record->end);
}

#if CUPTI_API_VERSION >= 24 /* older ones lack the function */
static void muted_calls_have_no_records(void **state)
{
    int device;
    (void)state;
    cuptiActivityEnableRuntimeApi(CUPTI_RUNTIME_TRACE_CBID_cudaGetDevice_v3020, 0);
    cudaGetDevice(&device);
    flush();
    const CUpti_ActivityAPI *call;
    for (size_t i = 0; (call = client_record(CUPTI_ACTIVITY_KIND_RUNTIME, i)) != NULL; i++) {
        assert_int_not_equal(call->cbid, CUPTI_RUNTIME_TRACE_CBID_cudaGetDevice_v3020);
    }
    assert_int_equal(client_count(CUPTI_ACTIVITY_KIND_RUNTIME), 1); /* cudaDeviceSynchronize */
}

#endif

static void *launch_one(void *stream)
{
    launch(kernel_named("on_thread"), stream);
    return NULL;
}

static void threads_have_buffers_of_their_own(void **state)
{
    pthread_t thread;
    (void)state;
    pthread_create(&thread, NULL, launch_one, NULL);
    pthread_join(thread, NULL);
    launch_one(NULL);
    cudaDeviceSynchronize();
    unsigned before = (unsigned)client.buffers;
    cuptiActivityFlushAll(0);
    assert_int_equal(client_count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 2);
    assert_int_equal(client.buffers - before, 2);
    const fake_Kernel *a = client_record(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 0);
    const fake_Kernel *b = client_record(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 1);
    assert_int_not_equal(call_of(a->correlationId)->threadId, call_of(b->correlationId)->threadId);
}

int main(void)
{
    const struct CMUnitTest tests[] =
    { cmocka_unit_test_setup_teardown(a_launch_gives_a_kernel_and_its_call, start_client,
                                      stop_client),
      cmocka_unit_test_setup_teardown(no_launch_is_lost_in_many, start_client, stop_client),
      cmocka_unit_test_setup_teardown(refused_buffers_are_counted, start_client, stop_client),
      cmocka_unit_test_setup_teardown(external_ids_are_of_the_calls, start_client, stop_client),
      cmocka_unit_test_setup_teardown(times_are_those_of_the_clients_clock, start_client,
                                      stop_client),
      cmocka_unit_test_setup_teardown(a_subscriber_sees_launches, start_client, stop_client),
      cmocka_unit_test_setup_teardown(resources_and_waits_raise_callbacks, start_client,
                                      stop_client),
      cmocka_unit_test_setup_teardown(entities_and_memory_have_records, start_client, stop_client),
      cmocka_unit_test_setup_teardown(flushes_are_overhead, start_client, stop_client),
#if CUPTI_API_VERSION >= 24
      cmocka_unit_test_setup_teardown(muted_calls_have_no_records, start_client, stop_client),
#endif
      cmocka_unit_test_setup_teardown(threads_have_buffers_of_their_own, start_client, stop_client),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
