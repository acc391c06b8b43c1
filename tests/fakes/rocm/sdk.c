/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fake librocprofiler-sdk. It drives a tool as the SDK does: rocprofiler_configure, the tool's
 * initialize, contexts, services and buffers, callbacks on the program's threads, buffers on a
 * thread of its own, and the tool's finalize at the program's exit. FAKE_ROCM has faults, separated
 * by commas (README.md).
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "sdk_abi.h"

#define EXPORT __attribute__((visibility("default")))

enum {
    OK = 0,
    CONTEXT_NOT_FOUND = 2,
    KIND_NOT_FOUND = 4,
    OPERATION_NOT_FOUND = 5,
    CONFLICT = 12,
    ID_NOT_ZERO = 13,
    LOCKED = 16,
    TOO_SHORT = 18,
    INVALID = 19,
    FINALIZED = 21
};
enum {
    MOST_CONTEXTS = 16,
    MOST_KINDS = 40,
    MOST_OPERATIONS = 64,
    MOST_BUFFERS = 8,
    MOST_TOOLS = 8
};

/* --- versions --------------------------------------------------------------------------------- */

static const char *const buffer_kinds_1[] = {"NONE",
                                             "HSA_CORE_API",
                                             "HSA_AMD_EXT_API",
                                             "HSA_IMAGE_EXT_API",
                                             "HSA_FINALIZE_EXT_API",
                                             "HIP_RUNTIME_API",
                                             "HIP_COMPILER_API",
                                             "MARKER_CORE_API",
                                             "MARKER_CONTROL_API",
                                             "MARKER_NAME_API",
                                             "MEMORY_COPY",
                                             "KERNEL_DISPATCH",
                                             "SCRATCH_MEMORY",
                                             "CORRELATION_ID_RETIREMENT",
                                             "RCCL_API"};
static const char *const buffer_kinds_0[] = {"NONE",
                                             "HSA_CORE_API",
                                             "HSA_AMD_EXT_API",
                                             "HSA_IMAGE_EXT_API",
                                             "HSA_FINALIZE_EXT_API",
                                             "HIP_RUNTIME_API",
                                             "HIP_COMPILER_API",
                                             "MARKER_CORE_API",
                                             "MARKER_CONTROL_API",
                                             "MARKER_NAME_API",
                                             "MEMORY_COPY",
                                             "KERNEL_DISPATCH",
                                             "PAGE_MIGRATION",
                                             "SCRATCH_MEMORY",
                                             "CORRELATION_ID_RETIREMENT",
                                             "RCCL_API"};
static const char *const callback_kinds[] = {"NONE",
                                             "HSA_CORE_API",
                                             "HSA_AMD_EXT_API",
                                             "HSA_IMAGE_EXT_API",
                                             "HSA_FINALIZE_EXT_API",
                                             "HIP_RUNTIME_API",
                                             "HIP_COMPILER_API",
                                             "MARKER_CORE_API",
                                             "MARKER_CONTROL_API",
                                             "MARKER_NAME_API",
                                             "CODE_OBJECT",
                                             "SCRATCH_MEMORY",
                                             "KERNEL_DISPATCH",
                                             "MEMORY_COPY",
                                             "RCCL_API",
                                             "OMPT",
                                             "MEMORY_ALLOCATION",
                                             "RUNTIME_INITIALIZATION",
                                             "ROCDECODE_API",
                                             "ROCJPEG_API",
                                             "HIP_STREAM"};
/* In another order in each version. */
static const char *const hip_names[] = {"hipMalloc",
                                        "hipFree",
                                        "hipMemcpy",
                                        "hipMemcpyAsync",
                                        "hipLaunchKernel",
                                        "hipGetDevice",
                                        "hipStreamCreate",
                                        "hipStreamSynchronize",
                                        "hipGraphLaunch",
                                        "hipDeviceSynchronize",
                                        "hipStreamBeginCapture",
                                        "hipStreamEndCapture",
                                        "hipLaunchHostFunc",
                                        "hipMemcpyPeerAsync"};
static const char *const compiler_names[] = {"__hipPushCallConfiguration", "__hipRegisterFunction"};
static const char *const rccl_names[] = {"ncclGetVersion", "ncclAllReduce",   "ncclBroadcast",
                                         "ncclAllToAll",   "ncclSend",        "ncclGroupStart",
                                         "ncclGroupEnd",   "ncclCommInitAll", "ncclCommInitRank",
                                         "ncclCommSplit",  "ncclCommDestroy"};
