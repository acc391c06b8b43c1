/* SPDX-License-Identifier: Apache-2.0 */
/* What devices can do at most, by the vendors' data sheets (device_peaks.def). Pure. */
#ifndef SS_ANALYSIS_KERNELS_DEVICE_PEAKS_H
#define SS_ANALYSIS_KERNELS_DEVICE_PEAKS_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/table/datatypes.h"

enum ss_peak_unit {
    SS_PEAK_FP64,
    SS_PEAK_FP64_MATRIX,
    SS_PEAK_FP32,
    SS_PEAK_FP32_MATRIX,
    SS_PEAK_TF32,
    SS_PEAK_FP16,
    SS_PEAK_BF16,
    SS_PEAK_FP8,
    SS_PEAK_INT8,
    SS_PEAK_UNITS
};

struct ss_device_peaks {
    const char *words[3];               /* all of them are in the driver's name; NULL: no more */
    unsigned least_gib, most_gib;       /* of memory; 0: any */
    const char *name;                   /* "A100 SXM 80 GB" */
    double tflops_per_s[SS_PEAK_UNITS]; /* 0: it has no such units */
    double gb_per_s;                    /* of its memory, 10^9 bytes */
    const char *source;                 /* in words */
};

/* Ends with a NULL name. */
extern const struct ss_device_peaks ss_device_peaks_known[];

/* The device that a driver names so, with so much memory (0: unknown); NULL: unknown. */
const struct ss_device_peaks *ss_device_peaks_of(struct ss_strview model, uint64_t memory_bytes);

/* Whether a driver's name of a device has this word: whole, upper and lower case alike. */
bool ss_device_name_has(struct ss_strview name, const char *word);

/* FLOPs per second in this format: of matrix products, or of all else; 0: none is stated. `peaks`
 * may be NULL. */
double ss_device_peak(const struct ss_device_peaks *peaks, enum ss_datatype type, bool is_matrix);
/* Bytes per second; 0: unknown. */
double ss_device_bandwidth(const struct ss_device_peaks *peaks);

#endif
