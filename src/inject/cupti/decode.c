/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/cupti/decode.h"

#include "inject/cupti/cupti_abi.h"

/* 0 for an end before the start. */
static uint64_t span(uint64_t begin, uint64_t end)
{
    return end > begin ? end - begin : 0;
}

static struct ss_device_work_message *begin_work(struct ss_device_event *event,
                                                 enum ss_device_work_kind kind)
{
    struct ss_device_work_message *work = &event->message.work;
    event->bytes = sizeof *work;
    *work = (struct ss_device_work_message){.head.kind = SS_DEVICE_WORK, .work = (uint8_t)kind};
    return work;
}

static enum ss_decoded end_work(const struct ss_device_work_message *work)
{
    return work->begin_ns == 0 || work->end_ns < work->begin_ns ? SS_DECODED_TIMELESS
                                                                : SS_DECODED_EVENT;
}

#define SET(target, record, field) ((target)->field = ss_cupti_##record##_##field(bytes))

/* The fields that all work has. */
#define SET_WORK(work, record)                                                                     \
    do {                                                                                           \
        (work)->begin_ns = ss_cupti_##record##_begin(bytes);                                       \
        (work)->end_ns = ss_cupti_##record##_end(bytes);                                           \
        SET(work, record, device);                                                                 \
        SET(work, record, context);                                                                \
        SET(work, record, stream);                                                                 \
        SET(work, record, correlation);                                                            \
        SET(work, record, graph);                                                                  \
    } while (0)

static enum ss_decoded decode_kernel(const void *bytes, struct ss_device_event *event)
{
    struct ss_device_work_message *work = begin_work(event, SS_DEVICE_KERNEL);
    SET_WORK(work, kernel);
    SET(work, kernel, registers);
    SET(work, kernel, static_shared);
    SET(work, kernel, dynamic_shared);
    SET(work, kernel, graph_node);
    work->grid[0] = ss_cupti_kernel_grid_x(bytes);
    work->grid[1] = ss_cupti_kernel_grid_y(bytes);
    work->grid[2] = ss_cupti_kernel_grid_z(bytes);
    work->block[0] = ss_cupti_kernel_block_x(bytes);
    work->block[1] = ss_cupti_kernel_block_y(bytes);
    work->block[2] = ss_cupti_kernel_block_z(bytes);
    event->name = ss_cupti_kernel_name(bytes);
    return end_work(work);
}

static enum ss_decoded decode_copy(const void *bytes, struct ss_device_event *event)
{
    struct ss_device_work_message *work = begin_work(event, SS_DEVICE_COPY);
    SET_WORK(work, copy);
    SET(work, copy, direction);
    SET(work, copy, from);
    SET(work, copy, to);
    SET(work, copy, bytes);
    SET(work, copy, graph_node);
    work->flags = (ss_cupti_copy_flags(bytes) & SS_CUPTI_COPY_IS_ASYNC) != 0 ? SS_DEVICE_ASYNC : 0;
    work->from_device = work->to_device = work->device;
    return end_work(work);
}

static enum ss_decoded decode_peer_copy(const void *bytes, struct ss_device_event *event)
{
    struct ss_device_work_message *work = begin_work(event, SS_DEVICE_COPY);
    SET_WORK(work, peer_copy);
    SET(work, peer_copy, direction);
    SET(work, peer_copy, from);
    SET(work, peer_copy, to);
    SET(work, peer_copy, bytes);
    SET(work, peer_copy, graph_node);
    SET(work, peer_copy, from_device);
    SET(work, peer_copy, to_device);
    work->flags =
        (ss_cupti_peer_copy_flags(bytes) & SS_CUPTI_COPY_IS_ASYNC) != 0 ? SS_DEVICE_ASYNC : 0;
    return end_work(work);
}

static enum ss_decoded decode_memset(const void *bytes, struct ss_device_event *event)
{
    struct ss_device_work_message *work = begin_work(event, SS_DEVICE_MEMSET);
    SET_WORK(work, memset);
    SET(work, memset, bytes);
    SET(work, memset, graph_node);
    work->to = (uint8_t)ss_cupti_memset_memory(bytes);
    return end_work(work);
}

static enum ss_decoded decode_graph_launch(const void *bytes, struct ss_device_event *event)
{
    struct ss_device_work_message *work = begin_work(event, SS_DEVICE_GRAPH);
    SET_WORK(work, graph_launch);
    return end_work(work);
}

static enum ss_decoded decode_call(const void *bytes, enum ss_device_domain domain,
                                   struct ss_device_event *event)
{
    struct ss_device_call_message *call = &event->message.call;
    event->bytes = sizeof *call;
    *call = (struct ss_device_call_message){.head.kind = SS_DEVICE_CALL, .domain = domain};
    call->begin_ns = ss_cupti_call_begin(bytes);
    call->end_ns = ss_cupti_call_end(bytes);
    SET(call, call, thread);
    SET(call, call, correlation);
    SET(call, call, result);
    event->function = ss_cupti_call_function(bytes);
    return call->begin_ns == 0 || call->end_ns < call->begin_ns ? SS_DECODED_TIMELESS
                                                                : SS_DECODED_EVENT;
}

