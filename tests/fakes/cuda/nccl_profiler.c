/* SPDX-License-Identifier: Apache-2.0 */
/* The descriptions are written out for each version in the vendor's order of members; they are the
   fake's own, so that a mistake in stepscope's declarations is not repeated here. */
#include "nccl_profiler.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

enum {
    GROUP = 1,
    COLL = 2,
    P2P = 4,
    KERNEL_CHANNEL = 64,
    GROUP_API = 256,
    COLL_API = 512,
    P2P_API = 1024,
    KERNEL_LAUNCH = 2048,
    CHANNEL_STOP = 22,
    NEWEST = 5
};

/* The device's clock is another than the host's. */
#define DEVICE_CLOCK_NS UINT64_C(1700000000000000000)

/* --- what is passed, by version --- */

struct coll_1 {
    const char *name;
    uint64_t commHash, seqNumber;
    uint8_t func;
    void const *sendBuff;
    void *recvBuff;
    size_t count;
    int root;
    uint8_t datatype;
    uint32_t op;
    size_t trafficBytes;
    uint8_t nMaxChannels, nWarps, algo, proto;
    int isCollnet, isNvls;
};
struct coll_2 {
    const char *name;
    uint64_t commHash, seqNumber;
    const char *func;
    void const *sendBuff;
    void *recvBuff;
    size_t count;
    int root;
    const char *datatype;
    size_t trafficBytes;
    uint8_t nMaxChannels, nWarps;
    const char *algo, *proto;
};
struct coll_3 {
    const char *name;
    uint64_t commHash, seqNumber;
    const char *func;
    void const *sendBuff;
    void *recvBuff;
    size_t count;
    int root;
    const char *datatype;
    uint8_t nMaxChannels, nWarps;
    const char *algo, *proto;
};
struct coll_4 {
    uint64_t seqNumber;
    const char *func;
    void const *sendBuff;
    void *recvBuff;
    size_t count;
    int root;
    const char *datatype;
    uint8_t nChannels, nWarps;
    const char *algo, *proto;
};
struct coll_5 {
    uint64_t seqNumber;
    const char *func;
    void const *sendBuff;
    void *recvBuff;
    size_t count;
    int root;
    const char *datatype;
    uint8_t nChannels, nWarps;
    const char *algo, *proto;
    void *parentGroup;
};
struct p2p_1 {
    const char *name;
    uint64_t commHash;
    uint8_t func;
    void *buff;
    uint8_t datatype;
    size_t count;
    int peer;
};
struct p2p_2 {
    const char *name;
    uint64_t commHash;
    const char *func;
    void *buff;
    const char *datatype;
    size_t count;
    int peer;
};
struct p2p_4 {
    const char *func;
    void *buff;
    const char *datatype;
    size_t count;
    int peer;
    uint8_t nChannels;
};
struct p2p_5 {
    const char *func;
    void *buff;
    const char *datatype;
    size_t count;
    int peer;
    uint8_t nChannels;
    void *parentGroup;
};
struct proxy_op {
    pid_t pid;
    uint8_t channelId;
    int peer, nSteps, chunkSize, isSend;
};
struct api {
    const char *func;
    size_t count;
    const char *datatype;
    int root;
    void *stream;
    bool graphCaptured;
};
struct channel_3 {
    uint8_t channelId;
};
struct channel_4 {
    uint8_t channelId;
    uint64_t pTimer;
};

#define DESCRIPTION(version, type_of_kind, coll_of, p2p_of, channel_of)                            \
    struct description_##version {                                                                 \
        type_of_kind type;                                                                         \
        void *parentObj;                                                                           \
        int rank;                                                                                  \
        union {                                                                                    \
            struct coll_##coll_of coll;                                                            \
            struct p2p_##p2p_of p2p;                                                               \
            struct proxy_op proxyOp;                                                               \
            struct channel_##channel_of kernelCh;                                                  \
            struct api api;                                                                        \
        };                                                                                         \
    }
