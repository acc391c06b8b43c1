/* SPDX-License-Identifier: Apache-2.0 */
/* The processes of a recording, by pid: which belong to it, and which ended without a sample. Owned
 * by the recorder's thread. */
#ifndef SS_RECORD_PROCESSES_PROCESS_TABLE_H
#define SS_RECORD_PROCESSES_PROCESS_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "record/processes/recorded_process.h"
#include "record/run/shared.h"

struct ss_process_table;

/* `adopt`: the subreaper pid of orphans (0: none). `reason` (512 bytes): why children are detected
 * by polling; "": the kernel reports them. */
struct ss_process_table *ss_process_table_open(struct ss_record_context *context, pid_t root,
                                               bool follow, bool use_events, pid_t adopt,
                                               char *reason);
/* Whether the root can be read, else the cause. For attaching, before the recording begins. */
enum ss_status ss_process_table_check(struct ss_process_table *table, struct ss_error *err);
void ss_process_table_tick(struct ss_process_table *table, uint64_t now_ns);
void ss_process_table_poll(struct ss_process_table *table, uint64_t now_ns); /* changes only */
void ss_process_table_flush(struct ss_process_table *table, uint64_t now_ns, bool weights);
/* The process with this identity, defined in the trace. An unknown one (perhaps too short to be
 * detected) is added when `is_ours` and children are followed; else NULL. */
struct ss_process_identity {
    pid_t pid, parent_pid;
    uint64_t start_time_ticks;
    bool is_alive;
};
struct ss_recorded_process *ss_process_table_process(struct ss_process_table *table,
                                                     const struct ss_process_identity *identity,
                                                     bool is_ours);
void ss_process_table_exit_status(struct ss_process_table *table, pid_t pid, int status);
void ss_process_table_add_counts(const struct ss_process_table *table,
                                 struct ss_sampler_counts *counts);
/* Calls `visit` for each live process that is defined in the trace. */
void ss_process_table_each(struct ss_process_table *table,
                           void (*visit)(void *visitor, pid_t pid, uint32_t ref), void *visitor);
/* The processes but the root that live: fills outliving and outliving_count. Polls the changes. */
void ss_process_table_find_outliving(struct ss_process_table *table, uint64_t now_ns,
                                     struct ss_record_figures *figures);
uint64_t ss_process_table_seen(const struct ss_process_table *table);  /* so far, root included */
uint64_t ss_process_table_short(const struct ss_process_table *table); /* ended unsampled */
/* Ended before they were classified as Python or not. Valid after ss_process_table_end. */
uint64_t ss_process_table_unclassified(const struct ss_process_table *table);
/* The end of the recording: writes all pending data. */
void ss_process_table_end(struct ss_process_table *table, uint64_t now_ns);
void ss_process_table_close(struct ss_process_table *table);

#endif
