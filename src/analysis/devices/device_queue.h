/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far a host is ahead of a device: the works whose call has begun and that have not begun
 * themselves. Work without a known call does not count. Pure.
 */
#ifndef SS_ANALYSIS_DEVICES_DEVICE_QUEUE_H
#define SS_ANALYSIS_DEVICES_DEVICE_QUEUE_H

#include "analysis/launches/device_work.h"

/* From this time on, so many works are queued. */
struct ss_queue_change {
    uint64_t time_ns;
    uint64_t depth;
    double sum; /* of depth times ns, until this time */
};

struct ss_device_queue {
    struct ss_vec_of(struct ss_queue_change) changes; /* by time, each time once */
};

struct ss_queue_depth {
    double sum; /* of depth times ns: divided by the length of a time, the mean in it */
    uint64_t most;
};

void ss_device_queue_init(struct ss_device_queue *queue, const struct ss_model *model,
                          const struct ss_device_works *works, const struct ss_device_part *part);
void ss_device_queue_fini(struct ss_device_queue *queue);
/* In [begin, end). */
struct ss_queue_depth ss_device_queue_between(const struct ss_device_queue *queue,
                                              uint64_t begin_ns, uint64_t end_ns);

#endif
