/* SPDX-License-Identifier: Apache-2.0 */
/* Moves the times of a model by the fits of its inputs' clocks. Private to model/. Stateless. */
#ifndef SS_MODEL_CLOCK_CLOCK_MOVE_H
#define SS_MODEL_CLOCK_CLOCK_MOVE_H

#include "model/core/clock_fit.h"
#include "model/core/model.h"

struct ss_clock_moves {
    const struct ss_clock_segments **by_input; /* NULL: stays */
};

void ss_clock_move(struct ss_model *model, const struct ss_clock_moves *moves);

#endif
