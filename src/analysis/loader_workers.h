/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What PyTorch's DataLoaders did: a row for each process that fetches batches (a worker, or the
 * training process where it loads itself), and a row for each process that takes them. Together
 * they tell slow workers from few: batches are late in both, and what would be needed to have them
 * in time is a few workers more, or more than there are cores. Pure.
 */
#ifndef SS_ANALYSIS_LOADER_WORKERS_H
#define SS_ANALYSIS_LOADER_WORKERS_H

#include "analysis/selection.h"
#include "analysis/steps.h"
#include "analysis/table.h"

/* Names of the tracks that these tables are made from, for struct ss_model_load; the last is NULL.
 */
extern const char *const ss_loader_tracks[];

/* Marks, by process, those who take the batches that the processes of the selection fetch: whose
 * steps these tables need. */
void ss_loader_takers(const struct ss_selection *selection, bool *processes);

/* Batches are those of which all is recorded, also where a schedule's window begins or ends in one.
 * Who is in the selection stands there with its workers. Times of a batch are those of its fetch,
 * with the collating in it; a sample's are the same over the batch's samples. */
enum ss_worker_column {
    SS_WORKER_PID,
    SS_WORKER_PROCESS, /* its name */
    SS_WORKER_NUMBER,  /* of a worker; absent: the process loads for itself */
    SS_WORKER_BATCHES,
    SS_WORKER_SAMPLES,
    SS_WORKER_BUSY_PERCENT, /* fetching, of the time it was there while steps ran */
    SS_WORKER_BUSY,
    SS_WORKER_WAITING, /* the rest: for somebody to want batches. Absent without a number */
    SS_WORKER_BATCH_MEAN,
    SS_WORKER_BATCH_P50,
    SS_WORKER_BATCH_P95,
    SS_WORKER_SAMPLE_MEAN,
    SS_WORKER_SAMPLE_P50,
    SS_WORKER_SAMPLE_P95,
    SS_WORKER_COLLATE_MEAN, /* per batch */
    SS_WORKER_COLLATE_PERCENT,
    SS_WORKER_COLUMNS
};
void ss_workers_table(const struct ss_selection *selection, const struct ss_step_summary *training,
                      uint64_t max_rows, struct ss_table *table);

/* Settings are those of the loader that was asked for most batches. Waits are those for a batch,
 * of the usual steps; ready batches those at the moments when one was asked for. */
enum ss_loader_column {
    SS_LOADER_PID,
    SS_LOADER_PROCESS,
    SS_LOADER_WORKERS,
    SS_LOADER_BATCH_SIZE,
    SS_LOADER_PREFETCH,
    SS_LOADER_PIN_MEMORY,
    SS_LOADER_ASKED,        /* for batches; at the end of an epoch there was none left */
    SS_LOADER_WAIT_PERCENT, /* of the steps */
    SS_LOADER_WAIT_MEAN,    /* per step */
    SS_LOADER_WAIT_P50,
    SS_LOADER_WAIT_P95,
    SS_LOADER_WAIT_MAX,
    SS_LOADER_EMPTY_PERCENT, /* how often none was ready */
    SS_LOADER_READY_MEAN,
    SS_LOADER_READY_P50,
    SS_LOADER_READY_P95,
    SS_LOADER_READY_MAX,
    SS_LOADER_NEEDED,    /* workers that would keep up, each as fast as those there are */
    SS_LOADER_COPY_MEAN, /* to a device, per step whose operators were recorded; only of those who
                          * copy */
    SS_LOADER_COLUMNS
};
void ss_loaders_table(const struct ss_selection *selection, const struct ss_step_summary *training,
                      struct ss_table *table);

#endif
