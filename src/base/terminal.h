/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Standard output and standard error, as everything that prints uses them: what is written passes
 * base/clean.h, so that no name that was recorded reaches a terminal as a command. A test of the
 * rules (tests/meta) holds all other code to these streams.
 * For the thread that prints; the streams live as long as the process.
 */
#ifndef SS_BASE_TERMINAL_H
#define SS_BASE_TERMINAL_H

#include <stdio.h>

#include "base/clean.h"

FILE *ss_stdout(void);
FILE *ss_stderr(void);
/* Standard output for formats that encode control characters themselves (JSON): as it is, unless
 * it is a terminal. */
FILE *ss_stdout_data(void);

/* Looks, for texts that are written to the streams above. */
enum ss_style {
    SS_STYLE_OFF,
    SS_STYLE_BOLD,
    SS_STYLE_DIM,
    SS_STYLE_RED,
    SS_STYLE_BRIGHT_RED,
    SS_STYLE_BOLD_RED,
    SS_STYLE_GREEN,
    SS_STYLE_YELLOW,
    SS_STYLE_GREY,
    SS_STYLE_ON_YELLOW,
    SS_STYLE_ON_GREEN,
    SS_STYLE_ON_CYAN,
    SS_STYLE_COUNT
};
const char *ss_style(enum ss_style style);

#define SS_OFF ss_style(SS_STYLE_OFF)
#define SS_BOLD ss_style(SS_STYLE_BOLD)
#define SS_DIM ss_style(SS_STYLE_DIM)

/* A stream into `out` for a library that writes escape sequences itself: its ESC become
 * ss_escape(). All names that it is given must be clean. The caller closes it; NULL: no memory. */
FILE *ss_stream_with_own_escapes(FILE *out);

#endif