#define COUNT_OF(list) ((int)(sizeof(list) / sizeof *(list)))

static const struct {
    const char *const *names;
    int count;
    const char *kind;
} domains[] = {[OF_HIP] = {hip_names, COUNT_OF(hip_names), "HIP_RUNTIME_API"},
               [OF_COMPILER] = {compiler_names, COUNT_OF(compiler_names), "HIP_COMPILER_API"},
               [OF_RCCL] = {rccl_names, COUNT_OF(rccl_names), "RCCL_API"},
               [OF_STREAM] = {NULL, 0, "HIP_STREAM"},
               [OF_CODE] = {NULL, 0, "CODE_OBJECT"}};

int fake_sdk_has_fault(const char *name)
{
    const char *faults = getenv("FAKE_ROCM");
    size_t length = strlen(name);
    for (const char *at = faults; at != NULL && (at = strstr(at, name)) != NULL; at += length) {
        if ((at == faults || at[-1] == ',') && (at[length] == ',' || at[length] == '\0')) {
            return 1;
        }
    }
    return 0;
}

static bool is_old(void)
{
    static int known = -1;
    if (known < 0) {
        known = fake_sdk_has_fault("old") || fake_sdk_has_fault("too-old");
    }
    return known == 1;
}

static const char *kind_name(bool of_callbacks, uint32_t kind)
{
    if (of_callbacks) {
        uint32_t count = (uint32_t)COUNT_OF(callback_kinds) - (is_old() ? 6 : 0);
        return kind < count ? callback_kinds[kind] : NULL;
    }
    if (is_old()) {
        return kind < (uint32_t)COUNT_OF(buffer_kinds_0) ? buffer_kinds_0[kind] : NULL;
    }
    return kind < (uint32_t)COUNT_OF(buffer_kinds_1) ? buffer_kinds_1[kind] : NULL;
}

static uint32_t kind_of(bool of_callbacks, const char *name)
{
    for (uint32_t kind = 1; kind < MOST_KINDS; kind++) {
        const char *known = kind_name(of_callbacks, kind);
        if (known != NULL && strcmp(known, name) == 0) {
            return kind;
        }
    }
    return 0;
}

/* Operations are numbered from 0 on, in 0.5 backwards. */
static const char *operation_name(enum domain domain, int32_t operation)
{
    int count = domains[domain].count;
    if (operation < 0 || operation >= count) {
        return NULL;
    }
    return domains[domain].names[is_old() ? count - 1 - operation : operation];
}

static int32_t operation_of(enum domain domain, const char *name)
{
    for (int32_t i = 0; i < domains[domain].count; i++) {
        if (strcmp(operation_name(domain, i), name) == 0) {
            return i;
        }
    }
    return -1;
}

/* --- state ------------------------------------------------------------------------------------ */

typedef struct {
    uint64_t buffer, operations; /* bits; 0 buffer: not configured */
} buffer_service;
typedef struct {
    void *callback, *data;
    uint64_t operations;
} callback_service;
typedef int request(uint64_t thread, uint64_t context, uint32_t kind, int32_t operation,
                    uint64_t id, uint64_t *external, void *data);

static struct {
    bool is_started;
    buffer_service buffers[MOST_KINDS];
    callback_service callbacks[MOST_KINDS];
    request *request;
    void *request_data;
    uint64_t requests; /* bits of kinds */
} contexts[MOST_CONTEXTS + 1];
static uint64_t context_count, buffer_count, ids;

typedef void on_buffer(uint64_t context, uint64_t buffer, record_header **headers, size_t count,
                       void *data, uint64_t dropped);
struct pending {
    struct pending *next;
    record_header header;
    uint64_t payload[40];
};
static struct {
    uint64_t context;
    size_t size, watermark, used, count;
    on_buffer *callback;
    void *data;
    uint64_t dropped;
    struct pending *first, *last;
    bool is_due, is_delivering;
} buffers[MOST_BUFFERS + 1];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t is_due = PTHREAD_COND_INITIALIZER, is_delivered = PTHREAD_COND_INITIALIZER;
static tool *tools[MOST_TOOLS];
static int tool_count;
static bool is_configuring, is_finalized;

static uint64_t thread_id(void)
{
    return (uint64_t)syscall(SYS_gettid);
}

uint64_t fake_sdk_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    uint64_t ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
    return ns + (fake_sdk_has_fault("clock") ? UINT64_C(5000000000000) : 0);
}

/* --- buffers ---------------------------------------------------------------------------------- */

