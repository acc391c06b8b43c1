/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads files beside each other, each into a model of its own, in threads of this process and in
 * other processes (struct ss_part_workers of model/model.h). The caller takes the parts in the
 * order of the files. At most two parts for each thread, and one for each worker, exist at a time.
 * Private to model/. One owner; the threads are the object's own.
 */
#ifndef SS_MODEL_LOAD_PARTS_H
#define SS_MODEL_LOAD_PARTS_H

#include "model/model.h"

struct ss_part_file {
    const char *path;
    bool is_named; /* by the user, not only its folder */
};

struct ss_load_parts;
/* `files` and `load` are borrowed. load->threads 0 or 1: a part is loaded when it is taken. */
struct ss_load_parts *ss_load_parts_begin(const struct ss_part_file *files, size_t count,
                                          const struct ss_model_load *load);
/* SS_OK: `*part` is set, and the caller's. SS_E_GONE: the file must be loaded as usual, which also
 * reports why it cannot be. Any other status: a worker has failed. In order, each file once. */
enum ss_status ss_load_parts_take(struct ss_load_parts *parts, size_t index, struct ss_model *part,
                                  struct ss_error *err);
/* Also before all are taken. */
void ss_load_parts_end(struct ss_load_parts *parts);

#endif
