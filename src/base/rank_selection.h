/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which ranks of a run are recorded: "0,8-15,local0,every:64" and at most so many. Each rank
 * decides for itself, without a word to the others. A value; pure functions.
 */
#ifndef SS_BASE_RANK_SELECTION_H
#define SS_BASE_RANK_SELECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/launchers.h"

enum { SS_RANK_SELECTION_ITEMS = 64 };

enum ss_rank_item_kind {
    SS_RANKS_BETWEEN, /* first-last */
    SS_RANKS_EVERY,   /* every:first */
    SS_RANKS_LOCAL    /* localfirst: on each node */
};

struct ss_rank_selection {
    struct ss_rank_item {
        enum ss_rank_item_kind kind;
        uint32_t first, last;
    } items[SS_RANK_SELECTION_ITEMS];
    uint32_t count;
    uint32_t most; /* ranks that are recorded, the lowest of the selected; 0: all */
};

/* "all" and "" select all ranks. */
enum ss_status ss_rank_selection_parse(const char *text, struct ss_rank_selection *selection,
                                       struct ss_error *err);
/* Facts without a rank count as rank 0. */
bool ss_rank_selection_has(const struct ss_rank_selection *selection,
                           const struct ss_rank_facts *facts);
/* Whether the selection is the same for all runs of the size: it does not depend on which ranks
 * share a node. Then ss_rank_selection_has_number answers for any rank. */
bool ss_rank_selection_is_by_number(const struct ss_rank_selection *selection);
bool ss_rank_selection_has_number(const struct ss_rank_selection *selection, uint32_t rank);
/* Of the selected ranks, this one speaks for the run. */
bool ss_rank_selection_is_first(const struct ss_rank_selection *selection,
                                const struct ss_rank_facts *facts);

#endif
