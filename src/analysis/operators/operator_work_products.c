/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products, convolutions and attention: FLOPs as torch.utils.flop_counter counts them. */
#include "analysis/operators/operator_work_inside.h"

/* --- matrix products -------------------------------------------------------------------------- */

/* Of `elements` of the output, each the sum of `depth` products; `a` has the type. */
static void multiply(struct ss_operator_work *work, const struct ss_operator_argument *a,
                     const struct ss_operator_argument *b, double elements, double depth)
{
    work->type = a->element.type;
    work->flops = 2 * elements * depth;
    ss_work_add_tensor(work, a);
    ss_work_add_tensor(work, b);
}

/* [m, k] by [k, n], or a batch of such pairs; before them, what is added. */
bool ss_work_product(const struct ss_operator_call *call, struct ss_operator_work *work)
{
    size_t first = call->parameters[0];
    const struct ss_operator_argument *a = ss_work_tensor(call, first),
                                      *b = ss_work_tensor(call, first + 1);
    if (a == NULL || b == NULL || a->dimensions != b->dimensions || a->dimensions < 2 ||
        a->dimensions > 3 || a->sizes[a->dimensions - 1] != b->sizes[b->dimensions - 2] ||
        (a->dimensions == 3 && a->sizes[0] != b->sizes[0])) {
        return false;
    }
    double width = (double)b->sizes[b->dimensions - 1], rows = (double)a->sizes[0];
    rows *= a->dimensions == 3 ? (double)a->sizes[1] : 1;
    multiply(work, a, b, rows * width, (double)a->sizes[a->dimensions - 1]);
    if (first > 0) {
        ss_work_add_tensor(work, ss_work_tensor(call, 0));
    }
    ss_work_add(work, rows * width, a->element);
    return true;
}

/* The types of outputs by their numbers in PyTorch. */
static struct ss_element element_of_number(int64_t number)
{
    static const char *const types[] = {
        [3] = "int", [5] = "c10::Half", [6] = "float", [7] = "double", [15] = "c10::BFloat16"};
    size_t count = sizeof types / sizeof *types;
    return number >= 0 && (uint64_t)number < count && types[number] != NULL
               ? ss_element_of(ss_strview_of(types[number]))
               : (struct ss_element){SS_DATATYPE_UNKNOWN, 2};
}

/* Eight-bit factors, whose product has a wider type. */
bool ss_work_scaled_product(const struct ss_operator_call *call, struct ss_operator_work *work)
{
    static const uint8_t no_sum = 0;
    struct ss_operator_call plain = {&no_sum, call->arguments, NULL};
    const struct ss_operator_argument *a = ss_work_tensor(call, 0), *b = ss_work_tensor(call, 1);
    int64_t number = -1;
    if (!ss_work_product(&plain, work) || a->dimensions != 2) {
        return false;
    }
    ss_operator_numbers(call->arguments, call->parameters[0], &number, 1);
    work->bytes = work->untyped_elements = 0;
    ss_work_add_tensor(work, a);
    ss_work_add_tensor(work, b);
    ss_work_add(work, (double)a->sizes[0] * (double)b->sizes[1], element_of_number(number));
    return true;
}

/* [..., k] by [n, k] */
bool ss_work_linear(const struct ss_operator_call *call, struct ss_operator_work *work)
{
    const struct ss_operator_argument *x = ss_work_tensor(call, 0),
                                      *weight = ss_work_tensor(call, 1);
    if (x == NULL || weight == NULL || x->dimensions < 1 || weight->dimensions != 2 ||
        x->sizes[x->dimensions - 1] != weight->sizes[1] || weight->sizes[1] == 0) {
        return false;
    }
    double depth = (double)weight->sizes[1];
    double elements = x->elements / depth * (double)weight->sizes[0];
    multiply(work, x, weight, elements, depth);
    ss_work_add_tensor(work, ss_work_tensor(call, 2));
    ss_work_add(work, elements, x->element);
    return true;
}

