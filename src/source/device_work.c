/* SPDX-License-Identifier: Apache-2.0 */
#include "source/device_work.h"

#include <math.h>

#include "base/alloc.h"
#include "source/ring_file.h"

enum { MOST_TEXTS = 1 << 22 /* and frames, and stacks */ };

struct ss_device_work_source {
    struct ss_ring_file *file;
    struct ss_device_reading reading;
};

/* --- messages --------------------------------------------------------------------------------- */

static bool is_text(const struct ss_device_reading *reading, uint32_t number)
{
    return number <= reading->texts;
}

static bool take_text(struct ss_device_reading *reading, const void *message, size_t bytes)
{
    const struct ss_device_text *text = message;
    if (bytes < sizeof *text || text->length > bytes - sizeof *text ||
        text->number != reading->texts + 1 || text->number > MOST_TEXTS) {
        return false;
    }
    reading->texts = text->number;
    reading->sink.text(reading->sink.context, text->number,
                       (struct ss_strview){(const char *)(text + 1), text->length});
    return true;
}

static bool take_frame(struct ss_device_reading *reading, const void *message, size_t bytes)
{
    const struct ss_device_frame_message *frame = message;
    if (bytes != sizeof *frame || !is_text(reading, frame->file) ||
        !is_text(reading, frame->function) || frame->line < 0 ||
        frame->number != reading->frames + 1 || frame->number > MOST_TEXTS) {
        return false;
    }
    reading->frames = frame->number;
    reading->sink.frame(reading->sink.context, frame);
    return true;
}

/* The stack that called it is an earlier one: stacks have no circles. */
static bool take_stack(struct ss_device_reading *reading, const void *message, size_t bytes)
{
    const struct ss_device_stack_message *stack = message;
    if (bytes != sizeof *stack || stack->outer > reading->stacks || stack->frame == 0 ||
        stack->frame > reading->frames || stack->number != reading->stacks + 1 ||
        stack->number > MOST_TEXTS) {
        return false;
    }
    reading->stacks = stack->number;
    reading->sink.stack(reading->sink.context, stack);
    return true;
}

static bool take_work(struct ss_device_reading *reading, const void *message, size_t bytes)
{
    const struct ss_device_work_message *work = message;
    bool is_good = bytes == sizeof *work && is_text(reading, work->name) &&
                   work->work >= SS_DEVICE_KERNEL && work->work <= SS_DEVICE_GRAPH &&
                   work->begin_ns <= work->end_ns && work->end_ns <= INT64_MAX;
    if (is_good) {
        reading->sink.work(reading->sink.context, work);
    }
    return is_good;
}

static bool take_call(struct ss_device_reading *reading, const void *message, size_t bytes)
{
    const struct ss_device_call_message *call = message;
    bool is_good = bytes == sizeof *call && is_text(reading, call->name) &&
                   call->domain < SS_DEVICE_DOMAINS && call->begin_ns <= call->end_ns &&
                   call->end_ns <= INT64_MAX;
    if (is_good) {
        reading->sink.call(reading->sink.context, call);
    }
    return is_good;
}

static bool take_launch(struct ss_device_reading *reading, const void *message, size_t bytes)
{
    const struct ss_device_launch_message *launch = message;
    bool is_good = bytes == sizeof *launch && is_text(reading, launch->name) &&
                   launch->stack <= reading->stacks && launch->domain < SS_DEVICE_DOMAINS &&
                   launch->begin_ns <= launch->end_ns && launch->end_ns <= INT64_MAX;
    if (is_good) {
        reading->sink.launch(reading->sink.context, launch);
    }
    return is_good;
}

static bool take_wait(struct ss_device_reading *reading, const void *message, size_t bytes)
{
    const struct ss_device_wait_message *wait = message;
    bool is_good = bytes == sizeof *wait;
    if (is_good) {
        reading->sink.wait(reading->sink.context, wait);
    }
    return is_good;
}

static bool take_device(struct ss_device_reading *reading, const void *message, size_t bytes)
{
    const struct ss_device_device_message *device = message;
    bool is_good = bytes == sizeof *device && is_text(reading, device->name);
    if (is_good) {
        reading->sink.device(reading->sink.context, device);
    }
    return is_good;
}

static bool take_context(struct ss_device_reading *reading, const void *message, size_t bytes)
{
    const struct ss_device_context_message *of = message;
    bool is_good = bytes == sizeof *of;
    if (is_good) {
        reading->sink.context_of(reading->sink.context, of);
    }
    return is_good;
}

static bool take_switch(struct ss_device_reading *reading, const void *message, size_t bytes)
{
    const struct ss_device_switch_message *to = message;
    bool is_good = bytes == sizeof *to && to->time_ns <= INT64_MAX;
    if (is_good) {
        reading->sink.switched(reading->sink.context, to);
    }
    return is_good;
}

static bool take_node(struct ss_device_reading *reading, const void *message, size_t bytes)
{
    const struct ss_device_node_message *node = message;
    bool is_good = bytes == sizeof *node && node->stack <= reading->stacks;
    if (is_good) {
        reading->sink.node(reading->sink.context, node);
    }
    return is_good;
}

