/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clock domains: the machines, boots and time namespaces whose monotonic clocks count differently.
 * Maps each to the common time axis, which is CLOCK_MONOTONIC of the first domain. Private to
 * model/. Stateless.
 */
#ifndef SS_MODEL_CLOCK_CLOCK_DOMAINS_H
#define SS_MODEL_CLOCK_CLOCK_DOMAINS_H

#include "model/core/model.h"

/* Stores a reading of the clocks of `input`. Its first one decides the mapping. */
void ss_clock_domains_reading(struct ss_model *model, uint32_t input,
                              const struct ss_trace_clock *clock);
/* Stores what an attribute of `input` says of its clock domain; ignores the others. */
void ss_clock_domains_attribute(struct ss_model *model, uint32_t input,
                                const struct ss_trace_attribute *attribute);
/* The same, of the host that it was recorded on. */
void ss_clock_domains_host(struct ss_model *model, uint32_t input,
                           const struct ss_trace_host *host);
/* Sets the domain of the input, whose boot and first reading are known if it has any; earlier
 * inputs have theirs already. Returns the shift of its times to the axis, in ns. */
int64_t ss_clock_domains_place(struct ss_model *model, uint32_t input);
/* When all inputs are loaded: sets the errors of the mappings. */
void ss_clock_domains_finish(struct ss_model *model);

#endif
