/* SPDX-License-Identifier: Apache-2.0 */
/* `stepscope doctor --gpu`: runs, reads and judges, and prints one line for each claim. */
#ifndef SS_CLI_DOCTOR_DOCTOR_GPU_H
#define SS_CLI_DOCTOR_DOCTOR_GPU_H

#include "cli/line/command.h"

/* Returns the exit status: 0 no claim fails, 1 one fails, 4 there is no device. */
int ss_doctor_gpu(const struct ss_arguments *arguments, bool is_json);

#endif
