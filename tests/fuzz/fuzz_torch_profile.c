/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as what a program leaves of torch.profiler: refused, or ranges that nest. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "source/torch_profile.h"

static void check(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "broken: %s\n", what);
        abort();
    }
}

static bool is_same_lane(const struct ss_torch_range *a, const struct ss_torch_range *b)
{
    bool on_device = ss_torch_range_is_on_device(a);
    return a->lane == b->lane && on_device == ss_torch_range_is_on_device(b) &&
           (!on_device || a->device == b->device);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ss_torch_profile profile;
    struct ss_torch_ranges ranges;
    if (ss_torch_profile_read(data, size, &profile, NULL) != SS_OK) {
        return 0;
    }
    ss_torch_ranges_init(&ranges, &profile);
    check(ranges.count <= (uint64_t)profile.head.events, "no more ranges than events");
    for (size_t i = 0; i < ranges.count; i++) {
        const struct ss_torch_range *range = &ranges.data[i];
        check(range->begin_ns <= range->end_ns, "an end follows its begin");
        check(ss_torch_profile_text(&profile, range->name).length <= size, "a name is in the file");
        if (i > 0 && is_same_lane(range, range - 1)) {
            check(range[-1].begin_ns <= range->begin_ns, "ranges come in the order of time");
            check(range[-1].end_ns <= range->begin_ns || range->end_ns <= range[-1].end_ns,
                  "ranges nest");
        }
    }
    ss_torch_ranges_fini(&ranges);
    ss_torch_profile_fini(&profile);
    return 0;
}