static enum ss_decoded decode_wait(const void *bytes, struct ss_device_event *event)
{
    struct ss_device_wait_message *wait = &event->message.wait;
    event->bytes = sizeof *wait;
    *wait = (struct ss_device_wait_message){.head.kind = SS_DEVICE_WAIT};
    wait->begin_ns = ss_cupti_wait_begin(bytes);
    wait->end_ns = ss_cupti_wait_end(bytes);
    SET(wait, wait, type);
    SET(wait, wait, context);
    SET(wait, wait, stream);
    SET(wait, wait, correlation);
    SET(wait, wait, event);
    return SS_DECODED_EVENT;
}

static enum ss_decoded decode_event(const void *bytes, struct ss_device_event *event)
{
    struct ss_device_wait_message *wait = &event->message.wait;
    *wait = (struct ss_device_wait_message){.head.kind = SS_DEVICE_WAIT};
    SET(wait, event, correlation);
    SET(wait, event, event);
    return SS_DECODED_RECORD;
}

static enum ss_decoded decode_device(const void *bytes, struct ss_device_event *event)
{
    struct ss_device_device_message *device = &event->message.device;
    struct ss_cupti_uuid uuid = ss_cupti_device_uuid(bytes);
    event->bytes = sizeof *device;
    *device = (struct ss_device_device_message){.head.kind = SS_DEVICE_DEVICE};
    SET(device, device, memory_bytes);
    SET(device, device, number);
    SET(device, device, multiprocessors);
    memcpy(device->uuid, uuid.bytes, sizeof device->uuid);
    event->name = ss_cupti_device_name(bytes);
    return SS_DECODED_EVENT;
}

static enum ss_decoded decode_context(const void *bytes, struct ss_device_event *event)
{
    struct ss_device_context_message *context = &event->message.context;
    event->bytes = sizeof *context;
    *context = (struct ss_device_context_message){.head.kind = SS_DEVICE_CONTEXT};
    SET(context, context, context);
    SET(context, context, device);
    SET(context, context, null_stream);
    return SS_DECODED_EVENT;
}

/* What an imported pool has in the place of its size is a process. */
static enum ss_decoded decode_memory(const void *bytes, struct ss_device_event *event)
{
    struct ss_device_memory_message *memory = &event->message.memory;
    uint32_t operation = ss_cupti_memory_operation(bytes);
    bool is_local = ss_cupti_memory_pool_type(bytes) == SS_CUPTI_LOCAL_POOL;
    event->bytes = sizeof *memory;
    *memory = (struct ss_device_memory_message){.head.kind = SS_DEVICE_MEMORY};
    SET(memory, memory, address);
    SET(memory, memory, bytes);
    SET(memory, memory, device);
    SET(memory, memory, context);
    SET(memory, memory, stream);
    SET(memory, memory, correlation);
    memory->time_ns = ss_cupti_memory_time(bytes);
    memory->memory = (uint8_t)ss_cupti_memory_memory(bytes);
    memory->is_release = operation == SS_CUPTI_RELEASES;
    memory->is_async = ss_cupti_memory_is_async(bytes) != 0;
    if (ss_cupti_memory_pool_type(bytes) != 0) {
        SET(memory, memory, pool);
        memory->pool_bytes = is_local ? ss_cupti_memory_pool_size(bytes) : 0;
        memory->pool_used_bytes = ss_cupti_memory_pool_used(bytes);
    }
    return operation == SS_CUPTI_ALLOCATES || operation == SS_CUPTI_RELEASES ? SS_DECODED_EVENT
                                                                             : SS_DECODED_UNKNOWN;
}

static enum ss_decoded decode_pool(const void *bytes, struct ss_device_event *event)
{
    struct ss_device_pool_message *pool = &event->message.pool;
    event->bytes = sizeof *pool;
    *pool = (struct ss_device_pool_message){.head.kind = SS_DEVICE_POOL};
    SET(pool, pool, pool);
    SET(pool, pool, operation);
    SET(pool, pool, device);
    SET(pool, pool, correlation);
    pool->time_ns = ss_cupti_pool_time(bytes);
    pool->pool_bytes =
        ss_cupti_pool_type(bytes) == SS_CUPTI_LOCAL_POOL ? ss_cupti_pool_pool_size(bytes) : 0;
    pool->pool_used_bytes = ss_cupti_pool_pool_used(bytes);
    pool->threshold_bytes = ss_cupti_pool_threshold(bytes);
    return pool->operation >= SS_DEVICE_POOL_MADE && pool->operation <= SS_DEVICE_POOL_TRIMS
               ? SS_DECODED_EVENT
               : SS_DECODED_UNKNOWN;
}

