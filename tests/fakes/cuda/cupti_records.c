/* SPDX-License-Identifier: Apache-2.0 */
/* What the device did, as CUPTI's records. A version of CUPTI writes its own sizes: later versions
   only append fields, so that the newest form of the headers serves all. */
#include "cupti_api.h"
#include "cupti_inside.h"

#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

enum { LARGEST_RECORD = 256, LOST_EVERY = 10, WRONG_BY_NS = 5000000 };

/* Bytes of the records whose form has changed. */
static const struct sizes {
    unsigned version;
    size_t kernel, copy, peer_copy, set, wait, overhead, allocation, graph, device, context;
    size_t pool, compilation, event;
} sizes_of_versions[] = {
    {1300, 216, 96, 96, 88, 56, 56, 128, 56, 184, 32, 80, 72, 56},
    {1206, 208, 88, 96, 88, 40, 56, 128, 56, 184, 32, 72, 72, 24},
    {1108, 200, 88, 96, 88, 40, 40, 120, 48, 176, 16, 72, 64, 24},
};

static const struct sizes *sizes(void)
{
    size_t i = 0;
    while (sizes_of_versions[i].version > sim_settings()->cupti) {
        i++;
    }
    return &sizes_of_versions[i];
}

/* Long: one case for each kind. */
size_t cupti_record_size(unsigned kind)
{
    switch (kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
        return sizes()->kernel;
    case CUPTI_ACTIVITY_KIND_MEMCPY:
        return sizes()->copy;
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
        return sizes()->peer_copy;
    case CUPTI_ACTIVITY_KIND_MEMSET:
        return sizes()->set;
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
        return sizes()->wait;
    case CUPTI_ACTIVITY_KIND_CUDA_EVENT:
        return sizes()->event;
    case CUPTI_ACTIVITY_KIND_OVERHEAD:
        return sizes()->overhead;
    case CUPTI_ACTIVITY_KIND_MEMORY2:
        return sizes()->allocation;
    case CUPTI_ACTIVITY_KIND_MEMORY_POOL:
        return sizes()->pool;
    case CUPTI_ACTIVITY_KIND_JIT:
        return sizes()->compilation;
    case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
        return sizes()->graph;
    case CUPTI_ACTIVITY_KIND_DEVICE:
        return sizes()->device;
    case CUPTI_ACTIVITY_KIND_CONTEXT:
        return sizes()->context;
    case CUPTI_ACTIVITY_KIND_STREAM:
        return sizeof(CUpti_ActivityStream);
    case CUPTI_ACTIVITY_KIND_DRIVER:
    case CUPTI_ACTIVITY_KIND_RUNTIME:
        return sizeof(CUpti_ActivityAPI);
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION:
        return sizeof(CUpti_ActivityExternalCorrelation);
    default:
        return 0;
    }
}

/* Of the work of a device. */
static uint64_t work_time(uint64_t ns)
{
    return cupti_time(sim_has_fault(SIM_WRONG_CLOCK) ? ns - WRONG_BY_NS : ns);
}

/* Cuts or pads the record to the size of the simulated version. */
static void write_record(unsigned slot, unsigned kind, const void *record, size_t size)
{
    uint8_t bytes[LARGEST_RECORD] = {0};
    memcpy(bytes, record, size);
    cupti_write(slot, bytes, cupti_record_size(kind));
}

static uint32_t thread_of_record(void)
{
    switch (cupti.thread_id_type) {
    case CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM:
        return (uint32_t)sim_thread_id();
    default:
        return (uint32_t)(uintptr_t)pthread_self();
    }
}

void cupti_write_call(const struct sim_call *call, int result)
{
    unsigned kind =
        call->domain == SIM_RUNTIME ? CUPTI_ACTIVITY_KIND_RUNTIME : CUPTI_ACTIVITY_KIND_DRIVER;
    CUpti_ActivityAPI record = {.kind = (CUpti_ActivityKind)kind,
                                .cbid = call->cbid,
                                .start = cupti_time(call->start_ns),
                                .end = cupti_time(call->end_ns),
                                .processId = (uint32_t)getpid(),
                                .threadId = thread_of_record(),
                                .correlationId = call->correlation,
                                .returnValue = (uint32_t)result};
    write_record(cupti_own_slot(), kind, &record, sizeof record);
}

