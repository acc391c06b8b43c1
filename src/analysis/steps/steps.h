/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Training steps, and where their time goes. A step is what the program marks as one; its phases
 * split it into parts that add up to it to the nanosecond: "other" is what no phase covers.
 *
 * Steps that would distort the figures of the steady-state step are labelled and left out of them:
 * cut steps, whose begin or end was not recorded; warm-up, slow steps at a process's begin;
 * outliers, slow steps later on; profiled ones, in which a profiler of the program took
 * SS_LIMIT_PROFILED_PERCENT or more, unless most steps are such ones. A step is slow when it is
 * more than five robust standard deviations (1.4826 times the median deviation from the median, or
 * 2 % of the median if that is more) above the median of the whole steps of the process. Later slow
 * steps that are more than three and more than a tenth of the later steps are not outliers: they
 * are how the program runs. Pure.
 */
#ifndef SS_ANALYSIS_STEPS_STEPS_H
#define SS_ANALYSIS_STEPS_STEPS_H

#include "analysis/launches/lost_kernels.h"
#include "analysis/selection/selection.h"
#include "analysis/steps/process_index.h"
#include "analysis/table/table.h"

enum { SS_STEP_MAX_PHASES = 32 };

enum ss_step_kind {
    SS_STEP_STEADY,
    SS_STEP_WARM_UP,
    SS_STEP_OUTLIER,
    SS_STEP_PROFILED, /* a profiler of the program worked in it */
    SS_STEP_CUT,
    SS_STEP_OUTSIDE /* outside the windows of a schedule */
};

struct ss_step {
    uint32_t process;
    int64_t number;
    uint64_t begin_ns, end_ns;
    enum ss_step_kind kind;
    bool has_operators;    /* its operators were recorded, which takes time of its own */
    bool counts_operators; /* ss_recorded_steps_counts */
    bool is_whole;         /* ss_recorded_steps_is_whole: its modules count */
    bool is_summed;        /* of its operators and modules, the recording has sums */
    bool has_device_work;  /* what its devices did is known */
    bool lacks_kernels;    /* it is not, because ss_lost_kernels_hide it */
};

struct ss_steps_options {
    size_t size;
    /* With has_numbers, only the steps numbered first to last exist; else all. */
    bool has_numbers;
    int64_t first, last;
    uint64_t max_rows; /* of tables; 0: all */
};

/* The hot line of a phase: of user code, closest to the leaf, shared by most samples of the main
 * threads in the phase. Covers all steps, steady-state or not. */
struct ss_phase_line {
    uint32_t frame;   /* 0: none */
    uint32_t leaf;    /* the leaf of most samples at the line; 0: the frame itself */
    uint64_t samples; /* at the line */
    uint64_t all;     /* of the phase */
    uint64_t records; /* of all: ticks at which a stack was really read */
};

/* A phase over all steady-state steps. */
struct ss_step_phase {
    uint32_t name; /* string; 0: "other" */
    uint64_t total_ns;
    uint64_t steps;                           /* that have it */
    double percent;                           /* of the time of the steady-state steps */
    uint64_t mean_ns, p50_ns, p95_ns, max_ns; /* per steady-state step, 0 in steps without it */
    struct ss_phase_line line;                /* of models loaded with sample_phases */
};

struct ss_step_summary {
    struct ss_vec_of(struct ss_step) steps; /* by process, then by begin */
    /* data, forward, backward, communication, optimizer, checkpoint, evaluation, inference, other
     * names in order of appearance, "other" last; without phases, "other" alone. At most
     * SS_STEP_MAX_PHASES: the time of further names is other time. */
    struct ss_vec_of(struct ss_step_phase) phases;
    uint64_t *phase_ns;  /* [steps][phases] */
    size_t processes;    /* with steps */
    size_t summed;       /* steps that are in the recording as sums */
    size_t stood_out;    /* steps that are in full because they stood out */
    bool lost_operators; /* every recorded step of some process lost operators */
    struct ss_lost_kernels lost;
    size_t lacking_kernels;        /* steps whose kernels the recording lacks */
    bool *trains;                  /* by process of the model: it has steps */
    struct ss_process_index index; /* which tables and facts share */
    struct ss_analysis *analysis;  /* more of that kind: analysis/steps/step_analysis.h */
    size_t steady, warm_up, outliers, profiled, cut, outside;
    uint64_t total_ns, mean_ns, p50_ns, p95_ns, max_ns; /* of the steady-state steps */
    uint64_t profiler_ns; /* the work of the program's own profilers, in no step that counts */
};

