/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of the machine: /proc/meminfo and /proc/vmstat. Pure functions over their text. */
#ifndef SS_PLATFORM_HOST_MEMORY_H
#define SS_PLATFORM_HOST_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strview.h"

struct ss_host_memory {
    uint64_t total_bytes;
    uint64_t free_bytes;
    uint64_t available_bytes; /* for programs; kernels < 3.14 do not report it: estimated as
                                 free, buffers, cached and reclaimable */
    uint64_t cached_bytes;    /* buffers, page cache and reclaimable kernel memory */
    uint64_t dirty_bytes;     /* not yet written to disk */
    uint64_t shared_bytes;    /* tmpfs and shared memory: DataLoader workers pass batches in it */
    uint64_t swap_total_bytes, swap_free_bytes;
};
bool ss_host_memory_parse(struct ss_strview text, struct ss_host_memory *memory);

/* Since boot. */
struct ss_host_paging {
    bool has_swap;
    uint64_t pages_in, pages_out; /* swapped in and out */
    bool has_faults;
    uint64_t major_faults; /* faults that read from disk */
};
bool ss_host_paging_parse(struct ss_strview text, struct ss_host_paging *paging);

#endif
