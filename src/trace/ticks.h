/* SPDX-License-Identifier: Apache-2.0 */
/* For viewers without weights: one sample for each tick of a record. Private to trace/. Stateless.
 */
#ifndef SS_TRACE_TICKS_H
#define SS_TRACE_TICKS_H

#include "base/vec.h"
#include "trace/writer.h"

struct ss_newest_samples ss_vec_of(uint64_t); /* by thread, in ns */

/* Writes the samples for which the record stands, spread evenly over the time since the last sample
 * of the thread. SS_E_LIMIT: they are more than any recording has. */
enum ss_status ss_ticks_write(struct ss_trace_writer *writer, struct ss_newest_samples *newest,
                              const struct ss_trace_sample *sample, struct ss_error *err);

#endif
