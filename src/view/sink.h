/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a view writes to: a file that appears under its name only when it is complete, a stream
 * (stdout), or memory. Writes are buffered. The first failure (disk full, closed pipe) is kept and
 * later writes are dropped, so that views write freely and check once, at ss_sink_close.
 * One owner.
 */
#ifndef SS_VIEW_SINK_H
#define SS_VIEW_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/clean.h"
#include "base/error.h"
#include "base/output_place.h"
#include "base/strbuf.h"
#include "base/strview.h"

struct ss_sink {
    int fd;                       /* -1: memory */
    struct ss_output_place place; /* the final name; no folder: not a file of ours */
    char *temporary;              /* beside it, until it is complete */
    char *name;                   /* for messages */
    bool cleans; /* for people's eyes, on a terminal or as text: what is harmful is replaced */
    struct ss_clean clean;
    struct ss_strbuf buffer;
    uint64_t written_bytes;  /* taken so far */
    struct ss_error failure; /* status SS_OK: none */
};

/* The descriptor of ours that `path` names: "-", /dev/stdout, /dev/fd/N, /proc/self/fd/N; else -1.
 */
int ss_sink_descriptor(const char *path);
/* A regular file is written as a hidden file beside `path` (with the mode of our file that it
 * replaces, else `mode` less the umask) and renamed by ss_sink_close; a descriptor of ours is
 * written to as it stands, a device or pipe in place. base/output_place.h says whose files and
 * links are not written through. */
enum ss_status ss_sink_open(struct ss_sink *sink, const char *path, mode_t mode,
                            struct ss_error *err);
/* Memory of at most `maximum_bytes`; what is in it: sink->buffer. Beyond it writes fail. */
void ss_sink_open_memory(struct ss_sink *sink, size_t maximum_bytes);

void ss_sink_write(struct ss_sink *sink, const void *bytes, size_t length);
void ss_sink_text(struct ss_sink *sink, const char *text);
void ss_sink_view(struct ss_sink *sink, struct ss_strview view);
void ss_sink_format(struct ss_sink *sink, const char *format, ...) SS_PRINTF(2, 3);
/* A stream into the sink, for what prints; the caller closes it first. NULL: no memory. */
FILE *ss_sink_stream(struct ss_sink *sink);
/* True once a write has failed: a long loop may stop early. */
bool ss_sink_failed(const struct ss_sink *sink);

/* Flushes and puts the file in place. On failure, also an earlier one, nothing is left behind.
 * Frees everything either way. */
enum ss_status ss_sink_close(struct ss_sink *sink, struct ss_error *err);
/* Gives up: nothing is left behind. */
void ss_sink_abandon(struct ss_sink *sink);

#endif
