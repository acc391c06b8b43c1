/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The programs of a selection: each rank with the processes below it, such as the workers of its
 * data loader; where an input has no ranks, each process that uses a device, or else all of its
 * processes are one program. For formats that hold one program in a file. Pure; borrows the
 * selection.
 */
#ifndef SS_ANALYSIS_SELECTION_PROGRAMS_H
#define SS_ANALYSIS_SELECTION_PROGRAMS_H

#include "analysis/selection/selection.h"

struct ss_program {
    struct ss_selection selection; /* of its processes; its arrays are the program's own */
    uint32_t process;              /* the rank, or the first process */
    uint32_t input;
    bool has_rank;
    bool shares_input;         /* with other programs without a rank */
    uint32_t rank, world_size; /* world_size 0: unknown */
};

struct ss_programs {
    struct ss_vec_of(struct ss_program) rows; /* by rank, then by input */
    size_t left_out; /* processes with ranges of their own beside ranks: launchers */
};

void ss_programs_init(struct ss_programs *programs, const struct ss_selection *selection);
void ss_programs_fini(struct ss_programs *programs);

/* Begins of the steps of the program, in ascending order: those of its thread with most steps. */
struct ss_program_steps ss_vec_of(uint64_t);
void ss_program_steps(const struct ss_program *program, struct ss_program_steps *begins);

#endif
