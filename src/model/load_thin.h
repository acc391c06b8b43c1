/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators of a long training are more than fit into memory, and steps are alike: when there are
 * too many, those of half of the steps are left out, drawn by chance, then of half of the rest, and
 * so on. Whole steps, so that means per step stay right; the counter "operators recorded" then says
 * no of the others, as it does where they were not recorded. Private to model/.
 */
#ifndef SS_MODEL_LOAD_THIN_H
#define SS_MODEL_LOAD_THIN_H

#include "model/load_tracks.h"

/* Called when there are more events of operators than load_tracks.most_operators. */
void ss_load_thin(struct ss_load_tracks *tracks, struct ss_model *model);
/* At the end of the input, before its values are put into order. */
void ss_load_thin_end(struct ss_load_tracks *tracks, struct ss_model *model);

#endif
