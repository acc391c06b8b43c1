/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much of a recording may be detail: operators and modules as single events. What is not
 * detail (steps, phases, samples, metrics, sums of operators) is always written.
 *
 * The first sixteenth of the limit is for the first steps, which are in full. From then on detail
 * may grow by as much again each time the recording becomes e times as long: windows of a few
 * steps, ever rarer, and steps that are longer than usual. A recording of any length thus stays
 * below its limit without a byte being written twice. Where the rest of the file comes near the
 * limit, or the disk near its reserve, there is no more detail.
 *
 * Pure: times, sizes and the free space come from the caller. Owned by one thread.
 */
#ifndef SS_RECORD_DETAILS_DETAIL_BUDGET_H
#define SS_RECORD_DETAILS_DETAIL_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

/* What is written of the operators and modules of a step: the values of the counter "detail
 * recorded". */
enum ss_detail {
    SS_DETAIL_SUMS,      /* sums by name */
    SS_DETAIL_FULL,      /* all, as was decided before the step began */
    SS_DETAIL_STOOD_OUT, /* all, because of what the step was like */
    SS_DETAIL_UNDECIDED  /* all or sums, as its end decides */
};

#define SS_DETAIL_DEFAULT_MAX_BYTES (UINT64_C(1) << 30)

/* The state of a recording and its disk. */
struct ss_detail_figures {
    uint64_t now_ns;
    uint64_t bytes, records; /* written so far */
    uint64_t free_bytes;     /* of the file system */
    uint64_t reserve_bytes;  /* that stay free; 0: unknown */
};

struct ss_detail_budget {
    uint64_t max_bytes;                 /* 0: all is written in full */
    struct ss_detail_figures figures;   /* the last */
    uint64_t begin_ns;                  /* of the recording */
    uint64_t thinned_ns;                /* since when steps are thinned; 0: not yet */
    double event_bytes;                 /* mean, of a stored event */
    double first_bytes, later_bytes;    /* detail written: before; and since */
    double growth;                      /* parts by which detail may have grown since */
    double window_bytes, outlier_bytes; /* that windows and steps that stand out may have now */
};

void ss_detail_budget_init(struct ss_detail_budget *budget, uint64_t max_bytes, uint64_t now_ns);
/* Once a second. */
void ss_detail_budget_update(struct ss_detail_budget *budget,
                             const struct ss_detail_figures *figures);
/* Whether steps are thinned: else all detail is written as it comes. */
bool ss_detail_budget_thins(const struct ss_detail_budget *budget);
/* The file has its size: ranges that the program marks itself are detail from now on, too. */
bool ss_detail_budget_is_used_up(const struct ss_detail_budget *budget);
/* So many events of detail are written; `why`: FULL or STOOD_OUT. */
void ss_detail_budget_spend(struct ss_detail_budget *budget, enum ss_detail why, uint64_t events);

enum { SS_DETAIL_LENGTHS = 63 };

/* The steps of one process. Zero-initialised is empty. */
struct ss_detail_steps {
    uint64_t lengths_ns[SS_DETAIL_LENGTHS]; /* of the last steps, a ring */
    uint64_t count, long_ns;                /* steps so far; above which length one stands out */
    double events;                          /* mean of a step's events of detail */
    int64_t block;                          /* of steps, the current */
    bool has_block, is_window;
};

/* What the step of this number, which begins, is to be: FULL or UNDECIDED. */
enum ss_detail ss_detail_plan(struct ss_detail_steps *steps, const struct ss_detail_budget *budget,
                              int64_t number);
/* The step has ended: STOOD_OUT or SUMS, of an undecided one, else `planned`. `events`: of
 * detail. */
enum ss_detail ss_detail_settle(struct ss_detail_steps *steps,
                                const struct ss_detail_budget *budget, enum ss_detail planned,
                                uint64_t step_ns, uint64_t events);

#endif
