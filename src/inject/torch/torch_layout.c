/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/torch/torch_layout.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    WORD = 8,
    /* The smallest size of the objects in any version: words beyond it are not read. */
    FUNCTION_WORDS = 32,
    TENSOR_WORDS = SS_TORCH_TENSOR_WORDS,
    LIST_WORDS = 7,
    INLINE_SIZES = 5,
    MOST_SIZES = 64
};

bool ss_torch_can_read(const void *bytes, size_t length)
{
    /* The kernel reads the set before it checks the (invalid) operation: EFAULT if it cannot. */
    int saved = errno;
    bool can = length > 0 && bytes != NULL;
    uintptr_t first = (uintptr_t)bytes & ~(uintptr_t)(WORD - 1);
    uintptr_t last = ((uintptr_t)bytes + (length != 0 ? length - 1 : 0)) & ~(uintptr_t)(WORD - 1);
    const uintptr_t ends[] = {first, last};
    for (size_t i = 0; can && i < 2; i++) {
        can = ends[i] >= 4096 &&
              !(syscall(SYS_rt_sigprocmask, ~0, ends[i], NULL, WORD) == -1 && errno == EFAULT);
    }
    errno = saved;
    return can;
}

void ss_torch_search_begin(struct ss_torch_search *search)
{
    /* The first word is the pointer to the virtual functions. */
    *search = (struct ss_torch_search){.sequence = ~UINT64_C(1),
                                       .inputs = ~UINT64_C(1),
                                       .sizes = ~UINT64_C(1),
                                       .list = ~UINT64_C(1)};
    memset(search->device + 1, 0xff, sizeof search->device - 1);
}

static const void *pointer(uint64_t word)
{
    return (const void *)(uintptr_t)word; // NOLINT(performance-no-int-to-ptr): an object's member
}

void ss_torch_search_sequence(struct ss_torch_search *search, const void *function, int64_t next)
{
    uint64_t matching = 0;
    for (size_t i = 0; i < FUNCTION_WORDS; i++) {
        matching |= (uint64_t)((int64_t)ss_torch_word(function, i * WORD) == next) << i;
    }
    search->sequence &= matching;
}

static bool are_tensors(const void *values, const void *first, const void *second)
{
    struct ss_torch_value both[2];
    if (!ss_torch_can_read(values, sizeof both)) {
        return false;
    }
    memcpy(both, values, sizeof both);
    return both[0].tag == SS_TORCH_TENSOR && both[1].tag == SS_TORCH_TENSOR &&
           pointer(both[0].payload) == first && pointer(both[1].payload) == second;
}

void ss_torch_search_inputs(struct ss_torch_search *search, const void *function, const void *first,
                            const void *second)
{
    uint64_t matching = 0;
    for (size_t i = 0; i + 1 < FUNCTION_WORDS; i++) {
        bool is_pair = ss_torch_word(function, (i + 1) * WORD) == 2;
        const void *values = pointer(ss_torch_word(function, i * WORD));
        matching |= (uint64_t)(is_pair && are_tensors(values, first, second)) << i;
    }
    search->inputs &= matching;
}

static bool are_sizes(const void *sizes, struct ss_torch_shape shape)
{
    size_t bytes = shape.count * sizeof *shape.sizes;
    return ss_torch_can_read(sizes, bytes) && memcmp(sizes, shape.sizes, bytes) == 0;
}

void ss_torch_search_sizes(struct ss_torch_search *search, const void *tensor,
                           struct ss_torch_shape shape)
{
    uint64_t matching = 0;
    size_t behind = shape.count <= INLINE_SIZES ? shape.count : 1;
    for (size_t i = 0; i + behind < TENSOR_WORDS; i++) {
        const char *at = (const char *)tensor + (i + 1) * WORD;
        const void *sizes = shape.count <= INLINE_SIZES ? at : pointer(ss_torch_word(at, 0));
        bool is_match = ss_torch_word(tensor, i * WORD) == shape.count && are_sizes(sizes, shape);
        matching |= (uint64_t)is_match << i;
    }
    search->sizes &= matching;
}

