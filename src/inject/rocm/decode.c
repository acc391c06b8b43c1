/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/rocm/decode.h"

#include "inject/rocm/rocm_abi.h"

/* As CUPTI numbers directions and memories, which the ring has. */
enum { TO_DEVICE = 1, TO_HOST = 2, WITHIN = 8, ON_HOST = 9, BETWEEN = 10, DEVICE_MEMORY = 3 };

size_t ss_rocm_read_bytes(enum ss_rocm_what what, uint64_t size)
{
    size_t needed =
        what == SS_ROCM_KERNEL ? SS_ROCM_kernel_BYTES
        : what == SS_ROCM_COPY ? SS_ROCM_copy_BYTES
        : what == SS_ROCM_AGENT
            ? (size < SS_ROCM_long_agent_BYTES ? SS_ROCM_agent_BYTES : SS_ROCM_long_agent_BYTES)
        : size < SS_ROCM_call_BYTES ? SS_ROCM_old_call_BYTES
                                    : SS_ROCM_call_BYTES;
    return size >= needed ? needed : 0;
}

bool ss_rocm_next_record(uint8_t *bytes, size_t valid, void **record)
{
    struct ss_rocm_record head;
    size_t at = 0;
    if (*record != NULL) {
        at = (size_t)((uint8_t *)*record - bytes);
        memcpy(&head, *record, sizeof head);
        at += head.bytes;
    }
    if (at > valid || valid - at < sizeof head) {
        return false;
    }
    memcpy(&head, bytes + at, sizeof head);
    *record = bytes + at;
    return head.bytes >= sizeof head && head.bytes <= valid - at && head.bytes % 8 == 0;
}

static enum ss_decoded end_work(const struct ss_device_work_message *work)
{
    return work->begin_ns == 0 || work->end_ns < work->begin_ns ? SS_DECODED_TIMELESS
                                                                : SS_DECODED_EVENT;
}

/* The SDK counts work-items, the ring workgroups. */
static uint32_t groups(uint32_t items, uint32_t block)
{
    return block > 0 ? items / block + (items % block > 0) : items;
}

static enum ss_decoded decode_kernel(const void *bytes, struct ss_device_event *event)
{
    struct ss_device_work_message *work = &event->message.work;
    event->bytes = sizeof *work;
    *work = (struct ss_device_work_message){
        .head.kind = SS_DEVICE_WORK,
        .work = SS_DEVICE_KERNEL,
        .begin_ns = ss_rocm_kernel_begin(bytes),
        .end_ns = ss_rocm_kernel_end(bytes),
        .correlation = (uint32_t)ss_rocm_kernel_correlation(bytes),
        .dynamic_shared = ss_rocm_kernel_lds(bytes),
        .scratch = ss_rocm_kernel_scratch(bytes),
        .block = {ss_rocm_kernel_block_x(bytes), ss_rocm_kernel_block_y(bytes),
                  ss_rocm_kernel_block_z(bytes)}};
    work->grid[0] = groups(ss_rocm_kernel_items_x(bytes), work->block[0]);
    work->grid[1] = groups(ss_rocm_kernel_items_y(bytes), work->block[1]);
    work->grid[2] = groups(ss_rocm_kernel_items_z(bytes), work->block[2]);
    event->name = ss_rocm_kernel_kernel(bytes);
    event->agent = ss_rocm_kernel_agent(bytes);
    event->queue = ss_rocm_kernel_queue(bytes);
    event->external = ss_rocm_kernel_external(bytes);
    return end_work(work);
}

