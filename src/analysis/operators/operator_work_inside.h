/* SPDX-License-Identifier: Apache-2.0 */
/* The formulas of operator_work.def. Private to operator_work*.c. */
#ifndef SS_ANALYSIS_OPERATORS_OPERATOR_WORK_INSIDE_H
#define SS_ANALYSIS_OPERATORS_OPERATOR_WORK_INSIDE_H

#include "analysis/operators/operator_work.h"

enum { SS_NO_ARGUMENT = UINT8_MAX };

/* A call: the rule's parameters, and what is known of the arguments. */
struct ss_operator_call {
    const uint8_t *parameters;
    const struct ss_operator_arguments *arguments;
    const struct ss_operator_argument *output; /* NULL: unknown */
};

typedef bool ss_operator_formula(const struct ss_operator_call *call,
                                 struct ss_operator_work *work);

/* parameters: the place of the first multiplied tensor */
ss_operator_formula ss_work_product;
ss_operator_formula ss_work_linear, ss_work_matmul;
/* the place of the type of the output */
ss_operator_formula ss_work_scaled_product;
/* places of stride, padding, dilation, transposed, output padding, groups */
ss_operator_formula ss_work_convolution;
/* places of: transposed, output mask, the gradient of the output, the input */
ss_operator_formula ss_work_convolution_backward;
/* place of the query; whether heads come after positions; place of the causal flag */
ss_operator_formula ss_work_attention, ss_work_attention_backward;

/* places that are read, from the first on; FLOPs per element of the output; bytes of such an
 * element, 0: as those that are read */
ss_operator_formula ss_work_elementwise;
/* FLOPs per element that is read; place of the dimensions that are reduced */
ss_operator_formula ss_work_reduction;
/* place of the tensor that is as large as the output, FLOPs per element of it */
ss_operator_formula ss_work_normalisation;
ss_operator_formula ss_work_copy, ss_work_fill, ss_work_concatenation;
ss_operator_formula ss_work_embedding, ss_work_embedding_backward, ss_work_index_select,
    ss_work_gather;
/* lists that are read at most, and written; FLOPs per element */
ss_operator_formula ss_work_lists;
/* Of generated kernels, which are recorded with the tensors that they read and write. */
ss_operator_formula ss_work_all_arguments;

/* Add what is read or written: `elements` as those of the argument, or all of it. */
void ss_work_add(struct ss_operator_work *work, double elements, struct ss_element element);
static inline void ss_work_add_tensor(struct ss_operator_work *work,
                                      const struct ss_operator_argument *tensor)
{
    if (tensor != NULL) {
        ss_work_add(work, tensor->elements, tensor->element);
    }
}
static inline const struct ss_operator_argument *ss_work_tensor(const struct ss_operator_call *call,
                                                                size_t index)
{
    return ss_operator_tensor(call->arguments, index);
}

#endif
