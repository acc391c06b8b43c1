/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Aligns the clocks of a model's inputs by pings between their recorders, and by the collectives of
 * their ranks: no rank leaves a collective before the last one has entered it
 * (model/core/clock_fit.h). Domains of other machines or boots, whose times lie on the axis only by
 * the wall clock, are fitted to the domain of the axis, and then to those that have been fitted:
 * the graph of domains that share collectives. The errors add up along it. Files of other tools,
 * which all count by the wall clock, are only fitted where that contradicts their collectives.
 *
 * Errors hold from the first to the last collective of a domain; before and after, the drift adds
 * to them.
 *
 * A domain whose bounds contradict each other is marked: its ranks are left out of what compares
 * ranks. One without collectives keeps the wall clock. Private to model/. Stateless.
 */
#ifndef SS_MODEL_CLOCK_CLOCK_ALIGN_H
#define SS_MODEL_CLOCK_CLOCK_ALIGN_H

#include "model/core/model.h"

/* When all inputs are loaded. Moves the times of the model. */
void ss_clock_align(struct ss_model *model);

#endif
