/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rewrites the readable part of a trace: `repair` and the export for older viewers. The input is
 * not modified. One pass, memory bounded by the definitions.
 */
#ifndef SS_TRACE_REWRITE_H
#define SS_TRACE_REWRITE_H

#include "trace/reader.h"
#include "trace/writer.h"

/* Writes every readable record of `in` as a closed trace `out`, with a note for each damaged part.
 * If nothing readable follows the damage (a killed recorder, a truncated copy), copies all units
 * byte for byte, including content of later versions, and appends one unit that closes the file.
 * Copies an intact file. `summary` (may be NULL): the result of reading `in`. Removes a partial
 * output on failure. SS_E_BUSY: `in` is still being written. SS_E_USAGE: `out` is `in`. */
enum ss_status ss_trace_repair(const char *in, const char *out, struct ss_trace_summary *summary,
                               struct ss_error *err);

/* Writes the samples as PerfSample packets, one per tick, for Perfetto before v58. `shift_ns` is
 * added to all times of the monotonic clocks, so that several traces share a time axis. */
enum ss_status ss_trace_export_compat(const char *in, const char *out, int64_t shift_ns,
                                      struct ss_error *err);

/* True when a live writer holds the lock of the file. */
bool ss_trace_is_being_written(const char *path);

#endif
