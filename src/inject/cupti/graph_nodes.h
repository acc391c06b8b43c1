/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the nodes of CUDA graphs were made: the Python frames of the call that captured or added a
 * node, found again by the node's id, which its work carries. A graph that is made executable has
 * copies of its nodes, with ids of their own. Any thread; a lock is held for a moment. Beyond
 * MOST_NODES, nodes have no place.
 */
#ifndef SS_INJECT_CUPTI_GRAPH_NODES_H
#define SS_INJECT_CUPTI_GRAPH_NODES_H

#include "inject/cupti/load.h"

/* CUPTI's callback: a node was made, with its stack; or it was copied. */
void ss_graph_node_made(const struct ss_cupti *cupti, const struct ss_cupti_graph_data *data,
                        uint32_t stack);
void ss_graph_node_cloned(const struct ss_cupti *cupti, const struct ss_cupti_graph_data *data);
/* The writer: passes the nodes that are new since the last call. */
void ss_graph_nodes_drain(void (*visit)(uint64_t node, uint32_t stack));

#endif
