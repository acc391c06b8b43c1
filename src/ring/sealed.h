/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Notices from the recorder to the program: the file of a window is finished. One line each,
 * append-only, in a file beside the program's ring file (PID.STARTTIME.N.sealed, mode 0600):
 *
 *     WINDOW FIRST_STEP LAST_STEP FLAGS PATH\n
 *
 * decimal numbers, FLAGS the sum of SS_RING_SEALED_…, PATH absolute and the rest of the line. The
 * last line is "end\n": the recording of this process is over. A line is valid once its newline is
 * written. Text in, text out; async-signal-safe.
 */
#ifndef SS_RING_SEALED_H
#define SS_RING_SEALED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SS_RING_SEALED_PATH_BYTES = 4096, SS_RING_SEALED_LINE_BYTES = 4096 + 96 };
enum {
    SS_RING_SEALED_PARTIAL = 1, /* the window was cut */
    SS_RING_SEALED_FAILED = 2   /* its file is incomplete or missing */
};
#define SS_RING_SEALED_END "end"

struct ss_ring_sealed {
    uint64_t window; /* of the process, from 0 */
    int64_t first_step, last_step;
    uint32_t flags;
    const char *path; /* borrowed */
    size_t path_length;
};

/* Formats the line with its newline. Returns its length; 0: it does not fit, or the path cannot be
 * part of a line. */
size_t ss_ring_sealed_put(const struct ss_ring_sealed *sealed, char *text, size_t size);
/* Parses a line without its newline. false: not a valid line. */
bool ss_ring_sealed_get(const char *line, size_t length, struct ss_ring_sealed *sealed);
bool ss_ring_sealed_is_end(const char *line, size_t length);

#endif
