/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the main threads of a training wait for within steps, without the first one: from samples
 * that find them asleep, or waiting for the GIL. Waits for batches of a DataLoader and for
 * checkpoints are covered elsewhere and excluded, unless they are for the GIL. Pure, except for the
 * source lines of the caller. Borrows the model.
 */
#ifndef SS_ANALYSIS_SAMPLES_WAITS_H
#define SS_ANALYSIS_SAMPLES_WAITS_H

#include "analysis/samples/activities.h"
#include "analysis/samples/lock_holder.h"
#include "analysis/selection/selection.h"
#include "analysis/steps/steps.h"

enum ss_wait_group {
    SS_WAITS_GIL,
    SS_WAITS_LOCK,
    SS_WAITS_THREAD, /* queues, futures, joins */
    SS_WAITS_PROCESS,
    SS_WAITS_DISK,
    SS_WAITS_NETWORK,
    SS_WAITS_CLIENTS, /* of a server: no fault */
    SS_WAITS_SLEEP,
    SS_WAITS_GROUPS,
    SS_WAITS_NONE = SS_WAITS_GROUPS
};

struct ss_wait {
    struct ss_phase_line line; /* hot line; `all` are the samples of the group */
    uint32_t phase;            /* string: the phase with most of them; 0: "other", or none */
    uint64_t in_phase;         /* samples in that phase */
};

/* The thread that holds the GIL while a main thread waits for it. */
struct ss_gil_holder {
    uint32_t thread;           /* 0: unknown */
    bool is_likely;            /* it has the GIL in most of its own samples, at whatever tick */
    uint64_t samples;          /* ticks at which it holds the GIL */
    uint64_t known;            /* ticks at which the holder is known */
    struct ss_phase_line line; /* its hot line; frame 0: outside of Python */
};

struct ss_waits {
    uint64_t samples; /* of main threads in steps, without the first one: waiting or not */
    struct ss_wait groups[SS_WAITS_GROUPS];
    struct ss_gil_holder holder;
    struct ss_lock_holder lock_holder;
};

/* `has_loader`: a DataLoader fetches in the phase "data", which other rules cover. */
void ss_waits_find(struct ss_waits *waits, const struct ss_selection *selection,
                   const struct ss_step_summary *steps, const struct ss_source_lines *source,
                   bool has_loader);

/* The group of a sample; NONE where the thread does not wait. */
enum ss_wait_group ss_wait_group_of(struct ss_activities *activities,
                                    const struct ss_model_total *total, bool has_loader);

#endif
