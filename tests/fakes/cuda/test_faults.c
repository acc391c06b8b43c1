/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the simulated device: each fault, and the records of each version of CUPTI. A process
   has one setting, so that each test runs in a child. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "client.h"

/* A child has no cmocka: a failed check is its exit status. */
#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                        \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

static int status_of(const char *variable, const char *value, void (*scenario)(void))
{
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        setenv(variable, value, 1);
        scenario();
        _exit(0);
    }
    waitpid(child, &status, 0);
    return status;
}

static void start_client(void)
{
    CHECK(cuptiActivityRegisterCallbacks(client_request, client_complete) == CUPTI_SUCCESS);
    CHECK(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) == CUPTI_SUCCESS);
}

static void launch_many(unsigned count)
{
    const void *kernel = kernel_named("kernel");
    for (unsigned i = 0; i < count; i++) {
        CHECK(launch(kernel, NULL) == cudaSuccess);
    }
    cudaDeviceSynchronize();
}

static void on_call(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
                    const void *data)
{
    (void)user;
    (void)domain;
    (void)cbid;
    (void)data;
}

static void find_busy_owner(void)
{
    CUpti_SubscriberHandle handle;
    CHECK(cuptiSubscribe(&handle, on_call, NULL) == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
    launch_many(1);
}

static void find_no_driver(void)
{
    CUpti_SubscriberHandle handle;
    int count = 7;
    CHECK(cudaGetDeviceCount(&count) == cudaErrorNoDevice);
    CHECK(cudaGetLastError() == cudaErrorNoDevice);
    CHECK(cuptiSubscribe(&handle, on_call, NULL) == CUPTI_ERROR_UNKNOWN);
    CHECK(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_RUNTIME) == CUPTI_ERROR_UNKNOWN);
}

static uint64_t no_time(void)
{
    return 0;
}

static void find_refused_clock(void)
{
    CHECK(cuptiActivityRegisterTimestampCallback(no_time) == CUPTI_ERROR_INVALID_OPERATION);
    start_client();
    launch_many(1);
    cuptiActivityFlushAll(0);
    const fake_Kernel *record = client_record(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 0);
    CHECK(record->start / 1000000000 >= (uint64_t)time(NULL) - 5); /* seconds since 1970 */
}

static void find_lost_records(void)
{
    size_t dropped = 0;
    start_client();
    launch_many(100);
    cuptiActivityFlushAll(0);
    CHECK(cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped) == CUPTI_SUCCESS);
    CHECK(dropped == 10 && client_count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) == 90);
}

static void find_late_records(void)
{
    start_client();
    launch_many(3);
    cuptiActivityFlushAll(1);
    CHECK(client_count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) == 0);
    while (client_count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) < 3) {
        cuptiActivityFlushAll(1);
    }
}

static void find_exhausted_buffers(void)
{
    start_client();
    launch_many(1);
    cuptiActivityFlushAll(0);
    const fake_Kernel *record = client_record(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 0);
    CHECK(record->start == 0 && record->end == 0);
}

static void return_no_buffer(void)
{
    client.refuses_buffers = 1;
    start_client();
    launch_many(1);
    cuptiActivityFlushAll(0);
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* A kernel that waits long enough for a core seems to begin after its launch, even so. */
static void find_wrong_clock(void)
{
    bool is_early = false;
    CHECK(cuptiActivityRegisterTimestampCallback(now_ns) == CUPTI_SUCCESS);
    start_client();
    for (size_t i = 0; i < 100 && !is_early; i++) {
        uint64_t before_ns = now_ns();
        launch_many(1);
        cuptiActivityFlushAll(0);
        const fake_Kernel *record = client_record(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, i);
        is_early = record->start < before_ns;
    }
    CHECK(is_early);
}

static void find_slow_flush(void)
{
    struct timespec before, after;
    start_client();
    launch_many(1);
    clock_gettime(CLOCK_MONOTONIC, &before);
    cuptiActivityFlushAll(0);
    clock_gettime(CLOCK_MONOTONIC, &after);
    CHECK((after.tv_sec - before.tv_sec) * 1000 + (after.tv_nsec - before.tv_nsec) / 1000000 >=
          299);
}

static const struct fault {
    const char *name;
    void (*scenario)(void);
} faults[] = {
    {"busy-owner", find_busy_owner},       {"no-driver", find_no_driver},
    {"refused-clock", find_refused_clock}, {"lost-records", find_lost_records},
    {"late-records", find_late_records},   {"exhausted-buffers", find_exhausted_buffers},
    {"slow-flush", find_slow_flush},       {"wrong-clock", find_wrong_clock},
};

static void each_fault_is_seen(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        print_message("%s\n", faults[i].name);
        assert_int_equal(status_of("FAKE_CUDA_FAULTS", faults[i].name, faults[i].scenario), 0);
        assert_int_not_equal(status_of("FAKE_CUDA_FAULTS", "", faults[i].scenario), 0);
    }
}