static void deliver(uint64_t i)
{
    struct pending *first = buffers[i].first;
    size_t count = buffers[i].count, at = 0;
    buffers[i].first = buffers[i].last = NULL;
    buffers[i].used = buffers[i].count = 0;
    buffers[i].is_due = false;
    uint64_t dropped = buffers[i].dropped;
    pthread_mutex_unlock(&lock);
    record_header **headers = calloc(count + 1, sizeof *headers);
    for (struct pending *one = first; one != NULL; one = one->next) {
        headers[at++] = &one->header;
    }
    if (count > 0) {
        buffers[i].callback(buffers[i].context, i, headers, count, buffers[i].data, dropped);
    }
    free(headers);
    while (first != NULL) {
        struct pending *next = first->next;
        free(first);
        first = next;
    }
    pthread_mutex_lock(&lock);
}

static void *run(void *none)
{
    pthread_mutex_lock(&lock);
    for (;;) {
        bool found = false;
        for (uint64_t i = 1; i <= buffer_count; i++) {
            if (buffers[i].is_due) {
                found = true;
                buffers[i].is_delivering = true;
                deliver(i);
                buffers[i].is_delivering = false;
                pthread_cond_broadcast(&is_delivered);
            }
        }
        if (!found) {
            pthread_cond_wait(&is_due, &lock);
        }
    }
    return none;
}

/* The lock is held. */
static void put_record(uint64_t buffer, uint32_t kind, const void *payload, size_t size)
{
    if (buffers[buffer].used + size + 16 > buffers[buffer].size) {
        buffers[buffer].dropped++;
        return;
    }
    struct pending *made = calloc(1, sizeof *made);
    made->header = (record_header){1, kind, made->payload};
    memcpy(made->payload, payload, size);
    if (buffers[buffer].last != NULL) {
        buffers[buffer].last->next = made;
    } else {
        buffers[buffer].first = made;
    }
    buffers[buffer].last = made;
    buffers[buffer].used += size + 16;
    buffers[buffer].count++;
    if (buffers[buffer].used >= buffers[buffer].watermark && !fake_sdk_has_fault("small-buffer")) {
        buffers[buffer].is_due = true;
        pthread_cond_signal(&is_due);
    }
}

EXPORT uint32_t rocprofiler_create_buffer(uint64_t context, size_t size, size_t watermark,
                                          int policy, on_buffer *callback, void *data,
                                          uint64_t *buffer)
{
    if (context == 0 || context > context_count || buffer_count >= MOST_BUFFERS || policy != 1) {
        return context == 0 ? CONTEXT_NOT_FOUND : INVALID;
    }
    *buffer = ++buffer_count;
    buffers[*buffer].context = context;
    buffers[*buffer].size = fake_sdk_has_fault("small-buffer") ? 4096 : size;
    buffers[*buffer].watermark = watermark;
    buffers[*buffer].callback = callback;
    buffers[*buffer].data = data;
    return OK;
}

EXPORT uint32_t rocprofiler_flush_buffer(uint64_t buffer)
{
    if (is_finalized) {
        return FINALIZED;
    }
    pthread_mutex_lock(&lock);
    buffers[buffer].is_due = true;
    pthread_cond_signal(&is_due);
    while (buffers[buffer].is_due || buffers[buffer].is_delivering) {
        pthread_cond_wait(&is_delivered, &lock);
    }
    pthread_mutex_unlock(&lock);
    return OK;
}

/* --- configuring ------------------------------------------------------------------------------ */

EXPORT uint32_t rocprofiler_get_timestamp(uint64_t *timestamp)
{
    *timestamp = fake_sdk_now();
    return OK;
}

EXPORT const char *rocprofiler_get_status_string(uint32_t status)
{
    return status == LOCKED ? "Configuration is locked" : status == OK ? "Success" : "Error";
}

EXPORT uint32_t rocprofiler_create_context(uint64_t *context)
{
    if (!is_configuring || fake_sdk_has_fault("locked")) {
        return LOCKED;
    }
    if (*context != 0) {
        return ID_NOT_ZERO;
    }
    *context = ++context_count;
    return OK;
}

EXPORT uint32_t rocprofiler_start_context(uint64_t context)
{
    bool traces = contexts[context].buffers[kind_of(false, "KERNEL_DISPATCH")].buffer != 0;
    if (traces && fake_sdk_has_fault("conflict")) {
        return CONFLICT;
    }
    contexts[context].is_started = true;
    return OK;
}