static bool take_collective(struct ss_device_reading *reading, const void *message, size_t bytes)
{
    const struct ss_device_collective_message *of = message;
    bool is_good = bytes == sizeof *of && is_text(reading, of->function) &&
                   is_text(reading, of->group) && is_text(reading, of->datatype) &&
                   is_text(reading, of->algorithm) && is_text(reading, of->protocol) &&
                   is_text(reading, of->module) && of->sequence >= -1 && of->bytes >= -1 &&
                   of->root >= -1;
    if (is_good) {
        reading->sink.collective(reading->sink.context, of);
    }
    return is_good;
}

static bool take_memory(struct ss_device_reading *reading, const void *message, size_t bytes)
{
    const struct ss_device_memory_message *memory = message;
    bool is_good = bytes == sizeof *memory && memory->time_ns <= INT64_MAX &&
                   memory->bytes <= INT64_MAX && memory->pool_bytes <= INT64_MAX &&
                   memory->is_release <= 1 && memory->is_async <= 1 && memory->is_early <= 1;
    if (is_good) {
        reading->sink.memory(reading->sink.context, memory);
    }
    return is_good;
}

static bool take_pool(struct ss_device_reading *reading, const void *message, size_t bytes)
{
    const struct ss_device_pool_message *pool = message;
    bool is_good = bytes == sizeof *pool && pool->time_ns <= INT64_MAX &&
                   pool->pool_bytes <= INT64_MAX && pool->operation >= SS_DEVICE_POOL_MADE &&
                   pool->operation <= SS_DEVICE_POOL_TRIMS;
    if (is_good) {
        reading->sink.pool(reading->sink.context, pool);
    }
    return is_good;
}

static bool take_external(struct ss_device_reading *reading, const void *message, size_t bytes)
{
    const struct ss_device_external_message *external = message;
    bool is_good = bytes == sizeof *external;
    if (is_good) {
        reading->sink.external(reading->sink.context, external);
    }
    return is_good;
}

static bool take_compilation(struct ss_device_reading *reading, const void *message, size_t bytes)
{
    const struct ss_device_compilation_message *of = message;
    bool is_good = bytes == sizeof *of && of->begin_ns <= of->end_ns && of->end_ns <= INT64_MAX &&
                   of->bytes <= INT64_MAX && of->operation >= SS_DEVICE_CACHE_LOADS &&
                   of->operation <= SS_DEVICE_COMPILES;
    if (is_good) {
        reading->sink.compilation(reading->sink.context, of);
    }
    return is_good;
}

static bool take_metrics(struct ss_device_reading *reading, const void *message, size_t bytes)
{
    const struct ss_device_metrics_message *of = message;
    const struct ss_device_metric *values = (const void *)(of + 1);
    if (bytes < sizeof *of || (bytes - sizeof *of) / sizeof *values != of->count ||
        (bytes - sizeof *of) % sizeof *values != 0) {
        return false;
    }
    bool is_good = is_text(reading, of->name) && is_text(reading, of->identity) &&
                   of->begin_ns <= of->end_ns && of->end_ns <= INT64_MAX && of->step >= -1;
    for (uint32_t i = 0; is_good && i < of->count; i++) {
        is_good = values[i].name != 0 && is_text(reading, values[i].name) &&
                  is_text(reading, values[i].unit) && isfinite(values[i].value);
    }
    if (is_good) {
        reading->sink.metrics(reading->sink.context, of, values);
    }
    return is_good;
}

static bool take_sampler(struct ss_device_reading *reading, const void *message, size_t bytes)
{
    const struct ss_device_sampler_message *sampler = message;
    bool is_good = bytes == sizeof *sampler && sampler->time_ns <= INT64_MAX &&
                   sampler->series >> SS_DEVICE_MOST_SERIES == 0;
    if (is_good) {
        reading->sink.sampler(reading->sink.context, sampler);
    }
    return is_good;
}

/* A value that is not a number is ignored. */
static bool take_sample(struct ss_device_reading *reading, const void *message, size_t bytes)
{
    const struct ss_device_sample_message *sample = message;
    bool is_good = bytes == sizeof *sample && sample->begin_ns < sample->end_ns &&
                   sample->end_ns <= INT64_MAX && sample->series >> SS_DEVICE_MOST_SERIES == 0;
    for (uint32_t i = 0; is_good && i < SS_DEVICE_MOST_SERIES; i++) {
        is_good = (sample->series >> i & 1) == 0 || isfinite(sample->values[i]);
    }
    if (is_good) {
        reading->sink.sample(reading->sink.context, sample);
    }
    return is_good;
}

