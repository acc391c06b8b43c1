/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Of which steps the operators were recorded: the counter "operators recorded" tells as a step
 * begins (src/inject/torch.h), and before its end if some were lost. Without it, and before its
 * first value, of all. Pure.
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
        size_t at, end;            /* values of the model that are not behind */
        bool lost_some, has_whole; /* steps */
    } * told;                      /* by process */
};

void ss_recorded_steps_init(struct ss_recorded_steps *recorded, const struct ss_model *model);
void ss_recorded_steps_fini(struct ss_recorded_steps *recorded);
/* The steps of a process in order of their ends. */
bool ss_recorded_steps_has(struct ss_recorded_steps *recorded, uint32_t process, uint64_t end_ns);
/* Its operators can be counted: none was lost. Where some were of each step, those have to do. */
bool ss_recorded_steps_counts(struct ss_recorded_steps *recorded, uint32_t process,
                              uint64_t end_ns);
/* They have to do: there are more operators than are counted. */
bool ss_recorded_steps_lost_some(const struct ss_recorded_steps *recorded, uint32_t process);

#endif
