/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The folder of a run as input: its manifest, its files, and which of its ranks have none. The
 * layout is that of record/run/run_folder.h. Private to model/.
 */
#ifndef SS_MODEL_FILES_RUN_INPUT_H
#define SS_MODEL_FILES_RUN_INPUT_H

#include "model/core/model.h"

struct ss_run_manifest {
    char run_id[128], launcher[64];
    char ranks[512];     /* the selection, as text */
    bool is_of_nodes;    /* a file for each node, not for each rank */
    uint32_t world_size; /* of recorders; 0: unknown */
    uint32_t max_ranks;
    uint32_t schema; /* 0: unknown */
};

enum { SS_RUN_MANIFEST_SCHEMA = 1 }; /* the newest that is known */

/* Of the content of run.json. false: it is none. */
bool ss_run_manifest_parse(const char *text, size_t length, struct ss_run_manifest *manifest);

struct ss_run_input {
    struct ss_run_manifest manifest;
    struct ss_vec_of(uint32_t) found; /* numbers of the recorders with a file */
    uint32_t loaded, left_out;
    bool is_damaged; /* there is a manifest, but not readable: as if there were none */
};

/* Reads the manifest of a folder. false: the folder is not that of a run. */
bool ss_run_input_open(const char *folder, struct ss_run_input *run);
void ss_run_input_close(struct ss_run_input *run);
/* Logs what is wrong with its manifest. */
void ss_run_input_warn(const struct ss_run_input *run, const char *folder);
/* Calls `add` for each recording of the run, in any order. */
enum ss_status ss_run_input_list(const char *folder, void (*add)(void *context, const char *path),
                                 void *context, struct ss_error *err);
/* Whether the file is of the run: an earlier run in the same folder may have left it. Reads its
 * head. */
bool ss_run_input_has(const struct ss_run_input *run, const char *path);
enum ss_run_file { SS_RUN_HAS_FILE, SS_RUN_HAS_FILE_NOT, SS_RUN_FILE_UNREADABLE };
/* The same, also whether it has a readable unit. */
enum ss_run_file ss_run_input_check(const struct ss_run_input *run, const char *path);
/* The same of a file that is loaded already, alone into `part`. */
bool ss_run_input_has_part(const struct ss_run_input *run, const char *path,
                           const struct ss_model *part);
void ss_run_input_loaded(struct ss_run_input *run, const char *path);
/* When its files are loaded: adds a row to model->runs. */
void ss_run_input_finish(const struct ss_run_input *run, const char *folder,
                         struct ss_model *model);

#endif
