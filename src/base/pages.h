/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sparse array for short-lived items with ever-growing numbers: pages of 64 items, each freed
 * when its last item is dropped. Items start as zeros and do not move. A struct that is zero except
 * for `item_bytes` is an empty table. Owned by the owner of the struct.
 */
#ifndef SS_BASE_PAGES_H
#define SS_BASE_PAGES_H

#include <stddef.h>
#include <stdint.h>

enum { SS_PAGE_ITEMS_LOG2 = 6, SS_PAGE_ITEMS = 1 << SS_PAGE_ITEMS_LOG2 };

struct ss_page {
    uint64_t used; /* a bit per item in use */
    _Alignas(16) char items[];
};

struct ss_pages {
    size_t item_bytes;
    struct ss_page **pages;
    size_t page_count, page_room;
    size_t pages_there;
    uint32_t end; /* above all numbers ever used */
};

/* NULL: never put, or dropped. */
static inline void *ss_pages_get(const struct ss_pages *table, uint32_t number)
{
    size_t at = number >> SS_PAGE_ITEMS_LOG2;
    uint32_t item = number & (SS_PAGE_ITEMS - 1);
    struct ss_page *page = at < table->page_count ? table->pages[at] : NULL;
    return page != NULL && (page->used >> item & 1) != 0 ? page->items + item * table->item_bytes
                                                         : NULL;
}
/* Adds item `number`, zeroed, or returns the existing one. */
void *ss_pages_put(struct ss_pages *table, uint32_t number);
void ss_pages_drop(struct ss_pages *table, uint32_t number);
size_t ss_pages_memory(const struct ss_pages *table);
void ss_pages_fini(struct ss_pages *table);

#endif
