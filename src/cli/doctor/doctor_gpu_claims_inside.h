/* SPDX-License-Identifier: Apache-2.0 */
/* Private to doctor_gpu_claims.h's implementation: doctor_gpu_claims.c (the list; what is recorded
 * of each work) and doctor_gpu_claims_losses.c (losses and costs). */
#ifndef SS_CLI_DOCTOR_DOCTOR_GPU_CLAIMS_INSIDE_H
#define SS_CLI_DOCTOR_DOCTOR_GPU_CLAIMS_INSIDE_H

#include "cli/doctor/doctor_gpu_claims.h"

void ss_gpu_say(struct ss_gpu_claim *claim, enum ss_gpu_state state, const char *format, ...)
    SS_PRINTF(3, 4);
void ss_gpu_fix(struct ss_gpu_claim *claim, const char *text);
/* The recorded program ran to its end and something of it was recorded; else the claim says that it
 * cannot be measured. */
bool ss_gpu_needs_works(const struct ss_gpu_facts *facts, struct ss_gpu_claim *claim);
/* "the program ended with status 3", "the program was killed (Aborted)". */
void ss_gpu_describe_end(const struct ss_gpu_run *run, char *text, size_t size);

static inline double ss_gpu_us(int64_t ns)
{
    return (double)ns / 1e3;
}

void ss_gpu_claim_times(const struct ss_gpu_facts *facts, struct ss_gpu_claim *claim);
void ss_gpu_claim_loss(const struct ss_gpu_facts *facts, struct ss_gpu_claim *claim);
void ss_gpu_claim_end(const struct ss_gpu_facts *facts, struct ss_gpu_claim *claim);
void ss_gpu_claim_refused(const struct ss_gpu_facts *facts, struct ss_gpu_claim *claim);
void ss_gpu_claim_flush(const struct ss_gpu_facts *facts, struct ss_gpu_claim *claim);
void ss_gpu_claim_overhead(const struct ss_gpu_facts *facts, struct ss_gpu_claim *claim);
void ss_gpu_claim_launch(const struct ss_gpu_facts *facts, struct ss_gpu_claim *claim);

#endif
