/* SPDX-License-Identifier: Apache-2.0 */
/* libnccl: collectives and messages. Each is a kernel that ends when all ranks have come to it. */
#include "nccl_nvtx.h"
#include "nccl_profiler.h"

#include <cuda_runtime_api.h>
#include <cupti.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LATENCY_NS = 12000, NAME_BYTES = 160, MOST_FUSED = 64, MOST_QUEUED = 1024 };

EXPORT int ncclAllReduce(const void *from, void *to, size_t count, int type, int reduction,
                         struct comm *comm, void *stream);
EXPORT int ncclReduce(const void *from, void *to, size_t count, int type, int reduction, int root,
                      struct comm *comm, void *stream);
EXPORT int ncclBroadcast(const void *from, void *to, size_t count, int type, int root,
                         struct comm *comm, void *stream);
EXPORT int ncclBcast(void *memory, size_t count, int type, int root, struct comm *comm,
                     void *stream);
EXPORT int ncclAllGather(const void *from, void *to, size_t count, int type, struct comm *comm,
                         void *stream);
EXPORT int ncclReduceScatter(const void *from, void *to, size_t count, int type, int reduction,
                             struct comm *comm, void *stream);
EXPORT int ncclSend(const void *from, size_t count, int type, int peer, struct comm *comm,
                    void *stream);
EXPORT int ncclRecv(void *to, size_t count, int type, int peer, struct comm *comm, void *stream);
EXPORT int ncclGroupStart(void);
EXPORT int ncclGroupEnd(void);
EXPORT int ncclRedOpCreatePreMulSum(int *reduction, void *scalar, int type, int residence,
                                    struct comm *comm);
EXPORT int ncclRedOpDestroy(int reduction, struct comm *comm);

static const char *const type_names[NCCL_TYPES] = {"i8",  "u8",  "i32", "u32",  "i64",    "u64",
                                                   "f16", "f32", "f64", "bf16", "f8e4m3", "f8e5m2"};

size_t nccl_bytes(int type, size_t count)
{
    static const size_t sizes[NCCL_TYPES] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
    return sizes[type] * count;
}

/* As the vendor's kernels are called in traces. */
static void name_kernel(const struct operation *operation, char name[NAME_BYTES])
{
    static const char *const functions[] = {"AllReduce",     "Reduce",   "Broadcast", "AllGather",
                                            "ReduceScatter", "SendRecv", "SendRecv"};
    static const char *const reductions[] = {"Sum", "Prod", "MinMax", "MinMax", "Sum"};
    bool has_reduction = operation->function == ALL_REDUCE || operation->function == REDUCE ||
                         operation->function == REDUCE_SCATTER;
    int reduction = operation->reduction;
    char middle[48] = "";
    if (has_reduction) {
        snprintf(middle, sizeof middle, "_%s_%s",
                 reduction > NCCL_AVERAGE ? "PreMulSum" : reductions[reduction],
                 type_names[operation->type]);
    }
    bool is_message = operation->function >= SEND;
    snprintf(name, NAME_BYTES, "ncclDevKernel_%s%s%s(ncclDevKernelArgsStorage<4096ul>)",
             functions[operation->function], middle, is_message ? "" : "_RING_LL");
}

/* From when the last rank has come. */
static uint64_t duration_of(const struct operation *operation, const char *kernel)
{
    double bytes = (double)nccl_bytes(operation->type, operation->count);
    double ranks = operation->comm->ranks, part = (ranks - 1) / ranks;
    if (sim_has_duration(kernel)) {
        return sim_duration_ns(kernel);
    }
    switch (operation->function) {
    case ALL_REDUCE:
        bytes *= 2 * part;
        break;
    case ALL_GATHER:
    case REDUCE_SCATTER:
        bytes *= ranks - 1;
        break;
    default:
        bytes *= ranks > 1;
        break;
    }
    return LATENCY_NS + (uint64_t)(bytes * 1e3 / (double)sim_settings()->peer_mb_s);
}

/* --- polled by the device thread --- */

struct pending {
    struct operation operation;
    uint64_t duration_ns;
    void *event;              /* of the profiler */
    atomic_bool is_described; /* publishes it; before, nothing of the operation begins */
    bool has_channels;
    void *channels[CHANNELS];
};

static bool begin(struct pending *pending, uint64_t start_ns)
{
    if (!atomic_load(&pending->is_described)) {
        return false;
    }
    if (!pending->has_channels && pending->event != NULL && nccl_profiler_wants_channels()) {
        nccl_profiler_begin_channels(&pending->operation, pending->event, start_ns,
                                     pending->channels);
        pending->has_channels = true;
    }
    return true;
}

