/* SPDX-License-Identifier: Apache-2.0 */
/* Which code runs at an event of an allocator: allocations.h says how. Private to allocation*.c.
 * Borrows the model and the steps; adds lines to the allocations. */
#ifndef SS_ANALYSIS_MEMORY_ALLOCATION_CODE_H
#define SS_ANALYSIS_MEMORY_ALLOCATION_CODE_H

#include "analysis/memory/allocation_events.h"
#include "analysis/memory/allocations.h"
#include "analysis/table/range_finder.h"

/* What a name, or a path of names, says. */
struct ss_allocation_evidence {
    struct ss_allocation_code code;
    uint8_t rank;     /* of the line: the higher, the better a person knows the place */
    bool is_operator; /* it does more than allocate */
};

struct ss_numbered_module {
    uint32_t process, module;
    int64_t number;
};

struct ss_allocation_coder {
    const struct ss_model *model;
    const struct ss_step_summary *training; /* may be NULL */
    struct ss_allocations *allocations;
    const struct ss_range_finder *finder; /* of the selection */
    struct ss_allocation_evidence *paths; /* by path: of operators and annotations */
    struct ss_allocation_evidence *calls; /* by path: of Python's calls; NULL: there are none */
    bool *copies;                         /* by range: an operator that copies from the host */
    /* By process and autograd's number. */
    struct ss_vec_of(struct ss_numbered_module) modules;
    /* What stacks say. `stacks`: by string, index + 1; 0: not read yet. */
    struct ss_vec_of(uint32_t) stacks;
    struct ss_vec_of(struct ss_allocation_code) stack_codes;
};

void ss_allocation_coder_init(struct ss_allocation_coder *coder,
                              const struct ss_selection *selection,
                              const struct ss_step_summary *training,
                              struct ss_allocations *allocations);
void ss_allocation_coder_fini(struct ss_allocation_coder *coder);
struct ss_allocation_code ss_allocation_code_of(struct ss_allocation_coder *coder,
                                                const struct ss_allocation_event *event);

/* Frames (allocation_frames.c). `text`: as in the field `stack`. */
struct ss_allocation_code ss_allocation_code_of_stack(struct ss_allocations *allocations,
                                                      struct ss_strview text);
/* Of each path of the model whose names are functions; owned by the caller. */
struct ss_allocation_evidence *ss_allocation_calls(struct ss_allocations *allocations);

#endif
