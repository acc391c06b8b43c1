/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of output files. `%r` rank, `%R` number of ranks, `%l` local rank, `%n` number of the node,
 * `%j` job, `%a` restart, `%p` pid, `%h` host, `%t` local time (20261120-143000), `%q{VAR}` an
 * environment variable, `%%` a percent sign; any other letter after `%` is an error, so that more
 * can be added. Pure except for the environment, the clock and the host name.
 */
#ifndef SS_RECORD_RUN_NAMING_H
#define SS_RECORD_RUN_NAMING_H

#include <sys/types.h>

#include "base/error.h"
#include "base/launchers.h"
#include "base/strbuf.h"

/* Without a launcher, a process is rank 0 of 1. */
enum ss_status ss_name_expand(const char *template, pid_t pid, const struct ss_rank_facts *facts,
                              struct ss_strbuf *out, struct ss_error *err);
/* "train" for `python -u train.py`: the script, module or program; NULL: attached. */
void ss_name_program(char *const *program, struct ss_strbuf *out);
/* "train-20261120-143000-4242". */
void ss_name_default(char *const *program, pid_t pid, struct ss_strbuf *out);
/* The launcher that the program is, such as torchrun or `python -m torch.distributed.run`;
 * SS_LAUNCHER_JOB: it is none. */
enum ss_launcher ss_name_launcher(char *const *program);
/* "run.pftrace" for "run.json": the native trace beside the converted file. The caller frees it. */
char *ss_name_native_beside(const char *path);
/* What several ranks that were given one path are to be given: "give all ranks one folder, -o
 * run.stepscope, or each a file, -o run.%r.pftrace". */
void ss_name_append_for_ranks(const char *path, struct ss_strbuf *out);
/* Creates the missing folders of a file (0777 & umask). */
enum ss_status ss_name_make_folders(const char *path, struct ss_error *err);
/* Creates missing folders (0777 & umask) and proves that a file can be written there: creates it
 * when missing (and removes it again). An existing file stays as it is. */
enum ss_status ss_name_check_writable(const char *path, struct ss_error *err);

#endif
