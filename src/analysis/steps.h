/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Training steps, and where their time went. A step is what the program marked as one; its phases
 * cut it into parts that add up to it to the nanosecond: "other" is what no phase covers.
 *
 * What would spoil the figures of the usual step is named and left out of them: cut steps, whose
 * begin or end was not seen; warm-up, the slow ones a process begins with; outliers, slow ones
 * later. Slow is more than five robust standard deviations (1.4826 times the median deviation from
 * the median, or 2 % of the median if that is more) above the median of the whole steps of the
 * process. More than three later ones that are more than a tenth of the later steps are no
 * outliers: they are how the program runs. Pure.
 */
#ifndef SS_ANALYSIS_STEPS_H
#define SS_ANALYSIS_STEPS_H

#include "analysis/selection.h"
#include "analysis/table.h"

enum { SS_STEP_MAX_PHASES = 32 };

enum ss_step_kind {
    SS_STEP_USUAL,
    SS_STEP_WARM_UP,
    SS_STEP_OUTLIER,
    SS_STEP_CUT,
    SS_STEP_OUTSIDE /* of the windows of a schedule */
};

struct ss_step {
    uint32_t process;
    int64_t number;
    uint64_t begin_ns, end_ns;
    enum ss_step_kind kind;
    bool has_operators; /* they were recorded, which takes time of its own */
};

struct ss_steps_options {
    size_t size;
    /* Steps with other numbers are not there. Both 0: all. */
    bool has_numbers;
    int64_t first, last;
    uint64_t max_rows; /* of tables; 0: all */
};

/* Of the samples of the main threads in a phase: the line of your own code, next to the leaf, that
 * most of them share. Samples of all steps, usual or not. */
struct ss_phase_line {
    uint32_t frame;   /* 0: none */
    uint32_t leaf;    /* what most of those were in, called from there; 0: the frame itself */
    uint64_t samples; /* at the line */
    uint64_t all;     /* of the phase */
    uint64_t records; /* of all: at how many ticks a stack was really read */
};

/* A phase over all usual steps. */
struct ss_step_phase {
    uint32_t name; /* string; 0: "other" */
    uint64_t total_ns;
    uint64_t steps;                           /* in which it was */
    double percent;                           /* of the time of the usual steps */
    uint64_t mean_ns, p50_ns, p95_ns, max_ns; /* per usual step, 0 where it was not in */
    struct ss_phase_line line;                /* of models loaded with sample_phases */
};

struct ss_step_summary {
    struct ss_vec_of(struct ss_step) steps; /* by process, then by begin */
    /* data, forward, backward, communication, optimizer, checkpoint, evaluation, inference, those
     * of other names as they appear, "other" at last; without phases there is "other" alone. At
     * most SS_STEP_MAX_PHASES: time of further names is other time. */
    struct ss_vec_of(struct ss_step_phase) phases;
    uint64_t *phase_ns; /* [steps][phases] */
    size_t processes;   /* that have steps */
    size_t usual, warm_up, outliers, cut, outside;
    uint64_t total_ns, mean_ns, p50_ns, p95_ns, max_ns; /* of the usual ones */
};

void ss_step_summary_init(struct ss_step_summary *summary, const struct ss_selection *selection,
                          const struct ss_steps_options *options);
void ss_step_summary_fini(struct ss_step_summary *summary);

/* Finds the line of each phase. Belongs to ss_step_summary_init. */
void ss_phase_lines_find(struct ss_step_summary *summary, const struct ss_selection *selection);

/* The phase that took most more of this step than its median is, and how much; the number of
 * phases where none did. */
size_t ss_step_grown_phase(const struct ss_step_summary *summary, size_t step, uint64_t *more_ns);

/* "data"; "other" for the rest of the step. */
struct ss_strview ss_step_phase_text(const struct ss_model *model,
                                     const struct ss_step_phase *phase);

/* One row per step. Behind these columns follows one per phase, "NAME_ns". */
enum ss_step_column {
    SS_STEP_PID,
    SS_STEP_PROCESS, /* its name */
    SS_STEP_NUMBER,
    SS_STEP_KIND, /* "usual", "warm-up", "outlier", "cut", "outside" */
    SS_STEP_BEGIN,
    SS_STEP_DURATION,
    SS_STEP_COLUMNS
};
/* Begins are counted from the first step. */
void ss_steps_table(const struct ss_step_summary *summary, const struct ss_selection *selection,
                    const struct ss_steps_options *options, struct ss_table *table);

enum ss_phase_column {
    SS_PHASE_NAME,
    SS_PHASE_PERCENT, /* of the usual steps; they add up to 100 */
    SS_PHASE_TOTAL,
    SS_PHASE_MEAN,
    SS_PHASE_P50,
    SS_PHASE_P95,
    SS_PHASE_MAX,
    SS_PHASE_STEPS,
    SS_PHASE_SAMPLES,
    SS_PHASE_LINE_PERCENT, /* of the samples */
    SS_PHASE_LINE_PATH,
    SS_PHASE_LINE,
    SS_PHASE_LINE_FUNCTION,
    SS_PHASE_LINE_LEAF, /* function that is called there */
    /* Absent until analysis/memories.h fills them. */
    SS_PHASE_MEMORY, /* of what: "memory rss" */
    SS_PHASE_MEMORY_END,
    SS_PHASE_MEMORY_CHANGE,
    SS_PHASE_MEMORY_PEAK, /* the highest */
    SS_PHASE_COLUMNS
};
void ss_phases_table(const struct ss_step_summary *summary, const struct ss_selection *selection,
                     struct ss_table *table);

#endif
