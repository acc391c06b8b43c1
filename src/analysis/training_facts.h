/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a recording tells of a training beside its steps and phases, computed once for the rules
 * that advise on it. "A step" is a usual one (analysis/steps.h), and figures per step are means
 * over them, unless it says otherwise; trainers are the processes that have steps. What was not
 * recorded is 0, -1 or "". Pure, but for the source of the caller. Borrows the summary and model.
 */
#ifndef SS_ANALYSIS_TRAINING_FACTS_H
#define SS_ANALYSIS_TRAINING_FACTS_H

#include "analysis/flops.h"
#include "analysis/hot_lines.h"
#include "analysis/late_rank.h"
#include "analysis/line_times.h"
#include "analysis/memories.h"
#include "analysis/selection.h"
#include "analysis/steps.h"
#include "analysis/throughput.h"
#include "analysis/waits.h"

/* Names of the tracks that these facts are taken from, for struct ss_model_load; the last is NULL.
 */
extern const char *const ss_training_tracks[];

/* Of the trainers' main threads, the first step left out. */
struct ss_training_samples {
    uint64_t all;
    uint64_t runnable;            /* waited for a CPU */
    uint64_t asleep_in_operators; /* waited for the other threads of an operator */
    uint64_t runs_in_operators;   /* did the main thread's part of an operator's work */
    /* Lines, with the samples that they are of. */
    struct ss_phase_line logs;     /* logging, printing, progress bars */
    struct ss_phase_line collates; /* what a fetch does besides taking samples */
    struct ss_phase_line reads;    /* lines that read values of tensors, by their source; neither
                                    * of the optimizer nor of the loader */
    struct ss_phase_line collects; /* calls of gc.collect() */
    uint64_t tracebacks; /* samples in which anomaly detection keeps a traceback of an operator */
    struct ss_phase_line workers; /* of DataLoader workers' main threads, unless they sleep */
    uint64_t of_workers;          /* sleeping ones too */
    uint64_t computing_workers;   /* on a core, or ready to be */
};

enum { SS_TINY_OPERATOR_NS = 30000 };

/* Of loaders with workers: what the beginnings of epochs cost, but the first one. Per step: of all
 * but warm-up. */
struct ss_training_epochs {
    uint64_t starts, restarts; /* iterators that were made; with workers of their own */
    uint64_t steps;            /* to each */
    uint64_t restart_ns;       /* per step: ending and starting workers until they fetch */
    uint64_t wait_ns;          /* per step: for the first batches, more than for others */
    uint64_t usual_wait_ns;    /* the same within usual steps, per usual step */
    uint64_t behind_ns;        /* per step: what steps with a restart compute longer than usual */
    uint64_t each_restart_ns, each_behind_ns, each_wait_ns;
};

/* A phase that takes longer in every so many steps. */
struct ss_training_period {
    const struct ss_step_phase *phase; /* NULL: there is none */
    uint64_t every, slow;              /* steps */
    uint64_t more_ns;                  /* per step of all but warm-up */
    uint64_t each_ns;                  /* per slow step */
};

/* A phase that need not be in each step, of all steps but warm-up. */
struct ss_training_seldom {
    uint64_t steps, all_steps; /* with it, and all */
    uint64_t mean_ns;          /* per step */
    uint64_t each_ns;          /* per step with one */
};

struct ss_training_facts {
    const struct ss_step_summary *steps;
    const struct ss_model *model;
    uint64_t step_ns;      /* mean */
    uint64_t spread_ns;    /* mean with outliers, without warm-up: of what is not in every step */
    uint64_t warm_mean_ns; /* of usual steps and those that warm up */
    uint64_t first_ns;     /* the longest first step of a trainer */

    uint64_t cores;  /* of the machine, or of its container */
    double cpu_busy; /* share of them while steps ran, 0 to 1 */
    double cpu_own;  /* share of that which the recorded processes took, 0 to 1 */

    const char *torch_version, *operator_source, *step_source;
    int64_t threads;             /* of an operator, in each trainer */
    bool uses_cuda, records_gpu; /* the times of kernels are in the recording */