void cupti_write_overhead(CUpti_ActivityOverheadKind kind, uint64_t start_ns, uint64_t end_ns)
{
    if (!cupti.is_enabled[CUPTI_ACTIVITY_KIND_OVERHEAD]) {
        return;
    }
    fake_Overhead record = {.kind = CUPTI_ACTIVITY_KIND_OVERHEAD,
                            .overheadKind = kind,
                            .objectKind = CUPTI_ACTIVITY_OBJECT_THREAD,
                            .start = cupti_time(start_ns),
                            .end = cupti_time(end_ns)};
#if CUPTI_API_VERSION >= 24
    record.correlationId = sim_correlation();
#endif
    record.objectId.pt.processId = (uint32_t)getpid();
    record.objectId.pt.threadId = thread_of_record();
    write_record(cupti_own_slot(), CUPTI_ACTIVITY_KIND_OVERHEAD, &record, sizeof record);
}

static void write_kernel(const struct sim_work *work, unsigned kind)
{
    const struct sim_kernel *kernel = &work->kernel;
    bool is_exhausted = sim_has_fault(SIM_EXHAUSTED_BUFFERS);
    fake_Kernel record = {.kind = (CUpti_ActivityKind)kind,
                          .start = is_exhausted ? 0 : work_time(work->start_ns),
                          .end = is_exhausted ? 0 : work_time(work->end_ns),
                          .completed = is_exhausted ? 0 : work_time(work->end_ns),
                          .deviceId = work->device,
                          .contextId = work->context,
                          .streamId = work->stream,
                          .gridX = (int32_t)kernel->grid[0],
                          .gridY = (int32_t)kernel->grid[1],
                          .gridZ = (int32_t)kernel->grid[2],
                          .blockX = (int32_t)kernel->block[0],
                          .blockY = (int32_t)kernel->block[1],
                          .blockZ = (int32_t)kernel->block[2],
                          .dynamicSharedMemory = (int32_t)kernel->dynamic_shared,
                          .registersPerThread = 32,
                          .correlationId = work->correlation,
                          .name = kernel->function->name,
                          .graphNodeId = work->graph_node,
                          .graphId = work->graph,
                          .clusterX = kernel->cluster[0],
                          .clusterY = kernel->cluster[1],
                          .clusterZ = kernel->cluster[2]};
    write_record(cupti_slot_of(work->thread), kind, &record, sizeof record);
}

static uint8_t memory_kind(enum sim_memory_kind kind)
{
    static const uint8_t kinds[] = {
        [SIM_PAGEABLE] = CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE,
        [SIM_PINNED] = CUPTI_ACTIVITY_MEMORY_KIND_PINNED,
        [SIM_ON_DEVICE] = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE,
        [SIM_MANAGED] = CUPTI_ACTIVITY_MEMORY_KIND_MANAGED,
    };
    return kinds[kind];
}

static void write_copy(const struct sim_work *work)
{
    static const uint8_t kinds[] = {
        [SIM_H2D] = CUPTI_ACTIVITY_MEMCPY_KIND_HTOD, [SIM_D2H] = CUPTI_ACTIVITY_MEMCPY_KIND_DTOH,
        [SIM_D2D] = CUPTI_ACTIVITY_MEMCPY_KIND_DTOD, [SIM_P2P] = CUPTI_ACTIVITY_MEMCPY_KIND_PTOP,
        [SIM_H2H] = CUPTI_ACTIVITY_MEMCPY_KIND_HTOH,
    };
    const struct sim_copy *copy = &work->copy;
    fake_Memcpy record = {.kind = CUPTI_ACTIVITY_KIND_MEMCPY,
                          .copyKind = kinds[copy->kind],
                          .srcKind = memory_kind(copy->from_kind),
                          .dstKind = memory_kind(copy->to_kind),
                          .flags = copy->is_async ? CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC : 0,
                          .bytes = copy->width * copy->height,
                          .start = work_time(work->start_ns),
                          .end = work_time(work->end_ns),
                          .deviceId = work->device,
                          .contextId = work->context,
                          .streamId = work->stream,
                          .correlationId = work->correlation,
                          .graphNodeId = work->graph_node,
                          .graphId = work->graph};
    write_record(cupti_slot_of(work->thread), CUPTI_ACTIVITY_KIND_MEMCPY, &record, sizeof record);
}

