/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of the devices, which is the host's, and page-locked memory. */
#include "inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { POOL_BLOCK_BYTES = 32 << 20 };

/* Sorted by address. */
static struct sim_range *ranges;
static size_t range_count, range_capacity;

/* The number of ranges that begin at or before the address. */
static size_t ranges_up_to(uintptr_t address)
{
    size_t low = 0, high = range_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ranges[middle].address <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static void add_range(struct sim_range range)
{
    if (range_count == range_capacity) {
        range_capacity = range_capacity == 0 ? 64 : 2 * range_capacity;
        ranges = realloc(ranges, range_capacity * sizeof ranges[0]);
        if (ranges == NULL) {
            abort();
        }
    }
    size_t at = ranges_up_to(range.address);
    memmove(&ranges[at + 1], &ranges[at], (range_count - at) * sizeof ranges[0]);
    ranges[at] = range;
    range_count++;
}

static void remove_range(size_t at)
{
    memmove(&ranges[at], &ranges[at + 1], (range_count - at - 1) * sizeof ranges[0]);
    range_count--;
}

static void publish_pool(struct sim_device *device, enum sim_pool_change change)
{
    const struct sim_tracer *tracer = sim_tracer;
    if (tracer != NULL && tracer->pool_changed != NULL) {
        tracer->pool_changed(device, change, sim_now_ns());
    }
}

static void publish(const struct sim_range *range, bool is_release)
{
    const struct sim_tracer *tracer = sim_tracer;
    struct sim_device *device = sim_device(range->device);
    if (tracer == NULL || tracer->memory_changed == NULL || device == NULL) {
        return;
    }
    struct sim_allocation allocation = {.is_release = is_release,
                                        .kind = range->kind,
                                        .address = range->address,
                                        .bytes = range->bytes,
                                        .is_async = range->is_pooled,
                                        .stream = range->stream,
                                        .pool_bytes = device->pool_bytes,
                                        .pool_used_bytes = device->pool_used_bytes,
                                        .at_ns = sim_now_ns(),
                                        .correlation = sim_correlation(),
                                        .device = range->device,
                                        .context = device->context};
    tracer->memory_changed(&allocation);
}

static uint64_t whole_pages(uint64_t bytes)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    return (bytes + page - 1) / page * page;
}