EXPORT uint32_t rocprofiler_stop_context(uint64_t context)
{
    contexts[context].is_started = false;
    return OK;
}

static uint64_t bits_of(const int32_t *operations, size_t count)
{
    uint64_t bits = operations == NULL || count == 0 ? UINT64_MAX : 0;
    for (size_t i = 0; i < count; i++) {
        bits |= UINT64_C(1) << operations[i];
    }
    return bits;
}

EXPORT uint32_t rocprofiler_configure_buffer_tracing_service(uint64_t context, uint32_t kind,
                                                             const int32_t *operations,
                                                             size_t count, uint64_t buffer)
{
    if (!is_configuring) {
        return LOCKED;
    }
    if (kind == 0 || kind_name(false, kind) == NULL) {
        return KIND_NOT_FOUND;
    }
    contexts[context].buffers[kind] = (buffer_service){buffer, bits_of(operations, count)};
    return OK;
}

EXPORT uint32_t rocprofiler_configure_callback_tracing_service(uint64_t context, uint32_t kind,
                                                               const int32_t *operations,
                                                               size_t count, void *callback,
                                                               void *data)
{
    if (!is_configuring) {
        return LOCKED;
    }
    if (kind == 0 || kind_name(true, kind) == NULL) {
        return KIND_NOT_FOUND;
    }
    contexts[context].callbacks[kind] =
        (callback_service){callback, data, bits_of(operations, count)};
    return OK;
}

EXPORT uint32_t rocprofiler_configure_external_correlation_id_request_service(
    uint64_t context, const uint32_t *kinds, size_t count, request *callback, void *data)
{
    if (!is_configuring) {
        return LOCKED;
    }
    contexts[context].request = callback;
    contexts[context].request_data = data;
    for (size_t i = 0; i < count; i++) {
        contexts[context].requests |= UINT64_C(1) << kinds[i];
    }
    return OK;
}

static uint32_t give_name(const char *known, const char **name, uint64_t *length)
{
    *name = known;
    *length = known != NULL ? strlen(known) : 0;
    return known != NULL ? OK : KIND_NOT_FOUND;
}

EXPORT uint32_t rocprofiler_query_buffer_tracing_kind_name(uint32_t kind, const char **name,
                                                           uint64_t *length)
{
    return give_name(kind_name(false, kind), name, length);
}

EXPORT uint32_t rocprofiler_query_callback_tracing_kind_name(uint32_t kind, const char **name,
                                                             uint64_t *length)
{
    return give_name(kind_name(true, kind), name, length);
}

EXPORT uint32_t rocprofiler_query_buffer_tracing_kind_operation_name(uint32_t kind,
                                                                     int32_t operation,
                                                                     const char **name,
                                                                     uint64_t *length)
{
    const char *of = kind_name(false, kind);
    for (int i = 0; of != NULL && i < COUNT_OF(domains); i++) {
        if (strcmp(domains[i].kind, of) == 0) {
            return give_name(operation_name((enum domain)i, operation), name, length);
        }
    }
    return OPERATION_NOT_FOUND;
}

static agent_data agent(uint64_t id, bool is_gpu, int number)
{
    agent_data made = {.size = sizeof made - (is_old() ? 16 : 0),
                       .id = id,
                       .type = is_gpu ? 2 : 1,
                       .name = is_gpu ? "gfx942" : "Fake CPU",
                       .vendor_name = "AMD",
                       .product = is_gpu ? "Fake Instinct MI300X" : "Fake CPU",
                       .model = "",
                       .node = (uint32_t)(id - CPU_AGENT),
                       .number = (int32_t)(id - CPU_AGENT),
                       .number_of_type = number};
    made.units = is_gpu ? 304 : 0;
    made.architecture = is_gpu ? 90402 : 0;
    made.memory = is_gpu ? UINT64_C(206141652992) : 0;
    for (uint8_t i = 0; is_gpu && i < sizeof made.uuid; i++) {
        made.uuid[i] = (uint8_t)(0x10 * (number + 1) + i);
    }
    return made;
}

EXPORT uint32_t rocprofiler_query_available_agents(
    int version, uint32_t (*callback)(int version, const void **agents, size_t count, void *data),
    size_t agent_size, void *data)
{
    static agent_data agents[GPUS + 1];
    const void *list[GPUS + 1];
    agents[0] = agent(CPU_AGENT, false, 0);
    for (int i = 0; i < GPUS; i++) {
        agents[i + 1] = agent(FIRST_GPU_AGENT + (uint64_t)i, true, i);
    }
    for (int i = 0; i <= GPUS; i++) {
        list[i] = &agents[i];
    }
    return agent_size > agents[0].size ? TOO_SHORT : callback(version, list, GPUS + 1, data);
}

