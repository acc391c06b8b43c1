/* SPDX-License-Identifier: Apache-2.0 */
/* Short names of processes for viewers, which have little room for them. Pure. */
#ifndef SS_TRACE_PROCESS_NAMES_H
#define SS_TRACE_PROCESS_NAMES_H

#include "base/strbuf.h"
#include "trace/records.h"

/* The script or module of a Python program, else the program: "train.py". Borrowed from the record;
 * never empty. */
struct ss_strview ss_process_short_name(const struct ss_trace_process *process);
/* "rank 3: train.py" */
void ss_process_append_title(const struct ss_trace_process *process, struct ss_strbuf *out);

#endif
