/* SPDX-License-Identifier: Apache-2.0 */
/* The names of shared_names.def as constants: ss_domain_torch, ss_phase_forward,
 * ss_fact_torch_steps, ss_counter_operators_recorded, … Immutable. */
#ifndef SS_BASE_SHARED_NAMES_H
#define SS_BASE_SHARED_NAMES_H

#include <stdbool.h>

#define SS_SHARED_NAME(kind, id, text, meaning) extern const char ss_##kind##_##id[sizeof text];
#include "base/shared_names.def"
#undef SS_SHARED_NAME

struct ss_shared_name {
    const char *kind, *id, *text, *meaning;
};
/* All of them; ends with a row without kind. */
extern const struct ss_shared_name ss_shared_names[];
/* Whether it is a domain of ranges that the recorder itself provides, not the program. */
bool ss_is_shared_domain(const char *text);

#endif
