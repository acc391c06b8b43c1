/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of the tracks that importers make of other tools' traces, besides those that recordings
 * have too (base/shared_names.h). Immutable.
 */
#ifndef SS_MODEL_CORE_DOMAINS_H
#define SS_MODEL_CORE_DOMAINS_H

#define SS_DOMAIN_PYTHON "python"              /* calls of Python functions */
#define SS_DOMAIN_MEMORY "memory"              /* allocations */
#define SS_DOMAIN_OVERHEAD "profiler overhead" /* time that the profiler itself took */
#define SS_DOMAIN_SYSTEM_CALLS "OS runtime"    /* calls of the C library that may block */
#define SS_DOMAIN_DEVICE_ANNOTATIONS                                                               \
    "annotations" /* of a stream: around the work they launched                                    \
                   */

/* Marks of SS_DOMAIN_MEMORY besides allocations. Their payload is a number of bytes. "before": what
 * the history begins with. A segment is what an allocator takes from the device or, negative,
 * returns; its name has this category where it is a part of one that grows. When an allocation
 * fails, the payload is what the device had free, and the field `bytes` the request. */
#define SS_MARK_ALLOCATED_BEFORE "allocated before"
#define SS_MARK_SEGMENT "segment"
#define SS_MARK_SEGMENT_BEFORE "segment before"
#define SS_CATEGORY_EXPANDABLE "expandable"
#define SS_MARK_OUT_OF_MEMORY "out of memory"

#endif
