/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/rocm/records.h"

#include <stdatomic.h>

#include "inject/device/pool.h"
#include "inject/nccl/operations.h"
#include "inject/rocm/entities.h"

/* Queues of work without a stream are numbered after the streams. */
enum { FIRST_QUEUE = 1000, NO_STREAM = 0 };

static _Atomic uint64_t dropped_by_sdk, refused; /* refused: there was no buffer for them */

/* --- the SDK's thread ------------------------------------------------------------------------- */

struct filling {
    uint8_t *bytes;
    size_t size;
    size_t used;
};

static void emit(struct filling *buffer)
{
    if (buffer->bytes != NULL) {
        ss_device_pool_put_full(buffer->bytes, buffer->used);
    }
    *buffer = (struct filling){.bytes = NULL};
}

/* false: there is no buffer for it. */
static bool put(struct filling *buffer, enum ss_rocm_what what, const void *payload, size_t needed)
{
    struct ss_rocm_record head = {.bytes = (uint32_t)(sizeof head + ((needed + 7) & ~(size_t)7)),
                                  .what = what};
    if (buffer->bytes != NULL && buffer->size - buffer->used < head.bytes) {
        emit(buffer);
    }
    if (buffer->bytes == NULL) {
        buffer->bytes = ss_device_pool_take(&buffer->size);
        if (buffer->bytes == NULL) {
            return false;
        }
    }
    memcpy(buffer->bytes + buffer->used, &head, sizeof head);
    memcpy(buffer->bytes + buffer->used + sizeof head, payload, needed);
    buffer->used += head.bytes;
    return true;
}

static enum ss_rocm_what what_of(const uint32_t *kinds, const struct ss_rocm_record_header *header)
{
    for (int what = SS_ROCM_KERNEL; what < SS_ROCM_AGENT; what++) {
        if (header->category == SS_ROCM_CATEGORY_TRACING && kinds[what] != 0 &&
            kinds[what] == header->kind) {
            return (enum ss_rocm_what)what;
        }
    }
    return (enum ss_rocm_what)0;
}

void ss_rocm_put_records(const uint32_t *kinds, struct ss_rocm_record_header **headers,
                         size_t count, uint64_t dropped)
{
    struct filling buffer = {.bytes = NULL};
    bool has_room = true;
    uint64_t lost = 0;
    for (size_t i = 0; i < count; i++) {
        enum ss_rocm_what what = what_of(kinds, headers[i]);
        uint64_t size = 0;
        if (what == 0 || headers[i]->payload == NULL) {
            continue;
        }
        memcpy(&size, headers[i]->payload, sizeof size); /* each record begins with its size */
        size_t needed = ss_rocm_read_bytes(what, size);
        has_room = has_room && (needed == 0 || put(&buffer, what, headers[i]->payload, needed));
        lost += !has_room || needed == 0;
    }
    emit(&buffer);
    atomic_fetch_add_explicit(&refused, lost, memory_order_relaxed);
    atomic_store_explicit(&dropped_by_sdk, dropped, memory_order_relaxed);
}

void ss_rocm_put_agent(const void *agent)
{
    struct filling buffer = {.bytes = NULL};
    put(&buffer, SS_ROCM_AGENT, agent,
        ss_rocm_read_bytes(SS_ROCM_AGENT, ss_rocm_agent_size(agent)));
    emit(&buffer);
}

/* --- the writer's thread ---------------------------------------------------------------------- */

static const struct ss_rocm *rocm;
static const uint64_t *buffer_id;
static bool has_streams;

/* A context of each device, which HIP has one of; its null stream is 0. */
static void put_context(struct ss_device_output *output, uint32_t device)
{
    struct ss_device_context_message context = {
        .head.kind = SS_DEVICE_CONTEXT, .context = device + 1, .device = device};
    context.null_stream = has_streams ? 0 : UINT32_MAX;
    ss_device_output_put(output, &context.head, sizeof context);
}

