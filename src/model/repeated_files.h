/* SPDX-License-Identifier: Apache-2.0 */
/* Recordings that a folder has twice, as copies or links: their work must not count twice. Private
 * to model/. Stateless. */
#ifndef SS_MODEL_REPEATED_FILES_H
#define SS_MODEL_REPEATED_FILES_H

#include <stdbool.h>
#include <stddef.h>

/* Sets is_repeated[i] for each trace of stepscope that has the content of one before it. Only files
 * of equal length are read, and of these the begin and the end. */
void ss_repeated_files_find(const char *const *paths, size_t count, bool *is_repeated);

#endif