void ss_torch_search_device(struct ss_torch_search *search, const void *tensor, uint8_t kind)
{
    const uint8_t *bytes = tensor;
    for (size_t i = 0; i < (size_t)TENSOR_WORDS * WORD; i++) {
        if (bytes[i] != kind) {
            search->device[i / WORD] &= (uint8_t) ~(1U << i % WORD);
        }
    }
}

static bool are_values(uint64_t begin, uint64_t end, struct ss_torch_shape wanted)
{
    struct ss_torch_value value;
    if (end - begin != wanted.count * sizeof value ||
        !ss_torch_can_read(pointer(begin), wanted.count * sizeof value)) {
        return false;
    }
    for (size_t i = 0; i < wanted.count; i++) {
        memcpy(&value, pointer(begin + i * sizeof value), sizeof value);
        if (value.tag != SS_TORCH_INTEGER || (int64_t)value.payload != wanted.sizes[i]) {
            return false;
        }
    }
    return true;
}

void ss_torch_search_list(struct ss_torch_search *search, const struct ss_torch_value *value,
                          struct ss_torch_shape values)
{
    uint64_t matching = 0;
    const void *list = pointer(value->payload);
    search->list_tag = value->tag;
    if (value->tag <= SS_TORCH_INTEGER || !ss_torch_can_read(list, (size_t)LIST_WORDS * WORD)) {
        search->list = 0;
        return;
    }
    for (size_t i = 0; i + 1 < LIST_WORDS; i++) {
        bool is_match =
            are_values(ss_torch_word(list, i * WORD), ss_torch_word(list, (i + 1) * WORD), values);
        matching |= (uint64_t)is_match << i;
    }
    search->list &= matching;
}

static uint16_t only_word(uint64_t candidates)
{
    bool is_one = candidates != 0 && (candidates & (candidates - 1)) == 0;
    return is_one ? (uint16_t)(__builtin_ctzll(candidates) * WORD) : 0;
}

static uint16_t only_byte(const uint8_t *candidates)
{
    size_t count = 0, found = 0;
    for (size_t i = 0; i < (size_t)TENSOR_WORDS * WORD; i++) {
        if ((candidates[i / WORD] & 1U << i % WORD) != 0) {
            found = i;
            count++;
        }
    }
    return count == 1 ? (uint16_t)found : 0;
}

void ss_torch_search_end(const struct ss_torch_search *search, struct ss_torch_layout *layout)
{
    *layout = (struct ss_torch_layout){only_word(search->sequence), only_word(search->inputs),
                                       only_word(search->sizes),    only_word(search->list),
                                       only_byte(search->device),   search->list_tag};
}

bool ss_torch_shape_of(const struct ss_torch_layout *layout, const struct ss_torch_value *value,
                       struct ss_torch_shape *shape)
{
    if (value->tag != SS_TORCH_TENSOR || value->payload == 0) {
        return false;
    }
    const char *at = (const char *)pointer(value->payload) + layout->sizes;
    shape->count = (size_t)ss_torch_word(at, 0);
    shape->sizes = shape->count <= INLINE_SIZES ? (const int64_t *)(const void *)(at + WORD)
                                                : pointer(ss_torch_word(at, WORD));
    return shape->count <= MOST_SIZES;
}

size_t ss_torch_list_of(const struct ss_torch_layout *layout, const struct ss_torch_value *value,
                        int64_t *values, size_t most)
{
    if (value->tag != layout->list_tag || value->payload == 0) {
        return 0;
    }
    const char *list = pointer(value->payload);
    uint64_t begin = ss_torch_word(list, layout->list);
    size_t count =
        (size_t)(ss_torch_word(list, layout->list + 8u) - begin) / sizeof(struct ss_torch_value);
    for (size_t i = 0; i < count && i < most; i++) {
        const struct ss_torch_value *one = pointer(begin + i * sizeof *one);
        values[i] = (int64_t)one->payload;
    }
    return count;
}