DESCRIPTION(1, uint8_t, 1, 1, 3);
DESCRIPTION(2, uint8_t, 2, 2, 3);
DESCRIPTION(3, uint8_t, 3, 2, 3);
DESCRIPTION(4, uint8_t, 4, 4, 4);
DESCRIPTION(5, uint64_t, 5, 5, 4);

union description {
    struct description_1 v1;
    struct description_2 v2;
    struct description_3 v3;
    struct description_4 v4;
    struct description_5 v5;
};

struct calls {
    int (*startEvent)(void *context, void **handle, void *description);
    int (*stopEvent)(void *handle);
    int (*recordEventState)(void *handle, int state, void *arguments);
    int (*finalize)(void *context);
};
struct table_1 {
    const char *name;
    int (*init)(void **context, int *mask);
    struct calls calls;
};
struct table_4 {
    const char *name;
    int (*init)(void **context, int *mask, const char *comm_name, uint64_t comm_hash, int nodes,
                int ranks, int rank, void *log);
    struct calls calls;
};
struct table_5 {
    const char *name;
    int (*init)(void **context, uint64_t comm_id, int *mask, const char *comm_name, int nodes,
                int ranks, int rank, void *log);
    struct calls calls;
};

/* --- the plugin --- */

static struct {
    int version; /* 0: there is none */
    const void *table;
    struct calls calls;
    int mask;
} plugin;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void)
{
    const char *path = getenv("NCCL_PROFILER_PLUGIN"), *newest = getenv("FAKE_NCCL_PROFILER");
    void *library = path != NULL && *path != '\0' ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    int version = newest != NULL ? atoi(newest) : NEWEST;
    for (char name[32]; library != NULL && version > 0 && plugin.version == 0; version--) {
        snprintf(name, sizeof name, "ncclProfiler_v%d", version);
        plugin.table = dlsym(library, name);
        plugin.version = plugin.table != NULL ? version : 0;
    }
    if (plugin.version > 0) {
        plugin.calls = plugin.version <= 3   ? ((const struct table_1 *)plugin.table)->calls
                       : plugin.version == 4 ? ((const struct table_4 *)plugin.table)->calls
                                             : ((const struct table_5 *)plugin.table)->calls;
    }
}

void *nccl_profiler_open(const struct comm *comm)
{
    void *context = NULL;
    int error = 1;
    pthread_once(&once, load);
    if (plugin.version >= 5) {
        const struct table_5 *table = plugin.table;
        error =
            table->init(&context, comm->hash, &plugin.mask, NULL, 1, comm->ranks, comm->rank, NULL);
    } else if (plugin.version == 4) {
        const struct table_4 *table = plugin.table;
        error =
            table->init(&context, &plugin.mask, NULL, comm->hash, 1, comm->ranks, comm->rank, NULL);
    } else if (plugin.version > 0) {
        const struct table_1 *table = plugin.table;
        error = table->init(&context, &plugin.mask);
    }
    return error == 0 ? context : NULL;
}

void nccl_profiler_close(void *context)
{
    if (context != NULL) {
        plugin.calls.finalize(context);
    }
}

/* --- events --- */

static const char *const functions[] = {"AllReduce",     "Reduce", "Broadcast", "AllGather",
                                        "ReduceScatter", "Send",   "Recv"};
static const uint8_t function_numbers[] = {4, 1, 0, 2, 3, 6, 7};
static const char *const types[NCCL_TYPES] = {"ncclInt8",     "ncclUint8",      "ncclInt32",
                                              "ncclUint32",   "ncclInt64",      "ncclUint64",
                                              "ncclFloat16",  "ncclFloat32",    "ncclFloat64",
                                              "ncclBfloat16", "ncclFloat8e4m3", "ncclFloat8e5m2"};
enum { RING = 1, LL = 0, SIMPLE = 2 };

static bool asks_for(int kinds)
{
    return (__atomic_load_n(&plugin.mask, __ATOMIC_RELAXED) & kinds) != 0;
}

