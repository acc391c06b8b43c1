/* SPDX-License-Identifier: Apache-2.0 */
/* Every source there is, in the order in which help, doctor and recordings name them. */
#ifndef SS_SOURCE_REGISTRY_H
#define SS_SOURCE_REGISTRY_H

#include "source/source.h"

/* Driven by the recorder's own loop, thread by thread (source/python_sampler.h): it has no start.
 */
extern const struct ss_source_ops ss_source_python;

/* Ends with NULL. */
extern const struct ss_source_ops *const ss_sources[];

#endif
