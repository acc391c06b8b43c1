/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sources of source/registry.h in a recording: starts the available ones, ticks them, writes
 * their metrics to tracks of the trace, and writes the outcome of each. Owned by the recorder's
 * thread.
 */
#ifndef SS_RECORD_SOURCES_H
#define SS_RECORD_SOURCES_H

#include <stdint.h>
#include <sys/types.h>

#include "record/options.h"
#include "record/process_table.h"

struct ss_record_sources;

/* `since_ns`: before the program was created. */
struct ss_record_sources *ss_record_sources_start(struct ss_record_context *context,
                                                  const struct ss_record_options *options,
                                                  struct ss_process_table *processes,
                                                  uint64_t since_ns);
/* With a schedule, call often: a window that has opened begins with the newest metrics. */
void ss_record_sources_poll_window(struct ss_record_sources *sources, uint64_t now_ns);
/* Ticks the sources that are due; returns when one is due again (UINT64_MAX: never). */
uint64_t ss_record_sources_tick(struct ss_record_sources *sources, uint64_t now_ns);
/* The process has ended and is not reaped yet: the last chance to read its data. */
void ss_record_sources_process_ending(struct ss_record_sources *sources, pid_t pid,
                                      uint64_t now_ns);
/* Writes the last metrics and the outcome of each source. */
void ss_record_sources_stop(struct ss_record_sources *sources, uint64_t now_ns);

#endif
