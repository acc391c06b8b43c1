/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "annot/names.h"
#include "annot/process_inside.h"
#include "ring/page_guard.h"

enum { MIN_FALLBACK_SLOTS_LOG2 = 10 };

/* Maps directory and definitions, for the first ring. */
static bool map_directory(int fd)
{
    if (ss_process_state->directory != NULL) {
        return true;
    }
    if (!ss_process_allocate(fd, SS_RING_DIRECTORY_AT,
                             SS_RING_DEFINITIONS_AT - SS_RING_DIRECTORY_AT)) {
        return false;
    }
    void *memory =
        mmap(NULL, SS_RING_SEGMENTS_AT, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (memory == MAP_FAILED) {
        return false;
    }
    ss_page_guard_add(memory, SS_RING_SEGMENTS_AT);
    ss_process_state->directory = memory;
    return true;
}

void ss_process_share_definitions(void)
{
    uint32_t end = ss_names_log_bytes();
    if (ss_process_state->directory == NULL || end == ss_process_state->definition_bytes) {
        return;
    }
    if (end > ss_process_state->definition_room) {
        uint32_t room = (end + SS_RING_DEFINITIONS_CHUNK_BYTES - 1) /
                        SS_RING_DEFINITIONS_CHUNK_BYTES * SS_RING_DEFINITIONS_CHUNK_BYTES;
        int fd = ss_process_reopen_file();
        bool has_room =
            fd >= 0 &&
            ss_process_allocate(fd, SS_RING_DEFINITIONS_AT + ss_process_state->definition_room,
                                room - ss_process_state->definition_room);
        if (fd >= 0) {
            close(fd);
        }
        if (!has_room) {
            atomic_fetch_add_explicit(&ss_process_header->lost_names, 1, memory_order_relaxed);
            return;
        }
        ss_process_state->definition_room = room;
    }
    memcpy(ss_process_state->directory + SS_RING_DEFINITIONS_AT +
               ss_process_state->definition_bytes,
           ss_names_log() + ss_process_state->definition_bytes,
           end - ss_process_state->definition_bytes);
    ss_process_state->definition_bytes = end;
    /* Pairs with the acquire of ss_ring_consumer_define. */
    atomic_store_explicit(&ss_process_header->definition_bytes, end, memory_order_release);
}

static struct ss_ring_thread *reuse_ring(uint32_t *slots_log2)
{
    for (uint32_t i = 0; i < ss_process_state->ring_count; i++) {
        if (ss_ring_claim(ss_process_state->rings[i])) {
            *slots_log2 = ss_process_state->ring_slots_log2[i];
            return ss_process_state->rings[i];
        }
    }
    return NULL;
}

static struct ss_ring_thread *add_segment(int fd, uint32_t slots_log2)
{
    size_t bytes = SS_RING_PAGE_BYTES + (sizeof(struct ss_ring_slot) << slots_log2);
    if (!ss_process_allocate(fd, ss_process_state->file_end, bytes)) {
        return NULL;
    }
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                        (off_t)ss_process_state->file_end);
    if (memory == MAP_FAILED) {
        return NULL;
    }
    ss_page_guard_add(memory, bytes);
    uint32_t number = ss_process_state->ring_count++;
    ss_process_state->rings[number] = memory;
    ss_process_state->ring_slots_log2[number] = (uint8_t)slots_log2;
    ss_ring_directory_entry *directory =
        (void *)(ss_process_state->directory + SS_RING_DIRECTORY_AT);
    atomic_store_explicit(&directory[number], ss_process_state->file_end | slots_log2,
                          memory_order_relaxed);
    ss_process_state->file_end +=
        (bytes + SS_RING_SEGMENTS_ALIGN - 1) & ~(uint64_t)(SS_RING_SEGMENTS_ALIGN - 1);
    return memory;
}

/* Other processes and data share the file system: a wide ring may use 1/256 of its free space. */
static bool has_room(uint32_t slots_log2)
{
    enum { MIN_RINGS = 256 };
    uint64_t bytes = (uint64_t)sizeof(struct ss_ring_slot) << slots_log2;
    return atomic_load_explicit(&ss_process_header->room_bytes, memory_order_relaxed) >=
           MIN_RINGS * bytes;
}

static uint32_t wanted_slots_log2(void)
{
    uint32_t wanted = atomic_load_explicit(&ss_process_header->slots_log2, memory_order_relaxed);
    if (wanted >= SS_RING_MIN_SLOTS_LOG2 && wanted <= SS_RING_MAX_SLOTS_LOG2) {
        return wanted;
    }
    bool is_wide =
        ss_process_state->wide_slots_log2 != 0 && has_room(ss_process_state->wide_slots_log2);
    return is_wide ? ss_process_state->wide_slots_log2 : SS_RING_DEFAULT_SLOTS_LOG2;
}

void ss_process_widen_rings(uint32_t slots_log2)
{
    if (ss_process_state != NULL) {
        ss_process_lock();
        ss_process_state->wide_slots_log2 = slots_log2;
        ss_process_unlock();
    }
}

uint64_t ss_process_dropped(void)
{
    uint64_t dropped = 0;
    for (uint32_t i = 0; ss_process_state != NULL && i < ss_process_state->ring_count; i++) {
        dropped += atomic_load_explicit(&ss_process_state->rings[i]->dropped, memory_order_relaxed);
    }
    return dropped;
}

static struct ss_ring_thread *make_ring(uint32_t *slots_log2)
{
    uint32_t wanted = wanted_slots_log2();
    int fd = ss_process_state->ring_count < SS_RING_MAX_THREADS ? ss_process_reopen_file() : -1;
    struct ss_ring_thread *ring = NULL;
    if (fd >= 0 && map_directory(fd)) {
        ss_process_share_definitions();
        /* When space is scarce, a smaller ring is better than none. */
        uint32_t least = wanted < MIN_FALLBACK_SLOTS_LOG2 ? wanted : MIN_FALLBACK_SLOTS_LOG2;
        for (; ring == NULL && wanted >= least; wanted--) {
            ring = add_segment(fd, wanted);
            *slots_log2 = wanted;
        }
    }
    if (fd >= 0) {
        close(fd);
    }
    return ring;
}

struct ss_ring_thread *ss_process_acquire_ring(int32_t tid, uint32_t *slots_log2,
                                               bool *is_overwriting)
{
    bool is_new = false;
    struct ss_ring_thread *ring = reuse_ring(slots_log2);
    if (ring == NULL) {
        ring = make_ring(slots_log2);
        is_new = true;
    }
    if (ring == NULL) {
        return NULL;
    }
    ss_ring_own(ring, tid);
    if (is_new) {
        /* Pairs with the acquire of ss_ring_consumer_refresh. */
        atomic_store_explicit(&ss_process_header->thread_count, ss_process_state->ring_count,
                              memory_order_release);
    }
    *is_overwriting =
        atomic_load_explicit(&ss_process_header->mode, memory_order_relaxed) == SS_RING_OVERWRITE;
    return ring;
}

void ss_process_release_ring(struct ss_ring_thread *thread)
{
    ss_ring_disown(thread);
}
