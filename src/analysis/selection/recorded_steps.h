/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps whose operators were recorded: the counter "operators recorded" has a value at the
 * begin of each step (src/inject/torch/torch.h), and another before its end if some operators were
 * lost. The counter "detail recorded" has a value where the recorder begins to write something else
 * of steps than before: sums, or all (record/details/detail_filter.h). Without a counter, and
 * before its first value, all steps count as recorded. Pure.
 */
#ifndef SS_ANALYSIS_SELECTION_RECORDED_STEPS_H
#define SS_ANALYSIS_SELECTION_RECORDED_STEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/core/model.h"

struct ss_recorded_steps {
    const struct ss_model *model;
    struct ss_recorded_values {
        size_t at, end;            /* a cursor into the model's values, and their end */
        bool lost_some, has_whole; /* some step lost operators; some step lost none */
    } * summaries, *details;       /* by process; details: of "detail recorded" */
};

void ss_recorded_steps_init(struct ss_recorded_steps *recorded, const struct ss_model *model);
void ss_recorded_steps_fini(struct ss_recorded_steps *recorded);
/* Calls for a process must come in the order of its steps' ends. */
bool ss_recorded_steps_has(struct ss_recorded_steps *recorded, uint32_t process, uint64_t end_ns);
/* Whether the step's modules can be counted: it is in full, and not because it stood out, which
 * would make figures of steady-state steps wrong. Order of calls as above. */
bool ss_recorded_steps_is_whole(struct ss_recorded_steps *recorded, uint32_t process,
                                uint64_t end_ns);
/* Whether the step is in the recording as sums. Order of calls as above. */
bool ss_recorded_steps_is_summed(struct ss_recorded_steps *recorded, uint32_t process,
                                 uint64_t end_ns);
/* Whether the step's operators can be counted: it is whole, and lost none, or every recorded step
 * of the process lost some. */
bool ss_recorded_steps_counts(struct ss_recorded_steps *recorded, uint32_t process,
                              uint64_t end_ns);
/* Every recorded step lost operators: there are more than are counted. */
bool ss_recorded_steps_lost_some(const struct ss_recorded_steps *recorded, uint32_t process);

/* Whether any process has steps in sums. */
bool ss_model_has_summed_steps(const struct ss_model *model);
/* Whether ranges that a program marked itself are in sums, from some time on. */
bool ss_model_has_summed_ranges(const struct ss_model *model);

#endif
