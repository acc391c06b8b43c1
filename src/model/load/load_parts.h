/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads files beside each other, each into a model of its own, in threads of this process and in
 * other processes (load->workers). The caller takes the parts in the
 * order of the files. At most two parts for each thread, and one for each worker, exist at a time.
 * One owner; the threads are the object's own.
 */
#ifndef SS_MODEL_LOAD_LOAD_PARTS_H
#define SS_MODEL_LOAD_LOAD_PARTS_H

#include "model/core/model.h"

struct ss_part_file {
    const char *path;
    bool is_named; /* by the user, not only its folder */
};

struct ss_load_parts;
/* `files` and what `load` points to are borrowed. load->threads 0 or 1: a part is loaded when it is
 * taken. Of n processes, this one has the files 0, n, 2 n, … */
/* `*parts` is set also on failure: a worker cannot be reached. */
enum ss_status ss_load_parts_begin(const struct ss_part_file *files, size_t count,
                                   const struct ss_model_load *load, struct ss_load_parts **parts,
                                   struct ss_error *err);
/* SS_OK: `*part` is set, and the caller's. SS_E_GONE: the file must be loaded as usual, which also
 * reports why it cannot be. Any other status: a worker has failed. In order, each file once. */
enum ss_status ss_load_parts_take(struct ss_load_parts *parts, size_t index, struct ss_model *part,
                                  struct ss_error *err);
/* Also before all are taken. */
void ss_load_parts_end(struct ss_load_parts *parts);

#endif
