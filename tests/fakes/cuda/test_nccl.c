/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the fake NCCL: ranks that wait for each other, in one process and in two. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "client.h"

enum { FLOAT = 7, SUM = 0, RANKS = 2, LARGE = 1 << 20 };

struct id {
    char bytes[128];
};

extern int ncclGetUniqueId(struct id *id);
extern int ncclCommInitRank(void **comm, int ranks, struct id id, int rank);
extern int ncclCommInitAll(void **comms, int count, const int *devices);
extern int ncclCommAbort(void *comm);
extern int ncclAllReduce(const void *from, void *to, size_t count, int type, int reduction,
                         void *comm, void *stream);
extern int ncclReduceScatter(const void *from, void *to, size_t count, int type, int reduction,
                             void *comm, void *stream);
extern int ncclSend(const void *from, size_t count, int type, int peer, void *comm, void *stream);
extern int ncclRecv(void *to, size_t count, int type, int peer, void *comm, void *stream);

struct rank {
    void *comm;
    float *memory;
    cudaStream_t stream;
};
static struct rank ranks[RANKS];

static void set_up_rank(int rank)
{
    cudaSetDevice(rank);
    assert_int_equal(cudaMalloc((void **)&ranks[rank].memory, LARGE * sizeof(float)), cudaSuccess);
    assert_int_equal(cudaStreamCreateWithFlags(&ranks[rank].stream, cudaStreamNonBlocking),
                     cudaSuccess);
}

static void put(int rank, float first, float second)
{
    ranks[rank].memory[0] = first; /* memory of the device is the host's */
    ranks[rank].memory[1] = second;
}

static int start(void **state)
{
    void *comms[RANKS];
    (void)state;
    memset(&client, 0, sizeof client);
    assert_int_equal(ncclCommInitAll(comms, RANKS, NULL), 0);
    for (int rank = 0; rank < RANKS; rank++) {
        set_up_rank(rank);
        ranks[rank].comm = comms[rank];
    }
    cuptiActivityRegisterCallbacks(client_request, client_complete);
    cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    cuptiActivityEnable(CUPTI_ACTIVITY_KIND_RUNTIME);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    for (int rank = 0; rank < RANKS; rank++) {
        cudaSetDevice(rank);
        cudaDeviceSynchronize();
        cudaFree(ranks[rank].memory);
        cudaStreamDestroy(ranks[rank].stream);
    }
    cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    cuptiActivityDisable(CUPTI_ACTIVITY_KIND_RUNTIME);
    cuptiActivityFlushAll(0);
    return 0;
}

static int reduce(int rank, size_t count)
{
    cudaSetDevice(rank);
    return ncclAllReduce(ranks[rank].memory, ranks[rank].memory, count, FLOAT, SUM,
                         ranks[rank].comm, ranks[rank].stream);
}

static void synchronize(void)
{
    for (int rank = 0; rank < RANKS; rank++) {
        cudaSetDevice(rank);
        assert_int_equal(cudaDeviceSynchronize(), cudaSuccess);
    }
    cuptiActivityFlushAll(0);
}

static void ranks_end_together(void **state)
{
    (void)state;
    put(0, 1, 2);
    put(1, 10, 20);
    assert_int_equal(reduce(0, 2), 0);
    assert_int_equal(cudaStreamQuery(ranks[0].stream), cudaErrorNotReady);
    cudaSetDevice(1);
    launch(kernel_named("gemm"), ranks[1].stream); /* 20 ms: the second rank comes late */
    assert_int_equal(reduce(1, 2), 0);
    synchronize();
    assert_true(ranks[0].memory[0] == 11 && ranks[1].memory[1] == 22);
    assert_int_equal(client_count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 3);
    const fake_Kernel *late = client_record(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 1);
    const fake_Kernel *early = client_record(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 2);
    if (early->deviceId == 1) {
        const fake_Kernel *other = early;
        early = late;
        late = other;
    }
    assert_string_equal(
        early->name, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)");
    assert_int_equal(early->end, late->end);
    assert_true(early->end - early->start > 15000000);
    assert_in_range(late->end - late->start, 12000, 13000);
}

