/* SPDX-License-Identifier: Apache-2.0 */
/* Recordings that a folder has twice, as copies or links: their work must not count twice. Private
 * to model/. Stateless. */
#ifndef SS_MODEL_FILES_REPEATED_FILES_H
#define SS_MODEL_FILES_REPEATED_FILES_H

#include <stdbool.h>
#include <stddef.h>

/* Sets is_repeated[i] for each file that has the content of one before it: traces of stepscope, and
 * files of other tools that have times (two files of weights alone may be equal by chance). Only
 * files of equal length are read: of ours the start and the end, of others all. */
void ss_repeated_files_find(const char *const *paths, size_t count, bool *is_repeated);

#endif
