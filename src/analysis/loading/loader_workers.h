/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Data loading by PyTorch's DataLoaders: a row for each process that fetches batches (a worker, or
 * the training process where it loads by itself), and a row for each process that consumes them.
 * Together they distinguish slow workers from too few: batches are late in both cases, but the
 * workers needed are a few more, or more than there are cores. Pure.
 */
#ifndef SS_ANALYSIS_LOADING_LOADER_WORKERS_H
#define SS_ANALYSIS_LOADING_LOADER_WORKERS_H

#include "analysis/selection/selection.h"
#include "analysis/steps/steps.h"
#include "analysis/table/table.h"

/* Names of the tracks that these tables need, for struct ss_model_load; ends with NULL. */
extern const char *const ss_loader_tracks[];

/* Marks, by process, the consumers of the batches that selected processes fetch: these tables need
 * the consumers' steps. */
void ss_loader_consumers(const struct ss_selection *selection, bool *processes);

/* Only batches that are recorded whole count; a schedule's window may cut one. A selected process
 * is listed with its workers. The time of a batch is that of its fetch, including collating; that
 * of a sample is the same divided by the samples of the batch. */
enum ss_worker_column {
    SS_WORKER_PID,
    SS_WORKER_PROCESS, /* its name */
    SS_WORKER_NUMBER,  /* of a worker; absent: the process loads by itself */
    SS_WORKER_BATCHES,
    SS_WORKER_SAMPLES,
    SS_WORKER_BUSY_PERCENT, /* fetching, of the worker's lifetime within steps */
    SS_WORKER_BUSY,
    SS_WORKER_WAITING, /* the rest, waiting for requests. Absent without a number */
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

/* Settings are those of the loader with the most requests. Waits are those for a batch in
 * steady-state steps; ready batches are counted at each request. */
enum ss_loader_column {
    SS_LOADER_PID,
    SS_LOADER_PROCESS,
    SS_LOADER_WORKERS,
    SS_LOADER_BATCH_SIZE,
    SS_LOADER_PREFETCH,
    SS_LOADER_PIN_MEMORY,
    SS_LOADER_ASKED,        /* requests, also those at the end of an epoch, which get no batch */
    SS_LOADER_WAIT_PERCENT, /* of the time of the steps */
    SS_LOADER_WAIT_MEAN,    /* per step */
    SS_LOADER_WAIT_P50,
    SS_LOADER_WAIT_P95,
    SS_LOADER_WAIT_MAX,
    SS_LOADER_EMPTY_PERCENT, /* of the requests: no batch was ready */
    SS_LOADER_READY_MEAN,
    SS_LOADER_READY_P50,
    SS_LOADER_READY_P95,
    SS_LOADER_READY_MAX,
    SS_LOADER_NEEDED,    /* workers that would keep up, each as fast as the present ones */
    SS_LOADER_COPY_MEAN, /* to a device, per step with recorded operators; absent: none */
    SS_LOADER_COLUMNS
};
void ss_loaders_table(const struct ss_selection *selection, const struct ss_step_summary *training,
                      struct ss_table *table);

#endif