static void *start(void *context, union description *description)
{
    void *handle = NULL;
    if (plugin.calls.startEvent(context, &handle, description) != 0) {
        fprintf(stderr, "fake nccl: the profiler failed\n");
        abort();
    }
    return handle;
}

static void stop(void *handle)
{
    if (handle != NULL && plugin.calls.stopEvent(handle) != 0) {
        fprintf(stderr, "fake nccl: the profiler failed\n");
        abort();
    }
}

static void *start_api(const struct operation *operation, uint64_t kind, void *parent)
{
    union description description = {.v5 = {.type = kind, .parentObj = parent}};
    description.v5.api.func = functions[operation->function];
    description.v5.api.count = operation->count;
    description.v5.api.datatype = types[operation->type];
    return start(operation->comm->profiler, &description);
}

void nccl_profiler_begin(const struct operation *operation, struct nccl_described *described)
{
    bool is_message = operation->function >= SEND;
    if (operation->comm->profiler == NULL || plugin.version < 5) {
        return;
    }
    if (asks_for(GROUP_API | COLL_API | P2P_API | KERNEL_LAUNCH | GROUP | COLL | P2P)) {
        described->group_api = start_api(operation, GROUP_API, NULL);
    }
    if (asks_for(is_message ? P2P_API | P2P : COLL_API | COLL)) {
        described->coll_api =
            start_api(operation, is_message ? P2P_API : COLL_API, described->group_api);
    }
    if (asks_for(KERNEL_LAUNCH)) {
        described->launch = start_api(operation, KERNEL_LAUNCH, described->group_api);
    }
}

void nccl_profiler_launched(struct nccl_described *described)
{
    stop(described->launch);
}

#define NAMED(member)                                                                              \
    (member).func = functions[operation->function];                                                \
    (member).datatype = types[operation->type];                                                    \
    (member).count = operation->count
#define OF_COMM(member)                                                                            \
    (member).name = NULL;                                                                          \
    (member).commHash = comm->hash
#define COLLECTIVE(member)                                                                         \
    NAMED(member);                                                                                 \
    (member).seqNumber = comm->numbers[operation->function];                                       \
    (member).sendBuff = operation->from;                                                           \
    (member).recvBuff = operation->to;                                                             \
    (member).root = operation->root;                                                               \
    (member).nWarps = 17;                                                                          \
    (member).algo = described->algorithm;                                                          \
    (member).proto = described->protocol

static void describe_collective(const struct operation *operation,
                                const struct nccl_described *described, void *group,
                                union description *to)
{
    struct comm *comm = operation->comm;
    switch (plugin.version) {
    case 1:
        to->v1.coll =
            (struct coll_1){.commHash = comm->hash,
                            .seqNumber = comm->numbers[operation->function],
                            .func = function_numbers[operation->function],
                            .sendBuff = operation->from,
                            .recvBuff = operation->to,
                            .count = operation->count,
                            .root = operation->root,
                            .datatype = (uint8_t)operation->type,
                            .op = (uint32_t)operation->reduction,
                            .nMaxChannels = CHANNELS,
                            .nWarps = 17,
                            .algo = RING,
                            .proto = strcmp(described->protocol, "SIMPLE") == 0 ? SIMPLE : LL};
        break;
    case 2:
        COLLECTIVE(to->v2.coll);
        OF_COMM(to->v2.coll);
        to->v2.coll.nMaxChannels = CHANNELS;
        break;
    case 3:
        COLLECTIVE(to->v3.coll);
        OF_COMM(to->v3.coll);
        to->v3.coll.nMaxChannels = 32;
        break;
    case 4:
        COLLECTIVE(to->v4.coll);
        to->v4.coll.nChannels = CHANNELS;
        break;
    default:
        COLLECTIVE(to->v5.coll);
        to->v5.coll.nChannels = CHANNELS;
        to->v5.coll.parentGroup = group;
        break;
    }
}