static enum ss_decoded decode_copy(const void *bytes, struct ss_device_event *event)
{
    static const struct {
        uint8_t direction, from, to;
    } copies[] = {[SS_ROCM_HOST_TO_HOST] = {ON_HOST, 0, 0},
                  [SS_ROCM_HOST_TO_DEVICE] = {TO_DEVICE, 0, DEVICE_MEMORY},
                  [SS_ROCM_DEVICE_TO_HOST] = {TO_HOST, DEVICE_MEMORY, 0},
                  [SS_ROCM_DEVICE_TO_DEVICE] = {WITHIN, DEVICE_MEMORY, DEVICE_MEMORY}};
    struct ss_device_work_message *work = &event->message.work;
    uint32_t direction = ss_rocm_copy_direction(bytes);
    direction = direction < sizeof copies / sizeof *copies ? direction : 0;
    event->bytes = sizeof *work;
    *work =
        (struct ss_device_work_message){.head.kind = SS_DEVICE_WORK,
                                        .work = SS_DEVICE_COPY,
                                        .begin_ns = ss_rocm_copy_begin(bytes),
                                        .end_ns = ss_rocm_copy_end(bytes),
                                        .correlation = (uint32_t)ss_rocm_copy_correlation(bytes),
                                        .direction = copies[direction].direction,
                                        .from = copies[direction].from,
                                        .to = copies[direction].to,
                                        .bytes = ss_rocm_copy_bytes(bytes)};
    bool leaves = direction == SS_ROCM_DEVICE_TO_HOST;
    uint64_t from = ss_rocm_copy_from_agent(bytes), to = ss_rocm_copy_to_agent(bytes);
    event->agent = leaves ? from : to;
    event->other_agent = leaves ? to : from;
    event->external = ss_rocm_copy_external(bytes);
    if (direction == SS_ROCM_DEVICE_TO_DEVICE && from != to) {
        work->direction = BETWEEN;
    }
    return end_work(work);
}

static enum ss_decoded decode_call(const void *bytes, bool is_old, enum ss_rocm_what what,
                                   struct ss_device_event *event)
{
#define CALL(field) (is_old ? ss_rocm_old_call_##field(bytes) : ss_rocm_call_##field(bytes))
    struct ss_device_call_message *call = &event->message.call;
    event->bytes = sizeof *call;
    *call = (struct ss_device_call_message){.head.kind = SS_DEVICE_CALL,
                                            .domain = what == SS_ROCM_HIP_CALL ? SS_DEVICE_RUNTIME
                                                      : what == SS_ROCM_COMPILER_CALL
                                                          ? SS_DEVICE_DRIVER
                                                          : SS_DEVICE_COMMUNICATION,
                                            .begin_ns = CALL(begin),
                                            .end_ns = CALL(end),
                                            .thread = (uint32_t)CALL(thread),
                                            .correlation = (uint32_t)CALL(correlation)};
    event->function = CALL(function);
#undef CALL
    return call->begin_ns == 0 || call->end_ns < call->begin_ns ? SS_DECODED_TIMELESS
                                                                : SS_DECODED_EVENT;
}

static enum ss_decoded decode_agent(const void *bytes, size_t size, struct ss_device_event *event)
{
    struct ss_device_device_message *device = &event->message.device;
    event->bytes = sizeof *device;
    *device = (struct ss_device_device_message){.head.kind = SS_DEVICE_DEVICE,
                                                .memory_bytes = ss_rocm_agent_memory(bytes),
                                                .multiprocessors = ss_rocm_agent_units(bytes)};
    if (size >= SS_ROCM_long_agent_BYTES) {
        struct ss_rocm_uuid uuid = ss_rocm_long_agent_uuid(bytes);
        memcpy(device->uuid, uuid.bytes, sizeof device->uuid);
    }
    event->agent = ss_rocm_agent_agent(bytes);
    event->name = ss_rocm_agent_product(bytes);
    return SS_DECODED_EVENT;
}

enum ss_decoded ss_rocm_decode(const void *record, size_t bytes, struct ss_device_event *event)
{
    struct ss_rocm_record head;
    if (bytes < sizeof head) {
        return SS_DECODED_SHORT;
    }
    memcpy(&head, record, sizeof head);
    if (head.bytes < sizeof head || head.bytes > bytes) {
        return SS_DECODED_SHORT;
    }
    const uint8_t *payload = (const uint8_t *)record + sizeof head;
    size_t size = head.bytes - sizeof head;
    if (head.what < SS_ROCM_KERNEL || head.what > SS_ROCM_AGENT) {
        return SS_DECODED_UNKNOWN;
    }
    if (ss_rocm_read_bytes((enum ss_rocm_what)head.what, size) == 0) {
        return SS_DECODED_SHORT;
    }
    *event = (struct ss_device_event){.bytes = 0};
    switch (head.what) {
    case SS_ROCM_KERNEL:
        return decode_kernel(payload, event);
    case SS_ROCM_COPY:
        return decode_copy(payload, event);
    case SS_ROCM_AGENT:
        return decode_agent(payload, size, event);
    default:
        return decode_call(payload, size < SS_ROCM_call_BYTES, (enum ss_rocm_what)head.what, event);
    }
}
