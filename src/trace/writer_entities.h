/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The writer interface for the entities of a recording: ss_trace_writer_source(), _device(),
 * _host(), _context(), _stream(), _group(). An entity comes before the records that refer to it,
 * and may be repeated with the same ref when more becomes known. The rules of writer.h hold.
 */
#ifndef SS_TRACE_WRITER_ENTITIES_H
#define SS_TRACE_WRITER_ENTITIES_H

#include "base/error.h"
#include "trace/records.h"

struct ss_trace_writer;

#define SS_ENTITY(name, number, when, meaning)                                                     \
    enum ss_status ss_trace_writer_##name(struct ss_trace_writer *writer,                          \
                                          const struct ss_trace_##name *record,                    \
                                          struct ss_error *err);
#include "trace/schema.def"

#endif
