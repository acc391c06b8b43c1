/* SPDX-License-Identifier: Apache-2.0 */
#include "ring/device_ring.h"

#include <string.h>

static size_t padded(size_t bytes)
{
    return (bytes + 7) & ~(size_t)7;
}

/* --- producer --------------------------------------------------------------------------------- */

void ss_device_producer_init(struct ss_device_producer *producer, void *memory, uint32_t bytes_log2,
                             int32_t pid)
{
    struct ss_device_ring_header *header = memory;
    *producer = (struct ss_device_producer){.header = header,
                                            .data = (uint8_t *)memory + SS_DEVICE_RING_PAGE_BYTES,
                                            .mask = (UINT64_C(1) << bytes_log2) - 1};
    header->version = SS_DEVICE_RING_VERSION;
    header->bytes_log2 = bytes_log2;
    header->pid = pid;
    /* Pairs with the acquire of ss_device_consumer_open. */
    atomic_store_explicit(&header->magic, SS_DEVICE_RING_MAGIC, memory_order_release);
}

static void copy_in(struct ss_device_producer *producer, const void *bytes, size_t length)
{
    size_t at = (size_t)(producer->head & producer->mask);
    size_t first = (size_t)producer->mask + 1 - at;
    first = first < length ? first : length;
    memcpy(producer->data + at, bytes, first);
    memcpy(producer->data, (const uint8_t *)bytes + first, length - first);
    producer->head += length;
}

bool ss_device_put(struct ss_device_producer *producer, struct ss_device_message *message,
                   size_t bytes, const void *text, size_t length)
{
    static const uint8_t zeros[8];
    size_t whole = padded(bytes + length);
    if (producer->head + whole > producer->tail + producer->mask + 1) {
        /* Pairs with the release of ss_device_consumer_release: the bytes are read. */
        producer->tail = atomic_load_explicit(&producer->header->tail, memory_order_acquire);
        if (producer->head + whole > producer->tail + producer->mask + 1) {
            return false;
        }
    }
    message->bytes = (uint32_t)whole;
    copy_in(producer, message, bytes);
    if (length > 0) {
        copy_in(producer, text, length);
    }
    copy_in(producer, zeros, whole - bytes - length);
    /* Pairs with the acquire of ss_device_next. */
    atomic_store_explicit(&producer->header->head, producer->head, memory_order_release);
    return true;
}

bool ss_device_is_drained(const struct ss_device_producer *producer)
{
    return atomic_load_explicit(&producer->header->tail, memory_order_relaxed) == producer->head;
}

/* --- consumer --------------------------------------------------------------------------------- */

bool ss_device_consumer_open(struct ss_device_consumer *consumer, void *memory, size_t bytes)
{
    struct ss_device_ring_header *header = memory;
    *consumer = (struct ss_device_consumer){.header = header};
    if (bytes < SS_DEVICE_RING_PAGE_BYTES ||
        atomic_load_explicit(&header->magic, memory_order_acquire) != SS_DEVICE_RING_MAGIC ||
        header->version != SS_DEVICE_RING_VERSION) {
        return false;
    }
    uint32_t log2 = *(volatile uint32_t *)&header->bytes_log2; /* the program may change it */
    if (log2 < SS_DEVICE_RING_MIN_LOG2 || log2 > SS_DEVICE_RING_MAX_LOG2 ||
        bytes - SS_DEVICE_RING_PAGE_BYTES < (size_t)1 << log2) {
        return false;
    }
    consumer->data = (const uint8_t *)memory + SS_DEVICE_RING_PAGE_BYTES;
    consumer->size = UINT64_C(1) << log2;
    consumer->mask = consumer->size - 1;
    consumer->tail = atomic_load_explicit(&header->tail, memory_order_relaxed) & ~UINT64_C(7);
    return true;
}

static void copy_out(const struct ss_device_consumer *consumer, void *bytes, size_t length)
{
    size_t at = (size_t)(consumer->tail & consumer->mask);
    size_t first = (size_t)consumer->size - at;
    first = first < length ? first : length;
    memcpy(bytes, consumer->data + at, first);
    memcpy((uint8_t *)bytes + first, consumer->data, length - first);
}

size_t ss_device_next(struct ss_device_consumer *consumer, void *buffer)
{
    struct ss_device_message head;
    uint64_t written = atomic_load_explicit(&consumer->header->head, memory_order_acquire);
    uint64_t unread = written - consumer->tail;
    if (consumer->is_broken || unread == 0) {
        return 0;
    }
    if (unread > consumer->size || unread < sizeof head) {
        consumer->is_broken = true;
        return 0;
    }
    copy_out(consumer, &head, sizeof head);
    size_t bytes = head.bytes;
    if (bytes < sizeof head || bytes > unread || bytes > SS_DEVICE_MAX_MESSAGE_BYTES ||
        bytes % 8 != 0) {
        consumer->is_broken = true;
        return 0;
    }
    copy_out(consumer, buffer, bytes);
    *(struct ss_device_message *)buffer = head; /* it may have changed meanwhile */
    consumer->tail += bytes;
    return bytes;
}

void ss_device_consumer_release(struct ss_device_consumer *consumer)
{
    /* Pairs with the acquire of ss_device_put. */
    atomic_store_explicit(&consumer->header->tail, consumer->tail, memory_order_release);
}
