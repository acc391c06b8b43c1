/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts on a training beside its steps and phases, computed once for the rules. "A step" is a
 * steady-state step (analysis/steps/steps.h), and figures per step are means over these, unless
 * stated otherwise; trainers are the processes with steps. What was not recorded is 0, -1 or "".
 * Pure, except for the source lines of the caller. Borrows the summary and model.
 */
#ifndef SS_ANALYSIS_TRAINING_TRAINING_FACTS_H
#define SS_ANALYSIS_TRAINING_TRAINING_FACTS_H

#include "analysis/memory/memories.h"
#include "analysis/operators/flops.h"
#include "analysis/pipeline/pipelines.h"
#include "analysis/ranks/drifts.h"
#include "analysis/ranks/joint_communication.h"
#include "analysis/ranks/lateness.h"
#include "analysis/roofline/roofline.h"
#include "analysis/samples/hot_lines.h"
#include "analysis/samples/line_times.h"
#include "analysis/samples/waits.h"
#include "analysis/selection/selection.h"
#include "analysis/steps/phase_spread.h"
#include "analysis/steps/steps.h"
#include "analysis/steps/throughput.h"
#include "analysis/training/device_facts.h"

/* Names of the tracks that these facts need, for struct ss_model_load; the last is NULL. */
extern const char *const ss_training_tracks[];

/* Samples of the trainers' main threads, without first steps. */
struct ss_training_samples {
    uint64_t all;
    uint64_t runnable;            /* waits for a CPU */
    uint64_t asleep_in_operators; /* waits for the other threads of an operator */
    uint64_t runs_in_operators;   /* does the main thread's part of an operator's work */
    /* Hot lines, each with the samples of its group. */
    struct ss_phase_line logs;         /* logging, printing, progress bars */
    struct ss_phase_line collates;     /* a fetch, except for getting the samples of the batch */
    enum ss_activity collate_activity; /* of most of these */
    struct ss_phase_line receives;     /* the trainer maps or unpickles a batch of a worker */
    uint64_t in_data;                  /* in the phase "data" */
    struct ss_phase_line reads;        /* lines whose source reads values of tensors; not the
                                        * optimizer's or the loader's */
    struct ss_phase_line collects;     /* calls of gc.collect() */
    uint64_t tracebacks; /* samples in which anomaly detection records an operator's traceback */
    struct ss_phase_line workers; /* of DataLoader workers' main threads, without sleeping ones */
    uint64_t of_workers;          /* with sleeping ones */
    uint64_t computing_workers;   /* on a core, or runnable */
};

/* The cost of epoch starts of loaders with workers, without the first. Per step: over all but
 * warm-up. */
struct ss_training_epochs {
    uint64_t starts, restarts; /* iterators that were made; those with new workers */
    uint64_t steps;            /* per epoch */
    uint64_t restart_ns;       /* per step: stopping and starting workers until they fetch */
    uint64_t wait_ns;          /* per step: for the first batches, beyond the wait for later ones */
    uint64_t steady_ns;        /* both, within steady-state steps, per such step */
    uint64_t behind_ns;        /* per step: how much longer steps with a restart compute */
    uint64_t each_restart_ns, each_behind_ns, each_wait_ns;
};

/* A phase that takes longer in every Nth step. */
struct ss_training_period {
    const struct ss_step_phase *phase; /* NULL: there is none */
    uint64_t every, slow;              /* steps */
    uint64_t more_ns;                  /* per step of all but warm-up */
    uint64_t each_ns;                  /* per slow step */
    uint64_t inference_ns; /* per slow step, beside `phase`; 0: as much in other steps */
};

/* Samples of a data set that take much longer than the others, by the ranges "sample" that the
 * hooks record where fetches differ (torch_hooks/samples.py). */
enum { SS_WORST_SAMPLES = 2 };

struct ss_slow_sample {
    int64_t index; /* in the data set; -1: unknown */
    uint64_t ns;
};

