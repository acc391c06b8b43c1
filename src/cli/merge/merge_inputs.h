/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `merge` reads: the recordings of runs, of folders and of packed runs, and single files. Owns
 * the folders to which packed runs were unpacked. One owner.
 */
#ifndef SS_CLI_MERGE_MERGE_INPUTS_H
#define SS_CLI_MERGE_MERGE_INPUTS_H

#include <stdbool.h>

#include "base/error.h"
#include "base/vec.h"

struct ss_merge_file {
    char *path;
    char *name; /* in its run: "ranks/r00042.pftrace"; of a single file its own name */
};

struct ss_merge_inputs {
    struct ss_vec_of(struct ss_merge_file) files; /* in the order of the inputs, then by name */
    struct ss_vec_of(char *) unpacked;
    char *manifest; /* run.json, if all inputs have the same; else NULL */
    bool is_json;   /* Chrome or kineto JSON, else traces */
    bool has_manifests, has_others;
};

/* SS_E_FORMAT: a file is neither; SS_E_USAGE: both kinds. */
enum ss_status ss_merge_inputs_init(struct ss_merge_inputs *inputs, char *const *paths, int count,
                                    struct ss_error *err);
void ss_merge_inputs_fini(struct ss_merge_inputs *inputs);

#endif
