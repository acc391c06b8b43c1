/* SPDX-License-Identifier: Apache-2.0 */
/* The hardware counters that `record` measures: the options --counters… Main thread only. */
#ifndef SS_CLI_RECORD_RECORD_COUNTERS_H
#define SS_CLI_RECORD_RECORD_COUNTERS_H

#include "cli/record/record_plan.h"

/* After ss_record_plan_choose_gpu. false: a usage error was printed. */
bool ss_record_counters_parse(const struct ss_arguments *arguments, struct ss_record_plan *plan);

#endif