static void a_missing_buffer_crashes_old_versions(void **state)
{
    (void)state;
    assert_int_equal(status_of("FAKE_CUDA_FAULTS", "", return_no_buffer), 0);
    assert_true(WIFSIGNALED(status_of("FAKE_CUDA_FAULTS", "no-null-buffers", return_no_buffer)));
}

static void unknown_settings_are_refused(void **state)
{
    (void)state;
    assert_int_equal(WEXITSTATUS(status_of("FAKE_CUDA_FAULTS", "no-such", find_no_driver)), 125);
    assert_int_equal(WEXITSTATUS(status_of("FAKE_CUDA_DURATIONS", "gemm=fast", find_no_driver)),
                     125);
    assert_int_equal(WEXITSTATUS(status_of("FAKE_CUDA_CUPTI", "10.0", find_no_driver)), 125);
}

static size_t kernel_bytes;

static void measure_records(void)
{
    static uint8_t buffer[512 + 8];
    CUpti_Activity *record = NULL;
    uint32_t *kinds = (uint32_t *)(void *)buffer;
    kinds[0] = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    *(uint32_t *)(void *)(buffer + kernel_bytes) = CUPTI_ACTIVITY_KIND_RUNTIME;
    CHECK(cuptiActivityGetNextRecord(buffer, kernel_bytes + 40, &record) == CUPTI_SUCCESS);
    CHECK(cuptiActivityGetNextRecord(buffer, kernel_bytes + 40, &record) == CUPTI_SUCCESS);
    CHECK((uint8_t *)record == buffer + kernel_bytes);
    CHECK(cuptiActivityGetNextRecord(buffer, kernel_bytes + 40, &record) ==
          CUPTI_ERROR_MAX_LIMIT_REACHED);
    start_client();
    launch_many(3); /* what it writes is walked in the same steps */
    cuptiActivityFlushAll(0);
    CHECK(client_count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) == 3);
    const fake_Kernel *kernel = client_record(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 2);
    CHECK(kernel->end - kernel->start == 20000 && strcmp(kernel->name, "kernel") == 0);
}

static void each_version_has_its_records(void **state)
{
    (void)state;
    kernel_bytes = 200; /* CUpti_ActivityKernel8 */
    assert_int_equal(status_of("FAKE_CUDA_CUPTI", "11.8", measure_records), 0);
    assert_int_not_equal(status_of("FAKE_CUDA_CUPTI", "12.6", measure_records), 0);
    kernel_bytes = 208; /* CUpti_ActivityKernel9 */
    assert_int_equal(status_of("FAKE_CUDA_CUPTI", "12.6", measure_records), 0);
    kernel_bytes = 216; /* CUpti_ActivityKernel10 */
    assert_int_equal(status_of("FAKE_CUDA_CUPTI", "13.0", measure_records), 0);
}

static void fork_after_start(void)
{
    int status = -1, count;
    start_client();
    launch_many(1);
    pid_t child = fork();
    if (child == 0) {
        _exit(cudaGetDeviceCount(&count) == cudaErrorInitializationError ? 0 : 1);
    }
    waitpid(child, &status, 0);
    CHECK(status == 0);
    launch_many(1);
}

static void a_forked_child_has_no_device(void **state)
{
    (void)state;
    assert_int_equal(status_of("FAKE_CUDA_FAULTS", "", fork_after_start), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_fault_is_seen),
        cmocka_unit_test(a_missing_buffer_crashes_old_versions),
        cmocka_unit_test(unknown_settings_are_refused),
        cmocka_unit_test(each_version_has_its_records),
        cmocka_unit_test(a_forked_child_has_no_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