static void write_peer_copy(const struct sim_work *work)
{
    const struct sim_copy *copy = &work->copy;
    fake_MemcpyPtoP record = {.kind = CUPTI_ACTIVITY_KIND_MEMCPY2,
                              .copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_PTOP,
                              .srcKind = memory_kind(copy->from_kind),
                              .dstKind = memory_kind(copy->to_kind),
                              .flags = copy->is_async ? CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC : 0,
                              .bytes = copy->width * copy->height,
                              .start = work_time(work->start_ns),
                              .end = work_time(work->end_ns),
                              .deviceId = work->device,
                              .contextId = work->context,
                              .streamId = work->stream,
                              .srcDeviceId = copy->from_device,
                              .srcContextId = copy->from_device + 1,
                              .dstDeviceId = copy->to_device,
                              .dstContextId = copy->to_device + 1,
                              .correlationId = work->correlation,
                              .graphNodeId = work->graph_node,
                              .graphId = work->graph};
    write_record(cupti_slot_of(work->thread), CUPTI_ACTIVITY_KIND_MEMCPY2, &record, sizeof record);
}

static void write_set(const struct sim_work *work)
{
    fake_Memset record = {.kind = CUPTI_ACTIVITY_KIND_MEMSET,
                          .value = work->set.value,
                          .bytes = work->set.width * work->set.height,
                          .start = work_time(work->start_ns),
                          .end = work_time(work->end_ns),
                          .deviceId = work->device,
                          .contextId = work->context,
                          .streamId = work->stream,
                          .correlationId = work->correlation,
                          .flags = work->set.is_async ? CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC : 0,
                          .memoryKind = memory_kind(work->set.to_kind),
                          .graphNodeId = work->graph_node,
                          .graphId = work->graph};
    write_record(cupti_slot_of(work->thread), CUPTI_ACTIVITY_KIND_MEMSET, &record, sizeof record);
}

static void write_graph(const struct sim_work *work)
{
    fake_GraphTrace record = {.kind = CUPTI_ACTIVITY_KIND_GRAPH_TRACE,
                              .correlationId = work->correlation,
                              .start = work_time(work->start_ns),
                              .end = work_time(work->end_ns),
                              .deviceId = work->device,
                              .graphId = work->graph,
                              .contextId = work->context,
                              .streamId = work->stream};
#if CUPTI_API_VERSION >= 24
    record.endDeviceId = work->device;
    record.endContextId = work->context;
#endif
    write_record(cupti_slot_of(work->thread), CUPTI_ACTIVITY_KIND_GRAPH_TRACE, &record,
                 sizeof record);
}

/* The kind of record that the client gets of a work; INVALID for none. The records of a graph's
   nodes give way to that of the graph. */
static unsigned kind_of_work(const struct sim_work *work)
{
    const bool *is_enabled = cupti.is_enabled;
    unsigned kind = CUPTI_ACTIVITY_KIND_INVALID;
    switch (work->kind) {
    case SIM_KERNEL:
        kind = is_enabled[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL]
                   ? CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL
                   : CUPTI_ACTIVITY_KIND_KERNEL;
        break;
    case SIM_COPY:
        kind =
            work->copy.kind == SIM_P2P ? CUPTI_ACTIVITY_KIND_MEMCPY2 : CUPTI_ACTIVITY_KIND_MEMCPY;
        break;
    case SIM_SET:
        kind = CUPTI_ACTIVITY_KIND_MEMSET;
        break;
    case SIM_GRAPH_LAUNCH:
        kind = CUPTI_ACTIVITY_KIND_GRAPH_TRACE;
        break;
    default:
        break;
    }
    bool gives_way = work->graph_node != 0 && is_enabled[CUPTI_ACTIVITY_KIND_GRAPH_TRACE];
    return is_enabled[kind] && !gives_way ? kind : CUPTI_ACTIVITY_KIND_INVALID;
}

