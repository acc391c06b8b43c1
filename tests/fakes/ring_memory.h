/* SPDX-License-Identifier: Apache-2.0 */
/* A ring file in plain memory, and the program's side of it without a program. */
#ifndef SS_FAKES_RING_MEMORY_H
#define SS_FAKES_RING_MEMORY_H

#include <string.h>
#include <sys/mman.h>

#include "ring/consumer.h"
#include "ring/producer.h"

struct ring_memory {
    char *bytes;
    size_t size;
};

static inline void *ring_memory_map(void *context, uint64_t offset, size_t bytes)
{
    struct ring_memory *memory = context;
    return offset <= memory->size && bytes <= memory->size - offset ? memory->bytes + offset : NULL;
}

static inline struct ss_ring_header *ring_memory_header(struct ring_memory *memory)
{
    return (struct ss_ring_header *)memory->bytes;
}

/* Untouched pages cost nothing. */
static inline void ring_memory_open(struct ring_memory *memory, size_t size)
{
    memory->size = size;
    memory->bytes = mmap(NULL, size, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    struct ss_ring_header *header = ring_memory_header(memory);
    header->version = SS_RING_VERSION;
    header->byte_order = SS_RING_BYTE_ORDER;
    header->clock = SS_RING_CLOCK_MONOTONIC;
    atomic_store(&header->magic, SS_RING_MAGIC);
}

static inline void ring_memory_close(struct ring_memory *memory)
{
    munmap(memory->bytes, memory->size);
}

/* The next ring, of 1 << slots_log2 slots, for thread `tid`. */
static inline struct ss_ring_thread *ring_memory_thread(struct ring_memory *memory,
                                                        uint32_t slots_log2, int32_t tid)
{
    struct ss_ring_header *header = ring_memory_header(memory);
    ss_ring_directory_entry *directory = (void *)(memory->bytes + SS_RING_DIRECTORY_AT);
    uint32_t count = atomic_load(&header->thread_count);
    uint64_t offset = SS_RING_SEGMENTS_AT;
    if (count > 0) {
        uint64_t last = atomic_load(&directory[count - 1]);
        offset = SS_RING_ENTRY_OFFSET(last) + SS_RING_PAGE_BYTES +
                 (sizeof(struct ss_ring_slot) << SS_RING_ENTRY_SLOTS_LOG2(last));
    }
    struct ss_ring_thread *thread = (void *)(memory->bytes + offset);
    atomic_store(&thread->tid, tid);
    atomic_store(&thread->owner, 1);
    atomic_store(&thread->state, SS_RING_OPEN);
    atomic_store(&directory[count], offset | slots_log2);
    atomic_store(&header->thread_count, count + 1);
    return thread;
}

static inline void ring_memory_define_head(struct ring_memory *memory,
                                           struct ss_ring_definition head, const char *text)
{
    struct ss_ring_header *header = ring_memory_header(memory);
    uint32_t at = atomic_load(&header->definition_bytes);
    head.length = (uint32_t)strlen(text);
    char *to = memory->bytes + SS_RING_DEFINITIONS_AT + at;
    memcpy(to, &head, sizeof head);
    memcpy(to + sizeof head, text, head.length);
    atomic_store(&header->definition_bytes, at + (uint32_t)ss_ring_definition_bytes(head.length));
}

static inline void ring_memory_define(struct ring_memory *memory, enum ss_ring_definition_kind kind,
                                      uint32_t a, uint32_t b, uint32_t c, const char *text)
{
    ring_memory_define_head(
        memory, (struct ss_ring_definition){.kind = kind, .a = a, .b = b, .c = c}, text);
}

#endif
