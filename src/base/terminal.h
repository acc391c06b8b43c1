/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Standard output and standard error for all code that prints: the streams clean their text
 * (base/clean.h), so that no recorded name reaches a terminal as an escape sequence. A test
 * (tests/meta) requires all other code to use them.
 * For the thread that prints; the streams live as long as the process.
 */
#ifndef SS_BASE_TERMINAL_H
#define SS_BASE_TERMINAL_H

#include <stdio.h>

#include "base/clean.h"

FILE *ss_stdout(void);
FILE *ss_stderr(void);
/* Standard output for formats that encode control characters themselves (JSON): cleaned only if it
 * is a terminal. */
FILE *ss_stdout_data(void);

/* Text styles for the streams above. */
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

/* A stream into `out` for a library that writes escape sequences itself: each ESC becomes
 * ss_escape(). All names that the library receives must be clean. The caller closes the stream;
 * NULL: no memory. */
FILE *ss_stream_with_own_escapes(FILE *out);

#endif
