/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run's folder packed with tar, perhaps compressed: unpacks its recordings and manifest into a
 * temporary folder, from which they are read as if it were the folder of the run. Private to
 * model/.
 */
#ifndef SS_MODEL_FILES_RUN_ARCHIVE_H
#define SS_MODEL_FILES_RUN_ARCHIVE_H

#include <stdbool.h>

#include "base/error.h"

/* Whether the archive has a recording of a run among its first members. */
bool ss_run_archive_is(const char *path);
/* Creates a folder, NAME.stepscope in a folder of its own below $TMPDIR, with the members that
 * belong to a run. The caller removes and frees it. */
enum ss_status ss_run_archive_unpack(const char *path, char **folder, struct ss_error *err);
/* Removes the folder and its parent, and frees the name. */
void ss_run_archive_remove(char *folder);

#endif
