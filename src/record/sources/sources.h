/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sources of record/sources/source_registry.h in a recording: starts them, calls each when it
 * is due, and writes the outcome of each. Owned by the recorder's thread. Errors are sticky in the
 * context.
 */
#ifndef SS_RECORD_SOURCES_SOURCES_H
#define SS_RECORD_SOURCES_SOURCES_H

#include <stdint.h>
#include <sys/types.h>

#include "record/sources/recorder.h"

struct ss_record_sources;

/* Starts the sources from which the program inherits something. */
struct ss_record_sources *ss_record_sources_new(struct ss_recorder *recorder);
/* The program exists: starts the others. `since_ns`: before it was created. */
void ss_record_sources_start(struct ss_record_sources *sources, uint64_t since_ns);
/* Calls `watch` with the descriptor of each source that has one, until one fails. */
enum ss_status ss_record_sources_watch(const struct ss_record_sources *sources,
                                       enum ss_status (*watch)(void *watcher, int fd,
                                                               struct ss_error *err),
                                       void *watcher, struct ss_error *err);
/* A descriptor of a source is readable. */
void ss_record_sources_ready(struct ss_record_sources *sources, int fd, uint64_t now_ns);
/* Lets the sources that are due read what programs wrote. */
void ss_record_sources_drain(struct ss_record_sources *sources, uint64_t now_ns);
/* Ticks the sources that are due. */
void ss_record_sources_tick(struct ss_record_sources *sources, uint64_t now_ns);
/* When a tick or drain is due again (UINT64_MAX: never). */
uint64_t ss_record_sources_due_ns(const struct ss_record_sources *sources);
/* Emits what is pending; `whole`: also what is emitted seldom. */
void ss_record_sources_flush(struct ss_record_sources *sources, uint64_t now_ns, bool whole);
/* What was flushed is in the file. */
void ss_record_sources_written(struct ss_record_sources *sources);
/* The process has ended and is not reaped yet: the last chance to read its data. */
void ss_record_sources_process_ending(struct ss_record_sources *sources, pid_t pid,
                                      uint64_t now_ns);
/* Writes the last data and the outcome of each source. */
void ss_record_sources_stop(struct ss_record_sources *sources, uint64_t now_ns);
/* The files are closed. */
void ss_record_sources_free(struct ss_record_sources *sources);

#endif
