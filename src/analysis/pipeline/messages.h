/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages between two ranks: a send and the receive that belongs to it, by the group, the ranks,
 * the tag and the number among the messages with these. A send or a receive without a number, or
 * whose partner was not recorded, is none. Pure; immutable once built. Borrows the model.
 */
#ifndef SS_ANALYSIS_PIPELINE_MESSAGES_H
#define SS_ANALYSIS_PIPELINE_MESSAGES_H

#include "analysis/selection/range_runs.h"
#include "analysis/selection/selection.h"

struct ss_message {
    uint32_t send, receive;      /* index into model->ranges */
    uint32_t sender, receiver;   /* process of the model */
    uint32_t group;              /* string: the name of its group; 0: unknown */
    int64_t from, to;            /* ranks */
    int64_t tag, sequence;       /* sequence: among those of its ranks and its tag */
    uint64_t first_ns, last_ns;  /* begins of the two */
    uint64_t end_ns, receive_ns; /* the first end of the two; that of the receive */
};

struct ss_messages {
    struct ss_vec_of(struct ss_message) rows; /* by last_ns */
    size_t unmatched;                         /* sends and receives with a number */
};

/* `runs`: of the model. Only processes of the selection. */
void ss_messages_init(struct ss_messages *messages, const struct ss_selection *selection,
                      const struct ss_range_runs *runs);
void ss_messages_fini(struct ss_messages *messages);

#endif
