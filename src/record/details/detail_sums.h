/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums of the operators and modules of steps that are not written in full: calls and times by name,
 * by the module that called them, and by whether they belong to a backward pass. They count as
 * analysis/calls/calls.h counts: self time is what no inner call of the same nest covers, total
 * counts recursion once, and a call with only one inner call, of the same name, is one with it. The
 * time of a backward pass belongs to the module whose forward operator has the same sequence
 * number.
 *
 * A nest is what one thread has of one kind. Calls that are written in full pass through it too, so
 * that those around them know. Owned by the recorder's thread.
 */
#ifndef SS_RECORD_DETAILS_DETAIL_SUMS_H
#define SS_RECORD_DETAILS_DETAIL_SUMS_H

#include "base/intern.h"
#include "base/vec.h"
#include "source/annot.h"

enum ss_detail_kind {
    SS_DETAIL_NONE,
    SS_DETAIL_OPERATORS,
    SS_DETAIL_MODULES,
    SS_DETAIL_RANGES, /* that the program marks itself */
    SS_DETAIL_KINDS
};

/* What a call is, by its name. */
enum ss_detail_name {
    SS_DETAIL_NAME_CALL,
    SS_DETAIL_NAME_BACKWARD /* a node of autograd, or its evaluation */
};

struct ss_detail_sum {
    enum ss_detail_kind kind;
    uint32_t name, module; /* names of the process; 0: none */
    bool in_backward;
    uint64_t calls, self_ns, total_ns;
};

/* An open call. */
struct ss_detail_call {
    uint64_t begin_ns, inner_ns;
    uint32_t name, module;
    uint32_t inner_calls, inner_sum; /* of the last inner call, from 1; 0: it is not summed */
    uint32_t inner_name;
    bool in_backward;
    bool is_written; /* its start is in the file */
};

struct ss_detail_nest {
    struct ss_vec_of(struct ss_detail_call) open;
};

struct ss_detail_number {
    uint64_t number; /* of autograd; 0: none */
    uint32_t module;
};

struct ss_detail_sums {
    struct ss_intern keys; /* id 0 is the empty key: ids count from 1 */
    struct ss_vec_of(struct ss_detail_sum) rows;
    struct ss_detail_number *numbers; /* modules of the last forward operators, by number */
};

void ss_detail_sums_init(struct ss_detail_sums *sums);
void ss_detail_sums_fini(struct ss_detail_sums *sums);
/* Forgets the rows, which the caller has written. */
void ss_detail_sums_clear(struct ss_detail_sums *sums);
/* A call begins. `modules`: of an operator, the open modules of the thread; else NULL. */
void ss_detail_sums_begin(struct ss_detail_sums *sums, struct ss_detail_nest *nest,
                          const struct ss_detail_nest *modules, const struct ss_annot_event *event,
                          enum ss_detail_name what, bool is_written);
/* A mark, which takes no time. */
void ss_detail_sums_mark(struct ss_detail_sums *sums, uint32_t name);
/* The innermost call ends; returns whether its start is in the file. `kind` NONE: it is not
 * summed. */
bool ss_detail_sums_end(struct ss_detail_sums *sums, struct ss_detail_nest *nest,
                        enum ss_detail_kind kind, uint64_t end_ns);

#endif