struct ss_slow_samples {
    uint64_t samples; /* whose times are recorded */
    uint64_t total_ns, p50_ns;
    uint64_t slow, slow_ns; /* those that take SS_LIMIT_SLOW_SAMPLE_TIMES the median */
    struct ss_slow_sample worst[SS_WORST_SAMPLES]; /* of different indices; the slowest first */
};

/* How operators are recorded: values of the fact ss_fact_torch_operator_route. */
enum ss_operator_route {
    SS_ROUTE_UNKNOWN, /* no PyTorch, or a recording of version 0.1.0 by another route than these */
    SS_ROUTE_CALLBACK,
    SS_ROUTE_ITT,
    SS_ROUTE_NOT_REQUESTED,
    SS_ROUTE_NOTHING,
    SS_ROUTE_COUNT
};

/* Of the steps whose operators were recorded, the first third and the last third: means. */
struct ss_work_growth {
    double operators_before, operators_after; /* 0: too few steps */
    double ns_before, ns_after;               /* of a step */
};

struct ss_training_facts {
    const struct ss_step_summary *steps;
    const struct ss_model *model;
    uint64_t step_ns;      /* mean */
    uint64_t spread_ns;    /* mean with outliers, without warm-up: for costs that not every step
                            * has */
    uint64_t warm_mean_ns; /* mean of steady-state and warm-up steps */
    uint64_t first_ns;     /* the longest first step of a trainer */

    uint64_t cores;    /* of the machine, or of its container */
    double cpu_busy;   /* their busy share while steps ran, 0 to 1 */
    double cpu_own;    /* the recorded processes' share of cpu_busy, 0 to 1 */
    bool is_disturbed; /* other programs use most of the busy cores, and few are free */

    const char *torch_version, *operator_source, *step_source;
    enum ss_operator_route operator_route;
    int64_t threads;             /* of an operator, in each trainer */
    bool uses_cuda, records_gpu; /* CUDA was in use; times of kernels were recorded */

    /* Of the loader that most steps take batches from. */
    int64_t workers, batch_size, batch_bytes, batch_tensors;
    uint64_t fetch_ns;           /* per step, in the trainers themselves: with 0 workers */
    uint64_t fetch_collate_ns;   /* of it */
    uint64_t fetches;            /* in steady-state steps, in the trainers themselves */
    double batches;              /* fetches per step: more than 1 where gradients accumulate */
    uint64_t nexts, empty_nexts; /* requests for a batch; those with no batch ready */
    uint64_t worker_batches;
    uint64_t worker_batch_ns, worker_collate_ns; /* per batch, in a worker */
    double worker_busy;                          /* share of the steps' time in which they fetch */

    /* Outermost operators on the main thread, of steps whose operators were recorded. */
    uint64_t operator_steps, operators; /* steps; operators per step, the mean */
    uint64_t operators_ns;              /* median of the steps' sums */
    uint64_t long_operators_ns; /* the same of operators with SS_LIMIT_TINY_OPERATOR_NS or more;
                                 * those of an autograd node count one by one */
    uint64_t operator_p50_ns;
    struct ss_work_growth work; /* of the process whose steps drift most */
    /* The same of tensor values that Python reads. */
    double reads; /* of the median step, or the mean where that has none */
    uint64_t
        reads_ns;    /* within the operators that read; without the optimizer's and the loader's */
    bool reads_lost; /* every recorded step lost operators: there are more reads */

    bool has_anomaly_detection; /* autograd's was on */
    uint64_t nan_checks_ns;     /* per step: the operators that it runs in the backward */
    bool has_frozen_model;      /* one that no optimizer updates runs without gradients */
    const char *dtype;          /* of most parameters of the model: "float32"; "" unknown */
    /* Modules that compute one time step of a recurrent network: calls per step, and their time. */
    uint64_t cell_calls, cells_ns;

