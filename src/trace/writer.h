/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes one trace file (docs/trace-format.md): flush units of at most 256 KiB or 1 s, restart
 * points every 4 MiB or 30 s. The writer copies all input. It stores definitions (process, thread,
 * frame, stack, source), writes them on first use, and again on first use after each restart point.
 * Samples of one unit may arrive in any time order: the unit is sorted.
 *
 * Owned by one thread. After a failed write (disk full, folder removed) every later call returns
 * the same error and writes nothing; the file stays readable up to the last unit.
 */
#ifndef SS_TRACE_WRITER_H
#define SS_TRACE_WRITER_H

#include <stddef.h>

#include "base/clock.h"
#include "base/error.h"
#include "trace/records.h"

struct ss_trace_writer;

struct ss_trace_writer_options {
    size_t size;          /* sizeof this */
    const char *path;     /* created 0600; folders must exist; fails on a live writer's file.
                             NULL: no file yet, see ss_trace_writer_begin */
    int compression;      /* 0: default (on), 1: fast, -1: off */
    uint64_t unit_ns;     /* 0: 1 s */
    size_t unit_bytes;    /* 0: 256 KiB (plain) */
    uint64_t restart_ns;  /* 0: 30 s */
    size_t restart_bytes; /* 0: 4 MiB (plain) */
    bool replay;          /* the records come from a recording: do not read the clocks */
    bool totals;          /* values of DELTA counters are running totals, as from the reader */
    bool perf_samples;    /* PerfSample packets, for Perfetto before v58; our reader skips them */
    bool only_used;       /* write only processes that another record refers to */
    bool keeps_reserve;   /* 5 % of the disk stay free: ss_output_open */
    uint64_t uuid[2];     /* of the trace; 0, 0: random */
    unsigned threads;     /* that compress units, which are then written some units later; the file
                             is the same. 0: the caller's */
    /* NULL: the system's. */
    const struct ss_clock *clock;
};

/* SS_E_BUSY when another live writer holds the path. Replaces an existing file. */
enum ss_status ss_trace_writer_open(const struct ss_trace_writer_options *options,
                                    struct ss_trace_writer **writer, struct ss_error *err);

/*
 * Successive files of one writer: it retains its definitions and writes them to each file that
 * refers to them. Between `end` and `begin` it accepts only definitions, sources and attributes.
 *
 * `begin` opens a file and resets counts, counter totals and failure. `end` finishes the file like
 * close; the writer stays usable, also after a failure, and discards the attributes set since
 * `begin`.
 */
enum ss_status ss_trace_writer_begin(struct ss_trace_writer *writer, const char *path,
                                     struct ss_error *err);
enum ss_status ss_trace_writer_end(struct ss_trace_writer *writer, struct ss_error *err);
/* Copies all definitions of `from`, with the same refs, into an empty writer. */
enum ss_status ss_trace_writer_copy_definitions(struct ss_trace_writer *writer,
                                                const struct ss_trace_writer *from,
                                                struct ss_error *err);

/* Frees the definitions of an ended process: its ref and those of its threads and tracks become
 * unknown. */
void ss_trace_writer_forget(struct ss_trace_writer *writer, uint32_t process_ref);

/* Writes the current content as a unit, if there is any. */
enum ss_status ss_trace_writer_flush(struct ss_trace_writer *writer, struct ss_error *err);

/* Appends complete units of another trace unchanged; the next unit of this writer, a restart point,
 * gets `next_number`. Only before the writer writes any unit. */
enum ss_status ss_trace_writer_splice(struct ss_trace_writer *writer, const void *bytes,
                                      size_t length, uint32_t next_number, struct ss_error *err);

enum ss_status ss_trace_writer_attribute(struct ss_trace_writer *writer,
                                         const struct ss_trace_attribute *attribute,
                                         struct ss_error *err);
enum ss_status ss_trace_writer_process(struct ss_trace_writer *writer,
                                       const struct ss_trace_process *process,
                                       struct ss_error *err);
/* What a known process does has become known, or has changed. */
enum ss_status ss_trace_writer_role(struct ss_trace_writer *writer, uint32_t process_ref,
                                    enum ss_process_role role, struct ss_error *err);
enum ss_status ss_trace_writer_thread(struct ss_trace_writer *writer,
                                      const struct ss_trace_thread *thread, struct ss_error *err);
enum ss_status ss_trace_writer_frame(struct ss_trace_writer *writer,
                                     const struct ss_trace_frame *frame, struct ss_error *err);
enum ss_status ss_trace_writer_stack(struct ss_trace_writer *writer,
                                     const struct ss_trace_stack *stack, struct ss_error *err);
enum ss_status ss_trace_writer_sample(struct ss_trace_writer *writer,
                                      const struct ss_trace_sample *sample, struct ss_error *err);
/* Cumulative; a unit contains the latest counts of each (source, process) pair that changed. */
enum ss_status ss_trace_writer_counts(struct ss_trace_writer *writer,
                                      const struct ss_trace_counts *counts, struct ss_error *err);
enum ss_status ss_trace_writer_note(struct ss_trace_writer *writer,
                                    const struct ss_trace_note *note, struct ss_error *err);

/* Call at least every second: closes the unit when due, reads the clocks (one snapshot per second),
 * begins a restart point when due. Sets `*restarted` (may be NULL) after a restart: the caller then
 * re-emits the pending weights of idle threads. */
enum ss_status ss_trace_writer_tick(struct ss_trace_writer *writer, uint64_t now_ns,
                                    bool *restarted, struct ss_error *err);

/* For replay (repair, merge): ends the unit and begins the next with this clock reading. */
enum ss_status ss_trace_writer_clock(struct ss_trace_writer *writer,
                                     const struct ss_trace_clock *clock, struct ss_error *err);
/* For replay: bytes of the recording are missing here. Begins a restart point marked as gap. */
enum ss_status ss_trace_writer_gap(struct ss_trace_writer *writer, struct ss_error *err);

struct ss_trace_writer_stats {
    uint64_t bytes_written;
    uint64_t plain_bytes; /* before compression */
    uint64_t samples;
    uint64_t ticks, stored_ticks; /* their weights, and of those in the file; without a packer */
    uint64_t events;              /* including counter values */
    uint64_t units;
    size_t memory_bytes; /* current memory of the writer */
};
void ss_trace_writer_get_stats(const struct ss_trace_writer *writer,
                               struct ss_trace_writer_stats *stats);

/* The file system of the open file; 0, 0: unknown. */
struct ss_trace_writer_space {
    uint64_t free_bytes, size_bytes;
    uint64_t reserve_bytes; /* that stay free */
};
void ss_trace_writer_get_space(const struct ss_trace_writer *writer,
                               struct ss_trace_writer_space *space);

/* Writes the rest with a sealed trailer and frees the writer, also on failure. */
enum ss_status ss_trace_writer_close(struct ss_trace_writer *writer, struct ss_error *err);

#endif
