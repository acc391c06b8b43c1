/* SPDX-License-Identifier: Apache-2.0 */
/* libnccl: communicators. Their processes are on one machine and share its monotonic clock. */
#include "nccl_nvtx.h"
#include "nccl_profiler.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

enum { VERSION = 22602, JOIN_SECONDS = 60, NAME_BYTES = 64 };

EXPORT int ncclGetVersion(int *version);
EXPORT const char *ncclGetErrorString(int error);
EXPORT const char *ncclGetLastError(struct comm *comm);
EXPORT int ncclGetUniqueId(struct nccl_id *id);
EXPORT int ncclCommInitRank(struct comm **comm, int ranks, struct nccl_id id, int rank);
EXPORT int ncclCommInitRankConfig(struct comm **comm, int ranks, struct nccl_id id, int rank,
                                  void *config);
EXPORT int ncclCommInitRankScalable(struct comm **comm, int ranks, int rank, int count,
                                    struct nccl_id *ids, void *config);
EXPORT int ncclCommInitAll(struct comm **comms, int count, const int *devices);
EXPORT int ncclCommSplit(struct comm *comm, int color, int key, struct comm **new, void *config);
EXPORT int ncclCommFinalize(struct comm *comm);
EXPORT int ncclCommDestroy(struct comm *comm);
EXPORT int ncclCommAbort(struct comm *comm);
EXPORT int ncclCommGetAsyncError(struct comm *comm, int *error);
EXPORT int ncclCommCount(const struct comm *comm, int *count);
EXPORT int ncclCommUserRank(const struct comm *comm, int *rank);
EXPORT int ncclCommCuDevice(const struct comm *comm, int *device);
EXPORT int ncclCommRegister(const struct comm *comm, void *memory, size_t size, void **handle);
EXPORT int ncclCommDeregister(const struct comm *comm, void *handle);
EXPORT int ncclMemAlloc(void **memory, size_t size);
EXPORT int ncclMemFree(void *memory);

int ncclGetVersion(int *version)
{
    *version = VERSION;
    return NCCL_OK;
}

const char *ncclGetErrorString(int error)
{
    static const char *const texts[] = {
        "no error",         "unhandled cuda error", "system error",          "internal error",
        "invalid argument", "invalid usage",        "remote process exited", "in progress"};
    bool is_known = error >= 0 && (size_t)error < sizeof texts / sizeof texts[0];
    return is_known ? texts[error] : "unknown result code";
}

const char *ncclGetLastError(struct comm *comm)
{
    (void)comm;
    return "";
}

int ncclGetUniqueId(struct nccl_id *id)
{
    memset(id, 0, sizeof *id);
    return getrandom(id, 16, 0) == 16 ? NCCL_OK : NCCL_SYSTEM_ERROR;
}

static void name_of(const struct nccl_id *id, char name[NAME_BYTES])
{
    int length = snprintf(name, NAME_BYTES, "/fake-nccl-");
    for (int i = 0; i < 16; i++) {
        length += snprintf(name + length, NAME_BYTES - (size_t)length, "%02x",
                           (unsigned)(unsigned char)id->bytes[i]);
    }
}

static struct shared *map_shared(const char *name)
{
    int file = shm_open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0) {
        return NULL;
    }
    void *memory = MAP_FAILED;
    if (ftruncate(file, sizeof(struct shared)) == 0) {
        memory = mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    }
    close(file);
    return memory != MAP_FAILED ? memory : NULL;
}

static struct comm *new_comm(struct shared *shared, uint64_t hash, int rank, int ranks, int device)
{
    struct comm *comm = calloc(1, sizeof *comm);
    if (comm != NULL) {
        *comm = (struct comm){
            .shared = shared, .hash = hash, .rank = rank, .ranks = ranks, .device = device};
        comm->profiler = nccl_profiler_open(comm);
    }
    return comm;
}

/* Returns when all ranks have come, or false. */
static bool join(struct shared *shared, int ranks)
{
    uint64_t end_ns = sim_now_ns() + (uint64_t)JOIN_SECONDS * 1000000000u;
    atomic_fetch_add(&shared->joined, 1);
    while (atomic_load(&shared->joined) < (unsigned)ranks && sim_now_ns() < end_ns) {
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    }
    return atomic_load(&shared->joined) >= (unsigned)ranks;
}