static void complete_work(struct ss_device_event *event)
{
    struct ss_device_work_message *work = &event->message.work;
    if (!ss_rocm_gpu_of(event->agent, &work->device)) {
        ss_rocm_gpu_of(event->other_agent, &work->device);
    }
    work->from_device = work->to_device = work->device;
    if (work->from == work->to) { /* within or between devices: `agent` is the target */
        ss_rocm_gpu_of(event->other_agent, &work->from_device);
    }
    work->context = work->device + 1;
    if (event->external != NO_STREAM) {
        work->stream = (uint32_t)(event->external - 1);
    } else {
        work->stream = ss_rocm_queue_of(event->queue) + (has_streams ? FIRST_QUEUE : 0);
    }
    if (work->work == SS_DEVICE_KERNEL) {
        struct ss_rocm_symbol symbol = ss_rocm_symbol_of(event->name);
        uint32_t lds = work->dynamic_shared;
        work->name = symbol.name;
        work->registers = symbol.registers;
        work->static_shared = symbol.static_lds < lds ? symbol.static_lds : lds;
        work->dynamic_shared = lds - work->static_shared;
    }
}

static bool complete(struct ss_device_output *output, struct ss_device_event *event)
{
    static const enum ss_rocm_what of_domain[] = {[SS_DEVICE_RUNTIME] = SS_ROCM_HIP_CALL,
                                                  [SS_DEVICE_DRIVER] = SS_ROCM_COMPILER_CALL,
                                                  [SS_DEVICE_COMMUNICATION] = SS_ROCM_RCCL_CALL};
    if (event->message.head.kind == SS_DEVICE_WORK) {
        complete_work(event);
    } else if (event->message.head.kind == SS_DEVICE_CALL) {
        struct ss_device_call_message *call = &event->message.call;
        call->name = ss_rocm_calls_name(of_domain[call->domain], (int32_t)event->function);
    } else if (event->message.head.kind == SS_DEVICE_DEVICE) {
        struct ss_device_device_message *device = &event->message.device;
        ss_rocm_gpu_of(event->agent, &device->number);
        device->name = ss_device_output_name(output, event->name);
        put_context(output, device->number);
    }
    return true;
}

static uint32_t function_name(int domain, uint32_t function)
{
    return ss_rocm_calls_name((enum ss_rocm_what)domain, (int32_t)function);
}

static enum ss_device_domain ring_domain(int domain)
{
    return domain == SS_ROCM_HIP_CALL ? SS_DEVICE_RUNTIME : SS_DEVICE_DRIVER;
}

static bool read_clock(uint64_t *theirs)
{
    return rocm->get_timestamp(theirs) == SS_ROCM_OK;
}

static void flush(void)
{
    rocm->flush_buffer(*buffer_id);
}

static uint64_t take_dropped(void)
{
    static uint64_t taken;
    uint64_t all = atomic_load_explicit(&dropped_by_sdk, memory_order_relaxed) +
                   atomic_load_explicit(&refused, memory_order_relaxed);
    uint64_t since = all > taken ? all - taken : 0;
    taken += since;
    return since;
}

const struct ss_device_interface *ss_rocm_interface(const struct ss_rocm *of,
                                                    const uint64_t *buffer, bool streams)
{
    static const struct ss_device_interface interface = {.number = SS_DEVICE_OF_ROCPROFILER,
                                                         .next_record = ss_rocm_next_record,
                                                         .decode = ss_rocm_decode,
                                                         .complete = complete,
                                                         .function_name = function_name,
                                                         .ring_domain = ring_domain,
                                                         .read_clock = read_clock,
                                                         .flush = flush,
                                                         .take_dropped = take_dropped,
                                                         .take_collectives = ss_nccl_take};
    rocm = of;
    buffer_id = buffer;
    has_streams = streams;
    return &interface;
}