/* The end is passed to a profiler when it has come, not before. */
static bool end(struct pending *pending, uint64_t last_ns, uint64_t *end_ns)
{
    *end_ns = last_ns + pending->duration_ns;
    if (pending->has_channels) {
        if (sim_now_ns() < *end_ns) {
            return false;
        }
        nccl_profiler_end_channels(pending->channels, *end_ns);
    }
    free(pending);
    return true;
}

static bool poll_collective(void *argument, uint64_t start_ns, uint64_t *end_ns)
{
    struct pending *pending = argument;
    struct operation *operation = &pending->operation;
    struct comm *comm = operation->comm;
    struct slot *slot = &comm->shared->slots[operation->number % SLOTS];
    uint64_t last_ns = start_ns;
    if (!begin(pending, start_ns)) {
        return false;
    }
    if (!operation->has_come) {
        size_t parts = operation->function == REDUCE_SCATTER ? (size_t)comm->ranks : 1;
        size_t bytes = nccl_bytes(operation->type, operation->count) * parts;
        if (bytes <= DATA_BYTES && operation->from != NULL) {
            memcpy(slot->data[comm->rank], operation->from, bytes);
        }
        slot->start_ns[comm->rank] = start_ns;
        atomic_store(&slot->come[comm->rank], operation->number + 1);
        operation->has_come = true;
    }
    if (atomic_load(&comm->shared->aborted) != 0) {
        return end(pending, sim_now_ns(), end_ns);
    }
    for (int rank = 0; rank < comm->ranks; rank++) {
        if (atomic_load(&slot->come[rank]) < operation->number + 1) {
            return false;
        }
        last_ns = slot->start_ns[rank] > last_ns ? slot->start_ns[rank] : last_ns;
    }
    nccl_move(operation, slot);
    return end(pending, last_ns, end_ns);
}

/* A message is buffered: its sender waits only while too many are under way. */
static bool poll_send(void *argument, uint64_t start_ns, uint64_t *end_ns)
{
    struct pending *pending = argument;
    struct operation *operation = &pending->operation;
    struct pair *pair = &operation->comm->shared->pairs[operation->comm->rank][operation->root];
    size_t slot = operation->number % PAIR_SLOTS;
    size_t bytes = nccl_bytes(operation->type, operation->count);
    bool is_aborted = atomic_load(&operation->comm->shared->aborted) != 0;
    if (!begin(pending, start_ns)) {
        return false;
    }
    if (!is_aborted && operation->number >= atomic_load(&pair->received) + PAIR_SLOTS) {
        return false;
    }
    if (bytes <= DATA_BYTES) {
        memcpy(pair->data[slot], operation->from, bytes);
    }
    pair->start_ns[slot] = start_ns;
    atomic_store(&pair->sent, operation->number + 1);
    return end(pending, start_ns, end_ns);
}

static bool poll_receive(void *argument, uint64_t start_ns, uint64_t *end_ns)
{
    struct pending *pending = argument;
    struct operation *operation = &pending->operation;
    struct pair *pair = &operation->comm->shared->pairs[operation->root][operation->comm->rank];
    size_t slot = operation->number % PAIR_SLOTS;
    size_t bytes = nccl_bytes(operation->type, operation->count);
    if (!begin(pending, start_ns)) {
        return false;
    }
    if (atomic_load(&operation->comm->shared->aborted) != 0) {
        return end(pending, sim_now_ns(), end_ns);
    }
    if (atomic_load(&pair->sent) < operation->number + 1) {
        return false;
    }
    if (bytes <= DATA_BYTES) {
        memcpy(operation->to, pair->data[slot], bytes);
    }
    uint64_t sent_ns = pair->start_ns[slot];
    atomic_store(&pair->received, operation->number + 1);
    return end(pending, sent_ns > start_ns ? sent_ns : start_ns, end_ns);
}

/* --- launches, as the runtime's --- */

/* Several operations of one kernel, which ends with the last of them. */
struct fused {
    unsigned count;
    struct pending *parts[MOST_FUSED]; /* NULL: it has ended */
    bool (*polls[MOST_FUSED])(void *argument, uint64_t start_ns, uint64_t *end_ns);
    uint64_t end_ns;
};

static bool poll_fused(void *argument, uint64_t start_ns, uint64_t *end_ns)
{
    struct fused *fused = argument;
    bool has_open = false;
    for (unsigned i = 0; i < fused->count; i++) {
        uint64_t one_ns = 0;
        if (fused->parts[i] != NULL && fused->polls[i](fused->parts[i], start_ns, &one_ns)) {
            fused->parts[i] = NULL;
            fused->end_ns = one_ns > fused->end_ns ? one_ns : fused->end_ns;
        }
        has_open |= fused->parts[i] != NULL;
    }
    if (has_open) {
        return false;
    }
    *end_ns = fused->end_ns;
    free(fused);
    return true;
}

