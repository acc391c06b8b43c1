/* SPDX-License-Identifier: Apache-2.0 */
/* Processes of a recorded program that outlive it: they run on, and nothing records them. */
#ifndef SS_CLI_RECORD_RECORD_OUTLIVING_H
#define SS_CLI_RECORD_RECORD_OUTLIVING_H

#include <stdbool.h>

#include "record/run/shared.h"

/* "a process still runs: 4242 (python serve.py)", on stderr; nothing if all have ended. As the last
 * of a recording, since some processes end a moment after their program. */
void ss_record_outliving_print(const struct ss_record_figures *figures, bool keeps_secrets);

#endif
