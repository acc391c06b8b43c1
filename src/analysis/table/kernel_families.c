/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/table/kernel_families.h"

#include <stddef.h>
#include <string.h>

enum { SS_KERNEL_IS_FLOAT32 = 1 };

static const struct {
    const char *word;
    enum ss_kernel_family family;
    int traits;
} words[] = {
#define SS_KERNEL_WORD(word, family, traits) {word, SS_KERNEL_##family, traits},
#include "analysis/table/kernel_families.def"
};

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool has_word(struct ss_strview text, const char *word)
{
    size_t length = strlen(word);
    for (size_t at = 0; at + length <= text.length; at++) {
        size_t same = 0;
        while (same < length && lower(text.data[at + same]) == word[same]) {
            same++;
        }
        if (same == length) {
            return true;
        }
    }
    return false;
}

struct ss_kernel_kind ss_kernel_kind_of(struct ss_strview name)
{
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (has_word(name, words[i].word)) {
            return (struct ss_kernel_kind){words[i].family,
                                           (words[i].traits & SS_KERNEL_IS_FLOAT32) != 0};
        }
    }
    return (struct ss_kernel_kind){SS_KERNEL_OTHER, false};
}

const char *ss_kernel_family_name(enum ss_kernel_family family)
{
    static const char *const names[SS_KERNEL_FAMILIES] = {[SS_KERNEL_OTHER] = "other",
                                                          [SS_KERNEL_MATMUL] = "matrix product",
                                                          [SS_KERNEL_CONVOLUTION] = "convolution",
                                                          [SS_KERNEL_ATTENTION] = "attention",
                                                          [SS_KERNEL_NORMALISATION] =
                                                              "normalisation",
                                                          [SS_KERNEL_ELEMENTWISE] = "elementwise",
                                                          [SS_KERNEL_REDUCTION] = "reduction",
                                                          [SS_KERNEL_EMBEDDING] = "embedding",
                                                          [SS_KERNEL_OPTIMIZER] = "optimizer",
                                                          [SS_KERNEL_CONVERSION] = "conversion"};
    return names[family];
}
