/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How close kernels come to what their device can do: floating-point operations and bytes of the
 * operators that launched them, estimated from shapes, over the time of the kernels. A kernel
 * belongs to the innermost operator around its launch that has an estimate; kernels of one call
 * share its work by their time, without those that only prepare it (conversions of layout). Where
 * no device has work, the operators' own time on the host takes its place. Counters that were
 * measured of a kernel of the same name (kernel_counters.h) replace its estimate. Pure; immutable
 * once built. Borrows the model.
 */
#ifndef SS_ANALYSIS_ROOFLINE_ROOFLINE_H
#define SS_ANALYSIS_ROOFLINE_ROOFLINE_H

#include "analysis/kernels/device_peaks.h"
#include "analysis/launches/device_work.h"
#include "analysis/operators/operator_calls.h"
#include "analysis/steps/steps.h"
#include "analysis/table/table.h"

/* What one row is. */
enum ss_roofline_grouping {
    SS_ROOFLINE_BY_FAMILY,
    SS_ROOFLINE_BY_OPERATOR,
    SS_ROOFLINE_BY_MODULE = 2, /* with inner modules and its backward */
    SS_ROOFLINE_BY_KERNEL = 4
};

/* Why a kernel has no estimate. */
enum ss_roofline_gap {
    SS_ROOFLINE_NO_LAUNCH,   /* its launch was not recorded */
    SS_ROOFLINE_NO_OPERATOR, /* no operator was recorded around the launch: graphs */
    SS_ROOFLINE_NO_SHAPES,   /* not recorded, or not all that is needed */
    SS_ROOFLINE_NO_FORMULA,
    SS_ROOFLINE_PREPARES, /* for other kernels of its operator, which have the estimate */
    SS_ROOFLINE_GAPS
};

/* Where FLOPs and bytes come from. */
enum ss_roofline_source {
    SS_ROOFLINE_UNKNOWN,
    SS_ROOFLINE_ESTIMATED,
    SS_ROOFLINE_MEASURED,
    SS_ROOFLINE_MEASURED_BYTES, /* FLOPs are estimated, or unknown */
    SS_ROOFLINE_MEASURED_FLOPS, /* bytes are */
    SS_ROOFLINE_SOURCES
};

/* Rows differ by name, format, device, and source. */
struct ss_roofline_row {
    uint32_t name; /* id of struct ss_roofline.names */
    enum ss_kernel_family family;
    enum ss_datatype type;
    const struct ss_device_peaks *peaks; /* NULL: unknown */
    bool is_matrix;                      /* by the units for matrix products */
    enum ss_roofline_source source;
    bool has_flops;
    bool has_bytes; /* measured, or the types of all that it moves are known */
    uint64_t instances, ns;
    double flops, bytes;
    uint64_t gap_ns[SS_ROOFLINE_GAPS]; /* of an unknown source */
};

/* Of steady-state steps: FLOPs of matrix products, convolutions and attention, over all processes.
 */
struct ss_roofline_steps {
    size_t steps; /* with such operators; 0: none, and all else is 0 */
    uint64_t total_ns;
    double flops;          /* without what is computed again */
    double again_flops;    /* activations that the backward computes again (checkpointing) */
    double backward_flops; /* of `flops` */
    bool is_assumed;       /* the backward has no shapes: twice the forward, in `flops` */
    bool is_forward_only;  /* there is no backward */
    enum ss_datatype type; /* of most FLOPs */
    double peak_flops;     /* what the devices could do in that time; 0: unknown */
    const struct ss_device_peaks *peaks; /* of the first process */
    double unknown_percent; /* of the time of kernels that multiply, by their names, in the whole
                             * recording: those without an estimate */
};

struct ss_roofline {
    const struct ss_model *model;
    struct ss_intern names;
    struct ss_vec_of(struct ss_roofline_row) rows; /* in order of their first kernel */
    uint64_t total_ns, estimated_ns;               /* of kernels that compute, each once */
    bool is_host;                                  /* times are those of operators on the host */
    bool has_shapes;
    bool has_counters; /* of kernels */
    struct ss_roofline_steps steps;
};

/* `training` may be NULL. */
void ss_roofline_init(struct ss_roofline *roofline, const struct ss_selection *selection,
                      const struct ss_step_summary *training, unsigned grouping);
void ss_roofline_fini(struct ss_roofline *roofline);

/* The steps alone. */
void ss_roofline_find_steps(struct ss_roofline_steps *steps, const struct ss_selection *selection,
                            const struct ss_step_summary *training);
/* True where so many matrix products have no estimate that a model's FLOPs are clearly more. */
static inline bool ss_roofline_is_partial(const struct ss_roofline_steps *steps)
{
    return steps->unknown_percent > 5;
}
/* FLOPs per second that the steps used, and the percent of the peak (model FLOPs utilisation); 0:
 * unknown. */
double ss_roofline_rate(const struct ss_roofline_steps *steps);
double ss_roofline_mfu(const struct ss_roofline_steps *steps);

enum ss_roofline_column {
    SS_ROOFLINE_NAME,
    SS_ROOFLINE_SHORT,  /* of kernels: ss_kernel_short_name */
    SS_ROOFLINE_FAMILY, /* what the kernels compute; absent of modules */
    SS_ROOFLINE_TYPE,   /* "bf16"; absent: unknown */
    SS_ROOFLINE_UNITS,  /* "matrix" or "vector": which of the device's peaks applies */
    SS_ROOFLINE_DEVICE, /* whose peaks apply; absent: unknown */
    SS_ROOFLINE_SOURCE, /* "estimated from shapes", "measured", or why it is neither */
    SS_ROOFLINE_INSTANCES,
    SS_ROOFLINE_TIME,
    SS_ROOFLINE_PERCENT, /* of the time of all kernels that compute */
    SS_ROOFLINE_FLOPS,   /* this and the next six are absent where unknown */
    SS_ROOFLINE_BYTES,
    SS_ROOFLINE_RATE,      /* FLOPs per second of the time */
    SS_ROOFLINE_BANDWIDTH, /* bytes per second of the time */
    SS_ROOFLINE_INTENSITY, /* FLOPs per byte */
    SS_ROOFLINE_PEAK,      /* of the device: this and the next four are absent where unknown */
    SS_ROOFLINE_PEAK_BANDWIDTH,
    SS_ROOFLINE_ROOF,         /* FLOPs per second: the peak, or what the bandwidth allows */
    SS_ROOFLINE_ROOF_PERCENT, /* of the roof; without FLOPs of the bandwidth */
    SS_ROOFLINE_BOUND,        /* "compute" or "memory" */
    SS_ROOFLINE_NOTE,         /* "above the roof": impossible, the estimate is wrong */
    SS_ROOFLINE_COLUMNS
};

enum ss_roofline_sort {
    SS_ROOFLINE_SORT_TIME,
    SS_ROOFLINE_SORT_FLOPS,
    SS_ROOFLINE_SORT_BYTES,
    SS_ROOFLINE_SORT_ROOF, /* percent of the roof */
    SS_ROOFLINE_SORT_NAME
};

struct ss_roofline_options {
    size_t size;
    unsigned grouping; /* enum ss_roofline_grouping */
    enum ss_roofline_sort sort;
    uint64_t max_rows; /* 0: all */
};

void ss_roofline_table(const struct ss_selection *selection, const struct ss_step_summary *training,
                       const struct ss_roofline_options *options, struct ss_table *table);

#endif
