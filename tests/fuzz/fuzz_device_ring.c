/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as the ring of a device's collector: what is passed on makes sense. The first byte says
 * where in the ring they begin, so that messages wrap. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "source/device_work.h"

enum { LOG2 = SS_DEVICE_RING_MIN_LOG2, RING_BYTES = 1 << LOG2 };

static struct {
    uint32_t texts, frames, stacks;
    uint64_t passed;
} seen;

static void check(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "broken: %s\n", what);
        abort();
    }
}

static void check_text(uint32_t number)
{
    check(number <= seen.texts, "a text is defined before its use");
}

static void check_times(uint64_t begin_ns, uint64_t end_ns)
{
    check(begin_ns <= end_ns && end_ns <= INT64_MAX, "times");
    seen.passed++;
}

static void on_text(void *context, uint32_t number, struct ss_strview text)
{
    (void)context;
    check(number == ++seen.texts && text.length <= SS_DEVICE_MAX_MESSAGE_BYTES, "a text");
    seen.passed += text.length > 0 && text.data[text.length - 1] != '\0'; /* reads it */
}

static void on_frame(void *context, const struct ss_device_frame_message *frame)
{
    (void)context;
    check(frame->number == ++seen.frames && frame->line >= 0, "a frame");
    check_text(frame->file);
    check_text(frame->function);
}

static void on_stack(void *context, const struct ss_device_stack_message *stack)
{
    (void)context;
    check(stack->outer <= seen.stacks && stack->number == ++seen.stacks, "a stack");
    check(stack->frame >= 1 && stack->frame <= seen.frames, "the frame of a stack");
}

static void on_work(void *context, const struct ss_device_work_message *work)
{
    (void)context;
    check(work->work >= SS_DEVICE_KERNEL && work->work <= SS_DEVICE_GRAPH, "a kind of work");
    check_text(work->name);
    check_times(work->begin_ns, work->end_ns);
}

static void on_call(void *context, const struct ss_device_call_message *call)
{
    (void)context;
    check(call->domain < SS_DEVICE_DOMAINS, "a domain");
    check_text(call->name);
    check_times(call->begin_ns, call->end_ns);
}

static void on_launch(void *context, const struct ss_device_launch_message *launch)
{
    (void)context;
    check(launch->domain < SS_DEVICE_DOMAINS, "a domain");
    check_text(launch->name);
    check(launch->stack <= seen.stacks, "a stack is defined before its use");
    check_times(launch->begin_ns, launch->end_ns);
}

static void on_wait(void *context, const struct ss_device_wait_message *wait)
{
    (void)context;
    seen.passed += wait->type;
}

static void on_device(void *context, const struct ss_device_device_message *device)
{
    (void)context;
    check_text(device->name);
}

static void on_context(void *context, const struct ss_device_context_message *of)
{
    (void)context;
    seen.passed += of->context;
}

static void on_switch(void *context, const struct ss_device_switch_message *to)
{
    (void)context;
    check(to->time_ns <= INT64_MAX, "a time");
}

static void on_node(void *context, const struct ss_device_node_message *node)
{
    (void)context;
    check(node->stack <= seen.stacks, "a stack is defined before its use");
}

static void on_collective(void *context, const struct ss_device_collective_message *of)
{
    (void)context;
    check_text(of->function);
    check_text(of->group);
    check_text(of->datatype);
    check_text(of->algorithm);
    check_text(of->protocol);
    check(of->sequence >= -1 && of->bytes >= -1 && of->root >= -1, "numbers");
}

static void on_memory(void *context, const struct ss_device_memory_message *memory)
{
    (void)context;
    check(memory->time_ns <= INT64_MAX && memory->bytes <= INT64_MAX, "a time and a size");
    check(memory->is_release <= 1 && memory->is_early <= 1, "flags");
}

static void on_pool(void *context, const struct ss_device_pool_message *pool)
{
    (void)context;
    check(pool->operation >= SS_DEVICE_POOL_MADE && pool->operation <= SS_DEVICE_POOL_TRIMS,
          "what happens to a pool");
    check(pool->time_ns <= INT64_MAX && pool->pool_bytes <= INT64_MAX, "a time and a size");
}

static void on_external(void *context, const struct ss_device_external_message *external)
{
    (void)context;
    seen.passed += external->correlation;
}

static void on_compilation(void *context, const struct ss_device_compilation_message *of)
{
    (void)context;
    check(of->operation >= SS_DEVICE_CACHE_LOADS && of->operation <= SS_DEVICE_COMPILES,
          "what a compiler does");
    check_times(of->begin_ns, of->end_ns);
}

static void on_metrics(void *context, const struct ss_device_metrics_message *metrics,
                       const struct ss_device_metric *values)
{
    (void)context;
    check_text(metrics->name);
    for (uint32_t i = 0; i < metrics->count; i++) {
        check_text(values[i].name);
        check_text(values[i].unit);
        check(isfinite(values[i].value), "a value is a number");
    }
    check_text(metrics->identity);
    check_times(metrics->begin_ns, metrics->end_ns);
    check(metrics->step >= -1, "a step");
}

static void on_sampler(void *context, const struct ss_device_sampler_message *sampler)
{
    (void)context;
    check(sampler->time_ns <= INT64_MAX && sampler->series >> SS_DEVICE_MOST_SERIES == 0,
          "a sampler");
}

static void on_sample(void *context, const struct ss_device_sample_message *sample)
{
    (void)context;
    for (int i = 0; i < SS_DEVICE_MOST_SERIES; i++) {
        check((sample->series >> i & 1) == 0 || isfinite(sample->values[i]), "numbers");
    }
    check(sample->begin_ns < sample->end_ns, "an interval");
    check_times(sample->begin_ns, sample->end_ns);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t memory[SS_DEVICE_RING_PAGE_BYTES + RING_BYTES] __attribute__((aligned(4096)));
    struct ss_device_producer producer;
    struct ss_device_reading reading = {
        .sink = {NULL,        on_text,        on_frame,      on_stack,   on_work,
                 on_call,     on_launch,      on_wait,       on_device,  on_context,
                 on_switch,   on_node,        on_collective, on_memory,  on_pool,
                 on_external, on_compilation, on_metrics,    on_sampler, on_sample}};
    uint64_t begin = size > 0 ? RING_BYTES - UINT64_C(8) * data[0] : 0;
    size_t length = size > 1 ? size - 1 : 0;
    length = length < RING_BYTES ? length : RING_BYTES;
    memset(memory, 0, SS_DEVICE_RING_PAGE_BYTES);
    ss_device_producer_init(&producer, memory, LOG2, 1);
    for (size_t i = 0; i < length; i++) {
        producer.data[(begin + i) & producer.mask] = data[1 + i];
    }
    atomic_store(&producer.header->tail, begin);
    atomic_store(&producer.header->head, begin + length);
    seen.texts = seen.frames = seen.stacks = 0;
    check(ss_device_consumer_open(&reading.consumer, memory, sizeof memory), "it opens");
    while (ss_device_reading_drain(&reading, 16) == 16) {
    }
    check(atomic_load(&producer.header->tail) <= begin + length, "what was read was written");
    return 0;
}
