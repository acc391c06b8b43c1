/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/kernels/device_peaks.h"

#include <stddef.h>
#include <string.h>

const struct ss_device_peaks ss_device_peaks_known[] = {
#define SS_WORDS(...)                                                                              \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
#define SS_DEVICE_PEAKS(words, least, most, name, fp64, fp64m, fp32, fp32m, tf32, fp16, bf16, fp8, \
                        int8, gb_per_s, source)                                                    \
    {words,    least, most, name, {fp64, fp64m, fp32, fp32m, tf32, fp16, bf16, fp8, int8},         \
     gb_per_s, source},
#include "analysis/kernels/device_peaks.def"
#undef SS_DEVICE_PEAKS
#undef SS_WORDS
    {.name = NULL}};

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool is_between(char c)
{
    return c == ' ' || c == '-' || c == '_' || c == '/';
}

/* Whole words, upper and lower case alike: "A10" is not in "A100", "SXM" begins "SXM4". */
bool ss_device_name_has(struct ss_strview name, const char *word)
{
    size_t length = strlen(word);
    bool is_begin = strcmp(word, "SXM") == 0;
    for (size_t at = 0; at + length <= name.length; at++) {
        size_t same = 0;
        while (same < length && lower(name.data[at + same]) == lower(word[same])) {
            same++;
        }
        bool ends = at + length == name.length || is_between(name.data[at + length]) || is_begin;
        if (same == length && ends && (at == 0 || is_between(name.data[at - 1]))) {
            return true;
        }
    }
    return false;
}

static bool matches(const struct ss_device_peaks *peaks, struct ss_strview model, uint64_t gib)
{
    for (size_t i = 0; i < sizeof peaks->words / sizeof *peaks->words; i++) {
        if (peaks->words[i] != NULL && !ss_device_name_has(model, peaks->words[i])) {
            return false;
        }
    }
    return gib == 0 || ((peaks->least_gib == 0 || gib >= peaks->least_gib) &&
                        (peaks->most_gib == 0 || gib <= peaks->most_gib));
}

const struct ss_device_peaks *ss_device_peaks_of(struct ss_strview model, uint64_t memory_bytes)
{
    for (const struct ss_device_peaks *peaks = ss_device_peaks_known; peaks->name != NULL;
         peaks++) {
        if (matches(peaks, model, memory_bytes >> 30)) {
            return peaks;
        }
    }
    return NULL;
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

double ss_device_peak(const struct ss_device_peaks *peaks, enum ss_datatype type, bool is_matrix)
{
    if (peaks == NULL) {
        return 0;
    }
    const double *tflops = peaks->tflops_per_s;
    if (!is_matrix) {
        return 1e12 * tflops[type == SS_DATATYPE_FP64 ? SS_PEAK_FP64 : SS_PEAK_FP32];
    }
    switch (type) {
    case SS_DATATYPE_FP64:
        return 1e12 * larger(tflops[SS_PEAK_FP64], tflops[SS_PEAK_FP64_MATRIX]);
    case SS_DATATYPE_FP32:
        return 1e12 * larger(tflops[SS_PEAK_FP32], tflops[SS_PEAK_FP32_MATRIX]);
    case SS_DATATYPE_TF32:
        return 1e12 * tflops[SS_PEAK_TF32];
    case SS_DATATYPE_FP16:
        return 1e12 * tflops[SS_PEAK_FP16];
    case SS_DATATYPE_BF16:
        return 1e12 * tflops[SS_PEAK_BF16];
    case SS_DATATYPE_FP8:
        return 1e12 * tflops[SS_PEAK_FP8];
    case SS_DATATYPE_INT8:
        return 1e12 * tflops[SS_PEAK_INT8];
    default:
        return 0;
    }
}

double ss_device_bandwidth(const struct ss_device_peaks *peaks)
{
    return peaks != NULL ? 1e9 * peaks->gb_per_s : 0;
}