void cupti_write_work(const struct sim_work *work)
{
    static atomic_uint count;
    unsigned kind = kind_of_work(work);
    if (kind == CUPTI_ACTIVITY_KIND_INVALID) {
        return;
    }
    if (sim_has_fault(SIM_LOST_RECORDS) && (atomic_fetch_add(&count, 1) + 1) % LOST_EVERY == 0) {
        cupti_count_dropped();
        return;
    }
    switch (kind) {
    case CUPTI_ACTIVITY_KIND_MEMCPY:
        write_copy(work);
        break;
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
        write_peer_copy(work);
        break;
    case CUPTI_ACTIVITY_KIND_MEMSET:
        write_set(work);
        break;
    case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
        write_graph(work);
        break;
    default:
        write_kernel(work, kind);
        break;
    }
}

void cupti_write_event(const struct sim_event_record *event)
{
    if (!cupti.is_enabled[CUPTI_ACTIVITY_KIND_CUDA_EVENT]) {
        return;
    }
    fake_CudaEvent record = {.kind = CUPTI_ACTIVITY_KIND_CUDA_EVENT,
                             .correlationId = event->correlation,
                             .contextId = event->context,
                             .streamId = event->stream,
                             .eventId = event->event};
#if CUPTI_API_VERSION >= 130000
    record.deviceId = UINT32_MAX;
    record.cudaEventSyncId = event->event_sync;
#endif
    write_record(cupti_own_slot(), CUPTI_ACTIVITY_KIND_CUDA_EVENT, &record, sizeof record);
}

void cupti_write_wait(const struct sim_wait *wait)
{
    if (!cupti.is_enabled[CUPTI_ACTIVITY_KIND_SYNCHRONIZATION]) {
        return;
    }
    fake_Synchronization record = {.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
                                   .type = (CUpti_ActivitySynchronizationType)wait->kind,
                                   .start = cupti_time(wait->start_ns),
                                   .end = cupti_time(wait->end_ns),
                                   .correlationId = wait->correlation,
                                   .contextId = wait->context,
                                   .streamId = wait->stream,
                                   .cudaEventId = wait->event != 0 ? wait->event : UINT32_MAX};
#if CUPTI_API_VERSION >= 130000
    record.cudaEventSyncId = wait->event_sync;
#endif
    write_record(cupti_own_slot(), CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, &record, sizeof record);
}

void cupti_write_allocation(const struct sim_allocation *allocation)
{
    if (!cupti.is_enabled[CUPTI_ACTIVITY_KIND_MEMORY2]) {
        return;
    }
    fake_Memory record = {.kind = CUPTI_ACTIVITY_KIND_MEMORY2,
                          .memoryOperationType =
                              allocation->is_release
                                  ? CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE
                                  : CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION,
                          .memoryKind = (CUpti_ActivityMemoryKind)memory_kind(allocation->kind),
                          .correlationId = allocation->correlation,
                          .address = allocation->address,
                          .bytes = allocation->bytes,
                          .timestamp = cupti_time(allocation->at_ns),
                          .processId = (uint32_t)getpid(),
                          .deviceId = allocation->device,
                          .contextId = allocation->context,
                          .streamId = allocation->is_async ? allocation->stream : UINT32_MAX,
                          .isAsync = allocation->is_async};
    if (allocation->is_async) {
        record.memoryPoolConfig.memoryPoolType = CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL;
        record.memoryPoolConfig.address = (uintptr_t)sim_device(allocation->device);
        record.memoryPoolConfig.pool.size = allocation->pool_bytes;
        record.memoryPoolConfig.utilizedSize = allocation->pool_used_bytes;
    }
    write_record(cupti_own_slot(), CUPTI_ACTIVITY_KIND_MEMORY2, &record, sizeof record);
}

