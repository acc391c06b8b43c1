/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/cupti/decode.h"

#include "inject/cupti/cupti_abi.h"

/* 0 for an end before the begin. */
static uint64_t span(uint64_t begin, uint64_t end)
{
    return end > begin ? end - begin : 0;
}

static struct ss_device_work_message *begin_work(struct ss_cupti_event *event,
                                                 enum ss_device_work_kind kind)
{
    struct ss_device_work_message *work = &event->message.work;
    event->bytes = sizeof *work;
    *work = (struct ss_device_work_message){.head.kind = SS_DEVICE_WORK, .work = (uint8_t)kind};
    return work;
}

static enum ss_cupti_decoded end_work(const struct ss_device_work_message *work)
{
    return work->begin_ns == 0 || work->end_ns < work->begin_ns ? SS_CUPTI_TIMELESS
                                                                : SS_CUPTI_DECODED;
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

static enum ss_cupti_decoded decode_kernel(const void *bytes, struct ss_cupti_event *event)
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

static enum ss_cupti_decoded decode_copy(const void *bytes, struct ss_cupti_event *event)
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

static enum ss_cupti_decoded decode_peer_copy(const void *bytes, struct ss_cupti_event *event)
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

static enum ss_cupti_decoded decode_memset(const void *bytes, struct ss_cupti_event *event)
{
    struct ss_device_work_message *work = begin_work(event, SS_DEVICE_MEMSET);
    SET_WORK(work, memset);
    SET(work, memset, bytes);
    SET(work, memset, graph_node);
    work->to = (uint8_t)ss_cupti_memset_memory(bytes);
    return end_work(work);
}

static enum ss_cupti_decoded decode_graph_launch(const void *bytes, struct ss_cupti_event *event)
{
    struct ss_device_work_message *work = begin_work(event, SS_DEVICE_GRAPH);
    SET_WORK(work, graph_launch);
    return end_work(work);
}

static enum ss_cupti_decoded decode_call(const void *bytes, enum ss_device_domain domain,
                                         struct ss_cupti_event *event)
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
    return call->begin_ns == 0 || call->end_ns < call->begin_ns ? SS_CUPTI_TIMELESS
                                                                : SS_CUPTI_DECODED;
}

static enum ss_cupti_decoded decode_wait(const void *bytes, struct ss_cupti_event *event)
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
    return SS_CUPTI_DECODED;
}

static enum ss_cupti_decoded decode_device(const void *bytes, struct ss_cupti_event *event)
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
    return SS_CUPTI_DECODED;
}

static enum ss_cupti_decoded decode_context(const void *bytes, struct ss_cupti_event *event)
{
    struct ss_device_context_message *context = &event->message.context;
    event->bytes = sizeof *context;
    *context = (struct ss_device_context_message){.head.kind = SS_DEVICE_CONTEXT};
    SET(context, context, context);
    SET(context, context, device);
    SET(context, context, null_stream);
    return SS_CUPTI_DECODED;
}

static enum ss_cupti_decoded decode_overhead(const void *bytes, struct ss_cupti_event *event)
{
    event->overhead_ns = span(ss_cupti_overhead_begin(bytes), ss_cupti_overhead_end(bytes));
    return SS_CUPTI_COST;
}

/* Long: one case for each kind of record. */
enum ss_cupti_decoded ss_cupti_decode(const void *record, size_t bytes,
                                      struct ss_cupti_event *event)
{
    uint32_t kind;
    if (bytes < sizeof kind) {
        return SS_CUPTI_SHORT;
    }
    memcpy(&kind, record, sizeof kind);
    event->name = 0;
    event->function = 0;
    switch (kind) {
    case SS_CUPTI_KERNEL:
    case SS_CUPTI_CONCURRENT_KERNEL:
        return bytes < SS_CUPTI_kernel_BYTES ? SS_CUPTI_SHORT : decode_kernel(record, event);
    case SS_CUPTI_COPY:
        return bytes < SS_CUPTI_copy_BYTES ? SS_CUPTI_SHORT : decode_copy(record, event);
    case SS_CUPTI_PEER_COPY:
        return bytes < SS_CUPTI_peer_copy_BYTES ? SS_CUPTI_SHORT : decode_peer_copy(record, event);
    case SS_CUPTI_MEMSET:
        return bytes < SS_CUPTI_memset_BYTES ? SS_CUPTI_SHORT : decode_memset(record, event);
    case SS_CUPTI_GRAPH_LAUNCH:
        return bytes < SS_CUPTI_graph_launch_BYTES ? SS_CUPTI_SHORT
                                                   : decode_graph_launch(record, event);
    case SS_CUPTI_RUNTIME_CALL:
    case SS_CUPTI_DRIVER_CALL:
        return bytes < SS_CUPTI_call_BYTES
                   ? SS_CUPTI_SHORT
                   : decode_call(record,
                                 kind == SS_CUPTI_RUNTIME_CALL ? SS_DEVICE_RUNTIME
                                                               : SS_DEVICE_DRIVER,
                                 event);
    case SS_CUPTI_WAIT:
        return bytes < SS_CUPTI_wait_BYTES ? SS_CUPTI_SHORT : decode_wait(record, event);
    case SS_CUPTI_DEVICE:
        return bytes < SS_CUPTI_device_BYTES ? SS_CUPTI_SHORT : decode_device(record, event);
    case SS_CUPTI_CONTEXT:
        return bytes < SS_CUPTI_context_BYTES ? SS_CUPTI_SHORT : decode_context(record, event);
    case SS_CUPTI_OVERHEAD:
        return bytes < SS_CUPTI_overhead_BYTES ? SS_CUPTI_SHORT : decode_overhead(record, event);
    default:
        return SS_CUPTI_UNKNOWN;
    }
}
