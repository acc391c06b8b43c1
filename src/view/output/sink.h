/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The output of a view: a file that appears under its name only when it is complete, a stream
 * (stdout), or memory. Writes are buffered. The first failure (disk full, closed pipe) is stored
 * and later writes are discarded, so that views check only once, at ss_sink_close. One owner.
 */
#ifndef SS_VIEW_OUTPUT_SINK_H
#define SS_VIEW_OUTPUT_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/clean.h"
#include "base/error.h"
#include "base/output_target.h"
#include "base/strbuf.h"
#include "base/strview.h"
#include "view/output/gzip.h"

struct ss_sink {
    int fd;                         /* -1: memory */
    struct ss_output_target target; /* the final name; folder_fd -1: a descriptor or memory */
    char *temporary;                /* name in the same folder, until it is complete */
    char *name;                     /* for messages */
    bool cleans; /* on a terminal, or text for people: replaces harmful characters */
    struct ss_clean clean;
    struct ss_gzip *gzip; /* compresses what is written; NULL: does not */
    struct ss_strbuf buffer;
    uint64_t written_bytes;  /* accepted so far, before compression */
    uint64_t stored_bytes;   /* of the file, once it is closed */
    struct ss_error failure; /* status SS_OK: none */
};

/* The descriptor of this process that `path` names: "-", /dev/stdout, /dev/fd/N, /proc/self/fd/N;
 * else -1. */
int ss_sink_descriptor(const char *path);
/* A regular file is written as a hidden file beside `path` (with the mode of the user's own file
 * that it replaces, else `mode` less the umask); ss_sink_close renames it. A descriptor of this
 * process is written from its current offset, a device or pipe directly. base/output_target.h
 * defines which files and links of other users are rejected. */
enum ss_status ss_sink_open(struct ss_sink *sink, const char *path, mode_t mode,
                            struct ss_error *err);
/* Memory of at most `maximum_bytes`: sink->buffer. Beyond that, writes fail. */
void ss_sink_open_memory(struct ss_sink *sink, size_t maximum_bytes);

/* From here on, what is written is compressed. Before the first write. */
void ss_sink_compress(struct ss_sink *sink);

void ss_sink_write(struct ss_sink *sink, const void *bytes, size_t length);
void ss_sink_text(struct ss_sink *sink, const char *text);
void ss_sink_view(struct ss_sink *sink, struct ss_strview view);
void ss_sink_format(struct ss_sink *sink, const char *format, ...) SS_PRINTF(2, 3);
/* A stdio stream into the sink; the caller closes it before the sink. NULL: out of memory. */
FILE *ss_sink_stream(struct ss_sink *sink);
/* True once a write has failed: a long loop may stop early. */
bool ss_sink_failed(const struct ss_sink *sink);

/* Flushes, and renames the file to its name. After a failure, also an earlier one, no file remains.
 * Frees everything in any case. */
enum ss_status ss_sink_close(struct ss_sink *sink, struct ss_error *err);
/* The same; `*stored_bytes` is the size of the file. */
enum ss_status ss_sink_close_sized(struct ss_sink *sink, uint64_t *stored_bytes,
                                   struct ss_error *err);
/* Discards the output: no file remains. */
void ss_sink_abandon(struct ss_sink *sink);

#endif
