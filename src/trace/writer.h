/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes one trace file (docs/trace-format.md): flush units of at most 256 KiB or 1 s, restart
 * points every 4 MiB or 30 s. Everything handed in is copied. Definitions (process, thread, frame,
 * stack, source) are remembered, written when first needed, and written again after each restart
 * point when used again. Samples of one unit may arrive in any time order: the unit is sorted.
 *
 * Owned by one thread. After a failed write (disk full, folder gone) every later call returns the
 * same error at once and nothing more is written; the file stays readable up to the last unit.
 */
#ifndef SS_TRACE_WRITER_H
#define SS_TRACE_WRITER_H

#include <stddef.h>

#include "base/error.h"
#include "trace/records.h"
#include "trace/writer_tracks.h"

struct ss_trace_writer;

struct ss_trace_writer_options {
    size_t size;          /* sizeof this */
    const char *path;     /* created 0600; folders must exist; a live writer on it is refused.
                             NULL: none yet, see ss_trace_writer_begin */
    int compression;      /* 0: default (on), -1: off */
    uint64_t unit_ns;     /* 0: 1 s */
    size_t unit_bytes;    /* 0: 256 KiB (plain) */
    uint64_t restart_ns;  /* 0: 30 s */
    size_t restart_bytes; /* 0: 4 MiB (plain) */
    bool replay;          /* the records are a recording's, not of now: the clocks are not read */
    bool totals;          /* the values of DELTA counters are running totals, as read */
    bool perf_samples;    /* PerfSample packets, for Perfetto before v58; our reader skips them */
    bool only_used;       /* processes stand in the file only when something refers to them */
};

/* SS_E_BUSY when another live writer has the path. An existing file is replaced. */
enum ss_status ss_trace_writer_open(const struct ss_trace_writer_options *options,
                                    struct ss_trace_writer **writer, struct ss_error *err);

/*
 * One file after the other by the same writer: what was defined stays known to it, and is written
 * to each file that refers to it. Between `end` and `begin` it takes definitions, sources and
 * attributes, and nothing else.
 *
 * `begin` opens a file; counts, totals of counters and a failure start anew. `end` is what close
 * does to a file; the writer lives on, also on failure, and forgets the attributes that were set
 * since `begin`.
 */
enum ss_status ss_trace_writer_begin(struct ss_trace_writer *writer, const char *path,
                                     struct ss_error *err);
enum ss_status ss_trace_writer_end(struct ss_trace_writer *writer, struct ss_error *err);
/* Everything that `from` knows, with the same refs, for a writer that knows nothing yet. */
enum ss_status ss_trace_writer_learn(struct ss_trace_writer *writer,
                                     const struct ss_trace_writer *from, struct ss_error *err);

/* The process has ended and nothing more is told of it: its refs, and those of its threads and
 * tracks, are unknown from then on, and cost no memory. */
void ss_trace_writer_forget(struct ss_trace_writer *writer, uint32_t process_ref);

/* Writes what there is now, as a unit. */
enum ss_status ss_trace_writer_flush(struct ss_trace_writer *writer, struct ss_error *err);

/* Appends whole units of another trace as they are; the next one of this writer, which begins anew,
 * has this number. Only before anything else was written. */
enum ss_status ss_trace_writer_splice(struct ss_trace_writer *writer, const void *bytes,
                                      size_t length, uint32_t next_number, struct ss_error *err);

enum ss_status ss_trace_writer_attribute(struct ss_trace_writer *writer,
                                         const struct ss_trace_attribute *attribute,
                                         struct ss_error *err);
enum ss_status ss_trace_writer_source(struct ss_trace_writer *writer,
                                      const struct ss_trace_source *source, struct ss_error *err);
enum ss_status ss_trace_writer_process(struct ss_trace_writer *writer,
                                       const struct ss_trace_process *process,
                                       struct ss_error *err);
enum ss_status ss_trace_writer_thread(struct ss_trace_writer *writer,
                                      const struct ss_trace_thread *thread, struct ss_error *err);
enum ss_status ss_trace_writer_frame(struct ss_trace_writer *writer,
                                     const struct ss_trace_frame *frame, struct ss_error *err);
enum ss_status ss_trace_writer_stack(struct ss_trace_writer *writer,
                                     const struct ss_trace_stack *stack, struct ss_error *err);
enum ss_status ss_trace_writer_sample(struct ss_trace_writer *writer,
                                      const struct ss_trace_sample *sample, struct ss_error *err);
/* Cumulative; the newest of a (source, process) pair is written with each unit that changed it. */
enum ss_status ss_trace_writer_counts(struct ss_trace_writer *writer,
                                      const struct ss_trace_counts *counts, struct ss_error *err);
enum ss_status ss_trace_writer_note(struct ss_trace_writer *writer,
                                    const struct ss_trace_note *note, struct ss_error *err);

/* Call at least every second: closes the unit when it is due, reads the clocks (one snapshot a
 * second), starts a restart point when one is due. `*restarted` (may be NULL) tells that one was
 * started: the caller then re-emits the pending weights of idle threads. */
enum ss_status ss_trace_writer_tick(struct ss_trace_writer *writer, uint64_t now_ns,
                                    bool *restarted, struct ss_error *err);

/* For replay (repair, merge): ends the unit and begins the next with this clock reading. */
enum ss_status ss_trace_writer_clock(struct ss_trace_writer *writer,
                                     const struct ss_trace_clock *clock, struct ss_error *err);
/* For replay: bytes of the recording are missing here. Starts a restart point that says so. */
enum ss_status ss_trace_writer_gap(struct ss_trace_writer *writer, struct ss_error *err);

struct ss_trace_writer_stats {
    uint64_t bytes_written;
    uint64_t plain_bytes; /* before compression */
    uint64_t samples;
    uint64_t events; /* on tracks, counter values among them */
    uint64_t units;
    size_t memory_bytes; /* held by the writer now */
};
void ss_trace_writer_get_stats(const struct ss_trace_writer *writer,
                               struct ss_trace_writer_stats *stats);

/* Writes what is left, a sealed trailer, and frees the writer, also on failure. */
enum ss_status ss_trace_writer_close(struct ss_trace_writer *writer, struct ss_error *err);

#endif
