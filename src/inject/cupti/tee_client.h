/* SPDX-License-Identifier: Apache-2.0 */
/* What tee_connect.c puts into the place of CUPTI's functions: names of CUPTI, and functions. */
#ifndef SS_INJECT_CUPTI_TEE_CLIENT_H
#define SS_INJECT_CUPTI_TEE_CLIENT_H

struct ss_cupti_tee_call {
    const char *name;
    void (*function)(void);
};

enum { SS_CUPTI_TEE_RECORD_CALLS = 12, SS_CUPTI_TEE_SUBSCRIPTION_CALLS = 4 };

extern const struct ss_cupti_tee_call ss_cupti_tee_record_calls[SS_CUPTI_TEE_RECORD_CALLS];
extern const struct ss_cupti_tee_call
    ss_cupti_tee_subscription_calls[SS_CUPTI_TEE_SUBSCRIPTION_CALLS];

#endif
