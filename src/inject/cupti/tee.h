/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A second client of CUPTI in this process, such as the profiler of torch: CUPTI has one set of
 * callbacks for buffers, which stays ours. The client's calls of CUPTI come here instead: its
 * records are copied into its buffers, with the times of its clock, before ours are decoded, and
 * kinds are enabled while one of the two wants them. It gets its callbacks through our
 * subscription.
 *
 * Any thread. The lock of this file is held while the client is asked for a buffer or gets one; no
 * function of CUPTI that calls back is called with it.
 */
#ifndef SS_INJECT_CUPTI_TEE_H
#define SS_INJECT_CUPTI_TEE_H

#include <stdbool.h>

#include "inject/cupti/load.h"

/* `restore`: called when the client no longer wants a kind: CUPTI collects it as we want it. */
void ss_cupti_tee_init(const struct ss_cupti *cupti, void (*restore)(int kind));
/* Directs calls of CUPTI here, of all libraries that are loaded. false: none calls it. */
bool ss_cupti_tee_connect(void);
/* Calls of a client come here. */
bool ss_cupti_tee_is_connected(void);
/* The client's clock can be converted to: CUPTI takes its times from CLOCK_MONOTONIC. */
void ss_cupti_tee_set_clock(bool is_monotonic);

/* Ours, which CUPTI knows. */
void ss_cupti_tee_set_subscriber(const struct ss_cupti *cupti, void *subscriber);
/* Of our subscription: what the client wants of it. */
void ss_cupti_tee_callback(int domain, uint32_t function, const void *data);
/* Ours were switched off: those of the client are not. */
void ss_cupti_tee_enable_callbacks(void);

/* Whether the client wants records now. */
bool ss_cupti_tee_is_active(void);
bool ss_cupti_tee_wants_kind(int kind);
bool ss_cupti_tee_wants_function(int domain, uint32_t function);
/* CUPTI begins a buffer: the client gets one, too. */
void ss_cupti_tee_on_request(void);
/* CUPTI has filled a buffer: copies the client's records. */
void ss_cupti_tee_copy(uint8_t *buffer, size_t valid);
/* Records that CUPTI dropped, as we read its count. */
void ss_cupti_tee_add_dropped(size_t dropped);
/* Those that the client has read since the last call. */
size_t ss_cupti_tee_take_dropped(void);

#endif
