/* SPDX-License-Identifier: Apache-2.0 */
/* Private to run_folder*.c. */
#ifndef SS_RECORD_RUN_RUN_FOLDER_INSIDE_H
#define SS_RECORD_RUN_RUN_FOLDER_INSIDE_H

#include "record/run/run_folder.h"

enum { SS_RUN_SCHEMA = 1 };

/* Of the recorder with the number. The caller frees it. */
char *ss_run_folder_path(const struct ss_run_folder *run, uint32_t number, const char *ending);

#endif