static bool take(struct ss_device_reading *reading, const void *message, size_t bytes)
{
    static bool (*const takers[SS_DEVICE_MESSAGE_KINDS])(struct ss_device_reading *, const void *,
                                                         size_t) = {
        [SS_DEVICE_TEXT] = take_text,
        [SS_DEVICE_WORK] = take_work,
        [SS_DEVICE_CALL] = take_call,
        [SS_DEVICE_LAUNCH] = take_launch,
        [SS_DEVICE_WAIT] = take_wait,
        [SS_DEVICE_DEVICE] = take_device,
        [SS_DEVICE_CONTEXT] = take_context,
        [SS_DEVICE_SWITCH] = take_switch,
        [SS_DEVICE_COLLECTIVE] = take_collective,
        [SS_DEVICE_NODE] = take_node,
        [SS_DEVICE_MEMORY] = take_memory,
        [SS_DEVICE_POOL] = take_pool,
        [SS_DEVICE_EXTERNAL] = take_external,
        [SS_DEVICE_COMPILATION] = take_compilation,
        [SS_DEVICE_METRICS] = take_metrics,
        [SS_DEVICE_SAMPLER] = take_sampler,
        [SS_DEVICE_SAMPLE] = take_sample,
        [SS_DEVICE_FRAME] = take_frame,
        [SS_DEVICE_STACK] = take_stack};
    uint32_t kind = ((const struct ss_device_message *)message)->kind;
    return kind < SS_DEVICE_MESSAGE_KINDS && takers[kind] != NULL &&
           takers[kind](reading, message, bytes);
}

uint64_t ss_device_reading_drain(struct ss_device_reading *reading, uint64_t most)
{
    static uint64_t message[SS_DEVICE_MAX_MESSAGE_BYTES / 8]; /* one owner: the recorder's thread */
    uint64_t count = 0;
    size_t bytes;
    while (count < most && (bytes = ss_device_next(&reading->consumer, message)) > 0) {
        reading->bad_messages += !take(reading, message, bytes);
        count++;
    }
    ss_device_consumer_release(&reading->consumer);
    return count;
}

/* --- life ------------------------------------------------------------------------------------- */

enum ss_status ss_device_work_open(const char *path, const struct ss_device_sink *sink,
                                   struct ss_device_work_source **source, struct ss_error *err)
{
    const size_t bytes = SS_DEVICE_RING_PAGE_BYTES + ((size_t)1 << SS_DEVICE_RING_LOG2);
    struct ss_device_reading reading = {.sink = *sink};
    struct ss_ring_file *file;
    SS_TRY(ss_ring_file_open(path, &file, err));
    struct ss_ring_memory memory = ss_ring_file_memory(file);
    void *mapped = memory.map(memory.context, 0, bytes);
    if (mapped == NULL || !ss_device_consumer_open(&reading.consumer, mapped, bytes)) {
        ss_ring_file_close(file);
        return ss_fail(err, SS_E_FORMAT,
                       "%s is not a ring for the work of devices, or one of another version", path);
    }
    *source = ss_alloc_zero(1, sizeof **source);
    **source = (struct ss_device_work_source){.file = file, .reading = reading};
    return SS_OK;
}

void ss_device_work_close(struct ss_device_work_source *source)
{
    if (source != NULL) {
        ss_ring_file_close(source->file);
        ss_free(source);
    }
}

uint64_t ss_device_work_drain(struct ss_device_work_source *source, uint64_t most)
{
    return ss_device_reading_drain(&source->reading, most);
}

uint32_t ss_device_work_fill(const struct ss_device_work_source *source)
{
    const struct ss_device_consumer *ring = &source->reading.consumer;
    uint64_t head = atomic_load_explicit(&ring->header->head, memory_order_relaxed);
    uint64_t unread = head - ring->tail;
    return unread <= ring->size ? (uint32_t)(unread * 100 / ring->size) : 0;
}

void ss_device_work_losses(const struct ss_device_work_source *source,
                           struct ss_device_losses *losses)
{
    const struct ss_device_ring_header *header = source->reading.consumer.header;
#define LOAD(name) .name = atomic_load_explicit(&header->name, memory_order_relaxed)
    *losses = (struct ss_device_losses){
        LOAD(dropped_records), LOAD(refused_buffers), LOAD(untimed_kernels), LOAD(lost_messages),
        LOAD(lost_launches),   LOAD(unknown_records), LOAD(overhead_ns)};
#undef LOAD
    losses->bad_messages = source->reading.bad_messages;
}

uint32_t ss_device_work_version(const struct ss_device_work_source *source)
{
    return source->reading.consumer.header->interface_version;
}

uint64_t ss_device_work_flushed_ns(const struct ss_device_work_source *source)
{
    const struct ss_device_consumer *ring = &source->reading.consumer;
    uint64_t flushed_ns = atomic_load_explicit(&ring->header->flushed_ns, memory_order_acquire);
    bool is_read = atomic_load_explicit(&ring->header->head, memory_order_relaxed) == ring->tail;
    return is_read || ring->is_broken ? flushed_ns : 0;
}

enum ss_device_collector ss_device_work_state(const struct ss_device_work_source *source)
{
    return (enum ss_device_collector)atomic_load_explicit(
        &source->reading.consumer.header->collector, memory_order_relaxed);
}

enum ss_device_interface_of ss_device_work_interface(const struct ss_device_work_source *source)
{
    const volatile uint32_t *interface = &source->reading.consumer.header->interface;
    return *interface == SS_DEVICE_OF_ROCPROFILER ? SS_DEVICE_OF_ROCPROFILER : SS_DEVICE_OF_CUPTI;
}
