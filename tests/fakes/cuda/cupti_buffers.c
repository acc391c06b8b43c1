/* SPDX-License-Identifier: Apache-2.0 */
/* The client's buffers: requested at their first record, returned when full or flushed. */
#include "cupti_api.h"
#include "cupti_inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SLOW_FLUSH_NS = 300000000, ALIGNMENT = 8 };

struct buffer {
    uint8_t *data;
    size_t size, used, records, most_records;
    struct buffer *next;
};

pthread_mutex_t cupti_lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

static CUpti_BuffersCallbackRequestFunc request;
static CUpti_BuffersCallbackCompleteFunc complete;
static struct buffer *open_buffers[SLOT_COUNT]; /* NULL before the first record */
static struct buffer *full_buffers, **full_end = &full_buffers;
static size_t dropped;

bool cupti_has_client(void)
{
    return request != NULL;
}

unsigned cupti_slot_of(unsigned thread)
{
    return cupti.per_thread ? thread : SHARED_SLOT;
}

unsigned cupti_own_slot(void)
{
    return cupti_slot_of(sim_thread_slot());
}

void cupti_count_dropped(void)
{
    pthread_mutex_lock(&cupti_lock);
    dropped++;
    pthread_mutex_unlock(&cupti_lock);
}

size_t cupti_take_dropped(void)
{
    pthread_mutex_lock(&cupti_lock);
    size_t count = dropped;
    dropped = 0;
    pthread_mutex_unlock(&cupti_lock);
    return count;
}

static void close_buffer(unsigned slot)
{
    struct buffer *buffer = open_buffers[slot];
    open_buffers[slot] = NULL;
    *full_end = buffer;
    full_end = &buffer->next;
}

/* NULL when the client has none. */
static struct buffer *open_buffer(void)
{
    struct buffer *buffer = calloc(1, sizeof *buffer);
    if (buffer == NULL) {
        abort();
    }
    request(&buffer->data, &buffer->size, &buffer->most_records);
    if (buffer->data == NULL || buffer->size == 0) {
        if (sim_has_fault(SIM_NO_NULL_BUFFERS)) {
            fputs("fake cupti: the client returned no buffer: CUPTI before 12.9 crashes here\n",
                  stderr);
            abort();
        }
        free(buffer);
        return NULL;
    }
    if (!cupti.zeroed) {
        memset(buffer->data, 0, buffer->size);
    }
    return buffer;
}

static bool has_room(const struct buffer *buffer, size_t size)
{
    return buffer->size - buffer->used >= size &&
           (buffer->most_records == 0 || buffer->records < buffer->most_records);
}

void cupti_write(unsigned slot, const void *record, size_t size)
{
    pthread_mutex_lock(&cupti_lock);
    if (request == NULL) {
        pthread_mutex_unlock(&cupti_lock);
        return;
    }
    if (open_buffers[slot] != NULL && !has_room(open_buffers[slot], size)) {
        close_buffer(slot);
    }
    if (open_buffers[slot] == NULL) {
        struct buffer *buffer = open_buffer();
        if (open_buffers[slot] == NULL) { /* the request may have written records of its own */
            open_buffers[slot] = buffer;
        } else if (buffer != NULL) {
            *full_end = buffer;
            full_end = &buffer->next;
        }
    }
    struct buffer *buffer = open_buffers[slot];
    if (buffer == NULL || !has_room(buffer, size)) {
        dropped++;
    } else {
        memcpy(buffer->data + buffer->used, record, size);
        buffer->used += (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        buffer->records++;
    }
    pthread_mutex_unlock(&cupti_lock);
}

/* Completed buffers are given to the client without the lock. */
void cupti_deliver(bool all)
{
    pthread_mutex_lock(&cupti_lock);
    for (unsigned slot = 0; all && slot < SLOT_COUNT; slot++) {
        if (open_buffers[slot] != NULL) {
            close_buffer(slot);
        }
    }
    struct buffer *buffer = full_buffers;
    full_buffers = NULL;
    full_end = &full_buffers;
    pthread_mutex_unlock(&cupti_lock);
    while (buffer != NULL) {
        struct buffer *next = buffer->next;
        complete(NULL, 0, buffer->data, buffer->size, buffer->used);
        free(buffer);
        buffer = next;
    }
}

CUptiResult
impl_cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc funcBufferRequested,
                                    CUpti_BuffersCallbackCompleteFunc funcBufferCompleted)
{
    if (funcBufferRequested == NULL || funcBufferCompleted == NULL) {
        return CUPTI_ERROR_INVALID_PARAMETER;
    }
    CUptiResult result = cupti_begin();
    if (result == CUPTI_SUCCESS) {
        pthread_mutex_lock(&cupti_lock);
        request = funcBufferRequested;
        complete = funcBufferCompleted;
        pthread_mutex_unlock(&cupti_lock);
    }
    return result;
}

CUptiResult impl_cuptiActivityFlushAll(uint32_t flag)
{
    if (request == NULL) {
        return CUPTI_ERROR_INVALID_OPERATION;
    }
    (void)flag; /* records of unfinished work are in no buffer: forced or not is the same */
    uint64_t start_ns = sim_now_ns();
    if (sim_has_fault(SIM_SLOW_FLUSH)) {
        nanosleep(&(struct timespec){0, SLOW_FLUSH_NS}, NULL);
    }
    sim_report_done_work();
    cupti_write_overhead(CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH, start_ns, sim_now_ns());
    cupti_deliver(true);
    return CUPTI_SUCCESS;
}

CUptiResult impl_cuptiActivityFlush(CUcontext context, uint32_t streamId, uint32_t flag)
{
    (void)context;
    (void)streamId;
    return impl_cuptiActivityFlushAll(flag);
}

CUptiResult impl_cuptiActivityFlushPeriod(uint32_t time)
{
    cupti.flush_period_ms = time; /* full buffers are returned at every tick */
    return CUPTI_SUCCESS;
}

CUptiResult impl_cuptiActivityGetNumDroppedRecords(CUcontext context, uint32_t streamId,
                                                   size_t *count)
{
    (void)context;
    (void)streamId;
    if (count == NULL) {
        return CUPTI_ERROR_INVALID_PARAMETER;
    }
    *count = cupti_take_dropped();
    return CUPTI_SUCCESS;
}

CUptiResult impl_cuptiActivityGetNextRecord(uint8_t *buffer, size_t validBufferSizeBytes,
                                            CUpti_Activity **record)
{
    if (buffer == NULL || record == NULL) {
        return CUPTI_ERROR_INVALID_PARAMETER;
    }
    size_t at = 0;
    if (*record != NULL) {
        at = (size_t)((uint8_t *)*record - buffer);
        at +=
            (cupti_record_size((unsigned)(*record)->kind) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }
    if (at >= validBufferSizeBytes) {
        return CUPTI_ERROR_MAX_LIMIT_REACHED;
    }
    CUpti_Activity *next = (CUpti_Activity *)(void *)(buffer + at);
    size_t size = cupti_record_size((unsigned)next->kind);
    if (size == 0) {
        return CUPTI_ERROR_INVALID_KIND;
    }
    if (size > validBufferSizeBytes - at) {
        return CUPTI_ERROR_MAX_LIMIT_REACHED;
    }
    *record = next;
    return CUPTI_SUCCESS;
}
