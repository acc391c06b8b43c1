/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which operator created which node of autograd: both have the same sequence number. Pure;
 * immutable once built. Borrows the model.
 */
#ifndef SS_ANALYSIS_CALLS_SEQUENCES_H
#define SS_ANALYSIS_CALLS_SEQUENCES_H

#include "analysis/selection/selection.h"
#include "analysis/table/range_finder.h"

struct ss_sequenced {
    uint64_t number, begin_ns;
    uint32_t process, range;
};

struct ss_sequences {
    const struct ss_range_finder *finder;
    uint8_t *kinds;                                         /* by name: enum ss_call_kind */
    struct ss_vec_of(struct ss_sequenced) operators, nodes; /* by process, number, begin */
};

/* Of the selected tracks of operators. */
void ss_sequences_init(struct ss_sequences *sequences, const struct ss_selection *selection,
                       const struct ss_range_finder *finder);
void ss_sequences_fini(struct ss_sequences *sequences);

/* True for a range in which autograd evaluates a node. */
bool ss_sequences_is_node(const struct ss_sequences *sequences, uint32_t range);
/* The innermost node around a range, plus one; 0: it is not part of a backward. */
uint32_t ss_sequences_node_around(const struct ss_sequences *sequences, uint32_t range);
/* True for an operator of the forward that runs within a backward: it computes again what the
 * forward did not keep. The backward's own operators have no numbers. */
bool ss_sequences_runs_again(const struct ss_sequences *sequences, uint32_t range);
/* The last operator with the number of the node that began before it: it created the node. Plus
 * one; 0: unknown. */
uint32_t ss_sequences_operator_of(const struct ss_sequences *sequences, uint32_t node);
/* The first node, after the operator, with the number of the operator or of the closest one around
 * it. Plus one; 0: there is none. */
uint32_t ss_sequences_node_of(const struct ss_sequences *sequences, uint32_t range);

#endif
