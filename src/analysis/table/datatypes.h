/* SPDX-License-Identifier: Apache-2.0 */
/* The number formats that devices compute in, as profilers name them. Pure. */
#ifndef SS_ANALYSIS_TABLE_DATATYPES_H
#define SS_ANALYSIS_TABLE_DATATYPES_H

#include "base/strview.h"

enum ss_datatype {
    SS_DATATYPE_UNKNOWN,
    SS_DATATYPE_FP64,
    SS_DATATYPE_FP32,
    SS_DATATYPE_TF32, /* float32 in memory, rounded by the units that multiply */
    SS_DATATYPE_FP16,
    SS_DATATYPE_BF16,
    SS_DATATYPE_FP8,
    SS_DATATYPE_INT8,
    SS_DATATYPE_OTHER, /* integers, booleans, complex numbers */
    SS_DATATYPES
};

struct ss_element {
    enum ss_datatype type;
    unsigned bytes; /* 0: unknown */
};

/* "c10::BFloat16", "float", "long int", … as in torch.profiler's "Input type". */
struct ss_element ss_element_of(struct ss_strview text);
/* "bf16"; of unknown ones "?" */
const char *ss_datatype_name(enum ss_datatype type);
/* Of an element in memory; 0: unknown, or more than one size. */
unsigned ss_datatype_bytes(enum ss_datatype type);

/* What a kernel multiplies, as far as its name says; UNKNOWN: it does not say. */
enum ss_datatype ss_kernel_datatype(struct ss_strview kernel);
/* The format in which a matrix product of `type` runs in this kernel: float32 may be TF32. */
enum ss_datatype ss_kernel_refine_datatype(enum ss_datatype type, struct ss_strview kernel);

#endif
