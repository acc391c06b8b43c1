/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/torch/torch_flops.h"

enum { MOST_SPATIAL = 8 };

/* The arguments of one operator. */
struct call {
    const struct ss_torch_layout *layout;
    const struct ss_torch_value *inputs;
    size_t count;
};

struct rule;
typedef uint64_t flops_of(const struct rule *rule, const struct call *call);

/* The index of each argument. */
struct rule {
    const char *name;
    flops_of *flops;
    uint8_t first; /* of the multiplied tensors */
    uint8_t stride, padding, dilation, transposed, mask;
};
enum { NO_ARGUMENT = UINT8_MAX };

static bool shape_at(const struct call *call, size_t index, struct ss_torch_shape *shape)
{
    return index < call->count && ss_torch_shape_of(call->layout, &call->inputs[index], shape);
}

/* 0 if the factor is negative, or the product exceeds 64 bits. */
static uint64_t times(uint64_t product, int64_t factor)
{
    uint64_t result;
    return factor >= 0 && !__builtin_mul_overflow(product, (uint64_t)factor, &result) ? result : 0;
}

static uint64_t times_sizes(uint64_t product, struct ss_torch_shape shape, size_t from)
{
    for (size_t i = from; i < shape.count; i++) {
        product = times(product, shape.sizes[i]);
    }
    return product;
}

static bool flag_at(const struct call *call, size_t index)
{
    return index < call->count && (call->inputs[index].payload & 0xff) != 0;
}

/* [m, k] by [k, n], or a batch of such pairs. */
static uint64_t product_of_matrices(const struct rule *rule, const struct call *call)
{
    struct ss_torch_shape a, b;
    if (!shape_at(call, rule->first, &a) || !shape_at(call, rule->first + 1u, &b) ||
        a.count != b.count || a.count < 2 || a.count > 3 ||
        a.sizes[a.count - 1] != b.sizes[b.count - 2]) {
        return 0;
    }
    return times(times_sizes(2, a, 0), b.sizes[b.count - 1]);
}

/* Plausible sizes; the symbolic sizes with which a compiler traces are not numbers. */
static bool are_plausible(const int64_t *sizes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (sizes[i] < 0 || sizes[i] > INT32_MAX) {
            return false;
        }
    }
    return true;
}

/* The number of positions of a filter, over all dimensions; false: unknown. */
static bool filter_positions(const struct rule *rule, const struct call *call,
                             struct ss_torch_shape x, struct ss_torch_shape weight,
                             uint64_t *positions)
{
    int64_t settings[3][MOST_SPATIAL];
    const uint8_t arguments[3] = {rule->stride, rule->padding, rule->dilation};
    size_t spatial = x.count - 2;
    if (spatial > MOST_SPATIAL || call->layout->list == 0) {
        return false;
    }
    for (size_t i = 0; i < 3; i++) {
        size_t given = arguments[i] < call->count
                           ? ss_torch_list_of(call->layout, &call->inputs[arguments[i]],
                                              settings[i], MOST_SPATIAL)
                           : 0;
        if (given != spatial && given != 1) {
            return false;
        }
        for (size_t d = given; d < spatial; d++) {
            settings[i][d] = settings[i][0]; /* one for all dimensions */
        }
    }
    if (!are_plausible(settings[0], spatial) || !are_plausible(settings[1], spatial) ||
        !are_plausible(settings[2], spatial) || !are_plausible(x.sizes + 2, spatial) ||
        !are_plausible(weight.sizes + 2, spatial)) {
        return false;
    }
    *positions = 1;
    for (size_t d = 0; d < spatial; d++) {
        int64_t extent = settings[2][d] * (weight.sizes[d + 2] - 1) + 1;
        int64_t room = x.sizes[d + 2] + 2 * settings[1][d] - extent;
        if (settings[0][d] <= 0 || room < 0) {
            return false;
        }
        *positions = times(*positions, room / settings[0][d] + 1);
    }
    return true;
}

/* Each position of the output (of the input, if transposed) is multiplied by each weight of a
 * filter. */
static uint64_t convolution(const struct rule *rule, const struct call *call)
{
    struct ss_torch_shape x, weight;
    uint64_t positions;
    if (!shape_at(call, rule->first, &x) || !shape_at(call, rule->first + 1u, &weight) ||
        x.count != weight.count || x.count < 3) {
        return 0;
    }
    uint64_t filter = times_sizes(2, weight, 1);
    if (rule->transposed != NO_ARGUMENT && flag_at(call, rule->transposed)) {
        return times_sizes(filter, x, 0);
    }
    if (!filter_positions(rule, call, x, weight, &positions)) {
        return 0;
    }
    return times(times(times(filter, (int64_t)positions), x.sizes[0]), weight.sizes[0]);
}

