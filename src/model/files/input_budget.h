/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one input may cost before it is refused: memory, by the size of its file and by what all
 * inputs may need; bytes to read, by what the file stores; rows, by the bytes that were read. A few
 * bytes can stand for any amount: compressed data, holes, references to one value from many places.
 * Every importer has one in its ss_import_file and charges it. The first refusal lasts, and is the
 * result of loading. NULL: no limits. Owned by the thread that loads the input.
 */
#ifndef SS_MODEL_FILES_INPUT_BUDGET_H
#define SS_MODEL_FILES_INPUT_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct ss_input_budget {
    const char *path;          /* borrowed */
    uint64_t file_bytes;       /* 0: a pipe, whose size is what was read */
    uint64_t stored_bytes;     /* of them, those that lie in no hole */
    uint64_t most_total_bytes; /* of memory for all inputs; 0: no limit */
    bool is_requested;         /* the user named that limit: the size of a file sets none */
    uint32_t memory_per_byte;  /* of the file: its format's */
    int64_t memory_before;
    uint64_t read_bytes, rows;
    struct ss_error refusal; /* of status SS_OK: none */
};

/* `fd`: the open file. */
void ss_input_budget_init(struct ss_input_budget *budget, const char *path, int fd);
/* The memory that the loading thread uses. SS_E_LIMIT: too much. */
enum ss_status ss_input_budget_check(struct ss_input_budget *budget, struct ss_error *err);
/* After loading, whose rows may need more memory than what they were made of: that counts for all
 * inputs together alone. */
enum ss_status ss_input_budget_finish(struct ss_input_budget *budget, struct ss_error *err);
/* Counts bytes of content, unpacked; checks the memory as well. */
enum ss_status ss_input_budget_read(struct ss_input_budget *budget, size_t bytes,
                                    struct ss_error *err);
/* Counts rows, of formats in which few bytes stand for many; each takes at least a byte. Checks the
 * memory as well. */
enum ss_status ss_input_budget_rows(struct ss_input_budget *budget, uint64_t rows,
                                    struct ss_error *err);

#endif
