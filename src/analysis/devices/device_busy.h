/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a device was busy, and with what: the union of its work, so that work at the same time
 * counts once. Time with any computation is compute; communication and copies are exposed where
 * nothing computes, copies also where nothing communicates. These and idle time add up exactly to
 * any interval. Pure.
 */
#ifndef SS_ANALYSIS_DEVICES_DEVICE_BUSY_H
#define SS_ANALYSIS_DEVICES_DEVICE_BUSY_H

#include "analysis/launches/device_work.h"

/* A time in which the classes of work that ran did not change. */
struct ss_busy_segment {
    uint64_t begin_ns, end_ns;
    uint8_t classes; /* bit by enum ss_work_class; never 0 */
};

struct ss_busy {
    struct ss_vec_of(struct ss_busy_segment) segments; /* disjoint, by begin */
};

struct ss_busy_times {
    uint64_t class_ns[SS_WORK_CLASSES]; /* compute, exposed communication, exposed copies */
    uint64_t idle_ns;
    uint64_t communication_ns; /* exposed or not */
    uint64_t overlap_ns;       /* of communication, while anything computes */
};

/* Of works [first, end), sorted by begin. */
void ss_busy_init(struct ss_busy *busy, const struct ss_device_work *works, size_t count);
void ss_busy_fini(struct ss_busy *busy);

/* Adds the times in [begin, end). */
void ss_busy_add_between(const struct ss_busy *busy, uint64_t begin_ns, uint64_t end_ns,
                         struct ss_busy_times *times);
/* Index of the first segment that ends after the time; the count if there is none. */
size_t ss_busy_find(const struct ss_busy *busy, uint64_t time_ns);

static inline enum ss_work_class ss_busy_class(uint8_t classes)
{
    return (classes & 1 << SS_WORK_COMPUTE) != 0         ? SS_WORK_COMPUTE
           : (classes & 1 << SS_WORK_COMMUNICATION) != 0 ? SS_WORK_COMMUNICATION
                                                         : SS_WORK_COPY;
}

static inline uint64_t ss_busy_sum(const struct ss_busy_times *times)
{
    return times->class_ns[SS_WORK_COMPUTE] + times->class_ns[SS_WORK_COMMUNICATION] +
           times->class_ns[SS_WORK_COPY];
}

#endif
