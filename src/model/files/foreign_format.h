/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Formats that users mistake for an input: each has a name, and a way to a file that is read. Pure.
 * Private to model/.
 */
#ifndef SS_MODEL_FILES_FOREIGN_FORMAT_H
#define SS_MODEL_FILES_FOREIGN_FORMAT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct ss_foreign_format {
    const char *magic;
    size_t length;
    bool is_text;                  /* may follow white space, and a folded stack may begin so */
    bool is_wide;                  /* text of 16 bits a character */
    const char *contains;          /* within the head, behind the magic; NULL: anything */
    const char *description;       /* what it is, and the way out */
    const char *command, *options; /* that convert the file, its path between them; NULL: none */
    const char *other_command;     /* that does so as well; NULL: none */
};

/* The format of a file that begins with these bytes; NULL: none of them. */
const struct ss_foreign_format *ss_foreign_format_of(const char *head, size_t length);
/* SS_E_FORMAT, with the name and the way out. */
enum ss_status ss_foreign_format_fail(const struct ss_foreign_format *format, const char *path,
                                      struct ss_error *err);

#endif
