/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arguments of an operator as profilers record them: shapes, types and plain values, each a
 * JSON list with one entry per argument. Any text may be passed: what is not such a list is
 * unknown. Pure; owned by the caller, views are borrowed.
 */
#ifndef SS_ANALYSIS_OPERATORS_OPERATOR_ARGUMENTS_H
#define SS_ANALYSIS_OPERATORS_OPERATOR_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/table/datatypes.h"

enum { SS_OPERATOR_MOST_ARGUMENTS = 64, SS_OPERATOR_MOST_DIMENSIONS = 8 };

enum ss_operator_kind {
    SS_ARGUMENT_OTHER,   /* a number, a list of numbers, nothing, or unknown */
    SS_ARGUMENT_TENSOR,  /* of 0 or more dimensions */
    SS_ARGUMENT_TENSORS, /* a list of them */
};

struct ss_operator_argument {
    enum ss_operator_kind kind;
    uint8_t dimensions; /* of a tensor */
    int64_t sizes[SS_OPERATOR_MOST_DIMENSIONS];
    double elements;           /* of a tensor, or of all of a list */
    struct ss_element element; /* bytes 0: its type is unknown */
    struct ss_strview value;   /* "[1, 2]", "True", …; empty: unknown */
};

struct ss_operator_arguments {
    size_t count;
    struct ss_operator_argument list[SS_OPERATOR_MOST_ARGUMENTS];
};

/* Empty texts: not recorded. False: the shapes are not readable, or there are too many. */
bool ss_operator_arguments_read(struct ss_operator_arguments *arguments, struct ss_strview shapes,
                                struct ss_strview types, struct ss_strview values);

/* The tensor at this place; NULL: there is none. */
const struct ss_operator_argument *ss_operator_tensor(const struct ss_operator_arguments *arguments,
                                                      size_t index);
/* The numbers of a value such as "[1, 2]" or "3": their count; 0: unknown, or more than `most`. */
size_t ss_operator_numbers(const struct ss_operator_arguments *arguments, size_t index,
                           int64_t *numbers, size_t most);
/* A value such as "True" or "[True, False]": bit i is set where entry i is true. -1: unknown. */
int ss_operator_flags(const struct ss_operator_arguments *arguments, size_t index);

#endif
