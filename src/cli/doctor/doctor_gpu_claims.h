/* SPDX-License-Identifier: Apache-2.0 */
/* What recordings of devices claim, judged by what a program of known cost measured and what was
 * recorded of it: pure functions from facts to one claim for each line of `doctor --gpu`. */
#ifndef SS_CLI_DOCTOR_DOCTOR_GPU_CLAIMS_H
#define SS_CLI_DOCTOR_DOCTOR_GPU_CLAIMS_H

#include "cli/doctor/doctor_gpu_recorded.h"
#include "cli/doctor/doctor_gpu_run.h"

struct ss_gpu_facts {
    struct ss_gpu_run runs[SS_GPU_RUNS];
    struct ss_gpu_recorded recorded;   /* of SS_GPU_RUN_RECORDED */
    struct ss_gpu_recorded one_buffer; /* of SS_GPU_RUN_ONE_BUFFER */
};

enum ss_gpu_state { SS_GPU_HOLDS, SS_GPU_FAILS, SS_GPU_NOT_MEASURABLE };

struct ss_gpu_claim {
    const char *name;
    enum ss_gpu_state state;
    char text[768];
    char fix[320]; /* "": nothing to do */
};

enum { SS_GPU_MOST_CLAIMS = 24 };

/* Fills `claims` and returns their number. The first is that there is a device. */
size_t ss_gpu_claims(const struct ss_gpu_facts *facts, struct ss_gpu_claim *claims);

#endif
