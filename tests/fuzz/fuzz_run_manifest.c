/* SPDX-License-Identifier: Apache-2.0 */
/* The manifest of a run's folder, and the selection of ranks in it. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/rank_selection.h"
#include "model/files/run_input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ss_run_manifest manifest;
    struct ss_rank_selection selection;
    if (!ss_run_manifest_parse((const char *)data, size, &manifest) ||
        ss_rank_selection_parse(manifest.ranks, &selection, NULL) != SS_OK) {
        return 0;
    }
    selection.most = manifest.max_ranks < 100 ? manifest.max_ranks : 0;
    for (uint32_t rank = 0; rank < 100; rank++) {
        struct ss_rank_facts facts = {
            .has = {[SS_RANK] = true, [SS_LOCAL_RANK] = true, [SS_LOCAL_WORLD_SIZE] = true},
            .numbers = {[SS_RANK] = rank, [SS_LOCAL_RANK] = rank % 8, [SS_LOCAL_WORLD_SIZE] = 8}};
        bool has = ss_rank_selection_has(&selection, &facts);
        if (ss_rank_selection_is_by_number(&selection) &&
            has != ss_rank_selection_has_number(&selection, rank)) {
            abort();
        }
    }
    return 0;
}
