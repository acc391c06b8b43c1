/* SPDX-License-Identifier: Apache-2.0 */
/* `record` as one of many ranks: whether this one is recorded, the folder of the run, and the one
 * summary at its end. Main thread only. */
#ifndef SS_CLI_RECORD_RECORD_RUN_H
#define SS_CLI_RECORD_RECORD_RUN_H

#include "cli/line/command.h"
#include "record/run/run_folder.h"

struct ss_record_run {
    struct ss_rank_facts facts; /* of this recorder */
    struct ss_rank_selection selection;
    const char *ranks;           /* of the selection, as the user wrote it */
    struct ss_run_folder folder; /* its `folder` is NULL: a file of its own */
};

/* --rank, --ranks, --max-ranks; false: a usage error was printed. */
bool ss_record_run_parse(const struct ss_arguments *arguments, struct ss_record_run *run);
/* Whether this rank is recorded. Warns where there are no ranks to select from. */
bool ss_record_run_is_selected(const struct ss_record_run *run);
/* Whether it is one of many: then a recording without a name is the folder of the run. */
bool ss_record_run_is_many(const struct ss_record_run *run);
/* Whether the name is that of a run's folder: NAME.stepscope. */
bool ss_record_run_is_folder(const char *name);
/* `name`: of the folder; created, with the manifest. */
enum ss_status ss_record_run_create(struct ss_record_run *run, const char *name,
                                    char *const *program, struct ss_error *err);

/* Leaves word of how the recording ended. */
enum ss_status ss_record_run_finish(const struct ss_record_run *run,
                                    const struct ss_record_result *result, struct ss_error *err);
/* Whether this rank prints the summary. */
bool ss_record_run_is_first(const struct ss_record_run *run);
/* Waits for the others. */
void ss_record_run_print_summary(const struct ss_record_run *run);

#endif
