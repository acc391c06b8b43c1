/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds a model of one input to another, as if the input had been loaded into it: the rows, their
 * order and their ids are the same. So files can be loaded beside each other, each into a model of
 * its own, and the result does not depend on how many at a time. Private to model/. Stateless.
 */
#ifndef SS_MODEL_BUILDER_ABSORB_H
#define SS_MODEL_BUILDER_ABSORB_H

#include "model/core/model.h"

/* `part` is a model into which one file was loaded with `load`. false: the part must be loaded into
 * `model` itself, which is as it was: its file has processes that an earlier file has (windows of
 * one recording), or several inputs, or more than the limits of the request allow together. */
bool ss_model_absorb(struct ss_model *model, const struct ss_model *part,
                     const struct ss_model_load *load);

#endif
