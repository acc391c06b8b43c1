/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frames in an event's field `stack`: a JSON list of texts "FILE(LINE): FUNCTION", the
 * innermost first, as PyTorch's profiler writes them. Pure.
 */
#ifndef SS_MODEL_CORE_STACK_LIST_H
#define SS_MODEL_CORE_STACK_LIST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "base/strview.h"

struct ss_listed_frame {
    struct ss_strview file; /* empty: unknown */
    struct ss_strview function;
    int64_t line; /* -1: unknown */
};

/* Appends the frame to the list, which is empty before the first one. */
void ss_stack_list_append(struct ss_strbuf *list, const struct ss_listed_frame *frame);
/* Closes the list; without frames it stays empty. */
void ss_stack_list_close(struct ss_strbuf *list);

struct ss_stack_list {
    const char *at, *end;
    struct ss_strbuf text; /* of the frame that was read */
};

/* Reads a list; its text is borrowed. What is not a list has no frames. */
void ss_stack_list_open(struct ss_stack_list *list, struct ss_strview text);
void ss_stack_list_fini(struct ss_stack_list *list);
/* The next frame, valid until the next call; false: there are no more. */
bool ss_stack_list_next(struct ss_stack_list *list, struct ss_listed_frame *frame);

/* Splits "FILE(LINE): FUNCTION"; any other text is a function. */
struct ss_listed_frame ss_listed_frame_of(struct ss_strview text);

#endif
