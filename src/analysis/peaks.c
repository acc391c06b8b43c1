/* SPDX-License-Identifier: Apache-2.0 */
/* Peak rates from the vendors' data sheets: matrix units, 16-bit floats, without sparsity. */
#include <stdio.h>
#include <string.h>

#include "analysis/flops.h"

/* The first entry applies whose words all occur in the driver's name of the device. */
static const struct {
    const char *words[2];
    double tflops_per_s;
    const char *of;
} gpus[] = {
    {{"H200", NULL}, 989.4, "H200 in 16-bit floats"},
    {{"H100", "NVL"}, 835.5, "H100 NVL in 16-bit floats"},
    {{"H100", "PCIe"}, 756.5, "H100 PCIe in 16-bit floats"},
    {{"H100", NULL}, 989.4, "H100 SXM in 16-bit floats"},
    {{"A100", NULL}, 312, "A100 in 16-bit floats"},
    {{"V100", NULL}, 125, "V100 in 16-bit floats"},
    {{"L40S", NULL}, 362, "L40S in 16-bit floats"},
    {{"NVIDIA L4", NULL}, 121, "L4 in 16-bit floats"},
    {{"A10", NULL}, 125, "A10 in 16-bit floats"},
    {{"T4", NULL}, 65, "T4 in 16-bit floats"},
};

/* Per core and cycle, in 32-bit floats: two multiply-add units. */
static const struct {
    const char *capability;
    int flops_per_cycle;
} cpus[] = {{"AVX512", 64}, {"AVX2", 32}};

/* Matches whole words: "A10" is not in "A100". */
static bool has_word(struct ss_strview name, const char *word)
{
    size_t length = strlen(word);
    for (size_t i = 0; i + length <= name.length; i++) {
        char after = i + length < name.length ? name.data[i + length] : ' ';
        char before = i > 0 ? name.data[i - 1] : ' ';
        if (memcmp(name.data + i, word, length) == 0 && (after == ' ' || after == '-') &&
            (before == ' ' || before == '-')) {
            return true;
        }
    }
    return false;
}

struct ss_peak ss_peak_of_gpu(struct ss_strview name)
{
    struct ss_peak peak = {0};
    for (size_t i = 0; i < sizeof gpus / sizeof *gpus; i++) {
        if (has_word(name, gpus[i].words[0]) &&
            (gpus[i].words[1] == NULL || has_word(name, gpus[i].words[1]))) {
            peak.flops_per_s = gpus[i].tflops_per_s * 1e12;
            snprintf(peak.of, sizeof peak.of, "%s", gpus[i].of);
            break;
        }
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
