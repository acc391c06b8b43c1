/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trace written anew from what can be read of another: `repair` and the export for older
 * viewers. The input is only read. One pass, memory bounded by the definitions.
 */
#ifndef SS_TRACE_REWRITE_H
#define SS_TRACE_REWRITE_H

#include "trace/reader.h"
#include "trace/writer.h"

/* Writes every record that can be read of `in` as a closed trace `out`, with a note for each
 * damaged place. Where nothing readable stands behind the damage (a recorder that was killed, a
 * copy that was cut short), all units stay byte for byte as they are, with what a later version
 * may have put into them, and one is added that closes the file; a whole file is copied. `summary`
 * (may be NULL): what reading `in` gave. A file that was begun is removed on failure. SS_E_BUSY:
 * `in` is still being written. SS_E_USAGE: `out` is `in`. */
enum ss_status ss_trace_repair(const char *in, const char *out, struct ss_trace_summary *summary,
                               struct ss_error *err);

/* The same samples as PerfSample packets, one for each tick, for Perfetto before v58. */
enum ss_status ss_trace_export_compat(const char *in, const char *out, struct ss_error *err);

/* True when a live writer holds the file. */
bool ss_trace_is_being_written(const char *path);

#endif
