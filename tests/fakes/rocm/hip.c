/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fake libamdhip64, with a little of RCCL: two devices whose streams do one work after another,
 * in known times, and compute nothing. At the first call it searches for a tool, as
 * rocprofiler-register does, and then loads librocprofiler-sdk.so.1; without one, or without that
 * library, programs run all the same.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "hip.h"
#include "sdk_abi.h"

#define EXPORT __attribute__((visibility("default")))

enum { MOST_STREAMS = 64, MOST_KERNELS = 256, LAUNCH_NS = 4000, KERNEL_NS = 30000 };

/* --- the SDK, if there is one ----------------------------------------------------------------- */

static struct {
    void (*begin)(void);
    uint64_t (*now)(void);
    void (*enter)(open_call *call, enum domain domain, const char *name, void *payload);
    void (*leave)(open_call *call);
    void (*symbol)(uint64_t kernel, const char *name, uint32_t group_bytes, uint32_t vgprs,
                   uint32_t accumulators);
    void (*stream)(uint64_t stream, int phase);
    queued (*queue)(int is_copy);
    void (*kernel_done)(const queued *of, const dispatch_info *info, uint64_t begin, uint64_t end);
    void (*copy_done)(const queued *of, int direction, uint64_t from, uint64_t to, uint64_t bytes,
                      uint64_t begin, uint64_t end);
} sdk;

static void find_sdk(void)
{
    const char *listed = getenv("ROCP_TOOL_LIBRARIES");
    bool has_tool = (listed != NULL && listed[0] != '\0') ||
                    dlsym(RTLD_DEFAULT, "rocprofiler_configure") != NULL;
    void *library = has_tool ? dlopen("librocprofiler-sdk.so.1", RTLD_LOCAL | RTLD_LAZY) : NULL;
    if (library == NULL) {
        return;
    }
#define FIND(name) *(void **)&sdk.name = dlsym(library, "fake_sdk_" #name)
    FIND(begin);
    FIND(now);
    FIND(enter);
    FIND(leave);
    FIND(symbol);
    FIND(stream);
    FIND(queue);
    FIND(kernel_done);
    FIND(copy_done);
#undef FIND
    sdk.begin();
}

/* --- devices ---------------------------------------------------------------------------------- */

struct work {
    struct work *next;
    queued of;
    dispatch_info info; /* of a kernel; size 0: a copy */
    int direction;
    uint64_t from, to, bytes, begin, end; /* CLOCK_BOOTTIME */
};

static struct {
    char name[256];
    uint32_t group_bytes;
} kernels[MOST_KERNELS];
static int kernel_count;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t is_changed = PTHREAD_COND_INITIALIZER;
static struct work *first; /* in the order of their ends */
static struct {
    uint64_t end;
    bool is_captured;
} streams[MOST_STREAMS];
static int stream_count = 1, open_works;
static uint64_t dispatches;
static _Thread_local int device;

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void finish(const struct work *work)
{
    if (sdk.now == NULL) {
        return;
    }
    uint64_t shift = sdk.now() - now_ns(); /* its clock may be another one */
    shift = shift > 1000000000 ? shift : 0;
    if (work->info.size != 0) {
        sdk.kernel_done(&work->of, &work->info, work->begin + shift, work->end + shift);
    } else {
        sdk.copy_done(&work->of, work->direction, work->from, work->to, work->bytes,
                      work->begin + shift, work->end + shift);
    }
}

static void *run(void *none)
{
    pthread_mutex_lock(&lock);
    for (;;) {
        if (first == NULL) {
            pthread_cond_wait(&is_changed, &lock);
            continue;
        }
        uint64_t now = now_ns();
        if (first->end > now) {
            struct timespec wait = {
                0, (long)(first->end - now < 1000000 ? first->end - now : 1000000)};
            pthread_mutex_unlock(&lock);
            nanosleep(&wait, NULL);
            pthread_mutex_lock(&lock);
            continue;
        }
        struct work *done = first;
        first = done->next;
        pthread_mutex_unlock(&lock);
        finish(done);
        free(done);
        pthread_mutex_lock(&lock);
        open_works--;
        pthread_cond_broadcast(&is_changed);
    }
    return none;
}

static void begin_devices(void)
{
    pthread_t thread;
    find_sdk();
    pthread_create(&thread, NULL, run, NULL);
}

static void begin(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, begin_devices);
}

