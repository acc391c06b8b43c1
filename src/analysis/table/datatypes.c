/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/table/datatypes.h"

#include <stddef.h>
#include <string.h>

static const struct {
    const char *text;
    enum ss_datatype type;
    unsigned bytes;
} elements[] = {
    {"float", SS_DATATYPE_FP32, 4},
    {"c10::BFloat16", SS_DATATYPE_BF16, 2},
    {"c10::Half", SS_DATATYPE_FP16, 2},
    {"double", SS_DATATYPE_FP64, 8},
    {"c10::Float8_e4m3fn", SS_DATATYPE_FP8, 1},
    {"c10::Float8_e5m2", SS_DATATYPE_FP8, 1},
    {"c10::Float8_e4m3fnuz", SS_DATATYPE_FP8, 1},
    {"c10::Float8_e5m2fnuz", SS_DATATYPE_FP8, 1},
    {"c10::Float8_e8m0fnu", SS_DATATYPE_FP8, 1},
    {"signed char", SS_DATATYPE_INT8, 1},
    {"unsigned char", SS_DATATYPE_INT8, 1},
    {"bool", SS_DATATYPE_OTHER, 1},
    {"short", SS_DATATYPE_OTHER, 2},
    {"int", SS_DATATYPE_OTHER, 4},
    {"long int", SS_DATATYPE_OTHER, 8},
    {"long", SS_DATATYPE_OTHER, 8},
    {"c10::complex<float>", SS_DATATYPE_OTHER, 8},
    {"c10::complex<double>", SS_DATATYPE_OTHER, 16},
    {"BFloat16", SS_DATATYPE_BF16, 2},
    {"Half", SS_DATATYPE_FP16, 2},
    {"bfloat16", SS_DATATYPE_BF16, 2},
    {"float16", SS_DATATYPE_FP16, 2},
    {"float32", SS_DATATYPE_FP32, 4},
    {"float64", SS_DATATYPE_FP64, 8},
    {"int64", SS_DATATYPE_OTHER, 8},
    {"int32", SS_DATATYPE_OTHER, 4},
    {"uint8", SS_DATATYPE_INT8, 1},
    /* Of collectives. */
    {"Float", SS_DATATYPE_FP32, 4},
    {"Double", SS_DATATYPE_FP64, 8},
    {"Byte", SS_DATATYPE_INT8, 1},
    {"Char", SS_DATATYPE_INT8, 1},
    {"Bool", SS_DATATYPE_OTHER, 1},
    {"Short", SS_DATATYPE_OTHER, 2},
    {"Int", SS_DATATYPE_OTHER, 4},
    {"Long", SS_DATATYPE_OTHER, 8},
};

struct ss_element ss_element_of(struct ss_strview text)
{
    for (size_t i = 0; i < sizeof elements / sizeof *elements; i++) {
        if (ss_strview_equal(text, ss_strview_of(elements[i].text))) {
            return (struct ss_element){elements[i].type, elements[i].bytes};
        }
    }
    return (struct ss_element){SS_DATATYPE_UNKNOWN, 0};
}

static const struct {
    const char *name;
    unsigned bytes;
} types[SS_DATATYPES] = {
    [SS_DATATYPE_UNKNOWN] = {"?", 0}, [SS_DATATYPE_FP64] = {"fp64", 8},
    [SS_DATATYPE_FP32] = {"fp32", 4}, [SS_DATATYPE_TF32] = {"tf32", 4},
    [SS_DATATYPE_FP16] = {"fp16", 2}, [SS_DATATYPE_BF16] = {"bf16", 2},
    [SS_DATATYPE_FP8] = {"fp8", 1},   [SS_DATATYPE_INT8] = {"int8", 1},
    [SS_DATATYPE_OTHER] = {"int", 0},
};

const char *ss_datatype_name(enum ss_datatype type)
{
    return types[type].name;
}

unsigned ss_datatype_bytes(enum ss_datatype type)
{
    return types[type].bytes;
}

/* --- names of kernels ------------------------------------------------------------------------- */

/* The first that is in the name decides. Templates name their element's type; libraries put letters
 * into the names of matrix products ("BBS": bfloat16, bfloat16, sums in float32). */
static const struct {
    const char *word;
    enum ss_datatype type;
} words[] = {
    {"tf32", SS_DATATYPE_TF32},
    {"tensorop_s1688", SS_DATATYPE_TF32}, /* CUTLASS: products of 16x8x8 float32 by matrix units */
    {"e4m3", SS_DATATYPE_FP8},
    {"e5m2", SS_DATATYPE_FP8},
    {"E4m3", SS_DATATYPE_FP8},
    {"fp8", SS_DATATYPE_FP8},
    {"bf16", SS_DATATYPE_BF16},
    {"BFloat16", SS_DATATYPE_BF16},
    {"Bfloat16", SS_DATATYPE_BF16},
    {"bfloat16", SS_DATATYPE_BF16},
    {"_BBS_", SS_DATATYPE_BF16},
    {"_BB_", SS_DATATYPE_BF16},
    {"nvjet_tst", SS_DATATYPE_BF16},
    {"nvjet_hsh", SS_DATATYPE_FP16},
    {"f16", SS_DATATYPE_FP16},
    {"fp16", SS_DATATYPE_FP16},
    {"c10::Half", SS_DATATYPE_FP16},
    {"__half", SS_DATATYPE_FP16},
    {"hgemm", SS_DATATYPE_FP16},
    {"h884", SS_DATATYPE_FP16},
    {"h1688", SS_DATATYPE_FP16},
    {"h16816", SS_DATATYPE_FP16},
    {"_HHS_", SS_DATATYPE_FP16},
    {"_HB_", SS_DATATYPE_FP16},
    {"imma", SS_DATATYPE_INT8},
    {"igemm_int8", SS_DATATYPE_INT8},
    {"int8", SS_DATATYPE_INT8},
    {"dgemm", SS_DATATYPE_FP64},
    {"f64", SS_DATATYPE_FP64},
    {"double", SS_DATATYPE_FP64},
    {"sgemm", SS_DATATYPE_FP32},
    {"f32", SS_DATATYPE_FP32},
    {"float", SS_DATATYPE_FP32},
};

static bool has_word(struct ss_strview text, const char *word)
{
    size_t length = strlen(word);
    return length <= text.length && memmem(text.data, text.length, word, length) != NULL;
}

enum ss_datatype ss_kernel_datatype(struct ss_strview kernel)
{
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (has_word(kernel, words[i].word)) {
            return words[i].type;
        }
    }
    return SS_DATATYPE_UNKNOWN;
}

enum ss_datatype ss_kernel_refine_datatype(enum ss_datatype type, struct ss_strview kernel)
{
    if (type == SS_DATATYPE_UNKNOWN) {
        return ss_kernel_datatype(kernel);
    }
    bool is_rounded = has_word(kernel, "tf32") || has_word(kernel, "tensorop_s1688") ||
                      has_word(kernel, "nvjet"); /* which multiplies by matrix units only */
    return type == SS_DATATYPE_FP32 && is_rounded ? SS_DATATYPE_TF32 : type;
}
