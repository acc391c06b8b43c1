/* SPDX-License-Identifier: Apache-2.0 */
/* What a kernel computes, as far as its name says (kernel_families.def). Pure. */
#ifndef SS_ANALYSIS_TABLE_KERNEL_FAMILIES_H
#define SS_ANALYSIS_TABLE_KERNEL_FAMILIES_H

#include <stdbool.h>

#include "base/strview.h"

enum ss_kernel_family {
    SS_KERNEL_OTHER,
    SS_KERNEL_MATMUL,
    SS_KERNEL_CONVOLUTION,
    SS_KERNEL_ATTENTION,
    SS_KERNEL_NORMALISATION,
    SS_KERNEL_ELEMENTWISE,
    SS_KERNEL_REDUCTION,
    SS_KERNEL_EMBEDDING,
    SS_KERNEL_OPTIMIZER,
    SS_KERNEL_CONVERSION, /* of layout or type, padding, concatenation: moves data only */
    SS_KERNEL_FAMILIES
};

struct ss_kernel_kind {
    enum ss_kernel_family family;
    bool is_float32; /* of matrix products: by units that are not made for them */
};

struct ss_kernel_kind ss_kernel_kind_of(struct ss_strview name);
/* "matmul", "convolution", … */
const char *ss_kernel_family_name(enum ss_kernel_family family);

#endif
