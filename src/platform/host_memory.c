/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/host_memory.h"

#include "platform/text_scan.h"

static uint64_t kib(const struct ss_keyed_number *row)
{
    return row->value <= UINT64_MAX / 1024 ? row->value * 1024 : UINT64_MAX;
}

static uint64_t sum(uint64_t a, uint64_t b)
{
    return a <= UINT64_MAX - b ? a + b : UINT64_MAX;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

bool ss_host_memory_parse(struct ss_strview text, struct ss_host_memory *memory)
{
    enum { TOTAL, FREE, AVAILABLE, BUFFERS, CACHED, RECLAIMABLE, DIRTY, SHARED, SWAP, SWAP_FREE };
    struct ss_keyed_number rows[] = {
        [TOTAL] = {"MemTotal"},    [FREE] = {"MemFree"},  [AVAILABLE] = {"MemAvailable"},
        [BUFFERS] = {"Buffers"},   [CACHED] = {"Cached"}, [RECLAIMABLE] = {"SReclaimable"},
        [DIRTY] = {"Dirty"},       [SHARED] = {"Shmem"},  [SWAP] = {"SwapTotal"},
        [SWAP_FREE] = {"SwapFree"}};
    ss_text_scan_keyed(text, rows, sizeof rows / sizeof *rows);
    *memory = (struct ss_host_memory){.total_bytes = kib(&rows[TOTAL])};
    if (!rows[TOTAL].found || !rows[FREE].found) {
        return false;
    }
    /* Caps every value at the total: the text is not trusted. */
    uint64_t total = memory->total_bytes;
    uint64_t cached = sum(kib(&rows[BUFFERS]), sum(kib(&rows[CACHED]), kib(&rows[RECLAIMABLE])));
    memory->free_bytes = smaller(kib(&rows[FREE]), total);
    memory->cached_bytes = smaller(cached, total);
    memory->available_bytes =
        smaller(rows[AVAILABLE].found ? kib(&rows[AVAILABLE])
                                      : sum(memory->free_bytes, memory->cached_bytes),
                total);
    memory->dirty_bytes = smaller(kib(&rows[DIRTY]), total);
    memory->shared_bytes = smaller(kib(&rows[SHARED]), total);
    memory->swap_total_bytes = kib(&rows[SWAP]);
    memory->swap_free_bytes = smaller(kib(&rows[SWAP_FREE]), memory->swap_total_bytes);
    return true;
}

bool ss_host_paging_parse(struct ss_strview text, struct ss_host_paging *paging)
{
    struct ss_keyed_number rows[] = {{"pswpin"}, {"pswpout"}, {"pgmajfault"}};
    ss_text_scan_keyed(text, rows, sizeof rows / sizeof *rows);
    *paging = (struct ss_host_paging){.has_swap = rows[0].found && rows[1].found,
                                      .pages_in = rows[0].value,
                                      .pages_out = rows[1].value,
                                      .has_faults = rows[2].found,
                                      .major_faults = rows[2].value};
    return paging->has_swap || paging->has_faults;
}