/* --- callbacks -------------------------------------------------------------------------------- */

static void call_back(uint64_t context, const callback_service *service, uint64_t id, uint32_t kind,
                      int32_t operation, uint32_t phase, void *payload, uint64_t *user)
{
    if (is_old()) {
        old_callback_event what = {context, thread_id(), {id, 0}, kind, operation, phase, payload};
        ((void (*)(old_callback_event, uint64_t *, void *))service->callback)(what, user,
                                                                              service->data);
    } else {
        callback_event what = {context, thread_id(), {id, 0, 0}, kind, operation, phase, payload};
        ((void (*)(callback_event, uint64_t *, void *))service->callback)(what, user,
                                                                          service->data);
    }
}

static void call_all(enum domain domain, int32_t operation, uint32_t phase, uint64_t id,
                     void *payload, uint64_t *users)
{
    uint32_t kind = kind_of(true, domains[domain].kind);
    for (uint64_t i = 1; kind != 0 && i <= context_count; i++) {
        const callback_service *service = &contexts[i].callbacks[kind];
        if (contexts[i].is_started && service->callback != NULL &&
            (service->operations >> operation & 1) != 0) {
            call_back(i, service, id, kind, operation, phase, payload, &users[i - 1]);
        }
    }
}

static _Thread_local uint64_t current; /* id of the call that is open on this thread */

void fake_sdk_enter(open_call *call, enum domain domain, const char *name, void *payload)
{
    *call =
        (open_call){.domain = domain, .name = name, .begin = fake_sdk_now(), .payload = payload};
    call->id = __atomic_add_fetch(&ids, 1, __ATOMIC_RELAXED);
    current = call->id;
    call_all(domain, operation_of(domain, name), PHASE_ENTER, call->id, payload, call->user);
}

static void put_call(uint64_t buffer, uint32_t kind, int32_t operation, const open_call *call)
{
    uint64_t end = fake_sdk_now();
    call_record record = {sizeof record, kind, operation,  {call->id, 0, 0},
                          call->begin,   end,  thread_id()};
    old_call_record old = {sizeof old,  kind, operation,  {call->id, 0},
                           call->begin, end,  thread_id()};
    if (is_old()) {
        put_record(buffer, kind, &old, sizeof old);
    } else {
        put_record(buffer, kind, &record, sizeof record);
    }
}

void fake_sdk_leave(open_call *call)
{
    int32_t operation = operation_of(call->domain, call->name);
    uint32_t kind = kind_of(false, domains[call->domain].kind);
    call_all(call->domain, operation, PHASE_EXIT, call->id, call->payload, call->user);
    pthread_mutex_lock(&lock);
    for (uint64_t i = 1; kind != 0 && i <= context_count; i++) {
        const buffer_service *service = &contexts[i].buffers[kind];
        if (contexts[i].is_started && service->buffer != 0 &&
            (service->operations >> operation & 1) != 0) {
            put_call(service->buffer, kind, operation, call);
        }
    }
    pthread_mutex_unlock(&lock);
    current = 0;
}

void fake_sdk_symbol(uint64_t kernel, const char *name, uint32_t group_bytes, uint32_t vgprs,
                     uint32_t accumulators)
{
    uint64_t users[MOST_CONTEXTS] = {0};
    symbol_data data = {.size = sizeof data,
                        .kernel = kernel,
                        .code_object = 1,
                        .name = name,
                        .group_bytes = group_bytes,
                        .sgprs = 16,
                        .vgprs = vgprs,
                        .accumulators = accumulators};
    call_all(OF_CODE, 2, PHASE_ENTER, 0, &data, users);
}

void fake_sdk_stream(uint64_t stream, int phase)
{
    uint64_t users[MOST_CONTEXTS] = {0};
    stream_data data = {sizeof data, stream, stream * 4096};
    call_all(OF_STREAM, 3, (uint32_t)phase, current, &data, users);
}

/* --- work ------------------------------------------------------------------------------------- */

