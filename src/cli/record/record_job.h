/* SPDX-License-Identifier: Apache-2.0 */
/* `record --print-job`: the script of a job that records a program. Stateless. */
#ifndef SS_CLI_RECORD_RECORD_JOB_H
#define SS_CLI_RECORD_RECORD_JOB_H

#include "base/strbuf.h"
#include "cli/line/command.h"

/* The batch systems; ends with NULL. */
extern const char *const ss_record_jobs[];

/* Appends the script for `system`, an index of ss_record_jobs. `stepscope`: how the job calls it;
 * `options`: those of the command line, for each of its recorders. */
void ss_record_job_put(int system, const char *stepscope, const struct ss_arguments *arguments,
                       char *const *program, struct ss_strbuf *out);
/* "stepscope" if the search path leads to this program, else its path. */
void ss_record_job_own_name(struct ss_strbuf *out);

#endif
