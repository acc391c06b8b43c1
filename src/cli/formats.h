/* SPDX-License-Identifier: Apache-2.0 */
/* The one table of output formats: names, aliases and file endings, for `record -f`,
 * `export --to` and the choice by ending. Immutable. */
#ifndef SS_CLI_FORMATS_H
#define SS_CLI_FORMATS_H

#include <stdbool.h>

enum ss_format {
    SS_FORMAT_NATIVE,
    SS_FORMAT_RAW,
    SS_FORMAT_FLAMEGRAPH,
    SS_FORMAT_SPEEDSCOPE,
    SS_FORMAT_CHROME,
    SS_FORMAT_PERFETTO_COMPAT,
    SS_FORMAT_COUNT
};

struct ss_format_row {
    enum ss_format format;
    const char *name;
    const char *aliases[4]; /* NULL-terminated */
    const char *endings[4]; /* longest first; NULL-terminated; the first is the default */
    const char *help;
    bool record, export;
};

const struct ss_format_row *ss_format_get(enum ss_format format);
const struct ss_format_row *ss_format_by_name(const char *name);   /* aliases too; NULL: none */
const struct ss_format_row *ss_format_by_ending(const char *path); /* NULL: none */

#endif