    int64_t workers, batch_size, batch_bytes; /* of the loader that most steps took batches from */
    uint64_t fetch_ns;           /* per step, in the trainers themselves: with 0 workers */
    uint64_t fetch_collate_ns;   /* of it */
    uint64_t fetches;            /* in usual steps, in the trainers themselves */
    double batches;              /* of them, per step: more than 1 where gradients accumulate */
    uint64_t nexts, empty_nexts; /* how often a batch was asked for, and none was ready */
    uint64_t worker_batches;
    uint64_t worker_batch_ns, worker_collate_ns; /* per batch, in a worker */
    double worker_busy;                          /* share of the steps' time that they fetched in */

    /* On the main thread, the outermost ones, of the steps in which they were recorded. */
    uint64_t operator_steps, operators; /* how many: the mean */
    uint64_t operators_ns;              /* median of the steps */
    uint64_t long_operators_ns;         /* the same of those with SS_TINY_OPERATOR_NS or more, an
                                         * autograd node's counted one by one */
    uint64_t operator_p50_ns;
    /* The same of values that Python reads of tensors. */
    double reads; /* of the median step, or the mean where that has none */
    uint64_t
        reads_ns;    /* within the operators that read; neither the optimizer's nor the loader's */
    bool reads_lost; /* of each recorded step some operators were lost: there are more */

    bool has_anomaly_detection; /* of autograd: it was on */
    uint64_t nan_checks_ns;     /* per step: operators of the backward that it runs */
    const char *dtype;          /* of most parameters of the model: "float32"; "" unknown */
    /* Modules that compute one time step of a recurrent network: calls in a step, and their time.
     */
    uint64_t cell_calls, cells_ns;

    uint64_t late_compiles; /* begun after the third step */
    uint64_t late_compile_steps;
    uint64_t late_compile_ns; /* per step after the third, slow ones too */
    uint64_t collections;     /* of garbage, in all steps but warm-up; not while compiling */
    uint64_t collections_ns;  /* per such step */
    uint64_t saves;           /* calls of torch.save until the last step ended */
    uint64_t saves_ns;        /* per step, slow ones too */

    struct ss_training_epochs epochs;
    struct ss_training_period period;
    struct ss_training_seldom evaluations, checkpoints;
    uint64_t iterators; /* that the trainers made of loaders within their steps */

    struct ss_memories memories;
    struct ss_training_samples samples;
    struct ss_hot_lines hot_lines;
    struct ss_late_rank late_rank;
    double joint_communication; /* see ss_late_rank_joint_share */
    struct ss_waits waits;
    struct ss_flops_figures flops;
    struct ss_throughput throughput;
};

/* `source` tells lines that print or read tensors; its function may be NULL: none are told. */
void ss_training_facts_init(struct ss_training_facts *facts, const struct ss_selection *selection,
                            const struct ss_step_summary *steps,
                            const struct ss_source_lines *source);
void ss_training_facts_fini(struct ss_training_facts *facts);
/* Mean per step of the phase with this name; 0 without it. */
uint64_t ss_training_phase_ns(const struct ss_training_facts *facts, const char *name);
/* NULL: no such phase. */
const struct ss_step_phase *ss_training_phase(const struct ss_training_facts *facts,
                                              const char *name);

/* Fills facts->samples. Belongs to ss_training_facts_init. */
void ss_training_samples_find(struct ss_training_facts *facts, const struct ss_selection *selection,
                              const struct ss_source_lines *source);
/* Fills facts->epochs. Belongs to ss_training_facts_init. */
void ss_training_epochs_find(struct ss_training_facts *facts, const struct ss_selection *selection);
/* Fills facts->period. Belongs to ss_training_facts_init. */
void ss_training_period_find(struct ss_training_facts *facts);
/* Whether the process has steps. */
bool ss_training_has_steps(const struct ss_training_facts *facts, uint32_t process);
/* The process itself, or the one above it that has steps; 0: none. */
uint32_t ss_training_trainer(const struct ss_training_facts *facts, uint32_t process);

#endif
