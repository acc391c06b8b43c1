/* SPDX-License-Identifier: Apache-2.0 */
#include "base/pages.h"

#include <string.h>

#include "base/alloc.h"

static size_t page_bytes(const struct ss_pages *table)
{
    return sizeof(struct ss_page) + SS_PAGE_ITEMS * table->item_bytes;
}

static void ensure_page_table(struct ss_pages *table, size_t count)
{
    if (count > table->page_room) {
        size_t capacity = table->page_room * 2 > count ? table->page_room * 2 : count + 8;
        table->pages = ss_realloc(table->pages, capacity, sizeof *table->pages);
        table->page_room = capacity;
    }
    for (; table->page_count < count; table->page_count++) {
        table->pages[table->page_count] = NULL;
    }
}

void *ss_pages_put(struct ss_pages *table, uint32_t number)
{
    size_t at = number >> SS_PAGE_ITEMS_LOG2;
    ensure_page_table(table, at + 1);
    if (table->pages[at] == NULL) {
        table->pages[at] = ss_alloc_zero(1, page_bytes(table));
        table->pages_there++;
    }
    table->end = table->end > number ? table->end : number + 1;
    table->pages[at]->used |= UINT64_C(1) << (number & (SS_PAGE_ITEMS - 1));
    return ss_pages_get(table, number);
}

void ss_pages_drop(struct ss_pages *table, uint32_t number)
{
    void *item = ss_pages_get(table, number);
    size_t at = number >> SS_PAGE_ITEMS_LOG2;
    if (item == NULL) {
        return;
    }
    memset(item, 0, table->item_bytes);
    table->pages[at]->used &= ~(UINT64_C(1) << (number & (SS_PAGE_ITEMS - 1)));
    if (table->pages[at]->used == 0) {
        ss_free(table->pages[at]);
        table->pages[at] = NULL;
        table->pages_there--;
    }
}

size_t ss_pages_memory(const struct ss_pages *table)
{
    return table->page_room * sizeof *table->pages + table->pages_there * page_bytes(table);
}

void ss_pages_fini(struct ss_pages *table)
{
    for (size_t i = 0; i < table->page_count; i++) {
        ss_free(table->pages[i]);
    }
    ss_free(table->pages);
    *table = (struct ss_pages){.item_bytes = table->item_bytes};
}
