/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/ticks.h"

enum { MAX_TICKS = 1000 * 1000 /* per record: over half a minute at 30 kHz; more is invalid */ };

enum ss_status ss_ticks_write(struct ss_trace_writer *writer, struct ss_newest_samples *newest,
                              const struct ss_trace_sample *sample, struct ss_error *err)
{
    if (sample->weight > MAX_TICKS) {
        return ss_fail(err, SS_E_LIMIT, "a record stands for %u samples, more than %d",
                       sample->weight, MAX_TICKS);
    }
    if (sample->thread_ref >= newest->count) {
        ss_vec_resize(newest, (size_t)sample->thread_ref + 1);
    }
    uint64_t *last_ns = &newest->data[sample->thread_ref];
    uint64_t since_ns =
        *last_ns != 0 && sample->time_ns > *last_ns ? sample->time_ns - *last_ns : 0;
    struct ss_trace_sample tick = *sample;
    tick.weight = 1;
    for (uint32_t i = 1; i <= sample->weight; i++) {
        uint64_t behind = sample->weight - i;
        tick.time_ns = sample->time_ns - since_ns / sample->weight * behind;
        SS_TRY(ss_trace_writer_sample(writer, &tick, err));
    }
    *last_ns = sample->time_ns;
    return SS_OK;
}
