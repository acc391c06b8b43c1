/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Windows on demand in the processes of a recording: posts requests to their rings, reads the
 * answers, and observes what becomes of the windows. A request for seconds is followed by the
 * recorder itself: the program need not know.
 *
 * For the source (source_on_demand.c); annotation_clients.h has what the class itself calls. Owned
 * by the recorder's thread.
 */
#ifndef SS_RECORD_ANNOTATIONS_ANNOTATION_DEMANDS_H
#define SS_RECORD_ANNOTATIONS_ANNOTATION_DEMANDS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "record/windows/on_demand_text.h"

struct ss_record_annotations;

/* Asks all processes that have not been asked yet. */
void ss_annotations_demand(struct ss_record_annotations *annotations,
                           const struct ss_on_demand_request *request, uint64_t now_ns);
/* Reads answers; opens and closes windows of seconds. Returns when it is due again. */
uint64_t ss_annotations_poll_demands(struct ss_record_annotations *annotations, uint64_t now_ns);
/* Whether a process is in a window, has been asked for one, or follows a schedule of its own. */
bool ss_annotations_expect_windows(const struct ss_record_annotations *annotations);
/* Whether a window is complete, but not in the recording's file yet. */
bool ss_annotations_demands_want_flush(const struct ss_record_annotations *annotations);
/* Everything so far is in the recording's file. */
void ss_annotations_demands_written(struct ss_record_annotations *annotations);
/* Answers to all requests in the text of the folder. `path`: of the recording. `failed`: it could
 * not be written to its end. */
void ss_annotations_put_answers(struct ss_record_annotations *annotations, const char *path,
                                bool failed, struct ss_strbuf *out);
/* Of a request that was taken back. */
void ss_annotations_forget_demand(struct ss_record_annotations *annotations, uint64_t id);

#endif