static struct fused *fuse(const struct operation *operations, unsigned count, const char *kernel)
{
    struct fused *fused = calloc(1, sizeof *fused);
    for (unsigned i = 0; fused != NULL && i < count; i++) {
        fused->polls[i] = operations[i].function == SEND      ? poll_send
                          : operations[i].function == RECEIVE ? poll_receive
                                                              : poll_collective;
        fused->parts[i] = calloc(1, sizeof *fused->parts[i]);
        if (fused->parts[i] == NULL) {
            abort();
        }
        *fused->parts[i] = (struct pending){.operation = operations[i],
                                            .duration_ns = duration_of(&operations[i], kernel)};
        fused->count++;
    }
    return fused;
}

static bool is_valid(const struct operation *operation)
{
    return operation->comm != NULL && operation->type >= 0 && operation->type < NCCL_TYPES;
}

/* Of one communicator and stream. */
static int launch(const struct operation *operations, unsigned count, void *stream)
{
    char name[NAME_BYTES];
    struct pending *parts[MOST_FUSED];
    struct nccl_described described[MOST_FUSED];
    name_kernel(operations, name);
    struct fused *fused = fuse(operations, count, name);
    if (fused == NULL) {
        return NCCL_SYSTEM_ERROR;
    }
    memcpy(parts, fused->parts, sizeof parts);
    struct sim_function *function = sim_function_named(name);
    struct sim_kernel kernel = {.function = function, .grid = {2, 1, 1}, .block = {544, 1, 1}};
    struct sim_open open = {poll_fused, fused};
    cudaError_t result = cudaSuccess;
    if (sim_kernel_at(function) == NULL) {
        sim_register_kernel(function, name);
    }
    struct sim_call call = {.domain = SIM_RUNTIME,
                            .cbid = CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_v11060,
                            .name = "cudaLaunchKernelExC",
                            .kernel = function,
                            .result = &result};
    for (unsigned i = 0; i < count; i++) {
        described[i] = (struct nccl_described){.algorithm = "RING", .protocol = "LL"};
        nccl_profiler_begin(&operations[i], &described[i]);
    }
    result = (cudaError_t)sim_call_begin(&call);
    if (result == cudaSuccess) {
        result = (cudaError_t)sim_launch_open(sim_stream(stream), &kernel, open);
    }
    sim_call_end(&call, (int)result);
    for (unsigned i = 0; i < count; i++) {
        nccl_profiler_launched(&described[i]);
    }
    if (result != cudaSuccess) {
        return NCCL_INVALID_USAGE;
    }
    for (unsigned i = 0; i < count; i++) {
        parts[i]->event = nccl_profiler_describe(&operations[i], &described[i]);
        atomic_store(&parts[i]->is_described, true); /* from here on it may be freed */
    }
    return NCCL_OK;
}

/* --- groups --- */

/* Of this thread: what the open groups have queued. */
static _Thread_local struct {
    unsigned depth, count;
    struct operation operations[MOST_QUEUED];
    void *streams[MOST_QUEUED];
} group;

/* Operations that follow each other on a stream of one communicator are one kernel. */
static int launch_queued(void)
{
    int error = NCCL_OK;
    for (unsigned first = 0, end; first < group.count; first = end) {
        for (end = first + 1; end < group.count && end - first < MOST_FUSED &&
                              group.operations[end].comm == group.operations[first].comm &&
                              group.streams[end] == group.streams[first];) {
            end++;
        }
        int one = launch(&group.operations[first], end - first, group.streams[first]);
        error = error == NCCL_OK ? one : error;
    }
    group.count = 0;
    return error;
}

static int nccl_launch(const struct operation *operation, void *stream)
{
    if (!is_valid(operation)) {
        return NCCL_INVALID_ARGUMENT;
    }
    if (group.depth == 0) {
        return launch(operation, 1, stream);
    }
    if (group.count == MOST_QUEUED) {
        return NCCL_INVALID_USAGE;
    }
    group.operations[group.count] = *operation;
    group.streams[group.count++] = stream;
    return NCCL_OK;
}

int ncclGroupStart(void)
{
    nccl_nvtx_push("ncclGroupStart");
    group.depth++;
    nccl_nvtx_pop();
    return NCCL_OK;
}