/* The product of all but the last two sizes, of the larger of both in each dimension; 0: they do
 * not fit. */
static double batches_of(const struct ss_operator_argument *a, const struct ss_operator_argument *b)
{
    double batches = 1;
    for (size_t i = 3; i <= a->dimensions || i <= b->dimensions; i++) {
        int64_t of_a = i <= a->dimensions ? a->sizes[a->dimensions - i] : 1;
        int64_t of_b = i <= b->dimensions ? b->sizes[b->dimensions - i] : 1;
        if (of_a != of_b && of_a != 1 && of_b != 1) {
            return 0;
        }
        batches *= (double)(of_a > of_b ? of_a : of_b);
    }
    return batches;
}

bool ss_work_matmul(const struct ss_operator_call *call, struct ss_operator_work *work)
{
    const struct ss_operator_argument *a = ss_work_tensor(call, 0), *b = ss_work_tensor(call, 1);
    if (a == NULL || b == NULL || a->dimensions < 1 || b->dimensions < 1) {
        return false;
    }
    int64_t depth = a->sizes[a->dimensions - 1];
    int64_t depth_of_b = b->sizes[b->dimensions - (b->dimensions > 1 ? 2 : 1)];
    double rows = a->dimensions > 1 ? (double)a->sizes[a->dimensions - 2] : 1;
    double width = b->dimensions > 1 ? (double)b->sizes[b->dimensions - 1] : 1;
    double batches = batches_of(a, b);
    if (depth != depth_of_b || batches == 0) {
        return false;
    }
    multiply(work, a, b, batches * rows * width, (double)depth);
    ss_work_add(work, batches * rows * width, a->element);
    return true;
}

/* --- convolutions ----------------------------------------------------------------------------- */

enum { STRIDE, PADDING, DILATION, TRANSPOSED, OUTPUT_PADDING, GROUPS, MOST_SPATIAL = 6 };

/* The product of a weight's sizes, without its first. */
static double filter_of(const struct ss_operator_argument *weight)
{
    double product = 1;
    for (size_t i = 1; i < weight->dimensions; i++) {
        product *= (double)weight->sizes[i];
    }
    return product;
}

/* One setting for each dimension, or one for all. */
static bool read_settings(const struct ss_operator_call *call, int which, size_t spatial,
                          int64_t settings[MOST_SPATIAL])
{
    size_t count =
        ss_operator_numbers(call->arguments, call->parameters[which], settings, MOST_SPATIAL);
    for (size_t d = count; d < spatial && count == 1; d++) {
        settings[d] = settings[0];
    }
    return count == spatial || count == 1;
}

/* The positions of a filter on one dimension of the input; of a transposed convolution those of the
 * output; -1: implausible. */
static int64_t positions_of(int64_t size, int64_t filter, const int64_t settings[4],
                            bool is_transposed)
{
    const int64_t most = INT32_MAX;
    for (int i = 0; i < 4; i++) {
        if (settings[i] < 0 || settings[i] > most) {
            return -1;
        }
    }
    if (size > most || filter < 1 || filter > most || settings[STRIDE] == 0) {
        return -1;
    }
    int64_t extent = settings[DILATION] * (filter - 1) + 1;
    if (is_transposed) {
        int64_t length = (size - 1) * settings[STRIDE] - 2 * settings[PADDING] + extent;
        return length >= 0 ? length + settings[3] : -1;
    }
    int64_t room = size + 2 * settings[PADDING] - extent;
    return room >= 0 ? room / settings[STRIDE] + 1 : -1;
}

