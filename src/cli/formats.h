/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of output formats: names, aliases, endings, and the function that writes each; for
 * `record -f`, `export --to`, the choice by ending, help and documentation. Immutable.
 *
 * To add a format: a file in src/view/ that writes it, and a row in formats.c.
 */
#ifndef SS_CLI_FORMATS_H
#define SS_CLI_FORMATS_H

#include <stdbool.h>

#include "analysis/selection.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "view/frame_text.h"
#include "view/sink.h"

struct ss_format_options {
    struct ss_frame_style frames;
    bool threads, processes; /* labels; raw and flamegraph */
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
const struct ss_format_row *ss_format_by_name(const char *name);   /* aliases too; NULL: none */
const struct ss_format_row *ss_format_by_ending(const char *path); /* NULL: none */
/* "raw, flamegraph or chrome": the formats of `record`, or of `export`. */
void ss_format_append_names(struct ss_strbuf *out, bool of_record);

#endif
