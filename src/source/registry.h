/* SPDX-License-Identifier: Apache-2.0 */
/* All sources, in the order of help, doctor and recordings. */
#ifndef SS_SOURCE_REGISTRY_H
#define SS_SOURCE_REGISTRY_H

#include "source/source.h"

/* Without `start`: the loop of the recorder drives it by source/python_sampler.h. */
extern const struct ss_source_ops ss_source_python;

/* Ends with NULL. */
extern const struct ss_source_ops *const ss_sources[];

#endif