/* The number of elements of the output; 0: unknown, or none. */
static double outputs_of(const struct ss_operator_call *call, const struct ss_operator_argument *x,
                         const struct ss_operator_argument *weight, bool is_transposed)
{
    int64_t settings[4][MOST_SPATIAL] = {{0}}, groups = 1;
    size_t spatial = x->dimensions - 2u;
    if (spatial > MOST_SPATIAL || !read_settings(call, STRIDE, spatial, settings[0]) ||
        !read_settings(call, PADDING, spatial, settings[1]) ||
        !read_settings(call, DILATION, spatial, settings[2])) {
        return 0;
    }
    if (is_transposed &&
        (!read_settings(call, OUTPUT_PADDING, spatial, settings[3]) ||
         ss_operator_numbers(call->arguments, call->parameters[GROUPS], &groups, 1) != 1)) {
        return 0;
    }
    double channels =
        is_transposed ? (double)weight->sizes[1] * (double)groups : (double)weight->sizes[0];
    double outputs = (double)x->sizes[0] * channels;
    for (size_t d = 0; d < spatial; d++) {
        const int64_t of_dimension[4] = {settings[0][d], settings[1][d], settings[2][d],
                                         settings[3][d]};
        int64_t positions =
            positions_of(x->sizes[d + 2], weight->sizes[d + 2], of_dimension, is_transposed);
        if (positions < 0) {
            return 0;
        }
        outputs *= (double)positions;
    }
    return outputs;
}

/* 1: transposed, 0: not, -1: unknown. Where values were not recorded, sizes say it: a weight begins
 * with the channels of the output, a transposed one with those of the input, and only a transposed
 * convolution has more positions of the output than of the input. */
static int transposed_flag(const struct ss_operator_call *call, uint8_t place,
                           const struct ss_operator_argument *x,
                           const struct ss_operator_argument *weight,
                           const struct ss_operator_argument *output)
{
    int flag = place == SS_NO_ARGUMENT ? 0 : ss_operator_flags(call->arguments, place);
    if (flag >= 0 || output == NULL || output->dimensions != x->dimensions) {
        return flag;
    }
    bool fits = output->sizes[1] == weight->sizes[0];
    bool fits_transposed = x->sizes[1] == weight->sizes[0];
    return fits != fits_transposed ? fits_transposed : output->sizes[2] > x->sizes[2];
}

/* Each element of the output (of the input, if transposed) is multiplied by each weight of a
 * filter. */
bool ss_work_convolution(const struct ss_operator_call *call, struct ss_operator_work *work)
{
    const struct ss_operator_argument *x = ss_work_tensor(call, 0),
                                      *weight = ss_work_tensor(call, 1);
    if (x == NULL || weight == NULL || x->dimensions != weight->dimensions || x->dimensions < 3) {
        return false;
    }
    const struct ss_operator_argument *known = call->output;
    int flag = transposed_flag(call, call->parameters[TRANSPOSED], x, weight, known);
    double outputs = known != NULL && known->dimensions == x->dimensions
                         ? known->elements
                         : outputs_of(call, x, weight, flag == 1);
    if (flag < 0 || outputs == 0) {
        return false;
    }
    work->type = x->element.type;
    work->flops = 2 * filter_of(weight) * (flag == 1 ? x->elements : outputs);
    ss_work_add_tensor(work, x);
    ss_work_add_tensor(work, weight);
    ss_work_add_tensor(work, ss_work_tensor(call, 2));
    ss_work_add(work, outputs, x->element);
    return true;
}

/* Arguments: the gradient of the output, the input, the weight. Each of the two gradients that are
 * requested costs as much as the forward convolution; the third is a sum. */
