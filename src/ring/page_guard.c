/* SPDX-License-Identifier: Apache-2.0 */
#include "ring/page_guard.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BLOCK_RANGES = 255 };

struct range {
    _Atomic uintptr_t start; /* FREE, CLAIMED, or an address */
    _Atomic size_t bytes, lost_pages;
};
enum { FREE = 0, CLAIMED = 1 };

struct block {
    struct range ranges[BLOCK_RANGES];
    _Atomic(struct block *) next; /* blocks are never freed: the handler may be reading one */
};

static struct block first;
static struct sigaction before;
static _Atomic uintptr_t page_bytes; /* 0: the handler was not installed yet */

/* --- the handler ------------------------------------------------------------------------------ */

static struct range *find_range(uintptr_t address)
{
    for (struct block *block = &first; block != NULL;
         block = atomic_load_explicit(&block->next, memory_order_acquire)) {
        for (size_t i = 0; i < BLOCK_RANGES; i++) {
            struct range *range = &block->ranges[i];
            /* Pairs with the release of ss_page_guard_add: `bytes` belongs to this start. */
            uintptr_t start = atomic_load_explicit(&range->start, memory_order_acquire);
            if (start > CLAIMED && address >= start &&
                address - start < atomic_load_explicit(&range->bytes, memory_order_relaxed)) {
                return range;
            }
        }
    }
    return NULL;
}

static bool replace_page(uintptr_t address)
{
    struct range *range = find_range(address);
    uintptr_t bytes = atomic_load_explicit(&page_bytes, memory_order_relaxed);
    if (range == NULL || mmap((void *)(address & ~(bytes - 1)), bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED) {
        return false;
    }
    atomic_fetch_add_explicit(&range->lost_pages, 1, memory_order_relaxed);
    return true;
}

static void on_bus_error(int number, siginfo_t *info, void *context)
{
    (void)context;
    bool is_fault = info->si_code > 0;
    if (is_fault && replace_page((uintptr_t)info->si_addr)) {
        return;
    }
    sigaction(number, &before, NULL); /* a fault repeats under the previous action */
    if (!is_fault) {
        raise(number); /* it was sent; it arrives when this handler returns */
    }
}

static void install(void)
{
    struct sigaction now;
    if (atomic_load_explicit(&page_bytes, memory_order_relaxed) != 0 ||
        sigaction(SIGBUS, NULL, &now) != 0 || now.sa_sigaction == on_bus_error) {
        return;
    }
    struct sigaction action = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    before = now;
    atomic_store(&page_bytes, (uintptr_t)sysconf(_SC_PAGESIZE));
    sigaction(SIGBUS, &action, NULL);
}

/* --- ranges ----------------------------------------------------------------------------------- */

static struct range *claim(struct block *block)
{
    for (size_t i = 0; i < BLOCK_RANGES; i++) {
        uintptr_t wanted = FREE;
        if (atomic_compare_exchange_strong(&block->ranges[i].start, &wanted, CLAIMED)) {
            return &block->ranges[i];
        }
    }
    return NULL;
}

/* The block after this one, which is made where there is none. NULL: no memory. */
static struct block *next_of(struct block *block)
{
    struct block *next = atomic_load(&block->next);
    if (next != NULL) {
        return next;
    }
    void *memory =
        mmap(NULL, sizeof *next, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return NULL;
    }
    if (!atomic_compare_exchange_strong(&block->next, &next, memory)) {
        munmap(memory, sizeof *next); /* another thread was first */
        return next;
    }
    return memory;
}

void ss_page_guard_add(void *start, size_t bytes)
{
    struct range *range = NULL;
    install();
    for (struct block *block = &first; range == NULL && block != NULL; block = next_of(block)) {
        range = claim(block);
    }
    if (range != NULL) {
        atomic_store_explicit(&range->bytes, bytes, memory_order_relaxed);
        atomic_store_explicit(&range->lost_pages, 0, memory_order_relaxed);
        atomic_store_explicit(&range->start, (uintptr_t)start, memory_order_release);
    }
}

size_t ss_page_guard_lost_pages(const void *start)
{
    struct range *range = find_range((uintptr_t)start);
    return range != NULL ? atomic_load_explicit(&range->lost_pages, memory_order_relaxed) : 0;
}

void ss_page_guard_remove(const void *start)
{
    for (struct block *block = &first; block != NULL; block = atomic_load(&block->next)) {
        for (size_t i = 0; i < BLOCK_RANGES; i++) {
            uintptr_t wanted = (uintptr_t)start;
            if (atomic_compare_exchange_strong(&block->ranges[i].start, &wanted, FREE)) {
                return;
            }
        }
    }
}