static void queue_work(struct work *work, unsigned stream, uint64_t takes_ns)
{
    pthread_mutex_lock(&lock);
    uint64_t soonest = now_ns() + LAUNCH_NS;
    work->begin = soonest > streams[stream].end ? soonest : streams[stream].end;
    work->end = streams[stream].end = work->begin + takes_ns;
    struct work **at = &first;
    while (*at != NULL && (*at)->end <= work->end) {
        at = &(*at)->next;
    }
    work->next = *at;
    *at = work;
    open_works++;
    pthread_cond_broadcast(&is_changed);
    pthread_mutex_unlock(&lock);
}

static void wait_for_all(void)
{
    pthread_mutex_lock(&lock);
    while (open_works > 0) {
        pthread_cond_wait(&is_changed, &lock);
    }
    pthread_mutex_unlock(&lock);
}

/* --- calls ------------------------------------------------------------------------------------ */

static void enter_with(open_call *call, enum domain domain, const char *name, void *payload)
{
    begin();
    if (sdk.enter != NULL) {
        sdk.enter(call, domain, name, payload);
    }
}

static void enter(open_call *call, enum domain domain, const char *name)
{
    enter_with(call, domain, name, NULL);
}

static int leave(open_call *call)
{
    if (sdk.leave != NULL) {
        sdk.leave(call);
    }
    return 0;
}

static unsigned number_of(void *stream)
{
    unsigned number = (unsigned)(uintptr_t)stream;
    return number < MOST_STREAMS ? number : 0;
}

static void set_stream(unsigned stream, int phase)
{
    if (sdk.stream != NULL) {
        sdk.stream(stream, phase);
    }
}

/* true: it is captured, and does nothing. */
static bool queue_kernel(const void *function, hip_dim3 grid, hip_dim3 block, size_t shared,
                         unsigned stream)
{
    uintptr_t kernel = (uintptr_t)function;
    if (streams[stream].is_captured || kernel == 0 || kernel > (uintptr_t)kernel_count) {
        return streams[stream].is_captured;
    }
    struct work *work = calloc(1, sizeof *work);
    set_stream(stream, PHASE_ENTER);
    work->of = sdk.queue != NULL ? sdk.queue(0) : (queued){0};
    set_stream(stream, PHASE_EXIT);
    work->info = (dispatch_info){.size = 72,
                                 .agent = FIRST_GPU_AGENT + (uint64_t)device,
                                 .queue = 0x7000 + stream % 4,
                                 .kernel = kernel,
                                 .dispatch = ++dispatches,
                                 .private_bytes = 64,
                                 .group_bytes = kernels[kernel - 1].group_bytes + (uint32_t)shared,
                                 .workgroup = {block.x, block.y, block.z},
                                 .grid = {grid.x * block.x, grid.y * block.y, grid.z * block.z}};
    queue_work(work, stream, KERNEL_NS);
    return false;
}

EXPORT const void *fake_hip_kernel(const char *name, uint32_t group_bytes, uint32_t vgprs,
                                   uint32_t accumulators)
{
    begin();
    if (kernel_count >= MOST_KERNELS) {
        return NULL;
    }
    strncpy(kernels[kernel_count].name, name, sizeof kernels->name - 1);
    kernels[kernel_count++].group_bytes = group_bytes;
    if (sdk.symbol != NULL) {
        sdk.symbol((uint64_t)kernel_count, kernels[kernel_count - 1].name, group_bytes, vgprs,
                   accumulators);
    }
    return (const void *)(uintptr_t)kernel_count;
}

EXPORT int hipLaunchKernel(const void *function, hip_dim3 grid, hip_dim3 block, void **arguments,
                           size_t shared, void *stream)
{
    open_call call;
    (void)arguments;
    enter(&call, OF_HIP, "hipLaunchKernel");
    queue_kernel(function, grid, block, shared, number_of(stream));
    return leave(&call);
}

/* Kernels of one correlation. */
EXPORT int hipGraphLaunch(void *graph, void *stream)
{
    open_call call;
    enter(&call, OF_HIP, "hipGraphLaunch");
    for (int i = 0; i < 3; i++) {
        queue_kernel(graph, (hip_dim3){8, 1, 1}, (hip_dim3){64, 1, 1}, 0, number_of(stream));
    }
    return leave(&call);
}