void cupti_write_pool(const struct sim_device *device, enum sim_pool_change change, uint64_t at_ns)
{
    if (!cupti.is_enabled[CUPTI_ACTIVITY_KIND_MEMORY_POOL]) {
        return;
    }
    fake_MemoryPool record = {.kind = CUPTI_ACTIVITY_KIND_MEMORY_POOL,
                              .memoryPoolOperationType =
                                  (CUpti_ActivityMemoryPoolOperationType)change,
                              .memoryPoolType = CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL,
                              .correlationId = sim_correlation(),
                              .processId = (uint32_t)getpid(),
                              .deviceId = device->index,
                              .address = (uintptr_t)device,
                              .size = device->pool_bytes,
                              .utilizedSize = device->pool_used_bytes,
                              .timestamp = cupti_time(at_ns)};
    write_record(cupti_own_slot(), CUPTI_ACTIVITY_KIND_MEMORY_POOL, &record, sizeof record);
}

void cupti_write_compilation(const struct sim_compilation *compilation)
{
    if (!cupti.is_enabled[CUPTI_ACTIVITY_KIND_JIT]) {
        return;
    }
    fake_Jit record = {.kind = CUPTI_ACTIVITY_KIND_JIT,
                       .jitEntryType = CUPTI_ACTIVITY_JIT_ENTRY_PTX_TO_CUBIN,
                       .jitOperationType = (CUpti_ActivityJitOperationType)compilation->kind,
                       .deviceId = compilation->device,
                       .start = cupti_time(compilation->start_ns),
                       .end = cupti_time(compilation->end_ns),
                       .correlationId = compilation->correlation,
                       .cacheSize = compilation->bytes};
    write_record(cupti_own_slot(), CUPTI_ACTIVITY_KIND_JIT, &record, sizeof record);
}

void cupti_write_device(const struct sim_device *device)
{
    fake_Device record = {.kind = CUPTI_ACTIVITY_KIND_DEVICE,
                          .globalMemorySize = sim_settings()->device_bytes,
                          .globalMemoryBandwidth = sim_settings()->device_mb_s * 1000,
                          .numThreadsPerWarp = 32,
                          .coreClockRate = 1410000,
                          .numMemcpyEngines = 3,
                          .numMultiprocessors = 108,
                          .maxThreadsPerBlock = 1024,
                          .computeCapabilityMajor = 8,
                          .computeCapabilityMinor = 0,
                          .id = device->index,
                          .isCudaVisible = 1,
                          .name = SIM_DEVICE_NAME};
    record.uuid.bytes[0] = SIM_UUID;
    record.uuid.bytes[15] = (char)device->index;
    write_record(cupti_own_slot(), CUPTI_ACTIVITY_KIND_DEVICE, &record, sizeof record);
}

void cupti_write_context(const struct sim_device *device)
{
    fake_Context record = {.kind = CUPTI_ACTIVITY_KIND_CONTEXT,
                           .contextId = device->context,
                           .deviceId = device->index,
                           .computeApiKind = CUPTI_ACTIVITY_COMPUTE_API_CUDA,
                           .nullStreamId = (uint16_t)sim_stream_id(device->null_stream)};
    write_record(cupti_own_slot(), CUPTI_ACTIVITY_KIND_CONTEXT, &record, sizeof record);
}

void cupti_write_stream(const struct sim_stream *stream)
{
    bool is_null = sim_stream_device(stream)->null_stream == stream;
    bool is_non_blocking = (sim_stream_flags(stream) & SIM_NON_BLOCKING) != 0;
    CUpti_ActivityStream record = {.kind = CUPTI_ACTIVITY_KIND_STREAM,
                                   .contextId = sim_stream_device(stream)->context,
                                   .streamId = sim_stream_id(stream),
                                   .priority = (uint32_t)sim_stream_priority(stream),
                                   .flag = is_null ? CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NULL
                                           : is_non_blocking
                                               ? CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NON_BLOCKING
                                               : CUPTI_ACTIVITY_STREAM_CREATE_FLAG_DEFAULT,
                                   .correlationId = sim_correlation()};
    write_record(cupti_own_slot(), CUPTI_ACTIVITY_KIND_STREAM, &record, sizeof record);
}