/* Arguments: the gradient of the output, the input, the weight. Each of the two gradients that are
 * requested costs as much as the forward convolution. */
static uint64_t convolution_backward(const struct rule *rule, const struct call *call)
{
    struct ss_torch_shape gradient, x, weight;
    int64_t mask[3];
    if (!shape_at(call, 0, &gradient) || !shape_at(call, 1, &x) || !shape_at(call, 2, &weight) ||
        call->layout->list == 0 || rule->mask >= call->count || x.count != weight.count ||
        gradient.count != x.count || x.count < 3 ||
        ss_torch_list_of(call->layout, &call->inputs[rule->mask], mask, 3) != 3) {
        return 0;
    }
    uint64_t once =
        times_sizes(times_sizes(2, weight, 1), flag_at(call, rule->transposed) ? x : gradient, 0);
    return times(once, ((mask[0] & 0xff) != 0) + ((mask[1] & 0xff) != 0));
}

/* Per pair of a query and a key: `wide` times the length of a query vector, and `deep` times that
 * of a value. */
static uint64_t attend(const struct rule *rule, const struct call *call, int64_t wide, int64_t deep)
{
    struct ss_torch_shape query, key, value;
    if (!shape_at(call, rule->first, &query) || !shape_at(call, rule->first + 1u, &key) ||
        !shape_at(call, rule->first + 2u, &value) || query.count != 4 || key.count != 4 ||
        value.count != 4 || !are_plausible(query.sizes, 4) || !are_plausible(value.sizes, 4)) {
        return 0;
    }
    uint64_t pairs =
        times(times_sizes(2, (struct ss_torch_shape){query.sizes, 3}, 0), key.sizes[2]);
    return times(pairs, wide * query.sizes[3] + deep * value.sizes[3]);
}

static uint64_t attention(const struct rule *rule, const struct call *call)
{
    return attend(rule, call, 1, 1); /* scores, then values */
}

static uint64_t attention_backward(const struct rule *rule, const struct call *call)
{
    return attend(rule, call, 3, 2); /* the scores again, then the gradients of q, k and v */
}

#define MATRICES(name, first)                                                                      \
    {                                                                                              \
        name, product_of_matrices, first, 0, 0, 0, 0, 0                                            \
    }
#define ATTENTION(stem)                                                                            \
    {"aten::_scaled_dot_product_" stem, attention, 0, 0, 0, 0, 0, 0},                              \
    {                                                                                              \
        "aten::_scaled_dot_product_" stem "_backward", attention_backward, 1, 0, 0, 0, 0, 0        \
    }

/* Some of these call each other: only the outermost is counted (torch_count.c). */
static const struct rule rules[] = {
    MATRICES("aten::mm", 0),
    MATRICES("aten::addmm", 1),
    MATRICES("aten::bmm", 0),
    MATRICES("aten::baddbmm", 1),
    MATRICES("aten::_addmm_activation", 1),
    MATRICES("aten::_scaled_mm", 0),
    MATRICES("aten::_int_mm", 0),
    {"aten::convolution", convolution, 0, 3, 4, 5, 6, 0},
    {"aten::_convolution", convolution, 0, 3, 4, 5, 6, 0},
    {"aten::convolution_overrideable", convolution, 0, 3, 4, 5, 6, 0},
    {"aten::cudnn_convolution", convolution, 0, 3, 2, 4, NO_ARGUMENT, 0},
    {"aten::mkldnn_convolution", convolution, 0, 4, 3, 5, NO_ARGUMENT, 0},
    {"aten::convolution_backward", convolution_backward, 0, 0, 0, 0, 7, 10},
    ATTENTION("flash_attention"),
    ATTENTION("flash_attention_for_cpu"),
    ATTENTION("efficient_attention"),
    ATTENTION("cudnn_attention"),
    ATTENTION("fused_attention_overrideable"),
};

uint64_t ss_torch_flops_of(const struct ss_torch_layout *layout, const char *name,
                           const struct ss_torch_value *inputs, size_t count)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        if (strcmp(rules[i].name, name) == 0) {
            struct call call = {layout, inputs, count};
            return rules[i].flops(&rules[i], &call);
        }
    }
    return 0;
}
