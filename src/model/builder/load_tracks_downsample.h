/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Downsamples operators by whole steps. The operators of a long training do not fit into memory,
 * and its steps are similar: above the limit, the operators of a random half of the steps are
 * dropped, then of half of the remaining steps, and so on. Steps stay whole, so that means per step
 * stay correct; the counter "operators recorded" is 0 for the dropped steps, as for steps that were
 * not recorded. Private to model/.
 */
#ifndef SS_MODEL_BUILDER_LOAD_TRACKS_DOWNSAMPLE_H
#define SS_MODEL_BUILDER_LOAD_TRACKS_DOWNSAMPLE_H

#include "model/builder/load_tracks.h"

/* Called when there are more operator events than load_tracks.most_operators. */
void ss_load_downsample(struct ss_load_tracks *tracks, struct ss_model *model);
/* At the end of the input, before its values are sorted. */
void ss_load_downsample_end(struct ss_load_tracks *tracks, struct ss_model *model);

#endif
