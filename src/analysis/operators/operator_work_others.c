/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that mostly move memory. */
#include "analysis/operators/operator_work_inside.h"

/* Of two types the one of the result: floats before integers, wide ones before narrow ones. */
static struct ss_element promote(struct ss_element a, struct ss_element b)
{
    bool is_float_a = a.type >= SS_DATATYPE_FP64 && a.type <= SS_DATATYPE_FP8;
    bool is_float_b = b.type >= SS_DATATYPE_FP64 && b.type <= SS_DATATYPE_FP8;
    if (is_float_a != is_float_b) {
        return is_float_a ? a : b;
    }
    return a.bytes >= b.bytes ? a : b;
}

/* --- elementwise ------------------------------------------------------------------------------ */

/* The broadcast shape of tensors, from the last dimension on. */
struct broadcast {
    int64_t sizes[SS_OPERATOR_MOST_DIMENSIONS];
    size_t dimensions;
    bool fits;
};

static void widen(struct broadcast *shape, const struct ss_operator_argument *tensor)
{
    for (size_t i = 0; i < tensor->dimensions; i++) {
        int64_t size = tensor->sizes[tensor->dimensions - 1u - i];
        if (i >= shape->dimensions) {
            shape->sizes[shape->dimensions++] = size;
        } else if (shape->sizes[i] == 1) {
            shape->sizes[i] = size;
        } else {
            shape->fits = shape->fits && (size == 1 || size == shape->sizes[i]);
        }
    }
}

static double elements_of(const struct broadcast *shape)
{
    double elements = 1;
    for (size_t i = 0; i < shape->dimensions; i++) {
        elements *= (double)shape->sizes[i];
    }
    return elements;
}

/* Tensors without dimensions take part in the type only where there are no others. */
static struct ss_element result_type(const struct ss_operator_call *call, size_t inputs)
{
    struct ss_element types[2] = {{SS_DATATYPE_UNKNOWN, 0}, {SS_DATATYPE_UNKNOWN, 0}};
    bool has[2] = {false, false};
    for (size_t i = 0; i < inputs; i++) {
        const struct ss_operator_argument *tensor = ss_work_tensor(call, i);
        if (tensor != NULL) {
            int which = tensor->dimensions > 0;
            types[which] = has[which] ? promote(types[which], tensor->element) : tensor->element;
            has[which] = true;
        }
    }
    return types[has[1]];
}

bool ss_work_elementwise(const struct ss_operator_call *call, struct ss_operator_work *work)
{
    size_t inputs = call->parameters[0];
    struct broadcast shape = {.fits = true};
    struct ss_element type = result_type(call, inputs);
    bool has_any = false;
    for (size_t i = 0; i < inputs; i++) {
        const struct ss_operator_argument *tensor = ss_work_tensor(call, i);
        if (tensor != NULL) {
            has_any = true;
            widen(&shape, tensor);
            ss_work_add_tensor(work, tensor);
        }
    }
    if (!has_any || !shape.fits) {
        return false;
    }
    double elements = elements_of(&shape);
    work->type = type.type;
    work->flops = elements * call->parameters[1];
    type.bytes = call->parameters[2] != 0 ? call->parameters[2] : type.bytes;
    ss_work_add(work, elements, type);
    return true;
}

/* --- reductions and normalisations ------------------------------------------------------------ */

/* The output has the dimensions that are not reduced; without a list of them, one element. */
bool ss_work_reduction(const struct ss_operator_call *call, struct ss_operator_work *work)
{
    const struct ss_operator_argument *x = ss_work_tensor(call, 0);
    int64_t reduced[SS_OPERATOR_MOST_DIMENSIONS];
    if (x == NULL) {
        return false;
    }
    double outputs = 1;
    bool has_any = false;
    size_t count = ss_operator_numbers(call->arguments, call->parameters[1], reduced,
                                       SS_OPERATOR_MOST_DIMENSIONS);
    for (size_t d = 0; d < x->dimensions; d++) {
        bool is_reduced = false;
        for (size_t i = 0; i < count; i++) {
            is_reduced = is_reduced || reduced[i] == (int64_t)d ||
                         reduced[i] == (int64_t)d - (int64_t)x->dimensions;
        }
        outputs *= is_reduced ? 1 : (double)x->sizes[d];
        has_any = has_any || is_reduced;
    }
    outputs = has_any ? outputs : 1;
    work->type = x->element.type;
    work->flops = x->elements * call->parameters[0];
    ss_work_add_tensor(work, x);
    ss_work_add(work, outputs, x->element);
    return true;
}

/* Reads all tensors as large as the output, and the vectors. */
bool ss_work_normalisation(const struct ss_operator_call *call, struct ss_operator_work *work)
{
    const struct ss_operator_argument *x = ss_work_tensor(call, call->parameters[0]);
    if (x == NULL) {
        return false;
    }
    for (size_t i = 0; i < call->arguments->count; i++) {
        const struct ss_operator_argument *tensor = ss_work_tensor(call, i);
        if (tensor != NULL && (tensor->dimensions == 1 || tensor->elements >= x->elements)) {
            ss_work_add_tensor(work, tensor);
        }
    }
    work->type = x->element.type;
    work->flops = x->elements * call->parameters[1];
    ss_work_add(work, x->elements, x->element);
    return true;
}

/* --- copies ----------------------------------------------------------------------------------- */

