/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/device/clock.h"

#include <string.h>

void ss_device_clock_add(struct ss_device_clock *clock, struct ss_device_clock_pair pair)
{
    if (clock->count > 0 && clock->pairs[clock->count - 1].theirs >= pair.theirs) {
        clock->count = 0;
    }
    if (clock->count == SS_DEVICE_CLOCK_PAIRS) {
        memmove(clock->pairs, clock->pairs + 1, sizeof clock->pairs - sizeof *clock->pairs);
        clock->count--;
    }
    clock->pairs[clock->count++] = pair;
}

static uint64_t shifted(const struct ss_device_clock_pair *pair, uint64_t theirs)
{
    return theirs >= pair->theirs               ? pair->ours + (theirs - pair->theirs)
           : pair->theirs - theirs < pair->ours ? pair->ours - (pair->theirs - theirs)
                                                : 0;
}

uint64_t ss_device_clock_convert(const struct ss_device_clock *clock, uint64_t theirs)
{
    if (clock->count == 0 || theirs == 0) {
        return theirs;
    }
    uint32_t next = clock->count;
    while (next > 0 && clock->pairs[next - 1].theirs > theirs) {
        next--;
    }
    if (next == 0 || next == clock->count) {
        return shifted(&clock->pairs[next == 0 ? 0 : next - 1], theirs);
    }
    const struct ss_device_clock_pair *from = &clock->pairs[next - 1], *to = &clock->pairs[next];
    double part = (double)(theirs - from->theirs) / (double)(to->theirs - from->theirs);
    return from->ours + (uint64_t)(part * (double)(int64_t)(to->ours - from->ours));
}