static void describe_message(const struct operation *operation, void *group, union description *to)
{
    const struct comm *comm = operation->comm;
    switch (plugin.version) {
    case 1:
        to->v1.p2p = (struct p2p_1){.commHash = comm->hash,
                                    .func = function_numbers[operation->function],
                                    .datatype = (uint8_t)operation->type,
                                    .count = operation->count,
                                    .peer = operation->root};
        break;
    case 2:
        NAMED(to->v2.p2p);
        OF_COMM(to->v2.p2p);
        to->v2.p2p.peer = operation->root;
        break;
    case 3:
        NAMED(to->v3.p2p);
        OF_COMM(to->v3.p2p);
        to->v3.p2p.peer = operation->root;
        break;
    case 4:
        NAMED(to->v4.p2p);
        to->v4.p2p.peer = operation->root;
        to->v4.p2p.nChannels = CHANNELS;
        break;
    default:
        NAMED(to->v5.p2p);
        to->v5.p2p.peer = operation->root;
        to->v5.p2p.nChannels = CHANNELS;
        to->v5.p2p.parentGroup = group;
        break;
    }
}

static void set_head(union description *description, int kind, void *parent, int rank)
{
    if (plugin.version < 5) { /* the heads of these are the same */
        description->v4.type = (uint8_t)kind;
        description->v4.parentObj = parent;
        description->v4.rank = rank;
    } else {
        description->v5.type = (uint64_t)kind;
        description->v5.parentObj = parent;
        description->v5.rank = rank;
    }
}

static void *start_group(const struct operation *operation)
{
    union description description = {0};
    set_head(&description, GROUP, NULL, operation->comm->rank);
    return start(operation->comm->profiler, &description);
}

void *nccl_profiler_describe(const struct operation *operation, struct nccl_described *described)
{
    struct comm *comm = operation->comm;
    bool is_message = operation->function >= SEND;
    if (comm->profiler == NULL || !asks_for(GROUP | COLL | P2P | KERNEL_CHANNEL)) {
        return NULL;
    }
    union description description = {0};
    void *group = start_group(operation);
    set_head(&description, is_message ? P2P : COLL,
             plugin.version < 5 ? group : described->coll_api, comm->rank);
    if (is_message) {
        describe_message(operation, group, &description);
    } else {
        describe_collective(operation, described, group, &description);
        comm->numbers[operation->function]++;
    }
    void *event = start(comm->profiler, &description);
    stop(event);
    stop(group);
    stop(described->coll_api);
    stop(described->group_api);
    return event;
}

/* --- channels, on the device's thread --- */

bool nccl_profiler_wants_channels(void)
{
    return plugin.version >= 3 && asks_for(KERNEL_CHANNEL);
}

void nccl_profiler_begin_channels(const struct operation *operation, void *event, uint64_t ns,
                                  void *channels[CHANNELS])
{
    for (int i = 0; i < CHANNELS; i++) {
        union description description = {0};
        set_head(&description, KERNEL_CHANNEL, event, operation->comm->rank);
        if (plugin.version == 3) {
            description.v3.kernelCh.channelId = (uint8_t)i;
        } else if (plugin.version == 4) {
            description.v4.kernelCh = (struct channel_4){(uint8_t)i, ns + DEVICE_CLOCK_NS};
        } else {
            description.v5.kernelCh = (struct channel_4){(uint8_t)i, ns + DEVICE_CLOCK_NS};
        }
        channels[i] = start(operation->comm->profiler, &description);
    }
}

void nccl_profiler_end_channels(void *channels[CHANNELS], uint64_t ns)
{
    uint64_t timer = ns + DEVICE_CLOCK_NS;
    for (int i = 0; i < CHANNELS; i++) {
        if (channels[i] != NULL && plugin.version >= 4) {
            plugin.calls.recordEventState(channels[i], CHANNEL_STOP, &timer);
        }
        stop(channels[i]);
    }
}
