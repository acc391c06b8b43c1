/* SPDX-License-Identifier: Apache-2.0 */
/* What the trace says about the recording: attributes and the sources that ran. */
#ifndef SS_RECORD_RECORDING_FACTS_H
#define SS_RECORD_RECORDING_FACTS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "record/recording/recording.h"
#include "record/run/options.h"

enum ss_status ss_record_facts_write(struct ss_recording *recording,
                                     const struct ss_record_options *options, struct ss_error *err);

/* Sets what its launcher says of the place of a process among others: rank, local rank, node, world
 * size. */
void ss_record_process_ranks(pid_t pid, struct ss_trace_process *process);

#endif
