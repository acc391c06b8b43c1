/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table by number for things that come and go while their numbers only grow: pages of 64, which
 * are freed when all that was in them is dropped. Items are zero until they are written, and do not
 * move. Zero-initialised but for `item_bytes` is empty. Owned by whoever owns the struct.
 */
#ifndef SS_BASE_PAGES_H
#define SS_BASE_PAGES_H

#include <stddef.h>
#include <stdint.h>

enum { SS_PAGE_ITEMS_LOG2 = 6, SS_PAGE_ITEMS = 1 << SS_PAGE_ITEMS_LOG2 };

struct ss_page {
    uint64_t taken; /* a bit for each */
    _Alignas(16) char items[];
};

struct ss_pages {
    size_t item_bytes;
    struct ss_page **pages;
    size_t page_count, page_room;
    size_t pages_there;
    uint32_t end; /* all numbers are below it */
};

/* NULL: not taken, or dropped. */
static inline void *ss_pages_get(const struct ss_pages *table, uint32_t number)
{
    size_t at = number >> SS_PAGE_ITEMS_LOG2;
    uint32_t item = number & (SS_PAGE_ITEMS - 1);
    struct ss_page *page = at < table->page_count ? table->pages[at] : NULL;
    return page != NULL && (page->taken >> item & 1) != 0 ? page->items + item * table->item_bytes
                                                          : NULL;
}
/* Zeroed, when it was not taken before. */
void *ss_pages_take(struct ss_pages *table, uint32_t number);
void ss_pages_drop(struct ss_pages *table, uint32_t number);
size_t ss_pages_memory(const struct ss_pages *table);
void ss_pages_fini(struct ss_pages *table);

#endif
