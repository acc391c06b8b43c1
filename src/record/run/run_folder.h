/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The folder of a run, NAME.stepscope, that the recorders of all its ranks share without a word to
 * each other (docs/many-ranks.md):
 *
 *   run.json                 what all of them know: one recorder of each node writes it, all the
 *                            same bytes
 *   ranks/r00042.pftrace     the recording of rank 42; nodes/n00001.pftrace of a recorder of the
 *   ranks/r00042.json        ranks of a node; .json: what became of it, written once, at its end
 *
 * With more than 1,000 ranks the files are in subfolders of 1,000. A restarted rank is
 * r00042-a1.pftrace. One owner.
 */
#ifndef SS_RECORD_RUN_RUN_FOLDER_H
#define SS_RECORD_RUN_RUN_FOLDER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/rank_selection.h"
#include "base/strbuf.h"
#include "record/run/result.h"

struct ss_run_folder {
    char *folder; /* without a slash at its end; NULL: the recording is a file of its own */
    char *trace, *piece;
    bool is_of_nodes; /* a recorder for the launcher and the ranks of a node */
    struct ss_rank_facts facts;
    const char *ranks; /* the selection, as text; "": all */
    const struct ss_rank_selection *selection;
};

/* Of the run: facts.run_id, or on one machine the start of the launcher, which `text` gets; "":
 * nothing that all ranks know distinguishes this run from others. */
void ss_run_id(const struct ss_rank_facts *facts, struct ss_strbuf *text);
/* "train-77.0": of the program and the run. */
void ss_run_name(char *const *program, const struct ss_rank_facts *facts, struct ss_strbuf *out);

/* `folder` is copied; so is nothing else. */
void ss_run_folder_init(struct ss_run_folder *run, const char *folder, char *const *program,
                        const struct ss_rank_facts *facts, const char *ranks,
                        const struct ss_rank_selection *selection);
void ss_run_folder_fini(struct ss_run_folder *run);
/* Creates the folders and run.json. A manifest of an earlier run is replaced. */
enum ss_status ss_run_folder_create(const struct ss_run_folder *run, struct ss_error *err);
/* What became of this recording. */
enum ss_status ss_run_folder_finish(const struct ss_run_folder *run,
                                    const struct ss_record_result *result, struct ss_error *err);

/* --- the run as a whole, for the one recorder that speaks for it ------------------------------ */

struct ss_run_summary {
    uint32_t world_size, expected; /* recorders; 0: not known */
    uint32_t finished, hosts;
    uint64_t samples, lost, partial, late, bytes;
    double seconds; /* of the longest */
    uint32_t failed_count;
    char failed[256]; /* "3 (status 1), 7 (Killed)": the first programs that did not end with 0 */
    uint32_t missing_count;
    char missing[256]; /* "3, 7": the first that left no word of their end */
};

/* Waits for the other recorders of the run to end: while they hold their files, `patience_s` at
 * most. Then reads what they left. `clock`: NULL: the system's. */
void ss_run_folder_sum(const struct ss_run_folder *run, const struct ss_clock *clock,
                       double patience_s, struct ss_run_summary *summary);

#endif
