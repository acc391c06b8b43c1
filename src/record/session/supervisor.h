/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process that the user's shell or launcher sees: it starts the recorder, forwards signals that
 * were sent to it alone, survives the recorder, and returns the program's exit status.
 */
#ifndef SS_RECORD_SESSION_SUPERVISOR_H
#define SS_RECORD_SESSION_SUPERVISOR_H

#include <stdbool.h>

#include "base/error.h"
#include "record/run/options.h"
#include "record/run/result.h"

/* Called once, in a process of its own, when the recording is over and the trace file is closed.
 * The program may still run, and signals are handled meanwhile. true: it failed and has printed
 * why. */
typedef bool ss_record_finished(void *context, const struct ss_record_result *result);

/* Runs a whole recording. `*program_status` is the status of the program from waitpid; valid when
 * result->ran and a program was launched. Only for single-threaded processes. */
enum ss_status ss_supervise(const struct ss_record_options *options, ss_record_finished *finished,
                            void *context, struct ss_record_result *result, int *program_status,
                            struct ss_error *err);

/* Ends this process as the program ended: same exit code, or death by the same signal (without a
 * core file of stepscope). */
_Noreturn void ss_exit_as(int program_status);

#endif
