/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs the program of doctor_gpu_work.h in a process of its own, alone or under `record`, in a
 * private folder below $TMPDIR. Main thread only.
 */
#ifndef SS_CLI_DOCTOR_DOCTOR_GPU_RUN_H
#define SS_CLI_DOCTOR_DOCTOR_GPU_RUN_H

#include "base/error.h"
#include "base/strbuf.h"
#include "cli/doctor/doctor_gpu_work.h"

enum ss_gpu_run_kind {
    SS_GPU_RUN_ALONE,
    SS_GPU_RUN_RECORDED,
    SS_GPU_RUN_ONE_BUFFER, /* recorded, in one buffer: the long burst */
    SS_GPU_RUNS
};

struct ss_gpu_run {
    struct ss_gpu_sheet sheet; /* its texts are terminated */
    int status;                /* exit status, of `record` that of the program; 128 + a signal */
    bool has_timed_out;
    char recording[4096]; /* "": none */
    char message[256];    /* the last line on stderr; "": none */
};

/* Creates the folder. `folder` is initialised by the caller, who frees it. */
enum ss_status ss_gpu_folder_make(struct ss_strbuf *folder, struct ss_error *err);
/* Removes it with the files of all runs. */
void ss_gpu_folder_remove(const char *folder);
enum ss_status ss_gpu_run(const char *folder, enum ss_gpu_run_kind kind, struct ss_gpu_run *run,
                          struct ss_error *err);

#endif
