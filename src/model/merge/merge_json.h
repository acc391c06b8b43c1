/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several files of trace events (Chrome, torch.profiler) as one, event by event: memory depends on
 * the longest event, not on the files. Events stay as they are written but for what would collide:
 *
 *   pid      a pid that an earlier file has becomes another number (a text gets the file's rank)
 *   id       of flows and asynchronous events: apart by file
 *   ts       counts from the earliest baseTimeNanoseconds of the files
 *
 * Threads need no change: viewers distinguish them by pid and tid. The members of each file other
 * than its events are in "filesMetadata". A file that is merged already keeps its bytes.
 */
#ifndef SS_MODEL_MERGE_MERGE_JSON_H
#define SS_MODEL_MERGE_MERGE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "model/merge/merge_output.h"

struct ss_merge_json_result {
    uint64_t events;
    size_t files, repeated; /* merged; left out because they were given twice */
    size_t cut;             /* files that end within their events */
    size_t without_base;    /* files whose times have no origin that others share */
};

/* Paths of files, also compressed ones. SS_OK also after a failed write, which the caller knows.
 * SS_E_FORMAT: a file is not trace-event JSON. */
enum ss_status ss_merge_json(const char *const *paths, size_t count,
                             const struct ss_merge_json_output *output,
                             struct ss_merge_json_result *result, struct ss_error *err);

#endif
