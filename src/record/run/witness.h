/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small process beside the supervisor, in the same process group, which outlives the recorder. It
 * records when it receives a signal: such a signal went to the whole group, and so to the program,
 * and must not be forwarded to it again. It also wakes a supervisor that has stopped like its
 * program when only the program is continued or killed.
 *
 * Owned by the supervisor; ends with it. Does not touch the program or the recorder.
 */
#ifndef SS_RECORD_RUN_WITNESS_H
#define SS_RECORD_RUN_WITNESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "record/run/shared.h"

struct ss_witness {
    pid_t pid; /* 0: none; all else still works, except for the detection of signals to the group */
    int stop_fd;
    struct ss_record_shared *shared;
    uint64_t matched_ns[SS_SIGNAL_COUNT];
};

/* All signals are blocked, and `signal_fd` is a signalfd of all of them. */
enum ss_status ss_witness_start(struct ss_witness *witness, struct ss_record_shared *shared,
                                int signal_fd, struct ss_error *err);
/* Whether this signal, which the supervisor received since `after_ns`, went to the whole group.
 * Waits briefly. */
bool ss_witness_saw(struct ss_witness *witness, unsigned number, uint64_t after_ns);
/* The caller is about to stop like the program. */
void ss_witness_watch_stop(const struct ss_witness *witness);
/* Ends the witness, unless it has already ended. */
void ss_witness_end(struct ss_witness *witness);

#endif
