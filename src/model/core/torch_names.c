/* SPDX-License-Identifier: Apache-2.0 */
#include "model/core/torch_names.h"

#include "wire/json_scan.h"

static bool begins_with(struct ss_strview text, const char *prefix)
{
    size_t length = strlen(prefix);
    return text.length >= length && memcmp(text.data, prefix, length) == 0;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool ss_torch_profiler_step(struct ss_strview name, int64_t *number)
{
    static const char prefix[] = "ProfilerStep#";
    size_t length = sizeof prefix - 1;
    if (name.length <= length || name.length - length > 18 ||
        memcmp(name.data, prefix, length) != 0) {
        return false;
    }
    struct ss_strview digits = {name.data + length, name.length - length};
    return ss_json_is_integer(digits) && ss_json_decimal(digits, 0, number);
}

bool ss_torch_is_backward(struct ss_strview name)
{
    static const char ending[] = "Backward";
    size_t length = name.length, size = sizeof ending - 1;
    while (length > 0 && is_digit(name.data[length - 1])) {
        length--;
    }
    return begins_with(name, "autograd::engine::evaluate_function") ||
           begins_with(name, "torch::autograd::AccumulateGrad") ||
           (length >= size && memcmp(name.data + length - size, ending, size) == 0);
}

/* The digits behind the key. False: the text has no such key, or no number follows. */
static bool find_number(struct ss_strview text, const char *key, size_t *at, int64_t *number)
{
    enum { MOST_DIGITS = 18 };
    const char *found = memmem(text.data, text.length, key, strlen(key));
    if (found == NULL) {
        return false;
    }
    *at = (size_t)(found - text.data);
    size_t begin = *at + strlen(key), end = begin;
    *number = 0;
    for (; end < text.length && is_digit(text.data[end]) && end - begin < MOST_DIGITS; end++) {
        *number = *number * 10 + (text.data[end] - '0');
    }
    return end > begin;
}

/* The list from its bracket to the bracket that closes it. */
static struct ss_strview list_behind(struct ss_strview text, const char *key)
{
    const char *found = memmem(text.data, text.length, key, strlen(key));
    const char *end = text.data + text.length;
    size_t depth = 0;
    for (const char *at = found != NULL ? found + strlen(key) : end; at < end; at++) {
        depth += *at == '[';
        if (depth == 0) {
            break;
        }
        if (*at == ']' && --depth == 0) {
            const char *begin = found + strlen(key);
            return (struct ss_strview){begin, (size_t)(at + 1 - begin)};
        }
    }
    return (struct ss_strview){"", 0};
}

bool ss_torch_nvtx_read(struct ss_strview text, struct ss_torch_nvtx *range)
{
    size_t of_sequence = text.length, of_operator = text.length;
    int64_t operator;
    *range = (struct ss_torch_nvtx){.name = text, .sizes = {"", 0}};
    range->has_sequence = find_number(text, ", seq = ", &of_sequence, &range->sequence);
    bool has_operator = find_number(text, ", op_id = ", &of_operator, &operator);
    if (!range->has_sequence && !has_operator) {
        return false;
    }
    size_t end = has_operator ? of_operator : text.length;
    end = range->has_sequence && of_sequence < end ? of_sequence : end;
    range->name.length = end;
    range->sizes = list_behind(text, ", sizes = ");
    return end > 0;
}
