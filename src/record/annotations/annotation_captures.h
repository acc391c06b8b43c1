/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Windows that the recorder opens and closes in all processes at once: by the time, or a signal. A
 * process that starts while one is open joins it. For the source (source_capture.c); the recorder's
 * thread.
 */
#ifndef SS_RECORD_ANNOTATIONS_ANNOTATION_CAPTURES_H
#define SS_RECORD_ANNOTATIONS_ANNOTATION_CAPTURES_H

#include <stdbool.h>
#include <stdint.h>

#include "record/annotations/annotations.h"

/* Opens or closes the window of each process. Call it again for processes that have started since.
 */
void ss_annotations_capture(struct ss_record_annotations *annotations, bool opens, uint64_t now_ns);
/* Whether a process has had `most` windows (0: is of no account), no process is in one, and all are
 * written. */
bool ss_annotations_captured_all(const struct ss_record_annotations *annotations, uint32_t most);

#endif
