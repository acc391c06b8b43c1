/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums of the nested ranges of one domain by name: operators, modules. Self time is what no inner
 * range of the same track covers; total counts recursion once. The time in steady-state steps (see
 * steps.h) is summed beside it, cut to them to the nanosecond. Rows are in the order of their first
 * range. Pure.
 */
#ifndef SS_ANALYSIS_CALLS_CALLS_H
#define SS_ANALYSIS_CALLS_CALLS_H

#include "analysis/steps/steady_time.h"

/* By the category that the integration gives a name. EVALUATION, in which autograd's engine
 * evaluates a node, is known by its name; in rows it counts as BACKWARD. RUNTIME is a call of a
 * device's runtime or driver. */
enum ss_call_kind {
    SS_CALL_FORWARD,
    SS_CALL_BACKWARD,
    SS_CALL_SCOPE,
    SS_CALL_RUNTIME,
    SS_CALL_EVALUATION
};

/* What separates calls of one name into rows, besides their kind. */
enum ss_call_grouping {
    SS_CALLS_BY_PROCESS = 1,
    SS_CALLS_BY_THREAD = 2,
    SS_CALLS_BY_PHASE = 4,
    SS_CALLS_BY_SHAPES = 8 /* key_averages only */
};

struct ss_calls_options {
    const char *domain;
    unsigned grouping; /* enum ss_call_grouping */
    /* By range of the model: different values, different rows; NULL: all equal. */
    const uint32_t *apart;
    /* A call counts as one with its only inner call of the same name, as in torch.profiler. */
    bool joins_same;
    const struct ss_phase_times *phases; /* for SS_CALLS_BY_PHASE; NULL: none */
    /* The domain of sums of calls that were not recorded in full, and the name of the marks there
     * that count their steps; NULL: these calls do not count. */
    const char *sums, *summed_steps;
};

struct ss_call_times {
    uint64_t calls, self_ns, total_ns;
    uint64_t backward_ns; /* of self: in a range of kind backward, or within one */
};

struct ss_call_row {
    uint32_t name;  /* of its first range: index into names */
    uint32_t track; /* of its first range */
    uint32_t phase; /* string; 0: "other", or not grouped by phase */
    uint32_t apart;
    enum ss_call_kind kind;
    uint32_t order;
    struct ss_call_times all, steady; /* usual: within steady-state steps */
    struct ss_call_times summed;      /* of steps that were not recorded in full; not in `all` */
    size_t first; /* of its durations, once they are measured: all.calls, sorted */
};

struct ss_calls {
    struct ss_vec_of(struct ss_call_row) rows;
    uint32_t *row_of;                       /* by range of the model: row + 1; 0: does not count */
    uint64_t *durations;                    /* NULL until ss_calls_measure */
    uint64_t self_ns;                       /* of all rows, with what was summed */
    uint64_t summed_steps, summed_steps_ns; /* steps that were not recorded in full */
    unsigned workers;                       /* threads that sort the durations */
};

void ss_calls_init(struct ss_calls *calls, const struct ss_selection *selection,
                   const struct ss_steady_time *steady, const struct ss_calls_options *options);
/* Gathers the durations of all calls: only percentiles need them. */
void ss_calls_measure(struct ss_calls *calls, const struct ss_model *model);
void ss_calls_fini(struct ss_calls *calls);

enum ss_call_kind ss_call_kind_of(const struct ss_model *model, uint32_t name);
/* The kinds of all names. The caller frees them. */
uint8_t *ss_call_kinds(const struct ss_model *model);
/* True for a track of nested ranges of the domain that the selection includes. */
bool ss_calls_has_track(const struct ss_selection *selection, uint32_t track, const char *domain);

#endif
