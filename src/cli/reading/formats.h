/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of output formats: names, aliases, endings, and the function that writes each; for
 * `record -f`, `export --to`, the choice by ending, help and documentation. Immutable.
 *
 * To add a format: a file in src/view/ that writes it, and a row in formats.c.
 */
#ifndef SS_CLI_READING_FORMATS_H
#define SS_CLI_READING_FORMATS_H

#include <stdbool.h>

#include "analysis/selection/selection.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "view/output/frame_text.h"
#include "view/output/sink.h"

struct ss_format_options {
    struct ss_frame_style frames;
    bool threads, processes; /* labels; raw and flamegraph */
    /* Of formats with one program in a file: only what begins in this time, on the axis; the
     * largest size, 0 for any. */
    bool has_span;
    uint64_t from_ns, to_ns, most_bytes;
};

struct ss_format_row {
    const char *name;
    const char *aliases[4]; /* NULL-terminated */
    const char *endings[4]; /* longest first; NULL-terminated; the first is the default */
    const char *help;
    bool record, export; /* which of the two commands writes it */
    bool is_readable;    /* report, flame and export read it */
    /* Of formats that are made from a model: */
    bool wants_samples;       /* each sample with its time, not only totals; and the tracks */
    bool wants_tracks;        /* without the samples, which the format cannot hold */
    bool one_program;         /* in a file: several become files in a folder */
    bool is_folder;           /* also one file is written into a folder */
    bool weighs;              /* stacks by weight: enum ss_total_weight */
    enum ss_idle_policy idle; /* the idle samples that count by default in `export` */
    enum ss_status (*write)(const struct ss_selection *selection,
                            const struct ss_format_options *options, struct ss_sink *sink,
                            struct ss_error *err);
    /* Of formats that are made from a trace packet by packet, without a selection. */
    enum ss_status (*rewrite)(const char *in, const char *out, int64_t shift_ns,
                              struct ss_error *err);
};

/* Ends with a NULL name. */
extern const struct ss_format_row ss_formats[];

/* The recording itself, which no other row writes. */
const struct ss_format_row *ss_format_native(void);
bool ss_format_is_native(const struct ss_format_row *format);
const struct ss_format_row *ss_format_by_name(const char *name); /* aliases too; NULL: none */
/* NULL: none. Of formats that are made from a model, ".gz" may follow. */
const struct ss_format_row *ss_format_by_ending(const char *path);
/* "….gz": what ss_export_write writes is compressed. */
bool ss_format_is_compressed(const char *path);
/* "raw, flamegraph or chrome": the formats of `record`, or of `export`. */
void ss_format_append_names(struct ss_strbuf *out, bool of_record);

#endif
