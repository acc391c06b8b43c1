/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a trace file front to back and passes each record to a visitor. Refs are dense and unique
 * in the file (re-interned across restart points). A definition precedes its first use; a process,
 * thread or source repeats when more becomes known about it. Memory is bounded by the definitions
 * (capped) plus two units. Input is hostile: the reader never trusts a length.
 *
 * Damage or truncation costs only the affected unit: the reader continues at the next
 * synchronization marker and reports the loss in the summary. One reader per thread; the file may
 * still be growing.
 */
#ifndef SS_TRACE_READER_H
#define SS_TRACE_READER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "trace/visitor.h"

/* True when the bytes begin a stepscope trace (64 bytes suffice). */
bool ss_trace_is_trace(const void *bytes, size_t length);

/* SS_OK also for a truncated or damaged file with at least one readable unit (see the summary);
 * SS_E_FORMAT with the byte offset when there is none. */
enum ss_status ss_trace_read(const char *path, const struct ss_trace_visitor *visitor,
                             void *context, struct ss_trace_summary *summary, struct ss_error *err);
/* The same for a trace in memory, for fuzzing and tests. */
enum ss_status ss_trace_read_memory(const void *bytes, size_t length,
                                    const struct ss_trace_visitor *visitor, void *context,
                                    struct ss_trace_summary *summary, struct ss_error *err);

/* Unit by unit, for callers that read several files at once. Buffers one unit and `read_bytes` of
 * read-ahead. `context` and `visitor` are borrowed. */
struct ss_trace_reader;
enum ss_status ss_trace_reader_open(const char *path, size_t read_bytes,
                                    const struct ss_trace_visitor *visitor, void *context,
                                    struct ss_trace_reader **reader, struct ss_error *err);
/* Moves to the next unit. `*has_unit` false: the end. `*first_ns` is the time of its first event;
 * without any, that of its clock. */
enum ss_status ss_trace_reader_next(struct ss_trace_reader *reader, bool *has_unit,
                                    uint64_t *first_ns, struct ss_error *err);
/* Passes the records of the unit to the visitor. */
enum ss_status ss_trace_reader_unit(struct ss_trace_reader *reader, struct ss_error *err);
/* Of the units so far. */
const struct ss_trace_summary *ss_trace_reader_summary(const struct ss_trace_reader *reader);
void ss_trace_reader_close(struct ss_trace_reader *reader);

#endif