/* Into the first argument, of the second, which may be smaller. */
bool ss_work_copy(const struct ss_operator_call *call, struct ss_operator_work *work)
{
    const struct ss_operator_argument *to = ss_work_tensor(call, 0),
                                      *from = ss_work_tensor(call, 1);
    if (to == NULL || from == NULL) {
        return false;
    }
    work->type = to->element.type;
    ss_work_add_tensor(work, to);
    ss_work_add_tensor(work, from);
    return true;
}

bool ss_work_fill(const struct ss_operator_call *call, struct ss_operator_work *work)
{
    const struct ss_operator_argument *to = ss_work_tensor(call, 0);
    if (to == NULL) {
        return false;
    }
    work->type = to->element.type;
    ss_work_add_tensor(work, to);
    return true;
}

static const struct ss_operator_argument *list_at(const struct ss_operator_call *call, size_t index)
{
    return index < call->arguments->count &&
                   call->arguments->list[index].kind == SS_ARGUMENT_TENSORS
               ? &call->arguments->list[index]
               : NULL;
}

bool ss_work_concatenation(const struct ss_operator_call *call, struct ss_operator_work *work)
{
    const struct ss_operator_argument *list = list_at(call, 0);
    if (list == NULL) {
        return false;
    }
    ss_work_add(work, 2 * list->elements, list->element);
    return true;
}

/* --- tables ----------------------------------------------------------------------------------- */

/* Arguments: weight, indices. Reads and writes a row of the weight for each index. */
bool ss_work_embedding(const struct ss_operator_call *call, struct ss_operator_work *work)
{
    const struct ss_operator_argument *weight = ss_work_tensor(call, 0),
                                      *indices = ss_work_tensor(call, 1);
    if (weight == NULL || indices == NULL || weight->dimensions != 2) {
        return false;
    }
    work->type = weight->element.type;
    ss_work_add_tensor(work, indices);
    ss_work_add(work, 2 * indices->elements * (double)weight->sizes[1], weight->element);
    return true;
}

/* Arguments: the gradient of the output, indices, number of rows: writes all rows of a gradient. */
bool ss_work_embedding_backward(const struct ss_operator_call *call, struct ss_operator_work *work)
{
    const struct ss_operator_argument *gradient = ss_work_tensor(call, 0),
                                      *indices = ss_work_tensor(call, 1);
    int64_t rows = 0;
    if (gradient == NULL || indices == NULL || gradient->dimensions < 1 ||
        ss_operator_numbers(call->arguments, 2, &rows, 1) != 1 || rows < 0 || rows > INT32_MAX) {
        return false;
    }
    work->type = gradient->element.type;
    work->flops = gradient->elements;
    ss_work_add_tensor(work, gradient);
    ss_work_add_tensor(work, indices);
    ss_work_add(work, (double)rows * (double)gradient->sizes[gradient->dimensions - 1],
                gradient->element);
    return true;
}

/* Arguments: a tensor, the dimension, indices into it. */
bool ss_work_index_select(const struct ss_operator_call *call, struct ss_operator_work *work)
{
    const struct ss_operator_argument *x = ss_work_tensor(call, 0),
                                      *indices = ss_work_tensor(call, 2);
    int64_t dimension;
    if (x == NULL || indices == NULL ||
        ss_operator_numbers(call->arguments, 1, &dimension, 1) != 1) {
        return false;
    }
    dimension += dimension < 0 ? x->dimensions : 0;
    if (dimension < 0 || dimension >= x->dimensions || x->sizes[dimension] == 0) {
        return false;
    }
    double outputs = x->elements / (double)x->sizes[dimension] * indices->elements;
    work->type = x->element.type;
    ss_work_add_tensor(work, indices);
    ss_work_add(work, 2 * outputs, x->element);
    return true;
}

/* Arguments: a tensor, the dimension, an index for each element of the output. */
bool ss_work_gather(const struct ss_operator_call *call, struct ss_operator_work *work)
{
    const struct ss_operator_argument *x = ss_work_tensor(call, 0),
                                      *indices = ss_work_tensor(call, 2);
    if (x == NULL || indices == NULL) {
        return false;
    }
    work->type = x->element.type;
    ss_work_add_tensor(work, indices);
    ss_work_add(work, 2 * indices->elements, x->element);
    return true;
}

/* --- several tensors at once ------------------------------------------------------------------ */

/* All lists have as many elements as the first; the element type of a list is not recorded. */
bool ss_work_lists(const struct ss_operator_call *call, struct ss_operator_work *work)
{
    const struct ss_operator_argument *first = list_at(call, 0);
    size_t lists = 0;
    if (first == NULL) {
        return false;
    }
    for (size_t i = 0; i < call->parameters[0]; i++) {
        lists += list_at(call, i) != NULL;
    }
    work->flops = first->elements * call->parameters[2];
    ss_work_add(work, first->elements * (double)(lists + call->parameters[1]), first->element);
    return true;
}

bool ss_work_all_arguments(const struct ss_operator_call *call, struct ss_operator_work *work)
{
    double most = 0;
    for (size_t i = 0; i < call->arguments->count; i++) {
        const struct ss_operator_argument *tensor = ss_work_tensor(call, i);
        if (tensor != NULL && tensor->dimensions > 0) {
            ss_work_add_tensor(work, tensor);
            work->type = tensor->elements > most ? tensor->element.type : work->type;
            most = tensor->elements > most ? tensor->elements : most;
        }
    }
    work->flops = most;
    return most > 0;
}
