/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Of which steps the operators were recorded: the counter "operators recorded" tells as a step
 * begins (src/inject/torch.h). Without it, and before its first value, of all. Pure.
 */
#ifndef SS_ANALYSIS_RECORDED_STEPS_H
#define SS_ANALYSIS_RECORDED_STEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/model.h"

struct ss_recorded_steps {
    const struct ss_model *model;
    struct ss_told_values {
        size_t at, end; /* values of the model that are not behind */
    } * told;           /* by process */
};

void ss_recorded_steps_init(struct ss_recorded_steps *recorded, const struct ss_model *model);
void ss_recorded_steps_fini(struct ss_recorded_steps *recorded);
/* The steps of a process in order of their ends. */
bool ss_recorded_steps_has(struct ss_recorded_steps *recorded, uint32_t process, uint64_t end_ns);

#endif