void ss_step_summary_init(struct ss_step_summary *summary, const struct ss_selection *selection,
                          const struct ss_steps_options *options);
void ss_step_summary_fini(struct ss_step_summary *summary);

/* Finds the hot line of each phase. Called by ss_step_summary_init only. */
void ss_phase_lines_find(struct ss_step_summary *summary, const struct ss_selection *selection);

/* The last step of the process that begins at or before `time_ns`; NULL: none. */
const struct ss_step *ss_step_last(const struct ss_step_summary *summary, uint32_t process,
                                   uint64_t time_ns);
/* The step of the process at `time_ns`; NULL: none. */
const struct ss_step *ss_step_at(const struct ss_step_summary *summary, uint32_t process,
                                 uint64_t time_ns);
/* Whether the process has steps. */
static inline bool ss_step_has_process(const struct ss_step_summary *summary, uint32_t process)
{
    return summary->trains != NULL && summary->trains[process];
}

/* Lists the phases and splits the steps into them. Called by ss_step_summary_init only. */
void ss_step_phases_find(struct ss_step_summary *summary, const struct ss_selection *selection);

/* The phase that exceeds its median by most in this step, and by how much; the number of phases
 * where none does. */
size_t ss_step_grown_phase(const struct ss_step_summary *summary, size_t step, uint64_t *more_ns);

/* "data"; "other" for the rest of the step. */
struct ss_strview ss_step_phase_text(const struct ss_model *model,
                                     const struct ss_step_phase *phase);
/* The index of the phase of that name; the number of phases: there is none. */
size_t ss_step_phase_named(const struct ss_step_summary *summary, const struct ss_model *model,
                           const char *name);

/* One row per step. After these columns follows one per phase, "NAME_ns". */
enum ss_step_column {
    SS_STEP_PID,
    SS_STEP_PROCESS, /* its name */
    SS_STEP_NUMBER,
    SS_STEP_KIND, /* "steady", "warm-up", "outlier", "profiled", "cut", "outside" */
    SS_STEP_BEGIN,
    SS_STEP_DURATION,
    SS_STEP_COLUMNS
};
/* Begins are relative to the first step's. */
/* "steady", "warm-up", … */
const char *ss_step_kind_name(enum ss_step_kind kind);

void ss_steps_table(const struct ss_step_summary *summary, const struct ss_selection *selection,
                    const struct ss_steps_options *options, struct ss_table *table);

enum ss_phase_column {
    SS_PHASE_NAME,
    SS_PHASE_PERCENT, /* of the time of the steady-state steps; adds up to 100 */
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
    SS_PHASE_LINE_LEAF, /* function called there */
    /* Absent until analysis/memory/memories.h fills them. */
    SS_PHASE_MEMORY, /* counter: "memory rss" */
    SS_PHASE_MEMORY_END,
    SS_PHASE_MEMORY_CHANGE,
    SS_PHASE_MEMORY_PEAK, /* the highest */
    SS_PHASE_MEAN_PM,     /* at 95 %; absent until analysis/steps/step_series.h fills it */
    SS_PHASE_COLUMNS,
    /* Of recordings with work of devices only: of the work that steady-state steps launched in the
     * phase, wherever it ran */
    SS_PHASE_DEVICE_PERCENT = SS_PHASE_COLUMNS, /* adds up to 100 */
    SS_PHASE_DEVICE_TOTAL,
    SS_PHASE_DEVICE_STEP, /* this and the next: mean per step whose work was recorded */
    SS_PHASE_DEVICE_STEP_WORKS,
    SS_PHASE_DEVICE_COLUMNS
};
void ss_phases_table(const struct ss_step_summary *summary, const struct ss_selection *selection,
                     struct ss_table *table);

#endif