static void large_ones_take_time_and_keep_values(void **state)
{
    (void)state;
    put(0, 1, 2);
    put(1, 10, 20);
    assert_int_equal(reduce(1, LARGE), 0);
    assert_int_equal(reduce(0, LARGE), 0);
    synchronize();
    assert_true(ranks[0].memory[0] == 1 && ranks[1].memory[1] == 20);
    for (size_t i = 0; i < 2; i++) {
        const fake_Kernel *kernel = client_record(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, i);
        assert_true(kernel->end - kernel->start >= 12000 + 20900); /* 4 MiB at 200 GB/s */
    }
}

static void parts_and_messages_arrive(void **state)
{
    (void)state;
    put(0, 1, 2);
    put(1, 10, 20);
    for (int rank = 0; rank < RANKS; rank++) {
        cudaSetDevice(rank);
        assert_int_equal(ncclReduceScatter(ranks[rank].memory, ranks[rank].memory + 4, 1, FLOAT,
                                           SUM, ranks[rank].comm, ranks[rank].stream),
                         0);
    }
    cudaSetDevice(1);
    assert_int_equal(ncclRecv(ranks[1].memory + 8, 1, FLOAT, 0, ranks[1].comm, ranks[1].stream), 0);
    cudaSetDevice(0);
    assert_int_equal(ncclSend(ranks[0].memory + 4, 1, FLOAT, 1, ranks[0].comm, ranks[0].stream), 0);
    synchronize();
    assert_true(ranks[0].memory[4] == 11 && ranks[1].memory[4] == 22 && ranks[1].memory[8] == 11);
}

static void an_abort_frees_who_waits(void **state)
{
    (void)state;
    assert_int_equal(reduce(0, 2), 0);
    assert_int_equal(ncclCommAbort(ranks[0].comm), 0);
    synchronize();
}

/* The whole work of a rank with a process of its own; 0 when all is right. */
static int run_rank(int rank, struct id id)
{
    float *memory;
    void *comm;
    cudaSetDevice(rank);
    if (ncclCommInitRank(&comm, RANKS, id, rank) != 0 ||
        cudaMalloc((void **)&memory, 64) != cudaSuccess) {
        return 1;
    }
    for (int i = 0; i < 300; i++) { /* more than there are slots */
        memory[0] = (float)(rank + i);
        if (ncclAllReduce(memory, memory, 1, FLOAT, SUM, comm, NULL) != 0 ||
            cudaDeviceSynchronize() != cudaSuccess || memory[0] != (float)(2 * i + 1)) {
            return 2;
        }
    }
    return 0;
}

static int processes(void)
{
    struct id id;
    int status = -1;
    if (ncclGetUniqueId(&id) != 0) {
        return 1;
    }
    pid_t child = fork();
    if (child == 0) {
        _exit(run_rank(1, id));
    }
    int own = run_rank(0, id);
    waitpid(child, &status, 0);
    return own != 0 ? own : status;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(ranks_end_together, start, stop),
        cmocka_unit_test_setup_teardown(large_ones_take_time_and_keep_values, start, stop),
        cmocka_unit_test_setup_teardown(parts_and_messages_arrive, start, stop),
        cmocka_unit_test_setup_teardown(an_abort_frees_who_waits, start, stop),
    };
    setenv("FAKE_CUDA_DEVICES", "2", 1);
    setenv("FAKE_CUDA_DURATIONS", "gemm=20ms", 1);
    pid_t group = fork(); /* before this process has devices: a fork after that has none */
    if (group == 0) {
        _exit(processes());
    }
    int status = -1;
    waitpid(group, &status, 0);
    if (status != 0) {
        fprintf(stderr, "two processes: status %d\n", status);
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
