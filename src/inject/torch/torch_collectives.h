/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is known of a collective as it begins: its group, its number among the collectives of the
 * group, and what the hooks said of the call. Gloo runs the operations of a group on threads of its
 * own, which identify the group; elsewhere they begin within the call of torch.distributed that is
 * under way on the thread. All others, such as those that DistributedDataParallel starts, belong to
 * the implicit group, if there is one.
 *
 * Every operation of a group counts, also sends and receives, as the group itself counts them: so
 * the details of a call find its operation. Collectives have numbers of their own, which are the
 * same on all ranks, unless two threads of a group begin two of them in another order than it was
 * called in: then these two are mixed up with each other. Any thread.
 */
#ifndef SS_INJECT_TORCH_TORCH_COLLECTIVES_H
#define SS_INJECT_TORCH_TORCH_COLLECTIVES_H

#include <stdbool.h>

#include "annot/events.h"

struct ss_torch_call;

/* Called as an operation begins: counts it. A transfer between two ranks has a tag (has_tag), and
 * its number among those of its ranks and tag. An all-reduce that the program has not called may be
 * of a bucket of gradients (torch_buckets.h). false: its group is unknown, or of a transfer the
 * call. */
bool ss_torch_collective_next(const struct ss_torch_call *torch_call, const char *scope,
                              struct ss_event_collective *collective);

#endif
