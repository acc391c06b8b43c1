/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks and world sizes of a process, from the variables that launchers set. Stateless. */
#ifndef SS_RECORD_RANKS_H
#define SS_RECORD_RANKS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum ss_rank_kind {
    SS_RANK,
    SS_LOCAL_RANK,
    SS_WORLD_SIZE,
    SS_LOCAL_WORLD_SIZE,
    SS_NODE_RANK,
    SS_RANK_KIND_COUNT
};

/* Of process `pid`; 0: this one. false: no launcher has set it. */
bool ss_rank_get(pid_t pid, enum ss_rank_kind kind, int64_t *value);
/* Whether the process has its rank from `parent`, which does not have the same itself: it launches
 * ranks. false also when the environment of either cannot be read. */
bool ss_rank_is_assigned(pid_t pid, pid_t parent);

#endif
