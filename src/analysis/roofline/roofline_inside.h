/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the roofline. Private to roofline*.c. */
#ifndef SS_ANALYSIS_ROOFLINE_ROOFLINE_INSIDE_H
#define SS_ANALYSIS_ROOFLINE_ROOFLINE_INSIDE_H

#include "analysis/kernels/kernel_counters.h"
#include "analysis/roofline/roofline.h"

/* How surely a kernel does the work of its operator. */
enum ss_roofline_role { SS_ROLE_PREPARES, SS_ROLE_UNKNOWN, SS_ROLE_COMPUTES, SS_ROLES };

/* A call of an operator that has an estimate, and its kernels. */
struct ss_roofline_call {
    uint32_t range;
    const struct ss_operator_work *work;
    enum ss_roofline_role role; /* of the kernels that do the work: the highest there is */
    uint64_t ns[SS_ROLES], kernels[SS_ROLES];
    enum ss_datatype type;  /* as these kernels compute */
    unsigned untyped_bytes; /* of an element whose type is not recorded; 0: unknown */
};

/* What the name of a kernel says. */
struct ss_roofline_kernel {
    bool is_known;
    struct ss_kernel_kind kind;
    enum ss_datatype type;
};

/* Which call each kernel belongs to, and what it does there: a part of the analysis. */
struct ss_roofline_building {
    const struct ss_selection *selection;
    const struct ss_model *model;
    const struct ss_range_finder *finder; /* of the selection */
    struct ss_sequences sequences;
    struct ss_operator_calls calls;
    const struct ss_device_works *works; /* of the selection */
    struct ss_kernel_counters counters;
    bool has_timed; /* kernels with times: those of files without times are measurements of them */
    struct ss_vec_of(struct ss_roofline_call) known; /* calls that have kernels */
    uint32_t *known_of;                              /* by range: index into `known`, plus one */
    uint32_t *owners; /* by work: the operator's range plus one; with an estimate or not; 0: none */
    uint8_t *gaps;    /* by work: enum ss_roofline_gap, where its owner is not a known call */
    struct ss_roofline_kernel *kernels;   /* by name; known of all works */
    const struct ss_device_peaks **peaks; /* by device; NULL: unknown */
};

/* What a kernel, or on the host a call, adds to a row. */
struct ss_roofline_share {
    enum ss_kernel_family family;
    enum ss_datatype type;
    const struct ss_device_peaks *peaks;
    bool is_matrix, has_flops, has_bytes;
    enum ss_roofline_source source;
    enum ss_roofline_gap gap;
    uint64_t ns;
    double flops, bytes;
};

/* Built once for each selection. */
const struct ss_roofline_building *ss_selection_roofline(const struct ss_selection *selection);
/* The family of a work, by its name. */
enum ss_kernel_family ss_roofline_family(const struct ss_roofline_building *building,
                                         uint32_t name);
/* The role of a kernel in a call with this work. */
enum ss_roofline_role ss_roofline_role(const struct ss_roofline_building *building,
                                       const struct ss_operator_work *work, uint32_t name);
/* Whether a work is a kernel that computes, and not a mere measurement of one. */
bool ss_roofline_counts(const struct ss_roofline_building *building,
                        const struct ss_device_work *work);

/* Of a kernel, by its index in `works`; `are_together`: of all kernels of its call, not only those
 * that do the work. False: neither it nor its call is known. */
bool ss_roofline_share_find(const struct ss_roofline_building *building, size_t index,
                            bool are_together, struct ss_roofline_share *share);

void ss_roofline_steps_find(struct ss_roofline_steps *steps,
                            const struct ss_roofline_building *building,
                            const struct ss_step_summary *training);

#endif
