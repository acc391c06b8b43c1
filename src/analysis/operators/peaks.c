/* SPDX-License-Identifier: Apache-2.0 */
/* The peak rates of what computes a training. */
#include <stdio.h>
#include <string.h>

#include "analysis/kernels/device_peaks.h"
#include "analysis/operators/flops.h"

/* Per core and cycle, in 32-bit floats: two multiply-add units. */
static const struct {
    const char *capability;
    int flops_per_cycle;
} cpus[] = {{"AVX512", 64}, {"AVX2", 32}};

/* In 16-bit floats, by matrix units: trainings on such devices rarely use others. */
struct ss_peak ss_peak_of_gpu(struct ss_strview name)
{
    struct ss_peak peak = {0};
    const struct ss_device_peaks *peaks = ss_device_peaks_of(name, 0);
    if (peaks != NULL) {
        peak.flops_per_s = ss_device_peak(peaks, SS_DATATYPE_FP16, true);
        snprintf(peak.of, sizeof peak.of, "%s in 16-bit floats", peaks->name);
    }
    return peak;
}

struct ss_peak ss_peak_of_cpu(struct ss_strview capability, int64_t mhz, int64_t threads)
{
    struct ss_peak peak = {0};
    for (size_t i = 0; i < sizeof cpus / sizeof *cpus && mhz > 0 && threads > 0; i++) {
        if (ss_strview_equal(capability, ss_strview_of(cpus[i].capability))) {
            peak.flops_per_s = (double)threads * (double)mhz * 1e6 * cpus[i].flops_per_cycle;
            snprintf(peak.of, sizeof peak.of, "%lld CPU thread%s with %s at %.2f GHz, estimated",
                     (long long)threads, threads == 1 ? "" : "s", cpus[i].capability,
                     (double)mhz / 1000);
            break;
        }
    }
    return peak;
}