int ncclGroupEnd(void)
{
    int error = NCCL_INVALID_USAGE;
    nccl_nvtx_push("ncclGroupEnd");
    if (group.depth > 0) {
        group.depth--;
        error = group.depth == 0 ? launch_queued() : NCCL_OK;
    }
    nccl_nvtx_pop();
    return error;
}

static int collective(enum function function, const void *from, void *to, size_t count, int type,
                      int reduction, int root, struct comm *comm, void *stream)
{
    struct operation operation = {function, comm, from, to, count, type, reduction, root, 0, false};
    if (comm == NULL || root < 0 || root >= comm->ranks) {
        return NCCL_INVALID_ARGUMENT;
    }
    operation.number = comm->next++;
    nccl_nvtx_push_operation(&operation);
    int error = nccl_launch(&operation, stream);
    nccl_nvtx_pop();
    return error;
}

int ncclAllReduce(const void *from, void *to, size_t count, int type, int reduction,
                  struct comm *comm, void *stream)
{
    return collective(ALL_REDUCE, from, to, count, type, reduction, 0, comm, stream);
}

int ncclReduce(const void *from, void *to, size_t count, int type, int reduction, int root,
               struct comm *comm, void *stream)
{
    return collective(REDUCE, from, to, count, type, reduction, root, comm, stream);
}

int ncclBroadcast(const void *from, void *to, size_t count, int type, int root, struct comm *comm,
                  void *stream)
{
    return collective(BROADCAST, from, to, count, type, NCCL_SUM, root, comm, stream);
}

int ncclBcast(void *memory, size_t count, int type, int root, struct comm *comm, void *stream)
{
    return ncclBroadcast(memory, memory, count, type, root, comm, stream);
}

int ncclAllGather(const void *from, void *to, size_t count, int type, struct comm *comm,
                  void *stream)
{
    return collective(ALL_GATHER, from, to, count, type, NCCL_SUM, 0, comm, stream);
}

int ncclReduceScatter(const void *from, void *to, size_t count, int type, int reduction,
                      struct comm *comm, void *stream)
{
    return collective(REDUCE_SCATTER, from, to, count, type, reduction, 0, comm, stream);
}

/* Up to NCCL 2.23, it is a group of its own. */
static int message(const struct operation *operation, void *stream)
{
    nccl_nvtx_push_operation(operation);
    bool is_group = nccl_nvtx_groups_messages();
    if (is_group) {
        ncclGroupStart();
    }
    int error = nccl_launch(operation, stream);
    if (is_group) {
        int of_group = ncclGroupEnd();
        error = error == NCCL_OK ? of_group : error;
    }
    nccl_nvtx_pop();
    return error;
}

int ncclSend(const void *from, size_t count, int type, int peer, struct comm *comm, void *stream)
{
    struct operation operation = {SEND, comm, from, NULL, count, type, NCCL_SUM, peer, 0, false};
    if (comm == NULL || peer < 0 || peer >= comm->ranks) {
        return NCCL_INVALID_ARGUMENT;
    }
    operation.number = comm->sent[peer]++;
    return message(&operation, stream);
}

int ncclRecv(void *to, size_t count, int type, int peer, struct comm *comm, void *stream)
{
    struct operation operation = {RECEIVE, comm, NULL, to, count, type, NCCL_SUM, peer, 0, false};
    if (comm == NULL || peer < 0 || peer >= comm->ranks) {
        return NCCL_INVALID_ARGUMENT;
    }
    operation.number = comm->received[peer]++;
    return message(&operation, stream);
}

int ncclRedOpCreatePreMulSum(int *reduction, void *scalar, int type, int residence,
                             struct comm *comm)
{
    (void)scalar;
    (void)type;
    (void)residence;
    *reduction = NCCL_AVERAGE + 1;
    return comm != NULL ? NCCL_OK : NCCL_INVALID_ARGUMENT;
}

int ncclRedOpDestroy(int reduction, struct comm *comm)
{
    return reduction > NCCL_AVERAGE && comm != NULL ? NCCL_OK : NCCL_INVALID_ARGUMENT;
}

/* Newer functions, which a program can do without. */
#define NOT_SIMULATED(name)                                                                        \
    EXPORT int name(void);                                                                         \
    int name(void)                                                                                 \
    {                                                                                              \
        return NCCL_INVALID_USAGE;                                                                 \
    }
NOT_SIMULATED(ncclAlltoAll)
NOT_SIMULATED(ncclCommShrink)
NOT_SIMULATED(ncclCommWindowRegister)
NOT_SIMULATED(ncclCommWindowDeregister)
NOT_SIMULATED(ncclDevCommCreate)
NOT_SIMULATED(ncclDevCommDestroy)
NOT_SIMULATED(ncclGroupSimulateEnd)