bool ss_work_convolution_backward(const struct ss_operator_call *call,
                                  struct ss_operator_work *work)
{
    const struct ss_operator_argument *gradient = ss_work_tensor(call, call->parameters[2]),
                                      *x = ss_work_tensor(call, call->parameters[3]),
                                      *weight = ss_work_tensor(call, 2);
    if (gradient == NULL || x == NULL || weight == NULL || x->dimensions != weight->dimensions ||
        gradient->dimensions != x->dimensions || x->dimensions < 3) {
        return false;
    }
    int is_transposed = transposed_flag(call, call->parameters[0], x, weight, gradient);
    int mask = ss_operator_flags(call->arguments, call->parameters[1]);
    mask = mask < 0 ? 3 : mask;
    double once = 2 * filter_of(weight) * (is_transposed == 1 ? x : gradient)->elements;
    work->type = gradient->element.type;
    work->flops = once * ((mask & 1) + (mask >> 1 & 1));
    ss_work_add_tensor(work, gradient);
    for (int i = 0; i < 2; i++) { /* the gradient of each is as large as itself */
        const struct ss_operator_argument *one = i == 0 ? x : weight;
        bool is_read = i == 0 ? (mask & 2) != 0 : (mask & 1) != 0;
        ss_work_add(work, is_read ? one->elements : 0, one->element);
        ss_work_add(work, (mask >> i & 1) != 0 ? one->elements : 0, one->element);
    }
    return true;
}

/* --- attention -------------------------------------------------------------------------------- */

enum { QUERY, HEADS_LAST, CAUSAL };

struct attention {
    const struct ss_operator_argument *query, *key, *value;
    double pairs;   /* of a query and a key */
    double skipped; /* share of them that a causal mask leaves out */
};

static bool read_attention(const struct ss_operator_call *call, struct attention *attention)
{
    size_t first = call->parameters[QUERY];
    const struct ss_operator_argument *query = ss_work_tensor(call, first),
                                      *key = ss_work_tensor(call, first + 1),
                                      *value = ss_work_tensor(call, first + 2);
    if (query == NULL || key == NULL || value == NULL || query->dimensions != 4 ||
        key->dimensions != 4 || value->dimensions != 4) {
        return false;
    }
    int place = call->parameters[HEADS_LAST] != 0 ? 1 : 2;
    double queries = (double)query->sizes[place], keys = (double)key->sizes[place];
    double heads = (double)query->sizes[0] * (double)query->sizes[3 - place];
    int64_t number = 0;
    bool is_causal =
        ss_operator_flags(call->arguments, call->parameters[CAUSAL]) == 1 ||
        (ss_operator_numbers(call->arguments, call->parameters[CAUSAL], &number, 1) == 1 &&
         number > 0);
    *attention = (struct attention){query, key, value, heads * queries * keys, 0};
    if (is_causal && queries == keys && queries > 0) {
        attention->skipped = (queries - 1) / (2 * queries);
    }
    return true;
}

static void attend(struct ss_operator_work *work, const struct attention *attention, double wide,
                   double deep)
{
    work->type = attention->query->element.type;
    work->flops =
        2 * attention->pairs *
        (wide * (double)attention->query->sizes[3] + deep * (double)attention->value->sizes[3]);
    work->skipped_flops = work->flops * attention->skipped;
    ss_work_add_tensor(work, attention->query);
    ss_work_add_tensor(work, attention->key);
    ss_work_add_tensor(work, attention->value);
}

static double outputs_of_attention(const struct attention *attention)
{
    double width = (double)attention->query->sizes[3];
    return width > 0 ? attention->query->elements / width * (double)attention->value->sizes[3] : 0;
}

/* Scores, then values. */
bool ss_work_attention(const struct ss_operator_call *call, struct ss_operator_work *work)
{
    struct attention attention;
    if (!read_attention(call, &attention)) {
        return false;
    }
    attend(work, &attention, 1, 1);
    ss_work_add(work, outputs_of_attention(&attention), attention.query->element);
    return true;
}

/* The scores again, then the gradients of values, scores, queries and keys. Reads the output and
 * its gradient, too, and writes three gradients. */
bool ss_work_attention_backward(const struct ss_operator_call *call, struct ss_operator_work *work)
{
    struct attention attention;
    if (!read_attention(call, &attention)) {
        return false;
    }
    attend(work, &attention, 3, 2);
    ss_work_add_tensor(work, attention.query);
    ss_work_add_tensor(work, attention.key);
    ss_work_add_tensor(work, attention.value);
    ss_work_add(work, 2 * outputs_of_attention(&attention), attention.query->element);
    return true;
}