static int copy(const char *name, void *to, const void *from, size_t bytes, int kind, void *stream)
{
    static const int directions[] = {1, 2, 3, 4};
    open_call call;
    enter(&call, OF_HIP, name);
    struct work *work = calloc(1, sizeof *work);
    uint64_t gpu = FIRST_GPU_AGENT + (uint64_t)device;
    set_stream(number_of(stream), PHASE_ENTER);
    work->of = sdk.queue != NULL ? sdk.queue(1) : (queued){0};
    set_stream(number_of(stream), PHASE_EXIT);
    memmove(to, from, bytes);
    work->direction = directions[kind & 3];
    work->from = kind == 1 || kind == 0 ? CPU_AGENT : gpu;
    work->to = kind == 2 || kind == 0 ? CPU_AGENT : gpu;
    work->bytes = bytes;
    queue_work(work, number_of(stream), 2000 + bytes / 16);
    if (strcmp(name, "hipMemcpy") == 0) {
        wait_for_all();
    }
    return leave(&call);
}

EXPORT int hipMemcpy(void *to, const void *from, size_t bytes, int kind)
{
    return copy("hipMemcpy", to, from, bytes, kind, NULL);
}

EXPORT int hipMemcpyAsync(void *to, const void *from, size_t bytes, int kind, void *stream)
{
    return copy("hipMemcpyAsync", to, from, bytes, kind, stream);
}

EXPORT int hipMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device,
                              size_t bytes, void *stream)
{
    open_call call;
    enter(&call, OF_HIP, "hipMemcpyPeerAsync");
    struct work *work = calloc(1, sizeof *work);
    set_stream(number_of(stream), PHASE_ENTER);
    work->of = sdk.queue != NULL ? sdk.queue(1) : (queued){0};
    set_stream(number_of(stream), PHASE_EXIT);
    memmove(to, from, bytes);
    work->direction = 4;
    work->from = FIRST_GPU_AGENT + (uint64_t)from_device;
    work->to = FIRST_GPU_AGENT + (uint64_t)to_device;
    work->bytes = bytes;
    queue_work(work, number_of(stream), 2000 + bytes / 16);
    return leave(&call);
}

EXPORT int hipMalloc(void **memory, size_t bytes)
{
    open_call call;
    enter(&call, OF_HIP, "hipMalloc");
    *memory = malloc(bytes);
    return leave(&call);
}

EXPORT int hipFree(void *memory)
{
    open_call call;
    enter(&call, OF_HIP, "hipFree");
    free(memory);
    return leave(&call);
}

EXPORT int hipGetDevice(int *current)
{
    open_call call;
    enter(&call, OF_HIP, "hipGetDevice");
    *current = device;
    return leave(&call);
}

EXPORT int hipSetDevice(int wanted)
{
    begin();
    device = wanted >= 0 && wanted < GPUS ? wanted : 0;
    return 0;
}

EXPORT int hipStreamCreate(void **stream)
{
    open_call call;
    enter(&call, OF_HIP, "hipStreamCreate");
    pthread_mutex_lock(&lock);
    *stream = (void *)(uintptr_t)(stream_count < MOST_STREAMS ? stream_count++ : 0);
    pthread_mutex_unlock(&lock);
    return leave(&call);
}

EXPORT int hipStreamSynchronize(void *stream)
{
    open_call call;
    (void)stream;
    enter(&call, OF_HIP, "hipStreamSynchronize");
    wait_for_all();
    return leave(&call);
}

EXPORT int hipDeviceSynchronize(void)
{
    open_call call;
    enter(&call, OF_HIP, "hipDeviceSynchronize");
    wait_for_all();
    return leave(&call);
}

EXPORT int hipStreamBeginCapture(void *stream, int mode)
{
    open_call call;
    (void)mode;
    enter(&call, OF_HIP, "hipStreamBeginCapture");
    streams[number_of(stream)].is_captured = true;
    return leave(&call);
}

EXPORT int hipStreamEndCapture(void *stream, void **graph)
{
    open_call call;
    enter(&call, OF_HIP, "hipStreamEndCapture");
    streams[number_of(stream)].is_captured = false;
    *graph = (void *)(uintptr_t)1; /* of the first kernel */
    return leave(&call);
}

/* --- RCCL ------------------------------------------------------------------------------------- */

enum { MOST_QUEUED = 64 };

/* Of this thread: the kernels that the open group will launch. */
static _Thread_local struct {
    int depth, count;
    void *communicators[MOST_QUEUED], *streams[MOST_QUEUED];
} group;

