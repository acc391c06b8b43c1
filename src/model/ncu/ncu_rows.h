/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds the kernels that Nsight Compute measured to the model: each as work of its stream, with its
 * metrics. A kernel's begin is not known, so the kernels of a file lie one behind the other. Owned
 * by one loader. Private to model/.
 */
#ifndef SS_MODEL_NCU_NCU_ROWS_H
#define SS_MODEL_NCU_NCU_ROWS_H

#include "base/strbuf.h"
#include "model/builder/builder.h"

/* A kernel whose rows are being read. Texts are those of ss_ncu_keep. */
struct ss_ncu_kernel {
    bool is_open, has_name;
    int64_t id, pid, context, stream, device; /* -1: unknown */
    int64_t grid[3], block[3];                /* -1: unknown */
    struct ss_strview name, process, capability;
    double duration_ns;
    struct ss_vec_of(struct ss_builder_metric) metrics;
};

struct ss_ncu_rows {
    struct ss_model_builder *builder;
    struct ss_ncu_kernel kernel;
    uint64_t kernels, end_ns;        /* of all so far */
    struct ss_intern keys;           /* kind and ids of the rows below */
    struct ss_vec_of(uint32_t) rows; /* by key */
    struct ss_strbuf unit;
};

void ss_ncu_rows_init(struct ss_ncu_rows *rows, struct ss_model_builder *builder);
void ss_ncu_rows_fini(struct ss_ncu_rows *rows);

/* The same text, valid as long as the model. */
struct ss_strview ss_ncu_keep(struct ss_ncu_rows *rows, struct ss_strview text);

/* Ends the kernel before it, unless it is the same. */
void ss_ncu_begin_kernel(struct ss_ncu_rows *rows, int64_t id, int64_t pid);
void ss_ncu_end_kernel(struct ss_ncu_rows *rows);

/* What a column of metrics is: its kind, and what values are multiplied by. */
struct ss_ncu_metric {
    uint32_t kind;
    double factor;
    bool is_duration;    /* of the kernel */
    bool is_device_name; /* of the kernel's device */
};
struct ss_ncu_metric ss_ncu_metric_of(struct ss_ncu_rows *rows, struct ss_strview section,
                                      struct ss_strview name, struct ss_strview unit);
/* Adds the value, a text of ss_ncu_keep, to the open kernel. */
void ss_ncu_put_metric(struct ss_ncu_rows *rows, const struct ss_ncu_metric *metric,
                       struct ss_strview value);
/* "1,234" with thousands separators, as a number. False: it is none. */
bool ss_ncu_number(struct ss_strview text, double *number);

#endif
