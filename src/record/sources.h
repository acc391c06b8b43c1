/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sources of source/registry.h in a recording: starts those that can run here, ticks them, puts
 * their figures on tracks of the trace, and tells the trace what became of each. Owned by the
 * recorder's thread.
 */
#ifndef SS_RECORD_SOURCES_H
#define SS_RECORD_SOURCES_H

#include <stdint.h>
#include <sys/types.h>

#include "record/options.h"
#include "record/process_table.h"

struct ss_record_sources;

/* `since_ns`: before the program was made. */
struct ss_record_sources *ss_record_sources_start(struct ss_record_context *context,
                                                  const struct ss_record_options *options,
                                                  struct ss_process_table *processes,
                                                  uint64_t since_ns);
/* With a schedule, often: has a window opened? It begins with the newest figures. */
void ss_record_sources_look(struct ss_record_sources *sources, uint64_t now_ns);
/* Does what is due; returns when something is due again (UINT64_MAX: never). */
uint64_t ss_record_sources_tick(struct ss_record_sources *sources, uint64_t now_ns);
/* It has ended and was not reaped: the last chance to look at it. */
void ss_record_sources_process_ending(struct ss_record_sources *sources, pid_t pid,
                                      uint64_t now_ns);
/* The last figures, and what became of each source. */
void ss_record_sources_stop(struct ss_record_sources *sources, uint64_t now_ns);

#endif