queued fake_sdk_queue(int is_copy)
{
    queued made = {.id = current, .thread = thread_id()};
    uint32_t request_kind = is_copy ? 10 : 11;
    uint32_t kind = kind_of(false, is_copy ? "MEMORY_COPY" : "KERNEL_DISPATCH");
    for (uint64_t i = 1; i <= context_count; i++) {
        if (!contexts[i].is_started || contexts[i].buffers[kind].buffer == 0) {
            continue;
        }
        made.contexts |= 1U << i;
        if (contexts[i].request != NULL && (contexts[i].requests >> request_kind & 1) != 0) {
            contexts[i].request(made.thread, i, request_kind, is_copy ? 0 : 1, made.id,
                                &made.external[i - 1], contexts[i].request_data);
        }
    }
    return made;
}

static void put_work(const queued *of, const char *kind_of_work, void *record, size_t size,
                     uint64_t *external)
{
    uint32_t kind = kind_of(false, kind_of_work);
    pthread_mutex_lock(&lock);
    for (uint64_t i = 1; i <= context_count && !is_finalized; i++) {
        if ((of->contexts >> i & 1) != 0) {
            *external = of->external[i - 1];
            /* At the same place in each record. */
            memcpy((char *)record + offsetof(kernel_record, kind), &kind, sizeof kind);
            put_record(contexts[i].buffers[kind].buffer, kind, record, size);
        }
    }
    pthread_mutex_unlock(&lock);
}

void fake_sdk_kernel_done(const queued *of, const dispatch_info *info, uint64_t begin, uint64_t end)
{
    kernel_record record = {.operation = 2, .id = {of->id, 0}, .thread = of->thread, .info = *info};
    bool has_times = !fake_sdk_has_fault("no-times");
    record.size = sizeof record - (is_old() ? 8 : 0);
    record.begin = has_times ? begin : 0;
    record.end = has_times ? end : 0;
    if (!fake_sdk_has_fault("lost-kernels")) {
        put_work(of, "KERNEL_DISPATCH", &record, record.size, &record.id.external);
    }
}

void fake_sdk_copy_done(const queued *of, int direction, uint64_t from, uint64_t to, uint64_t bytes,
                        uint64_t begin, uint64_t end)
{
    copy_record record = {.operation = direction,
                          .id = {of->id, 0},
                          .thread = of->thread,
                          .begin = begin,
                          .end = end,
                          .from = from,
                          .to = to,
                          .bytes = bytes};
    record.size = sizeof record - (is_old() ? 16 : 0);
    put_work(of, "MEMORY_COPY", &record, record.size, &record.id.external);
}

/* --- tools ------------------------------------------------------------------------------------ */

static void ignore_client(client_id client)
{
    (void)client;
}

static void add_tool(void *library, const char *name)
{
    tool *(*configure)(uint32_t, const char *, uint32_t, client_id *) = NULL;
    *(void **)&configure = dlsym(library, "rocprofiler_configure");
    if (configure == NULL) {
        fprintf(stderr, "fake SDK: %s has no rocprofiler_configure\n", name);
        abort(); /* as the SDK */
    }
    client_id client = {NULL, (uint32_t)tool_count + 1};
    uint32_t version = fake_sdk_has_fault("too-old") ? 300 : is_old() ? 500 : 10305;
    tool *made = configure(version, "fake", (uint32_t)tool_count, &client);
    if (made != NULL && tool_count < MOST_TOOLS) {
        tools[tool_count++] = made;
    }
}

static void finalize(void)
{
    for (int i = 0; i < tool_count; i++) {
        if (tools[i]->finalize != NULL && !fake_sdk_has_fault("no-finalize")) {
            tools[i]->finalize(tools[i]->data);
        }
    }
    is_finalized = true;
}

static void load_tools(void)
{
    const char *listed = getenv("ROCP_TOOL_LIBRARIES");
    char *list = strdup(listed != NULL ? listed : ""), *rest = NULL;
    for (char *one = strtok_r(list, ":", &rest); one != NULL; one = strtok_r(NULL, ":", &rest)) {
        void *library = dlopen(one, RTLD_LOCAL | RTLD_LAZY);
        if (library == NULL) {
            fprintf(stderr, "fake SDK: %s\n", dlerror());
            abort(); /* as the SDK */
        }
        add_tool(library, one);
    }
    free(list);
}

static void begin(void)
{
    pthread_t thread;
    atexit(finalize);
    pthread_create(&thread, NULL, run, NULL);
    is_configuring = true;
    load_tools();
    for (int i = 0; i < tool_count; i++) {
        if (tools[i]->initialize != NULL &&
            tools[i]->initialize(ignore_client, tools[i]->data) != 0) {
            tools[i]->finalize = NULL;
        }
    }
    is_configuring = false;
}

void fake_sdk_begin(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, begin);
}
