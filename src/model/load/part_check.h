/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a model that was read from bytes holds together. Private to model/. Pure. */
#ifndef SS_MODEL_LOAD_PART_CHECK_H
#define SS_MODEL_LOAD_PART_CHECK_H

#include "model/core/model.h"

/* What is wrong with a model of one input: a reference beyond its table, a value that its type does
 * not have, a row that is its own ancestor. NULL: nothing; it can be absorbed. */
const char *ss_part_check(const struct ss_model *part);

#endif
