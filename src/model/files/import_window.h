/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of a file that is in memory, and what could not be read of the file: the base of readers
 * that stream. A block is read at a time; the window grows to the largest value that a reader needs
 * whole, up to a limit. One owner. Private to model/.
 */
#ifndef SS_MODEL_FILES_IMPORT_WINDOW_H
#define SS_MODEL_FILES_IMPORT_WINDOW_H

#include "model/builder/builder.h"
#include "model/files/importer.h"

struct ss_import_window {
    const struct ss_import_file *file;
    const struct ss_model_load *load;
    char *data;
    size_t begin, end, capacity; /* unread: data[begin] to data[end] */
    uint64_t offset;             /* in the file, of data[0] */
    uint64_t file_bytes, reported;
    bool at_end;            /* of the file: `end` is its last byte */
    bool is_cut;            /* the file ended within a value */
    uint64_t skipped;       /* events */
    uint64_t first_skipped; /* offset */
    const char *skip_reason;
    enum ss_status status; /* of reading */
    struct ss_error err;
};

void ss_import_window_init(struct ss_import_window *window, const struct ss_import_file *file,
                           const struct ss_model_load *load);
void ss_import_window_fini(struct ss_import_window *window);

/* Makes room and reads a block more; moves the data. False: the file ended, or the unread part is
 * as large as a window gets. */
bool ss_import_window_refill(struct ss_import_window *window);
/* Where reading continues, in bytes from the start of the file. */
uint64_t ss_import_window_offset(const struct ss_import_window *window);
void ss_import_window_count_skipped(struct ss_import_window *window, uint64_t offset,
                                    const char *reason);
struct ss_builder_skipped ss_import_window_skipped(const struct ss_import_window *window);
/* SS_E_LIMIT: the input costs more than it may. What was read of it is of no use. */
enum ss_status ss_import_window_refused(const struct ss_import_window *window,
                                        struct ss_error *err);
/* Warns of what was skipped. */
void ss_import_window_report(const struct ss_import_window *window);

#endif
