/* SPDX-License-Identifier: Apache-2.0 */
/* The loaders behind ss_model_add_input; private to model/. */
#ifndef SS_MODEL_LOAD_H
#define SS_MODEL_LOAD_H

#include "model/model.h"

/* Bytes for a raw reader: `fd`, behind `head` bytes that were already taken from it; or only the
 * head (fd -1). */
struct ss_raw_bytes {
    const char *head;
    size_t head_length;
    int fd;
};

enum ss_status ss_load_raw(struct ss_model *model, const char *name, struct ss_raw_bytes bytes,
                           const struct ss_model_load *load, struct ss_error *err);
enum ss_status ss_load_trace(struct ss_model *model, const char *path,
                             const struct ss_model_load *load, struct ss_error *err);

/* `in_folder`: nobody named the file, so one that is something else is SS_E_FORMAT. */
enum ss_status ss_load_file(struct ss_model *model, const char *path, bool in_folder,
                            const struct ss_model_load *load, struct ss_error *err);

/* Adds rows; ids of `processes` and `threads`. */
uint32_t ss_load_add_process(struct ss_model *model, uint32_t input, int32_t pid, uint32_t parent);
uint32_t ss_load_add_thread(struct ss_model *model, uint32_t process, int64_t tid);

#endif
