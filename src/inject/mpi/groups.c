/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/mpi/groups.h"

#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "annot/define.h"
#include "annot/process.h"

enum { MOST_GROUPS = 2048, SLOTS = 4096, LONGEST_NAME = 160, WORLD_RUN = 3 };

/* --- which communicator has which group ------------------------------------------------------- */

enum { FREE, REMOVED }; /* values of a key that no handle has */

static struct slot {
    _Atomic uint64_t key;
    struct ss_mpi_group *group; /* published by the key */
} slots[SLOTS];

static struct ss_mpi_group groups[MOST_GROUPS];
static uint32_t group_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static size_t home_of(uint64_t key)
{
    return (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 40) % SLOTS;
}

static struct slot *find(uint64_t key)
{
    for (size_t at = home_of(key), i = 0; i < SLOTS; i++, at = (at + 1) % SLOTS) {
        uint64_t here = atomic_load_explicit(&slots[at].key, memory_order_acquire);
        if (here == key) {
            return &slots[at];
        }
        if (here == FREE) {
            return NULL;
        }
    }
    return NULL;
}

struct ss_mpi_group *ss_mpi_find_group(uint64_t key)
{
    const struct slot *slot = find(key);
    return slot != NULL ? slot->group : NULL;
}

uint32_t ss_mpi_group_size(const struct ss_mpi_group *group)
{
    return group != NULL && group->name != 0 ? group->size : 0;
}

static bool put(uint64_t key, struct ss_mpi_group *group)
{
    for (size_t at = home_of(key), i = 0; i < SLOTS; i++, at = (at + 1) % SLOTS) {
        if (atomic_load_explicit(&slots[at].key, memory_order_relaxed) <= REMOVED) {
            slots[at].group = group;
            atomic_store_explicit(&slots[at].key, key, memory_order_release);
            return true;
        }
    }
    return false;
}

void ss_mpi_remove_group(uint64_t key)
{
    pthread_mutex_lock(&lock);
    struct slot *slot = find(key);
    if (slot != NULL) {
        slot->group->is_used = false;
        atomic_store_explicit(&slot->key, REMOVED, memory_order_release);
    }
    pthread_mutex_unlock(&lock);
}

/* --- ranks ------------------------------------------------------------------------------------ */

static int *scratch; /* under the lock */
static uint32_t scratch_size;

int *ss_mpi_lock_ranks(uint32_t size)
{
    pthread_mutex_lock(&lock);
    if (scratch_size < size) {
        int *larger = ss_process_wiped_memory(2 * sizeof(int) * size);
        if (larger == NULL) {
            pthread_mutex_unlock(&lock);
            return NULL;
        }
        scratch = larger; /* a communicator is rarely larger than the first, the world */
        scratch_size = size;
    }
    return scratch;
}

void ss_mpi_unlock_ranks(void)
{
    pthread_mutex_unlock(&lock);
}

int32_t ss_mpi_world_rank(const struct ss_mpi_group *group, int32_t rank)
{
    if (group == NULL || group->name == 0 || rank < 0 || (uint32_t)rank >= group->size) {
        return SS_MPI_NO_RANK;
    }
    return group->ranks != NULL ? group->ranks[rank] : group->first + group->stride * rank;
}

static uint64_t hash_of(const int *ranks, uint32_t size)
{
    uint64_t hash = size;
    for (uint32_t i = 0; i < size; i++) {
        hash = (hash ^ (uint64_t)(uint32_t)ranks[i]) * UINT64_C(0x100000001b3);
        hash ^= hash >> 29;
    }
    return hash;
}

static bool has_ranks(const struct ss_mpi_group *group, const int *ranks, uint32_t size)
{
    for (uint32_t i = 0; i < size; i++) {
        if (ss_mpi_world_rank(group, (int32_t)i) != ranks[i]) {
            return false;
        }
    }
    return true;
}

