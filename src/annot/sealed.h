/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program's side of the recorder's notices: waits for notices of finished windows, and for a
 * flush. Polls and sleeps. Any thread, but no signal handler; no allocation.
 */
#ifndef SS_ANNOT_SEALED_H
#define SS_ANNOT_SEALED_H

#include <stdint.h>

#ifndef STEPSCOPE_BUILDING
#define STEPSCOPE_BUILDING
#endif
#include "stepscope/stepscope.h"

int ss_sealed_wait(uint64_t number, uint32_t timeout_ms, struct stepscope_sealed *out);
int ss_flush_wait(uint32_t timeout_ms);

#endif
