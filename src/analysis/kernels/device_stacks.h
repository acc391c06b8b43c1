/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The time of devices as stacks: where it was launched, and what ran. The frames of Python at the
 * launch (launch_lines.h), outermost first, then the annotations and operators around it, then the
 * kernel or copy. What was launched before the recording is below a frame that says so.
 */
#ifndef SS_ANALYSIS_KERNELS_DEVICE_STACKS_H
#define SS_ANALYSIS_KERNELS_DEVICE_STACKS_H

#include "model/core/model.h"

/* Replaces the samples of a loaded model (with its tracks): totals count nanoseconds. Without work
 * of devices, there are none. */
void ss_device_stacks_weigh(struct ss_model *model);

#endif