static void launch_collective(void *stream)
{
    static const void *kernel;
    if (kernel == NULL) {
        kernel = fake_hip_kernel("_Z22ncclDevKernel_Generic_v.kd", 1024, 96, 0);
    }
    hipLaunchKernel(kernel, (hip_dim3){4, 1, 1}, (hip_dim3){256, 1, 1}, NULL, 0, stream);
}

static void queue_collective(void *communicator, void *stream)
{
    if (group.depth == 0) {
        launch_collective(stream);
    } else if (group.count < MOST_QUEUED) {
        group.communicators[group.count] = communicator;
        group.streams[group.count++] = stream;
    }
}

EXPORT int ncclGroupStart(void)
{
    open_call call;
    rccl_data data = {.size = sizeof data};
    enter_with(&call, OF_RCCL, "ncclGroupStart", &data);
    group.depth++;
    return leave(&call);
}

/* One kernel for what follows each other on a communicator. */
EXPORT int ncclGroupEnd(void)
{
    open_call call;
    rccl_data data = {.size = sizeof data};
    enter_with(&call, OF_RCCL, "ncclGroupEnd", &data);
    group.depth--;
    for (int i = 0; group.depth == 0 && i < group.count; i++) {
        if (i == 0 || group.communicators[i] != group.communicators[i - 1]) {
            launch_collective(group.streams[i]);
        }
    }
    group.count = group.depth == 0 ? 0 : group.count;
    return leave(&call);
}

EXPORT int ncclAllReduce(const void *from, void *to, size_t count, int type, int operation,
                         void *communicator, void *stream)
{
    open_call call;
    rccl_data data = {sizeof data,
                      {.ncclAllReduce = {from, to, count, type, operation, communicator, stream}},
                      0};
    enter_with(&call, OF_RCCL, "ncclAllReduce", &data);
    memmove(to, from, count);
    queue_collective(communicator, stream);
    return leave(&call);
}

static int send(const void *from, size_t count, int type, int peer, void *communicator,
                void *stream)
{
    open_call call;
    rccl_data data = {
        sizeof data, {.ncclSend = {from, count, type, peer, communicator, stream}}, 0};
    enter_with(&call, OF_RCCL, "ncclSend", &data);
    queue_collective(communicator, stream);
    return leave(&call);
}

/* By messages, as RCCL's. */
EXPORT int ncclAllToAll(const void *from, void *to, size_t count, int type, void *communicator,
                        void *stream)
{
    open_call call;
    rccl_data data = {
        sizeof data, {.ncclAllToAll = {from, to, count, type, communicator, stream}}, 0};
    enter_with(&call, OF_RCCL, "ncclAllToAll", &data);
    ncclGroupStart();
    for (int i = 0; i < GPUS; i++) {
        send(from, count, type, i, communicator, stream);
    }
    ncclGroupEnd();
    return leave(&call);
}

EXPORT int ncclCommInitAll(void **communicators, int count, const int *devices)
{
    static char made[MOST_STREAMS];
    static int made_count;
    open_call call;
    rccl_data data = {sizeof data, {.ncclCommInitAll = {communicators, count, devices}}, 0};
    enter_with(&call, OF_RCCL, "ncclCommInitAll", &data);
    for (int i = 0; i < count; i++) {
        communicators[i] = &made[made_count++ % MOST_STREAMS];
    }
    return leave(&call);
}

EXPORT int ncclCommInitRank(void **communicator, int ranks, rccl_unique_id id, int rank)
{
    open_call call;
    rccl_data data = {sizeof data, {.ncclCommInitRank = {communicator, ranks, {{0}}, rank}}, 0};
    memcpy(&data.args.ncclCommInitRank.commId, &id, sizeof id);
    enter_with(&call, OF_RCCL, "ncclCommInitRank", &data);
    *communicator = malloc(1);
    return leave(&call);
}

EXPORT int ncclCommSplit(void *parent, int colour, int key, void **communicator, void *config)
{
    open_call call;
    rccl_data data = {
        sizeof data, {.ncclCommSplit = {parent, colour, key, communicator, config}}, 0};
    enter_with(&call, OF_RCCL, "ncclCommSplit", &data);
    *communicator = colour >= 0 ? malloc(1) : NULL;
    return leave(&call);
}

EXPORT int ncclCommDestroy(void *communicator)
{
    open_call call;
    rccl_data data = {sizeof data, {.ncclCommDestroy = {communicator}}, 0};
    enter_with(&call, OF_RCCL, "ncclCommDestroy", &data);
    return leave(&call);
}
