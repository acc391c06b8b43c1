/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The notes of a timeline, kept in INPUT.notes.json beside the first input: a list of time ranges
 * with a text each. The file is replaced as a whole, or not at all; a file of another content is
 * never replaced. Requests may come from several threads.
 */
#ifndef SS_CLI_VIEW_VIEW_NOTES_H
#define SS_CLI_VIEW_VIEW_NOTES_H

#include <jansson.h>
#include <pthread.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/strview.h"
#include "view/output/sink.h"

struct ss_view_notes {
    pthread_mutex_t lock;
    char *path;
    mode_t mode;         /* of a new file: as private as the inputs */
    int64_t base_ns;     /* the page's time 0: the file has times on the model's axis, which do not
                          * depend on what was loaded */
    json_t *notes;       /* a list of {"from_ns", "to_ns", "text"}, as in the file */
    json_int_t revision; /* grows with each change */
    struct ss_error problem; /* why the file cannot be used; status SS_OK: it can */
};

/* Loads the file, where there is one. */
void ss_view_notes_init(struct ss_view_notes *notes, const char *input, mode_t mode,
                        int64_t base_ns);
void ss_view_notes_fini(struct ss_view_notes *notes);
/* {"revision", "file", "problem", "notes"} */
void ss_view_notes_write(struct ss_view_notes *notes, struct ss_sink *sink);
/* Replaces them by {"revision", "notes"}. SS_E_FORMAT: the text is something else; SS_E_AGAIN: its
 * revision is not the current one. */
enum ss_status ss_view_notes_put(struct ss_view_notes *notes, struct ss_strview text,
                                 struct ss_error *err);

#endif
