/* SPDX-License-Identifier: Apache-2.0 */
/* What `record` records of devices: the options --gpu and --counters. Main thread only. */
#ifndef SS_CLI_RECORD_COUNTERS_H
#define SS_CLI_RECORD_COUNTERS_H

#include "cli/record_plan.h"

/* false: a usage error was printed. */
bool ss_record_gpu_parse(const struct ss_arguments *arguments, struct ss_record_plan *plan);
/* The same, after it. */
bool ss_record_counters_parse(const struct ss_arguments *arguments, struct ss_record_plan *plan);

#endif