static int make(struct comm **comm, int ranks, struct nccl_id id, int rank)
{
    char name[NAME_BYTES];
    if (ranks < 1 || ranks > MOST_RANKS || rank < 0 || rank >= ranks) {
        return NCCL_INVALID_ARGUMENT;
    }
    uint64_t hash;
    memcpy(&hash, id.bytes, sizeof hash);
    name_of(&id, name);
    struct shared *shared = map_shared(name);
    if (shared == NULL) {
        return NCCL_SYSTEM_ERROR;
    }
    bool is_complete = join(shared, ranks);
    if (rank == 0) {
        shm_unlink(name); /* all have it, or never will */
    }
    *comm =
        is_complete ? new_comm(shared, hash, rank, ranks, (int)sim_current_device()->index) : NULL;
    return *comm != NULL ? NCCL_OK : NCCL_SYSTEM_ERROR;
}

static int make_annotated(const char *function, struct comm **comm, int ranks, struct nccl_id id,
                          int rank)
{
    struct nccl_made made = {.function = function,
                             .ranks = ranks,
                             .rank = rank,
                             .device = (int)sim_current_device()->index};
    nccl_nvtx_push_made(&made);
    int error = make(comm, ranks, id, rank);
    made.hash = error == NCCL_OK ? (*comm)->hash : 0;
    nccl_nvtx_pop_made(&made, error == NCCL_OK);
    return error;
}

int ncclCommInitRank(struct comm **comm, int ranks, struct nccl_id id, int rank)
{
    return make_annotated("ncclCommInitRank", comm, ranks, id, rank);
}

int ncclCommInitRankConfig(struct comm **comm, int ranks, struct nccl_id id, int rank, void *config)
{
    (void)config;
    return make_annotated("ncclCommInitRankConfig", comm, ranks, id, rank);
}

int ncclCommInitRankScalable(struct comm **comm, int ranks, int rank, int count,
                             struct nccl_id *ids, void *config)
{
    (void)config;
    return count < 1 ? NCCL_INVALID_ARGUMENT : make(comm, ranks, ids[0], rank);
}

/* The ranks of one process need no name. */
int ncclCommInitAll(struct comm **comms, int count, const int *devices)
{
    if (count < 1 || count > MOST_RANKS) {
        return NCCL_INVALID_ARGUMENT;
    }
    void *memory = mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return NCCL_SYSTEM_ERROR;
    }
    for (int i = 0; i < count; i++) {
        comms[i] = new_comm(memory, (uintptr_t)memory, i, count, devices != NULL ? devices[i] : i);
    }
    return NCCL_OK;
}

/* Not simulated; programs make a communicator of its own instead. */
int ncclCommSplit(struct comm *comm, int color, int key, struct comm **new, void *config)
{
    (void)comm;
    (void)color;
    (void)key;
    (void)config;
    *new = NULL;
    return NCCL_INVALID_USAGE;
}

int ncclCommFinalize(struct comm *comm)
{
    return comm != NULL ? NCCL_OK : NCCL_INVALID_ARGUMENT;
}

/* The memory stays: operations that have not ended refer to it. */
int ncclCommDestroy(struct comm *comm)
{
    if (comm != NULL) {
        struct nccl_made made = {"ncclCommDestroy", comm->hash, comm->ranks, comm->rank,
                                 comm->device};
        nccl_nvtx_push_made(&made);
        nccl_profiler_close(comm->profiler);
        comm->profiler = NULL;
        nccl_nvtx_pop_made(&made, true);
    }
    return comm != NULL ? NCCL_OK : NCCL_INVALID_ARGUMENT;
}

int ncclCommAbort(struct comm *comm)
{
    atomic_store(&comm->shared->aborted, 1);
    return NCCL_OK;
}

int ncclCommGetAsyncError(struct comm *comm, int *error)
{
    *error = comm != NULL ? NCCL_OK : NCCL_INVALID_ARGUMENT;
    return NCCL_OK;
}

int ncclCommCount(const struct comm *comm, int *count)
{
    *count = comm->ranks;
    return NCCL_OK;
}

int ncclCommUserRank(const struct comm *comm, int *rank)
{
    *rank = comm->rank;
    return NCCL_OK;
}

int ncclCommCuDevice(const struct comm *comm, int *device)
{
    *device = comm->device;
    return NCCL_OK;
}

int ncclCommRegister(const struct comm *comm, void *memory, size_t size, void **handle)
{
    (void)comm;
    (void)size;
    *handle = memory;
    return NCCL_OK;
}

int ncclCommDeregister(const struct comm *comm, void *handle)
{
    (void)comm;
    (void)handle;
    return NCCL_OK;
}

int ncclMemAlloc(void **memory, size_t size)
{
    return sim_allocate(sim_current_device(), SIM_ON_DEVICE, size, memory) == SIM_OK
               ? NCCL_OK
               : NCCL_SYSTEM_ERROR;
}

int ncclMemFree(void *memory)
{
    return sim_release(memory) == SIM_OK ? NCCL_OK : NCCL_INVALID_ARGUMENT;
}
