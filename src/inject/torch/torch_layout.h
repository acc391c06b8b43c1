/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Offsets within libtorch's objects of the members that the operator callbacks read. The classes
 * differ between versions and builds (a std::string has 8 bytes in wheels of C++'s old ABI, else
 * 32), so nothing is assumed: operators with known arguments run, and an offset is accepted if it
 * held the right value each time and no other one did.
 *
 * A search is owned by its caller; a layout that was found is immutable.
 */
#ifndef SS_INJECT_TORCH_TORCH_LAYOUT_H
#define SS_INJECT_TORCH_TORCH_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Byte offsets within the object; 0: not found. */
struct ss_torch_layout {
    uint16_t sequence; /* at::RecordFunction: number of the autograd node, int64_t; -1: none */
    uint16_t inputs;   /* at::RecordFunction: pointer to the arguments, then their number */
    uint16_t sizes;    /* c10::TensorImpl: number of dimensions, then five sizes or their address */
    uint16_t list;     /* c10::detail::ListImpl: begin and end of its values */
    uint16_t device;   /* c10::TensorImpl: device type, one byte */
    uint32_t list_tag; /* the tag of an argument that is a list */
};

/* c10::IValue: an argument. The first tags are the same in all versions. */
struct ss_torch_value {
    uint64_t payload;
    uint32_t tag;
};
enum { SS_TORCH_TENSOR = 1, SS_TORCH_INTEGER = 5 };

/* c10::DeviceType; the same in all versions. */
enum { SS_TORCH_CPU = 0, SS_TORCH_META = 14 };
_Static_assert(sizeof(struct ss_torch_value) == 16, "as in C++");

struct ss_torch_shape {
    const int64_t *sizes;
    size_t count;
};

/* Sets of the remaining offsets, by word of the object; for the device, by byte. */
enum { SS_TORCH_TENSOR_WORDS = 24 };
struct ss_torch_search {
    uint64_t sequence, inputs, sizes, list;
    uint8_t device[SS_TORCH_TENSOR_WORDS];
    uint32_t list_tag;
};

void ss_torch_search_begin(struct ss_torch_search *search);
/* `function` runs while `next` is the sequence number that the next node will get. */
void ss_torch_search_sequence(struct ss_torch_search *search, const void *function, int64_t next);
/* `function` has two arguments: these tensors. */
void ss_torch_search_inputs(struct ss_torch_search *search, const void *function, const void *first,
                            const void *second);
void ss_torch_search_sizes(struct ss_torch_search *search, const void *tensor,
                           struct ss_torch_shape shape);
/* `tensor` is on a device of this type. Calls must cover different types. */
void ss_torch_search_device(struct ss_torch_search *search, const void *tensor, uint8_t kind);
/* An argument that is a list of these numbers. */
void ss_torch_search_list(struct ss_torch_search *search, const struct ss_torch_value *list,
                          struct ss_torch_shape values);
void ss_torch_search_end(const struct ss_torch_search *search, struct ss_torch_layout *layout);

/* false: a read would fault. */
bool ss_torch_can_read(const void *bytes, size_t length);

/* --- with a layout that was found ------------------------------------------------------------- */

static inline uint64_t ss_torch_word(const void *object, size_t offset)
{
    uint64_t word;
    memcpy(&word, (const char *)object + offset, sizeof word);
    return word;
}

static inline const struct ss_torch_value *ss_torch_inputs(const struct ss_torch_layout *layout,
                                                           const void *function, size_t *count)
{
    *count = (size_t)ss_torch_word(function, layout->inputs + 8u);
    return (const struct ss_torch_value *)(uintptr_t)ss_torch_word(function, layout->inputs);
}

/* false: not a tensor, or an implausible number of dimensions. */
bool ss_torch_shape_of(const struct ss_torch_layout *layout, const struct ss_torch_value *value,
                       struct ss_torch_shape *shape);
/* The type of a tensor's device; -1: not a tensor. */
static inline int ss_torch_device_of(const struct ss_torch_layout *layout,
                                     const struct ss_torch_value *value)
{
    bool is_one = value->tag == SS_TORCH_TENSOR && value->payload != 0;
    return is_one ? ((const uint8_t *)(uintptr_t)value->payload)[layout->device] : -1;
}

/* Copies the first `most` values of a list, as numbers. Returns its length; 0: not a list. */
size_t ss_torch_list_of(const struct ss_torch_layout *layout, const struct ss_torch_value *value,
                        int64_t *values, size_t most);

#endif
