/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/formats.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

static const struct ss_format_row formats[SS_FORMAT_COUNT] = {
    {SS_FORMAT_NATIVE,
     "native",
     {"pftrace", "perfetto"},
     {".pftrace", ".perfetto-trace"},
     "everything, for all stepscope commands and ui.perfetto.dev",
     true,
     false},
    {SS_FORMAT_RAW,
     "raw",
     {"folded", "collapsed"},
     {".folded", ".txt", ".raw"},
     "py-spy's folded stacks, one line each",
     true,
     true},
    {SS_FORMAT_FLAMEGRAPH,
     "flamegraph",
     {"flame", "svg"},
     {".svg"},
     "interactive SVG flame graph",
     true,
     true},
    {SS_FORMAT_SPEEDSCOPE,
     "speedscope",
     {NULL},
     {".speedscope.json"},
     "JSON for speedscope.app",
     true,
     true},
    {SS_FORMAT_CHROME,
     "chrome",
     {"chrometrace"},
     {".json"},
     "Chrome trace events for Perfetto and chrome://tracing",
     true,
     true},
    {SS_FORMAT_PERFETTO_COMPAT,
     "perfetto-compat",
     {NULL},
     {".compat.pftrace"},
     "Perfetto trace with PerfSample packets, for Perfetto before v58",
     false,
     true},
};

const struct ss_format_row *ss_format_get(enum ss_format format)
{
    return &formats[format];
}

const struct ss_format_row *ss_format_by_name(const char *name)
{
    for (int i = 0; i < SS_FORMAT_COUNT; i++) {
        if (strcmp(formats[i].name, name) == 0) {
            return &formats[i];
        }
        for (int a = 0; a < 4 && formats[i].aliases[a] != NULL; a++) {
            if (strcmp(formats[i].aliases[a], name) == 0) {
                return &formats[i];
            }
        }
    }
    return NULL;
}

const struct ss_format_row *ss_format_by_ending(const char *path)
{
    const struct ss_format_row *best = NULL;
    size_t best_length = 0;
    size_t path_length = strlen(path);
    for (int i = 0; i < SS_FORMAT_COUNT; i++) {
        for (int e = 0; e < 4 && formats[i].endings[e] != NULL; e++) {
            size_t length = strlen(formats[i].endings[e]);
            if (length > best_length && path_length > length &&
                strcasecmp(path + path_length - length, formats[i].endings[e]) == 0) {
                best = &formats[i];
                best_length = length;
            }
        }
    }
    return best;
}
