/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The nested ranges of one domain added up by name, for all that is called and returns: operators,
 * modules. Self time is what no inner range of the same track covers; total counts recursion once.
 * What falls into usual steps (see steps.h) is counted beside it, cut to them to the nanosecond.
 * Rows are in the order of their first range. Pure.
 */
#ifndef SS_ANALYSIS_CALLS_H
#define SS_ANALYSIS_CALLS_H

#include "analysis/usual_time.h"

/* What the integration says of a name by its category; but what autograd's engine evaluates a node
 * in is told by its name, and of rows it is backward too. */
enum ss_call_kind { SS_CALL_FORWARD, SS_CALL_BACKWARD, SS_CALL_SCOPE, SS_CALL_EVALUATION };

/* What keeps calls of one name in rows of their own, besides their kind. */
enum ss_call_grouping {
    SS_CALLS_BY_PROCESS = 1,
    SS_CALLS_BY_THREAD = 2,
    SS_CALLS_BY_PHASE = 4,
    SS_CALLS_BY_SHAPES = 8 /* of key_averages alone */
};

struct ss_calls_options {
    const char *domain;
    unsigned grouping;     /* enum ss_call_grouping */
    const uint32_t *apart; /* by range of the model: other numbers, other rows; NULL: all alike */
    /* A call whose only inner call has its name is one with it: so torch.profiler counts. */
    bool joins_same;
};

struct ss_call_times {
    uint64_t calls, self_ns, total_ns;
    uint64_t backward_ns; /* of self: in a range of kind backward, or within one */
};

struct ss_call_row {
    uint32_t name;  /* of its first range: index into names */
    uint32_t track; /* of that */
    uint32_t phase; /* string; 0: "other", or not asked for */
    uint32_t apart;
    enum ss_call_kind kind;
    uint32_t order;
    struct ss_call_times all, usual; /* usual: within usual steps */
    size_t first;                    /* of its durations, all.calls of them, sorted */
};

struct ss_calls {
    struct ss_vec_of(struct ss_call_row) rows;
    uint32_t *row_of; /* by range of the model: row + 1; 0: does not count */
    uint64_t *durations;
    uint64_t self_ns; /* of all rows */
};

void ss_calls_init(struct ss_calls *calls, const struct ss_selection *selection,
                   const struct ss_usual_time *usual, const struct ss_calls_options *options);
void ss_calls_fini(struct ss_calls *calls);

enum ss_call_kind ss_call_kind_of(const struct ss_model *model, uint32_t name);
/* The same of all names. Freed by the caller. */
uint8_t *ss_call_kinds(const struct ss_model *model);
/* Is it a track of nested ranges of the domain, that the selection lets through? */
bool ss_calls_has_track(const struct ss_selection *selection, uint32_t track, const char *domain);

#endif
