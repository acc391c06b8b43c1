/* SPDX-License-Identifier: Apache-2.0 */
/* Which clock CLOCK_MONOTONIC of this process is: that of a boot of a machine, in a time namespace.
 * Stateless. */
#ifndef SS_RECORD_RUN_CLOCK_DOMAIN_H
#define SS_RECORD_RUN_CLOCK_DOMAIN_H

#include <stdint.h>

struct ss_record_clock_domain {
    char boot_id[64];        /* "" unknown */
    uint64_t time_namespace; /* 0: unknown; kernels before 5.6 have none */
};

void ss_record_clock_domain_read(struct ss_record_clock_domain *domain);

#endif
