/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What NCCL says to a profiler plugin, which NCCL_PROFILER_PLUGIN names: the calls of one version
 * of its interface, FAKE_NCCL_PROFILER (1 to 5; the newest by default), in NCCL's order: a
 * communicator begins; the kernel is launched; then, on the same thread, the operation begins and
 * ends; then, on another thread, its channels begin and end with the kernel.
 */
#ifndef FAKE_NCCL_PROFILER_H
#define FAKE_NCCL_PROFILER_H

#include "nccl_inside.h"

enum { CHANNELS = 2 };

struct nccl_described {
    const char *algorithm, *protocol;
    void *group_api, *coll_api, *launch; /* open events of version 5 */
};

/* The profiler's context of a new communicator; NULL: there is no profiler. */
void *nccl_profiler_open(const struct comm *comm);
void nccl_profiler_close(void *context);
/* Around the launch; nccl_profiler_describe: after it. Returns the handle of the operation. */
void nccl_profiler_begin(const struct operation *operation, struct nccl_described *described);
void nccl_profiler_launched(struct nccl_described *described);
void *nccl_profiler_describe(const struct operation *operation, struct nccl_described *described);
/* Whether the channels of an operation are described. */
bool nccl_profiler_wants_channels(void);
void nccl_profiler_begin_channels(const struct operation *operation, void *event, uint64_t ns,
                                  void *channels[CHANNELS]);
void nccl_profiler_end_channels(void *channels[CHANNELS], uint64_t ns);

#endif