static enum ss_decoded decode_external(const void *bytes, struct ss_device_event *event)
{
    struct ss_device_external_message *external = &event->message.external;
    event->bytes = sizeof *external;
    *external = (struct ss_device_external_message){.head.kind = SS_DEVICE_EXTERNAL};
    SET(external, external, id);
    SET(external, external, family);
    SET(external, external, correlation);
    return SS_DECODED_EVENT;
}

static enum ss_decoded decode_compilation(const void *bytes, struct ss_device_event *event)
{
    struct ss_device_compilation_message *of = &event->message.compilation;
    event->bytes = sizeof *of;
    *of = (struct ss_device_compilation_message){.head.kind = SS_DEVICE_COMPILATION};
    of->begin_ns = ss_cupti_compilation_begin(bytes);
    of->end_ns = ss_cupti_compilation_end(bytes);
    SET(of, compilation, bytes);
    SET(of, compilation, operation);
    SET(of, compilation, input);
    SET(of, compilation, device);
    SET(of, compilation, correlation);
    if (of->operation < SS_DEVICE_CACHE_LOADS || of->operation > SS_DEVICE_COMPILES) {
        return SS_DECODED_UNKNOWN;
    }
    return of->begin_ns == 0 || of->end_ns < of->begin_ns ? SS_DECODED_TIMELESS : SS_DECODED_EVENT;
}

static enum ss_decoded decode_overhead(const void *bytes, struct ss_device_event *event)
{
    event->overhead_ns = span(ss_cupti_overhead_begin(bytes), ss_cupti_overhead_end(bytes));
    return SS_DECODED_COST;
}

/* Long: one case for each kind of record. */
enum ss_decoded ss_cupti_decode(const void *record, size_t bytes, struct ss_device_event *event)
{
    uint32_t kind;
    if (bytes < sizeof kind) {
        return SS_DECODED_SHORT;
    }
    memcpy(&kind, record, sizeof kind);
    event->name = 0;
    event->function = 0;
    switch (kind) {
    case SS_CUPTI_KERNEL:
    case SS_CUPTI_CONCURRENT_KERNEL:
        return bytes < SS_CUPTI_kernel_BYTES ? SS_DECODED_SHORT : decode_kernel(record, event);
    case SS_CUPTI_COPY:
        return bytes < SS_CUPTI_copy_BYTES ? SS_DECODED_SHORT : decode_copy(record, event);
    case SS_CUPTI_PEER_COPY:
        return bytes < SS_CUPTI_peer_copy_BYTES ? SS_DECODED_SHORT
                                                : decode_peer_copy(record, event);
    case SS_CUPTI_MEMSET:
        return bytes < SS_CUPTI_memset_BYTES ? SS_DECODED_SHORT : decode_memset(record, event);
    case SS_CUPTI_GRAPH_LAUNCH:
        return bytes < SS_CUPTI_graph_launch_BYTES ? SS_DECODED_SHORT
                                                   : decode_graph_launch(record, event);
    case SS_CUPTI_RUNTIME_CALL:
    case SS_CUPTI_DRIVER_CALL:
        return bytes < SS_CUPTI_call_BYTES
                   ? SS_DECODED_SHORT
                   : decode_call(record,
                                 kind == SS_CUPTI_RUNTIME_CALL ? SS_DEVICE_RUNTIME
                                                               : SS_DEVICE_DRIVER,
                                 event);
    case SS_CUPTI_WAIT:
        return bytes < SS_CUPTI_wait_BYTES ? SS_DECODED_SHORT : decode_wait(record, event);
    case SS_CUPTI_EVENT:
        return bytes < SS_CUPTI_event_BYTES ? SS_DECODED_SHORT : decode_event(record, event);
    case SS_CUPTI_DEVICE:
        return bytes < SS_CUPTI_device_BYTES ? SS_DECODED_SHORT : decode_device(record, event);
    case SS_CUPTI_CONTEXT:
        return bytes < SS_CUPTI_context_BYTES ? SS_DECODED_SHORT : decode_context(record, event);
    case SS_CUPTI_MEMORY:
        return bytes < SS_CUPTI_memory_BYTES ? SS_DECODED_SHORT : decode_memory(record, event);
    case SS_CUPTI_POOL:
        return bytes < SS_CUPTI_pool_BYTES ? SS_DECODED_SHORT : decode_pool(record, event);
    case SS_CUPTI_EXTERNAL:
        return bytes < SS_CUPTI_external_BYTES ? SS_DECODED_SHORT : decode_external(record, event);
    case SS_CUPTI_COMPILATION:
        return bytes < SS_CUPTI_compilation_BYTES ? SS_DECODED_SHORT
                                                  : decode_compilation(record, event);
    case SS_CUPTI_OVERHEAD:
        return bytes < SS_CUPTI_overhead_BYTES ? SS_DECODED_SHORT : decode_overhead(record, event);
    default:
        return SS_DECODED_UNKNOWN;
    }
}
