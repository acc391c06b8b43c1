/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of phases in a training, in order of time and without overlap: what lies between two
 * parts of a step is "other". A backward pass comes without its waits for communication, which are
 * parts of their own. Pure; immutable once built. Borrows the model; `summary` needs its index and
 * its list of phases.
 */
#ifndef SS_ANALYSIS_STEPS_STEP_PARTS_H
#define SS_ANALYSIS_STEPS_STEP_PARTS_H

#include "analysis/steps/steps.h"

struct ss_step_part {
    uint32_t process;
    size_t phase; /* of the summary */
    uint64_t begin_ns, end_ns;
    uint64_t before_ns; /* of this phase of this process, before this part: by phase only */
};

struct ss_step_parts ss_vec_of(struct ss_step_part);

/* By process, then by time. */
void ss_step_parts_init(struct ss_step_parts *parts, const struct ss_step_summary *summary,
                        const struct ss_selection *selection);
/* By phase, then by process, then by time; with `before_ns`. */
void ss_step_parts_sort_by_phase(struct ss_step_parts *parts);
int ss_step_part_compare_of_phase(const void *left, const void *right);
void ss_step_parts_fini(struct ss_step_parts *parts);

/* The index of a phase by its name, among the first `count`; `count`: it is none of them. */
size_t ss_step_find_phase(const struct ss_step_summary *summary, size_t count, uint32_t name);
uint32_t ss_step_phase_name(const struct ss_model *model, const struct ss_model_range *range);
/* The string of a name in the recording; 0: none. */
uint32_t ss_step_find_name(const struct ss_model *model, const char *text);
/* The next run of phases of a selected process; NULL: none. */
const struct ss_range_run *ss_step_next_run(const struct ss_step_summary *summary,
                                            const struct ss_selection *selection,
                                            const struct ss_range_run *run);
/* Index of the first part of the process that ends after `time_ns`; of the part behind them if none
 * does. */
size_t ss_step_parts_first(const struct ss_step_parts *parts, uint32_t process, uint64_t time_ns);

#endif
