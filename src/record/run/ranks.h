/* SPDX-License-Identifier: Apache-2.0 */
/* The place of processes among the ranks of their run: of this one, and of those that it records.
 */
#ifndef SS_RECORD_RUN_RANKS_H
#define SS_RECORD_RUN_RANKS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/launchers.h"

/* The rank that the user gives this process and those that inherit its rank, in place of the
 * launcher's; world_size 0: unknown. Before the recording starts; the recorder inherits it. */
void ss_rank_set_own(uint32_t rank, uint32_t world_size);
/* The program is a launcher: what inherits the rank of this process has no rank of its own. */
void ss_rank_program_launches(void);
/* Of process `pid`; 0: this one. Facts without a launcher when its environment cannot be read. */
void ss_rank_find(pid_t pid, struct ss_rank_facts *facts);
/* Whether these are the facts of one of several ranks, as far as is known. */
static inline bool ss_rank_is_of_many(const struct ss_rank_facts *facts)
{
    return facts->has[SS_RANK] &&
           !(facts->has[SS_WORLD_SIZE] && facts->numbers[SS_WORLD_SIZE] == 1);
}
/* Ranks that were given one path all write it. Of one of several ranks, says in the error of one
 * that is refused what to give them. */
void ss_rank_explain_shared_path(const char *path, struct ss_error *err);
/* Whether the process has its rank from `parent`, which does not have the same itself: it launches
 * ranks. false also when the environment of either cannot be read. */
bool ss_rank_is_assigned(pid_t pid, pid_t parent);

#endif
