/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recorder: one process, one thread, one epoll loop. Launches or attaches, samples until the
 * program ends, the duration is over or a signal stops it, and writes the trace. It publishes all
 * data for the supervisor in the shared page.
 */
#ifndef SS_RECORD_SESSION_SESSION_H
#define SS_RECORD_SESSION_SESSION_H

#include "base/error.h"
#include "record/run/launch.h"
#include "record/run/options.h"
#include "record/run/shared.h"

/* Runs the whole recording. All signals are blocked on entry; `signals` are for the program. Writes
 * notices (SS_NOTICE_…) to `notice_fd`, one byte each. Returns the same as `shared->end`. */
enum ss_record_end ss_session_run(const struct ss_record_options *options,
                                  const struct ss_program_signals *signals,
                                  struct ss_record_shared *shared, int notice_fd);

#endif
