/* SPDX-License-Identifier: Apache-2.0 */
/* The status line of a recording on a terminal: elapsed time, samples, achieved rate, lost. It is
 * at the right edge so that the program's own output stays readable. One owner. */
#ifndef SS_RECORD_RUN_STATUS_LINE_H
#define SS_RECORD_RUN_STATUS_LINE_H

#include <stdbool.h>
#include <stdint.h>

#include "record/run/shared.h"

/* Draws on stderr when due (twice a second) and in the foreground. */
void ss_status_line_draw(const struct ss_record_figures *figures, uint64_t now_ns);
void ss_status_line_clear(void);

#endif
