/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attributes of a recording that say under which settings its program runs, for comparisons:
 * variables of its environment (program_settings.def), the commit of its working folder, the CPUs
 * that it may use. Owned by the recorder's thread.
 */
#ifndef SS_RECORD_RECORDING_PROGRAM_SETTINGS_H
#define SS_RECORD_RECORDING_PROGRAM_SETTINGS_H

#include <sys/types.h>

#include "base/error.h"
#include "record/recording/recording.h"

/* `pid`: the program, if it runs already; 0: this process is about to start it. */
enum ss_status ss_program_settings_write(struct ss_recording *recording, pid_t pid,
                                         struct ss_error *err);

#endif
