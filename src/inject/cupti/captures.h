/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUDA graphs of the program, for its counters: whether a stream is captured at this moment, when
 * no call may wait for the device, since that would break the capture; and which kernels an
 * executable graph launches. Both are what the program's calls say, in CUPTI's callbacks, from the
 * moment on that they are enabled. Any thread; a lock is held for the time of one search, another
 * one while captures are held off.
 *
 * Kernels are known of graphs that were captured. Of those whose nodes were added one by one, and
 * of graphs beyond SS_GRAPHS_MOST, none is.
 */
#ifndef SS_INJECT_CUPTI_CAPTURES_H
#define SS_INJECT_CUPTI_CAPTURES_H

#include <stdbool.h>
#include <stdint.h>

#include "inject/cupti/load.h"

enum { SS_GRAPHS_MOST = 4096, SS_GRAPH_NAMES = 16 };

struct ss_graph_kernels {
    uint32_t count; /* of nodes that launch a kernel */
    uint32_t names; /* of the next members; further names are in `count` alone */
    struct {
        uint32_t name; /* text: the symbol */
        uint32_t count;
    } of[SS_GRAPH_NAMES];
};

/* Enables the callbacks that the other functions need; without kernels, those of captures alone.
 * Again after a new subscription. */
void ss_captures_enable(const struct ss_cupti *cupti, void *subscriber, bool with_kernels);
/* A call of the runtime or the driver begins or ends. */
void ss_captures_on_call(int domain, uint32_t function, const struct ss_cupti_callback_data *call);
/* A node was made, or a graph ends; other functions are left out. */
void ss_captures_on_resource(uint32_t function, const struct ss_cupti_resource_data *data);
bool ss_captures_is_any(void);
/* From here to ss_captures_allow, which the same thread calls, a thread that begins a capture
 * waits (10 s at most): the device may be waited for. false: a capture is open; nothing is held
 * off. */
bool ss_captures_hold_off(void);
void ss_captures_allow(void);
/* The executable graph that a call launches; NULL: it launches none. */
const void *ss_captures_launched(int domain, uint32_t function,
                                 const struct ss_cupti_callback_data *call);
/* false: its kernels are not known. */
bool ss_captures_kernels(const void *executable, struct ss_graph_kernels *kernels);

#endif
