/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/cupti/graph_nodes.h"

#include <pthread.h>
#include <stdbool.h>

enum { MOST_NODES = 1 << 16, SLOTS = 2 * MOST_NODES /* a power of two */ };

static struct {
    pthread_mutex_t lock;
    uint32_t count, drained;
    struct {
        uint64_t node;
        uint32_t stack;
    } rows[MOST_NODES];    /* in order of arrival */
    uint32_t slots[SLOTS]; /* a row plus one, by the hash of its node; 0: free */
} nodes = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The slot of the node, or the free one where it belongs. */
static uint32_t *slot_of(uint64_t node)
{
    uint32_t at = (uint32_t)(node * UINT64_C(0x9e3779b97f4a7c15) >> 32) % SLOTS;
    while (nodes.slots[at] != 0 && nodes.rows[nodes.slots[at] - 1].node != node) {
        at = (at + 1) % SLOTS;
    }
    return &nodes.slots[at];
}

static void put(uint64_t node, uint32_t stack)
{
    uint32_t *slot = slot_of(node);
    if (stack != 0 && *slot == 0 && nodes.count < MOST_NODES) {
        nodes.rows[nodes.count].node = node;
        nodes.rows[nodes.count].stack = stack;
        *slot = ++nodes.count;
    }
}

static bool find_id(const struct ss_cupti *cupti, void *node, uint64_t *id)
{
    return cupti->GetGraphNodeId != NULL && node != NULL &&
           cupti->GetGraphNodeId(node, id) == SS_CUPTI_OK;
}

void ss_graph_node_made(const struct ss_cupti *cupti, const struct ss_cupti_graph_data *data,
                        uint32_t stack)
{
    uint64_t id;
    if (find_id(cupti, data->node, &id)) {
        pthread_mutex_lock(&nodes.lock);
        put(id, stack);
        pthread_mutex_unlock(&nodes.lock);
    }
}

void ss_graph_node_cloned(const struct ss_cupti *cupti, const struct ss_cupti_graph_data *data)
{
    uint64_t id, original;
    if (find_id(cupti, data->node, &id) && find_id(cupti, data->original_node, &original)) {
        pthread_mutex_lock(&nodes.lock);
        uint32_t row = *slot_of(original);
        put(id, row != 0 ? nodes.rows[row - 1].stack : 0);
        pthread_mutex_unlock(&nodes.lock);
    }
}

void ss_graph_nodes_drain(void (*visit)(uint64_t node, uint32_t stack))
{
    pthread_mutex_lock(&nodes.lock);
    uint32_t count = nodes.count;
    pthread_mutex_unlock(&nodes.lock);
    for (; nodes.drained < count; nodes.drained++) { /* rows below the count do not change */
        visit(nodes.rows[nodes.drained].node, nodes.rows[nodes.drained].stack);
    }
}