/* false: no memory. */
static bool set_ranks(struct ss_mpi_group *group, const int *ranks, uint32_t size)
{
    group->first = ranks[0];
    group->stride = size > 1 ? ranks[1] - ranks[0] : 0;
    for (uint32_t i = 0; i < size; i++) {
        if (ranks[i] != group->first + group->stride * (int32_t)i) {
            int32_t *list = ss_process_wiped_memory(sizeof *list * size);
            if (list != NULL) {
                memcpy(list, ranks, sizeof *list * size);
            }
            group->ranks = list;
            return list != NULL;
        }
    }
    return true;
}

/* --- names ------------------------------------------------------------------------------------ */

/* "0-3", "0-6/2", "1,5,2-4" */
static size_t list_ranks(const int *ranks, uint32_t size, char *text, size_t room)
{
    size_t length = 0;
    for (uint32_t i = 0, end; i < size && length < room; i = end) {
        int stride = i + 1 < size ? ranks[i + 1] - ranks[i] : 0;
        for (end = i + 1; end < size && stride > 0 && ranks[end] - ranks[end - 1] == stride;) {
            end++;
        }
        if (end - i < WORLD_RUN && !(end - i == 2 && stride == 1)) {
            end = i + 1;
        }
        length +=
            (size_t)snprintf(text + length, room - length, "%s%d", i > 0 ? "," : "", ranks[i]);
        if (end - i > 1 && length < room) {
            length += (size_t)snprintf(text + length, room - length, "-%d", ranks[end - 1]);
        }
        if (end - i > 1 && stride > 1 && length < room) {
            length += (size_t)snprintf(text + length, room - length, "/%d", stride);
        }
    }
    return length;
}

static uint32_t define_name(const struct ss_mpi_group *group, const int *ranks, uint32_t size,
                            bool is_world)
{
    char text[LONGEST_NAME + 32];
    size_t length = is_world ? (size_t)snprintf(text, sizeof text, "world")
                             : list_ranks(ranks, size, text, LONGEST_NAME);
    if (length >= LONGEST_NAME) {
        length = (size_t)snprintf(text, sizeof text, "%u ranks %016llx", size,
                                  (unsigned long long)group->hash);
    }
    if (group->number > 0) {
        length += (size_t)snprintf(text + length, sizeof text - length, " #%u", group->number + 1);
    }
    return ss_define_name(text, length);
}

/* Whether the ranks equal those of the first group, the world. */
static bool are_the_world(const int *ranks, uint32_t size)
{
    return group_count > 0 && groups[0].size == size && has_ranks(&groups[0], ranks, size);
}

static struct ss_mpi_group *new_group(const int *ranks, uint32_t size, uint64_t hash,
                                      uint32_t number, bool is_world)
{
    if (group_count == MOST_GROUPS) {
        return NULL;
    }
    struct ss_mpi_group *group = &groups[group_count];
    *group = (struct ss_mpi_group){.size = size, .hash = hash, .number = number};
    if (ranks != NULL && (size == 0 || !set_ranks(group, ranks, size))) {
        return NULL;
    }
    if (ranks != NULL) {
        group->name = define_name(group, ranks, size, is_world || are_the_world(ranks, size));
    }
    group_count++;
    return group;
}

/* With the lock held, by ss_mpi_lock_ranks. */
struct ss_mpi_group *ss_mpi_add_group(uint64_t key, const int *ranks, uint32_t size, bool is_world)
{
    uint64_t hash = ranks != NULL ? hash_of(ranks, size) : 0;
    uint32_t number = 0;
    struct ss_mpi_group *group = NULL, *known = ss_mpi_find_group(key);
    if (known != NULL) {
        return known; /* another thread was faster */
    }
    for (uint32_t i = 0; i < group_count && group == NULL; i++) {
        struct ss_mpi_group *other = &groups[i];
        if (other->hash == hash && other->size == size && (other->name != 0) == (ranks != NULL) &&
            (ranks == NULL || has_ranks(other, ranks, size))) {
            group = other->is_used && ranks != NULL ? NULL : other;
            number++;
        }
    }
    group = group != NULL ? group : new_group(ranks, size, hash, number, is_world);
    if (group == NULL || !put(key, group)) {
        return NULL;
    }
    group->is_used = true;
    return group;
}
