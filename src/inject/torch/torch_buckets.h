/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The buckets of gradients that DistributedDataParallel's reducers all-reduce. A reducer starts
 * them below Python, each once in a backward, in their order: which bucket a call transfers follows
 * from the order and from the number of its elements. Where two reducers of a group are under way
 * and either could have started a call, or the buckets of one are not known yet, nothing is said
 * until their next backward.
 *
 * The hooks describe the buckets, and say when a backward follows. Any thread.
 */
#ifndef SS_INJECT_TORCH_TORCH_BUCKETS_H
#define SS_INJECT_TORCH_TORCH_BUCKETS_H

#include <stdbool.h>
#include <stdint.h>

struct ss_torch_bucket {
    uint32_t name;     /* what it has, as hooks describe it: a name */
    uint32_t datatype; /* a name; 0: unknown */
    int64_t elements;
    int64_t bytes; /* -1: unknown */
};

/* An all-reduce of this group (numbered from 1) begins, which the program has not called.
 * `elements` -1: unknown. false: it is of no bucket, or it is unknown of which. */
bool ss_torch_bucket_next(uint32_t group, int64_t elements, struct ss_torch_bucket *bucket);

#endif
