/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which samples of a model count: idle policy, GIL, threads, processes, stacks. Every table and
 * graph uses the same selection, so that all of them show the same 100 %. Samples that are left out
 * are counted by reason: recorded = shown + idle + no_gil + filtered + frameless; filtered includes
 * those that the load filter dropped. Built by one thread, immutable afterwards.
 */
#ifndef SS_ANALYSIS_SELECTION_SELECTION_H
#define SS_ANALYSIS_SELECTION_SELECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/selection/analysis.h"
#include "base/error.h"
#include "model/core/model.h"

enum ss_idle_policy {
    SS_IDLE_NONE, /* no idle samples, as in py-spy */
    SS_IDLE_MAIN, /* idle samples of main threads only: their wall time */
    SS_IDLE_ALL
};

struct ss_selection_options {
    size_t size;
    enum ss_idle_policy idle;
    bool busy_workers;   /* of workers of a DataLoader, whatever the policy, no idle samples */
    bool gil_only;       /* only samples that hold the GIL */
    bool frameless;      /* also samples without any frame */
    const char *thread;  /* a tid, or an extended regex over the thread name; NULL: all */
    const char *process; /* a pid, or a regex over label, name and command line; NULL: all */
    const char *rank;    /* "3", "0,4-7": processes of these ranks; NULL: all */
    const char *match;   /* a regex; some frame "NAME (PATH:LINE)" must match; NULL: all */
    const char *exclude; /* a regex; no frame may match; NULL: none */
    unsigned workers;    /* threads that tables are made with; the result is the same. 0: 1 */
};

struct ss_selection {
    const struct ss_model *model;
    bool *totals; /* by index of model->totals: whether it counts */
    bool *lines;  /* the same for model->lines */
    /* Whether the thread and process filters select it: by thread, by process; [0] is for data of
     * none. */
    bool *threads, *processes;
    /* In samples (ticks). */
    uint64_t recorded;    /* all samples */
    uint64_t shown;       /* what counts: 100 % */
    uint64_t idle;        /* left out by the idle policy */
    uint64_t no_gil;      /* left out by gil_only */
    uint64_t filtered;    /* left out by thread, process, match, exclude or the time range */
    uint64_t frameless;   /* no frame at all: threads outside Python, stacks that were not read */
    uint64_t records;     /* of the shown: ticks at which a stack was really read */
    unsigned workers;     /* threads for analyses of it; 0: 1 */
    bool has_first_steps; /* samples within first steps count too (ss_selection_within_steps) */
    struct ss_analysis *analysis; /* what analyses of it share (analysis/selection/analysis.h) */
};

/* SS_E_USAGE for a bad regex. */
enum ss_status ss_selection_init(struct ss_selection *selection, const struct ss_model *model,
                                 const struct ss_selection_options *options, struct ss_error *err);
void ss_selection_fini(struct ss_selection *selection);
/* What `records` with this number of ticks represent in the error of a share (uncertainty.h): the
 * ticks; of another tool's file the records, each of which stands for its weight, whatever it is.
 */
uint64_t ss_selection_error_ticks(const struct ss_selection *selection, uint64_t records,
                                  uint64_t ticks);
/* Restricts `all` to the steps of a training: of processes with steps, the samples within steps,
 * without the first step where later ones have enough samples; of their descendants (loader
 * workers), all samples. False: too few samples fall into steps to name anything; then `within` is
 * empty. The model must have been loaded with sample_phases. */
bool ss_selection_within_steps(const struct ss_selection *all, struct ss_selection *within);

/* Idle as in py-spy: asleep without the GIL, or in a known waiting function. A raw file has no
 * states: py-spy has left its idle samples out already. */
bool ss_total_is_idle(const struct ss_model *model, const struct ss_model_total *total);

#endif
