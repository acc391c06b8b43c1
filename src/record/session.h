/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recorder: one process, one thread, one epoll loop. Launches or attaches, samples until the
 * program ends, the duration is over or it is told to stop, and writes the trace. Everything that
 * the supervisor must know goes through the shared page.
 */
#ifndef SS_RECORD_SESSION_H
#define SS_RECORD_SESSION_H

#include "base/error.h"
#include "record/launch.h"
#include "record/options.h"
#include "record/shared.h"

/* Runs to the end of the recording. All signals are blocked on entry; `signals` is what the program
 * gets. `news_fd` takes one byte for the supervisor: 'S' the program was stopped. Returns what
 * `shared->end` tells as well. */
enum ss_record_end ss_session_run(const struct ss_record_options *options,
                                  const struct ss_program_signals *signals,
                                  struct ss_record_shared *shared, int news_fd);

#endif