/* `stream`: NULL: not from the pool. */
static enum sim_result allocate(struct sim_device *device, enum sim_memory_kind kind,
                                uint64_t bytes, struct sim_stream *stream, void **memory)
{
    *memory = NULL;
    if (bytes == 0) {
        return SIM_OK;
    }
    uint64_t size = whole_pages(bytes);
    bool is_device = kind == SIM_ON_DEVICE || kind == SIM_MANAGED;
    sim_use_device(device);
    pthread_mutex_lock(&sim_lock);
    if (size < bytes ||
        (is_device && size > sim_settings()->device_bytes - device->allocated_bytes)) {
        pthread_mutex_unlock(&sim_lock);
        return SIM_OUT_OF_MEMORY;
    }
    void *new = mmap(NULL, size, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (new == MAP_FAILED) {
        pthread_mutex_unlock(&sim_lock);
        return SIM_OUT_OF_MEMORY;
    }
    struct sim_range range = {.address = (uintptr_t) new,
                              .bytes = size,
                              .kind = kind,
                              .device = device->index,
                              .is_pooled = stream != NULL,
                              .stream = stream != NULL ? stream->id : 0};
    add_range(range);
    bool is_first = stream != NULL && device->pool_bytes == 0;
    if (stream != NULL) {
        device->pool_used_bytes += size;
        while (device->pool_bytes < device->pool_used_bytes) {
            device->pool_bytes += POOL_BLOCK_BYTES;
        }
    }
    device->allocated_bytes += is_device ? size : 0;
    pthread_mutex_unlock(&sim_lock);
    if (is_first) {
        publish_pool(device, SIM_POOL_MADE);
    }
    publish(&range, false);
    *memory = new;
    return SIM_OK;
}

enum sim_result sim_allocate(struct sim_device *device, enum sim_memory_kind kind, uint64_t bytes,
                             void **memory)
{
    return allocate(device, kind, bytes, NULL, memory);
}

enum sim_result sim_allocate_async(struct sim_stream *stream, uint64_t bytes, void **memory)
{
    return allocate(stream->device, SIM_ON_DEVICE, bytes, stream, memory);
}

/* Like CUDA, only what is free at once: the pool has whole blocks. */
void sim_trim_pool(struct sim_device *device)
{
    pthread_mutex_lock(&sim_lock);
    while (device->pool_bytes >= device->pool_used_bytes + POOL_BLOCK_BYTES) {
        device->pool_bytes -= POOL_BLOCK_BYTES;
    }
    pthread_mutex_unlock(&sim_lock);
    publish_pool(device, SIM_POOL_TRIMMED);
}

enum sim_result sim_release(void *memory)
{
    if (memory == NULL) {
        return SIM_OK;
    }
    pthread_mutex_lock(&sim_lock);
    size_t at = ranges_up_to((uintptr_t)memory);
    if (at == 0 || ranges[at - 1].address != (uintptr_t)memory || ranges[at - 1].registered) {
        pthread_mutex_unlock(&sim_lock);
        return SIM_INVALID_VALUE;
    }
    struct sim_range range = ranges[at - 1];
    pthread_mutex_unlock(&sim_lock);
    /* Like CUDA: what still uses it comes to its end first. */
    for (unsigned i = 0; sim_device(i) != NULL; i++) {
        sim_device_synchronize(sim_device(i));
    }
    if (range.is_pooled) {
        pthread_mutex_lock(&sim_lock);
        sim_device(range.device)->pool_used_bytes -= range.bytes;
        pthread_mutex_unlock(&sim_lock);
    }
    publish(&range, true);
    pthread_mutex_lock(&sim_lock);
    remove_range(ranges_up_to(range.address) - 1);
    if (range.kind == SIM_ON_DEVICE || range.kind == SIM_MANAGED) {
        sim_device(range.device)->allocated_bytes -= range.bytes;
    }
    pthread_mutex_unlock(&sim_lock);
    munmap(memory, range.bytes);
    return SIM_OK;
}

/* Its use ends first here too: the host waits, as it would not with CUDA. */
enum sim_result sim_release_async(struct sim_stream *stream, void *memory)
{
    (void)stream;
    return sim_release(memory);
}

enum sim_result sim_register_host(void *memory, uint64_t bytes)
{
    if (memory == NULL || bytes == 0) {
        return SIM_INVALID_VALUE;
    }
    pthread_mutex_lock(&sim_lock);
    add_range((struct sim_range){
        .address = (uintptr_t)memory, .bytes = bytes, .kind = SIM_PINNED, .registered = true});
    pthread_mutex_unlock(&sim_lock);
    return SIM_OK;
}

enum sim_result sim_unregister_host(void *memory)
{
    enum sim_result result = SIM_INVALID_VALUE;
    pthread_mutex_lock(&sim_lock);
    size_t at = ranges_up_to((uintptr_t)memory);
    if (at > 0 && ranges[at - 1].address == (uintptr_t)memory && ranges[at - 1].registered) {
        remove_range(at - 1);
        result = SIM_OK;
    }
    pthread_mutex_unlock(&sim_lock);
    return result;
}

struct sim_range sim_range_of(const void *memory)
{
    struct sim_range range = {.address = (uintptr_t)memory, .kind = SIM_PAGEABLE};
    pthread_mutex_lock(&sim_lock);
    size_t at = ranges_up_to((uintptr_t)memory);
    if (at > 0 && (uintptr_t)memory - ranges[at - 1].address < ranges[at - 1].bytes) {
        range = ranges[at - 1];
    }
    pthread_mutex_unlock(&sim_lock);
    return range;
}

uint64_t sim_free_bytes(const struct sim_device *device)
{
    pthread_mutex_lock(&sim_lock);
    uint64_t bytes = sim_settings()->device_bytes - device->allocated_bytes;
    pthread_mutex_unlock(&sim_lock);
    return bytes;
}
