/* SPDX-License-Identifier: Apache-2.0 */
/* The loaders behind ss_model_add_input; private to model/. */
#ifndef SS_MODEL_LOAD_H
#define SS_MODEL_LOAD_H

#include "model/model.h"

/* Input of the raw reader: `head`, already read from `fd`, then the rest of `fd`; fd -1: the head
 * only. */
struct ss_raw_bytes {
    const char *head;
    size_t head_length;
    int fd;
};

enum ss_status ss_load_raw(struct ss_model *model, const char *name, struct ss_raw_bytes bytes,
                           const struct ss_model_load *load, struct ss_error *err);
enum ss_status ss_load_trace(struct ss_model *model, const char *path,
                             const struct ss_model_load *load, struct ss_error *err);

/* `in_folder`: the user named only the folder, so a file of another format is SS_E_FORMAT. */
enum ss_status ss_load_file(struct ss_model *model, const char *path, bool in_folder,
                            const struct ss_model_load *load, struct ss_error *err);

/* Add a row; return its id in `processes` or `threads`. */
uint32_t ss_load_add_process(struct ss_model *model, uint32_t input, int32_t pid, uint32_t parent);
uint32_t ss_load_add_thread(struct ss_model *model, uint32_t process, int64_t tid);

#endif