    uint64_t late_compiles; /* begun after the third step */
    uint64_t late_compile_steps;
    uint64_t late_compile_ns; /* per step after the third, with outliers */
    uint64_t collections;     /* of garbage, in all steps but warm-up; not while compiling */
    uint64_t collections_ns;  /* per such step */
    uint64_t saves;           /* calls of torch.save until the last step ended */
    uint64_t saves_ns;        /* per step, with outliers */

    struct ss_slow_samples slow_samples;
    struct ss_training_epochs epochs;
    struct ss_training_period period;
    struct ss_phase_spread evaluations, checkpoints;
    uint64_t iterators; /* over loaders, made by the trainers within steps */

    bool is_exact; /* no sample was drawn: calls were timed one by one */
    struct ss_memories memories;
    struct ss_drifts drifts;
    struct ss_training_samples samples;
    struct ss_hot_lines hot_lines;
    const struct ss_lateness *late;       /* which rank makes the others wait */
    struct ss_exposed_collective exposed; /* what ranks wait for on their hosts */
    double joint_communication;           /* see ss_joint_communication_share */
    struct ss_pipeline pipeline;          /* the one with most stages; steps 0: there is none */
    int64_t pipeline_slowest;             /* rank of its slowest stage */
    struct ss_waits waits;
    struct ss_flops_figures flops;
    struct ss_throughput throughput;
    struct ss_device_facts device;
    struct ss_roofline_steps roofline; /* where the program did not count FLOPs itself */
};

/* `source` identifies lines that print or read tensors; its function may be NULL: none is
 * identified. */
void ss_training_facts_init(struct ss_training_facts *facts, const struct ss_selection *selection,
                            const struct ss_step_summary *steps,
                            const struct ss_source_lines *source);
void ss_training_facts_fini(struct ss_training_facts *facts);
/* Mean per step of the phase with this name; 0 without it. */
uint64_t ss_training_phase_ns(const struct ss_training_facts *facts, const char *name);
/* NULL: no such phase. */
const struct ss_step_phase *ss_training_phase(const struct ss_training_facts *facts,
                                              const char *name);

/* Each fills the facts of its file. Called by ss_training_facts_init only, in this order. */
void ss_training_settings_find(struct ss_training_facts *facts);
void ss_training_cores_find(struct ss_training_facts *facts);
void ss_training_operators_find(struct ss_training_facts *facts,
                                const struct ss_selection *selection);
void ss_training_cells_find(struct ss_training_facts *facts, const struct ss_selection *selection);
void ss_training_loading_find(struct ss_training_facts *facts,
                              const struct ss_selection *selection);
void ss_training_interruptions_find(struct ss_training_facts *facts,
                                    const struct ss_selection *selection);

/* Fills facts->samples. Called by ss_training_facts_init only. */
void ss_training_samples_find(struct ss_training_facts *facts, const struct ss_selection *selection,
                              const struct ss_source_lines *source);
/* Fills facts->slow_samples. Called by ss_training_facts_init only. */
void ss_training_slow_samples_find(struct ss_training_facts *facts,
                                   const struct ss_selection *selection);
/* Fills facts->epochs. Called by ss_training_facts_init only. */
void ss_training_epochs_find(struct ss_training_facts *facts, const struct ss_selection *selection);
/* Fills facts->period. Called by ss_training_facts_init only. */
void ss_training_period_find(struct ss_training_facts *facts);
/* Whether the process has steps. */
bool ss_training_has_steps(const struct ss_training_facts *facts, uint32_t process);
/* Whether the selection includes the ranges. Workers follow the selection of their trainer,
 * whatever their own names. */
bool ss_training_has_run(const struct ss_training_facts *facts,
                         const struct ss_selection *selection, const struct ss_range_run *run);
const char *ss_training_range_name(const struct ss_model *model,
                                   const struct ss_model_range *range);
/* The mean; 0 of none. */
uint64_t ss_training_per(uint64_t sum, uint64_t count);
/* The process itself, or its closest ancestor with steps; 0: none. */
uint32_t ss_training_trainer(const struct ss_training_facts *facts, uint32_t process);

#endif
