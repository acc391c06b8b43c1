/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The collector of the work of CUDA devices: the driver loads this library by CUDA_INJECTION64_PATH
 * when the program initialises CUDA, and CUPTI delivers records of what devices did. In windows of
 * the schedule only, if there is one. Where CUPTI is missing or in use by another tool, the program
 * runs on and the fact "gpu.problem" says why nothing is recorded.
 *
 * Any thread; a lock is held while kinds of records are switched.
 */
#ifndef SS_INJECT_CUPTI_COLLECTOR_H
#define SS_INJECT_CUPTI_COLLECTOR_H

#include <stdbool.h>

/* Another user of CUPTI begins in this process: gives CUPTI up until ss_cupti_resume. Calls nest.
 */
void ss_cupti_yield(const char *to);
void ss_cupti_resume(void);

/* For arming.h. Collects from now on, beside contexts that CUDA may have already. */
void ss_cupti_arm(void);
/* Waits up to some seconds for the kernels that were launched, writes what is there, and gives back
 * all that the collector has of CUPTI, of memory and of threads. */
void ss_cupti_disarm(void);

#endif
